/* fetcher/archive.c - the source "archive": one document of the feed's past.
 *
 * After the feed's own document, or another archive document, was stored, the storer names the next
 * archive document. An archive document does not change how the feed's entries are told apart,
 * because its entries are older ones. Its volatile_only changes are not taken. The result of the
 * job stays that of the feed's own document: a failure here only means that the rest of the past is
 * read later. */
#include "base/clock.h"
#include "feed/lists/history.h"
#include "feed/lists/metadata.h"
#include "fetcher/past.h"
#include "fetcher/poll.h"
#include "fetcher/reading.h"

static enum job_step begin(struct job *job, struct reader *r UNUSED)
{
    return job_ask(job, job->next.what);
}

static enum job_step answered(struct job *job UNUSED)
{
    return STEP_UNDERSTAND;
}

/* Keep only entries that are new, changed or deleted. */
static void keep_events(struct reading *r, struct archive_outcome *o)
{
    struct entry_change *events = ARENA_ARRAY(&r->a, struct entry_change, r->n_changes + 1);
    size_t n = 0;

    for (size_t i = 0; i < r->n_changes; i++)
        if (!r->changes[i].volatile_only)
            events[n++] = r->changes[i];
    r->changes = events;
    r->n_changes = n;
    o->entries = reading_batch(r);
}

/* Does it reach back to what was stored before the gap? Entries that have no date of their own are not older for certain. */
static enum rc reach_back(struct reading *r, const struct feed *feed, int64_t oldest, struct doc_past *o)
{
    int64_t seq;
    enum rc rc;

    if (feed->gap_since == TIME_UNKNOWN)
        return RC_OK;
    rc = reader_seq_at(r->w->reader, feed->gap_since * 1000000 - 1, &seq, &r->err);
    if (rc != RC_OK)
        return rc;
    o->reaches_back = reading_shows_known(r, seq);
    for (size_t i = 0; i < r->doc->n_entries && oldest != TIME_UNKNOWN; i++) {
        const struct doc_entry *e = &r->doc->entries[i];
        int64_t at = e->published_at != TIME_UNKNOWN ? e->published_at : e->updated_at;

        o->reaches_back |= at != TIME_UNKNOWN && at < oldest;
    }
    return RC_OK;
}

static enum rc read_document(struct reading *r, struct archive_outcome *o)
{
    struct job *job = r->job;
    struct feed_history history;
    const struct feed *fresh;
    bool describes;
    int64_t oldest;
    enum rc rc;

    if (!reading_parse(r, job->final_url))
        return RC_OK;
    fresh = reading_fresh(r);
    if (fresh == NULL)
        return r->err.rc;
    history_read(r->doc, past_is_harvested(fresh), &history);
    describes = history.metadata && metadata_is_evident(&r->a, r->doc);
    history_settle(&r->a, r->doc, history.metadata);
    past_of(&r->a, job, r->doc, &history, poll_was_led(job), &o->past);
    rc = reader_oldest(r->w->reader, job->feed_id, &oldest, &r->err);
    if (rc == RC_OK)
        rc = reading_compare(r, &fresh->identity, describes,
                             history_dates(&r->a, r->doc, oldest, r->now));
    if (rc == RC_OK)
        rc = reach_back(r, fresh, oldest, &o->past);
    if (rc != RC_OK)
        return rc;
    keep_events(r, o);
    o->loaded = job->loaded;
    o->ok = true;
    return RC_OK;
}

static enum job_step understand(const struct parse_worker *w, struct job *job)
{
    struct archive_outcome o = {.feed_id = job->feed_id,
                                .checked_at = clock_now_s(),
                                .url = job->url,
                                .secrets = job->feed->secrets,
                                .past = {.older = STR_NULL}};
    struct reading r;
    enum rc rc = RC_OK;

    reading_begin(&r, w, job);
    if (job->resp.kind == RESPONSE_DOCUMENT)
        rc = read_document(&r, &o);
    job_drop_body(job);
    if (rc == RC_OK)
        STORE_OUTCOME(rc, w, archive, &o, job);
    reading_end(&r);
    if (rc == RC_OK)
        return STEP_AWAY;
    job->next.source = NULL;
    return STEP_END;
}

static void stored(struct job *job, enum rc rc, const struct store_result *res,
                   const struct err *err UNUSED)
{
    job->next.source = NULL;
    if (rc != RC_OK || str_is_null(res->next_archive))
        return;
    job->next.source = &source_archive;
    job->next.what = str_dup(job->arena, res->next_archive);
}

const struct source source_archive = {
    .name = "archive",
    .gives_way = true,
    .begin = begin,
    .request = job_request,
    .answered = answered,
    .understand = understand,
    .stored = stored,
};
