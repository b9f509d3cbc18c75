/* fetcher/job.c - see job.h. */
#include "fetcher/job.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"
#include "fetcher/source.h"
#include "net/url.h"

#define ACCEPT                                                                                     \
    "application/atom+xml, application/rss+xml, application/feed+json, "                           \
    "application/rdf+xml;q=0.9, "                                                                  \
    "application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, text/html;q=0.4, */*;q=0.1"

#define DOUBT_AFTER_S (7 * 86400)
#define DOUBT_ONE_IN 50
#define LINK_FIELDS 8 /* of one answer */
#define RETRY_MS 60000
/* The database is away. If it stays away, this node soon owns nothing and fetches nothing. */
#define AGAIN_RETRY_MS 5000

struct job *job_new(void *owner, const struct source *source, int64_t feed_id, unsigned reasons,
                    const struct schedule_rules *rules)
{
    struct job *job = NEW(struct job);

    job->arena = arena_new();
    job->owner = owner;
    job->source = source;
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
    ASSERT(job->room == 0); /* it would be taken for ever */
    arena_free(&job->answer_arena);
    arena_free(&job->feed_arena);
    arena_free(&job->own_arena);
    arena_free(&job->arena);
    mem_free(job);
    *jp = NULL;
}

const char *job_step_name(enum job_step step)
{
    static const char *const names[] = {
#define STEP(NAME, name, meaning) [STEP_##NAME] = #name,
#include "fetcher/steps.def"
#undef STEP
        [STEP_AWAY] = "away",
    };

    return names[step];
}

void job_drop_body(struct job *job)
{
    job->body = STR("");
    job->content_type = str_dup(job->arena, job->content_type);
    job->content_location = str_dup(job->arena, job->content_location);
    job->content_language = str_dup(job->arena, job->content_language);
    arena_free(&job->answer_arena);
}

enum rc job_read_feed(struct job *job, struct store *store, struct reader *r, struct arena *a,
                      struct err *err)
{
    struct feed_brief brief;
    struct feed *row;
    enum rc rc;

    /* read before the row, so that a change in between is noticed */
    if (!store_brief(store, job->feed_id, &brief))
        return err_set(err, RC_NOT_FOUND, "this feed does not exist any more");
    rc = reader_feed(r, job->feed_id, a, &row, err);
    if (rc == RC_OK)
        job->loaded = (struct loaded_feed){row, brief.fetched, brief.edition};
    return rc;
}

void job_unseal(struct job *job, struct store *store)
{
    struct err err = ERR_INIT;
    struct str text = STR_NULL;
    enum rc rc = store_unseal(store, job->feed->credential, job->arena, &job->credential, &err);

    if (rc == RC_OK)
        rc = store_unseal(store, job->feed->secrets, job->arena, &text, &err);
    if (rc == RC_OK)
        rc = fetch_secrets_read(job->arena, text, &job->secrets, &err);
    if (rc != RC_OK)
        job->refusal =
            str_printf(job->arena,
                       "not asked: the password, or what else is sent with its fetches, cannot be "
                       "read: %s",
                       err.text);
}

bool job_has_document(const struct job *job)
{
    return job->feed->has_body_hash || job->feed->head.len > 0;
}

bool job_is_in_doubt(const struct job *job)
{
    unsigned char dice;

    if (job->feed->last_change_at == TIME_UNKNOWN ||
        job->started_at - job->feed->last_change_at < DOUBT_AFTER_S)
        return false;
    digest_random(&dice, sizeof dice);
    return dice < 256 / DOUBT_ONE_IN;
}

bool job_may_identify(const struct feed *feed, struct str url)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct url_parts given, asked;

    if (str_is_null(feed->credential))
        return false;
    if (url_parse(&a, feed->page_url.len > 0 ? feed->page_url : feed->url, &given, NULL) != RC_OK ||
        url_parse(&a, url, &asked, NULL) != RC_OK || !str_eq(given.host, asked.host))
        return false;
    if (str_eq(given.scheme, asked.scheme))
        return given.port == asked.port;
    return str_eqz(asked.scheme, "https") && given.port == 80 && asked.port == 443;
}

/* ---- the request ----------------------------------------------------------------------------- */

static void add_field(struct http_call *call, struct http_field *fields, struct str name,
                      struct str value)
{
    fields[call->n_fields++] = (struct http_field){name, value};
}

struct str job_validators_url(const struct job *job)
{
    return job->feed->validators_url.len > 0 ? job->feed->validators_url : job->feed->url;
}

