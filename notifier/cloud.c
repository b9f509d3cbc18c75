/* notifier/cloud.c - see cloud.h. */
#include "notifier/cloud.h"

#include "base/assert.h"
#include "model/media_types.h"
#include "net/url.h"
#include "net/xmlrpc.h"

struct str cloud_write(struct buf *body, enum hub_protocol protocol, struct str procedure,
                       struct str url)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct value *param = value_text(&a, url);
    enum rc rc;

    if (protocol == CLOUD_HTTP_POST) {
        buf_printf(body, "url=%.*s", STR_ARG(url_encode(&a, url)));
        return STR(MEDIA_URLENCODED);
    }
    rc = rpc_write_call(body, procedure, &param, 1, NULL);
    ASSERT(rc == RC_OK); /* the body has no bound, and procedures were checked */
    return STR(MEDIA_XML);
}

enum cloud_word cloud_read(struct str body)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct value *result;
    struct str text;
    int code;

    switch (rpc_read_answer(&a, body, &result, &code, &text)) {
    case RPC_RESULT:
        return result->kind == VAL_BOOL && result->b ? CLOUD_TRUE : CLOUD_OTHER;
    case RPC_FAULT:
        return CLOUD_FAULT;
    case RPC_GARBAGE:
        break;
    }
    return CLOUD_GARBAGE;
}
