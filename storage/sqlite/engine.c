/* storage/sqlite/engine.c - what SQLite does for readers (storage/engine.h): the calls of this
 * folder. Those that run several statements do so within a snapshot. What it does for the
 * storer is in storage/sqlite/writer.c. */
#include "storage/engine.h"

#include <sys/stat.h>

#include "storage/sqlite/briefs.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/db_priv.h"
#include "storage/sqlite/deliveries.h"
#include "storage/sqlite/entries.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/file.h"
#include "storage/sqlite/feeds.h"
#include "storage/sqlite/hub.h"
#include "storage/sqlite/hosts.h"
#include "storage/sqlite/mirrors.h"
#include "storage/sqlite/pushes.h"
#include "storage/sqlite/retain.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/subscriptions.h"
#include "storage/sqlite/terms.h"
#include "storage/sqlite/named_views.h"
#include "storage/sqlite/tokens.h"
#include "storage/sqlite/upstreams.h"
#include "storage/sqlite/views.h"
#include "storage/sqlite/writer.h"

/* Run a call within a snapshot of its own, and return what it returns. */
#define IN_SNAPSHOT(call)                                                                          \
    do {                                                                                           \
        enum rc rc_ = db_snapshot(db, err);                                                        \
                                                                                                   \
        if (rc_ != RC_OK)                                                                          \
            return rc_;                                                                            \
        rc_ = (call);                                                                              \
        db_snapshot_end(db);                                                                       \
        return rc_;                                                                                \
    } while (0)

/* ---- the log --------------------------------------------------------------------------------- */

static enum rc read_last_seq(struct db *db, int64_t *out, struct err *err)
{
    return db_meta_number(db, "last_seq", out, err);
}

static enum rc read_size(struct db *db, int64_t *bytes, int64_t *n_free, struct err *err)
{
    const char *path = sqlite3_db_filename(OWN(db)->sq, NULL);
    struct stat file, log;
    int64_t page = 0, n_pages = 0;
    enum rc rc;

    if (path == NULL || stat(path, &file) != 0 || stat(sqlite3_filename_wal(path), &log) != 0)
        return err_set(err, RC_IO, "the files of the database cannot be measured");
    rc = db_number(db, "PRAGMA page_size", &page, err);
    if (rc == RC_OK)
        rc = db_number(db, "PRAGMA freelist_count", &n_pages, err);
    *bytes = file.st_size + log.st_size;
    *n_free = page * n_pages;
    return rc;
}

static enum rc read_revisions(struct db *db, const int64_t *seqs, size_t n, bool with_overlays,
                              struct arena *a, struct revision **out, size_t *n_out,
                              struct err *err)
{
    IN_SNAPSHOT(revisions_by_seq(db, seqs, n, with_overlays, a, out, n_out, err));
}

static enum rc read_times(struct db *db, const int64_t *seqs, size_t n, int64_t *at_us,
                          struct err *err)
{
    IN_SNAPSHOT(revisions_times(db, seqs, n, at_us, err));
}

static enum rc find_time(struct db *db, int64_t at_us, int64_t last, int64_t *seq, struct err *err)
{
    IN_SNAPSHOT(revisions_at(db, at_us, last, seq, err));
}

static enum rc read_view(struct db *db, const struct view *v, size_t max, struct arena *scratch,
                         int64_t *seqs, size_t *n_out, struct err *err)
{
    IN_SNAPSHOT(view_keys(db, v, max, scratch, seqs, n_out, err));
}

static enum rc find_among(struct db *db, const struct term_query *q, const int64_t *seqs, size_t n,
                          struct arena *scratch, bool *out, struct err *err)
{
    IN_SNAPSHOT(terms_among(db, q, seqs, n, scratch, out, err));
}

static enum rc find_keys(struct db *db, const int64_t *seqs, size_t n, struct revision_key *out,
                         struct err *err)
{
    IN_SNAPSHOT(revision_keys(db, seqs, n, out, err));
}

/* ---- entries --------------------------------------------------------------------------------- */

