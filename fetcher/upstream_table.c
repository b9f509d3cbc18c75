/* fetcher/upstream_table.c - see upstream_table.h.
 *
 * A subscription is requested when its feed is wanted and the hub can reach us. It is renewed
 * before its lease ends. It is ended at the hub when nobody wants the feed any more, or when
 * another hub takes its place. A new subscription has a new token and a new secret. A renewal keeps
 * them, so that no delivery is lost during it. */
#include "fetcher/upstream_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fetcher/upstream_cloud.h"
#include "fetcher/upstream_rules.h"
#include "fetcher/upstream_save.h"
#include "net/hostport.h"
#include "net/url.h"

#define CALLBACK_TOKEN_BYTES 20 /* 160 random bits */
#define SECRET_BYTES 32         /* 64 characters; WebSub requires fewer than 200 */
#define DAY_S 86400

/* ---- rows ---- */

static struct str id_key(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

bool upstream_token_is_possible(struct str token)
{
    if (token.len != 2 * CALLBACK_TOKEN_BYTES)
        return false;
    for (size_t i = 0; i < token.len; i++)
        if (strchr("0123456789abcdef", token.ptr[i]) == NULL || token.ptr[i] == '\0')
            return false;
    return true;
}

static struct str random_hex(struct arena *a, size_t n)
{
    unsigned char bytes[SECRET_BYTES];
    char *text = arena_alloc(a, 2 * n + 1);

    digest_random(bytes, n);
    digest_hex(bytes, n, text);
    return str_of(text, 2 * n);
}

void upstream_sub_set_next(struct upstream_table *t, struct upstream_sub *sub, int64_t at)
{
    host_turns_leave(&t->turns, &sub->turn);
    sub->row.next_at = at;
    if (at == TIME_UNKNOWN || sub->is_calling)
        time_heap_remove(&t->heap, &sub->node);
    else
        time_heap_put(&t->heap, &sub->node, at);
    if (time_heap_first(&t->heap) == &sub->node)
        t->needs_turn = true;
}

struct upstream_sub *upstream_table_add(struct upstream_table *t, const struct upstream *row)
{
    struct upstream_sub *sub = NEW(struct upstream_sub);
    struct arena *a = &sub->arena;

    sub->row = *row;
    sub->row.token =
        str_is_null(row->token) ? random_hex(a, CALLBACK_TOKEN_BYTES) : str_dup(a, row->token);
    sub->row.secret =
        str_is_null(row->secret) ? random_hex(a, SECRET_BYTES) : str_dup(a, row->secret);
    sub->row.base_url = str_dup(a, row->base_url);
    sub->row.hub = str_dup(a, row->hub);
    sub->row.procedure = str_is_null(row->procedure) ? STR_NULL : str_dup(a, row->procedure);
    sub->row.topic = str_dup(a, row->topic);
    sub->standin = STR_NULL;
    snprintf(sub->error, sizeof sub->error, "%.*s", STR_ARG(row->error));
    map_put(&t->by_token, sub->row.token, sub);
    if (sub->row.is_current)
        map_put(&t->by_feed, id_key(&sub->row.feed_id), sub);
    return sub;
}

static void not_current(struct upstream_table *t, struct upstream_sub *sub)
{
    if (sub->row.is_current)
        map_del(&t->by_feed, id_key(&sub->row.feed_id));
    sub->row.is_current = false;
}

static void sub_free(void *p)
{
    struct upstream_sub *sub = p;

    arena_release(&sub->arena);
    mem_free(sub);
}

void upstream_sub_drop(struct upstream_table *t, struct upstream_sub *sub)
{
    if (!upstream_sub_drop_stored(t, sub, NULL, NULL))
        log_debug("fetcher", "upstream_kept", "feed=%" PRId64 " effect=dropped_at_next_start",
                  sub->row.feed_id);
    upstream_sub_forget(t, sub);
}

/* ---- several nodes ---- */

static void drop_standin(struct upstream_table *t, struct upstream_sub *hub);

bool upstream_table_owns(const struct upstream_table *t, int64_t feed_id)
{
    return t->owns == NULL || t->owns(t->owns_ctx, feed_id);
}

void upstream_sub_forget(struct upstream_table *t, struct upstream_sub *sub)
{
    t->n_unsaved -= sub->is_unsaved;
    if (upstream_table_of_feed(t, sub->row.feed_id) == sub)
        map_del(&t->by_feed, id_key(&sub->row.feed_id));
    host_turns_leave(&t->turns, &sub->turn);
    time_heap_remove(&t->heap, &sub->node);
    map_del(&t->by_token, sub->row.token);
    sub_free(sub);
}

/* Forget a row (NULL: none) if others act on it and nothing of ours depends on it. */
static void forget_other(struct upstream_table *t, struct upstream_sub *sub)
{
    if (sub != NULL && !sub->is_unsaved && !sub->is_calling &&
        (sub->is_foreign || !upstream_table_owns(t, sub->row.feed_id)))
        upstream_sub_forget(t, sub);
}

void upstream_table_forget_others(struct upstream_table *t)
{
    struct upstream_sub **list =
        mem_alloc((map_count(&t->by_token) + 1) * sizeof(struct upstream_sub *));
    void *it = NULL, *value;
    struct str key;
    size_t n = 0;

    while (map_next(&t->by_token, &it, &key, &value))
        list[n++] = value;
    for (size_t i = 0; i < n; i++)
        forget_other(t, list[i]);
    mem_free(list);
}

/* When is something to be done for a row that was read? */
static void plan(struct upstream_table *t, struct upstream_sub *sub)
{
    sub->is_foreign = !upstream_table_owns(t, sub->row.feed_id);
    if (sub->is_foreign)
        return;
    if (upstream_sub_is_over(sub) && sub->row.state == UPSTREAM_ACTIVE)
        upstream_sub_set_next(t, sub, sub->row.lease_end_at);
    else if (!sub->row.is_current && sub->row.state != UPSTREAM_ENDING)
        upstream_sub_drop(t, sub); /* the storer had no room to delete it before */
    else
        upstream_sub_set_next(t, sub, sub->row.next_at);
}

/* It fell due while its feed was not ours, and was put aside then. */
static bool is_put_aside(const struct upstream_sub *sub)
{
    return !sub->is_foreign && !sub->is_calling && sub->node.index == 0 && sub->turn.host == NULL;
}

/* Is the row of the database not what we have stored, because another node has changed it? Not if
 * it may have been read before we stored ours. */
static bool is_changed(const struct upstream_table *t, const struct upstream_sub *sub,
                       const struct upstream *row)
{
    if (sub->is_stale)
        return sub->n_saving == 0;
    return sub->n_saving == 0 && !sub->is_unsaved && sub->saved_in != t->n_readings &&
           store_upstream_mark(row) != sub->stored;
}

/* It is stored already, so it is not saved. A hub that answers the request later has been heard. */
static void take_over(struct upstream_table *t, struct upstream_sub *sub,
                      const struct upstream *row)
{
    sub->stored = store_upstream_mark(row);
    sub->is_waiting = sub->is_asked = sub->is_stale = false;
    sub->is_confirmed = sub->is_calling;
    upstream_sub_set_unsaved(t, sub, false);
    sub->row.from_page = row->from_page;
    sub->row.for_subs = row->for_subs;
    sub->row.state = row->state;
    sub->row.lease_end_at = row->lease_end_at;
    sub->row.ended_at = row->ended_at;
    sub->row.n_errors = row->n_errors;
    snprintf(sub->error, sizeof sub->error, "%.*s", STR_ARG(row->error));
    if (row->state == UPSTREAM_ACTIVE)
        drop_standin(t, sub);
    upstream_sub_set_next(t, sub, row->next_at);
}

static void take_row(struct upstream_table *t, const struct upstream *row);

/* Another node has changed the row. To which feed it belongs, and whether it is the current one,
 * says the owner: if what we have decided was refused, it is stored again. */
static void replace(struct upstream_table *t, struct upstream_sub *sub, const struct upstream *row)
{
    bool decides = sub->is_stale && upstream_table_owns(t, sub->row.feed_id);
    bool differs = row->feed_id != sub->row.feed_id || row->is_current != sub->row.is_current;
    bool is_over =
        !sub->row.is_current && sub->row.protocol == HUB_WEBSUB && upstream_is_asked(row->state);

    if (differs && !decides) {
        upstream_sub_forget(t, sub);
        take_row(t, row);
        return;
    }
    take_over(t, sub, row);
    if (is_over) {
        sub->row.state = upstream_next(row->state, UPSTREAM_UNWANTED, true);
        upstream_sub_set_next(t, sub, clock_now_s());
    }
    if (decides && (differs || is_over))
        upstream_sub_save(t, sub, NULL, NULL);
}

static void take_row(struct upstream_table *t, const struct upstream *row)
{
    struct upstream_sub *sub = map_get(&t->by_token, row->token);

    if (sub == NULL && !(row->is_current && upstream_table_of_feed(t, row->feed_id))) {
        sub = upstream_table_add(t, row);
        sub->stored = store_upstream_mark(row);
        plan(t, sub);
    } else if (sub != NULL && is_changed(t, sub, row)) {
        replace(t, sub, row);
    } else if (sub != NULL && is_put_aside(sub) && upstream_table_owns(t, sub->row.feed_id)) {
        upstream_sub_set_next(t, sub, sub->row.next_at);
    }
}

void upstream_table_take(struct upstream_table *t, const struct upstream *rows, size_t n)
{
    upstream_table_forget_others(t);
    for (size_t i = 0; i < n; i++)
        take_row(t, &rows[i]);
    upstream_table_find_standins(t);
}

void upstream_table_take_some(struct upstream_table *t, const struct str *tokens, size_t n_tokens,
                              const struct upstream *rows, size_t n)
{
    for (size_t i = 0; i < n_tokens; i++)
        forget_other(t, map_get(&t->by_token, tokens[i]));
    for (size_t i = 0; i < n; i++) {
        if (rows[i].is_current) /* another row of the feed was, and it may be another node's */
            forget_other(t, upstream_table_of_feed(t, rows[i].feed_id));
        take_row(t, &rows[i]);
    }
    if (n > 0) /* forged tokens must not make us walk the table */
        upstream_table_find_standins(t);
}

struct upstream_sub *upstream_table_of_feed(struct upstream_table *t, int64_t feed_id)
{
    return map_get(&t->by_feed, id_key(&feed_id));
}

/* ---- who wants it, and can the hub reach us? ---- */

/* Returns the origin of our callback for this hub or cloud; null when it cannot reach us. */
static struct str base_of(const struct upstream_table *t, const struct upstream *row)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts parts;
    struct hostport hp;

    if (t->base_url.len > 0)
        return row->protocol == HUB_WEBSUB || upstream_cloud_can_call(t->base_url) ? t->base_url
                                                                                   : STR_NULL;
    if (t->local_url.len > 0 && url_parse(&a, row->hub, &parts, NULL) == RC_OK &&
        hostport_parse(parts.host, &hp) && hostport_is_loopback(&hp))
        return t->local_url;
    return STR_NULL;
}

