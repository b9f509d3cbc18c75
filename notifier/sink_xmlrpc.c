/* notifier/sink_xmlrpc.c - feedReceived(int subscription_id, string url, array of struct entries)
 * by XML-RPC.
 *
 * An entry is the same object that /feed?type=json shows: the stored one, which was completed when
 * it was taken in (feed/identity/complete.h). Any status 2xx means delivered. A fault also means
 * delivered, because a listener that returns nothing sends one. An answer that is not XML-RPC means
 * delivered, too. */
#include "notifier/sink.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/digits.h"
#include "feed/text/json.h"
#include "model/media_types.h"
#include "net/xmlrpc.h"
#include "notifier/carrier_http.h"

#define METHOD STR("feedReceived")

/* Make an entry from its normalized columns, when its document cannot be read. */
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

/* Make the list of structs. A document that cannot be read must not stop the entries after it. */
static struct value *entry_list(struct arena *a, const struct sink_push *push)
{
    struct value *list = value_list(a), *obj;

    for (size_t i = 0; i < push->n; i++) {
        const struct revision *rev = &push->revisions[i];

        if (!revision_has_entry(rev))
            continue;
        if (json_read(a, rev->doc, &obj, NULL) != RC_OK || obj->kind != VAL_DICT)
            obj = from_columns(a, rev);
        value_push(a, list, obj);
    }
    return list;
}

static enum rc xmlrpc_seal(struct arena *a, const struct sink_push *push UNUSED,
                           struct carrier_load *load, struct err *err UNUSED)
{
    struct http_load *own = ARENA_NEW(a, struct http_load);

    own->method = STR("POST");
    own->fields[0] = (struct http_field){STR("Content-Type"), STR(MEDIA_XML)};
    own->n_fields = 1;
    load->own = own;
    return RC_OK;
}

/* Have the library write everything up to the end of the first parameter. */
static void write_front(struct buf *body, int64_t sub_id)
{
    struct arena a = ARENA_INIT;
    struct buf call = BUF_INIT(SINK_BODY_MAX);
    const struct value *params[] = {value_int(&a, sub_id)};
    enum rc rc = rpc_write_call(&call, METHOD, params, ARRAY_LEN(params), NULL);
    ssize_t end = str_find(buf_view(&call), STR("</param>"));

    if (rc == RC_OK && end >= 0)
        buf_append(body, call.ptr, (size_t)end);
    buf_release(&call);
    arena_release(&a);
}

/* The same for subscription 0, up to the 0 and after it. Each delivery has it, so the library
 * writes it once. */
static struct {
    pthread_once_t once;
    struct buf text;
    struct str before, after;
} front = {.once = PTHREAD_ONCE_INIT, .text = BUF_INIT(BUF_ANY)};

static void make_front(void)
{
    struct str all;
    ssize_t zero;

    write_front(&front.text, 0);
    all = buf_view(&front.text);
    zero = str_find(all, STR(">0<"));
    ASSERT(zero >= 0);
    front.before = str_slice(all, 0, (size_t)zero + 1);
    front.after = str_slice(all, (size_t)zero + 2, all.len);
}

static void xmlrpc_front(struct buf *body, const struct sink_push *push)
{
    char id[DIGITS_MAX];

    if (push->sub_id < 0 || push->sub_id > INT32_MAX) { /* it is not written as a number */
        write_front(body, push->sub_id);
        return;
    }
    (void)pthread_once(&front.once, make_front);
    buf_str(body, front.before);
    buf_append(body, id, digits_write(id, push->sub_id));
    buf_str(body, front.after);
}

static enum rc xmlrpc_body(struct arena *a, const struct sink_push *push, struct buf *body,
                           struct err *err)
{
    const struct value *params[] = {value_int(a, push->sub_id), value_text(a, push->url),
                                    entry_list(a, push)};

    return rpc_write_call(body, METHOD, params, ARRAY_LEN(params), err);
}

/* Few answers are a fault, and the others need not be parsed. In UTF-8 and its relatives a fault
 * has this word; an encoding in which it looks different has bytes of 0. */
static bool may_be_fault(struct str body)
{
    return str_find(body, STR("fault")) >= 0 || str_chr(body, '\0') >= 0;
}

static enum sink_verdict xmlrpc_judge(struct arena *a, const struct carrier_answer *answer,
                                      struct str *why)
{
    struct value *result = NULL;
    struct str text = STR_NULL;
    int status = answer->status;
    int code = 0;
    bool taken = status >= 200 && status < 300;

    /* an answer that is too long to be read is still an answer */
    if (answer->rc == RC_LIMIT && taken)
        return SINK_DELIVERED;
    if (answer->rc != RC_OK || !taken) {
        *why = carrier_http_why(a, "endpoint", answer);
        return SINK_FAILED;
    }
    if (!may_be_fault(answer->body))
        return SINK_DELIVERED;
    if (rpc_read_answer(a, answer->body, &result, &code, &text) != RPC_FAULT)
        return SINK_DELIVERED;
    *why = str_printf(a, "fault %d: %.*s", code, STR_ARG(text));
    return SINK_FAULT;
}

const struct sink sink_xmlrpc = {
    .in_snapshot = true,
    .draw = entries_draw,
    .draw_test = entries_draw_test,
    .entries = {.body = xmlrpc_body, .front = xmlrpc_front, .seal = xmlrpc_seal},
    .judge = xmlrpc_judge};
