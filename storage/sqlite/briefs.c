/* storage/sqlite/briefs.c - a look-up by key costs little here, so each feed is read by itself. */
#include "storage/sqlite/briefs.h"

#include "storage/brief.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/feed_events.h"
#include "storage/sqlite/revisions.h"
#include "storage/sqlite/stmt.h"
#include "storage/sqlite/views.h"

/* `saved`: the present row of the feed; NULL: read it. */
static enum rc load_one(struct db *db, int64_t id, const struct feed_row *saved, struct arena *a,
                        struct directory_feed *out, struct err *err)
{
    struct feed_row row;
    struct str *aliases;
    size_t n_aliases;
    int64_t last_seq, event_seq;
    int64_t contents_at = TIME_UNKNOWN;
    enum rc rc = RC_OK;

    if (saved != NULL)
        row = *saved;
    else
        rc = feeds_load(db, id, false, a, &row, err);
    if (rc == RC_OK && brief_asks_contents(&row.feed))
        rc = contents_due(db, id, &contents_at, err);
    if (rc == RC_OK)
        rc = aliases_load(db, id, a, &aliases, &n_aliases, err);
    if (rc == RC_OK)
        rc = revisions_last(db, id, &last_seq, err);
    if (rc == RC_OK)
        rc = feed_events_last(db, id, &event_seq, err);
    if (rc != RC_OK)
        return rc;
    *out = brief_of(&row, contents_at, aliases, n_aliases, last_seq, event_seq);
    return RC_OK;
}

enum rc briefs_load(struct db *db, const int64_t *ids, const struct feed_row *const *rows, size_t n,
                    struct arena *a, struct directory_feed *out, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        enum rc rc = load_one(db, ids[i], rows == NULL ? NULL : rows[i], a, &out[i], err);

        if (rc == RC_NOT_FOUND)
            out[i] = (struct directory_feed){.brief.id = 0};
        else if (rc != RC_OK)
            return rc;
    }
    return RC_OK;
}

static void add_to_run(void *ctx, const struct merge_key *key)
{
    struct key_run *run = ctx;

    if (run->n < DIRECTORY_KEYS)
        run->keys[run->n++] = *key;
    else
        run->complete = false;
}

enum rc briefs_keys(struct db *db, const int64_t *ids, size_t n, struct key_run *out,
                    struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        out[i].n = 0;
        out[i].complete = true;
        rc = keys_of_feed(db, ids[i], DIRECTORY_KEYS + 1, add_to_run, &out[i], err);
    }
    return rc;
}

enum rc briefs_ids(struct db *db, int64_t after, size_t max, int64_t *out, size_t *n_out,
                   struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, "SELECT id FROM feeds WHERE id > ?1 ORDER BY id LIMIT ?2", "ii", after,
                   (int64_t)max);
    int got = st == NULL ? -1 : 0;

    *n_out = 0;
    while (st != NULL && (got = stmt_next(db, st, err)) > 0)
        out[(*n_out)++] = col_int(st, 0);
    return got < 0 ? RC_IO : RC_OK;
}
