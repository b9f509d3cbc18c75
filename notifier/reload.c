/* notifier/reload.c - see reload.h. */
#include "notifier/reload.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/view.h"
#include "notifier/backoff.h"
#include "notifier/outcomes.h"
#include "storage/pushes.h"

#define PART 1000       /* subscriptions that one read loads, when all are loaded */
#define AGAIN_MS 100    /* pause when the readers have no room */
#define TROUBLE_MS 1000 /* pause when the database fails */

/* One read. */
struct reload_read {
    struct reload *l;
    bool all; /* the next PART after the subscription `after`, not those in `ids` */
    int64_t after;
    int64_t *ids; /* ascending */
    size_t n_ids;
    int64_t *tried; /* of these, those that are to be tried now, ascending */
    size_t n_tried;
    struct arena *arena; /* of what follows, filled by the reader */
    struct subscription *subs;
    size_t n_subs;
    bool *has_dead; /* all: of each, does it have dead letters? */
    enum rc rc;
    struct err err;
};

static void read_free(struct reload_read *read)
{
    arena_free(&read->arena);
    mem_free(read->ids);
    mem_free(read->tried);
    mem_free(read);
}

/* Returns the member of the subscription. It is made when there is none, and made again when its
 * endpoint has changed. NULL: the subscription has no endpoint. */
static struct member *member_of(struct turns *ts, const struct subscription *sub)
{
    struct member *m = roster_find(&ts->roster, sub->id);

    if (m != NULL && str_is_null(sub->endpoint)) {
        turns_remove(ts, m);
        return NULL;
    }
    if (m != NULL && !str_eq(sub->endpoint, str_from(m->endpoint->url)))
        return turns_move(ts, m, sub->endpoint, sub->n_failures > 0);
    if (m != NULL || str_is_null(sub->endpoint))
        return m;
    m = turns_add(ts, sub->id, sub->endpoint, sub->n_failures > 0);
    m->n_halved = (uint8_t)(sub->n_failures < HALVED_MAX ? sub->n_failures : HALVED_MAX);
    return m;
}

/* The pause after a failure that is not over yet, also when the daemon was started again in it, in
 * ms; 0: none. A clock that was set back makes no pause longer than the longest. */
static int64_t pause_left_ms(const struct subscription *sub)
{
    int64_t left_s = sub->next_try_at == TIME_UNKNOWN ? 0 : sub->next_try_at - clock_now_s();

    if (left_s <= 0)
        return 0;
    return (left_s < RETRY_AFTER_MAX_S ? left_s : RETRY_AFTER_MAX_S) * 1000;
}

/* Did the endpoint ask for this pause? Those that we make after failures are shorter. (What is
 * stored are seconds, rounded up. After a refusal there is no failure.) */
static bool was_asked_for(const struct turns *ts, const struct subscription *sub, int64_t pause_ms)
{
    struct backoff b = {ts->cfg->first_retry_ms, ts->cfg->max_retry_ms};
    int64_t ours_ms = backoff_nominal_ms(&b, sub->n_failures);

    return sub->n_failures > 0 && pause_ms > ours_ms + ours_ms / 10 + 2000;
}

/* Wait as long as the last failure says. What the endpoint has asked for counts for all of its
 * subscriptions. */
static void wait_on(struct turns *ts, struct member *m, const struct subscription *sub)
{
    int64_t ms = pause_left_ms(sub);

    if (was_asked_for(ts, sub, ms))
        turns_hold(ts, m->endpoint, ms);
    member_set_pause(m, ms);
    turns_event(ts, m, ATTEMPT_POSTPONED);
}

/* Bring the member of a subscription up to date. `is_idle`: it is new, and there is nothing to
 * deliver. `is_tried`: see reload_try(). Feeds that get news from now on make it due. */
