/* storage/pushes.c - the reading calls of pushes.h: what subscriptions get next, how far they lag,
 * and what became of their deliveries. */
#include "storage/pushes.h"
#include "storage/sqlite/deliveries.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/store_priv.h"

/* ---- what many subscriptions have in common ---------------------------------------------------
 */

enum rc reader_hold(struct reader *r, struct err *err)
{
    int64_t last = directory_last_seq(r->store->dir); /* before the snapshot */
    enum rc rc = db_snapshot(r->db, err);

    r->is_held = rc == RC_OK;
    r->held_last = last;
    memset(r->found, 0, sizeof r->found);
    return rc;
}

void reader_let_go(struct reader *r)
{
    if (!r->is_held)
        return;
    db_snapshot_end(r->db);
    r->is_held = false;
    arena_release(&r->held);
}

enum rc reader_push_subs(struct reader *r, struct push_sub *subs, size_t n, struct err *err)
{
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    rc = subs_pushed(r->db, subs, n, err);
    db_snapshot_end(r->db);
    return rc;
}

/* Find the first revision of a feed for a subscription. In a held snapshot, one that was found for
 * another subscription is found again without a query: many subscriptions of one feed stand at the
 * same position. The key is all that the queries depend on. */
static enum rc find_first(struct reader *r, const struct subscription *sub, int64_t feed_id,
                          struct found_push **out, struct err *err)
{
    struct found_push *f;
    enum rc rc;

    for (size_t i = 0; i < FOUND_PUSHES && r->is_held; i++) {
        f = &r->found[i];
        if (f->feed_id == feed_id && f->position == sub->position && f->events == sub->events &&
            f->with_initial == sub->with_initial) {
            *out = f;
            return RC_OK;
        }
    }
    *out = f = &r->found[r->n_found++ % FOUND_PUSHES];
    *f = (struct found_push){
        .position = sub->position, .events = sub->events, .with_initial = sub->with_initial};
    rc = push_first(r->db, feed_id, sub, &f->first, err);
    f->feed_id = rc == RC_OK ? feed_id : 0;
    return rc;
}

/* Load the revisions, at most `max`. */
static enum rc load_found(struct reader *r, const struct subscription *sub, struct found_push *f,
                          size_t max, struct arena *a, struct err *err)
{
    int64_t *seqs;
    size_t n;
    enum rc rc;

    if (f->max == max)
        return RC_OK;
    seqs = ARENA_ARRAY(a, int64_t, max + 1);
    rc = push_batch(r->db, f->feed_id, sub, f->first, max, seqs, &n, err);
    if (rc == RC_OK)
        rc = revisions_by_seq(r->db, seqs, n, false, a, &f->revisions, &f->n, err);
    f->max = rc == RC_OK ? max : 0;
    return rc;
}

/* ---- what comes next ------------------------------------------------------------------------- */

/* What comes next of one feed: its first revision, or its first event. */
static enum rc next_of_feed(struct reader *r, const struct subscription *sub, int64_t feed_id,
                            struct arena *a, int64_t *first, struct feed_event *event,
                            struct err *err)
{
    struct found_push *found;
    enum rc rc = find_first(r, sub, feed_id, &found, err);

    *first = rc == RC_OK ? found->first : 0;
    *event = (struct feed_event){.seq = 0};
    if (rc == RC_OK && (sub->events & SUB_FEED) != 0)
        rc = feed_events_next(r->db, feed_id, sub->position, a, event, err);
    if (event->seq != 0 && *first != 0 && event->seq > *first)
        event->seq = 0;
    else if (event->seq != 0)
        *first = event->seq;
    return rc;
}

/* Find the feed of the subscription that comes next, as its index in sub->feeds. Most feeds have no
 * news; for them a look at the directory is enough. *stale: since the subscription was read, one of
 * its feeds has become part of another feed, which now has what is to be delivered. */
static enum rc next_feed(struct reader *r, const struct subscription *sub, struct arena *a,
                         size_t *feed, int64_t *first, struct feed_event *event, bool *stale,
                         struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    size_t *with_news = ARENA_ARRAY(&scratch, size_t, sub->n_feeds + 1);
    struct feed_event ev;
    int64_t seq;
    enum rc rc;
    size_t n;

    *first = 0;
    *stale =
        !directory_with_news(r->store->dir, sub->feeds, sub->n_feeds, sub->position, with_news, &n);
    for (size_t i = 0; i < n && !*stale; i++) {
        rc = next_of_feed(r, sub, sub->feeds[with_news[i]].feed_id, a, &seq, &ev, err);
        if (rc != RC_OK)
            return rc;
        if (seq != 0 && (*first == 0 || seq < *first)) {
            *first = seq;
            *event = ev;
            *feed = with_news[i];
        }
    }
    return RC_OK;
}