void job_request(struct job *job, struct http_field *fields, struct http_call *call)
{
    const struct feed *feed = job->feed;

    add_field(call, fields, STR("Accept"), STR(ACCEPT));
    if (!job->conditional)
        return;
    call->conditional_url = job_validators_url(job);
    if (feed->etag.len > 0) {
        add_field(call, fields, STR("If-None-Match"), feed->etag);
        add_field(call, fields, STR("A-IM"), STR("feed"));
    }
    if (feed->last_modified.len > 0)
        add_field(call, fields, STR("If-Modified-Since"), feed->last_modified);
}

/* The field that carries it. False: it is not sent as one. */
static bool own_field(struct arena *a, const struct fetch_secret *s, struct http_field *out)
{
    if (str_starts(s->name, STR(FETCH_FIELD_PREFIX)))
        *out = (struct http_field){
            str_slice(s->name, sizeof FETCH_FIELD_PREFIX - 1, s->name.len), s->value};
    else if (str_eqz(s->name, "user_agent"))
        *out = (struct http_field){STR("User-Agent"), s->value};
    else if (str_eqz(s->name, "cookie"))
        *out = (struct http_field){STR("Cookie"), s->value};
    else if (str_eqz(s->name, "bearer"))
        *out = (struct http_field){STR("Authorization"),
                                   str_printf(a, "Bearer %.*s", STR_ARG(s->value))};
    else
        return false;
    return true;
}

/* They go to the origin for which they were given. A feed that has moved elsewhere is not there any
 * more. The feed's own fields stand before ours, as struct http_call has it. With one for authorization,
 * the credential of the URL is not sent. */
static void add_own_fields(struct job *job, struct http_field *fields, struct http_call *call)
{
    if (!url_same_origin(job->secrets.home, job->url))
        return;
    for (size_t i = 0; i < job->secrets.n; i++) {
        struct http_field *field = &fields[call->n_fields];

        if (!own_field(job->arena, &job->secrets.all[i], field))
            continue;
        if (str_ieqz(field->name, "authorization"))
            call->credential = STR_NULL;
        call->n_own = ++call->n_fields;
    }
}

void job_call(struct job *job, const char *user_agent, struct http_field fields[JOB_FIELDS],
              struct http_call *call)
{
    const struct feed *feed = job->feed;

    *call = (struct http_call){
        .method = STR("GET"),
        .url = job->url,
        .credential = job_may_identify(feed, job->url) ? job->credential : STR_NULL,
        .proxy = fetch_secrets_value(&job->secrets, STR("proxy")),
        .fields = fields,
        .user_agent = str_printf(job->arena, "%s; %d subscriber%s)", user_agent,
                                 feed->n_subscriptions, feed->n_subscriptions == 1 ? "" : "s"),
        .max_redirects = LIMIT_FETCH_REDIRECTS,
        .max_header = LIMIT_FETCH_HEADER,
    };
    add_own_fields(job, fields, call);
    job->source->request(job, fields, call);
}

enum job_step job_ask(struct job *job, struct str url)
{
    job->url = str_dup(job->arena, url); /* the URL may be in a row that is read again and freed */
    job->conditional = false;
    return STEP_QUEUE;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Join the first Link fields of an answer into one. */
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

static void take_document(struct job *job, struct http_answer *answer)
{
    arena_free(&job->answer_arena);
    job->answer_arena = answer->arena;
    job->body = answer->body;
    job->final_url = str_dup(job->arena, answer->final_url); /* needed after the body is freed */
    job->content_type = http_answer_field(answer, "content-type");
    job->content_location = http_answer_field(answer, "content-location");
    job->content_language = http_answer_field(answer, "content-language");
    job->link_field = joined_links(answer);
}

void job_take_answer(struct job *job, enum rc rc, struct http_answer *answer, const struct err *err)
{
    bool was_asked = job->conditional && url_same_path(answer->final_url, job_validators_url(job));
    struct response resp =
        response_judge(job->arena, rc, answer, err, was_asked, clock_now_s());

    take_document(job, answer);
    /* the validators outlive the answer when another one follows */
    resp.etag = str_dup(job->arena, resp.etag);
    resp.last_modified = str_dup(job->arena, resp.last_modified);
    job->resp = resp;
}

/* ---- the end --------------------------------------------------------------------------------- */

void job_fail(struct job *job, enum rc rc, struct str text)
{
    job->resp.kind = RESPONSE_ERROR;
    job->resp.rc = rc;
    job->resp.text = str_dup(job->arena, text);
}

enum job_step job_give_back(struct job *job, enum rc rc, const struct err *err)
{
    bool is_told = err != NULL && err->text[0] != '\0';

    job->rc = rc;
    job->text = str_dup(job->arena, str_from(is_told ? err->text : rc_meaning(rc)));
    job->retry_ms = rc == RC_AGAIN ? AGAIN_RETRY_MS : RETRY_MS;
    return STEP_END;
}
