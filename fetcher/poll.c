/* fetcher/poll.c - see poll.h. */
#include "fetcher/poll.h"

#include "base/stats.h"
#include "feed/lists/discover.h"
#include "feed/lists/metadata.h"
#include "fetcher/discovery.h"
#include "fetcher/moves.h"
#include "fetcher/past.h"
#include "fetcher/stream.h"
#include "net/url.h"

/* Which document is asked for. */
enum poll_way {
    POLL_OWN = 0,   /* the feed's own document */
    POLL_LED,       /* the document that an archive document at the feed's URL names as current */
    POLL_STANDS_IN, /* that one was not a feed: the archive document is used instead */
    POLL_TOLD,      /* the document at the URL to which the feed says that it has moved */
    POLL_STAYS,     /* that one was not a feed: the feed's own document again */
};

struct poll {
    enum poll_way way;
    bool is_delayed; /* POLL_STAYS: the other URL may be a feed later */
    bool is_hearsay; /* POLL_TOLD: not the feed's own document says so, but one to which it led */
};

static struct poll *state_of(struct job *job)
{
    if (job->states[SOURCE_ID_poll] == NULL)
        job->states[SOURCE_ID_poll] = ARENA_NEW(job->arena, struct poll);
    return job->states[SOURCE_ID_poll];
}

bool poll_was_led(const struct job *job)
{
    const struct poll *p = job->states[SOURCE_ID_poll];

    return p != NULL && p->way != POLL_OWN;
}

static enum poll_way way_of(const struct job *job)
{
    const struct poll *p = job->states[SOURCE_ID_poll];

    return p == NULL ? POLL_OWN : p->way;
}

static bool is_hearsay(const struct job *job)
{
    const struct poll *p = job->states[SOURCE_ID_poll];

    return p != NULL && p->way == POLL_TOLD && p->is_hearsay;
}

/* ---- what is asked --------------------------------------------------------------------------- */

static enum job_step begin(struct job *job, struct reader *r)
{
    const struct feed *feed = job->feed;

    if (feed_is_list(feed)) {
        job->source = &source_list;
        return source_list.begin(job, r);
    }
    if (!str_is_null(feed->cursor)) {
        job->source = &source_stream;
        return source_stream.begin(job, r);
    }
    job->url = feed->url;
    job->conditional = job_has_document(job) &&
                       (feed->etag.len > 0 || feed->last_modified.len > 0) && !job_is_in_doubt(job);
    return STEP_QUEUE;
}

/* An archive document came, and `url` is the URL to subscribe to. Returns STEP_UNDERSTAND when that
 * URL is not asked: it is asked only once, and not on a host that may not get the credential. */
static enum job_step ask_current(struct job *job, struct str url)
{
    struct url_parts parts;

    if (way_of(job) != POLL_OWN || url_parse(job->arena, url, &parts, NULL) != RC_OK ||
        str_eq(parts.url, job->url) || str_eq(parts.url, job->final_url) ||
        (!str_is_null(job->feed->credential) && !job_may_identify(job->feed, parts.url)))
        return STEP_UNDERSTAND;
    state_of(job)->way = POLL_LED;
    return job_ask(job, parts.url);
}

/* Returns the URL to which the feed has moved by the word of its document; null when it has not
 * moved. A URL that the feed had before does not count: otherwise two documents that name each
 * other would send the feed to and fro. */
static struct str successor_of(const struct reading *r)
{
    const struct job *job = r->job;
    struct str moved_to = r->doc->moved_to;
    struct feed_brief there;
    struct url_parts parts;

    if (str_is_null(moved_to) || url_parse(job->arena, moved_to, &parts, NULL) != RC_OK ||
        str_eq(parts.url, job->url) || str_eq(parts.url, job->final_url) ||
        (!str_is_null(job->feed->credential) && !job_may_identify(job->feed, parts.url)) ||
        (store_find_feed(r->w->store, parts.url, job->feed->credential, &there) &&
         there.id == job->feed_id))
        return STR_NULL;
    return parts.url;
}