/* By which URL was this feed subscribed? */
static struct str shown_url(const struct subscription *sub, int64_t feed_id, struct arena *a)
{
    for (size_t i = 0; i < sub->n_feeds; i++)
        if (sub->feeds[i].feed_id == feed_id)
            return str_dup(a, sub->feeds[i].url);
    return STR_NULL;
}

static enum rc load_push(struct reader *r, const struct subscription *sub, size_t max,
                         struct arena *a, struct push_next *out, struct err *err)
{
    struct found_push *found;
    enum rc rc = find_first(r, sub, out->feed_id, &found, err);

    if (rc == RC_OK)
        rc = load_found(r, sub, found, max, r->is_held ? &r->held : a, err);
    out->revisions = found->revisions;
    out->n = rc == RC_OK ? found->n : 0;
    return rc;
}

/* The first dead letter that is wanted, if any. */
static enum rc next_dead(struct reader *r, const struct subscription *sub, struct arena *a,
                         struct push_next *out, struct err *err)
{
    struct dead_letter *dead;
    struct revision *rev;
    size_t n;
    enum rc rc = dead_wanted(r->db, sub->id, a, &dead, &n, err);

    if (rc != RC_OK || n == 0)
        return rc;
    rc = feed_events_load(r->db, dead->at.seq, a, &out->event, err);
    out->feed_id = out->event.feed_id;
    if (rc == RC_OK && out->event.seq == 0) {
        rev = ARENA_NEW(a, struct revision);
        rc = revisions_load(r->db, dead->at.seq, true, a, rev, err);
        out->revisions = rev;
        out->n = 1;
        out->feed_id = rev->feed_id;
    }
    out->dead = dead;
    out->shown_url = shown_url(sub, out->feed_id, a);
    return rc;
}

static enum rc next_news(struct reader *r, const struct subscription *sub, int64_t last, size_t max,
                         struct arena *a, struct push_next *out, struct err *err)
{
    int64_t first = 0;
    size_t feed = 0;
    bool stale;
    enum rc rc = next_feed(r, sub, a, &feed, &first, &out->event, &stale, err);

    if (rc != RC_OK)
        return rc;
    if (first == 0) {
        out->skip_to = last > sub->position && !stale ? last : sub->position;
        return RC_OK;
    }
    out->skip_to = first - 1;
    out->feed_id = sub->feeds[feed].feed_id;
    out->shown_url = shown_url(sub, out->feed_id, a);
    return out->event.seq == 0 ? load_push(r, sub, max, a, out, err) : RC_OK;
}

enum rc reader_next_push(struct reader *r, const struct subscription *sub, size_t max,
                         struct arena *a, struct push_next *out, struct err *err)
{
    /* before any other look */
    int64_t last = r->is_held ? r->held_last : directory_last_seq(r->store->dir);
    enum rc rc = db_snapshot(r->db, err);

    *out = (struct push_next){.skip_to = sub->position};
    if (rc != RC_OK)
        return rc;
    rc = next_dead(r, sub, a, out, err);
    if (rc == RC_OK && out->dead == NULL)
        rc = next_news(r, sub, last, max, a, out, err);
    db_snapshot_end(r->db);
    return rc;
}

enum rc reader_is_drained(struct reader *r, const struct subscription *sub, int64_t position,
                          bool *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct subscription then = *sub;
    struct feed_event event;
    int64_t first = 0;
    size_t feed;
    bool stale;
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    then.position = position;
    rc = next_feed(r, &then, &scratch, &feed, &first, &event, &stale, err);
    db_snapshot_end(r->db);
    *out = first == 0;
    return rc;
}

/* ---- runs -------------------------------------------------------------------------------------
 */

/* A feed of the subscription, and what of it comes next. */
struct lead {
    int64_t feed_id, first;
    struct feed_event event; /* seq 0: it is a revision */
};

/* What all feeds have next; those that have nothing are left out. */
static enum rc read_leads(struct reader *r, const struct subscription *sub, const size_t *feeds,
                          size_t n, struct arena *a, struct lead *leads, size_t *n_out,
                          struct err *err)
{
    *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct lead *lead = &leads[*n_out];
        enum rc rc;

        lead->feed_id = sub->feeds[feeds[i]].feed_id;
        rc = next_of_feed(r, sub, lead->feed_id, a, &lead->first, &lead->event, err);
        if (rc != RC_OK)
            return rc;
        *n_out += lead->first != 0;
    }
    return RC_OK;
}