static void apply(struct turns *ts, const struct subscription *sub, bool is_idle, bool is_tried)
{
    bool is_new = roster_find(&ts->roster, sub->id) == NULL;
    struct member *m = member_of(ts, sub);
    int64_t *ids;

    if (m == NULL)
        return;
    ids = mem_alloc((sub->n_feeds + 1) * sizeof *ids);
    for (size_t i = 0; i < sub->n_feeds; i++)
        ids[i] = sub->feeds[i].feed_id;
    roster_set_feeds(&ts->roster, m, ids, sub->n_feeds);
    mem_free(ids);
    if (sub->state != SUB_ACTIVE) {
        if (m->turn == NULL && m->ack == NULL) /* a turn under way will find out by itself */
            turns_event(ts, m, ATTEMPT_GAVE_UP);
    } else if (is_idle) {
        return;
    } else if (sub->next_try_at == TIME_UNKNOWN) {
        if (is_tried) {
            m->is_asked = true;
            turns_let_go(ts, m->endpoint);
        }
        turns_event(ts, m, ATTEMPT_RESUMED);
    } else if (is_new && pause_left_ms(sub) > 0) {
        wait_on(ts, m, sub);
    }
    turns_event(ts, m, ATTEMPT_NEWS);
}

static void read_send(struct reload *l);

static void on_again(void *ctx)
{
    struct reload *l = ctx;

    l->again = NULL;
    read_send(l);
}

/* Subscriptions that were asked for but not found have ended. Both lists are ascending. */
static void remove_ended(struct turns *ts, const struct reload_read *read)
{
    size_t k = 0;

    for (size_t i = 0; i < read->n_ids; i++) {
        struct member *m = roster_find(&ts->roster, read->ids[i]);

        while (k < read->n_subs && read->subs[k].id < read->ids[i])
            k++;
        if (m != NULL && (k == read->n_subs || read->subs[k].id != read->ids[i]))
            turns_remove(ts, m);
    }
}

/* Is the endpoint called by another node? Then it has no member here, or soon will not. */
static bool is_elsewhere(struct turns *ts, const struct subscription *sub)
{
    struct member *m = roster_find(&ts->roster, sub->id);

    if (str_is_null(sub->endpoint) ||
        owned_has(&ts->owned, owned_slot(&ts->owned, sub->endpoint))) {
        if (m != NULL)
            m->is_leaving = false;
        return false;
    }
    if (m != NULL)
        turns_leave(ts, m);
    return true;
}

/* When all are read, those that are known are passed over: slots have come in addition. */
static bool is_known(const struct reload_read *read, size_t i)
{
    return read->all && roster_find(&read->l->turns->roster, read->subs[i].id) != NULL;
}

/* The news are looked at here, not by the reader: those that come later find the member. */
static bool is_idle(const struct reload *l, const struct reload_read *read, size_t i)
{
    const struct subscription *sub = &read->subs[i];

    return roster_find(&l->turns->roster, sub->id) == NULL && !read->has_dead[i] &&
           !store_may_have_news(l->store, sub);
}

static void on_read(void *ctx)
{
    struct reload_read *read = ctx;
    struct reload *l = read->l;
    struct turns *ts = l->turns;

    if (ts->stopped) {
        read_free(read);
        return;
    }
    if (read->rc != RC_OK) {
        log_warn("notifier", "subscriptions_unread", "error=%s effect=again",
                 log_quote(str_from(read->err.text)));
        l->again = loop_timer_start(ts->loop, TROUBLE_MS, on_again, l);
        return;
    }
    l->read = NULL;
    for (size_t i = 0, k = 0; i < read->n_subs; i++) {
        while (k < read->n_tried && read->tried[k] < read->subs[i].id)
            k++;
        if (is_elsewhere(ts, &read->subs[i]) || is_known(read, i))
            continue;
        apply(ts, &read->subs[i], read->all && is_idle(l, read, i),
              k < read->n_tried && read->tried[k] == read->subs[i].id);
    }
    remove_ended(ts, read);
    if (read->all && l->begins_again) {
        l->begins_again = false;
    } else if (read->all && read->n_subs == PART) {
        l->all = true;
        l->after = read->subs[PART - 1].id;
    } else if (read->all) {
        owned_read(&ts->owned);
        log_info("notifier", "started", "subscriptions=%zu endpoints=%zu",
                 map_count(&ts->roster.members), map_count(&ts->roster.endpoints));
    }
    read_free(read);
    reload_run(l);
    turns_run(ts);
}

