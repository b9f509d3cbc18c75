/* storage/writes.c - the writing calls of store.h: copy the request into an operation and hand it
 * to the storer. Any thread; nothing here waits. */
#include "base/clock.h"
#include "base/mem.h"
#include "storage/store_priv.h"

#define TOUCH_EVERY_S 3600

static struct op *op_new(enum op_kind kind, store_done_fn *done, void *ctx)
{
    struct op *op = NEW(struct op);

    op->kind = kind;
    op->done = done;
    op->ctx = ctx;
    return op;
}

static enum rc hand_over(struct store *s, struct op *op)
{
    enum rc rc = storer_push(s->storer, op);

    if (rc != RC_OK)
        op_free(op);
    return rc;
}

/* Null stays null, and empty stays present. */
static struct str keep(struct op *op, struct str s)
{
    return str_is_null(s) ? s : str_dup(&op->arena, s);
}

static struct feed_ref keep_ref(struct op *op, const struct feed_ref *ref)
{
    struct feed_ref copy = *ref;

    copy.url = keep(op, ref->url);
    copy.credential = keep(op, ref->credential);
    copy.shown_url = keep(op, ref->shown_url);
    copy.wish.name = keep(op, ref->wish.name);
    copy.wish.folder = keep(op, ref->wish.folder);
    copy.wish.category = keep(op, ref->wish.category);
    copy.wish.title = keep(op, ref->wish.title);
    copy.wish.site_url = keep(op, ref->wish.site_url);
    return copy;
}

static struct str *keep_list(struct op *op, const struct str *list, size_t n)
{
    struct str *copy = ARENA_ARRAY(&op->arena, struct str, n + 1);
    size_t i;

    for (i = 0; i < n; i++)
        copy[i] = keep(op, list[i]);
    return copy;
}

enum rc store_add_feed(struct store *s, const struct feed_ref *ref, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_ADD_FEED, done, ctx);

    op->as.add = keep_ref(op, ref);
    return hand_over(s, op);
}

enum rc store_subscribe(struct store *s, const struct sub_request *req, store_done_fn *done,
                        void *ctx)
{
    struct op *op = op_new(OP_SUBSCRIBE, done, ctx);
    struct feed_ref *feeds = ARENA_ARRAY(&op->arena, struct feed_ref, req->n_feeds + 1);
    size_t i;

    for (i = 0; i < req->n_feeds; i++)
        feeds[i] = keep_ref(op, &req->feeds[i]);
    op->as.subscribe = *req;
    op->as.subscribe.endpoint = keep(op, req->endpoint);
    op->as.subscribe.endpoint_credential = keep(op, req->endpoint_credential);
    op->as.subscribe.sink = keep(op, req->sink);
    op->as.subscribe.feeds = feeds;
    return hand_over(s, op);
}

enum rc store_unsubscribe(struct store *s, int64_t sub_id, const struct str *urls, size_t n,
                          store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_UNSUBSCRIBE, done, ctx);

    op->as.unsubscribe.sub_id = sub_id;
    op->as.unsubscribe.urls = keep_list(op, urls, n);
    op->as.unsubscribe.n = n;
    return hand_over(s, op);
}

enum rc store_push_outcome(struct store *s, const struct push_outcome *o, store_done_fn *done,
                           void *ctx)
{
    struct op *op = op_new(OP_PUSH_OUTCOME, done, ctx);

    op->as.push = *o;
    op->as.push.error = keep(op, o->error);
    return hand_over(s, op);
}

enum rc store_resume(struct store *s, int64_t sub_id, int64_t position, store_done_fn *done,
                     void *ctx)
{
    struct op *op = op_new(OP_RESUME, done, ctx);

    op->as.resume.sub_id = sub_id;
    op->as.resume.position = position;
    return hand_over(s, op);
}

/* `has_docs`: their documents are in the operation's arena already. */
static struct entry_change *keep_changes(struct op *op, const struct entry_change *list, size_t n,
                                         bool has_docs)
{
    struct entry_change *copy = ARENA_ARRAY(&op->arena, struct entry_change, n + 1);
    size_t i;

    for (i = 0; i < n; i++) {
        copy[i] = list[i];
        copy[i].uid = keep(op, list[i].uid);
        copy[i].title = keep(op, list[i].title);
        copy[i].link = keep(op, list[i].link);
        copy[i].summary = keep(op, list[i].summary);
        copy[i].author = keep(op, list[i].author);
        copy[i].doc = has_docs ? list[i].doc : keep(op, list[i].doc);
        copy[i].ext = keep(op, list[i].ext);
    }
    return copy;
}

