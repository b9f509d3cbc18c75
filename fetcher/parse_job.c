/* fetcher/parse_job.c - see parse_job.h. */
#include "fetcher/parse_job.h"

#include <time.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/discover.h"
#include "feed/history.h"
#include "feed/parse.h"
#include "feed/record.h"
#include "fetcher/content.h"
#include "fetcher/diff.h"
#include "fetcher/outcome.h"
#include "net/http_fields.h"
#include "net/url.h"

#define ROOM_WAIT_MS 5   /* between two tries at a full storer */
#define ABSENT_PAGE 500  /* entries of a feed looked at together */
#define LINKS_MAX 32     /* in the Link fields of an answer */
#define LINKED_GUESSES 3 /* of what a page links to and does not announce */
#define RETRY_MS 60000   /* a job that could not be stored is done again after it */

static void map_forget(struct map *m)
{
    map_release(m, NULL);
}

/* What the answer's Link fields lead to (RFC 8288). */
static size_t read_link_fields(struct arena *a, const struct job *job, struct discovered_feed *out)
{
    struct str rest = job->link_field, href, rel, type;
    size_t n = 0;

    while (n < LINKS_MAX && http_next_link(a, &rest, &href, &rel, &type)) {
        struct str media = str_is_null(type) ? type : http_media_type(a, type);
        enum discover_kind kind = discover_link(rel, media);

        if (kind != DISCOVER_NONE)
            out[n++] = (struct discovered_feed){
                .href = url_resolve(a, job->final_url, href), .type = media, .kind = kind};
    }
    return n;
}

/* The document is a page: what it announces is tried; when that is nothing, where it may lead to.
 */
static enum job_step discover(struct arena *a, struct job *job)
{
    struct discovered_feed linked[LINKS_MAX], *list;
    size_t n_linked = read_link_fields(a, job, linked), n, n_usual = 0;
    struct discovery page;
    struct str *hrefs, *usual;
    bool announced;

    discover_page(a, job->body, job->final_url, job->content_type, &page);
    hub_links_of_page(job, &page);
    announced = page.n_feeds > 0;
    for (size_t i = 0; i < n_linked; i++)
        announced |= linked[i].kind == DISCOVER_ANNOUNCED;
    n = announced ? page.n_feeds : page.n_guesses;
    list = ARENA_ARRAY(a, struct discovered_feed, n + n_linked + 1);
    if (n > 0)
        memcpy(list, announced ? page.feeds : page.guesses, n * sizeof *list);
    for (size_t i = 0; i < n_linked; i++)
        if ((linked[i].kind == DISCOVER_ANNOUNCED) == announced)
            list[n++] = linked[i];
    discover_order(job->final_url, list, n);
    if (!announced) {
        n = n < LINKED_GUESSES ? n : LINKED_GUESSES;
        if (job_may_guess(job))
            n_usual = discover_usual(a, job->final_url, &usual);
    }
    hrefs = ARENA_ARRAY(a, struct str, n + n_usual + 1);
    for (size_t i = 0; i < n; i++)
        hrefs[i] = list[i].href;
    for (size_t i = 0; i < n_usual; i++)
        hrefs[n + i] = usual[i];
    return job_discovered(job, hrefs, n + n_usual, !announced);
}

/* The document is no feed. */
static enum job_step handle_other(struct arena *a, struct job *job, const struct feed_doc *doc)
{
    struct str type = http_media_type(a, job->content_type);
    bool is_page = feed_looks_like_html(job->body) || str_eqz(type, "text/html") ||
                   str_eqz(type, "application/xhtml+xml");

    struct str *hrefs;
    size_t n;