static void read_part(struct reload_read *read, struct reader *r)
{
    struct dead_count *counts;
    size_t n = 0, k = 0;

    read->rc = reader_subs_after(r, read->after, PART, read->arena, &read->subs, &read->n_subs,
                                 &read->err);
    read->has_dead = ARENA_ARRAY(read->arena, bool, PART);
    if (read->rc == RC_OK && read->n_subs > 0)
        read->rc = reader_dead_counts(r, read->subs[0].id, read->subs[read->n_subs - 1].id,
                                      read->arena, &counts, &n, &read->err);
    for (size_t i = 0; read->rc == RC_OK && i < read->n_subs; i++) {
        while (k < n && counts[k].sub_id < read->subs[i].id)
            k++;
        read->has_dead[i] = k < n && counts[k].sub_id == read->subs[i].id;
    }
    reader_shrink(r); /* else the rows of all subscriptions would fill the caches of all readers */
}

/* On a reader thread. */
static void read_subs(void *ctx, struct reader *r)
{
    struct reload_read *read = ctx;

    arena_free(&read->arena);
    read->arena = arena_new();
    read->err = (struct err)ERR_INIT;
    if (read->all)
        read_part(read, r);
    else
        read->rc = reader_subs(r, read->ids, read->n_ids, read->arena, &read->subs, &read->n_subs,
                               &read->err);
    loop_post(read->l->turns->loop, on_read, read);
}

static void read_send(struct reload *l)
{
    if (store_read(l->store, read_subs, l->read) != RC_OK)
        l->again = loop_timer_start(l->turns->loop, AGAIN_MS, on_again, l);
}

void reload_init(struct reload *l, struct turns *turns, struct store *store)
{
    *l = (struct reload){.turns = turns, .store = store};
}

void reload_release(struct reload *l)
{
    mem_free(l->ids);
    mem_free(l->tried);
}

void reload_want(struct reload *l, int64_t sub_id)
{
    l->ids = mem_grow(l->ids, &l->cap_ids, l->n_ids + 1, sizeof *l->ids);
    l->ids[l->n_ids++] = sub_id;
}

void reload_try(struct reload *l, int64_t sub_id)
{
    l->tried = mem_grow(l->tried, &l->cap_tried, l->n_tried + 1, sizeof *l->tried);
    l->tried[l->n_tried++] = sub_id;
}

void reload_want_all(struct reload *l)
{
    l->begins_again = l->read != NULL && l->read->all;
    l->all = true;
    l->after = 0;
}

void reload_run(struct reload *l)
{
    struct reload_read *read;

    if (l->read != NULL || (l->n_ids == 0 && !l->all))
        return;
    read = NEW(struct reload_read);
    read->l = l;
    read->all = l->all;
    read->after = l->after;
    l->all = false;
    if (!read->all) {
        read->ids = l->ids;
        read->n_ids = view_ids_sort(l->ids, l->n_ids);
        l->ids = NULL;
        l->n_ids = l->cap_ids = 0;
        read->tried = l->tried;
        read->n_tried = view_ids_sort(l->tried, l->n_tried);
        l->tried = NULL;
        l->n_tried = l->cap_tried = 0;
    }
    l->read = read;
    read_send(l);
}

void reload_stop(struct reload *l)
{
    if (l->again != NULL) { /* then the read is here, not with a reader */
        loop_timer_cancel(&l->again);
        read_free(l->read);
    }
    l->read = NULL;
}
