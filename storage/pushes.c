/* storage/pushes.c - the reading calls of pushes.h: what subscriptions get next, how far they lag,
 * and what became of their deliveries. */
#include "storage/pushes.h"
#include "storage/pushes_filtered.h"
#include "storage/store_priv.h"

/* ---- what many subscriptions have in common ---------------------------------------------------
 */

enum rc reader_hold(struct reader *r, struct err *err)
{
    int64_t last = directory_last_seq(r->store->dir); /* before the snapshot */
    enum rc rc = r->db->reads->snapshot(r->db, err);

    r->is_held = rc == RC_OK;
    r->held_last = last;
    memset(r->found, 0, sizeof r->found);
    r->named = (struct named_feed){.feed_id = 0};
    r->n_no_dead = 0;
    r->n_judged = 0;
    return rc;
}

void reader_let_go(struct reader *r)
{
    if (!r->is_held)
        return;
    r->db->reads->snapshot_end(r->db);
    r->is_held = false;
    arena_release(&r->held);
}

/* Nearly no subscription has dead letters that are wanted, so a query for each would find nothing.
 */
static void remember_dead(struct reader *r, const struct push_sub *subs, size_t n)
{
    r->no_dead = ARENA_ARRAY(&r->held, int64_t, n + 1);
    r->n_no_dead = 0;
    for (size_t i = 0; i < n; i++)
        if (!subs[i].wants_dead)
            r->no_dead[r->n_no_dead++] = subs[i].id;
}

static bool may_want_dead(const struct reader *r, int64_t sub_id)
{
    for (size_t i = 0; i < r->n_no_dead && r->is_held; i++)
        if (r->no_dead[i] == sub_id)
            return false;
    return true;
}

enum rc reader_push_subs(struct reader *r, struct push_sub *subs, size_t n, struct err *err)
{
    enum rc rc = r->db->reads->subs_pushed(r->db, subs, n, err);

    if (rc == RC_OK && r->is_held)
        remember_dead(r, subs, n);
    return rc;
}

/* What was found for another subscription in the held snapshot; NULL: nothing. Many subscriptions
 * of one feed stand at the same position. The key is all that the queries depend on. */
static struct found_push *find_again(struct reader *r, const struct subscription *sub,
                                     int64_t feed_id)
{
    for (size_t i = 0; i < FOUND_PUSHES && r->is_held; i++) {
        struct found_push *f = &r->found[i];

        if (f->feed_id == feed_id && f->position == sub->position && f->events == sub->events &&
            f->with_initial == sub->with_initial && str_eq(f->filter, sub->filter))
            return f;
    }
    return NULL;
}

static struct found_push *remember(struct reader *r, const struct subscription *sub,
                                   int64_t feed_id, const struct push_lead *lead)
{
    struct found_push *f = &r->found[r->n_found++ % FOUND_PUSHES];

    *f = (struct found_push){.feed_id = feed_id,
                             .position = sub->position,
                             .events = sub->events,
                             .with_initial = sub->with_initial,
                             .filter = r->is_held ? str_dup(&r->held, sub->filter) : sub->filter,
                             .lead = *lead};
    return f;
}

/* The same for a subscription with a filter. */
static enum rc load_sifted(struct reader *r, const struct subscription *sub, struct found_push *f,
                           size_t max, struct arena *a, struct err *err)
{
    struct sift_wish wish = {.sub = sub, .feed_ids = &f->feed_id, .n_feeds = 1, .max = max};
    struct sifted found;
    enum rc rc = push_filter(r, sub, a, &wish.filter, err);

    if (rc == RC_OK)
        rc = sift_batch(r, &wish, f->lead.first, a, &found, err);
    if (rc == RC_OK)
        rc = r->db->reads->revisions_by_seq(r->db, found.seqs, found.n, false, a, &f->revisions,
                                            &f->n, err);
    if (rc == RC_OK)
        sifted_tell(&found, f->revisions, f->n);
    f->max = rc == RC_OK ? max : 0;
    return rc;
}

