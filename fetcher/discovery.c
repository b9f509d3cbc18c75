/* fetcher/discovery.c - see discovery.h. */
#include "fetcher/discovery.h"

#include "feed/lists/discover.h"
#include "fetcher/poll.h"
#include "net/http_fields.h"
#include "net/url.h"

#define LINKS_MAX 32     /* in the Link fields of an answer */
#define LINKED_GUESSES 3 /* of the URLs that a page links to but does not announce */

enum phase { PHASE_PAGE, PHASE_CANDIDATE };

struct search {
    enum phase phase;
    struct str page; /* where the candidates were found */
    struct str candidates[DISCOVERY_GUESSES];
    size_t n_candidates, next; /* `next` of them were asked */
    bool are_guesses;          /* they are not announced */
    struct response missing;   /* answer of the feed's own URL; status 0: it led here itself */
    struct response page_resp;
};

static struct search *state_of(struct job *job)
{
    if (job->states[SOURCE_ID_discovery] == NULL)
        job->states[SOURCE_ID_discovery] = ARENA_NEW(job->arena, struct search);
    return job->states[SOURCE_ID_discovery];
}

static const struct search *search_of(const struct job *job)
{
    return job->states[SOURCE_ID_discovery];
}

/* ---- candidates ------------------------------------------------------------------------------ */

bool discovery_may_guess(const struct job *job)
{
    bool was_there = job->feed->last_status >= 200 && job->feed->last_status < 300;

    return !job->announced_only && !job_has_document(job) &&
           !(was_there && job->feed->n_errors > 0);
}

/* Set the text that says why no feed was found. */
static void explain(struct job *job, const struct search *s)
{
    struct str page = url_public(job->arena, s->page), why;

    job->resp = s->page_resp; /* more useful than the answer of some candidate */
    if (s->n_candidates == 0)
        why = str_printf(job->arena, "%.*s is a page that announces no feed", STR_ARG(page));
    else if (s->are_guesses)
        why = str_printf(job->arena,
                         "%.*s is a page that announces no feed, and none is at the usual "
                         "addresses (%zu tried)",
                         STR_ARG(page), s->next);
    else
        why = str_printf(job->arena,
                         "%.*s is a page that announces feeds, but none can be read (%zu tried)",
                         STR_ARG(page), s->n_candidates);
    job_fail(job, RC_UNSUPPORTED, why);
}

enum job_step discovery_next(struct job *job)
{
    struct search *s = state_of(job);

    if (s->next < s->n_candidates) {
        s->phase = PHASE_CANDIDATE;
        return job_ask(job, s->candidates[s->next++]);
    }
    if (s->missing.status != 0) /* the feed is missing, and its page announces no other */
        job->resp = s->missing;
    else
        explain(job, s);
    return STEP_UNDERSTAND;
}

/* Add candidates that can be asked, up to `max` in all. Each is added once. The page itself and the
 * missing feed that led to it are left out. */
static void add_candidates(struct job *job, struct search *s, const struct str *hrefs, size_t n,
                           size_t max)
{
    for (size_t i = 0; i < n && s->n_candidates < max; i++) {
        struct url_parts parts;
        bool is_double = false;

        if (url_parse(job->arena, hrefs[i], &parts, NULL) != RC_OK)
            continue;
        for (size_t k = 0; k < s->n_candidates; k++)
            is_double |= str_eq(s->candidates[k], parts.url);
        if (!is_double && !str_eq(parts.url, s->page) && !str_eq(parts.url, job->feed->url))
            s->candidates[s->n_candidates++] = parts.url;
    }
}

enum job_step discovery_try(struct job *job, const struct str *hrefs, size_t n, bool are_guesses)
{
    struct search *s = state_of(job);

    job->source = &source_discovery;
    s->page = job->url;
    s->page_resp = job->resp;
    s->are_guesses = are_guesses;
    s->n_candidates = s->next = 0;
    add_candidates(job, s, hrefs, n, are_guesses ? DISCOVERY_GUESSES : DISCOVERY_ANNOUNCED);
    return discovery_next(job);
}

enum job_step discovery_expand(struct job *job, const struct str *hrefs, size_t n)
{
    struct search *s = state_of(job);
    struct str rest[DISCOVERY_GUESSES];
    size_t n_rest = s->n_candidates - s->next;

    memcpy(rest, s->candidates + s->next, n_rest * sizeof *rest);
    s->n_candidates = s->next;
    add_candidates(job, s, hrefs, n < DISCOVERY_ANNOUNCED ? n : DISCOVERY_ANNOUNCED,
                   DISCOVERY_GUESSES);
    add_candidates(job, s, rest, n_rest, DISCOVERY_GUESSES);
    return discovery_next(job);
}

struct found_at discovery_found_at(const struct job *job)
{
    const struct search *s = search_of(job);

