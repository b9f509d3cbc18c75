/* storage/retriever.c - the reading calls of store.h: views of the log, feeds.
 *
 * The order of a view is found from keys alone: for the newest entries from the directory in
 * memory, for other views from an index. Then the rows are read by seq. A call holds its snapshot
 * only while it runs, so that the write-ahead log can be emptied. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "storage/filtered.h"
#include "storage/newest.h"
#include "storage/store_priv.h"

#define LIMIT_VIEW_ROWS (1 << 20) /* skip and len together; that many keys are sorted */

/* Find the first entries of a view by date by the index. It is not known how many entries share an
 * id, so the number of keys to read is a guess, which grows until there are enough. */
static enum rc newest_by_index(struct reader *r, const struct view *v, struct arena *scratch,
                               int64_t *out, size_t *n_out, struct err *err)
{
    size_t wanted = v->skip + v->len, ask = wanted + wanted / 4 + 8, n, taken;
    int64_t *seqs, *iris;
    struct iri_set seen;
    enum rc rc;

    for (;; ask *= 2) {
        seqs = arena_alloc(scratch, ask * sizeof *seqs);
        iris = arena_alloc(scratch, ask * sizeof *iris);
        rc = r->db->reads->newest_keys(r->db, v, ask, scratch, seqs, iris, &n, err);
        if (rc != RC_OK)
            return rc;
        iri_set_init(&seen, scratch, wanted);
        taken = 0;
        for (size_t i = 0; i < n && taken < wanted; i++) {
            if (!v->with_doubles && !iri_set_add(&seen, iris[i]))
                continue;
            if (taken >= v->skip)
                out[taken - v->skip] = seqs[i];
            taken++;
        }
        if (taken == wanted || n < ask)
            break;
    }
    *n_out = taken > v->skip ? taken - v->skip : 0;
    return RC_OK;
}

/* Where a view by numbers of the log ends: before what has not been announced. */
static int64_t announced(struct reader *r, const struct view *v)
{
    int64_t end = reader_end(r);

    return v->before_seq < end ? v->before_seq : end;
}

static enum rc newest_keys(struct reader *r, const struct view *v, struct arena *scratch,
                           int64_t *out, size_t *n_out, struct err *err)
{
    struct merge_range range = {.after_seq = v->after_seq,
                                .before_seq = v->before_seq,
                                .skip = v->skip,
                                .len = v->len,
                                .keeps_doubles = v->with_doubles};
    struct view of = *v;
    bool found = false;
    enum rc rc = RC_OK;
    int64_t *ids;

    if (v->all_feeds) {
        of.n_feeds = directory_ids(r->store->dir, scratch, &ids);
        of.feed_ids = ids;
        of.all_feeds = false;
    }
    if (v->order == VIEW_NEWEST)
        rc = newest_in_memory(r, of.feed_ids, of.n_feeds, &range, NEWEST_READ_MOST, scratch, out,
                              n_out, &found, err);
    if (rc != RC_OK || found)
        return rc;
    if (v->order != VIEW_NEWEST)
        of.before_seq = announced(r, v);
    return newest_by_index(r, &of, scratch, out, n_out, err);
}

static bool shows_log(enum view_order order)
{
    return order == VIEW_LOG || order == VIEW_LOG_DESC;
}

static enum rc rows_of_view(struct reader *r, const struct view *v, struct arena *a,
                            struct revision **out, size_t *n_out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *seqs = arena_alloc(&scratch, (v->len + 1) * sizeof *seqs);
    struct db *db = r->db;
    size_t n = 0;
    enum rc rc;

    if (order_is_by_date(v->order)) {
        rc = newest_keys(r, v, &scratch, seqs, &n, err);
    } else {
        struct view known = *v;

        known.before_seq = announced(r, v);
        rc = db->reads->view_keys(db, &known, v->len, &scratch, seqs, &n, err);
    }
    if (rc != RC_OK)
        return rc;
    return db->reads->revisions_by_seq(db, seqs, n, !shows_log(v->order), a, out, n_out, err);
}

