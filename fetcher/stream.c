/* fetcher/stream.c - see stream.h. */
#include "fetcher/stream.h"

#include "fetcher/poll.h"

/* A cursor with which the server fails is given up now and then: after so many failures */
#define GIVE_UP_AFTER 8
/* When there is more, but this job does not ask for it: seconds until the next job */
#define MORE_S 10

struct stream_state *stream_state_of(struct job *job)
{
    if (job->states[SOURCE_ID_stream] == NULL)
        job->states[SOURCE_ID_stream] = ARENA_NEW(job->arena, struct stream_state);
    return job->states[SOURCE_ID_stream];
}

static bool is_after_cursor(const struct job *job)
{
    const struct stream_state *s = job->states[SOURCE_ID_stream];

    return s != NULL && s->ask == STREAM_AFTER;
}

struct str stream_document_url(struct job *job)
{
    return is_after_cursor(job) ? stream_base_url(job->arena, job->final_url) : job->final_url;
}

/* ---- what is asked --------------------------------------------------------------------------- */

/* Ask for what comes after the cursor. Returns false when the URL would be too long. */
static bool ask_after(struct job *job, struct str cursor, bool with_max)
{
    struct stream_state *s = stream_state_of(job);
    bool bounded = with_max && !s->no_max;
    struct str url = stream_url_after(job->arena, s->base, cursor, bounded ? STREAM_ITEMS : 0);

    if (str_is_null(url))
        return false;
    s->is_redirected = false;
    s->moved_to = STR_NULL;
    s->ask = STREAM_AFTER;
    s->cursor = cursor;
    s->with_max = bounded;
    job_ask(job, url);
    return true;
}

/* The first piece is asked for when the server has failed for long with the cursor. It is also
 * asked for now and then when there is nothing new, because the cursor may be wrong and hide all
 * news. */
void stream_begin(struct job *job)
{
    const struct feed *feed = job->feed;
    struct stream_state *s = stream_state_of(job);

    s->base = feed->url;
    job_ask(job, feed->url);
    if (feed->cursor.len == 0)
        return;
    s->no_max = feed->n_errors > 0;
    if (feed->last_status != 0 && feed->n_errors % GIVE_UP_AFTER == GIVE_UP_AFTER - 1)
        s->ask = STREAM_REFUSED;
    else if (job_is_in_doubt(job))
        s->ask = STREAM_CHECK;
    else if (!ask_after(job, feed->cursor, feed->cursor_state != 0))
        s->ask = STREAM_REFUSED;
}

struct found_at stream_found_at(struct job *job)
{
    const struct stream_state *s = stream_state_of(job);
    struct found_at at = {.asked = job->url, .url = job->url, .page_url = STR_NULL};

    if (s->ask == STREAM_AFTER)
        at.asked = at.url = s->base;
    if (s->is_redirected && !str_is_null(s->moved_to))
        at.url = s->moved_to;
    if (job->resp.moved)
        at.url =
            s->ask == STREAM_AFTER ? stream_base_url(job->arena, job->final_url) : job->final_url;
    at.for_url = at.asked;
    return at;
}

bool stream_ask_more(struct job *job, struct str cursor)
{
    stream_state_of(job)->base = stream_found_at(job).url;
    return ask_after(job, cursor, true);
}

static enum job_step begin(struct job *job, struct reader *r)
{
    if (r == NULL)
        return stream_ask_more(job, job->next.what) ? STEP_QUEUE : STEP_END;
    stream_begin(job);
    return STEP_QUEUE;
}

/* ---- what was answered ----------------------------------------------------------------------- */

/* A redirect has lost the cursor, so ask again with the cursor at the URL to which it led. */
static bool ask_there(struct job *job)
{
    struct stream_state *s = stream_state_of(job);
    struct str url;

    if (s->ask != STREAM_AFTER || s->is_redirected || job->resp.kind != RESPONSE_DOCUMENT ||
        stream_has_since(job->arena, job->final_url))
        return false;
    s->is_redirected = true;
    if (job->resp.moved)
        s->moved_to = stream_base_url(job->arena, job->final_url);
    url = stream_url_after(job->arena, job->final_url, s->cursor, s->with_max ? STREAM_ITEMS : 0);
    if (str_is_null(url))
        return false;
    job_ask(job, url);
    return true;
}

/* Returns true for a status that means that the server does not accept the parameters of the
 * request. Other failures are errors. */
static bool is_refusal(int status)
{
    static const int others[] = {401, 402, 403, 407, 408, 421, 423, 425, 429, 451};

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (status == others[i])
            return false;
    return status >= 400 && status < 500;
}

/* Ask in another way: first without a number of items, then for the first piece. */
static bool ask_otherwise(struct job *job)
{
    struct stream_state *s = stream_state_of(job);
    bool is_refused = is_refusal(job->resp.status);

    if (s->ask != STREAM_AFTER || (!is_refused && job->resp.rc != RC_LIMIT))
        return false;
    if (s->with_max) {
        s->no_max = true;
        return ask_after(job, s->cursor, false);
    }
    if (!is_refused)
        return false;
    s->ask = STREAM_REFUSED;
    s->is_lost = job->resp.status == 410;
    job_ask(job, s->base);
    return true;
}

static enum job_step answered(struct job *job)
{
    return ask_there(job) || ask_otherwise(job) ? STEP_QUEUE : poll_look_elsewhere(job);
}

/* ---- what it means --------------------------------------------------------------------------- */

