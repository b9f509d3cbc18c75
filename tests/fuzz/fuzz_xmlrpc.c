/* tests/fuzz/fuzz_xmlrpc.c - any bytes as a call, as an answer and as text.
 *
 * A call is answered by the server, whose answer must be readable; what `echo` gives back must
 * survive another round unchanged. */
#include <stdint.h>

#include "base/assert.h"
#include "net/xmlrpc.h"
#include "net/xmlrpc_shim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum rc on_echo(void *ctx UNUSED, struct arena *a, const struct value *params,
                       struct value **result, struct err *err UNUSED)
{
    *result = value_len(params) > 0 ? value_at(params, 0) : value_text(a, STR("none"));
    return RC_OK;
}

static const struct rpc_method methods[] = {
    {"e", "Gives back its first parameter.", on_echo, false},
    {"t", "Gives back all of them.", NULL, true}};

/* The answer to `call`, read; NULL for a fault. */
static struct value *ask(struct rpc_server *s, struct arena *a, struct str call)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct value *result = NULL;
    struct str text;
    int code;

    rpc_server_answer(s, call, STR_NULL, &out);
    ASSERT(str_utf8_valid(buf_view(&out)) == out.len);
    if (out.len > 600 * 1024) /* longer than what we read */
        return NULL;
    ASSERT(rpc_read_answer(a, buf_view(&out), &result, &code, &text) != RPC_GARBAGE);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct rpc_server *server;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf call = BUF_INIT(BUF_ANY);
    struct str raw = str_of((const char *)data, len), text, xml;
    struct value *result, *again;
    const struct value *param;
    int code;

    if (server == NULL) {
        rpc_init();
        server = rpc_server_new(methods, 1, NULL);
    }
    if (shim_document(&a, raw, STR("text/xml; charset=koi8-r"), 1 << 20, &xml, NULL) == RC_OK)
        ASSERT(str_utf8_valid(xml) == xml.len && str_find(xml, STR("<!")) < 0);
    (void)rpc_read_answer(&a, raw, &result, &code, &text);
    if ((result = ask(server, &a, raw)) == NULL)
        result = value_text(&a, unshim_text(&a, shim_text(&a, raw)));
    for (int round = 0; round < 2; round++) { /* reals lose digits in the first round only */
        buf_reset(&call);
        param = result;
        if (rpc_write_call(&call, STR("e"), &param, 1, NULL) != RC_OK || call.len > 500 * 1024)
            return 0;
        if ((again = ask(server, &a, buf_view(&call))) == NULL)
            return 0; /* deeper inside a call than in an answer */
        if (round > 0)
            ASSERT(value_equal(result, again));
        result = again;
    }
    return 0;
}
