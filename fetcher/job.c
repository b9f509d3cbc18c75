/* fetcher/job.c - see job.h. */
#include "fetcher/job.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"
#include "fetcher/work_queue.h"
#include "net/url.h"

#define ACCEPT                                                                                     \
    "application/atom+xml, application/rss+xml, application/feed+json, "                           \
    "application/rdf+xml;q=0.9, "                                                                  \
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, text/html;q=0.4, */*;q=0.1"

/* Validators that lie freeze a feed for ever: one that has not changed for a week is asked without
 * them now and then. */
#define DOUBT_AFTER_S (7 * 86400)
#define DOUBT_ONE_IN 50

/* A cursor that makes a server fail is given up now and then: failures in a row. */
#define GIVE_UP_AFTER 8

#define LINK_FIELDS 8 /* of one answer */

struct job *job_new(void *owner, int64_t feed_id, unsigned reasons,
                    const struct schedule_rules *rules)
{
    struct job *job = NEW(struct job);

    job->arena = arena_new();
    job->owner = owner;
    job->feed_id = job->result_id = feed_id;
    job->reasons = reasons;
    job->rules = *rules;
    job->rc = RC_OK;
    return job;
}

void job_free(struct job **jp)
{
    struct job *job = *jp;

    if (job == NULL)
        return;
    arena_free(&job->answer_arena);
    arena_free(&job->rec_arena);
    arena_free(&job->arena);
    mem_free(job);
    *jp = NULL;
}

void job_drop_body(struct job *job)
{
    job->body = STR("");
    job->final_url = str_dup(job->arena, job->final_url);
    job->content_type = str_dup(job->arena, job->content_type);
    job->content_location = str_dup(job->arena, job->content_location);
    job->content_language = str_dup(job->arena, job->content_language);
    arena_free(&job->answer_arena);
}

bool job_has_document(const struct job *job)
{
    return job->rec->has_body_hash || job->rec->head.len > 0;
}

static bool is_in_doubt(const struct job *job)
{
    unsigned char dice;

    if (job->rec->last_change_at == TIME_UNKNOWN ||
        job->started_at - job->rec->last_change_at < DOUBT_AFTER_S)
        return false;
    digest_random(&dice, sizeof dice);
    return dice < 256 / DOUBT_ONE_IN;
}

/* Ask for what is behind the cursor; false when it makes too long a URL. */
static bool ask_behind(struct job *job, struct str cursor, bool with_max)
{
    struct follow_state *f = &job->follow;
    struct str url =
        follow_url(job->arena, job->base, cursor, with_max && !f->no_max ? FOLLOW_ITEMS : 0);

    if (str_is_null(url))
        return false;
    f->is_redirected = false;
    job->target = JOB_FEED;
    job->url = url;
    job->asked_cursor = cursor;
    job->conditional = false;
    f->by_cursor = true;
    f->with_max = with_max && !f->no_max;
    return true;
}

static enum job_step ask_first_piece(struct job *job)
{
    job->url = job->base;
    job->follow.by_cursor = false;
    job->follow.is_refused = true;
    return JOB_SEND;
}

/* Where a Smart Feed is followed, it is asked for what is behind the cursor. The first piece is
 * asked for when servers fail for long with the cursor, and now and then when there is nothing new:
 * a cursor that leads nowhere must not freeze the feed. */
static void begin_stream(struct job *job)
{
    const struct feed_record *rec = job->rec;
    struct follow_state *f = &job->follow;

    if (rec->cursor.len == 0)
        return;
    job->base = rec->url;
    f->no_max = rec->n_errors > 0;
    if (rec->last_status != 0 && rec->n_errors % GIVE_UP_AFTER == GIVE_UP_AFTER - 1)
        f->is_refused = true;
    else if (is_in_doubt(job))
        f->is_check = true;
    else if (!ask_behind(job, rec->cursor, rec->cursor_state != 0))
        f->is_refused = true;
}

void job_begin(struct job *job, struct feed_record *rec)
{
    job->rec = rec;
    job->started_at = clock_now_s();
    job->target = JOB_FEED;
    job->url = rec->url;
    job->base = STR_NULL;
    begin_stream(job);
    job->conditional = str_is_null(rec->cursor) && job_has_document(job) &&
                       (rec->etag.len > 0 || rec->last_modified.len > 0) && !is_in_doubt(job);
}

bool job_may_identify(const struct feed_record *rec, struct str url)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts given, asked;

    if (str_is_null(rec->credential))
        return false;
    if (url_parse(&a, rec->page_url.len > 0 ? rec->page_url : rec->url, &given, NULL) != RC_OK ||
        url_parse(&a, url, &asked, NULL) != RC_OK || !str_eq(given.host, asked.host))
        return false;
    if (str_eq(given.scheme, asked.scheme))
        return given.port == asked.port;
    return str_eqz(asked.scheme, "https") && given.port == 80 && asked.port == 443;
}

static void add_field(struct http_call *call, struct http_field *fields, struct str name,
                      struct str value)
{
    fields[call->n_fields++] = (struct http_field){name, value};
}