    if (job->target == JOB_DELIVERY)
        return JOB_END;
    if (job_led_back(job) == JOB_SEND)
        return JOB_SEND;
    if (job->target == JOB_CANDIDATE) {
        n = discover_service(a, job->body, job->final_url, job->content_type, &hrefs);
        return n > 0 ? job_expanded(job, hrefs, n) : job_next_candidate(job);
    }
    if (is_page && (job->target == JOB_PAGE || !job_has_document(job)))
        return discover(a, job);
    if (job->target == JOB_PAGE) {
        job->resp = job->own;
        return JOB_WORK;
    }
    n = job_has_document(job)
            ? 0
            : discover_service(a, job->body, job->final_url, job->content_type, &hrefs);
    if (n > 0)
        return job_discovered(job, hrefs, n, false);
    if (is_page)
        job_fail(job, RC_UNSUPPORTED,
                 STR("the publisher answered with a page instead of the feed"));
    else
        job_fail(job, RC_UNSUPPORTED,
                 str_printf(a, "the document is no feed: %.*s",
                            STR_ARG(str_is_null(doc->bozo_why) ? STR("its format is not known")
                                                               : doc->bozo_why)));
    return JOB_WORK;
}

/* What the store knows of the document's entries. */
static enum rc read_known(const struct parse_worker *w, struct arena *a, int64_t feed_id,
                          struct diff *d, struct err *err)
{
    struct diff_question q;
    struct known_entry *known;
    size_t n;
    enum rc rc = RC_OK;

    while (rc == RC_OK && diff_ask(a, d, &q)) {
        rc = reader_known(w->reader, feed_id, q.uids, q.n_uids, q.keys, q.n_keys, a, &known, &n,
                          err);
        if (rc == RC_OK)
            diff_learn(a, d, known, n);
    }
    return rc;
}

