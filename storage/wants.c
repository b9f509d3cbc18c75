/* storage/wants.c - see wants.h. */
#include "storage/wants.h"

#include <string.h>

#include "base/mem.h"
#include "model/known_loss.h"
#include "storage/rows_hub.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_tokens.h"

void wants_reset(struct wants *w)
{
    w->n_feeds = w->n_pasts = w->n_ids = w->n_keys = w->n_matches = 0;
    w->n_names = w->n_times = w->n_intents = w->n_websubs = w->n_hub_names = 0;
    w->n_tokens = w->n_callers = 0;
    w->counts_intents = w->counts_tokens = w->hub_due = w->has_views = false;
    memset(w->n_new, 0, sizeof w->n_new);
    w->entries.n = w->archives.n = w->graves.n = w->places.n = w->subs.n = 0;
}

void wants_release(struct wants *w)
{
    mem_free(w->feeds);
    mem_free(w->pasts);
    mem_free(w->ids);
    mem_free(w->keys);
    mem_free(w->matches);
    mem_free(w->names);
    mem_free(w->times);
    mem_free(w->intents);
    mem_free(w->tokens);
    mem_free(w->callers);
    mem_free(w->websubs);
    mem_free(w->hub_names);
    mem_free(w->entries.at);
    mem_free(w->archives.at);
    mem_free(w->graves.at);
    mem_free(w->subs.at);
    mem_free(w->places.at);
    *w = (struct wants){.feeds = NULL};
}

void wants_add_feed(struct wants *w, const struct want_feed *f)
{
    w->feeds = mem_grow(w->feeds, &w->cap_feeds, w->n_feeds + 1, sizeof *w->feeds);
    w->feeds[w->n_feeds++] = *f;
}

void wants_add_past(struct wants *w, const struct want_past *p)
{
    w->pasts = mem_grow(w->pasts, &w->cap_pasts, w->n_pasts + 1, sizeof *w->pasts);
    w->pasts[w->n_pasts++] = *p;
}

static void want_entry(struct wants *w, int64_t id, bool with_revision)
{
    w->ids = mem_grow(w->ids, &w->cap_ids, w->n_ids + 1, sizeof *w->ids);
    w->ids[w->n_ids++] = (struct want_entry){id, with_revision};
}

void wants_add_marks(struct wants *w, int64_t feed_id, const struct entry_marks *marks)
{
    int64_t keys[MARKS_KEYS];
    size_t n = marks_keys(marks, keys);

    w->keys = mem_grow(w->keys, &w->cap_keys, w->n_keys + n, sizeof *w->keys);
    for (size_t i = 0; i < n; i++)
        w->keys[w->n_keys++] = (struct want_key){feed_id, keys[i]};
}

void wants_add_row(struct want_rows *list, int64_t feed_id, struct str text)
{
    list->at = mem_grow(list->at, &list->cap, list->n + 1, sizeof *list->at);
    list->at[list->n++] = (struct want_row){feed_id, text};
}

/* The rows of `list` that belong to the entries of a document. */
static void want_batch(struct want_rows *list, int64_t feed_id, const struct entry_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        wants_add_row(list, feed_id, batch->changes[i].uid);
}

/* The past of a feed, to which `doc` adds what a document says about it; NULL: nothing. */
static void want_past(struct wants *w, int64_t feed_id, const struct doc_past *doc)
{
    struct want_past past = {.feed_id = feed_id};

    if (doc != NULL) {
        past.leads_on = !str_is_null(doc->older);
        past.has_graves = doc->n_deletions > 0;
        for (size_t i = 0; i < doc->n_deletions; i++)
            wants_add_row(&w->graves, feed_id, doc->deletions[i].uid);
    }
    if (past.leads_on)
        wants_add_row(&w->archives, feed_id, doc->older);
    wants_add_past(w, &past);
}

/* What a request for the feed itself looks at. `batch` NULL: it brought no document. */
static void want_check(struct wants *w, const struct feed_check *c, const struct entry_batch *batch,
                       const struct doc_past *past)
{
    wants_add_feed(w, &(struct want_feed){c->feed_id, &c->loaded, batch != NULL});
    want_past(w, c->feed_id, past);
    if (c->url.len > 0)
        wants_add_row(&w->places, c->feed_id, c->url);
    for (size_t i = 0; i < c->n_aliases; i++)
        wants_add_row(&w->places, c->feed_id, c->aliases[i]);
    if (batch != NULL)
        want_batch(&w->entries, c->feed_id, batch);
    if (c->state != FEED_GONE)
        return;
    w->websubs = mem_grow(w->websubs, &w->cap_websubs, w->n_websubs + 1, sizeof *w->websubs);
    w->websubs[w->n_websubs++] = c->feed_id;
    w->n_new[NEW_INTENT]++;
}