/* Load the revisions of the first batch, at most `max`. */
static enum rc load_found(struct reader *r, const struct subscription *sub, struct found_push *f,
                          size_t max, struct arena *a, struct err *err)
{
    struct db *db = r->db;
    int64_t *seqs;
    size_t n;
    enum rc rc;

    if (f->max == max)
        return RC_OK;
    if (!str_is_null(sub->filter))
        return load_sifted(r, sub, f, max, a, err);
    seqs = ARENA_ARRAY(a, int64_t, max + 1);
    rc = db->reads->push_batch(db, f->feed_id, sub, f->lead.first, max, seqs, &n, err);
    if (rc == RC_OK)
        rc = db->reads->revisions_by_seq(db, seqs, n, false, a, &f->revisions, &f->n, err);
    f->max = rc == RC_OK ? max : 0;
    return rc;
}

/* ---- what comes next ------------------------------------------------------------------------- */

/* What a position passes over is never delivered, so nothing may be delivered before all that comes
 * earlier. A snapshot may have commits of which the directory does not know yet; then it does not
 * say which of the feeds have news, either. So what is in the log after `last`, which the directory
 * knew before it was asked for feeds, waits for its notice. */
static void leave_out_later(struct push_lead *lead, int64_t last)
{
    if (lead->first > last)
        lead->first = 0;
    if (lead->event.seq > last)
        lead->event = (struct feed_event){.seq = 0};
}

/* Ask for what these feeds have next up to `last` (indexes in sub->feeds), but for those of which
 * it is known. */
static enum rc read_leads(struct reader *r, const struct subscription *sub, const size_t *feeds,
                          size_t n, int64_t last, struct arena *a, struct push_lead *leads,
                          struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *ids = ARENA_ARRAY(&scratch, int64_t, n + 1);
    size_t *places = ARENA_ARRAY(&scratch, size_t, n + 1), n_asked = 0;
    struct push_lead *asked = ARENA_ARRAY(&scratch, struct push_lead, n + 1);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++) {
        int64_t id = sub->feeds[feeds[i]].feed_id;
        const struct found_push *known = find_again(r, sub, id);

        if (known != NULL) {
            leads[i] = known->lead;
        } else {
            places[n_asked] = i;
            ids[n_asked++] = id;
        }
    }
    if (n_asked > 0) /* what is remembered lives as long as the snapshot */
        rc = r->db->reads->push_leads(r->db, ids, n_asked, sub, r->is_held ? &r->held : a, asked,
                                      err);
    for (size_t i = 0; i < n_asked && rc == RC_OK; i++) {
        leave_out_later(&asked[i], last);
        leads[places[i]] = asked[i];
        remember(r, sub, ids[i], &asked[i]);
    }
    return rc;
}

/* What a feed has next, its first revision or its first event: its seq; 0: it has nothing. */
static int64_t seq_of_lead(const struct push_lead *lead)
{
    if (lead->event.seq != 0 && (lead->first == 0 || lead->event.seq < lead->first))
        return lead->event.seq;
    return lead->first;
}

/* What comes next for a subscription. */
struct next_found {
    int64_t seq; /* of the revision or event; at most `last`. 0: there is nothing up to `end` */
    size_t feed; /* its feed, as an index in sub->feeds */
    struct push_lead lead;
    int64_t end;
    bool is_cut; /* there may be something after `end` */
    bool stale;  /* since the subscription was read, one of its feeds has become part of another
                    feed, which now has what is to be delivered */
};

/* Take the first of the feeds' leads. */
static enum rc first_lead(struct reader *r, const struct subscription *sub, const size_t *feeds,
                          size_t n, int64_t last, struct arena *a, struct next_found *out,
                          struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct push_lead *leads = ARENA_ARRAY(&scratch, struct push_lead, n + 1);
    enum rc rc = read_leads(r, sub, feeds, n, last, a, leads, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        int64_t seq = seq_of_lead(&leads[i]);

        if (seq != 0 && (out->seq == 0 || seq < out->seq)) {
            out->seq = seq;
            out->lead = leads[i];
            out->feed = feeds[i];
        }
    }
    return rc;
}

/* The first thing that was found, if any, and its feed. */
static enum rc take_sifted(struct reader *r, const struct subscription *sub,
                           const struct sifted *found, struct next_found *out, struct err *err)
{
    struct revision_key key = {.seq = 0};
    int64_t feed_id = 0;
    enum rc rc = RC_OK;

    out->end = found->end;
    out->is_cut = !found->is_whole;
    if (found->n_events > 0) {
        out->lead.event = found->events[0];
        feed_id = out->lead.event.feed_id;
    } else if (found->n > 0) {
        out->lead.first = found->seqs[0];
        rc = r->db->reads->revision_keys(r->db, found->seqs, 1, &key, err);
        feed_id = key.feed_id;
    }
    for (size_t i = 0; i < sub->n_feeds && feed_id != 0; i++)
        if (sub->feeds[i].feed_id == feed_id) {
            out->feed = i;
            out->seq = seq_of_lead(&out->lead);
        }
    return rc;
}

