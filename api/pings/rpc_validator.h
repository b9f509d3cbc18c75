/* api/pings/rpc_validator.h - methods by which a tester examines an XML-RPC server. Pure. */
#pragma once

#include "net/xmlrpc.h"

#define RPC_VALIDATOR_METHODS 8

extern const struct rpc_method rpc_validator_methods[RPC_VALIDATOR_METHODS];