void job_call(struct job *job, const char *user_agent, struct http_field fields[JOB_FIELDS],
              struct http_call *call)
{
    const struct feed_record *rec = job->rec;

    *call = (struct http_call){
        .method = STR("GET"),
        .url = job->url,
        .credential = job_may_identify(rec, job->url) ? rec->credential : STR_NULL,
        .fields = fields,
        .user_agent = str_printf(job->arena, "%s; %d subscriber%s)", user_agent,
                                 rec->n_subscriptions, rec->n_subscriptions == 1 ? "" : "s"),
        .max_redirects = LIMIT_FETCH_REDIRECTS,
        .max_header = LIMIT_FETCH_HEADER,
    };
    add_field(call, fields, STR("Accept"), str_is_null(job->accept) ? STR(ACCEPT) : job->accept);
    if (!job->conditional)
        return;
    if (rec->etag.len > 0) {
        add_field(call, fields, STR("If-None-Match"), rec->etag);
        add_field(call, fields, STR("A-IM"), STR("feed"));
    }
    if (rec->last_modified.len > 0)
        add_field(call, fields, STR("If-Modified-Since"), rec->last_modified);
}

void job_fail(struct job *job, enum rc rc, struct str text)
{
    job->resp.kind = RESPONSE_ERROR;
    job->resp.rc = rc;
    job->resp.text = str_dup(job->arena, text);
}

static void ask(struct job *job, enum job_target target, struct str url)
{
    job->target = target;
    job->url = url;
    job->conditional = false;
}

enum job_step job_led_to(struct job *job, struct str url)
{
    struct url_parts parts;

    if (job->is_led || url_parse(job->arena, url, &parts, NULL) != RC_OK ||
        str_eq(parts.url, job->url) || str_eq(parts.url, job->final_url) ||
        (!str_is_null(job->rec->credential) && !job_may_identify(job->rec, parts.url)))
        return JOB_WORK;
    job->is_led = true;
    ask(job, job->target, parts.url);
    return JOB_SEND;
}

enum job_step job_led_back(struct job *job)
{
    if (!job->is_led || job->is_back || job->target != JOB_FEED || job_has_document(job) ||
        job->resp.kind == RESPONSE_LIMITED)
        return JOB_WORK;
    job->is_back = true;
    ask(job, JOB_FEED, job->rec->url);
    return JOB_SEND;
}

struct str job_own_url(struct job *job)
{
    if (!job->follow.by_cursor)
        return job->resp.moved ? job->final_url : job->url;
    return job->resp.moved ? follow_base(job->arena, job->final_url) : job->base;
}

bool job_ask_more(struct job *job)
{
    job->base = job_own_url(job);
    job->follow.n_asked++;
    return ask_behind(job, job->next_cursor, true);
}

void job_ask_archive(struct job *job)
{
    ask(job, JOB_ARCHIVE, job->next_archive);
    job->next_archive = STR_NULL;
    job->n_archives++;
}

enum job_step job_next_candidate(struct job *job)
{
    struct str page, why;

    if (job->next_candidate < job->n_candidates) {
        ask(job, JOB_CANDIDATE, job->candidates[job->next_candidate++]);
        return JOB_SEND;
    }
    if (job->own.status != 0) { /* the feed is missing, and its page knows no other */
        job->resp = job->own;
        return JOB_WORK;
    }
    page = url_public(job->arena, job->page);
    job->resp = job->page_resp; /* rather than what some candidate answered */
    if (job->n_candidates == 0)
        why = str_printf(job->arena, "%.*s is a page that announces no feed", STR_ARG(page));
    else if (job->guesses)
        why = str_printf(job->arena,
                         "%.*s is a page that announces no feed, and none is where they use to be "
                         "(%zu addresses tried)",
                         STR_ARG(page), job->next_candidate);
    else
        why = str_printf(job->arena,
                         "%.*s is a page that announces feeds, but none can be read (%zu tried)",
                         STR_ARG(page), job->n_candidates);
    job_fail(job, RC_UNSUPPORTED, why);
    return JOB_WORK;
}

/* Add what can be asked, up to `max` in all: each once, neither the page again, nor the feed whose
 * absence led to it. */
static void add_candidates(struct job *job, const struct str *hrefs, size_t n, size_t max)
{
    for (size_t i = 0; i < n && job->n_candidates < max; i++) {
        struct url_parts parts;
        bool is_double = false;

        if (url_parse(job->arena, hrefs[i], &parts, NULL) != RC_OK)
            continue;
        for (size_t k = 0; k < job->n_candidates; k++)
            is_double |= str_eq(job->candidates[k], parts.url);
        if (!is_double && !str_eq(parts.url, job->page) && !str_eq(parts.url, job->rec->url))
            job->candidates[job->n_candidates++] = parts.url;
    }
}

enum job_step job_discovered(struct job *job, const struct str *hrefs, size_t n, bool guesses)
{
    job->page = job->url;
    job->page_resp = job->resp;
    job->guesses = guesses;
    job->n_candidates = job->next_candidate = 0;
    add_candidates(job, hrefs, n, guesses ? JOB_GUESSES : JOB_ANNOUNCED);
    return job_next_candidate(job);
}

