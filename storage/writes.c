/* storage/writes.c - the writing calls of store.h. They copy the request into an operation, and
 * hand the operation over to the storer. Any thread. Only the calls for outcomes can wait
 * (`wait_ms`).
 *
 * The strings of outcomes are copied by the lists that declare them (store.h). */
#include "base/clock.h"
#include "base/mem.h"
#include "storage/keeper.h"
#include "storage/pushes.h"
#include "storage/store_priv.h"

#define TOUCH_EVERY_S 3600
#define TOUCH_FEW 16 /* feeds for which no memory is asked for */

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
    enum rc rc = storer_push(s->storer, op, 0);

    if (rc != RC_OK)
        op_free(op);
    return rc;
}

/* A copy of `s`; null if it is null, empty if it is empty. */
static struct str keep(struct op *op, struct str s)
{
    return str_is_null(s) ? s : str_dup(&op->arena, s);
}

/* A secret of a feed goes no further in plain, if there is a key. */
static struct str keep_sealed(const struct store *s, struct op *op, struct str secret)
{
    return keep(op, sealed_secret(&op->arena, s->key, secret));
}

static struct feed_ref keep_ref(const struct store *s, struct op *op, const struct feed_ref *ref)
{
    struct feed_ref copy = *ref;

    copy.url = keep(op, ref->url);
    copy.credential = keep(op, sealed_credential(&op->arena, s->key, ref->credential));
    copy.shown_url = keep(op, ref->shown_url);
    copy.details.name = keep(op, ref->details.name);
    copy.details.folder = keep(op, ref->details.folder);
    copy.details.category = keep(op, ref->details.category);
    copy.details.title = keep(op, ref->details.title);
    copy.details.site_url = keep(op, ref->details.site_url);
    return copy;
}

static const struct feed_ref *keep_one(const struct store *s, struct op *op,
                                       const struct feed_ref *ref)
{
    struct feed_ref *copy = ARENA_NEW(&op->arena, struct feed_ref);

    *copy = keep_ref(s, op, ref);
    return copy;
}

static struct str *keep_list(struct op *op, const struct str *list, size_t n)
{
    struct str *copy = ARENA_ARRAY(&op->arena, struct str, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = keep(op, list[i]);
    return copy;
}

enum rc store_add_feed(struct store *s, const struct feed_ref *ref, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_ADD_FEED, done, ctx);

    op->as.add = keep_ref(s, op, ref);
    return hand_over(s, op);
}

/* Ids and URLs alone. */
static const struct sub_feed *keep_feeds(struct op *op, const struct sub_feed *feeds, size_t n)
{
    struct sub_feed *copy = ARENA_ARRAY(&op->arena, struct sub_feed, n + 1);

    for (size_t i = 0; i < n; i++)
        copy[i] = (struct sub_feed){.feed_id = feeds[i].feed_id, .url = keep(op, feeds[i].url)};
    return copy;
}

enum rc store_subscribe(struct store *s, const struct sub_request *req, store_done_fn *done,
                        void *ctx)
{
    struct op *op = op_new(OP_SUBSCRIBE, done, ctx);
    struct feed_ref *feeds = ARENA_ARRAY(&op->arena, struct feed_ref, req->n_feeds + 1);

    for (size_t i = 0; i < req->n_feeds; i++)
        feeds[i] = keep_ref(s, op, &req->feeds[i]);
    op->as.subscribe = *req;
    op->as.subscribe.endpoint = keep(op, req->endpoint);
    op->as.subscribe.endpoint_credential = keep(op, req->endpoint_credential);
    op->as.subscribe.sink = keep(op, req->sink);
    op->as.subscribe.sink_settings = keep(op, req->sink_settings);
    op->as.subscribe.filter = keep(op, req->filter);
    op->as.subscribe.asks = keep(op, req->asks);
    op->as.subscribe.secrets = keep_sealed(s, op, req->secrets);
    op->as.subscribe.feeds = feeds;
    if (req->list != NULL)
        op->as.subscribe.list = keep_one(s, op, req->list);
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

enum rc store_push_outcomes(struct store *s, const struct push_outcome *outcomes, size_t n,
                            store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_PUSH_OUTCOMES, done, ctx);
    struct push_outcome *list = ARENA_ARRAY(&op->arena, struct push_outcome, n + 1);

    for (size_t i = 0; i < n; i++) {
        struct push_outcome *copy = &list[i];

        *copy = outcomes[i];
        copy->endpoint = keep(op, copy->endpoint);
        copy->error = keep(op, copy->error);
        copy->dead.uid = keep(op, copy->dead.uid);
        copy->dead.answer = keep(op, copy->dead.answer);
        copy->note.error = keep(op, copy->note.error);
    }
    op->as.push.outcomes = list;
    op->as.push.n = n;
    return hand_over(s, op);
}