static void want_poll(struct wants *w, const struct poll_outcome *o)
{
    if (o->has_document)
        want_check(w, &o->check, &o->entries, &o->past);
    else
        want_check(w, &o->check, NULL, NULL);
}

static void want_archive(struct wants *w, const struct archive_outcome *o)
{
    wants_add_feed(w, &(struct want_feed){o->feed_id, &o->loaded, false});
    want_past(w, o->feed_id, o->ok ? &o->past : NULL);
    wants_add_row(&w->archives, o->feed_id, o->url);
    want_batch(&w->entries, o->feed_id, &o->entries);
    want_batch(&w->graves, o->feed_id, &o->entries);
}

/* The rows of feeds, without their heads. */
static void want_rows(struct wants *w, const int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        wants_add_feed(w, &(struct want_feed){.id = ids[i]});
}

void wants_add_sub(struct wants *w, const struct want_sub *sub)
{
    struct want_subs *subs = &w->subs;

    subs->at = mem_grow(subs->at, &subs->cap, subs->n + 1, sizeof *subs->at);
    subs->at[subs->n++] = *sub;
}

/* All its feeds go, or those that URLs name. */
static void want_unsubscribed(struct wants *w, const struct op *op)
{
    int64_t id = op->as.unsubscribe.sub_id;
    size_t n = op->as.unsubscribe.n;

    wants_add_sub(w, &(struct want_sub){
                         .id = id, .with_feeds = true, .with_rows = n == 0, .with_lease = true});
    w->n_new[NEW_INTENT]++;
    w->matches = mem_grow(w->matches, &w->cap_matches, w->n_matches + n, sizeof *w->matches);
    for (size_t i = 0; i < n; i++)
        w->matches[w->n_matches++] = (struct want_match){id, op->as.unsubscribe.urls[i]};
}

static void add_name(struct wants *w, struct str url, struct str credential)
{
    w->names = mem_grow(w->names, &w->cap_names, w->n_names + 1, sizeof *w->names);
    w->names[w->n_names++] = (struct want_name){url, credential};
}

static void want_name(struct wants *w, const struct feed_ref *ref)
{
    add_name(w, ref->url, ref->credential);
    w->n_new[NEW_FEED]++;
}

static void want_subscribed(struct wants *w, const struct sub_request *req)
{
    for (size_t i = 0; i < req->n_feeds; i++)
        want_name(w, &req->feeds[i]);
    if (req->list != NULL)
        want_name(w, req->list);
    w->n_new[NEW_SUB]++;
    if (!req->from_given)
        return;
    w->times = mem_grow(w->times, &w->cap_times, w->n_times + 1, sizeof *w->times);
    w->times[w->n_times++] = known_loss_seq(req->from_seq);
}

/* The subscriptions that follow a list, the feeds that they lose, and what the URLs of new ones
 * mean. */
static void want_list(struct wants *w, const struct list_outcome *o)
{
    want_check(w, &o->check, NULL, NULL);
    for (size_t i = 0; i < o->n_syncs; i++) {
        const struct list_sync *s = &o->syncs[i];

        wants_add_sub(w, &(struct want_sub){.id = s->sub_id, .with_feeds = true});
        want_rows(w, s->dropped, s->n_dropped);
        for (size_t k = 0; k < s->n_added; k++)
            want_name(w, &s->added[k]);
    }
}

/* A subscription has dead letters to look at when it gets one, or one was delivered again, or what
 * it was given had been delivered before. */
static void want_pushed(struct wants *w, const struct push_outcome *o)
{
    struct want_sub sub = {
        .id = o->sub_id, .with_feeds = o->ended, .with_rows = o->ended, .with_lease = o->ended};

    w->n_new[NEW_INTENT] += o->ended;
    sub.with_dead = o->dead.id != 0 || o->is_dead || (o->generation > 0 && o->chain.seq != 0);
    wants_add_sub(w, &sub);
}

static void want_caller(struct wants *w, int64_t id)
{
    w->callers = mem_grow(w->callers, &w->cap_callers, w->n_callers + 1, sizeof *w->callers);
    w->callers[w->n_callers++] = id;
}