static int64_t later(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* A complete document is all there is (RFC 5005 §2): entries of the feed that it does not show are
 * deleted. One that was cut, or is not well-formed, may have lost its end and proves nothing. */
static enum rc add_absent(const struct parse_worker *w, struct arena *a, const struct job *job,
                          const struct diff *d, int64_t now, struct findings *found,
                          struct err *err)
{
    AUTO(map_forget) struct map shown = MAP_INIT;
    AUTO(arena_release) struct arena page = ARENA_INIT;
    struct view view = {.feed_ids = &job->feed_id,
                        .n_feeds = 1,
                        .order = VIEW_MODIFIED,
                        .before_seq = INT64_MAX,
                        .len = ABSENT_PAGE};
    struct entry_change *changes = mem_alloc(found->n_changes * sizeof *changes + 1);
    size_t n = found->n_changes, cap = n, n_rows;
    struct revision *rows;
    int64_t when_at;
    enum rc rc;

    for (size_t i = 0; i < d->doc->n_entries; i++)
        if (!str_is_null(d->uids[i]))
            map_put(&shown, d->uids[i], a);
    for (size_t i = 0; i < n; i++) { /* a tombstone has deleted it already */
        changes[i] = found->changes[i];
        map_put(&shown, changes[i].uid, a);
    }
    do {
        rc = reader_rows(w->reader, &view, &page, &rows, &n_rows, err);
        for (size_t i = 0; rc == RC_OK && i < n_rows; i++) {
            view.after_seq = rows[i].seq;
            if (map_get(&shown, rows[i].uid) != NULL)
                continue;
            changes = mem_grow(changes, &cap, n + 1, sizeof *changes);
            /* not before the entry's own date, which would outlive it */
            when_at = later(now, later(rows[i].updated_at, rows[i].published_at));
            changes[n++] = diff_deletion(str_dup(a, rows[i].uid), when_at, STR(""));
        }
        arena_release(&page);
    } while (rc == RC_OK && n_rows == ABSENT_PAGE);
    if (rc == RC_OK) {
        void *copy = arena_copy(a, changes, n * sizeof *changes);

        found->changes = copy;
        found->n_changes = n;
    }
    mem_free(changes);
    return rc;
}

/* Is it known for records of Atom-PMH? */
static bool is_harvested(const struct feed_record *rec)
{
    return rec->harvest_to != TIME_UNKNOWN;
}

/* Where the answer's stream is asked for. */
static struct str stream_url(const struct job *job)
{
    return job->follow.by_cursor ? job->base : job->url;
}

/* A deletion in a stream counts by its place there. */
static void date_deletions(struct feed_doc *doc, int64_t now)
{
    for (size_t i = 0; i < doc->n_tombstones; i++)
        if (doc->tombstones[i].when_at == TIME_UNKNOWN)
            doc->tombstones[i].when_at = now;
}

/* Is what a hub delivered to be stored? Else the feed is to be asked. */
static bool take_push(const struct job *job, struct feed_doc *doc, struct findings *found)
{
    switch (follow_delivery(job->rec, doc, &found->piece)) {
    case FOLLOW_TAKE:
        return true;
    case FOLLOW_KNOWN:
        doc->n_entries = doc->n_tombstones = 0;
        return true;
    case FOLLOW_PULL:
        break;
    }
    return false;
}

/* Understand the document. JOB_WORK: *found is filled, or job->resp says why there is nothing. The
 * entries' documents are in `docs`. */
static enum job_step understand(const struct parse_worker *w, struct arena *a, struct arena *docs,
                                struct job *job, int64_t now, struct findings *found,
                                struct err *err)
{
    bool is_piece = job->follow.by_cursor || !str_is_null(job->rec->cursor);
    struct parse_input in = {.body = job->body,
                             /* one base for all pieces, for it stands in what is read */
                             .url = is_piece ? follow_base(a, job->final_url) : job->final_url,
                             .content_type = job->content_type,
                             .content_location = job->content_location,
                             .content_language = job->content_language,
                             .raw_html = job->rec->raw_html};
    struct feed_doc *doc;
    struct feed_history history;
    struct entry_change *changes;
    bool describes = false;

    digest_content(job->body, found->body_hash);
    if (!job->resp.partial && !job->follow.by_cursor && job->rec->has_body_hash &&
        memcmp(found->body_hash, job->rec->body_hash, sizeof found->body_hash) == 0) {
        found->same = true;
        hub_links_of_fields(job);
        stats_inc(STAT_fetch_same_total);
        return JOB_WORK;
    }
    doc = feed_parse(a, &in);
    if (doc->version.len == 0)
        return handle_other(a, job, doc);
    stats_inc(STAT_parse_total);
    if (doc->bozo)
        stats_inc(STAT_parse_bozo_total);
    if (!str_is_null(doc->cursor) && doc->broken && !follow_is_whole(job->body)) {
        job_fail(job, RC_PEER, STR("the document ends in its middle"));
        return job->target == JOB_DELIVERY ? JOB_END : JOB_WORK;
    }
    if (job->target == JOB_DELIVERY) {
        if (!take_push(job, doc, found))
            return JOB_END;
    } else {
        hub_links_of_feed(job, doc);
    }
    history_read(doc, is_harvested(job->rec), &history);
    if (!str_is_null(doc->cursor)) { /* a piece says nothing of the whole */
        history.complete = history.records = false;
        date_deletions(doc, now);
    } else {
        if (history.archive && !str_is_null(history.current) && job->target != JOB_DELIVERY &&
            job_led_to(job, history.current) == JOB_SEND)
            return JOB_SEND;
        describes = history.records && record_is_evident(a, doc);
        if (!str_is_null(history.older) || history.archive || history.records)
            history_settle(a, doc, history.records);
        outcome_past(a, job, doc, &history, &found->past);
    }
    job_drop_body(job);
    diff_begin(a, &found->diff, doc, &job->rec->identity, now);
    found->diff.records = describes;
    if (read_known(w, a, job->feed_id, &found->diff, err) != RC_OK)
        return JOB_END;
    found->n_changes = diff_document(a, docs, &found->diff, now, &changes);
    found->changes = changes;
    found->doc = doc;
    found->complete = history.complete;
    if (job->target != JOB_DELIVERY)
        follow_piece(&job->follow, job->rec, stream_url(job), doc, outcome_has_news(found),
                     &found->piece);
    if (history.complete && !doc->broken && doc->n_cut == 0 && !job->resp.partial &&
        job_has_document(job) && add_absent(w, a, job, &found->diff, now, found, err) != RC_OK)
        return JOB_END;
    return JOB_WORK;
}

/* A document of the feed's past. It says nothing of how the feed's entries are told apart, for they
 * were others then, and nothing that has changed without being an event. */
static enum rc understand_archive(const struct parse_worker *w, struct arena *a, struct arena *docs,
                                  const struct job *job, struct fetch_outcome *o, struct err *err)
{
    struct parse_input in = {.body = job->body,
                             .url = job->final_url,
                             .content_type = job->content_type,
                             .content_location = job->content_location,
                             .content_language = job->content_language,
                             .raw_html = job->rec->raw_html};
    struct feed_doc *doc = feed_parse(a, &in);
    struct feed_history history;
    struct feed_record *fresh;
    struct entry_change *changes;
    struct diff diff;
    bool describes;
    int64_t oldest;
    size_t n = 0;
    enum rc rc;

    if (doc->version.len == 0)
        return RC_OK;
    stats_inc(STAT_parse_total);
    rc = reader_feeds(w->reader, &job->feed_id, 1, a, &fresh, &n, err);
    if (rc != RC_OK || n == 0)
        return rc != RC_OK ? rc : RC_NOT_FOUND;
    history_read(doc, is_harvested(fresh), &history);
    describes = history.records && record_is_evident(a, doc);
    history_settle(a, doc, history.records);
    outcome_past(a, job, doc, &history, &o->past);
    diff_begin(a, &diff, doc, &fresh->identity, o->checked_at);
    diff.records = describes;
    rc = reader_oldest(w->reader, job->feed_id, &oldest, err);
    if (rc == RC_OK)
        rc = read_known(w, a, job->feed_id, &diff, err);
    if (rc != RC_OK)
        return rc;
    diff.places = history_places(a, doc, oldest, o->checked_at);
    n = diff_document(a, docs, &diff, o->checked_at, &changes);
    for (size_t i = 0; i < n; i++)
        if (!changes[i].volatile_only)
            changes[o->n_changes++] = changes[i];
    o->changes = changes;
    o->ok = true;
    return RC_OK;
}

static enum rc store(const struct parse_worker *w, struct job *job, const struct fetch_outcome *o);

/* The answer to job_ask_archive(). What the feed's own document came to stays what the job ends
 * with: here a failure only means that the past is read on later. */
static enum job_step run_archive(const struct parse_worker *w, struct job *job)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(arena_release) struct arena docs = ARENA_INIT;
    struct err err = ERR_INIT;
    struct fetch_outcome o = {.feed_id = job->feed_id,
                              .checked_at = clock_now_s(),
                              .archive = job->url,
                              .past = {.older = STR_NULL},
                              .docs = &docs};
    enum rc rc = RC_OK;

    if (job->resp.kind == RESPONSE_DOCUMENT)
        rc = understand_archive(w, &a, &docs, job, &o, &err);
    job_drop_body(job);
    if (rc == RC_OK)
        rc = store(w, job, &o);
    return rc == RC_OK ? JOB_WORK : JOB_END;
}