enum rc store_change_sub(struct store *s, const struct sub_change *change, store_done_fn *done,
                         void *ctx)
{
    struct op *op = op_new(OP_CHANGE_SUB, done, ctx);
    struct sub_change *copy = &op->as.change_sub;

    *copy = *change;
    copy->endpoint = keep(op, change->endpoint);
    copy->endpoint_credential = keep(op, change->endpoint_credential);
    copy->sink = keep(op, change->sink);
    copy->sink_settings = keep(op, change->sink_settings);
    copy->filter = keep(op, change->filter);
    copy->asks = keep(op, change->asks);
    copy->name = keep(op, change->name);
    copy->folder = keep(op, change->folder);
    return hand_over(s, op);
}

enum rc store_follow_sub(struct store *s, const struct sub_following *f, store_done_fn *done,
                         void *ctx)
{
    struct op *op = op_new(OP_FOLLOW_SUB, done, ctx);
    struct sub_following *copy = &op->as.follow;

    *copy = *f;
    copy->asks = keep(op, f->asks);
    copy->filter = keep(op, f->filter);
    copy->feeds = keep_feeds(op, f->feeds, f->n_feeds);
    return hand_over(s, op);
}

enum rc store_resume(struct store *s, int64_t sub_id, int64_t position, store_done_fn *done,
                     void *ctx)
{
    struct sub_change change = {.sub_id = sub_id,
                                .has_state = true,
                                .state = SUB_ACTIVE,
                                .has_position = position >= 0,
                                .position = position,
                                .level = LEVEL_KEEP};

    return store_change_sub(s, &change, done, ctx);
}

static enum rc change_dead(struct store *s, enum op_kind kind, int64_t sub_id, int64_t dead_id,
                           store_done_fn *done, void *ctx)
{
    struct op *op = op_new(kind, done, ctx);

    op->as.dead.sub_id = sub_id;
    op->as.dead.id = dead_id;
    return hand_over(s, op);
}

enum rc store_dead_retry(struct store *s, int64_t sub_id, int64_t dead_id, store_done_fn *done,
                         void *ctx)
{
    return change_dead(s, OP_DEAD_RETRY, sub_id, dead_id, done, ctx);
}

enum rc store_dead_drop(struct store *s, int64_t sub_id, int64_t dead_id, store_done_fn *done,
                        void *ctx)
{
    return change_dead(s, OP_DEAD_DROP, sub_id, dead_id, done, ctx);
}

/* ---- outcomes ------------------------------------------------------------------------------- */

#define KEEP_STRING(name) copy->name = keep(op, copy->name);

/* A copy of an entry batch, without the documents if the operation has taken over their arena. */
static struct entry_batch keep_batch(struct op *op, const struct entry_batch *in)
{
    struct entry_change *list = ARENA_ARRAY(&op->arena, struct entry_change, in->n + 1);

    for (size_t i = 0; i < in->n; i++) {
        struct entry_change *copy = &list[i];

        *copy = in->changes[i];
        ENTRY_CHANGE_STRINGS(KEEP_STRING)
        if (in->docs == NULL)
            copy->doc = keep(op, copy->doc);
    }
    return (struct entry_batch){.changes = list, .n = in->n};
}

