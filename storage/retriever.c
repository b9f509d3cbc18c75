/* storage/retriever.c - the reading calls of store.h: views of the log, feeds.
 *
 * The order of a view is found from keys alone: for the newest entries from the directory in
 * memory, for other views from an index. Then the rows are read by seq. A call holds its snapshot
 * only while it runs, so that the write-ahead log can be emptied. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/entries.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/views.h"
#include "storage/sqlite/hub.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/sqlite/upstreams.h"
#include "storage/store_priv.h"

#define LIMIT_VIEW_ROWS (1 << 20) /* skip and len together; that many keys are sorted */

enum rc retriever_rows(struct reader *r, const int64_t *seqs, size_t n, bool with_overlays,
                       struct arena *a, struct revision **out, size_t *n_out, struct err *err)
{
    struct revision *rows = ARENA_ARRAY(a, struct revision, n + 1);
    enum rc rc = RC_OK;
    size_t kept = 0;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = revisions_load(r->db, seqs[i], with_overlays, a, &rows[kept], err);
        if (rc == RC_OK && rows[kept].seq != 0)
            kept++;
    }
    if (rc != RC_OK)
        return rc;
    *out = rows;
    *n_out = kept;
    return RC_OK;
}

/* Find the newest entries by the index. It is not known how many entries share an id, so the number
 * of keys to read is a guess, which grows until there are enough. */
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
        rc = newest_keys_of(r->db, v, ask, scratch, seqs, iris, &n, err);
        if (rc != RC_OK)
            return rc;
        iri_set_init(&seen, scratch, wanted);
        taken = 0;
        for (size_t i = 0; i < n && taken < wanted; i++) {
            if (!iri_set_add(&seen, iris[i]))
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

static enum rc newest_keys(struct reader *r, const struct view *v, struct arena *scratch,
                           int64_t *out, size_t *n_out, struct err *err)
{
    struct merge_range range = {v->after_seq, v->before_seq, v->skip, v->len};
    struct view of = *v;
    int64_t *ids;

    if (v->all_feeds) {
        of.n_feeds = directory_ids(r->store->dir, scratch, &ids);
        of.feed_ids = ids;
        of.all_feeds = false;
    }
    if (directory_merge(r->store->dir, of.feed_ids, of.n_feeds, &range, scratch, out, n_out))
        return RC_OK;
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
    size_t n = 0;
    enum rc rc;

    if (v->order == VIEW_NEWEST) { /* this order has no cursors */
        rc = newest_keys(r, v, &scratch, seqs, &n, err);
    } else {
        struct view announced = *v;
        int64_t end = reader_end(r);

        announced.before_seq = v->before_seq < end ? v->before_seq : end;
        rc = view_keys(r->db, &announced, v->len, &scratch, seqs, &n, err);
    }
    return rc == RC_OK ? retriever_rows(r, seqs, n, !shows_log(v->order), a, out, n_out, err) : rc;
}

enum rc reader_rows(struct reader *r, const struct view *v, struct arena *a, struct revision **out,
                    size_t *n_out, struct err *err)
{
    enum rc rc;

    if (v->len > LIMIT_VIEW_ROWS || v->skip > LIMIT_VIEW_ROWS)
        return err_set(err, RC_LIMIT, "%zu rows after the first %zu: at most %d are possible",
                       v->len, v->skip, LIMIT_VIEW_ROWS);
    rc = db_snapshot(r->db, err);
    if (rc != RC_OK)
        return rc;
    rc = rows_of_view(r, v, a, out, n_out, err);
    db_snapshot_end(r->db);
    return rc;
}

enum rc reader_without_doubles(struct reader *r, const int64_t *feed_ids, size_t n_feeds,
                               int64_t after_seq, struct revision *rows, size_t *n_rows,
                               struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct str feeds = id_list(&scratch, feed_ids, n_feeds);
    size_t n = 0;
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < *n_rows && rc == RC_OK; i++) {
        bool is_news = true;

        if (rows[i].kind != REV_DELETED)
            rc = entries_is_news(r->db, feeds, &rows[i], after_seq, &is_news, err);
        if (is_news)
            rows[n++] = rows[i];
    }
    db_snapshot_end(r->db);
    *n_rows = n;
    return rc;
}

/* ---- feeds ----------------------------------------------------------------------------------- */

struct id_list {
    int64_t *ids;
    size_t n, cap;
};

static void add_id(void *ctx, int64_t feed_id, int64_t next_fetch_at UNUSED,
                   enum fetch_reason reason UNUSED)
{
    struct id_list *l = ctx;

    l->ids = mem_grow(l->ids, &l->cap, l->n + 1, sizeof *l->ids);
    l->ids[l->n++] = feed_id;
}

static enum rc load_feeds(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                          struct feed **out, size_t *n_out, struct err *err)
{
    struct feed *list = ARENA_ARRAY(a, struct feed, n + 1);
    struct feed_row row;
    enum rc rc = RC_OK;
    size_t kept = 0;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = feeds_load(r->db, ids[i], true, a, &row, err);
        if (rc == RC_OK)
            list[kept++] = row.feed;
        else if (rc == RC_NOT_FOUND)
            rc = RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    *out = list;
    *n_out = kept;
    return RC_OK;
}