enum rc reader_state_begin(struct reader *r, struct err *err)
{
    return r->db->reads->snapshot(r->db, err);
}

void reader_state_end(struct reader *r)
{
    r->db->reads->snapshot_end(r->db);
}

enum rc reader_rows(struct reader *r, const struct view *v, struct arena *a, struct revision **out,
                    size_t *n_out, struct err *err)
{
    enum rc rc;

    if (v->len > LIMIT_VIEW_ROWS || v->skip > LIMIT_VIEW_ROWS)
        return err_set(err, RC_LIMIT, "%zu rows after the first %zu: at most %d are possible",
                       v->len, v->skip, LIMIT_VIEW_ROWS);
    rc = r->db->reads->snapshot(r->db, err);
    if (rc != RC_OK)
        return rc;
    rc = v->filter != NULL || (v->alike != NULL && order_is_by_date(v->order))
             ? filtered_rows(r, v, a, out, n_out, err)
             : rows_of_view(r, v, a, out, n_out, err);
    r->db->reads->snapshot_end(r->db);
    return rc;
}

/* The uids of rows. */
static const struct str *uids_of(struct arena *a, const struct revision *rows, size_t n)
{
    struct str *uids = ARENA_ARRAY(a, struct str, n + 1);

    for (size_t i = 0; i < n; i++)
        uids[i] = rows[i].uid;
    return uids;
}

static bool is_before(const struct uid_match *x, const struct uid_match *y)
{
    struct merge_key a = {.sort_at = x->sort_at, .seq = x->seq};
    struct merge_key b = {.sort_at = y->sort_at, .seq = y->seq};

    return merge_key_before(&a, &b);
}

/* Is this row news in a view of the newest entries? `same`: the entries that have the row's uid.
 * Such a view shows only one of them. The row is news if two things are true: the view shows the
 * entry of this row, and a client that has everything up to `after_seq` has not yet seen the same
 * version. */
static bool is_news(const struct revision *row, const struct uid_match *same, size_t n,
                    int64_t after_seq)
{
    const struct uid_match *now = NULL, *before = NULL;

    for (size_t i = 0; i < n; i++) {
        if (same[i].deleted || !same[i].has_iri)
            continue;
        if (now == NULL || is_before(&same[i], now))
            now = &same[i];
        if (same[i].seq <= after_seq && (before == NULL || is_before(&same[i], before)))
            before = &same[i];
    }
    if (now != NULL && now->feed_id != row->feed_id)
        return false;
    /* An entry that has changed may have been shown before in another version, which is not known.
     */
    return before == NULL || row->first_seq <= after_seq ||
           memcmp(before->essence, now->essence, sizeof now->essence) != 0;
}

enum rc reader_without_doubles(struct reader *r, const int64_t *feed_ids, size_t n_feeds,
                               int64_t after_seq, struct revision *rows, size_t *n_rows,
                               struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    const struct str *uids = uids_of(&scratch, rows, *n_rows);
    struct uid_match *found;
    size_t n_found, n = 0, at = 0, n_same;
    enum rc rc = r->db->reads->entries_of_uids(r->db, feed_ids, n_feeds, uids, *n_rows, &scratch,
                                               &found, &n_found, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < *n_rows; i++, at += n_same) {
        for (n_same = 0; at + n_same < n_found && found[at + n_same].of == i; n_same++)
            ;
        if (!revision_has_entry(&rows[i]) || is_news(&rows[i], &found[at], n_same, after_seq))
            rows[n++] = rows[i];
    }
    *n_rows = n;
    return RC_OK;
}

/* ---- feeds ----------------------------------------------------------------------------------- */