static enum rc find_uids(struct db *db, const int64_t *feed_ids, size_t n_feeds,
                         const struct str *uids, size_t n_uids, struct arena *a,
                         struct uid_match **out, size_t *n_out, struct err *err)
{
    IN_SNAPSHOT(entries_of_uids(db, feed_ids, n_feeds, uids, n_uids, a, out, n_out, err));
}

static enum rc find_known(struct db *db, int64_t feed_id, const struct str *uids, size_t n_uids,
                          const int64_t *keys, size_t n_keys, size_t max, struct arena *a,
                          struct entry_row **out, size_t *n_out, struct err *err)
{
    IN_SNAPSHOT(entries_known(db, feed_id, uids, n_uids, keys, n_keys, max, a, out, n_out, err));
}

static enum rc count_since(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                           int64_t *n, int64_t *n_deleted, struct err *err)
{
    IN_SNAPSHOT(entries_since(db, feed_ids, n_feeds, seq, n, n_deleted, err));
}

static enum rc find_deletions(struct db *db, const int64_t *feed_ids, size_t n_feeds, int64_t seq,
                              bool *out, struct err *err)
{
    IN_SNAPSHOT(deletions_since(db, feed_ids, n_feeds, seq, out, err));
}

static enum rc find_content(struct db *db, int64_t feed_id, int64_t now, struct arena *a,
                            struct pending_content *out, struct err *err)
{
    struct content_row row = {.entry_id = 0};
    struct entry_row entry = {.id = 0};
    struct revision rev = {.seq = 0};
    enum rc rc = contents_next(db, feed_id, now, &row, err);

    if (rc == RC_OK && row.entry_id != 0)
        rc = entries_load(db, row.entry_id, a, &entry, err);
    if (rc == RC_OK && entry.id != 0)
        rc = revisions_load(db, entry.seq, true, a, &rev, err);
    *out = (struct pending_content){.entry_id = 0};
    if (rc == RC_OK && entry.id != 0)
        *out = (struct pending_content){entry.id, entry.seq, row.form, rev.doc, rev.ext};
    return rc;
}

static enum rc read_content(struct db *db, int64_t feed_id, int64_t now, struct arena *a,
                            struct pending_content *out, struct err *err)
{
    IN_SNAPSHOT(find_content(db, feed_id, now, a, out, err));
}

/* ---- feeds ----------------------------------------------------------------------------------- */

static enum rc read_feeds(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                          struct feed **out, size_t *n_out, struct err *err)
{
    IN_SNAPSHOT(feeds_by_id(db, ids, n, a, out, n_out, err));
}

static enum rc read_shown(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                          struct feed **out, size_t *n_out, struct err *err)
{
    IN_SNAPSHOT(feeds_shown(db, ids, n, a, out, n_out, err));
}

static enum rc read_heads(struct db *db, struct feed *feeds, const int64_t *seqs, size_t n,
                          struct arena *a, struct err *err)
{
    IN_SNAPSHOT(head_log_at(db, feeds, seqs, n, a, err));
}

/* ---- subscriptions --------------------------------------------------------------------------- */

static enum rc read_subs(struct db *db, const int64_t *ids, size_t n, struct arena *a,
                         struct subscription **out, size_t *n_out, struct err *err)
{
    IN_SNAPSHOT(subs_by_id(db, ids, n, a, out, n_out, err));
}

static enum rc find_subs_after(struct db *db, int64_t after_id, size_t max, struct arena *a,
                               struct subscription **out, size_t *n_out, struct err *err)
{
    int64_t *ids;
    size_t n;
    enum rc rc = subs_ids_after(db, after_id, max, a, &ids, &n, err);

    return rc == RC_OK ? subs_by_id(db, ids, n, a, out, n_out, err) : rc;
}

static enum rc read_subs_after(struct db *db, int64_t after_id, size_t max, struct arena *a,
                               struct subscription **out, size_t *n_out, struct err *err)
{
    IN_SNAPSHOT(find_subs_after(db, after_id, max, a, out, n_out, err));
}

static enum rc read_followers(struct db *db, int64_t feed_id, struct arena *a,
                              struct list_followers *out, struct err *err)
{
    IN_SNAPSHOT(subs_of_list(db, feed_id, a, out, err));
}