static struct doc_grave *keep_graves(struct op *op, const struct doc_grave *list, size_t n)
{
    struct doc_grave *copy = ARENA_ARRAY(&op->arena, struct doc_grave, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = (struct doc_grave){keep(op, list[i].uid), list[i].when_us};
    return copy;
}

enum rc store_fetch_outcome(struct store *s, const struct fetch_outcome *o, store_done_fn *done,
                            void *ctx)
{
    struct op *op = op_new(OP_FETCH_OUTCOME, done, ctx);
    struct fetch_outcome *copy = &op->as.outcome;
    struct arena_mark given = {0};
    enum rc rc;

    *copy = *o;
    copy->docs = NULL;
    if (o->docs != NULL) { /* the documents, which are most of it, travel on */
        given = arena_mark(o->docs);
        op->arena = *o->docs;
        *o->docs = (struct arena)ARENA_INIT;
    }
    copy->error = keep(op, o->error);
    copy->url = keep(op, o->url);
    copy->page_url = keep(op, o->page_url);
    copy->aliases = keep_list(op, o->aliases, o->n_aliases);
    copy->etag = keep(op, o->etag);
    copy->last_modified = keep(op, o->last_modified);
    copy->head = keep(op, o->head);
    copy->head_ext = keep(op, o->head_ext);
    copy->title = keep(op, o->title);
    copy->site_url = keep(op, o->site_url);
    copy->identity.why = keep(op, o->identity.why);
    copy->archive = keep(op, o->archive);
    copy->piece.from = keep(op, o->piece.from);
    copy->piece.cursor = keep(op, o->piece.cursor);
    copy->past.older = keep(op, o->past.older);
    copy->past.graves = keep_graves(op, o->past.graves, o->past.n_graves);
    copy->changes = keep_changes(op, o->changes, o->n_changes, o->docs != NULL);
    rc = storer_push(s->storer, op);
    if (rc == RC_OK)
        return RC_OK;
    if (o->docs != NULL) {
        arena_rewind(&op->arena, given);
        *o->docs = op->arena;
        op->arena = (struct arena)ARENA_INIT;
    }
    op_free(op);
    return rc;
}

enum rc store_content_outcome(struct store *s, const struct content_outcome *o, store_done_fn *done,
                              void *ctx)
{
    struct op *op = op_new(OP_CONTENT_OUTCOME, done, ctx);

    op->as.content = *o;
    op->as.content.doc = keep(op, o->doc);
    op->as.content.ext = keep(op, o->ext);
    op->as.content.summary = keep(op, o->summary);
    op->as.content.author = keep(op, o->author);
    return hand_over(s, op);
}

void store_touch(struct store *s, const int64_t *ids, size_t n)
{
    struct op *op = op_new(OP_TOUCH, NULL, NULL);
    int64_t now = clock_now_s();

    op->as.touch.ids = ARENA_ARRAY(&op->arena, int64_t, n + 1);
    op->as.touch.n = directory_touch(s->dir, ids, n, now, now - TOUCH_EVERY_S, op->as.touch.ids);
    if (op->as.touch.n == 0)
        op_free(op);
    else if (hand_over(s, op) != RC_OK)
        return; /* only a courtesy: the next hour's request will do */
}

enum rc store_ping(struct store *s, const int64_t *ids, size_t n, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_PING, done, ctx);

    op->as.ping.ids = ARENA_ARRAY(&op->arena, int64_t, n + 1);
    memcpy(op->as.ping.ids, ids, n * sizeof *ids);
    op->as.ping.n = n;
    return hand_over(s, op);
}

enum rc store_upstream_put(struct store *s, const struct upstream *u, store_done_fn *done,
                           void *ctx)
{
    struct op *op = op_new(OP_UPSTREAM_PUT, done, ctx);

    op->as.upstream = *u;
    op->as.upstream.token = keep(op, u->token);
    op->as.upstream.base_url = keep(op, u->base_url);
    op->as.upstream.secret = keep(op, u->secret);
    op->as.upstream.hub = keep(op, u->hub);
    op->as.upstream.topic = keep(op, u->topic);
    op->as.upstream.error = keep(op, u->error);
    return hand_over(s, op);
}

enum rc store_upstream_drop(struct store *s, struct str token)
{
    struct op *op = op_new(OP_UPSTREAM_DROP, NULL, NULL);

    op->as.upstream = (struct upstream){.token = keep(op, token)};
    return hand_over(s, op);
}

enum rc store_set_level(struct store *s, int64_t feed_id, int level, int64_t period_s,
                        store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_SET_LEVEL, done, ctx);

    op->as.set_level.feed_id = feed_id;
    op->as.set_level.level = level;
    op->as.set_level.period_s = period_s;
    return hand_over(s, op);
}

enum rc store_hub_request(struct store *s, const struct hub_intent *in, store_done_fn *done,
                          void *ctx)
{
    struct op *op = op_new(OP_HUB_REQUEST, done, ctx);
    struct sub_feed *feeds = ARENA_ARRAY(&op->arena, struct sub_feed, in->n_feeds + 1);
    struct hub_intent *copy = &op->as.hub_request;

    for (size_t i = 0; i < in->n_feeds; i++)
        feeds[i] =
            (struct sub_feed){.feed_id = in->feeds[i].feed_id, .url = keep(op, in->feeds[i].url)};
    *copy = *in;
    copy->topic = keep(op, in->topic);
    copy->callback = keep(op, in->callback);
    copy->credential = keep(op, in->credential);
    copy->secret = keep(op, in->secret);
    copy->verify_token = keep(op, in->verify_token);
    copy->reason = keep(op, in->reason);
    copy->feeds = feeds;
    return hand_over(s, op);
}

enum rc store_hub_settle(struct store *s, struct hub_settled settled, store_done_fn *done,
                         void *ctx)
{
    struct op *op = op_new(OP_HUB_SETTLE, done, ctx);

    op->as.hub_settle = settled;
    return hand_over(s, op);
}

enum rc store_hub_sweep(struct store *s, store_done_fn *done, void *ctx)
{
    return hand_over(s, op_new(OP_HUB_SWEEP, done, ctx));
}