enum rc reader_feed(struct reader *r, int64_t id, struct arena *a, struct feed **out,
                    struct err *err)
{
    struct feed *found;
    size_t n;
    enum rc rc = r->db->reads->feeds_by_id(r->db, &id, 1, a, &found, &n, err);

    if (rc != RC_OK)
        return rc;
    if (n == 0)
        return err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, id);
    *out = found;
    return RC_OK;
}

enum rc reader_feeds(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                     struct feed **out, size_t *n_out, struct err *err)
{
    return r->db->reads->feeds_by_id(r->db, ids, n, a, out, n_out, err);
}

enum rc reader_feeds_shown(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                           struct feed **out, size_t *n_out, struct err *err)
{
    return r->db->reads->feeds_shown(r->db, ids, n, a, out, n_out, err);
}

enum rc reader_feeds_at(struct reader *r, const int64_t *ids, size_t n, int64_t seq,
                        struct arena *a, struct feed **out, size_t *n_out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, n + 1);
    struct db *db = r->db;
    enum rc rc = db->reads->snapshot(db, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        seqs[i] = seq;
    rc = db->reads->feeds_by_id(db, ids, n, a, out, n_out, err);
    if (rc == RC_OK)
        rc = db->reads->head_log_at(db, *out, seqs, *n_out, a, err);
    db->reads->snapshot_end(db);
    return rc;
}

static int by_number(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

enum rc reader_listed(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                      struct feed_summary **out, size_t *n_out, struct err *err)
{
    return r->db->reads->feeds_listed(r->db, ids, n, a, out, n_out, err);
}

/* The ids of the feeds of rows, each once, ascending. */
static size_t feeds_of(struct arena *a, const struct revision *rows, size_t n, int64_t **out)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, n + 1);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        ids[i] = rows[i].feed_id;
    if (n > 1)
        qsort(ids, n, sizeof *ids, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    *out = ids;
    return kept;
}

static int by_feed(const void *id, const void *feed)
{
    return by_number(id, &((const struct feed *)feed)->id);
}

enum rc reader_sources(struct reader *r, const struct revision *rows, size_t n, struct arena *a,
                       struct feed **out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, n + 1), *ids;
    size_t n_ids = feeds_of(&scratch, rows, n, &ids), n_feeds;
    struct feed *list = ARENA_ARRAY(a, struct feed, n + 1), *feeds, *feed;
    struct db *db = r->db;
    enum rc rc = db->reads->snapshot(db, err);

    if (rc != RC_OK)
        return rc;
    rc = db->reads->feeds_by_id(db, ids, n_ids, a, &feeds, &n_feeds, err);
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        feed = bsearch(&rows[i].feed_id, feeds, n_feeds, sizeof *feeds, by_feed);
        list[i] = feed != NULL ? *feed : (struct feed){.id = 0};
        seqs[i] = rows[i].seq;
    }
    if (rc == RC_OK)
        rc = db->reads->head_log_at(db, list, seqs, n, a, err);
    db->reads->snapshot_end(db);
    *out = list;
    return rc;
}

enum rc reader_created(struct reader *r, const struct revision *rows, size_t n, int64_t *out,
                       struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, n + 1);
    int64_t *times = ARENA_ARRAY(&scratch, int64_t, n + 1);
    size_t n_changed = 0;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++)
        if (rows[i].first_seq != rows[i].seq)
            seqs[n_changed++] = rows[i].first_seq;
    if (n_changed > 0)
        rc = r->db->reads->revisions_times(r->db, seqs, n_changed, times, err);
    for (size_t i = 0, k = 0; i < n && rc == RC_OK; i++)
        out[i] = rows[i].first_seq != rows[i].seq ? times[k++] : rows[i].at_us;
    return rc;
}

