/* fetcher/reading.c - see reading.h. */
#include "fetcher/reading.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/read/parse.h"
#include "model/shown.h"
#include "net/http_fields.h"

#define ABSENT_PAGE 500 /* entries of the feed that are read at once */

void reading_begin(struct reading *r, const struct parse_worker *w, struct job *job)
{
    *r = (struct reading){.w = w,
                          .job = job,
                          .a = ARENA_INIT,
                          .docs = ARENA_INIT,
                          .now = clock_now_s(),
                          .err = ERR_INIT};
    digest_content(job->body, r->hash);
}

void reading_end(struct reading *r)
{
    arena_release(&r->docs);
    arena_release(&r->a);
}

bool reading_parse(struct reading *r, struct str base)
{
    const struct job *job = r->job;
    struct parse_input in = {.body = job->body,
                             .url = base,
                             .content_type = job->content_type,
                             .content_location = job->content_location,
                             .content_language = job->content_language,
                             .raw_html = job->feed->raw_html};

    r->doc = feed_parse(&r->a, &in);
    if (r->doc->version.len == 0)
        return false;
    /* half an entry may have half its guid; the whole one comes with the rest of the document */
    if (r->doc->open && r->doc->n_entries > 1)
        r->doc->n_entries--;
    stats_inc(STAT_parse_total);
    if (r->doc->bozo)
        stats_inc(STAT_parse_bozo_total);
    return true;
}

bool reading_is_web_page(struct reading *r)
{
    struct str type = http_media_type(&r->a, r->job->content_type);

    return feed_looks_like_html(r->job->body) || str_eqz(type, "text/html") ||
           str_eqz(type, "application/xhtml+xml");
}

/* Is it known, without a question to the store, that the feed has never had an entry? */
static bool has_no_entries(const struct reading *r)
{
    const struct loaded_feed *was = &r->job->loaded;
    struct feed_brief now;

    return was->row != NULL && !was->fetched && was->row->n_items == 0 && was->row->n_taken == 0 &&
           store_brief(r->w->store, r->job->feed_id, &now) && now.edition == was->edition;
}

/* Ask the store for the known entries that the document may show. */
static enum rc read_known(struct reading *r)
{
    struct diff_question q;
    struct known_entry *known;
    size_t n;
    enum rc rc = RC_OK;

    if (has_no_entries(r))
        return RC_OK;
    while (rc == RC_OK && diff_ask(&r->a, &r->diff, &q)) {
        rc = reader_known(r->w->reader, r->job->feed_id, q.uids, q.n_uids, q.keys, q.n_keys, &r->a,
                          &known, &n, &r->err);
        if (rc == RC_OK)
            diff_learn(&r->a, &r->diff, known, n);
    }
    return rc;
}

enum rc reading_compare(struct reading *r, const struct identity_policy *policy, bool describes,
                        const int64_t *dates)
{
    struct entry_change *changes;
    enum rc rc;

    job_drop_body(r->job);
    diff_begin(&r->a, &r->diff, r->doc, policy, r->now);
    r->diff.metadata = describes;
    r->diff.dates = dates;
    rc = read_known(r);
    if (rc != RC_OK)
        return rc;
    r->n_changes = diff_document(&r->a, &r->docs, &r->diff, r->now, &changes);
    r->changes = changes;
    return RC_OK;
}

/* ---- what a complete document leaves out ----------------------------------------------------- */

static int64_t later(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

struct change_list {
    struct entry_change *list;
    size_t n, cap;
};

/* Add the deletion of an entry that is not shown. Its time is not before the entry's own date,
 * because otherwise the entry would count as the newer one. */
static void add_deletion(struct reading *r, struct change_list *to, const struct revision *row)
{
    int64_t when_at = later(r->now, later(row->updated_at, row->published_at));

    to->list = mem_grow(to->list, &to->cap, to->n + 1, sizeof *to->list);
    to->list[to->n++] = diff_deletion(str_dup(&r->a, row->uid), when_at, STR(""));
}

/* Go through all entries of the feed, and add the deletion of each that is not shown. */
static enum rc add_unshown(struct reading *r, const struct map *shown, struct change_list *to)
{
    AUTO(arena_release) struct arena page = ARENA_INIT;
    struct view view = {.feed_ids = &r->job->feed_id,
                        .n_feeds = 1,
                        .order = VIEW_MODIFIED,
                        .before_seq = INT64_MAX,
                        .len = ABSENT_PAGE};
    struct revision *rows;
    size_t n;
    enum rc rc;

    do {
        rc = reader_rows(r->w->reader, &view, &page, &rows, &n, &r->err);
        for (size_t i = 0; rc == RC_OK && i < n; i++) {
            view.after_seq = rows[i].seq;
            if (map_get(shown, rows[i].uid) == NULL)
                add_deletion(r, to, &rows[i]);
        }
        arena_release(&page);
    } while (rc == RC_OK && n == ABSENT_PAGE);
    return rc;
}

enum rc reading_add_absent(struct reading *r)
{
    AUTO(map_forget) struct map shown = MAP_INIT;
    struct change_list all = {.list = NULL};
    enum rc rc;

    for (size_t i = 0; i < r->doc->n_entries; i++)
        if (!str_is_null(r->diff.uids[i]))
            map_put(&shown, r->diff.uids[i], r);
    all.list = mem_grow(all.list, &all.cap, r->n_changes + 1, sizeof *all.list);
    for (size_t i = 0; i < r->n_changes; i++) { /* a tombstone has deleted it already */
        all.list[all.n++] = r->changes[i];
        map_put(&shown, r->changes[i].uid, r);
    }
    rc = add_unshown(r, &shown, &all);
    if (rc == RC_OK) {
        void *copy = arena_copy(&r->a, all.list, all.n * sizeof *all.list);

        r->changes = copy;
        r->n_changes = all.n;
    }
    mem_free(all.list);
    return rc;
}

/* ---- for outcomes ---------------------------------------------------------------------------- */

bool reading_has_news(const struct reading *r)
{
    for (size_t i = 0; i < r->n_changes; i++)
        if (!r->changes[i].volatile_only)
            return true;
    return false;
}

static size_t count_shown(const struct reading *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->doc->n_entries; i++)
        n += !str_is_null(r->diff.uids[i]);
    return n;
}