enum rc reader_feed(struct reader *r, int64_t id, struct arena *a, struct feed **out,
                    struct err *err)
{
    struct feed_row row;
    enum rc rc = feeds_load(r->db, id, true, a, &row, err);

    if (rc != RC_OK)
        return rc;
    *out = ARENA_NEW(a, struct feed);
    **out = row.feed;
    return RC_OK;
}

enum rc reader_feeds(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                     struct feed **out, size_t *n_out, struct err *err)
{
    struct id_list all = {0};
    struct err skipped = ERR_INIT;
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    if (ids == NULL) {
        rc = feeds_each(r->db, add_id, &all, err);
        ids = all.ids;
        n = all.n;
    }
    if (rc == RC_OK) {
        rc = load_feeds(r, ids, n, a, out, n_out, &skipped);
        if (rc != RC_OK && err != NULL)
            *err = skipped; /* a missing feed is not an error: restore the old *err */
    }
    db_snapshot_end(r->db);
    mem_free(all.ids);
    return rc;
}

enum rc reader_feeds_at(struct reader *r, const int64_t *ids, size_t n, int64_t seq,
                        struct arena *a, struct feed **out, size_t *n_out, struct err *err)
{
    enum rc rc = reader_feeds(r, ids, n, a, out, n_out, err);

    if (rc != RC_OK)
        return rc;
    rc = db_snapshot(r->db, err);
    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < *n_out && rc == RC_OK; i++)
        rc = head_log_at(r->db, seq, a, &(*out)[i], err);
    db_snapshot_end(r->db);
    return rc;
}

enum rc reader_created(struct reader *r, const struct revision *rows, size_t n, int64_t *out,
                       struct err *err)
{
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        out[i] = rows[i].at_us;
        if (rows[i].first_seq != rows[i].seq)
            rc = revisions_time(r->db, rows[i].first_seq, &out[i], err);
    }
    db_snapshot_end(r->db);
    return rc;
}

enum rc reader_elders(struct reader *r, const int64_t *ids, size_t n_ids,
                      const struct revision *rows, size_t n, bool *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    struct str feeds = id_list(&scratch, ids, n_ids);
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n && rc == RC_OK; i++)
        rc = entries_elder(r->db, feeds, rows[i].uid, rows[i].first_seq, &out[i], err);
    db_snapshot_end(r->db);
    return rc;
}

enum rc reader_changed_since(struct reader *r, int64_t feed_id, int64_t seq, int64_t *n,
                             int64_t *n_deleted, struct err *err)
{
    return entries_since(r->db, feed_id, seq, n, n_deleted, err);
}

enum rc reader_count(struct reader *r, const int64_t *ids, size_t n, bool with_deleted,
                     int64_t *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;

    return feeds_count(r->db, id_list(&scratch, ids, n), with_deleted, out, err);
}

enum rc reader_count_between(struct reader *r, const int64_t *ids, size_t n, bool by_creation,
                             int64_t from, int64_t to, int64_t max, int64_t *out, struct err *err)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;

    return entries_between(r->db, id_list(&scratch, ids, n), by_creation, from, to, max, out, err);
}

static void add_known(const struct entry_row *row, struct arena *a, struct known_entry *list,
                      size_t *n)
{
    struct known_entry *k = &list[*n];

    if (row->id == 0)
        return;
    *k = (struct known_entry){.id = row->id,
                              .deleted = row->deleted,
                              .first_seq = row->first_seq,
                              .seq = row->seq,
                              .sort_at = row->sort_at};
    k->identity.uid = str_dup(a, row->uid);
    k->identity.has_marks = row->has_marks;
    k->identity.marks = row->marks;
    memcpy(k->identity.essence, row->essence, sizeof row->essence);
    memcpy(k->doc_hash, row->doc_hash, sizeof k->doc_hash);
    ++*n;
}

static int by_id(const void *x, const void *y)
{
    const struct known_entry *a = x, *b = y;

    return a->id < b->id ? -1 : a->id > b->id;
}

enum rc reader_known(struct reader *r, int64_t feed_id, const struct str *uids, size_t n_uids,
                     const int64_t *keys, size_t n_keys, struct arena *a, struct known_entry **out,
                     size_t *n_out, struct err *err)
{
    AUTO(mem_autofree) struct known_entry *list = NULL;
    struct entry_row rows[IDENTITY_CANDIDATES];
    size_t n = 0, cap = 0, n_rows, kept = 0;
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    for (size_t i = 0; i < n_uids && rc == RC_OK; i++) {
        list = mem_grow(list, &cap, n + 1, sizeof *list);
        rc = entries_find(r->db, feed_id, uids[i], &rows[0], err);
        if (rc == RC_OK)
            add_known(&rows[0], a, list, &n);
    }
    for (size_t i = 0; i < n_keys && rc == RC_OK; i++) {
        list = mem_grow(list, &cap, n + IDENTITY_CANDIDATES, sizeof *list);
        rc = entries_of_key(r->db, feed_id, keys[i], IDENTITY_CANDIDATES, a, rows, &n_rows, err);
        for (size_t k = 0; rc == RC_OK && k < n_rows; k++)
            add_known(&rows[k], a, list, &n);
    }
    db_snapshot_end(r->db);
    if (rc != RC_OK)
        return rc;
    if (n > 1)
        qsort(list, n, sizeof *list, by_id);
    *out = ARENA_ARRAY(a, struct known_entry, n + 1);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || list[i].id != list[i - 1].id)
            (*out)[kept++] = list[i];
    *n_out = kept;
    return RC_OK;
}