static enum job_step give_back(struct job *job, enum rc rc, const struct err *err)
{
    job->rc = rc;
    job->text = str_dup(job->arena, str_from(err->text[0] != '\0' ? err->text : rc_meaning(rc)));
    job->retry_ms = RETRY_MS;
    return JOB_END;
}

/* The record is about to become part of another one that has its new URL: that one's date stands
 * when it is earlier, for it was made by its own period. */
static void keep_date_of_target(const struct parse_worker *w, const struct feed_record *fresh,
                                struct fetch_outcome *o)
{
    struct feed_brief target;

    if (str_is_null(o->url) || !store_find_feed(w->store, o->url, fresh->credential, &target) ||
        target.id == o->feed_id || target.next_fetch_at == TIME_UNKNOWN)
        return;
    if (o->next_fetch_at == TIME_UNKNOWN || target.next_fetch_at < o->next_fetch_at) {
        o->next_fetch_at = target.next_fetch_at;
        o->next_reason = REASON_PERIOD;
    }
}

/* Hand the outcome to the storer; a full queue is waited for. */
static enum rc store(const struct parse_worker *w, struct job *job, const struct fetch_outcome *o)
{
    const struct timespec pause = {.tv_nsec = ROOM_WAIT_MS * 1000000L};
    enum rc rc;