/* Bring the lead that is next to the front. Returns the seq of the one after it. */
static int64_t choose(struct lead *leads, size_t n)
{
    int64_t second = INT64_MAX;
    struct lead first;

    for (size_t i = 1; i < n; i++) {
        if (leads[i].first < leads[0].first) {
            first = leads[i];
            leads[i] = leads[0];
            leads[0] = first;
        }
        if (leads[i].first < second)
            second = leads[i].first;
    }
    return second;
}

/* Take what the first lead has before the seq `until`: its event, or revisions up to its next one.
 */
static enum rc take_lead(struct reader *r, const struct subscription *sub, struct lead *lead,
                         int64_t until, size_t max, struct arena *a, int64_t *seqs, size_t *n,
                         struct push_run *out, struct err *err)
{
    struct subscription later = *sub;
    size_t n_more = 0;
    enum rc rc = RC_OK;

    later.position = lead->first;
    if (lead->event.seq != 0) {
        out->events[out->n_events++] = lead->event;
    } else {
        if ((sub->events & SUB_FEED) != 0) /* an event may come sooner than other feeds */
            rc = feed_events_next(r->db, lead->feed_id, lead->first, a, &lead->event, err);
        if (lead->event.seq != 0 && lead->event.seq < until)
            until = lead->event.seq;
        if (rc == RC_OK)
            rc = push_range(r->db, lead->feed_id, sub, lead->first - 1, until, max, seqs + *n,
                            &n_more, err);
        *n += n_more;
        if (n_more > 0)
            later.position = seqs[*n - 1];
    }
    if (rc != RC_OK)
        return rc;
    return next_of_feed(r, &later, lead->feed_id, a, &lead->first, &lead->event, err);
}

/* Read the revisions, as many as fit. Events that follow those that do not fit are left out. */
static enum rc load_documents(struct reader *r, const int64_t *seqs, size_t n, size_t max_bytes,
                              struct arena *a, struct push_run *out, struct err *err)
{
    struct revision *rows = ARENA_ARRAY(a, struct revision, n + 1);
    size_t bytes = 0, kept = 0, i;

    for (i = 0; i < n && (kept == 0 || bytes < max_bytes); i++) {
        enum rc rc = revisions_load(r->db, seqs[i], false, a, &rows[kept], err);

        if (rc != RC_OK)
            return rc;
        if (rows[kept].seq == 0)
            continue;
        bytes += rows[kept].doc.len;
        kept += kept == 0 || bytes <= max_bytes;
    }
    if (n > 0 && (i < n || bytes > max_bytes) && kept > 0 && rows[kept - 1].seq != seqs[n - 1]) {
        out->is_all = false;
        while (out->n_events > 0 && out->events[out->n_events - 1].seq > rows[kept - 1].seq)
            out->n_events--;
    }
    out->revisions = rows;
    out->n = kept;
    return RC_OK;
}

static enum rc load_run(struct reader *r, const struct subscription *sub, size_t max,
                        size_t max_bytes, const size_t *feeds, size_t n_feeds, struct arena *a,
                        struct push_run *out, struct err *err)
{
    struct lead *leads = ARENA_ARRAY(a, struct lead, n_feeds + 1);
    int64_t *seqs = ARENA_ARRAY(a, int64_t, max + 1);
    size_t n_leads, n = 0;
    enum rc rc = read_leads(r, sub, feeds, n_feeds, a, leads, &n_leads, err);

    out->events = ARENA_ARRAY(a, struct feed_event, max + 1);
    while (rc == RC_OK && n_leads > 0 && n + out->n_events < max) {
        int64_t until = choose(leads, n_leads);

        rc = take_lead(r, sub, &leads[0], until, max - n - out->n_events, a, seqs, &n, out, err);
        if (rc == RC_OK && leads[0].first == 0)
            leads[0] = leads[--n_leads];
    }
    out->is_all = n_leads == 0;
    return rc == RC_OK ? load_documents(r, seqs, n, max_bytes, a, out, err) : rc;
}

/* A dead letter that is wanted, as a run of its own. */
static enum rc dead_run(struct reader *r, const struct subscription *sub, struct arena *a,
                        struct push_run *out, struct err *err)
{
    struct push_next *next = ARENA_NEW(a, struct push_next);
    enum rc rc = next_dead(r, sub, a, next, err);

    if (rc != RC_OK || next->dead == NULL)
        return rc;
    out->dead = next->dead;
    out->revisions = next->revisions;
    out->n = next->n;
    out->events = &next->event;
    out->n_events = next->event.seq != 0;
    return RC_OK;
}