/* A feed is wanted while it has subscriptions, and for a while after a reader asked for it. Readers
 * that asked while there were subscriptions do not count. *changed: the row must be saved. */
static bool is_wanted(const struct upstream_table *t, struct upstream_sub *sub, bool *changed)
{
    struct feed_brief feed;
    int64_t now = clock_now_s();
    bool by_subs;

    *changed = false;
    if (!store_brief(t->store, sub->row.feed_id, &feed))
        return false;
    by_subs = feed.n_subscriptions > 0;
    *changed = by_subs != sub->row.for_subs;
    if (*changed && !by_subs)
        sub->row.ended_at = now;
    sub->row.for_subs = by_subs;
    return by_subs || (feed.wanted_at != TIME_UNKNOWN && feed.wanted_at > sub->row.ended_at &&
                       now - feed.wanted_at <= t->unused_s);
}

/* Replace the subscription by a new one at the hub, with a new token and secret. */
static void ask_anew(struct upstream_table *t, struct upstream_sub *old, struct str base)
{
    struct upstream row = old->row;
    struct upstream_sub *sub;

    row.token = row.secret = STR_NULL;
    row.base_url = base;
    row.state = UPSTREAM_ASKING;
    row.lease_end_at = TIME_UNKNOWN;
    row.n_errors = 0;
    row.error = STR_NULL;
    row.is_current = true;
    not_current(t, old);
    sub = upstream_table_add(t, &row);
    sub->standin = str_is_null(old->standin) ? STR_NULL : str_dup(&sub->arena, old->standin);
    sub->hub_failed_at = old->hub_failed_at;
    if (old->row.state == UPSTREAM_ENDING)
        upstream_sub_save(t, old, NULL, NULL);
    else
        upstream_sub_drop(t, old);
    upstream_sub_set_next(t, sub, clock_now_s());
    upstream_sub_save(t, sub, NULL, NULL);
}