    return (struct found_at){.asked = job->url,
                             .url = job->resp.moved ? job->final_url : job->url,
                             .for_url = STR_NULL,
                             .page_url = s->phase == PHASE_CANDIDATE ? s->page : STR_NULL};
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Read the Link fields of the answer (RFC 8288). */
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

/* What the page and the Link fields announce; if that is nothing, the URLs where a feed may be. */
struct leads {
    struct discovered_feed *list; /* the best first */
    size_t n;
    bool are_announced;
};

static struct leads read_leads(struct arena *a, const struct job *job, const struct discovery *page)
{
    struct discovered_feed linked[LINKS_MAX];
    size_t n_linked = read_link_fields(a, job, linked), n;
    struct leads out = {.are_announced = page->n_feeds > 0};

    for (size_t i = 0; i < n_linked; i++)
        out.are_announced |= linked[i].kind == DISCOVER_ANNOUNCED;
    n = out.are_announced ? page->n_feeds : page->n_guesses;
    out.list = ARENA_ARRAY(a, struct discovered_feed, n + n_linked + 1);
    if (n > 0)
        memcpy(out.list, out.are_announced ? page->feeds : page->guesses, n * sizeof *out.list);
    for (size_t i = 0; i < n_linked; i++)
        if ((linked[i].kind == DISCOVER_ANNOUNCED) == out.are_announced)
            out.list[n++] = linked[i];
    out.n = n;
    discover_order(job->final_url, out.list, n);
    return out;
}

/* Go on with the search, or store that it found nothing. */
static enum job_step go_on(struct reading *r, enum job_step step)
{
    struct found_at at = discovery_found_at(r->job);

    return step == STEP_QUEUE ? step : poll_take_state(r, false, &at);
}

enum job_step discovery_of_page(struct reading *r, bool may_guess)
{
    struct job *job = r->job;
    struct discovery page;
    struct leads leads;
    struct str *hrefs, *usual;
    size_t n_usual = 0;

    discover_page(&r->a, job->body, job->final_url, job->content_type, &page);
    upstream_links_of_page(job, &page);
    leads = read_leads(&r->a, job, &page);
    if (!leads.are_announced) {
        leads.n = leads.n < LINKED_GUESSES ? leads.n : LINKED_GUESSES;
        if (may_guess && discovery_may_guess(job))
            n_usual = discover_usual(&r->a, job->final_url, &usual);
    }
    hrefs = ARENA_ARRAY(&r->a, struct str, leads.n + n_usual + 1);
    for (size_t i = 0; i < leads.n; i++)
        hrefs[i] = leads.list[i].href;
    for (size_t i = 0; i < n_usual; i++)
        hrefs[leads.n + i] = usual[i];
    return go_on(r, discovery_try(job, hrefs, leads.n + n_usual, !leads.are_announced));
}

enum job_step discovery_of_list(struct reading *r, const struct str *hrefs, size_t n)
{
    return go_on(r, discovery_try(r->job, hrefs, n, false));
}

enum job_step discovery_ask_page(struct job *job)
{
    struct search *s = state_of(job);

    job->source = &source_discovery;
    s->phase = PHASE_PAGE;
    s->missing = job->resp;
    return job_ask(job, job->feed->page_url);
}

/* ---- the row --------------------------------------------------------------------------------- */

static enum job_step answered(struct job *job)
{
    struct search *s = state_of(job);

    if (s->phase == PHASE_PAGE) {
        if (job->resp.kind != RESPONSE_DOCUMENT)
            job->resp = s->missing;
        return STEP_UNDERSTAND;
    }
    if (job->resp.is_held) /* the best candidate is not passed over because its host rests */
        return STEP_UNDERSTAND;
    if (s->are_guesses && (job->resp.kind == RESPONSE_BROKEN || job->resp.kind == RESPONSE_LIMITED))
        /* the site is in trouble, so its other candidates are not asked */
        s->n_candidates = s->next;
    return job->resp.kind == RESPONSE_DOCUMENT ? STEP_UNDERSTAND : discovery_next(job);
}

/* The candidate, or the page, is not a feed. */
static enum job_step take_other(struct reading *r)
{
    struct job *job = r->job;
    struct search *s = state_of(job);
    struct str *hrefs;
    size_t n;

    if (s->phase == PHASE_CANDIDATE) {
        n = discover_service(&r->a, job->body, job->final_url, job->content_type, &hrefs);
        return go_on(r, n > 0 ? discovery_expand(job, hrefs, n) : discovery_next(job));
    }
    if (reading_is_web_page(r))
        return discovery_of_page(r, false);
    job->resp = s->missing;
    return go_on(r, STEP_UNDERSTAND);
}

static enum job_step understand_document(struct reading *r)
{
    struct found_at at = discovery_found_at(r->job);

    if (r->job->resp.kind != RESPONSE_DOCUMENT)
        return poll_take_state(r, false, &at);
    return reading_parse(r, r->job->final_url) ? poll_take(r, &at) : take_other(r);
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

const struct source source_discovery = {
    .name = "discovery",
    .request = job_request,
    .answered = answered,
    .understand = understand,
    .stored = poll_stored,
};