enum rc reader_elders(struct reader *r, const int64_t *ids, size_t n_ids,
                      const struct revision *rows, size_t n, bool *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    const struct str *uids = uids_of(&scratch, rows, n);
    struct uid_match *found;
    size_t n_found;
    enum rc rc =
        r->db->reads->entries_of_uids(r->db, ids, n_ids, uids, n, &scratch, &found, &n_found, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n; i++)
        out[i] = false;
    for (size_t i = 0; i < n_found; i++)
        out[found[i].of] |= found[i].first_seq < rows[found[i].of].first_seq;
    return RC_OK;
}

enum rc reader_oldest_of_uid(struct reader *r, const int64_t *ids, size_t n, struct str uid,
                             int64_t *first_seq, int64_t *seq, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct uid_match *found;
    size_t n_found;
    enum rc rc =
        r->db->reads->entries_of_uids(r->db, ids, n, &uid, 1, &scratch, &found, &n_found, err);

    if (rc != RC_OK)
        return rc;
    *first_seq = *seq = 0;
    for (size_t i = 0; i < n_found; i++) {
        if (*seq != 0 && found[i].first_seq > *first_seq)
            continue;
        *first_seq = found[i].first_seq;
        *seq = found[i].seq;
    }
    return RC_OK;
}

enum rc reader_changed_since(struct reader *r, const int64_t *ids, size_t n_ids, int64_t seq,
                             int64_t *n, int64_t *n_deleted, struct err *err)
{
    return r->db->reads->entries_since(r->db, ids, n_ids, seq, n, n_deleted, err);
}

enum rc reader_deleted_since(struct reader *r, const int64_t *ids, size_t n_ids, int64_t seq,
                             bool *out, struct err *err)
{
    return r->db->reads->deletions_since(r->db, ids, n_ids, seq, out, err);
}

enum rc reader_count(struct reader *r, const int64_t *ids, size_t n, bool with_deleted,
                     int64_t *out, struct err *err)
{
    return r->db->reads->feeds_count(r->db, ids, n, with_deleted, out, err);
}

enum rc reader_count_between(struct reader *r, const int64_t *ids, size_t n, bool by_creation,
                             int64_t from, int64_t to, int64_t max, int64_t *out, struct err *err)
{
    return r->db->reads->entries_between(r->db, ids, n, by_creation, from, to, max, out, err);
}

static struct known_entry known_of(const struct entry_row *row)
{
    struct known_entry k = {.identity.uid = row->uid,
                            .identity.has_marks = row->has_marks,
                            .identity.marks = row->marks,
                            .id = row->id,
                            .deleted = row->deleted == ENTRY_DELETED,
                            .first_seq = row->gone_at != TIME_UNKNOWN ? -1 : row->first_seq,
                            .seq = row->gone_at != TIME_UNKNOWN ? -1 : row->seq,
                            .sort_at = row->sort_at};

    memcpy(k.identity.essence, row->essence, sizeof row->essence);
    memcpy(k.doc_hash, row->doc_hash, sizeof k.doc_hash);
    return k;
}

static int by_id(const void *x, const void *y)
{
    const struct entry_row *a = x, *b = y;

    return a->id < b->id ? -1 : a->id > b->id;
}

enum rc reader_known(struct reader *r, int64_t feed_id, const struct str *uids, size_t n_uids,
                     const int64_t *keys, size_t n_keys, struct arena *a, struct known_entry **out,
                     size_t *n_out, struct err *err)
{
    AUTO(mem_autofree) struct entry_row *rows = NULL;
    size_t n = 0, kept = 0;
    enum rc rc = r->db->reads->entries_known(r->db, feed_id, uids, n_uids, keys, n_keys,
                                             IDENTITY_CANDIDATES, a, &rows, &n, err);

    if (rc != RC_OK)
        return rc;
    if (n > 1)
        qsort(rows, n, sizeof *rows, by_id);
    *out = ARENA_ARRAY(a, struct known_entry, n + 1);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || rows[i].id != rows[i - 1].id)
            (*out)[kept++] = known_of(&rows[i]);
    *n_out = kept;
    return RC_OK;
}