/* The same for a subscription with a filter: the log of its feeds is looked through. */
static enum rc first_sifted(struct reader *r, const struct subscription *sub, const size_t *feeds,
                            size_t n, int64_t last, struct arena *a, struct next_found *out,
                            struct err *err)
{
    struct sift_wish wish = {
        .sub = sub, .n_feeds = n, .last = last, .max = 1, .look_max = sift_look_max(r)};
    struct arena *where = r->is_held ? &r->held : a; /* as in read_leads() */
    int64_t *ids = ARENA_ARRAY(where, int64_t, n + 1);
    struct found_push *known = n == 1 ? find_again(r, sub, sub->feeds[feeds[0]].feed_id) : NULL;
    struct sifted found;
    enum rc rc;

    if (known != NULL) {
        *out = (struct next_found){.seq = seq_of_lead(&known->lead),
                                   .feed = feeds[0],
                                   .lead = known->lead,
                                   .end = known->end,
                                   .is_cut = !known->is_whole};
        return RC_OK;
    }
    for (size_t i = 0; i < n; i++)
        ids[i] = sub->feeds[feeds[i]].feed_id;
    wish.feed_ids = ids;
    rc = push_filter(r, sub, where, &wish.filter, err);
    if (rc == RC_OK)
        rc = sift_run(r, &wish, where, &found, err);
    if (rc == RC_OK)
        rc = take_sifted(r, sub, &found, out, err);
    if (rc != RC_OK || n != 1)
        return rc;
    known = remember(r, sub, ids[0], &out->lead);
    known->end = out->end;
    known->is_whole = !out->is_cut;
    return RC_OK;
}

/* Find what comes next. Most feeds have no news; for them a look at the directory is enough. */
static enum rc find_next(struct reader *r, const struct subscription *sub, int64_t last,
                         struct arena *a, struct next_found *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    size_t *with_news = ARENA_ARRAY(&scratch, size_t, sub->n_feeds + 1), n;

    *out = (struct next_found){.end = last > sub->position ? last : sub->position};
    out->stale =
        !directory_with_news(r->store->dir, sub->feeds, sub->n_feeds, sub->position, with_news, &n);
    if (out->stale)
        out->end = sub->position;
    if (out->stale || n == 0)
        return RC_OK;
    if (str_is_null(sub->filter))
        return first_lead(r, sub, with_news, n, last, a, out, err);
    return first_sifted(r, sub, with_news, n, last, a, out, err);
}

/* By which URL was this feed subscribed? */
static struct str shown_url(const struct subscription *sub, int64_t feed_id, struct arena *a)
{
    for (size_t i = 0; i < sub->n_feeds; i++)
        if (sub->feeds[i].feed_id == feed_id)
            return str_dup(a, sub->feeds[i].url);
    return STR_NULL;
}

static enum rc load_push(struct reader *r, const struct subscription *sub,
                         const struct push_lead *lead, size_t max, struct arena *a,
                         struct push_next *out, struct err *err)
{
    struct found_push *found = find_again(r, sub, out->feed_id);
    enum rc rc;

    if (found == NULL)
        found = remember(r, sub, out->feed_id, lead);
    rc = load_found(r, sub, found, max, r->is_held ? &r->held : a, err);
    out->revisions = found->revisions;
    out->n = rc == RC_OK ? found->n : 0;
    return rc;
}

/* The first dead letter that is wanted, if any. */
static enum rc next_dead(struct reader *r, const struct subscription *sub, struct arena *a,
                         struct push_next *out, struct err *err)
{
    struct db *db = r->db;
    struct dead_letter *dead = NULL;
    size_t n = 0;
    enum rc rc =
        may_want_dead(r, sub->id) ? db->reads->dead_wanted(db, sub->id, a, &dead, &n, err) : RC_OK;

