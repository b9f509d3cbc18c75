/* storage/sqlite/briefs.c - a look-up by key costs little here, so each feed is read by itself; all
 * of them in one pass. */
#include "storage/sqlite/briefs.h"

#include <inttypes.h>

#include "storage/brief.h"
#include "storage/sqlite/contents.h"
#include "storage/sqlite/fields.h"
#include "storage/sqlite/stmt.h"
#include "storage/sqlite/views.h"
#include "storage/tables.h"

/* A feed and what belongs to it, in one statement: at the start this is done for all. */
#define BRIEF                                                                                      \
    "SELECT " FEED_BRIEF(FIELD_SELECT_F) "(SELECT seq FROM feed_events INDEXED BY "                \
                                         "feed_events_feed WHERE feed_id = f.id"                   \
                                         " ORDER BY seq DESC LIMIT 1),"                            \
                                         " EXISTS (SELECT 1 FROM aliases INDEXED BY aliases_feed"  \
                                         " WHERE feed_id = f.id) FROM feeds f WHERE "

/* What belongs to the feed beside its row. */
struct beside {
    int64_t event_seq;
    bool has_aliases;
};

static void read_row(sqlite3_stmt *st, struct arena *a, struct feed_row *row, struct beside *out)
{
    int i = 0;

    *row = (struct feed_row){.fetched = false};
    FEED_BRIEF(FIELD_READ)
    out->event_seq = col_int(st, i++);
    out->has_aliases = col_int(st, i++) != 0;
}

/* Read one feed, if there is such a feed. */
static enum rc read_one(struct db *db, int64_t id, struct arena *a, struct feed_row *row,
                        struct beside *out, struct err *err)
{
    sqlite3_stmt *st = stmt_start(db, err, BRIEF "f.id = ?1", "i", id);
    int got = st == NULL ? -1 : stmt_next(db, st, err);

    if (got <= 0)
        return got < 0 ? RC_IO : err_set(err, RC_NOT_FOUND, "there is no feed %" PRId64, id);
    read_row(st, a, row, out);
    stmt_end(st);
    return RC_OK;
}

/* Make the brief of a feed that was read. */
static enum rc complete(struct db *db, const struct feed_row *row, const struct beside *beside,
                        struct arena *a, struct directory_feed *out, struct err *err)
{
    struct str *aliases = NULL;
    size_t n_aliases = 0;
    int64_t contents_at = TIME_UNKNOWN;
    enum rc rc = RC_OK;

    if (brief_asks_contents(&row->feed))
        rc = contents_due(db, row->feed.id, &contents_at, err);
    if (rc == RC_OK && beside->has_aliases)
        rc = aliases_load(db, row->feed.id, a, &aliases, &n_aliases, err);
    if (rc == RC_OK)
        *out = brief_of(row, contents_at, aliases, n_aliases, beside->event_seq);
    return rc;
}

/* `saved`: the present row of the feed; NULL: read it. */
static enum rc load_one(struct db *db, int64_t id, const struct feed_row *saved, struct arena *a,
                        struct directory_feed *out, struct err *err)
{
    struct feed_row row;
    struct beside beside;
    enum rc rc = read_one(db, id, a, &row, &beside, err);

    return rc != RC_OK ? rc : complete(db, saved == NULL ? &row : saved, &beside, a, out, err);
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

enum rc briefs_after(struct db *db, int64_t after, size_t max, struct arena *a,
                     struct directory_feed *out, size_t *n_out, struct err *err)
{
    sqlite3_stmt *st =
        stmt_start(db, err, BRIEF "f.id > ?1 ORDER BY f.id LIMIT ?2", "ii", after, (int64_t)max);
    int got = st == NULL ? -1 : 0;
    enum rc rc = RC_OK;
    size_t n = 0;

    while (st != NULL && rc == RC_OK && (got = stmt_next(db, st, err)) > 0) {
        struct feed_row row;
        struct beside beside;

        read_row(st, a, &row, &beside);
        rc = complete(db, &row, &beside, a, &out[n++], err);
    }
    if (rc != RC_OK)
        stmt_end(st);
    *n_out = n;
    return got < 0 ? RC_IO : rc;
}

struct filling {
    struct key_run *run;
    size_t max;
};

static void add_to_run(void *ctx, const struct merge_key *key)
{
    struct filling *f = ctx;

    if (f->run->n < f->max)
        f->run->keys[f->run->n++] = *key;
    else
        f->run->complete = false;
}

enum rc briefs_keys(struct db *db, const int64_t *ids, size_t n, size_t max, struct key_run *out,
                    struct err *err)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n && rc == RC_OK; i++) {
        struct filling f = {&out[i], max};

        out[i].n = 0;
        out[i].complete = true;
        rc = keys_of_feed(db, ids[i], max + 1, add_to_run, &f, err);
    }
    return rc;
}