bool stream_is_whole(const struct reading *r)
{
    return str_is_null(r->doc->cursor) || !r->doc->cut;
}

void stream_date_deletions(struct reading *r)
{
    for (size_t i = 0; i < r->doc->n_tombstones; i++)
        if (r->doc->tombstones[i].when_at == TIME_UNKNOWN)
            r->doc->tombstones[i].when_at = r->now;
}

bool stream_judge(struct reading *r, struct str base, struct stream_piece *out)
{
    struct job *job = r->job;

    out->left_cursor = STR_NULL;
    if (str_is_null(job->feed->cursor) && str_is_null(r->doc->cursor))
        return false;
    if (!stream_place_piece(stream_state_of(job), job->feed, base, r->doc, reading_has_news(r),
                            &out->piece))
        return false;
    if (!str_is_null(out->piece.cursor))
        return true;
    out->left_cursor = job->feed->cursor;
    return false;
}

/* Fetch the feed again soon when there is more of the stream and this job brought news. While the
 * first pieces are read, fetch it soon after a failure, too; the pause doubles with each failure.
 */
static void hurry(const struct job *job, const struct feed *fresh, const struct doc_piece *piece,
                  struct feed_check *o, int64_t now)
{
    const struct stream_state *s = job->states[SOURCE_ID_stream];
    bool is_first = (fresh->cursor_state & CURSOR_FIRST) != 0;
    int64_t wait_s = MORE_S;
    bool is_urgent = is_first;

    if (job->outage || job->resp.kind == RESPONSE_GONE ||
        (job->resp.kind == RESPONSE_LIMITED && job->resp.retry_after_s >= 0))
        return;
    if (!o->ok)
        wait_s = (int64_t)2 << (o->n_errors < 15 ? o->n_errors : 15);
    else
        is_urgent =
            piece != NULL && ((piece->is_refused && (fresh->cursor_state & CURSOR_REFUSED) == 0) ||
                              (piece->more && s != NULL && s->brings_news));
    if (!is_urgent || o->next_fetch_at == TIME_UNKNOWN || o->next_fetch_at <= now + wait_s)
        return;
    o->next_fetch_at = now + wait_s;
    o->next_reason = o->ok ? REASON_PERIOD : REASON_BACKOFF;
}

void stream_outcome_fill(struct arena *a, struct job *job, const struct feed *fresh,
                         const struct check_facts *facts, const struct doc_piece *piece,
                         const struct found_at *at, int64_t now, struct stream_outcome *o)
{
    const struct feed_doc *doc = facts->doc;

    *o = (struct stream_outcome){.has_document = doc != NULL};
    check_fill(a, job, fresh, facts, at, now, &o->check);
    hurry(job, fresh, piece, &o->check, now);
    if (doc == NULL)
        return;
    o->piece = *piece;
    o->check.etag = o->check.last_modified = STR("");
    o->head.hints = check_hints(job, doc);
    /* a piece without items may have no head */
    if (fresh->head.len > 0 && doc->n_entries == 0)
        return;
    check_head(a, job, fresh, doc, is_after_cursor(job) ? at->url : job->final_url, &o->head);
}

enum job_step stream_take(struct reading *r, const struct stream_piece *piece,
                          const struct found_at *at)
{
    struct check_facts facts = {.is_ok = piece != NULL};
    const struct doc_piece *shown = piece == NULL ? NULL : &piece->piece;
    const struct feed *fresh = reading_fresh(r);
    struct stream_outcome o;
    enum rc rc;

    if (fresh == NULL)
        return reading_failed(r);
    if (piece != NULL) {
        facts.has_news = reading_has_news(r);
        facts.doc = r->doc;
        facts.sight = reading_sight(r);
        facts.sight.n_shown = 0; /* nothing can leave a stream before it is read */
        facts.is_past = stream_is_past(fresh, &piece->piece);
    }
    stream_outcome_fill(&r->a, r->job, fresh, &facts, shown, at, r->now, &o);
    o.check.loaded = r->job->loaded;
    check_keep_date(r->w->store, fresh, &o.check);
    if (o.has_document) {
        o.entries = reading_batch(r);
        o.identity = reading_identity(r);
    }
    r->job->source = &source_stream;
    STORE_OUTCOME(rc, r->w, stream, &o, r->job);
    if (rc == RC_OK)
        return STEP_AWAY;
    err_set(&r->err, rc, "the outcome of the fetch could not be stored: %s", rc_meaning(rc));
    return job_give_back(r->job, rc, &r->err);
}

/* ---- the row --------------------------------------------------------------------------------- */

static enum job_step understand_document(struct reading *r)
{
    struct job *job = r->job;
    struct found_at at = stream_found_at(job);

    if (job->resp.kind != RESPONSE_DOCUMENT)
        return stream_take(r, NULL, &at);
    /* all pieces have the same base URL, because it becomes part of their entries */
    return reading_parse(r, stream_base_url(&r->a, job->final_url)) ? poll_take(r, &at)
                                                                    : poll_take_other(r);
}

static enum job_step understand(const struct parse_worker *w, struct job *job)
{
    struct reading r;
    enum job_step step;

    reading_begin(&r, w, job);
    if (job->n_more > 0 && !reading_renew(&r)) /* the piece before this one has moved the cursor */
        step = reading_failed(&r);
    else
        step = understand_document(&r);
    reading_end(&r);
    return step;
}

const struct source source_stream = {
    .name = "stream",
    .begin = begin,
    .request = job_request,
    .answered = answered,
    .understand = understand,
    .stored = poll_stored,
};