    if (rc != RC_OK || n == 0)
        return rc;
    rc = db->reads->feed_event(db, dead->at.seq, a, &out->event, err);
    out->feed_id = out->event.feed_id;
    if (rc == RC_OK && out->event.seq == 0) {
        rc = db->reads->revisions_by_seq(db, &dead->at.seq, 1, true, a, &out->revisions, &out->n,
                                         err);
        if (rc == RC_OK && out->n > 0)
            out->feed_id = out->revisions[0].feed_id;
    }
    out->dead = dead;
    out->shown_url = shown_url(sub, out->feed_id, a);
    return rc;
}

static enum rc next_news(struct reader *r, const struct subscription *sub, int64_t last, size_t max,
                         struct arena *a, struct push_next *out, struct err *err)
{
    struct next_found next;
    enum rc rc = find_next(r, sub, last, a, &next, err);

    if (rc != RC_OK)
        return rc;
    if (next.seq == 0) {
        out->skip_to = next.end;
        out->is_cut = next.is_cut;
        return RC_OK;
    }
    out->skip_to = next.seq - 1;
    out->feed_id = sub->feeds[next.feed].feed_id;
    out->shown_url = shown_url(sub, out->feed_id, a);
    if (next.seq != next.lead.event.seq)
        return load_push(r, sub, &next.lead, max, a, out, err);
    out->event = next.lead.event;
    out->event.detail = str_dup(a, next.lead.event.detail);
    return RC_OK;
}

enum rc reader_next_push(struct reader *r, const struct subscription *sub, size_t max,
                         struct arena *a, struct push_next *out, struct err *err)
{
    /* before any other look */
    int64_t last = r->is_held ? r->held_last : directory_last_seq(r->store->dir);
    enum rc rc = r->db->reads->snapshot(r->db, err);

    *out = (struct push_next){.skip_to = sub->position};
    if (rc != RC_OK)
        return rc;
    rc = next_dead(r, sub, a, out, err);
    if (rc == RC_OK && out->dead == NULL)
        rc = next_news(r, sub, last, max, a, out, err);
    r->db->reads->snapshot_end(r->db);
    return rc;
}

enum rc reader_is_drained(struct reader *r, const struct subscription *sub, int64_t position,
                          bool *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t last = directory_last_seq(r->store->dir);
    struct subscription then = *sub;
    struct next_found next;
    enum rc rc = r->db->reads->snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    then.position = position;
    rc = find_next(r, &then, last, &scratch, &next, err);
    r->db->reads->snapshot_end(r->db);
    *out = rc == RC_OK && next.seq == 0 && !next.is_cut;
    return rc;
}

/* ---- runs -------------------------------------------------------------------------------------
 */

#define LOAD_AT_ONCE 32 /* documents; each call may have read some that do not fit */

/* Read the revisions, as many as fit. Events that follow those that do not fit are left out. What a
 * filter has found says what is told of them; NULL: there is none. */
static enum rc load_documents(struct reader *r, const int64_t *seqs, size_t n,
                              const struct sifted *found, size_t max_bytes, struct arena *a,
                              struct push_run *out, struct err *err)
{
    struct revision *rows = ARENA_ARRAY(a, struct revision, n + 1), *some;
    size_t bytes = 0, kept = 0, n_some;
    bool is_full = false;

    for (size_t i = 0; i < n && !is_full; i += LOAD_AT_ONCE) {
        size_t n_asked = n - i < LOAD_AT_ONCE ? n - i : LOAD_AT_ONCE;
        enum rc rc =
            r->db->reads->revisions_by_seq(r->db, seqs + i, n_asked, false, a, &some, &n_some, err);

        if (rc != RC_OK)
            return rc;
        if (found != NULL)
            sifted_tell(found, some, n_some);
        for (size_t k = 0; k < n_some && !is_full; k++) {
            is_full = kept > 0 && bytes + some[k].doc.len > max_bytes;
            if (is_full)
                break;
            bytes += some[k].doc.len;
            rows[kept++] = some[k];
        }
    }
    if (is_full) {
        out->is_all = false;
        while (out->n_events > 0 && out->events[out->n_events - 1].seq > rows[kept - 1].seq)
            out->n_events--;
    }
    out->revisions = rows;
    out->n = kept;
    return RC_OK;
}