static size_t count_new(const struct reading *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_changes; i++)
        n += r->changes[i].kind == REV_NEW && !r->changes[i].volatile_only;
    return n;
}

bool reading_is_gap(const struct reading *r, const struct feed *feed)
{
    size_t n_shown = count_shown(r);

    if (r->job->resp.partial ||
        feed->n_items == 0) /* a delta shows what is new, and nothing else */
        return false;
    return n_shown > 0 && count_new(r) == n_shown;
}

bool reading_shows_known(struct reading *r, int64_t seq)
{
    AUTO(map_forget) struct map shown = MAP_INIT;
    bool found = false;

    for (size_t i = 0; i < r->doc->n_entries; i++)
        if (!str_is_null(r->diff.uids[i]))
            map_put(&shown, r->diff.uids[i], r);
    for (size_t i = 0; i < r->diff.n_known && !found; i++)
        found = r->diff.known[i].first_seq <= seq && r->diff.known[i].first_seq > 0 &&
                map_get(&shown, r->diff.known[i].identity.uid) != NULL;
    return found;
}

struct sight reading_sight(struct reading *r)
{
    int64_t *dates = ARENA_ARRAY(&r->a, int64_t, r->doc->n_entries + 1);
    struct sight s = {.n_new = (int64_t)count_new(r), .dates = dates};

    if (!r->job->resp.partial)
        s.n_shown = (int64_t)count_shown(r);
    for (size_t i = 0; i < r->doc->n_entries; i++) {
        const struct doc_entry *e = &r->doc->entries[i];

        dates[s.n_dates] = e->published_at != TIME_UNKNOWN ? e->published_at : e->updated_at;
        if (!str_is_null(r->diff.uids[i]) && dates[s.n_dates] != TIME_UNKNOWN)
            s.n_dates++;
    }
    return s;
}

struct str reading_shown(struct reading *r)
{
    AUTO(buf_release) struct buf shown = BUF_INIT(BUF_ANY);

    /* what a document lacks that broke off is not gone */
    if (r->job->resp.partial || r->doc->broken || r->doc->n_cut > 0)
        return STR_NULL;
    for (size_t i = 0; i < r->doc->n_entries; i++)
        if (!str_is_null(r->diff.uids[i]))
            shown_add(&shown, r->diff.uids[i]);
    return str_dup(&r->a, buf_view(&shown));
}

struct entry_batch reading_batch(struct reading *r)
{
    return (struct entry_batch){.changes = r->changes, .n = r->n_changes, .docs = &r->docs};
}

struct new_identity reading_identity(const struct reading *r)
{
    return (struct new_identity){r->diff.policy_changed, r->diff.policy};
}

static bool read_row(struct reading *r, struct arena *a)
{
    if (job_read_feed(r->job, r->w->store, r->w->reader, a, &r->err) == RC_OK)
        return true;
    if (r->err.rc == RC_NOT_FOUND)
        err_set(&r->err, RC_NOT_FOUND, "the feed was removed while it was being fetched");
    return false;
}

const struct feed *reading_fresh(struct reading *r)
{
    struct job *job = r->job;
    struct feed_brief now;
    struct arena *a;

    if (store_brief(r->w->store, job->feed_id, &now) && now.edition == job->loaded.edition)
        return job->loaded.row;
    a = arena_new();
    if (!read_row(r, a)) {
        arena_free(&a);
        return NULL;
    }
    /* when the past is read, the row is read again after each document */
    arena_free(&job->feed_arena);
    job->feed_arena = a;
    return job->loaded.row;
}

bool reading_renew(struct reading *r)
{
    struct job *job = r->job;
    struct arena *a = arena_new();
    int64_t n_pings = job->feed->n_pings;
    struct str secrets = str_dup(a, job->feed->secrets); /* those with which the request was made */

    if (!read_row(r, a)) {
        arena_free(&a);
        return false;
    }
    job->feed = ARENA_NEW(a, struct feed);
    *job->feed = *job->loaded.row;
    job->feed->n_pings = n_pings;
    job->feed->secrets = secrets;
    arena_free(&job->feed_arena);
    arena_free(&job->own_arena);
    job->own_arena = a;
    return true;
}

enum job_step reading_failed(struct reading *r)
{
    struct job *job = r->job;

    if (r->err.rc != RC_NOT_FOUND)
        return job_give_back(job, r->err.rc, &r->err);
    job->rc = RC_NOT_FOUND;
    job->text = str_dup(job->arena, str_from(r->err.text));
    return STEP_END;
}