/* The cloud that is heard in the place of this hub, or NULL. */
static struct upstream_sub *standin_of(struct upstream_table *t, const struct upstream_sub *hub)
{
    return str_is_null(hub->standin) ? NULL : map_get(&t->by_token, hub->standin);
}

static void drop_standin(struct upstream_table *t, struct upstream_sub *hub)
{
    struct upstream_sub *cloud = standin_of(t, hub);

    if (cloud != NULL)
        upstream_sub_drop(t, cloud);
    hub->standin = STR_NULL;
}

/* Ask the hub to end the subscription. A cloud cannot be asked: it finds the handler gone, or hears
 * nothing more from us within a day. */
static void end(struct upstream_table *t, struct upstream_sub *sub, bool stays_known)
{
    bool is_known_there = sub->row.protocol == HUB_WEBSUB &&
                          (sub->row.state == UPSTREAM_ACTIVE || sub->is_calling ||
                           sub->is_waiting || sub->row.lease_end_at > clock_now_s());

    if (!stays_known)
        not_current(t, sub);
    drop_standin(t, sub);
    sub->is_waiting = sub->is_confirmed = false;
    sub->row.n_errors = 0;
    sub->error[0] = '\0';
    if (sub->row.state == UPSTREAM_ENDING || is_known_there) {
        sub->row.state = upstream_next(sub->row.state, UPSTREAM_UNWANTED, true);
        upstream_sub_set_next(t, sub, clock_now_s());
        upstream_sub_save(t, sub, NULL, NULL);
    } else if (stays_known) {
        sub->row.state = UPSTREAM_IDLE;
        sub->row.lease_end_at = TIME_UNKNOWN;
        upstream_sub_set_next(t, sub, TIME_UNKNOWN);
        upstream_sub_save(t, sub, NULL, NULL);
    } else {
        upstream_sub_drop(t, sub);
    }
}