/* What a run is made of: one more than fits, so that it shows whether anything is left. */
static enum rc sift_for_run(struct reader *r, const struct subscription *sub, int64_t last,
                            size_t max, const int64_t *ids, size_t n_ids, struct arena *a,
                            struct sifted *found, struct push_run *out, struct err *err)
{
    struct sift_wish wish = {.sub = sub,
                             .feed_ids = ids,
                             .n_feeds = n_ids,
                             .last = last,
                             .max = max + 1,
                             .look_max = sift_look_max(r)};
    enum rc rc = push_filter(r, sub, a, &wish.filter, err);

    if (rc == RC_OK)
        rc = sift_run(r, &wish, a, found, err);
    if (rc != RC_OK || found->n + found->n_events > 0)
        return rc;
    out->skip_to = found->end;
    out->is_cut = !found->is_whole;
    return RC_OK;
}

static enum rc find_run(struct reader *r, const struct subscription *sub, int64_t last, size_t max,
                        const int64_t *ids, size_t n_ids, struct arena *a, struct sifted *found,
                        struct err *err)
{
    enum rc rc;

    *found = (struct sifted){.seqs = ARENA_ARRAY(a, int64_t, max + 2), .is_whole = true};
    rc = r->db->reads->push_run(r->db, ids, n_ids, sub, max + 1, a, found->seqs, &found->n,
                                &found->events, &found->n_events, err);
    if (rc != RC_OK)
        return rc;
    while (found->n > 0 && found->seqs[found->n - 1] > last) /* as leave_out_later() */
        found->n--;
    while (found->n_events > 0 && found->events[found->n_events - 1].seq > last)
        found->n_events--;
    return RC_OK;
}

static enum rc load_run(struct reader *r, const struct subscription *sub, int64_t last, size_t max,
                        size_t max_bytes, const size_t *feeds, size_t n_feeds, struct arena *a,
                        struct push_run *out, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n_feeds + 1);
    bool has_filter = !str_is_null(sub->filter);
    struct sifted found = {.is_whole = true};
    size_t n = 0, k = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_feeds; i++)
        ids[i] = sub->feeds[feeds[i]].feed_id;
    if (n_feeds > 0 && has_filter)
        rc = sift_for_run(r, sub, last, max, ids, n_feeds, a, &found, out, err);
    else if (n_feeds > 0)
        rc = find_run(r, sub, last, max, ids, n_feeds, a, &found, err);
    if (rc != RC_OK)
        return rc;
    while (n + k < max && (n < found.n || k < found.n_events))
        if (k == found.n_events || (n < found.n && found.seqs[n] < found.events[k].seq))
            n++;
        else
            k++;
    out->is_all = found.is_whole && n == found.n && k == found.n_events;
    out->events = found.events;
    out->n_events = k;
    return load_documents(r, found.seqs, n, has_filter ? &found : NULL, max_bytes, a, out, err);
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
    enum rc rc = r->db->reads->snapshot(r->db, err);
    bool stale;

    *out = (struct push_run){.skip_to = sub->position};
    if (rc != RC_OK)
        return rc;
    rc = dead_run(r, sub, a, out, err);
    if (rc != RC_OK || out->dead != NULL) {
        r->db->reads->snapshot_end(r->db);
        return rc;
    }
    stale =
        !directory_with_news(r->store->dir, sub->feeds, sub->n_feeds, sub->position, with_news, &n);
    if (!stale)
        rc = load_run(r, sub, last, max, max_bytes, with_news, n, a, out, err);
    if (!stale && !out->is_cut && out->n + out->n_events == 0 && last > sub->position)
        out->skip_to = last;
    r->db->reads->snapshot_end(r->db);
    return rc;
}

/* How many are to come, and the first of them. */
static enum rc count_leads(struct reader *r, const struct subscription *sub, const size_t *feeds,
                           const int64_t *ids, size_t n, struct arena *a, struct push_lead *first,
                           int64_t *n_out, struct err *err)
{
    struct push_lead *leads = ARENA_ARRAY(a, struct push_lead, n + 1);
    enum rc rc = read_leads(r, sub, feeds, n, INT64_MAX, a, leads, err);

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        int64_t seq = seq_of_lead(&leads[i]);

        if (seq != 0 && (seq_of_lead(first) == 0 || seq < seq_of_lead(first)))
            *first = leads[i];
    }
    if (rc != RC_OK || seq_of_lead(first) == 0)
        return rc;
    return r->db->reads->push_count(r->db, ids, n, sub, LAG_MAX, n_out, err);
}

/* The same with a filter. Of a long log the beginning is judged; the rest counts as if it matched
 * as often. */