enum job_step job_expanded(struct job *job, const struct str *hrefs, size_t n)
{
    struct str rest[JOB_GUESSES];
    size_t n_rest = job->n_candidates - job->next_candidate;

    memcpy(rest, job->candidates + job->next_candidate, n_rest * sizeof *rest);
    job->n_candidates = job->next_candidate;
    add_candidates(job, hrefs, n < JOB_ANNOUNCED ? n : JOB_ANNOUNCED, JOB_GUESSES);
    add_candidates(job, rest, n_rest, JOB_GUESSES);
    return job_next_candidate(job);
}

bool job_may_guess(const struct job *job)
{
    bool was_there = job->rec->last_status >= 200 && job->rec->last_status < 300;

    return !job->announced_only && job->target == JOB_FEED && !job_has_document(job) &&
           !(was_there && job->rec->n_errors > 0);
}

/* The first Link fields of an answer as one. */
static struct str joined_links(const struct http_answer *answer)
{
    struct str all = STR_NULL;
    int n = 0;

    for (size_t i = 0; i < answer->n_fields && n < LINK_FIELDS; i++) {
        struct str value = answer->fields[i].value;

        if (!str_eqz(answer->fields[i].name, "link"))
            continue;
        all = n++ == 0 ? value
                       : str_printf(answer->arena, "%.*s, %.*s", STR_ARG(all), STR_ARG(value));
    }
    return all;
}

static void take_answer(struct job *job, struct http_answer *answer)
{
    arena_free(&job->answer_arena);
    job->answer_arena = answer->arena;
    job->body = answer->body;
    job->final_url = answer->final_url;
    job->content_type = http_answer_field(answer, "content-type");
    job->content_location = http_answer_field(answer, "content-location");
    job->content_language = http_answer_field(answer, "content-language");
    job->link_field = joined_links(answer);
}

/* A redirection for now has lost the cursor: it is named again where that led. One for good gives
 * the record its new URL, which the next request is made of. */
static bool ask_there(struct job *job)
{
    struct follow_state *f = &job->follow;
    struct str url;

    if (!f->by_cursor || f->is_redirected || job->resp.moved ||
        job->resp.kind != RESPONSE_DOCUMENT || follow_has_since(job->arena, job->final_url))
        return false;
    f->is_redirected = true;
    url = follow_url(job->arena, job->final_url, job->asked_cursor, f->with_max ? FOLLOW_ITEMS : 0);
    if (!str_is_null(url))
        job->url = url;
    return !str_is_null(url);
}

/* The server does not like what the request says; a refusal that is not about that is an error. */
static bool is_refused(int status)
{
    static const int others[] = {401, 402, 403, 407, 408, 421, 423, 425, 429, 451};

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (status == others[i])
            return false;
    return status >= 400 && status < 500;
}

/* Ask in another way: for as many as the server likes, then without the cursor. */
static enum job_step ask_otherwise(struct job *job)
{
    struct follow_state *f = &job->follow;

    if (!f->by_cursor || (!is_refused(job->resp.status) && job->resp.rc != RC_LIMIT))
        return JOB_WORK;
    if (f->with_max) {
        f->no_max = true;
        return ask_behind(job, job->asked_cursor, false) ? JOB_SEND : JOB_WORK;
    }
    return is_refused(job->resp.status) ? ask_first_piece(job) : JOB_WORK;
}

enum job_step job_answered(struct job *job, enum rc rc, struct http_answer *answer,
                           const struct err *err)
{
    struct response resp =
        response_judge(job->arena, rc, answer, err, job->conditional, clock_now_s());

    take_answer(job, answer);
    /* the validators outlive the answer when another one follows */
    resp.etag = str_dup(job->arena, resp.etag);
    resp.last_modified = str_dup(job->arena, resp.last_modified);
    job->resp = resp;
    switch (job->target) {
    case JOB_FEED:
        if (ask_there(job) || ask_otherwise(job) == JOB_SEND)
            return JOB_SEND;
        if (resp.kind != RESPONSE_DOCUMENT && job_led_back(job) == JOB_SEND)
            return JOB_SEND;
        if ((resp.kind == RESPONSE_MISSING || resp.kind == RESPONSE_GONE) &&
            job->rec->page_url.len > 0 && !str_eq(job->rec->page_url, job->url)) {
            job->own = resp;
            ask(job, JOB_PAGE, job->rec->page_url);
            return JOB_SEND;
        }
        break;
    case JOB_PAGE:
        if (resp.kind != RESPONSE_DOCUMENT)
            job->resp = job->own;
        break;
    case JOB_ARCHIVE:
    case JOB_CONTENT:
        break;
    case JOB_CANDIDATE:
        if (job->guesses && (resp.kind == RESPONSE_BROKEN || resp.kind == RESPONSE_LIMITED))
            job->n_candidates = job->next_candidate; /* a site in trouble is left alone */
        if (resp.kind != RESPONSE_DOCUMENT)
            return job_next_candidate(job);
        break;
    case JOB_DELIVERY:
        break;
    }
    return JOB_WORK;
}