bool upstream_sub_ended(struct upstream_table *t, struct upstream_sub *sub, store_done_fn *done,
                        void *ctx)
{
    if (!sub->row.is_current) {
        bool is_dropped = upstream_sub_drop_stored(t, sub, done, ctx);

        if (is_dropped || done == NULL) /* else who waits is told to come again */
            upstream_sub_forget(t, sub);
        return is_dropped;
    }
    sub->row.state = upstream_next(sub->row.state, UPSTREAM_OVER, false);
    sub->row.lease_end_at = TIME_UNKNOWN;
    sub->is_waiting = false;
    upstream_sub_set_next(t, sub, TIME_UNKNOWN);
    return upstream_sub_save(t, sub, done, ctx);
}

/* Bring the row in line with what is wanted now. */
void upstream_sub_check(struct upstream_table *t, struct upstream_sub *sub)
{
    bool changed, wanted = is_wanted(t, sub, &changed);
    struct str base = base_of(t, &sub->row);
    struct feed_brief feed;

    if (!sub->row.is_current || !upstream_table_owns(t, sub->row.feed_id))
        return;
    if (!wanted && !store_brief(t->store, sub->row.feed_id, &feed))
        end(t, sub, false);
    else if (!wanted && sub->row.state != UPSTREAM_IDLE && sub->row.state != UPSTREAM_ENDING)
        end(t, sub, true);
    else if (wanted && !str_is_null(base) &&
             (sub->row.state == UPSTREAM_IDLE || sub->row.state == UPSTREAM_ENDING ||
              !str_eq(base, sub->row.base_url)))
        ask_anew(t, sub, base);
    else if (changed)
        upstream_sub_save(t, sub, NULL, NULL);
}