enum rc reader_push_run(struct reader *r, const struct subscription *sub, size_t max,
                        size_t max_bytes, struct arena *a, struct push_run *out, struct err *err)
{
    int64_t last = directory_last_seq(r->store->dir); /* before any other look */
    size_t *with_news = ARENA_ARRAY(a, size_t, sub->n_feeds + 1), n = 0;
    enum rc rc = db_snapshot(r->db, err);
    bool stale;

    *out = (struct push_run){.skip_to = sub->position};
    if (rc != RC_OK)
        return rc;
    rc = dead_run(r, sub, a, out, err);
    if (rc != RC_OK || out->dead != NULL) {
        db_snapshot_end(r->db);
        return rc;
    }
    stale =
        !directory_with_news(r->store->dir, sub->feeds, sub->n_feeds, sub->position, with_news, &n);
    if (!stale)
        rc = load_run(r, sub, max, max_bytes, with_news, n, a, out, err);
    if (!stale && out->n + out->n_events == 0 && last > sub->position)
        out->skip_to = last;
    db_snapshot_end(r->db);
    return rc;
}

/* What one feed adds to the lag. */
static enum rc lag_of_feed(struct reader *r, const struct subscription *sub, int64_t feed_id,
                           struct arena *a, struct sub_lag *out, struct err *err)
{
    struct feed_event event;
    int64_t first, more = 0, at_us = 0;
    enum rc rc = next_of_feed(r, sub, feed_id, a, &first, &event, err);

    if (rc != RC_OK || first == 0)
        return rc;
    rc = push_count(r->db, feed_id, sub, LAG_MAX - out->n, &more, err);
    out->n += more;
    if (rc == RC_OK && (sub->events & SUB_FEED) != 0)
        rc = feed_events_count(r->db, feed_id, sub->position, &out->n, err);
    if (rc == RC_OK && event.seq != 0)
        at_us = event.at_us;
    else if (rc == RC_OK)
        rc = revisions_times(r->db, &first, 1, &at_us, err);
    if (at_us != 0 && (out->first_at_us == 0 || at_us < out->first_at_us))
        out->first_at_us = at_us;
    return rc;
}

enum rc reader_lag(struct reader *r, const struct subscription *sub, struct sub_lag *out,
                   struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    size_t *with_news = ARENA_ARRAY(&scratch, size_t, sub->n_feeds + 1);
    size_t n;
    enum rc rc;

    *out = (struct sub_lag){.n = 0};
    directory_with_news(r->store->dir, sub->feeds, sub->n_feeds, sub->position, with_news, &n);
    rc = n == 0 ? RC_OK : db_snapshot(r->db, err);
    if (n == 0 || rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n && rc == RC_OK && out->n < LAG_MAX; i++)
        rc = lag_of_feed(r, sub, sub->feeds[with_news[i]].feed_id, &scratch, out, err);
    db_snapshot_end(r->db);
    return rc;
}

bool store_may_have_news(struct store *s, const struct subscription *sub)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    size_t *with_news = ARENA_ARRAY(&scratch, size_t, sub->n_feeds + 1);
    size_t n;

    return !directory_with_news(s->dir, sub->feeds, sub->n_feeds, sub->position, with_news, &n) ||
           n > 0;
}

enum rc reader_feed_name(struct reader *r, int64_t feed_id, struct arena *a, struct str *url,
                         struct str *title, struct err *err)
{
    return feeds_name(r->db, feed_id, a, url, title, err);
}

enum rc reader_find_sub(struct reader *r, struct str sink, struct str endpoint, struct str settings,
                        struct str owner, int64_t *id, int64_t *n_owned, struct err *err)
{
    return subs_find(r->db, sink, endpoint, settings, owner, id, n_owned, err);
}

enum rc reader_sink_settings(struct reader *r, int64_t sub_id, struct arena *a, struct str *out,
                             struct err *err)
{
    return subs_settings(r->db, sub_id, a, out, err);
}

enum rc reader_deliveries(struct reader *r, int64_t sub_id, size_t max, struct arena *a,
                          struct delivery_note **out, size_t *n_out, struct err *err)
{
    return deliveries_of(r->db, sub_id, max, a, out, n_out, err);
}

enum rc reader_dead_letters(struct reader *r, int64_t sub_id, struct arena *a,
                            struct dead_letter **out, size_t *n_out, struct err *err)
{
    return dead_of(r->db, sub_id, DEAD_LETTERS_KEPT, a, out, n_out, err);
}

enum rc reader_dead_counts(struct reader *r, int64_t sub_id, struct arena *a,
                           struct dead_count **out, size_t *n_out, struct err *err)
{
    return dead_counts(r->db, sub_id, a, out, n_out, err);
}
