/* storage/pg/nodes.h - the tables `nodes` and `slots`: storage/node_calls.h for PostgreSQL. */
#pragma once

#include "storage/node_calls.h"

extern const struct node_calls pg_node_calls;
