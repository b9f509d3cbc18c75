/* net/xmlrpc.h - XML-RPC calls and answers as values, without transport; a shim that makes xmlrpc-c
 * safe and lossless.
 *
 * xmlrpc-c cannot carry characters beyond the BMP, control characters or DOCTYPEs safely: text is
 * mapped around it and mapped back (see xmlrpc.c). Outgoing values use base types only: no nil, no
 * i8 (D51): null members are left out, larger numbers are strings, characters XML 1.0 forbids are
 * dropped. Call rpc_init() once before threads. Any thread afterwards.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/value.h"

void rpc_init(void);

/* A methodCall with these parameters, UTF-8. RC_LIMIT when `out` overflows. */
enum rc rpc_write_call(struct buf *out, struct str method, const struct value *const *params,
                       size_t n_params, struct err *err) NODISCARD;

/* What an answer says. Never fails: a body that is not a methodResponse is RPC_GARBAGE. */
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
/* Answer one call: always a methodResponse in `out`. `content_type` may name a charset. */
void rpc_server_answer(struct rpc_server *s, struct str body, struct str content_type,
                       struct buf *out);