/* Did the document come by a redirect from somebody whose word is not that of the feed? */
static bool is_elsewhere(const struct job *job)
{
    return !url_same_origin(job->url, job->final_url) && !move_is_plain(job->feed, job->final_url);
}

/* The word of a document alone does not move a feed. There must be a feed at the new URL, as after
 * a permanent redirect. Where a redirect leads, anybody may be: what is said there is believed as the redirect
 * itself is. */
static enum job_step ask_successor(struct reading *r)
{
    struct job *job = r->job;
    struct str url;

    if (job->source != &source_poll || way_of(job) != POLL_OWN)
        return STEP_UNDERSTAND;
    url = successor_of(r);
    if (str_is_null(url))
        return STEP_UNDERSTAND;
    *state_of(job) = (struct poll){.way = POLL_TOLD, .is_hearsay = is_elsewhere(job)};
    return job_ask(job, url);
}

/* Returns true when the document leads to another URL that the next poll must ask. */
static bool leads_on(const struct reading *r)
{
    const struct poll *p = r->job->states[SOURCE_ID_poll];

    if (way_of(r->job) == POLL_STANDS_IN || is_hearsay(r->job))
        return true;
    return way_of(r->job) == POLL_STAYS ? p->is_delayed : !str_is_null(successor_of(r));
}

/* The URL to which the feed's own document led has no feed, so ask for the feed's own document
 * again. If it is an archive document, it is then used as the feed, unless the store has a document
 * of the feed. */
static enum job_step ask_own_again(struct job *job)
{
    if (way_of(job) == POLL_TOLD) {
        *state_of(job) =
            (struct poll){.way = POLL_STAYS,
                          .is_delayed = job->resp.kind == RESPONSE_LIMITED || job->resp.status >= 500};
        return job_ask(job, job->feed->url);
    }
    if (way_of(job) != POLL_LED || job_has_document(job) || job->resp.kind == RESPONSE_LIMITED)
        return STEP_UNDERSTAND;
    state_of(job)->way = POLL_STANDS_IN;
    return job_ask(job, job->feed->url);
}

enum job_step poll_look_elsewhere(struct job *job)
{
    bool is_missing = job->resp.kind == RESPONSE_MISSING || job->resp.kind == RESPONSE_GONE;

    if (job->resp.kind != RESPONSE_DOCUMENT && ask_own_again(job) == STEP_QUEUE)
        return STEP_QUEUE;
    if (is_missing && job->feed->page_url.len > 0 && !str_eq(job->feed->page_url, job->url))
        return discovery_ask_page(job);
    return STEP_UNDERSTAND;
}

/* ---- a feed ---------------------------------------------------------------------------------- */

/* Read what the document says of the feed's past. STEP_QUEUE: it leads to another document. */
static enum job_step read_history(struct reading *r, struct poll_facts *facts, bool *describes)
{
    struct feed_history *h = &facts->history;

    history_read(r->doc, past_is_harvested(r->job->feed), h);
    if (h->archive && !str_is_null(h->current) && ask_current(r->job, h->current) == STEP_QUEUE)
        return STEP_QUEUE;
    *describes = h->metadata && metadata_is_evident(&r->a, r->doc);
    if (!str_is_null(h->older) || h->archive || h->metadata)
        history_settle(&r->a, r->doc, h->metadata);
    past_of(&r->a, r->job, r->doc, h, poll_was_led(r->job), &facts->past);
    return STEP_UNDERSTAND;
}

void poll_outcome_fill(struct arena *a, struct job *job, const struct feed *fresh,
                       const struct poll_facts *facts, const struct found_at *at, int64_t now,
                       struct poll_outcome *o)
{
    const struct feed_doc *doc = facts->check.doc;

