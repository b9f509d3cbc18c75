/* fetcher/content.c - see content.h. */
#include "fetcher/content.h"

#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/stats.h"
#include "feed/json.h"
#include "fetcher/work_queue.h"
#include "net/url.h"

#define ROOM_WAIT_MS 5
#define TEXT_MAX ((size_t)64 * 1024)
#define CLOSED_RETRY_S 86400 /* an address that is closed here: no request was made */

bool content_is_wanted(unsigned reasons)
{
    return reasons == REASON_BIT(REASON_CONTENT);
}

static enum rc read_open(struct arena *a, const struct feed_record *rec, struct reader *r,
                         struct content_job *out, struct err *err)
{
    struct url_parts home;
    enum rc rc = reader_open_content(r, rec->id, clock_now_s(), a, &out->open, err);

    out->n_forms = 0;
    if (rc != RC_OK || out->open.entry_id == 0)
        return rc;
    if (json_read(a, out->open.doc, &out->entry, NULL) == RC_OK &&
        url_parse(a, rec->url, &home, NULL) == RC_OK)
        out->n_forms = record_forms(a, out->entry, home.host, out->forms);
    return RC_OK;
}

/* The canonical URL of the form that is its turn; null when there is none such. */
static struct str url_of(struct arena *a, const struct content_job *c)
{
    struct url_parts parts;

    if (c->open.entry_id == 0 || (size_t)c->open.form >= c->n_forms ||
        url_parse(a, c->forms[c->open.form].href, &parts, NULL) != RC_OK)
        return STR_NULL;
    return parts.url;
}

enum rc content_begin(struct job *job, struct feed_record *rec, struct reader *r, struct err *err)
{
    enum rc rc;

    job->content = ARENA_NEW(job->arena, struct content_job);
    rc = read_open(job->arena, rec, r, job->content, err);
    job_begin(job, rec);
    job->target = JOB_CONTENT;
    job->conditional = false;
    job->url = rc == RC_OK ? url_of(job->arena, job->content) : STR_NULL;
    if (rc == RC_OK && !str_is_null(job->url))
        job->accept = str_printf(job->arena, "%.*s, */*;q=0.1",
                                 STR_ARG(job->content->forms[job->content->open.form].type));
    return rc;
}

struct str content_authority(struct arena *a, const struct feed_record *rec, struct reader *r)
{
    struct content_job c;
    struct str url = STR_NULL;

    if (read_open(a, rec, r, &c, NULL) == RC_OK)
        url = url_of(a, &c);
    return url_authority(a, str_is_null(url) ? rec->url : url);
}

static struct str bounded(struct str s)
{
    if (s.len > TEXT_MAX)
        s.len = str_utf8_valid(str_of(s.ptr, TEXT_MAX));
    return s;
}

/* Add what came to the entry; false when it is nothing that can be. */
static bool take(struct arena *a, struct job *job, struct content_outcome *o)
{
    AUTO(buf_release) struct buf buf = BUF_INIT(LIMIT_ENTRY);
    struct content_job *c = job->content;
    struct parse_input in = {.body = job->body,
                             .url = job->final_url,
                             .content_type = job->content_type,
                             .content_location = job->content_location,
                             .content_language = job->content_language,
                             .raw_html = job->rec->raw_html};
    struct str ext = c->open.ext;

    if (!record_read(a, &in, c->forms[c->open.form].type, c->entry, &ext) || ext.len > LIMIT_ENTRY)
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

static enum content_answer judge(struct arena *a, struct job *job, struct content_outcome *o)
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

enum job_step content_run(const struct parse_worker *w, struct job *job)
{
    const struct timespec pause = {.tv_nsec = ROOM_WAIT_MS * 1000000L};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct content_job *c = job->content;
    struct content_outcome o = {.feed_id = job->feed_id,
                                .entry_id = c->open.entry_id,
                                .seq = c->open.seq,
                                .checked_at = clock_now_s(),
                                .form = c->open.form,
                                .n_forms = (int)c->n_forms,
                                .retry_after_s = -1,
                                .doc = STR(""),
                                .ext = STR(""),
                                .summary = STR_NULL,
                                .author = STR_NULL};
    enum rc rc;

    o.answer = judge(&a, job, &o);
    if (o.answer == ANSWER_CONTENT)
        stats_inc(STAT_contents_total);
    while ((rc = store_content_outcome(w->store, &o, w->stored, job)) == RC_FULL &&
           !atomic_load(w->give_up))
        nanosleep(&pause, NULL);
    return rc == RC_OK ? JOB_WORK : JOB_END;
}