static enum rc read_pushed(struct db *db, struct push_sub *subs, size_t n, struct err *err)
{
    IN_SNAPSHOT(subs_pushed(db, subs, n, err));
}

static enum rc read_leads(struct db *db, const int64_t *feed_ids, size_t n,
                          const struct subscription *sub, struct arena *a, struct push_lead *out,
                          struct err *err)
{
    IN_SNAPSHOT(push_leads(db, feed_ids, n, sub, a, out, err));
}

static enum rc read_run(struct db *db, const int64_t *feed_ids, size_t n,
                        const struct subscription *sub, size_t max, struct arena *a, int64_t *seqs,
                        size_t *n_seqs, struct feed_event **events, size_t *n_events,
                        struct err *err)
{
    IN_SNAPSHOT(push_run(db, feed_ids, n, sub, max, a, seqs, n_seqs, events, n_events, err));
}

static enum rc count_pushes(struct db *db, const int64_t *feed_ids, size_t n,
                            const struct subscription *sub, int64_t max, int64_t *out,
                            struct err *err)
{
    IN_SNAPSHOT(push_count_all(db, feed_ids, n, sub, max, out, err));
}

/* ---- the table ------------------------------------------------------------------------------- */

const struct reads sqlite_reads = {
    .close = db_close,
    .snapshot = db_snapshot,
    .snapshot_end = db_snapshot_end,
    .shrink = db_shrink,
    .last_seq = read_last_seq,
    .size = read_size,
    .revisions_by_seq = read_revisions,
    .revisions_times = read_times,
    .revisions_at = find_time,
    .newest_keys = newest_keys_of,
    .view_keys = read_view,
    .index_place = terms_place,
    .index_is_waste = terms_are_waste,
    .terms_find = terms_find,
    .terms_among = find_among,
    .revision_keys = find_keys,
    .mirrors_of = mirrors_of,
    .mirrors_first = mirrors_first,
    .mirrors_file = mirrors_file,
    .mirrors_place = mirrors_place,
    .mirrors_entries = mirrors_entries,
    .mirrors_wish = mirrors_wish,
    .mirrors_looks = mirrors_looks,
    .entries_of_uids = find_uids,
    .entries_known = find_known,
    .entries_since = count_since,
    .deletions_since = find_deletions,
    .entries_between = entries_between,
    .entries_oldest = entries_oldest,
    .content_pending = read_content,
    .content_feeds = contents_each_feed,
    .feeds_by_id = read_feeds,
    .feeds_shown = read_shown,
    .head_log_at = read_heads,
    .horizon = feeds_horizon,
    .gone_feeds = gone_feeds,
    .keep_wishes = keep_wishes,
    .feeds_count = feeds_count,
    .feeds_listed = feeds_listed,
    .feeds_name = feeds_name,
    .feeds_each_due = feeds_each_due,
    .briefs_load = briefs_load, /* the storer calls it within its transaction */
    .briefs_after = briefs_after,
    .briefs_keys = briefs_keys,
    .subs_by_id = read_subs,
    .subs_after = read_subs_after,
    .subs_listed = subs_listed,
    .subs_of_list = read_followers,
    .subs_pushed = read_pushed,
    .subs_asking = subs_asking,
    .subs_find = subs_find,
    .subs_settings = subs_settings,
    .push_leads = read_leads,
    .push_batch = push_batch,
    .push_run = read_run,
    .push_count = count_pushes,
    .feed_event = feed_events_load,
    .deliveries_of = deliveries_of,
    .dead_of = dead_of,
    .dead_wanted = dead_wanted,
    .dead_counts = dead_counts,
    .hub_intents_after = hub_intents_after,
    .hub_lease = hub_lease_load,
    .host_rests = hosts_resting,
    .upstreams = upstreams_all,
    .upstreams_of = upstreams_of,
    .tokens = tokens_all,
    .views = named_views_all,
};

const struct engine engine_sqlite = {.name = "SQLite",
                                     .judge = db_file_judge,
                                     .open_reader = db_open_reader,
                                     .open_writer = writer_open,
                                     .upkeep = &sqlite_upkeep};