    *o = (struct poll_outcome){.left_cursor = facts->left_cursor};
    check_fill(a, job, fresh, &facts->check, at, now, &o->check);
    /* keep no validators, so that the document is read again next time: the rest may come then */
    if (o->check.ok && (facts->leads_on || (doc != NULL && doc->cut)))
        o->check.etag = o->check.last_modified = STR("");
    if (doc == NULL)
        return;
    o->has_document = true;
    check_head(a, job, fresh, doc, job->final_url, &o->head);
    o->head.hints = check_hints(job, doc);
    o->complete = facts->history.complete;
    o->has_tombstones = doc->n_tombstones > 0;
    o->past = facts->past;
    if (facts->hash != NULL && !job->resp.partial && !facts->leads_on) {
        o->has_body_hash = true;
        memcpy(o->body_hash, facts->hash, sizeof o->body_hash);
    }
}

static enum job_step hand_over(struct reading *r, const struct poll_facts *facts,
                               const struct found_at *at)
{
    const struct feed *fresh = reading_fresh(r);
    struct poll_facts all = *facts;
    struct poll_outcome o;
    enum rc rc;

    if (fresh == NULL)
        return reading_failed(r);
    all.check.is_gap = all.check.doc != NULL && reading_is_gap(r, fresh);
    poll_outcome_fill(&r->a, r->job, fresh, &all, at, r->now, &o);
    o.check.loaded = r->job->loaded;
    check_keep_date(r->w->store, fresh, &o.check);
    if (o.has_document) {
        o.is_gap = all.check.is_gap;
        o.entries = reading_batch(r);
        o.shown = reading_shown(r);
        o.identity = reading_identity(r);
    }
    r->job->source = &source_poll;
    STORE_OUTCOME(rc, r->w, poll, &o, r->job);
    if (rc == RC_OK)
        return STEP_AWAY;
    err_set(&r->err, rc, "the outcome of the fetch could not be stored: %s", rc_meaning(rc));
    return job_give_back(r->job, rc, &r->err);
}

enum job_step poll_take_state(struct reading *r, bool is_same, const struct found_at *at)
{
    struct poll_facts facts = {.check = {.is_ok = is_same},
                               .left_cursor = STR_NULL,
                               .leads_on = way_of(r->job) == POLL_STANDS_IN};

    if (is_same || r->job->resp.kind == RESPONSE_NOT_MODIFIED)
        upstream_links_of_fields(r->job);
    if (!str_is_null(r->job->feed->cursor))
        return stream_take(r, NULL, at);
    return hand_over(r, &facts, at);
}

/* Returns true when entries that the document does not show can be deleted: the document says that
 * it is complete, and nothing of it can have been lost on the way. */
static bool is_all_there_is(const struct reading *r, const struct poll_facts *facts)
{
    return facts->history.complete && !r->doc->broken && r->doc->n_cut == 0 &&
           !r->job->resp.partial && job_has_document(r->job);
}

enum job_step poll_take(struct reading *r, const struct found_at *at)
{
    struct job *job = r->job;
    struct poll_facts facts = {
        .left_cursor = STR_NULL, .hash = r->hash, .past = {.older = STR_NULL}};
    struct stream_piece piece;
    bool describes = false;

    if (!stream_is_whole(r)) {
        job_fail(job, RC_PEER, STR("the document is cut off"));
        return poll_take_state(r, false, at);
    }
    if (ask_successor(r) == STEP_QUEUE)
        return STEP_QUEUE;
    facts.leads_on = leads_on(r);
    upstream_links_of_feed(job, r->doc, stream_document_url(job));
    if (!str_is_null(r->doc->cursor))
        stream_date_deletions(r);
    else if (read_history(r, &facts, &describes) == STEP_QUEUE)
        return STEP_QUEUE;
    if (reading_compare(r, &job->feed->identity, describes, NULL) != RC_OK)
        return reading_failed(r);
    facts.check = (struct check_facts){
        .is_ok = true, .has_news = reading_has_news(r), .doc = r->doc, .sight = reading_sight(r)};
    if (stream_judge(r, at->asked, &piece))
        return stream_take(r, &piece, at);
    facts.left_cursor = piece.left_cursor;
    if (is_all_there_is(r, &facts) && reading_add_absent(r) != RC_OK)
        return reading_failed(r);
    facts.check.has_news = reading_has_news(r);
    return hand_over(r, &facts, at);
}

