/* fetcher/ownership.c - see ownership.h. */
#include "fetcher/ownership.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/fetch_loop.h"
#include "fetcher/rests.h"
#include "fetcher/wishes.h"
#include "net/url.h"

/* "host:port" of the feed; empty: it is gone. */
static struct str home_of(const struct fetcher *f, int64_t feed_id, struct arena *a)
{
    struct str url = store_feed_url(f->store, feed_id, a);

    return str_is_null(url) ? STR("") : url_authority(a, url);
}

bool own_feed(const struct fetcher *f, int64_t feed_id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str home;

    if (f->is_alone)
        return true;
    home = home_of(f, feed_id, &a);
    return home.len == 0 || nodes_owns(f->nodes, home, NULL);
}

bool own_begin(struct fetcher *f, struct job *job)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str home;

    if (f->is_alone)
        return true;
    home = home_of(f, job->feed_id, &a);
    if (home.len == 0)
        return true;
    job->is_claimed = nodes_begin(f->nodes, home, &job->claim);
    return job->is_claimed;
}

void own_end(struct fetcher *f, struct job *job)
{
    if (job->is_claimed)
        nodes_end(f->nodes, &job->claim);
    job->is_claimed = false;
}

bool own_may_go_on(const struct fetcher *f, const struct job *job)
{
    return !job->is_claimed || nodes_may_go_on(f->nodes, &job->claim);
}

/* ---- what is due ----------------------------------------------------------------------------- */

void own_due(struct fetcher *f, int64_t feed_id, int64_t next_fetch_at, enum fetch_reason reason)
{
    if (!own_feed(f, feed_id))
        return;
    if (reason == REASON_PING || /* no fetch has followed it yet */
        (reason == REASON_HAND && next_fetch_at <= clock_now_s()))
        fetch_loop_want(f, feed_id, reason);
    else
        sweeper_put_if_absent(f->sweeper, feed_id, next_fetch_at);
}

void own_content_due(struct fetcher *f, int64_t feed_id)
{
    struct feed_brief brief;

    if (own_feed(f, feed_id) && store_brief(f->store, feed_id, &brief))
        sweeper_put_if_absent(f->contents, feed_id, brief.content_at);
}

/* ---- slots come and go ----------------------------------------------------------------------- */

struct change {
    struct fetcher *f;
    struct slot_set gained;
};

static bool is_in(const struct fetcher *f, const struct slot_set *slots, int64_t feed_id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str home = home_of(f, feed_id, &a);

    return home.len > 0 && slot_set_has(slots, nodes_slot(home));
}

static void on_due(void *ctx, int64_t feed_id, int64_t next_fetch_at, enum fetch_reason reason)
{
    struct fetcher *f = ctx;

    if (is_in(f, &f->due.reading, feed_id))
        own_due(f, feed_id, next_fetch_at, reason);
}

static void on_content(void *ctx, int64_t feed_id)
{
    struct fetcher *f = ctx;

    if (is_in(f, &f->due.reading, feed_id))
        own_content_due(f, feed_id);
}

/* Forget the feeds that are not ours. */
static void forget_others(const struct fetcher *f, struct sweeper *s)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t *ids;
    size_t n = sweeper_ids(s, &a, &ids);

    for (size_t i = 0; i < n; i++)
        if (!own_feed(f, ids[i]))
            sweeper_put(s, ids[i], TIME_UNKNOWN);
}

/* Loop. */
static void on_read(void *ctx)
{
    struct fetcher *f = ctx;

    due_slots_end(&f->due, true);
    own_read_changes(f); /* what has come meanwhile */
}

/* It could not be read: the loop's watch tries again. Loop. */
static void on_unread(void *ctx)
{
    struct fetcher *f = ctx;

    due_slots_end(&f->due, false);
}

/* On a reader's thread. */
static void read_change(void *ctx, struct reader *r)
{
    struct fetcher *f = ctx;
    struct err err = ERR_INIT;
    enum rc rc = RC_OK;

    forget_others(f, f->sweeper);
    forget_others(f, f->contents);
    if (slot_set_count(&f->due.reading) > 0)
        rc = reader_due(r, on_due, f, &err);
    if (rc == RC_OK && slot_set_count(&f->due.reading) > 0)
        rc = reader_content_feeds(r, on_content, f, &err);
    if (rc != RC_OK)
        log_warn("fetcher", "due_unread", "error=%s effect=again", log_quote(str_from(err.text)));
    loop_post(f->loop, rc == RC_OK ? on_read : on_unread, f);
}

/* Loop. The loop's watch tries again. */
static void on_hubs_unread(void *ctx)
{
    struct fetcher *f = ctx;

    f->has_hub_changes = true;
}

static void on_hubs_read(void *ctx, bool is_read)
{
    struct fetcher *f = ctx;

    if (!is_read)
        loop_post(f->loop, on_hubs_unread, f);
}

static void read_hubs(struct fetcher *f)
{
    if (!f->has_hub_changes || f->stopping)
        return;
    f->has_hub_changes = false;
    upstream_subs_read(f->upstreams, on_hubs_read, f);
}

void own_read_changes(struct fetcher *f)
{
    read_hubs(f);
    if (!f->stopping && due_slots_begin(&f->due) && store_read(f->store, read_change, f) != RC_OK)
        due_slots_end(&f->due, false); /* the loop's watch tries again */
}

/* Loop. */
static void on_slots(void *ctx)
{
    struct change *c = ctx;
    struct fetcher *f = c->f;
    bool gains = slot_set_count(&c->gained) > 0;

    due_slots_add(&f->due, &c->gained);
    mem_free(c);
    if (f->stopping) /* the store may be closed */
        return;
    if (gains)
        rests_changed(f); /* before what is due is read */
    f->has_hub_changes = true;
    upstream_subs_forget_others(f->upstreams); /* reading may fail: the database may be away */
    own_read_changes(f);
    fetch_loop_owners_changed(f);
}

static void take_change(struct fetcher *f, const struct slot_set *gained)
{
    struct change *c;

    if (!atomic_load(&f->reads_due)) /* the start reads all that is ours then */
        return;
    c = NEW(struct change);
    *c = (struct change){f, *gained};
    loop_post(f->loop, on_slots, c);
}

/* On the thread of the nodes. What was lost is found by asking for each feed. */
static void on_change(void *ctx, const struct slot_set *gained, const struct slot_set *lost UNUSED)
{
    take_change(ctx, gained);
}

/* Loop. The answers to wishes may be among what was missed. */
static void on_missed(void *ctx)
{
    wishes_again(ctx);
}

void own_read_anew(struct fetcher *f)
{
    struct slot_set all = {{0}};

    for (unsigned i = 0; i < SLOTS; i++)
        slot_set_add(&all, i);
    take_change(f, &all);
    loop_post(f->loop, on_missed, f);
}

void own_listen(struct fetcher *f)
{
    f->nodes = store_nodes(f->store);
    f->is_alone = !store_is_shared(f->store);
    if (!f->is_alone)
        nodes_listen(f->nodes, on_change, f);
}
