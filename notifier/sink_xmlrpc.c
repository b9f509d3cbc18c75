/* notifier/sink_xmlrpc.c - feedReceived(int subscription_id, string url, array of struct entries)
 * by XML-RPC.
 *
 * An entry is the very object that /feed?type=json shows: the stored one, which was completed when
 * it was taken in (feed/complete.h). Any answer 2xx means delivered: also a fault, which is what a
 * listener that returns nothing sends, and also bytes that are no answer at all.
 */
#include "notifier/sink.h"

#include "feed/json.h"
#include "net/xmlrpc.h"

/* An entry whose document cannot be read, by its normalized columns. */
static struct value *from_columns(struct arena *a, const struct revision *rev)
{
    const struct {
        const char *name;
        struct str text;
    } columns[] = {
        {"id", rev->uid}, {"title", rev->title}, {"link", rev->link}, {"summary", rev->summary}};
    struct value *obj = value_dict(a);

    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (!str_is_null(columns[i].text))
            value_set_text(a, obj, str_from(columns[i].name), columns[i].text);
    return obj;
}

/* A list of structs. A document that cannot be read must not hold up what comes after it. */
static struct value *entry_list(struct arena *a, const struct sink_push *push)
{
    struct value *list = value_list(a), *obj;

    for (size_t i = 0; i < push->n; i++) {
        const struct revision *rev = &push->revisions[i];

        if (rev->kind == REV_DELETED)
            continue;
        if (json_read(a, rev->doc, &obj, NULL) != RC_OK || obj->kind != VAL_DICT)
            obj = from_columns(a, rev);
        value_push(a, list, obj);
    }
    return list;
}

static void xmlrpc_head(struct arena *a UNUSED, const struct sink_push *push UNUSED,
                        struct sink_call *call)
{
    call->method = STR("POST");
    call->fields[0] = (struct http_field){STR("Content-Type"), STR("text/xml")};
    call->n_fields = 1;
}

/* Everything up to the end of the first parameter. */
static void xmlrpc_front(struct buf *body, int64_t sub_id)
{
    struct arena a = ARENA_INIT;
    struct buf call = BUF_INIT(SINK_BODY_MAX);
    const struct value *params[] = {value_int(&a, sub_id)};
    enum rc rc = rpc_write_call(&call, STR("feedReceived"), params, ARRAY_LEN(params), NULL);
    ssize_t end = str_find(buf_view(&call), STR("</param>"));

    if (rc == RC_OK && end >= 0)
        buf_append(body, call.ptr, (size_t)end);
    buf_release(&call);
    arena_release(&a);
}

static enum rc xmlrpc_render(struct arena *a, const struct sink_push *push, struct buf *body,
                             struct err *err)
{
    const struct value *params[] = {value_int(a, push->sub_id), value_text(a, push->url),
                                    entry_list(a, push)};

    return rpc_write_call(body, STR("feedReceived"), params, ARRAY_LEN(params), err);
}

static enum sink_verdict xmlrpc_judge(struct arena *a, enum rc rc, const struct http_answer *answer,
                                      const struct err *err, struct str *why)
{
    struct value *result = NULL;
    struct str text = STR_NULL;
    int status = answer == NULL ? 0 : answer->status;
    int code = 0;
    bool taken = status >= 200 && status < 300;

    /* an answer too long to be read is an answer still */
    if (rc == RC_LIMIT && taken)
        return SINK_DELIVERED;
    if (rc != RC_OK) {
        *why = str_dup(a, err == NULL ? str_from(rc_meaning(rc)) : str_from(err->text));
        return SINK_FAILED;
    }
    if (!taken) {
        *why = str_printf(a, "the endpoint answered with status %d; 200 means delivered", status);
        return SINK_FAILED;
    }
    if (rpc_read_answer(a, answer->body, &result, &code, &text) != RPC_FAULT)
        return SINK_DELIVERED;
    *why = str_printf(a, "fault %d: %.*s", code, STR_ARG(text));
    return SINK_FAULT;
}

const struct sink sink_xmlrpc = {.name = "xmlrpc",
                                 .head = xmlrpc_head,
                                 .render = xmlrpc_render,
                                 .front = xmlrpc_front,
                                 .judge = xmlrpc_judge};