/* ---- no feed --------------------------------------------------------------------------------- */

struct found_at poll_found_at(const struct job *job)
{
    return (struct found_at){.asked = is_hearsay(job) ? job->feed->url : job->url,
                             .url = job->resp.moved ? job->final_url : job->url,
                             .for_url = job->feed->url,
                             .page_url = STR_NULL};
}

/* Set the text that says why the document is not a feed. */
static void explain(struct reading *r, bool is_page)
{
    struct str why = r->doc->bozo_why;

    if (is_page)
        job_fail(r->job, RC_UNSUPPORTED,
                 STR("the publisher answered with a page instead of the feed"));
    else
        job_fail(r->job, RC_UNSUPPORTED,
                 str_printf(&r->a, "the document is not a feed: %.*s",
                            STR_ARG(str_is_null(why) ? STR("its format is not known") : why)));
}

enum job_step poll_take_other(struct reading *r)
{
    struct job *job = r->job;
    bool is_page = reading_is_web_page(r), is_known = job_has_document(job);
    struct found_at at = poll_found_at(job);
    struct str *hrefs;
    size_t n = 0;

    if (ask_own_again(job) == STEP_QUEUE || ask_successor(r) == STEP_QUEUE)
        return STEP_QUEUE;
    if (is_page && !is_known)
        return discovery_of_page(r, true);
    if (!is_known)
        n = discover_service(&r->a, job->body, job->final_url, job->content_type, &hrefs);
    if (n > 0)
        return discovery_of_list(r, hrefs, n);
    explain(r, is_page);
    return poll_take_state(r, false, &at);
}

/* ---- the row --------------------------------------------------------------------------------- */

static bool is_same(const struct reading *r)
{
    const struct feed *feed = r->job->feed;

    return !r->job->resp.partial && feed->has_body_hash &&
           memcmp(r->hash, feed->body_hash, sizeof r->hash) == 0;
}

static enum job_step understand_document(struct reading *r)
{
    struct job *job = r->job;
    struct found_at at = poll_found_at(job);

    if (job->resp.kind != RESPONSE_DOCUMENT)
        return poll_take_state(r, false, &at);
    if (is_same(r)) {
        stats_inc(STAT_fetch_same_total);
        return poll_take_state(r, true, &at);
    }
    return reading_parse(r, job->final_url) ? poll_take(r, &at) : poll_take_other(r);
}

static enum job_step understand(const struct parse_worker *w, struct job *job)
{
    struct reading r;
    enum job_step step;

    reading_begin(&r, w, job);
    step = understand_document(&r);
    reading_end(&r);
    return step;
}

void poll_stored(struct job *job, enum rc rc, const struct store_result *res, const struct err *err)
{
    job->next.source = NULL;
    if (rc != RC_OK) {
        job_give_back(job, rc, err);
        return;
    }
    job->result_id = res->id;
    if (res->next_cursor.len > 0) {
        job->next.source = &source_stream;
        job->next.what = str_dup(job->arena, res->next_cursor);
    } else if (!str_is_null(res->next_archive)) {
        job->next.source = &source_archive;
        job->next.what = str_dup(job->arena, res->next_archive);
    }
}

const struct source source_poll = {
    .name = "poll",
    .begin = begin,
    .request = job_request,
    .answered = poll_look_elsewhere,
    .understand = understand,
    .stored = poll_stored,
};