static bool has_key(const struct feed_ref *refs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!str_is_null(access_key_of(refs[i].credential)))
            return true;
    return false;
}

static bool list_has_key(const struct list_outcome *o)
{
    for (size_t i = 0; i < o->n_syncs; i++)
        if (has_key(o->syncs[i].added, o->syncs[i].n_added))
            return true;
    return false;
}

static bool request_has_key(const struct sub_request *req)
{
    return has_key(req->feeds, req->n_feeds) || (req->list != NULL && has_key(req->list, 1));
}

bool op_looks_up(const struct op *op)
{
    return op_deletes_feeds(op) || (op->kind == OP_UNSUBSCRIBE && op->as.unsubscribe.n > 0) ||
           (op->kind == OP_ADD_FEED && has_key(&op->as.add, 1)) ||
           (op->kind == OP_LIST_OUTCOME && list_has_key(&op->as.list)) ||
           (op->kind == OP_SUBSCRIBE && request_has_key(&op->as.subscribe));
}

void op_wants(const struct op *op, struct wants *w)
{
    const struct stream_outcome *stream = &op->as.stream;
    const struct delivery_outcome *delivery = &op->as.delivery;
    const struct content_outcome *content = &op->as.content;

    switch (op->kind) {
    case OP_POLL_OUTCOME:
        want_poll(w, &op->as.poll);
        break;
    case OP_STREAM_OUTCOME:
        want_check(w, &stream->check, stream->has_document ? &stream->entries : NULL, NULL);
        break;
    case OP_ARCHIVE_OUTCOME:
        want_archive(w, &op->as.archive);
        break;
    case OP_DELIVERY_OUTCOME:
        wants_add_feed(w, &(struct want_feed){delivery->feed_id, &delivery->loaded, false});
        want_batch(&w->entries, delivery->feed_id, &delivery->entries);
        break;
    case OP_LIST_OUTCOME:
        want_list(w, &op->as.list);
        break;
    case OP_CONTENT_OUTCOME:
        wants_add_feed(w, &(struct want_feed){.id = content->feed_id});
        want_entry(w, content->entry_id, content->answer == ANSWER_CONTENT);
        break;
    case OP_ADD_FEED:
        want_name(w, &op->as.add);
        break;
    case OP_SUBSCRIBE:
        want_subscribed(w, &op->as.subscribe);
        break;
    case OP_TOUCH:
        want_rows(w, op->as.touch.ids, op->as.touch.n);
        break;
    case OP_PING:
        want_rows(w, op->as.ping.ids, op->as.ping.n);
        break;
    case OP_TAKE_BACK:
        want_rows(w, op->as.take_back.ids, op->as.take_back.n);
        break;
    case OP_CHANGE_FEED:
        want_rows(w, &op->as.change_feed.feed_id, 1);
        break;
    case OP_FORGET:
        want_rows(w, op->as.forget.ids, op->as.forget.n);
        break;
    case OP_FORGET_FEED:
        want_rows(w, &op->as.forget_feed, 1);
        break;
    case OP_END_ENTRIES:
        want_rows(w, &op->as.end_entries, 1);
        break;
    case OP_RETAIN:
        want_rows(w, &op->as.retain.feed_id, 1);
        break;
    case OP_PUSH_OUTCOMES:
        for (size_t i = 0; i < op->as.push.n; i++)
            want_pushed(w, &op->as.push.outcomes[i]);
        break;
    case OP_CHANGE_SUB:
        wants_add_sub(w, &(struct want_sub){.id = op->as.change_sub.sub_id,
                                            .with_feeds = true,
                                            .with_rows = op->as.change_sub.level != LEVEL_KEEP ||
                                                         op->as.change_sub.has_position});
        break;
    case OP_FOLLOW_SUB:
        wants_add_sub(w, &(struct want_sub){
                             .id = op->as.follow.sub_id, .with_feeds = true, .with_rows = true});
        for (size_t i = 0; i < op->as.follow.n_feeds; i++)
            wants_add_feed(w, &(struct want_feed){.id = op->as.follow.feeds[i].feed_id});
        break;
    case OP_UNSUBSCRIBE:
        want_unsubscribed(w, op);
        break;
    case OP_DEAD_RETRY:
    case OP_DEAD_DROP:
        wants_add_sub(
            w, &(struct want_sub){.id = op->as.dead.sub_id, .with_dead = true, .with_feeds = true});
        break;
    case OP_UPSTREAM_PUT:
    case OP_UPSTREAM_DROP:
        want_rows(w, &op->as.upstream.row.feed_id, 1);
        w->tokens = mem_grow(w->tokens, &w->cap_tokens, w->n_tokens + 1, sizeof *w->tokens);
        w->tokens[w->n_tokens++] = op->as.upstream.row.token;
        break;
    case OP_HUB_REQUEST:
        w->counts_intents = true;
        w->n_new[NEW_INTENT]++;
        break;
    case OP_HUB_SETTLE:
        w->intents = mem_grow(w->intents, &w->cap_intents, w->n_intents + 1, sizeof *w->intents);
        w->intents[w->n_intents++] = op->as.hub_settle.intent_id;
        break;
    case OP_HUB_SWEEP:
        w->hub_due = true;
        w->n_new[NEW_INTENT]++;
        break;
    case OP_TOKEN_ADD:
        w->counts_tokens = true;
        w->n_new[NEW_TOKEN]++;
        break;
    case OP_TOKEN_USED:
    case OP_TOKEN_DROP:
        want_caller(w, op->as.token.id);
        break;
    case OP_VIEW_PUT:
    case OP_VIEW_DROP:
        w->has_views = true;
        break;
    default:
        break;
    }
}