enum rc reader_sub(struct reader *r, int64_t id, struct arena *a, struct subscription **out,
                   struct err *err)
{
    struct subscription *found;
    size_t n;
    enum rc rc = r->db->reads->subs_by_id(r->db, &id, 1, a, &found, &n, err);

    if (rc != RC_OK)
        return rc;
    if (n == 0)
        return err_set(err, RC_NOT_FOUND, "there is no subscription %" PRId64, id);
    *out = found;
    return RC_OK;
}

enum rc reader_subs(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                    struct subscription **out, size_t *n_out, struct err *err)
{
    return r->db->reads->subs_by_id(r->db, ids, n, a, out, n_out, err);
}

enum rc reader_followers(struct reader *r, int64_t feed_id, struct arena *a,
                         struct list_followers *out, struct err *err)
{
    return r->db->reads->subs_of_list(r->db, feed_id, a, out, err);
}

enum rc reader_subs_after(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                          struct subscription **out, size_t *n_out, struct err *err)
{
    return r->db->reads->subs_after(r->db, after_id, max, a, out, n_out, err);
}

enum rc reader_subs_listed(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                           struct sub_summary **out, size_t *n_out, struct err *err)
{
    return r->db->reads->subs_listed(r->db, after_id, max, a, out, n_out, err);
}

enum rc reader_asking(struct reader *r, struct arena *a, int64_t **out, size_t *n_out,
                      struct err *err)
{
    return r->db->reads->subs_asking(r->db, a, out, n_out, err);
}

void reader_shrink(struct reader *r)
{
    r->db->reads->shrink(r->db);
}

enum rc reader_tokens(struct reader *r, struct arena *a, struct token **out, size_t *n_out,
                      struct err *err)
{
    return r->db->reads->tokens(r->db, a, out, n_out, err);
}

enum rc reader_views(struct reader *r, struct arena *a, struct named_view **out, size_t *n_out,
                     struct err *err)
{
    return r->db->reads->views(r->db, a, out, n_out, err);
}

enum rc reader_host_rests(struct reader *r, struct arena *a, struct host_rest **out, size_t *n_out,
                          struct err *err)
{
    return r->db->reads->host_rests(r->db, a, out, n_out, err);
}

enum rc reader_upstreams(struct reader *r, struct arena *a, struct upstream **out, size_t *n_out,
                         struct err *err)
{
    return r->db->reads->upstreams(r->db, a, out, n_out, err);
}

enum rc reader_upstreams_of(struct reader *r, const struct str *tokens, size_t n_tokens,
                            struct arena *a, struct upstream **out, size_t *n_out, struct err *err)
{
    return r->db->reads->upstreams_of(r->db, tokens, n_tokens, a, out, n_out, err);
}

enum rc reader_hub_intents(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                           struct hub_intent **out, size_t *n_out, struct err *err)
{
    return r->db->reads->hub_intents_after(r->db, after_id, max, a, out, n_out, err);
}

enum rc reader_hub_lease(struct reader *r, int64_t sub_id, struct arena *a, struct hub_lease *out,
                         struct err *err)
{
    return r->db->reads->hub_lease(r->db, sub_id, a, out, err);
}

enum rc reader_due(struct reader *r, reader_due_fn *fn, void *ctx, struct err *err)
{
    return r->db->reads->feeds_each_due(r->db, clock_now_s(), fn, ctx, err);
}

enum rc reader_oldest(struct reader *r, int64_t feed_id, int64_t *at, struct err *err)
{
    return r->db->reads->entries_oldest(r->db, feed_id, at, err);
}

enum rc reader_pending_content(struct reader *r, int64_t feed_id, int64_t now, struct arena *a,
                               struct pending_content *out, struct err *err)
{
    return r->db->reads->content_pending(r->db, feed_id, now, a, out, err);
}