/* Check all rows. They are listed first, because a check may add and remove rows. */
void upstream_table_check_all(struct upstream_table *t)
{
    struct upstream_sub **list =
        mem_alloc((map_count(&t->by_feed) + 1) * sizeof(struct upstream_sub *));
    void *it = NULL, *value;
    struct str key;
    size_t n = 0;

    while (map_next(&t->by_feed, &it, &key, &value))
        list[n++] = value;
    for (size_t i = 0; i < n; i++)
        upstream_sub_check(t, list[i]);
    mem_free(list);
}

/* ---- a cloud in the place of a hub that was not heard of yet ---- */

/* Does the publisher name a hub, where a cloud is used? A hub says what is new, so it is better.
 * One that failed is asked again after a day. */
static bool has_better(const struct upstream_links *links, const struct upstream_sub *sub)
{
    return sub->row.protocol != HUB_WEBSUB && links->hubs[0].protocol == HUB_WEBSUB &&
           clock_now_s() - sub->hub_failed_at >= DAY_S;
}

/* The cloud is heard until `hub` has verified us, and its registration is not renewed. */
static void stand_in(struct upstream_table *t, struct upstream_sub *cloud, struct upstream_sub *hub)
{
    hub->standin = str_dup(&hub->arena, cloud->row.token);
    upstream_sub_set_next(t, cloud, cloud->row.lease_end_at);
}

/* The cloud that stood in for the hub is wanted instead of it. False: it does not stand in, or has
 * another topic. */
static bool go_back(struct upstream_table *t, struct upstream_sub *hub,
                    const struct upstream_hub *wanted, struct str topic)
{
    struct upstream_sub *cloud = standin_of(t, hub);
    int64_t left = UPSTREAM_CLOUD_LEASE_S - upstream_renew_s(UPSTREAM_CLOUD_LEASE_S);
    struct upstream_hub there;

    if (cloud == NULL)
        return false;
    there = (struct upstream_hub){cloud->row.hub, cloud->row.protocol, cloud->row.procedure};
    if (!upstream_hub_eq(&there, wanted) || !str_eq(cloud->row.topic, topic))
        return false;
    cloud->row.for_subs = hub->row.for_subs;
    cloud->row.ended_at = hub->row.ended_at;
    if (hub->row.state == UPSTREAM_FAILED)
        cloud->hub_failed_at = clock_now_s();
    hub->standin = STR_NULL;
    end(t, hub, false);
    cloud->row.is_current = true;
    map_put(&t->by_feed, id_key(&cloud->row.feed_id), cloud);
    upstream_sub_set_next(t, cloud, cloud->row.lease_end_at - left);
    upstream_sub_save(t, cloud, NULL, NULL);
    return true;
}

void upstream_table_find_standins(struct upstream_table *t)
{
    void *it = NULL, *value;
    struct str key;

    while (map_next(&t->by_token, &it, &key, &value)) {
        struct upstream_sub *cloud = value, *hub = upstream_table_of_feed(t, cloud->row.feed_id);

        if (upstream_sub_is_over(cloud) && hub != NULL && !str_eq(hub->standin, cloud->row.token))
            hub->standin = str_dup(&hub->arena, cloud->row.token);
    }
}