static void keep_past(struct op *op, struct doc_past *copy)
{
    struct past_deletion *list =
        ARENA_ARRAY(&op->arena, struct past_deletion, copy->n_deletions + 1);

    DOC_PAST_STRINGS(KEEP_STRING)
    for (size_t i = 0; i < copy->n_deletions; i++)
        list[i] =
            (struct past_deletion){keep(op, copy->deletions[i].uid), copy->deletions[i].when_us};
    copy->deletions = list;
}

static void keep_piece(struct op *op, struct doc_piece *copy)
{
    DOC_PIECE_STRINGS(KEEP_STRING)
}

static void keep_head(struct op *op, struct doc_head *copy)
{
    DOC_HEAD_STRINGS(KEEP_STRING)
}

static void keep_check(struct op *op, struct feed_check *copy)
{
    FEED_CHECK_STRINGS(KEEP_STRING)
    KEEP_STRING(move.to)
    copy->aliases = keep_list(op, copy->aliases, copy->n_aliases);
}

/* Take over the arena of the documents. They are the largest part of an outcome, so they are not
 * copied. */
static struct arena_mark take_docs(struct op *op, const struct entry_batch *in)
{
    struct arena_mark given = {0};

    if (in->docs == NULL)
        return given;
    given = arena_mark(in->docs);
    op->arena = *in->docs;
    *in->docs = (struct arena)ARENA_INIT;
    return given;
}

/* Hand the operation over. If it is refused, give the documents back to the caller. */
static enum rc hand_over_docs(struct store *s, struct op *op, const struct entry_batch *in,
                              struct arena_mark given, int64_t wait_ms)
{
    enum rc rc = storer_push(s->storer, op, wait_ms);

    if (rc == RC_OK)
        return RC_OK;
    if (in->docs != NULL) {
        arena_rewind(&op->arena, given);
        *in->docs = op->arena;
        op->arena = (struct arena)ARENA_INIT;
    }
    op_free(op);
    return rc;
}

enum rc store_poll_outcome(struct store *s, const struct poll_outcome *o, int64_t wait_ms,
                           store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_POLL_OUTCOME, done, ctx);
    struct poll_outcome *copy = &op->as.poll;
    struct arena_mark given = take_docs(op, &o->entries);

    *copy = *o;
    POLL_OUTCOME_STRINGS(KEEP_STRING)
    keep_check(op, &copy->check);
    keep_head(op, &copy->head);
    keep_past(op, &copy->past);
    copy->identity.policy.why = keep(op, o->identity.policy.why);
    copy->shown = keep(op, o->shown);
    copy->entries = keep_batch(op, &o->entries);
    return hand_over_docs(s, op, &o->entries, given, wait_ms);
}

enum rc store_stream_outcome(struct store *s, const struct stream_outcome *o, int64_t wait_ms,
                             store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_STREAM_OUTCOME, done, ctx);
    struct stream_outcome *copy = &op->as.stream;
    struct arena_mark given = take_docs(op, &o->entries);

    *copy = *o;
    keep_check(op, &copy->check);
    keep_head(op, &copy->head);
    keep_piece(op, &copy->piece);
    copy->identity.policy.why = keep(op, o->identity.policy.why);
    copy->entries = keep_batch(op, &o->entries);
    return hand_over_docs(s, op, &o->entries, given, wait_ms);
}

enum rc store_archive_outcome(struct store *s, const struct archive_outcome *o, int64_t wait_ms,
                              store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_ARCHIVE_OUTCOME, done, ctx);
    struct archive_outcome *copy = &op->as.archive;
    struct arena_mark given = take_docs(op, &o->entries);

    *copy = *o;
    ARCHIVE_OUTCOME_STRINGS(KEEP_STRING)
    keep_past(op, &copy->past);
    copy->entries = keep_batch(op, &o->entries);
    return hand_over_docs(s, op, &o->entries, given, wait_ms);
}