static enum rc count_sifted(struct reader *r, const struct subscription *sub, const int64_t *ids,
                            size_t n, struct arena *a, struct push_lead *first, int64_t *n_out,
                            struct err *err)
{
    struct sift_wish wish = {.sub = sub,
                             .feed_ids = ids,
                             .n_feeds = n,
                             .last = INT64_MAX,
                             .max = LAG_MAX,
                             .look_max = sift_look_max(r)};
    struct subscription rest = *sub;
    struct sifted found;
    int64_t n_rest = 0;
    enum rc rc = push_filter(r, sub, a, &wish.filter, err);

    if (rc == RC_OK)
        rc = sift_run(r, &wish, a, &found, err);
    if (rc == RC_OK && !found.is_whole) {
        rest.position = found.end;
        rc = r->db->reads->push_count(r->db, ids, n, &rest, LAG_MAX, &n_rest, err);
    }
    if (rc != RC_OK)
        return rc;
    if (found.n > 0)
        first->first = found.seqs[0];
    if (found.n_events > 0)
        first->event = found.events[0];
    *n_out = (int64_t)(found.n + found.n_events);
    if (n_rest > 0 && found.n_looked > 0)
        *n_out += n_rest * (int64_t)found.n / (int64_t)found.n_looked;
    return RC_OK;
}

/* The lag of a subscription of which these feeds may have news. */
static enum rc read_lag(struct reader *r, const struct subscription *sub, const size_t *feeds,
                        size_t n, struct arena *a, struct sub_lag *out, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    struct push_lead first = {.first = 0};
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        ids[i] = sub->feeds[feeds[i]].feed_id;
    if (str_is_null(sub->filter))
        rc = count_leads(r, sub, feeds, ids, n, a, &first, &out->n, err);
    else
        rc = count_sifted(r, sub, ids, n, a, &first, &out->n, err);
    if (rc != RC_OK || seq_of_lead(&first) == 0)
        return rc;
    if (seq_of_lead(&first) != first.event.seq)
        return r->db->reads->revisions_times(r->db, &first.first, 1, &out->first_at_us, err);
    out->first_at_us = first.event.at_us;
    return RC_OK;
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
    rc = n == 0 ? RC_OK : r->db->reads->snapshot(r->db, err);
    if (n == 0 || rc != RC_OK)
        return rc;
    rc = read_lag(r, sub, with_news, n, &scratch, out, err);
    r->db->reads->snapshot_end(r->db);
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
    struct named_feed *named = &r->named;
    enum rc rc = RC_OK;

    if (!r->is_held)
        return r->db->reads->feeds_name(r->db, feed_id, a, url, title, err);
    if (named->feed_id != feed_id) {
        named->feed_id = 0;
        rc = r->db->reads->feeds_name(r->db, feed_id, &r->held, &named->url, &named->title, err);
    }
    if (rc != RC_OK)
        return rc;
    named->feed_id = feed_id;
    *url = str_dup(a, named->url);
    *title = str_dup(a, named->title);
    return RC_OK;
}

enum rc reader_find_sub(struct reader *r, struct str sink, struct str endpoint, struct str settings,
                        struct str owner, int64_t *id, int64_t *n_owned, struct err *err)
{
    return r->db->reads->subs_find(r->db, sink, endpoint, settings, owner, id, n_owned, err);
}

enum rc reader_sink_settings(struct reader *r, int64_t sub_id, struct arena *a, struct str *out,
                             struct err *err)
{
    return r->db->reads->subs_settings(r->db, sub_id, a, out, err);
}

enum rc reader_deliveries(struct reader *r, int64_t sub_id, size_t max, struct arena *a,
                          struct delivery_note **out, size_t *n_out, struct err *err)
{
    return r->db->reads->deliveries_of(r->db, sub_id, max, a, out, n_out, err);
}

enum rc reader_dead_letters(struct reader *r, int64_t sub_id, struct arena *a,
                            struct dead_letter **out, size_t *n_out, struct err *err)
{
    return r->db->reads->dead_of(r->db, sub_id, DEAD_LETTERS_KEPT, a, out, n_out, err);
}

enum rc reader_dead_counts(struct reader *r, int64_t first, int64_t last, struct arena *a,
                           struct dead_count **out, size_t *n_out, struct err *err)
{
    return r->db->reads->dead_counts(r->db, first, last, a, out, n_out, err);
}