bool upstream_sub_is_over(const struct upstream_sub *sub)
{
    return !sub->row.is_current && sub->row.protocol != HUB_WEBSUB;
}

/* ---- what hubs say ---- */

/* The hub did not do what it was asked to do. */
PRINTF_LIKE(3, 4)
void upstream_sub_fail(struct upstream_table *t, struct upstream_sub *sub, const char *fmt, ...)
{
    int64_t now = clock_now_s(), at;
    bool has_lease;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(sub->error, sizeof sub->error, fmt, ap);
    va_end(ap);
    stats_inc(STAT_upstream_failed_total);
    sub->is_waiting = false;
    sub->row.n_errors++;
    if (sub->row.state == UPSTREAM_ENDING && sub->row.n_errors >= UPSTREAM_ENDINGS_TRIED) {
        (void)upstream_sub_ended(t, sub, NULL, NULL);
        return;
    }
    at = now + upstream_retry_s(sub->row.n_errors);
    has_lease = sub->row.lease_end_at > now;
    sub->row.state = upstream_next(sub->row.state, UPSTREAM_REFUSED, has_lease);
    if (sub->row.state == UPSTREAM_ACTIVE && at > sub->row.lease_end_at)
        at = sub->row.lease_end_at;
    log_info("fetcher", "upstream_failed", "feed=%" PRId64 " %s=%s why=%s", sub->row.feed_id,
             upstream_noun(sub->row.protocol), log_quote(sub->row.hub),
             log_quote(str_from(sub->error)));
    upstream_sub_set_next(t, sub, at);
    upstream_sub_save(t, sub, NULL, NULL);
}

void upstream_sub_verified(struct upstream_table *t, struct upstream_sub *sub, int64_t lease)
{
    int64_t now = clock_now_s();

    sub->row.state = upstream_next(sub->row.state, UPSTREAM_VERIFIED, true);
    sub->row.lease_end_at = now + lease;
    sub->row.n_errors = 0;
    sub->error[0] = '\0';
    sub->is_waiting = false;
    sub->is_confirmed = true;
    drop_standin(t, sub);
    stats_inc(STAT_upstream_verified_total);
    upstream_sub_set_next(t, sub, now + upstream_renew_s(lease));
}

void upstream_sub_denied(struct upstream_table *t, struct upstream_sub *sub, struct str reason)
{
    struct str shown = upstream_said(reason, sub->row.token, sub->row.secret);

    sub->row.lease_end_at = TIME_UNKNOWN;
    sub->is_confirmed = true;
    upstream_sub_fail(t, sub, "the hub denied it%s%.*s", shown.len > 0 ? ": " : "", STR_ARG(shown));
    if (sub->row.n_errors < UPSTREAM_OTHER_HUB_AFTER)
        sub->row.n_errors = UPSTREAM_OTHER_HUB_AFTER; /* so that another hub may be used at once */
    upstream_sub_set_next(t, sub, clock_now_s() + DAY_S);
}

/* ---- what fetches and commits say ---- */

static bool is_listed(const struct upstream_links *links, const struct upstream_hub *hub)
{
    for (size_t i = 0; i < links->n; i++)
        if (upstream_hub_eq(&links->hubs[i], hub))
            return true;
    return false;
}