enum rc reader_content_feeds(struct reader *r, reader_content_fn *fn, void *ctx, struct err *err)
{
    return r->db->reads->content_feeds(r->db, fn, ctx, err);
}

enum rc reader_history_end(struct reader *r, const int64_t *ids, size_t n, bool all,
                           struct history_end *out, struct err *err)
{
    struct log_horizon h;
    enum rc rc = r->db->reads->horizon(r->db, ids, n, all, &h, err);

    if (rc == RC_OK)
        *out = (struct history_end){h.seq, h.at_us};
    return rc;
}

enum rc reader_free_bytes(struct reader *r, int64_t *n, struct err *err)
{
    int64_t all;

    return r->db->reads->size(r->db, &all, n, err);
}

enum rc reader_gone_feeds(struct reader *r, int64_t after, int64_t before, size_t max, int64_t *ids,
                          size_t *n, struct err *err)
{
    return r->db->reads->gone_feeds(r->db, after, before, max, ids, n, err);
}

enum rc reader_keep_wishes(struct reader *r, int64_t after, size_t max, bool all,
                           struct keep_wishes *out, size_t *n, struct err *err)
{
    return r->db->reads->keep_wishes(r->db, after, max, all, out, n, err);
}

/* The first revision of a feed after a seq; INT64_MAX: there is none. */
static enum rc first_after(struct reader *r, int64_t feed_id, int64_t seq, int64_t *out,
                           struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct view v = {.feed_ids = &feed_id,
                     .n_feeds = 1,
                     .order = VIEW_LOG,
                     .after_seq = seq,
                     .before_seq = INT64_MAX,
                     .with_deleted = true};
    size_t n = 0;
    enum rc rc = r->db->reads->view_keys(r->db, &v, 1, &scratch, out, &n, err);

    if (n == 0)
        *out = INT64_MAX;
    return rc;
}

/* What stands before the newest `keep_entries` entries of a feed; 0: nothing does. */
static enum rc limit_of_entries(struct reader *r, int64_t feed_id, int64_t keep_entries,
                                int64_t *limit, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct view v = {
        .feed_ids = &feed_id, .n_feeds = 1, .order = VIEW_MODIFIED_DESC, .before_seq = INT64_MAX};
    int64_t *seqs = ARENA_ARRAY(&scratch, int64_t, (size_t)keep_entries + 1);
    size_t n = 0;
    enum rc rc =
        r->db->reads->view_keys(r->db, &v, (size_t)keep_entries + 1, &scratch, seqs, &n, err);

    *limit = n > (size_t)keep_entries ? seqs[keep_entries - 1] - 1 : 0;
    return rc;
}

enum rc reader_old_limit(struct reader *r, int64_t feed_id, int64_t old_seq, int64_t keep_entries,
                         struct old_limit *out, struct err *err)
{
    int64_t of_entries = 0;
    enum rc rc = first_after(r, feed_id, 0, &out->next, err);

    out->limit = 0;
    if (rc == RC_OK && keep_entries > 0 && out->next < INT64_MAX)
        rc = limit_of_entries(r, feed_id, keep_entries, &of_entries, err);
    if (of_entries < old_seq)
        of_entries = old_seq;
    if (rc != RC_OK || of_entries < out->next)
        return rc;
    out->limit = of_entries;
    return first_after(r, feed_id, out->limit, &out->next, err);
}

enum rc reader_seq_at(struct reader *r, int64_t at_us, int64_t *seq_out, struct err *err)
{
    struct db *db = r->db;
    int64_t last;
    enum rc rc = db->reads->snapshot(db, err);

    if (rc != RC_OK)
        return rc;
    rc = db->reads->last_seq(db, &last, err);
    if (rc == RC_OK && last >= reader_end(r))
        last = reader_end(r) - 1;
    if (rc == RC_OK)
        rc = db->reads->revisions_at(db, at_us, last, seq_out, err);
    db->reads->snapshot_end(db);
    return rc;
}