/* ---- what follows from what is held ----------------------------------------------------------
 */

/* Does the list of wants grow? Each of these wants only what is not held yet. */

static bool want_row(int64_t feed_id, struct rows *r, struct wants *w)
{
    if (feed_id == 0 || rows_feed(r, feed_id) != NULL)
        return false;
    wants_add_feed(w, &(struct want_feed){.id = feed_id});
    return true;
}

/* The feeds to which somebody subscribes. */
static bool want_found(const struct feed_ref *refs, size_t n, struct rows *r, struct wants *w)
{
    bool wants = false;

    for (size_t i = 0; i < n; i++)
        wants |= want_row(place_find(r, refs[i].url, refs[i].credential), r, w);
    return wants;
}

static bool want_requested(const struct sub_request *req, struct rows *r, struct wants *w)
{
    bool wants = want_found(req->feeds, req->n_feeds, r, w);

    return (req->list != NULL && want_found(req->list, 1, r, w)) || wants;
}

/* All that is looked at when the subscription ends. */
static bool want_end(int64_t sub_id, struct rows *r, struct wants *w)
{
    const struct held_sub *sub = rows_sub(r, sub_id);
    bool is_held =
        sub != NULL && (!sub->held.exists || sub->has_feeds) && rows_lease(r, sub_id) != NULL;

    for (size_t i = 0; is_held && i < sub->n_feeds; i++)
        is_held = rows_feed(r, sub->feeds[i]->row.feed_id) != NULL;
    if (!is_held)
        wants_add_sub(w,
                      &(struct want_sub){
                          .id = sub_id, .with_feeds = true, .with_rows = true, .with_lease = true});
    return !is_held;
}

/* The subscriptions of WebSub that perhaps end with their feed. */
static bool want_websubs(int64_t feed_id, struct rows *r, struct wants *w)
{
    const struct held_websubs *of = rows_websubs(r, feed_id);
    bool wants = false;

    for (size_t i = 0; of != NULL && i < of->n; i++)
        wants |= want_end(of->sub_ids[i], r, w);
    return wants;
}

static bool want_followed(const struct list_outcome *o, struct rows *r, struct wants *w)
{
    bool wants = want_websubs(o->check.feed_id, r, w);

    for (size_t i = 0; i < o->n_syncs; i++)
        wants |= want_found(o->syncs[i].added, o->syncs[i].n_added, r, w);
    return wants;
}

/* A feed for which an intent asks; if it has become a part of another one, that one. */
static bool want_asked(const struct sub_feed *feed, struct rows *r, struct wants *w)
{
    const struct held_feed *f = rows_feed(r, feed->feed_id);

    if (f == NULL)
        return want_row(feed->feed_id, r, w);
    if (!f->is_missing)
        return false;
    if (rows_place(r, feed->url, STR_NULL) != NULL)
        return want_row(place_find(r, feed->url, STR_NULL), r, w);
    add_name(w, feed->url, STR_NULL);
    return true;
}