enum rc store_delivery_outcome(struct store *s, const struct delivery_outcome *o, int64_t wait_ms,
                               store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_DELIVERY_OUTCOME, done, ctx);
    struct delivery_outcome *copy = &op->as.delivery;
    struct arena_mark given = take_docs(op, &o->entries);

    *copy = *o;
    keep_piece(op, &copy->piece);
    copy->identity.policy.why = keep(op, o->identity.policy.why);
    copy->entries = keep_batch(op, &o->entries);
    return hand_over_docs(s, op, &o->entries, given, wait_ms);
}

static void keep_sync(const struct store *s, struct op *op, struct list_sync *copy)
{
    struct feed_ref *added = ARENA_ARRAY(&op->arena, struct feed_ref, copy->n_added + 1);
    int64_t *dropped = ARENA_ARRAY(&op->arena, int64_t, copy->n_dropped + 1);
    struct list_change *changed = ARENA_ARRAY(&op->arena, struct list_change, copy->n_changed + 1);

    copy->folder = keep(op, copy->folder);
    for (size_t i = 0; i < copy->n_added; i++)
        added[i] = keep_ref(s, op, &copy->added[i]);
    for (size_t i = 0; i < copy->n_changed; i++) {
        changed[i] = copy->changed[i];
        changed[i].name = keep(op, changed[i].name);
        changed[i].folder = keep(op, changed[i].folder);
    }
    copy->added = added;
    copy->changed = changed;
    for (size_t i = 0; i < copy->n_dropped; i++)
        dropped[i] = copy->dropped[i];
    copy->dropped = dropped;
}

enum rc store_list_outcome(struct store *s, const struct list_outcome *o, int64_t wait_ms,
                           store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_LIST_OUTCOME, done, ctx);
    struct list_outcome *copy = &op->as.list;
    struct list_sync *syncs = ARENA_ARRAY(&op->arena, struct list_sync, o->n_syncs + 1);
    enum rc rc;

    *copy = *o;
    LIST_OUTCOME_STRINGS(KEEP_STRING)
    keep_check(op, &copy->check);
    for (size_t i = 0; i < o->n_syncs; i++) {
        syncs[i] = o->syncs[i];
        keep_sync(s, op, &syncs[i]);
    }
    copy->syncs = syncs;
    rc = storer_push(s->storer, op, wait_ms);
    if (rc != RC_OK)
        op_free(op);
    return rc;
}

enum rc store_content_outcome(struct store *s, const struct content_outcome *o, int64_t wait_ms,
                              store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_CONTENT_OUTCOME, done, ctx);
    struct content_outcome *copy = &op->as.content;
    enum rc rc;

    *copy = *o;
    CONTENT_OUTCOME_STRINGS(KEEP_STRING)
    rc = storer_push(s->storer, op, wait_ms);
    if (rc != RC_OK)
        op_free(op);
    return rc;
}

/* ---- other writes ---------------------------------------------------------------------------- */

void store_touch(struct store *s, const int64_t *ids, size_t n)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t few[TOUCH_FEW], *old = n <= TOUCH_FEW ? few : ARENA_ARRAY(&scratch, int64_t, n);
    int64_t now = clock_now_s();
    size_t n_old = directory_touch(s->dir, ids, n, now, now - TOUCH_EVERY_S, old);
    struct op *op;

    if (n_old == 0) /* as for nearly every request */
        return;
    op = op_new(OP_TOUCH, NULL, NULL);
    op->as.touch.ids = ARENA_ARRAY(&op->arena, int64_t, n_old);
    memcpy(op->as.touch.ids, old, n_old * sizeof *old);
    op->as.touch.n = n_old;
    if (hand_over(s, op) != RC_OK)
        return; /* it can be left out: a request in the next hour writes it */
}

