/* storage/sqlite/briefs.c - a look-up by key costs little here, so each feed is read by itself. */
#include "storage/sqlite/briefs.h"

#include <inttypes.h>

#include "storage/brief.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/fields.h"
#include "storage/sqlite/stmt.h"
#include "storage/sqlite/views.h"
#include "storage/tables.h"

/* What belongs to the feed beside its row. */
struct beside {
    int64_t last_seq, event_seq;
    bool has_aliases;
};

/* Read one feed, if there is such a feed, in one statement: at the start this is done for all. */
static enum rc read_one(struct db *db, int64_t id, struct arena *a, struct feed_row *row,
                        struct beside *out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err,
                   "SELECT " FEED_BRIEF(FIELD_SELECT_F) "(SELECT seq FROM revisions INDEXED BY "
                                                        "revisions_feed WHERE feed_id = f.id"
                                                        " ORDER BY seq DESC LIMIT 1),"
                                                        " (SELECT seq FROM feed_events INDEXED BY "
                                                        "feed_events_feed WHERE feed_id = f.id"
                                                        " ORDER BY seq DESC LIMIT 1),"
                                                        " EXISTS (SELECT 1 FROM aliases INDEXED BY "
                                                        "aliases_feed WHERE feed_id = f.id)"
                                                        " FROM feeds f WHERE f.id = ?1",
                   "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err), i = 0;

    if (got <= 0)
        return got < 0 ? RC_IO : err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, id);
    *row = (struct feed_row){.fetched = false};
    FEED_BRIEF(FIELD_READ)
    out->last_seq = col_int(st, i++);
    out->event_seq = col_int(st, i++);
    out->has_aliases = col_int(st, i++) != 0;
    stmt_end(st);
    return RC_OK;
}

/* `saved`: the present row of the feed; NULL: read it. */
static enum rc load_one(struct db *db, int64_t id, const struct feed_row *saved, struct arena *a,
                        struct directory_feed *out, struct err *err)
{
    struct feed_row row;
    struct beside beside = {.last_seq = 0};
    struct str *aliases = NULL;
    size_t n_aliases = 0;
    int64_t contents_at = TIME_UNKNOWN;
    enum rc rc = read_one(db, id, a, &row, &beside, err);

    if (rc == RC_OK && saved != NULL)
        row = *saved;
    if (rc == RC_OK && brief_asks_contents(&row.feed))
        rc = contents_due(db, id, &contents_at, err);
    if (rc == RC_OK && beside.has_aliases)
        rc = aliases_load(db, id, a, &aliases, &n_aliases, err);
    if (rc != RC_OK)
        return rc;
    *out = brief_of(&row, contents_at, aliases, n_aliases, beside.last_seq, beside.event_seq);
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