static void want_hub_name(struct wants *w, const struct hub_intent *in)
{
    w->hub_names =
        mem_grow(w->hub_names, &w->cap_hub_names, w->n_hub_names + 1, sizeof *w->hub_names);
    w->hub_names[w->n_hub_names++] = (struct want_hub_name){in->protocol, in->callback, in->topic};
}

/* Is there still the token to which the subscription belongs? */
static bool want_owner(int64_t sub_id, struct rows *r, struct wants *w)
{
    const struct held_sub *sub = rows_sub(r, sub_id);

    if (!sub->held.exists || sub->row.owner <= 0 || rows_token(r, sub->row.owner) != NULL)
        return false;
    want_caller(w, sub->row.owner);
    return true;
}

/* The subscription that a part of an intent is about, or the feeds of a new one. */
static bool want_part(const struct hub_intent *in, struct rows *r, struct wants *w)
{
    const struct held_hub_name *name = rows_hub_name(r, in->protocol, in->callback, in->topic);
    bool wants = false;

    for (size_t i = 0; i < in->n_feeds; i++)
        wants |= want_asked(&in->feeds[i], r, w);
    if (name != NULL)
        return wants | (name->sub_id != 0 &&
                        (want_end(name->sub_id, r, w) || want_owner(name->sub_id, r, w)));
    want_hub_name(w, in);
    w->n_new[NEW_SUB]++;
    return true;
}

/* Whose is what a request would change? */
static bool want_owners(const struct hub_intent *in, struct rows *r, struct wants *w)
{
    struct hub_intent part;
    bool wants = false;
    size_t i = 0;

    while (hub_intent_part(in, &i, &part)) {
        const struct held_hub_name *name =
            rows_hub_name(r, part.protocol, part.callback, part.topic);

        if (name == NULL) {
            want_hub_name(w, &part);
            wants = true;
        } else if (name->sub_id != 0 && rows_sub(r, name->sub_id) == NULL) {
            wants_add_sub(w, &(struct want_sub){.id = name->sub_id});
            wants = true;
        } else if (name->sub_id != 0) {
            wants |= want_owner(name->sub_id, r, w);
        }
    }
    return wants;
}

static bool want_settled(const struct held_intent *in, struct rows *r, struct wants *w)
{
    struct hub_intent part;
    bool wants = false;
    size_t i = 0;

    while (in != NULL && in->held.exists && hub_intent_part(&in->row, &i, &part))
        wants |= want_part(&part, r, w);
    return wants;
}

static bool want_due(const struct hub_due *due, struct rows *r, struct wants *w)
{
    bool wants = false;

    for (size_t i = 0; due != NULL && i < due->n_ended; i++)
        wants |= want_end(due->ended[i], r, w);
    for (size_t i = 0; due != NULL && i < due->n_to_renew; i++)
        wants |= want_end(due->to_renew[i], r, w);
    return wants;
}

bool op_wants_more(const struct op *op, struct rows *r, struct wants *w)
{
    switch (op->kind) {
    case OP_SUBSCRIBE:
        return want_requested(&op->as.subscribe, r, w);
    case OP_LIST_OUTCOME:
        return want_followed(&op->as.list, r, w);
    case OP_POLL_OUTCOME:
        return want_websubs(op->as.poll.check.feed_id, r, w);
    case OP_STREAM_OUTCOME:
        return want_websubs(op->as.stream.check.feed_id, r, w);
    case OP_HUB_REQUEST:
        return want_owners(&op->as.hub_request, r, w);
    case OP_HUB_SETTLE:
        return want_settled(rows_intent(r, op->as.hub_settle.intent_id), r, w);
    case OP_HUB_SWEEP:
        return want_due(r->hub_due, r, w);
    default:
        return false;
    }
}

static void rows_follow(struct want_rows *list, int64_t from, int64_t to)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].feed_id == from)
            list->at[i].feed_id = to;
}

void wants_follow(struct wants *w, int64_t from, int64_t to)
{
    for (size_t i = 0; i < w->n_feeds; i++) {
        if (w->feeds[i].id != from)
            continue;
        w->feeds[i].id = to;
        w->feeds[i].loaded = NULL;
    }
    for (size_t i = 0; i < w->n_pasts; i++) {
        if (w->pasts[i].feed_id != from)
            continue;
        w->pasts[i].feed_id = to;
        w->pasts[i].leads_on = true; /* to what is left of the past of `from` */
    }
    rows_follow(&w->entries, from, to);
    rows_follow(&w->archives, from, to);
    rows_follow(&w->graves, from, to);
    rows_follow(&w->places, from, to);
}
