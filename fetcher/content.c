/* fetcher/content.c - the source "content": the content of one metadata record (Atom-PMH).
 *
 * A harvest does not wait for contents. Entries are stored as the feed has them, and the database
 * has a row with a due time for each content that is still to be fetched. A job asks for one
 * alternate of one metadata record. It uses the slot of the feed, in a class of its own: contents
 * come after all fetches of feeds, one at a time per host and with a gap between them. The answer
 * is stored, and the commit notice says when the next content is due. */
#include "fetcher/content.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/stats.h"
#include "feed/text/json.h"
#include "feed/lists/metadata.h"
#include "fetcher/reading.h"
#include "net/url.h"

#define TEXT_MAX ((size_t)64 * 1024)
#define CLOSED_RETRY_S 86400 /* the guard forbids the address, so no request was made */

struct content {
    struct pending_content pending; /* entry_id 0: nothing is pending */
    struct value *entry;            /* the entry as it is stored now */
    struct metadata_alternate alternates[METADATA_ALTERNATES_MAX];
    size_t n_alternates;
};

static struct content *state_of(const struct job *job)
{
    return job->states[SOURCE_ID_content];
}

static const struct metadata_alternate *alternate_of(const struct content *c)
{
    return &c->alternates[c->pending.form];
}

/* ---- where it is asked: before it is queued -------------------------------------------------- */

static enum rc read_pending(struct arena *a, int64_t feed_id, struct str feed_url, struct reader *r,
                            struct content *out, struct err *err)
{
    struct url_parts home;
    enum rc rc = reader_pending_content(r, feed_id, clock_now_s(), a, &out->pending, err);

    out->n_alternates = 0;
    if (rc != RC_OK || out->pending.entry_id == 0)
        return rc;
    if (json_read(a, out->pending.doc, &out->entry, NULL) == RC_OK &&
        url_parse(a, feed_url, &home, NULL) == RC_OK)
        out->n_alternates = metadata_alternates(a, out->entry, home.host, out->alternates);
    return RC_OK;
}

/* Returns the canonical URL of the alternate that is next; null when there is none. */
static struct str url_of(struct arena *a, const struct content *c)
{
    struct url_parts parts;

    if (c->pending.entry_id == 0 || (size_t)c->pending.form >= c->n_alternates ||
        url_parse(a, alternate_of(c)->href, &parts, NULL) != RC_OK)
        return STR_NULL;
    return parts.url;
}

struct str content_host(struct arena *a, int64_t feed_id, struct str feed_url, struct reader *r)
{
    struct str url = STR_NULL;
    struct content c;

    if (r != NULL && read_pending(a, feed_id, feed_url, r, &c, NULL) == RC_OK)
        url = url_of(a, &c);
    return url_authority(a, str_is_null(url) ? feed_url : url);
}

/* ---- what is asked --------------------------------------------------------------------------- */

static enum job_step begin(struct job *job, struct reader *r)
{
    struct content *c = ARENA_NEW(job->arena, struct content);
    struct err err = ERR_INIT;

    job->states[SOURCE_ID_content] = c;
    job->rc = read_pending(job->arena, job->feed_id, job->feed->url, r, c, &err);
    if (job->rc != RC_OK ||
        c->pending.entry_id == 0) /* it is done already, or not needed any more */
        return STEP_END;
    job_ask(job, url_of(job->arena, c));
    return str_is_null(job->url) ? STEP_UNDERSTAND : STEP_QUEUE;
}

static void request(struct job *job, struct http_field *fields, struct http_call *call)
{
    fields[call->n_fields++] =
        (struct http_field){STR("Accept"), str_printf(job->arena, "%.*s, */*;q=0.1",
                                                      STR_ARG(alternate_of(state_of(job))->type))};
}

static enum job_step answered(struct job *job UNUSED)
{
    return STEP_UNDERSTAND;
}

/* ---- what it means --------------------------------------------------------------------------- */

static struct str bounded(struct str s)
{
    if (s.len > TEXT_MAX)
        s.len = str_utf8_valid(str_of(s.ptr, TEXT_MAX));
    return s;
}

/* Add the answer to the entry. False: the answer cannot be added. */
static bool take(struct arena *a, const struct job *job, struct content_outcome *o)
{
    AUTO(buf_release) struct buf buf = BUF_INIT(LIMIT_ENTRY);
    struct content *c = state_of(job);
    struct parse_input in = {.body = job->body,
                             .url = job->final_url,
                             .content_type = job->content_type,
                             .content_location = job->content_location,
                             .content_language = job->content_language,
                             .raw_html = job->feed->raw_html};
    struct str ext = c->pending.ext;

    if (!metadata_read(a, &in, alternate_of(c)->type, c->entry, &ext) || ext.len > LIMIT_ENTRY)
        return false;
    json_write(&buf, c->entry);
    if (!buf_ok(&buf))
        return false;
    o->doc = str_dup(a, buf_view(&buf));
    o->ext = ext;
    o->summary = bounded(value_get_textz(c->entry, "summary"));
    o->author = bounded(value_get_textz(c->entry, "author"));
    return true;
}

static enum content_answer judge(struct arena *a, const struct job *job, struct content_outcome *o)
{
    const struct response *resp = &job->resp;

    if (str_is_null(job->url))
        return ANSWER_OTHER;
    if (resp->kind == RESPONSE_DOCUMENT)
        return take(a, job, o) ? ANSWER_CONTENT : ANSWER_OTHER;
    if (resp->status == 403 || resp->status == 404 || resp->status == 410)
        return ANSWER_GONE;
    if (resp->rc == RC_LIMIT)
        return ANSWER_OTHER;
    o->is_ours = job->outage;
    o->is_lone = resp->rc == RC_DENIED;
    o->retry_after_s = resp->rc == RC_DENIED ? CLOSED_RETRY_S : resp->retry_after_s;
    return ANSWER_OPEN;
}

static enum job_step understand(const struct parse_worker *w, struct job *job)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct content *c = state_of(job);
    struct content_outcome o = {.feed_id = job->feed_id,
                                .entry_id = c->pending.entry_id,
                                .seq = c->pending.seq,
                                .checked_at = clock_now_s(),
                                .form = c->pending.form,
                                .n_forms = (int)c->n_alternates,
                                .retry_after_s = -1,
                                .secrets = job->feed->secrets,
                                .doc = STR(""),
                                .ext = STR(""),
                                .summary = STR_NULL,
                                .author = STR_NULL};
    enum rc rc;

    o.answer = judge(&a, job, &o);
    if (o.answer == ANSWER_CONTENT)
        stats_inc(STAT_contents_total);
    STORE_OUTCOME(rc, w, content, &o, job);
    if (rc == RC_OK)
        return STEP_AWAY;
    job->rc = rc;
    return STEP_END;
}

static void stored(struct job *job, enum rc rc, const struct store_result *res,
                   const struct err *err UNUSED)
{
    job->rc = rc;
    job->wants_feed = rc == RC_OK && res->wants_feed;
}

const struct source source_content = {
    .name = "content",
    .body_max = LIMIT_FETCH_CONTENT,
    .is_aside = true,
    .begin = begin,
    .request = request,
    .answered = answered,
    .understand = understand,
    .stored = stored,
};
