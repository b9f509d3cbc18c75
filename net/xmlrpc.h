/* net/xmlrpc.h - XML-RPC calls and answers as values, without transport, by xmlrpc-c.
 *
 * xmlrpc-c cannot handle characters beyond the BMP, control characters or DOCTYPEs safely, so text
 * is mapped before the library gets it, and mapped back after (net/xmlrpc_shim.h). Outgoing values
 * have base types only, without nil and i8 (D51): null members are left out, numbers beyond 32 bits
 * are strings, and characters that XML 1.0 forbids are dropped.
 *
 * Call rpc_init() once, before other threads start. After that any thread may call everything. A
 * server does not change; its methods must be safe for the threads that use it.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/value.h"

void rpc_init(void);

/* Append a methodCall with these parameters to `out`, in UTF-8. RC_LIMIT: it does not fit. */
enum rc rpc_write_call(struct buf *out, struct str method, const struct value *const *params,
                       size_t n_params, struct err *err) NODISCARD;

/* Is this a name that a method may have: 1 to 255 letters, digits and characters of "_.:/"
 * (XML-RPC specification)? */
bool rpc_is_name(struct str s);

/* Read an answer. RPC_RESULT sets *result; RPC_FAULT sets *fault_code and *fault_text; RPC_GARBAGE:
 * the body is not a methodResponse. */
enum rpc_answer { RPC_RESULT, RPC_FAULT, RPC_GARBAGE };
enum rpc_answer rpc_read_answer(struct arena *a, struct str body, struct value **result,
                                int *fault_code, struct str *fault_text);

/* The server side: a table of methods. The answer to an unknown method, wrong parameters or
 * unreadable XML is a fault. */
typedef enum rc rpc_method_fn(void *ctx, struct arena *a, const struct value *params,
                              struct value **result, struct err *err); /* params: a list */
struct rpc_method {
    const char *name;
    const char *help;
    rpc_method_fn *fn; /* not called when `echoes` */
    bool echoes;       /* the answer is the list of the parameters, each of the type it came in */
};
struct rpc_server;
struct rpc_server *rpc_server_new(const struct rpc_method *methods, size_t n, void *ctx);
void rpc_server_free(struct rpc_server **sp);
/* Answer one call: append a methodResponse to `out`. `content_type` may name a charset. */
void rpc_server_answer(struct rpc_server *s, struct str body, struct str content_type,
                       struct buf *out);