enum rc store_take_back(struct store *s, const struct feed_errors *feeds, size_t n, int64_t since)
{
    struct op *op = op_new(OP_TAKE_BACK, NULL, NULL);
    struct feed_errors *copy = ARENA_ARRAY(&op->arena, struct feed_errors, n);

    op->as.take_back.ids = ARENA_ARRAY(&op->arena, int64_t, n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = feeds[i];
        op->as.take_back.ids[i] = feeds[i].feed_id;
    }
    op->as.take_back.feeds = copy;
    op->as.take_back.n = n;
    op->as.take_back.since = since;
    return hand_over(s, op);
}

size_t store_strays(struct store *s, int64_t before, size_t *at, int64_t *ids, size_t max)
{
    return directory_strays(s->dir, before, at, ids, max);
}

enum rc store_forget(struct store *s, const int64_t *ids, size_t n, int64_t before)
{
    struct op *op = op_new(OP_FORGET, NULL, NULL);

    op->as.forget.ids = ARENA_ARRAY(&op->arena, int64_t, n + 1);
    memcpy(op->as.forget.ids, ids, n * sizeof *ids);
    op->as.forget.n = n;
    op->as.forget.before = before;
    return hand_over(s, op);
}

enum rc store_forget_feed(struct store *s, int64_t id, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_FORGET_FEED, done, ctx);

    op->as.forget_feed = id;
    return hand_over(s, op);
}

enum rc store_retain(struct store *s, int64_t feed_id, int64_t after, int64_t limit,
                     int64_t budget_us, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_RETAIN, done, ctx);

    op->as.retain.feed_id = feed_id;
    op->as.retain.after = after;
    op->as.retain.limit = limit;
    op->as.retain.budget_us = budget_us;
    return hand_over(s, op);
}

enum rc store_end_entries(struct store *s, int64_t feed_id, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_END_ENTRIES, done, ctx);

    op->as.end_entries = feed_id;
    return hand_over(s, op);
}

enum rc store_give_back(struct store *s, store_done_fn *done, void *ctx)
{
    return hand_over(s, op_new(OP_GIVE_BACK, done, ctx));
}

static enum rc ping(struct store *s, const int64_t *ids, size_t n, bool by_cloud,
                    store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_PING, done, ctx);

    op->as.ping.ids = ARENA_ARRAY(&op->arena, int64_t, n + 1);
    memcpy(op->as.ping.ids, ids, n * sizeof *ids);
    op->as.ping.n = n;
    op->as.ping.by_cloud = by_cloud;
    return hand_over(s, op);
}

enum rc store_ping(struct store *s, const int64_t *ids, size_t n, store_done_fn *done, void *ctx)
{
    return ping(s, ids, n, false, done, ctx);
}

enum rc store_announced(struct store *s, int64_t feed_id, store_done_fn *done, void *ctx)
{
    return ping(s, &feed_id, 1, true, done, ctx);
}

enum rc store_wish(struct store *s, int64_t feed_id)
{
    struct op *op = op_new(OP_WISH, NULL, NULL);

    op->as.wish.feed_id = feed_id;
    return hand_over(s, op);
}

enum rc store_change_feed(struct store *s, const struct feed_change *change, store_done_fn *done,
                          void *ctx)
{
    struct op *op = op_new(OP_CHANGE_FEED, done, ctx);

    op->as.change_feed = *change;
    op->as.change_feed.secrets = keep_sealed(s, op, change->secrets);
    return hand_over(s, op);
}

enum rc store_answer_wish(struct store *s, int64_t feed_id, enum rc rc)
{
    struct op *op = op_new(OP_WISH, NULL, NULL);

    op->as.wish.feed_id = feed_id;
    op->as.wish.is_answer = true;
    op->as.wish.rc = rc;
    return hand_over(s, op);
}

enum rc store_host_rest(struct store *s, const struct host_rest *rest)
{
    int64_t now_ms = clock_mono_ms();
    struct op *op;