static enum rc load_subs(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                         struct subscription **out, size_t *n_out, struct err *err)
{
    struct subscription *list = ARENA_ARRAY(a, struct subscription, n + 1);
    enum rc rc = RC_OK;
    size_t kept = 0;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        rc = subs_load(r->db, ids[i], true, a, &list[kept], err);
        if (rc == RC_OK)
            kept++;
        else if (rc == RC_NOT_FOUND)
            rc = RC_OK;
    }
    if (rc != RC_OK)
        return rc;
    *out = list;
    *n_out = kept;
    return RC_OK;
}

enum rc reader_sub(struct reader *r, int64_t id, struct arena *a, struct subscription **out,
                   struct err *err)
{
    struct subscription *sub = ARENA_NEW(a, struct subscription);
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    rc = subs_load(r->db, id, true, a, sub, err);
    db_snapshot_end(r->db);
    if (rc == RC_OK)
        *out = sub;
    return rc;
}

enum rc reader_subs(struct reader *r, const int64_t *ids, size_t n, struct arena *a,
                    struct subscription **out, size_t *n_out, struct err *err)
{
    struct err skipped = ERR_INIT;
    int64_t *all;
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    if (ids == NULL) {
        rc = subs_ids(r->db, a, &all, &n, err);
        ids = rc == RC_OK ? all : NULL;
    }
    if (rc == RC_OK) {
        rc = load_subs(r, ids, n, a, out, n_out, &skipped);
        if (rc != RC_OK && err != NULL)
            *err = skipped;
    }
    db_snapshot_end(r->db);
    return rc;
}

enum rc reader_upstreams(struct reader *r, struct arena *a, struct upstream **out, size_t *n_out,
                         struct err *err)
{
    return upstreams_all(r->db, a, out, n_out, err);
}

enum rc reader_endpoint_credential(struct reader *r, int64_t sub_id, struct arena *a,
                                   struct str *out, struct err *err)
{
    return subs_credential(r->db, sub_id, a, out, err);
}

enum rc reader_hub_intents(struct reader *r, int64_t after_id, size_t max, struct arena *a,
                           struct hub_intent **out, size_t *n_out, struct err *err)
{
    return hub_intents_after(r->db, after_id, max, a, out, n_out, err);
}

enum rc reader_hub_lease(struct reader *r, int64_t sub_id, struct arena *a, struct hub_lease *out,
                         struct err *err)
{
    return hub_lease_load(r->db, sub_id, a, out, err);
}

enum rc reader_due(struct reader *r, reader_due_fn *fn, void *ctx, struct err *err)
{
    return feeds_each_due(r->db, clock_now_s(), fn, ctx, err);
}

enum rc reader_oldest(struct reader *r, int64_t feed_id, int64_t *at, struct err *err)
{
    return entries_oldest(r->db, feed_id, at, err);
}

enum rc reader_pending_content(struct reader *r, int64_t feed_id, int64_t now, struct arena *a,
                               struct pending_content *out, struct err *err)
{
    struct content_row row = {.entry_id = 0};
    struct entry_row entry;
    struct revision rev;
    enum rc rc = db_snapshot(r->db, err);

    *out = (struct pending_content){.entry_id = 0};
    if (rc != RC_OK)
        return rc;
    rc = contents_next(r->db, feed_id, now, &row, err);
    if (rc == RC_OK && row.entry_id != 0)
        rc = entries_load(r->db, row.entry_id, a, &entry, err);
    if (rc == RC_OK && row.entry_id != 0 && entry.id != 0)
        rc = revisions_load(r->db, entry.seq, true, a, &rev, err);
    db_snapshot_end(r->db);
    if (rc == RC_OK && row.entry_id != 0 && entry.id != 0)
        *out = (struct pending_content){entry.id, entry.seq, row.form, rev.doc, rev.ext};
    return rc;
}

enum rc reader_content_feeds(struct reader *r, reader_content_fn *fn, void *ctx, struct err *err)
{
    return contents_each_feed(r->db, fn, ctx, err);
}

enum rc reader_seq_at(struct reader *r, int64_t at_us, int64_t *seq_out, struct err *err)
{
    int64_t last;
    enum rc rc = db_snapshot(r->db, err);

    if (rc != RC_OK)
        return rc;
    rc = db_meta_number(r->db, "last_seq", &last, err);
    if (rc == RC_OK && last >= reader_end(r))
        last = reader_end(r) - 1;
    if (rc == RC_OK)
        rc = revisions_at(r->db, at_us, last, seq_out, err);
    db_snapshot_end(r->db);
    return rc;
}
