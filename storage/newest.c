/* storage/newest.c - see newest.h.
 *
 * What is read belongs to the reader's snapshot, and the directory may be at another place of the
 * log. So each feed is read with its keys, and the directory takes them only when it has the feed
 * in the same state. Otherwise the index is asked this time. */
#include "storage/newest.h"

#include "base/mem.h"

#define READ_AT_ONCE 64 /* feeds */

/* *all_taken false: the directory has refused some. */
static enum rc read_some(struct reader *r, const int64_t *ids, size_t n, struct key_run *runs,
                         bool *all_taken, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory_feed feeds[READ_AT_ONCE];
    enum rc rc = r->db->reads->briefs_load(r->db, ids, NULL, n, &a, feeds, err);

    if (rc == RC_OK)
        rc = r->db->reads->briefs_keys(r->db, ids, n, DIRECTORY_KEYS, runs, err);
    if (rc != RC_OK)
        return rc;
    if (directory_fill_keys(r->store->dir, feeds, runs, n) < n)
        *all_taken = false;
    return RC_OK;
}

static enum rc read_keys(struct reader *r, const struct unread_keys *unread, bool *all_taken,
                         struct err *err)
{
    struct key_run *runs = mem_alloc(READ_AT_ONCE * sizeof *runs);
    enum rc rc = RC_OK;

    for (size_t at = 0; at < unread->n && rc == RC_OK; at += READ_AT_ONCE)
        rc = read_some(r, unread->feed_ids + at,
                       unread->n - at < READ_AT_ONCE ? unread->n - at : READ_AT_ONCE, runs,
                       all_taken, err);
    mem_free(runs);
    return rc;
}

/* Does the range begin at a date, and leave out what is newer? Then the keys of nearly all feeds
 * are asked for, and mostly in vain: they would be the newest ones, and stay in memory. */
static bool begins_late(const struct merge_range *range)
{
    return range->has_end && range->before_at < INT64_MAX;
}

enum rc newest_in_memory(struct reader *r, const int64_t *ids, size_t n,
                         const struct merge_range *range, size_t most, struct arena *scratch,
                         int64_t *out, size_t *n_out, bool *found, struct err *err)
{
    struct unread_keys unread;
    bool goes_on = true;
    enum rc rc = RC_OK;

    while (rc == RC_OK && goes_on) {
        *found = directory_merge(r->store->dir, ids, n, range, scratch, out, n_out, &unread);
        if (*found || unread.n == 0 || (begins_late(range) && unread.n > READ_AT_ONCE))
            return RC_OK;
        if (unread.n > most) { /* they are there for the next answer, which then reads others */
            unread.n = most;
            goes_on = false;
        }
        most -= unread.n;
        rc = read_keys(r, &unread, &goes_on, err);
    }
    return rc;
}