    if (rest->host.len > HOST_REST_LEN)
        return RC_OK;
    op = op_new(OP_HOST_REST, NULL, NULL);
    op->as.rest.host = str_dup(&op->arena, rest->host);
    op->as.rest.cool_until_ms = now_ms + rest->cool_ms;
    op->as.rest.gentle_until_ms = now_ms + rest->gentle_ms;
    return hand_over(s, op);
}

enum rc store_upstream_put(struct store *s, const struct upstream *u, uint64_t known,
                           store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_UPSTREAM_PUT, done, ctx);
    struct upstream *row = &op->as.upstream.row;

    op->as.upstream.known = known;
    *row = *u;
    row->token = keep(op, u->token);
    row->base_url = keep(op, u->base_url);
    row->secret = keep(op, u->secret);
    row->hub = keep(op, u->hub);
    row->procedure = keep(op, u->procedure);
    row->topic = keep(op, u->topic);
    row->error = keep(op, u->error);
    return hand_over(s, op);
}

enum rc store_upstream_drop(struct store *s, int64_t feed_id, struct str token, uint64_t known,
                            store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_UPSTREAM_DROP, done, ctx);

    op->as.upstream.known = known;
    op->as.upstream.row = (struct upstream){.token = keep(op, token), .feed_id = feed_id};
    return hand_over(s, op);
}

enum rc store_hub_request(struct store *s, const struct hub_intent *in, store_done_fn *done,
                          void *ctx)
{
    struct op *op = op_new(OP_HUB_REQUEST, done, ctx);
    struct hub_intent *copy = &op->as.hub_request;

    *copy = *in;
    copy->topic = keep(op, in->topic);
    copy->callback = keep(op, in->callback);
    copy->credential = keep(op, in->credential);
    copy->secret = keep(op, in->secret);
    copy->verify_token = keep(op, in->verify_token);
    copy->reason = keep(op, in->reason);
    copy->procedure = keep(op, in->procedure);
    copy->filter = keep(op, in->filter);
    copy->asks = keep(op, in->asks);
    copy->feeds = keep_feeds(op, in->feeds, in->n_feeds);
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

enum rc store_token_add(struct store *s, const struct token *token, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_TOKEN_ADD, done, ctx);

    op->as.token = *token;
    op->as.token.name = keep(op, token->name);
    op->as.token.digest = keep(op, token->digest);
    op->as.token.used_at = TIME_UNKNOWN;
    return hand_over(s, op);
}

enum rc store_token_used(struct store *s, int64_t id, int64_t used_at)
{
    struct op *op = op_new(OP_TOKEN_USED, NULL, NULL);

    op->as.token = (struct token){.id = id, .used_at = used_at};
    return hand_over(s, op);
}

static struct op *view_op(enum op_kind kind, const struct named_view *view, bool by_admin,
                          store_done_fn *done, void *ctx)
{
    struct op *op = op_new(kind, done, ctx);
    struct named_view *row = &op->as.view.row;

    *row = *view;
    row->name = keep(op, view->name);
    row->title = keep(op, view->title);
    row->query = keep(op, view->query);
    row->uses = keep(op, view->uses);
    op->as.view.by_admin = by_admin;
    return op;
}

enum rc store_view_put(struct store *s, const struct named_view *view, bool by_admin, bool only_new,
                       store_done_fn *done, void *ctx)
{
    struct op *op = view_op(OP_VIEW_PUT, view, by_admin, done, ctx);

    op->as.view.only_new = only_new;
    return hand_over(s, op);
}

enum rc store_view_drop(struct store *s, struct str name, int64_t owner, bool by_admin,
                        store_done_fn *done, void *ctx)
{
    struct named_view view = {.name = name, .owner = owner};

    return hand_over(s, view_op(OP_VIEW_DROP, &view, by_admin, done, ctx));
}

enum rc store_token_drop(struct store *s, int64_t id, store_done_fn *done, void *ctx)
{
    struct op *op = op_new(OP_TOKEN_DROP, done, ctx);

    op->as.token = (struct token){.id = id};
    return hand_over(s, op);
}