    while ((rc = store_fetch_outcome(w->store, o, w->stored, job)) == RC_FULL &&
           !atomic_load(w->give_up))
        nanosleep(&pause, NULL);
    return rc;
}

/* The record as the piece before this one has left it. Pings that came since this one was asked for
 * are not served by it. */
static enum rc read_record(const struct parse_worker *w, struct job *job, struct err *err)
{
    struct arena *a = arena_new();
    struct feed_record *rec;
    int64_t n_pings = job->rec->n_pings;
    size_t n;
    enum rc rc = reader_feeds(w->reader, &job->feed_id, 1, a, &rec, &n, err);

    if (rc == RC_OK && n > 0) {
        arena_free(&job->rec_arena);
        job->rec_arena = a;
        job->rec = rec;
        job->rec->n_pings = n_pings;
        return RC_OK;
    }
    arena_free(&a);
    return rc;
}

enum job_step parse_job_run(const struct parse_worker *w, struct job *job)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(arena_release) struct arena docs = ARENA_INIT;
    struct findings found = {.same = false};
    struct err err = ERR_INIT;
    struct feed_record *fresh;
    struct fetch_outcome outcome;
    enum job_step step = JOB_WORK;
    size_t n_fresh = 0;
    int64_t now = clock_now_s(); /* one for all: it dates undated entries, and the check */
    enum rc rc;

    if (job->target == JOB_ARCHIVE)
        return run_archive(w, job);
    if (job->target == JOB_CONTENT)
        return content_run(w, job);
    if (job->follow.n_asked > 0 && read_record(w, job, &err) != RC_OK)
        return give_back(job, err.rc, &err);
    if (job->resp.kind == RESPONSE_DOCUMENT)
        step = understand(w, &a, &docs, job, now, &found, &err);
    if (step == JOB_SEND)
        return JOB_SEND;
    if (step == JOB_END && err.rc == RC_OK) { /* a delivery that is no feed */
        job->rc = RC_UNSUPPORTED;
        return JOB_END;
    }
    if (step == JOB_END)
        return give_back(job, err.rc, &err);
    if (job->resp.kind == RESPONSE_NOT_MODIFIED)
        hub_links_of_fields(job);
    rc = reader_feeds(w->reader, &job->feed_id, 1, &a, &fresh, &n_fresh, &err);
    if (rc == RC_OK && n_fresh == 0) {
        job->rc = RC_NOT_FOUND;
        job->text = STR("the feed was removed while it was fetched");
        return JOB_END;
    }
    if (rc != RC_OK)
        return give_back(job, rc, &err);
    outcome_fill(&a, job, fresh, &found, now, &outcome);
    keep_date_of_target(w, fresh, &outcome);
    outcome.docs = &docs;
    rc = store(w, job, &outcome);
    if (rc != RC_OK) {
        err_set(&err, rc, "the outcome of the fetch could not be stored: %s", rc_meaning(rc));
        return give_back(job, rc, &err);
    }
    return JOB_WORK;
}