void upstream_table_take_links(struct upstream_table *t, int64_t feed_id,
                               const struct upstream_links *links)
{
    struct upstream_sub *sub = upstream_table_of_feed(t, feed_id);
    struct upstream row = {.feed_id = feed_id,
                           .is_current = true,
                           .base_url = STR(""),
                           .topic = links->topic,
                           .from_page = links->from_page,
                           .state = UPSTREAM_IDLE,
                           .lease_end_at = TIME_UNKNOWN,
                           .next_at = TIME_UNKNOWN,
                           .ended_at = TIME_UNKNOWN,
                           .delivered_at = TIME_UNKNOWN};
    struct upstream_hub old = {.url = STR_NULL};
    const struct upstream_hub *hub;
    struct upstream_sub *new, *cloud = NULL;
    bool has_failed = sub != NULL && links->n > 1 && sub->row.state == UPSTREAM_FAILED &&
                      sub->row.n_errors >= UPSTREAM_OTHER_HUB_AFTER;

    /* the feed itself says nothing about hubs, so the hub of its page is kept */
    if (links->n == 0) {
        if (sub != NULL && !sub->row.from_page)
            end(t, sub, false);
        return;
    }
    if (sub != NULL)
        old = (struct upstream_hub){sub->row.hub, sub->row.protocol, sub->row.procedure};
    if (sub != NULL && has_better(links, sub))
        cloud = sub;
    else if (links->of_fields && sub != NULL && sub->row.protocol != HUB_WEBSUB)
        return; /* the cloud was taken in place of a hub that failed */
    else if (sub != NULL && !has_failed && is_listed(links, &old) &&
             str_eq(links->topic, sub->row.topic))
        return;
    hub = upstream_choose_hub(links->hubs, links->n, has_failed ? &old : NULL);
    row.hub = hub->url;
    row.protocol = hub->protocol;
    row.procedure = hub->procedure;
    if (sub != NULL && go_back(t, sub, hub, links->topic))
        return;
    if (sub != NULL) {
        row.ended_at = sub->row.ended_at;
        row.for_subs = sub->row.for_subs;
    }
    if (cloud != NULL && cloud->row.state == UPSTREAM_ACTIVE) {
        not_current(t, cloud);
        upstream_sub_save(t, cloud, NULL, NULL);
    } else if (sub != NULL) {
        cloud = NULL;
        end(t, sub, false);
    }
    new = upstream_table_add(t, &row);
    if (cloud != NULL)
        stand_in(t, cloud, new);
    if (has_failed && hub->protocol != HUB_WEBSUB)
        new->hub_failed_at = clock_now_s();
    upstream_sub_save(t, new, NULL, NULL);
}

/* The row of another node is ours from now on. */
static void adopt(struct upstream_table *t, struct upstream_sub *sub)
{
    if (!sub->is_foreign)
        return;
    sub->is_foreign = false;
    if (sub->row.is_current)
        upstream_sub_set_next(t, sub, sub->row.next_at);
    else
        plan(t, sub);
}

static void move(struct upstream_table *t, struct upstream_sub *sub, int64_t to)
{
    struct upstream_sub *cloud = standin_of(t, sub);

    adopt(t, sub);
    if (upstream_table_of_feed(t, to) != NULL) {
        end(t, sub, false);
        return;
    }
    map_del(&t->by_feed, id_key(&sub->row.feed_id));
    sub->row.feed_id = to;
    map_put(&t->by_feed, id_key(&sub->row.feed_id), sub);
    upstream_sub_save(t, sub, NULL, NULL);
    if (cloud == NULL)
        return;
    cloud->row.feed_id = to; /* what it tells is news of that feed now */
    adopt(t, cloud);
    upstream_sub_save(t, cloud, NULL, NULL);
}

/* Forget it once its call is over. Until then it is not the row of any feed. */
static void leave(struct upstream_table *t, struct upstream_sub *sub)
{
    if (!sub->is_calling) {
        upstream_sub_forget(t, sub);
        return;
    }
    if (upstream_table_of_feed(t, sub->row.feed_id) == sub)
        map_del(&t->by_feed, id_key(&sub->row.feed_id));
    sub->is_foreign = true;
}

void upstream_sub_merged(struct upstream_table *t, struct upstream_sub *sub, int64_t to)
{
    struct upstream_sub *cloud = standin_of(t, sub);

    if (upstream_table_owns(t, to)) {
        move(t, sub, to);
        return;
    }
    if (cloud != NULL)
        leave(t, cloud);
    leave(t, sub);
}

/* ---- life ---- */

void upstream_table_release(struct upstream_table *t)
{
    map_release(&t->by_feed, NULL);
    map_release(&t->by_token, sub_free);
    host_turns_release(&t->turns);
    time_heap_release(&t->heap);
    arena_release(&t->arena);
}
