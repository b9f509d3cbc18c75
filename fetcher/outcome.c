/* fetcher/outcome.c - see outcome.h. */
#include "fetcher/outcome.h"

#include "base/buf.h"
#include "base/limits.h"
#include "feed/json.h"
#include "fetcher/work_queue.h"
#include "net/url.h"

#define TITLE_MAX ((size_t)64 * 1024)
#define MORE_S 10 /* there is more of a stream: asked for after it, where the job does not */

static struct str text_or_empty(struct str s)
{
    return str_is_null(s) ? STR("") : s;
}

static void write_head(struct arena *a, struct buf *buf, struct job *job,
                       const struct feed_doc *doc, struct value *feed)
{
    struct value *head = value_dict(a);

    value_setz(a, head, "feed", feed);
    value_set_textz(a, head, "version", doc->version);
    value_set_textz(a, head, "encoding", text_or_empty(doc->encoding));
    value_setz(a, head, "bozo", value_bool(a, doc->bozo));
    if (doc->bozo)
        value_set_textz(a, head, "bozo_exception", text_or_empty(doc->bozo_why));
    if (doc->namespaces != NULL)
        value_setz(a, head, "namespaces", doc->namespaces);
    value_set_textz(a, head, "href",
                    url_public(a, job->follow.by_cursor ? job_own_url(job) : job->final_url));
    json_write(buf, head);
}

/* The head's JSON. Facts of the one answer stand last, and do not count in the comparison with what
 * is stored: null when nothing else differs. */
static struct str head_json(struct arena *a, struct job *job, const struct feed_doc *doc,
                            struct str stored)
{
    AUTO(buf_release) struct buf buf = BUF_INIT(LIMIT_ENTRY);
    size_t core_len;

    write_head(a, &buf, job, doc, doc->feed);
    if (!buf_ok(&buf)) {
        struct value *less = value_dict(a);
        struct str title = value_get_textz(doc->feed, "title");

        if (!str_is_null(title) && title.len <= TITLE_MAX)
            value_set_textz(a, less, "title", title);
        buf_reset(&buf);
        write_head(a, &buf, job, doc, less);
    }
    if (!buf_ok(&buf) || buf.len == 0)
        return STR_NULL;
    core_len = --buf.len; /* without the closing brace */
    if (stored.len > core_len && memcmp(stored.ptr, buf.ptr, core_len) == 0 &&
        (stored.ptr[core_len] == '}' ||
         str_starts(str_slice(stored, core_len, stored.len), STR(",\"status\":"))))
        return STR_NULL;
    buf_printf(&buf, ",\"status\":%d", job->resp.status);
    if (!str_is_null(job->resp.etag)) {
        buf_puts(&buf, ",\"etag\":");
        json_write_text(&buf, job->resp.etag);
    }
    if (!str_is_null(job->resp.last_modified)) {
        buf_puts(&buf, ",\"modified\":");
        json_write_text(&buf, job->resp.last_modified);
    }
    buf_puts(&buf, "}");
    return buf_ok(&buf) ? str_dup(a, buf_view(&buf)) : STR_NULL;
}

static struct str bounded(struct str s)
{
    if (s.len > TITLE_MAX)
        s.len = str_utf8_valid(str_of(s.ptr, TITLE_MAX));
    return text_or_empty(s);
}

/* The page of the feed, canonical; empty when its link is no web address (an id may stand there).
 */
static struct str site_of(struct arena *a, const struct feed_doc *doc)
{
    struct url_parts parts;

    return url_parse(a, value_get_textz(doc->feed, "link"), &parts, NULL) == RC_OK ? parts.url
                                                                                   : STR("");
}

void outcome_past(struct arena *a, const struct job *job, const struct feed_doc *doc,
                  const struct feed_history *history, struct doc_past *out)
{
    bool whole = !doc->broken && doc->n_cut == 0 && !job->resp.partial;
    struct doc_grave *graves;
    struct url_parts older;

    *out = (struct doc_past){.older = STR_NULL,
                             .whole = whole,
                             .records = history->records,
                             .oldest = history->oldest,
                             .newest = history->newest};
    /* a document that leads to itself leads nowhere */
    if (!str_is_null(history->older) && url_parse(a, history->older, &older, NULL) == RC_OK &&
        !str_eq(older.url, job->url) && !str_eq(older.url, job->final_url) &&
        (job->is_led || !str_eq(older.url, job->rec->url)))
        out->older = older.url;
    if (str_is_null(out->older))
        return;
    graves = ARENA_ARRAY(a, struct doc_grave, doc->n_tombstones + 1);
    for (size_t i = 0; i < doc->n_tombstones; i++)
        if (doc->tombstones[i].when_at != TIME_UNKNOWN && doc->tombstones[i].ref.len > 0)
            graves[out->n_graves++] =
                (struct doc_grave){doc->tombstones[i].ref, doc->tombstones[i].when_at * 1000000 +
                                                               doc->tombstones[i].when_us};
    out->graves = graves;
}

static bool is_stream(const struct findings *found)
{
    return found->piece.known && !str_is_null(found->piece.cursor);
}

static void fill_document(struct arena *a, struct job *job, const struct feed_record *fresh,
                          const struct findings *found, struct fetch_outcome *o)
{
    const struct feed_doc *doc = found->doc;
    struct str ext = doc->ext.len > LIMIT_ENTRY ? STR("") : text_or_empty(doc->ext);

    o->has_document = true;
    o->piece = found->piece;
    /* a piece without items may not say whose it is */
    if (!is_stream(found) || fresh->head.len == 0 || doc->n_entries > 0) {
        o->head = head_json(a, job, doc, fresh->head);
        o->head_ext = str_eq(ext, fresh->ext) ? STR_NULL : ext;
        o->title = bounded(value_get_textz(doc->feed, "title"));
        o->site_url = site_of(a, doc);
    }
    o->changes = found->changes;
    o->n_changes = found->n_changes;
    o->complete = found->complete;
    o->past = found->past;
    o->has_identity = found->diff.policy_changed;
    o->identity = found->diff.policy;
    if (is_stream(found)) {
        o->etag = o->last_modified = STR("");
    } else if (!job->resp.partial && !job->is_back) {
        o->has_body_hash = true;
        memcpy(o->body_hash, found->body_hash, sizeof o->body_hash);
    }
}

/* Where the feed lives from now on: known only from a document that was understood there. */
static void fill_url(struct arena *a, struct job *job, const struct feed_record *fresh,
                     struct fetch_outcome *o)
{
    struct str *aliases = ARENA_ARRAY(a, struct str, 3);
    struct str url = job_own_url(job), asked = job->follow.by_cursor ? job->base : job->url;

    o->aliases = aliases;
    if (job->target == JOB_CANDIDATE)
        o->page_url = job->page;
    else if (str_is_null(fresh->page_url) && !str_is_null(fresh->credential) &&
             !job_may_identify(fresh, url))
        return; /* the credential would go to another host */
    if (job->target == JOB_FEED && !str_eq(asked, fresh->url) &&
        !(job->is_led && str_eq(job->rec->url, fresh->url)))
        return; /* the record has moved since the job began: it knows better */
    if (str_eq(url, fresh->url))
        return;
    o->url = url;
    aliases[o->n_aliases++] = fresh->url;
    if (!str_eq(asked, url) && !str_eq(asked, fresh->url))
        aliases[o->n_aliases++] = asked;
}

bool outcome_has_news(const struct findings *found)
{
    for (size_t i = 0; i < found->n_changes; i++)
        if (!found->changes[i].volatile_only)
            return true;
    return false;
}

/* What this poll says of the feed's hub, whose lease is good: one that did not tell of an update is
 * not trusted until it delivers. A ping may have been faster than the hub. */
static void judge_hub(const struct job *job, const struct feed_record *fresh,
                      const struct findings *found, struct fetch_outcome *o)
{
    bool pinged = (job->reasons & REASON_BIT(REASON_PING)) != 0;

    o->trust = o->trust_was = fresh->upstream.trust;
    if (!o->ok || !job_has_document(job))
        return;
    if (outcome_has_news(found) && !pinged && (fresh->cursor_state & CURSOR_FIRST) == 0)
        o->trust = -1;
    else if (o->trust >= 0 && o->trust < TRUST_FULL)
        o->trust++;
}

static bool hub_works(const struct feed_record *rec, int64_t now)
{
    return rec->upstream.hub.len > 0 && rec->upstream.state == UPSTREAM_ACTIVE &&
           rec->upstream.lease_end_at > now;
}

/* What is left of a stream is not waited for: the next piece, where something came with this job,
 * and the first ones after a failure, as documents of a feed's past are. */
static void hurry_stream(const struct job *job, const struct feed_record *fresh,
                         const struct findings *found, struct fetch_outcome *o, int64_t now)
{
    bool is_first = (fresh->cursor_state & CURSOR_FIRST) != 0;
    bool again = found->piece.is_refused && (fresh->cursor_state & CURSOR_REFUSED) == 0;
    int64_t wait_s = MORE_S;

    if (!o->ok)
        wait_s = (int64_t)2 << (o->n_errors < 15 ? o->n_errors : 15);
    if (o->next_fetch_at == TIME_UNKNOWN || o->next_fetch_at <= now + wait_s)
        return;
    if (o->ok ? again || (found->piece.more && job->follow.brings_news) : is_first) {
        o->next_fetch_at = now + wait_s;
        o->next_reason = o->ok ? REASON_PERIOD : REASON_BACKOFF;
    }
}

static void fill_schedule(const struct job *job, const struct feed_record *fresh,
                          const struct findings *found, int64_t now, struct fetch_outcome *o)
{
    bool pinged = (job->reasons & REASON_BIT(REASON_PING)) != 0;
    bool is_first = (fresh->cursor_state & CURSOR_FIRST) != 0;
    bool updated = job_has_document(job) && !is_first && outcome_has_news(found);
    int level = schedule_level(fresh->level, pinged, updated);
    struct schedule_facts facts = {
        .event = SCHEDULE_OK,
        .now = now,
        .started_at = job->started_at,
        .feed_id = job->feed_id,
        .level = level,
        .period_s = fresh->period_s,
        .n_errors = o->n_errors,
        .retry_after_s = job->resp.retry_after_s,
        .hints = o->has_document ? o->hints : fresh->hints,
        .n_subscriptions = fresh->n_subscriptions,
        .wanted_at = fresh->wanted_at,
        .hub_trust = -1,
    };
    struct schedule_decision next;

    if (hub_works(fresh, now)) {
        judge_hub(job, fresh, found, o);
        facts.hub_trust = o->trust;
    }
    /* whoever had the record made wants it, too */
    if ((job->reasons & REASON_BIT(REASON_READER)) != 0 || fresh->last_check_at == TIME_UNKNOWN)
        facts.wanted_at = now;
    if (job->resp.max_age_s >= 0)
        facts.hints.max_age_s = job->resp.max_age_s;
    if (job->outage)
        facts.event = SCHEDULE_OUTAGE;
    else if (job->resp.kind == RESPONSE_GONE)
        facts.event = SCHEDULE_GONE;
    else if (job->resp.kind == RESPONSE_LIMITED && job->resp.retry_after_s >= 0)
        facts.event = SCHEDULE_LIMITED;
    else if (!o->ok)
        facts.event = SCHEDULE_ERROR;
    next = schedule_next(&job->rules, &facts);
    o->level = level == fresh->level ? LEVEL_KEEP : level;
    o->next_fetch_at = next.next_at;
    o->next_reason = next.reason;
    if (facts.event == SCHEDULE_OK || facts.event == SCHEDULE_ERROR)
        hurry_stream(job, fresh, found, o, now);
}

/* A delivery brings entries. Head, validators and times are those of the last poll. */
static void fill_delivery(const struct job *job, const struct feed_record *fresh,
                          const struct findings *found, int64_t now, struct fetch_outcome *o)
{
    *o = (struct fetch_outcome){
        .feed_id = job->feed_id,
        .is_delivery = true,
        .checked_at = now,
        .ok = true,
        .has_document = true,
        .past = {.older = STR_NULL, .records = found->past.records},
        .hints = fresh->hints,
        .raw_html = job->rec->raw_html,
        .changes = found->changes,
        .n_changes = found->n_changes,
        .has_identity = found->diff.policy_changed,
        .identity = found->diff.policy,
        .piece = found->piece,
    };
}

void outcome_fill(struct arena *a, struct job *job, const struct feed_record *fresh,
                  const struct findings *found, int64_t now, struct fetch_outcome *o)
{
    if (job->target == JOB_DELIVERY) {
        fill_delivery(job, fresh, found, now, o);
        return;
    }
    *o = (struct fetch_outcome){
        .feed_id = job->feed_id,
        .checked_at = now,
        .ok = found->same || found->doc != NULL || job->resp.kind == RESPONSE_NOT_MODIFIED,
        .status = job->resp.status,
        .raw_html = job->rec->raw_html,
        .archive = STR_NULL,
        .past = {.older = STR_NULL},
        .n_pings = job->rec->n_pings,
    };
    if (o->ok) {
        o->state = FEED_OK;
        o->n_errors = 0;
        /* a 304 may leave validators out; a 200 without them has none */
        o->etag = job->resp.etag;
        o->last_modified = job->resp.last_modified;
        if (job->is_back) /* next time it is read again, and leads to the feed */
            o->etag = o->last_modified = STR_NULL;
        if (job->resp.kind == RESPONSE_DOCUMENT) {
            o->etag = text_or_empty(o->etag);
            o->last_modified = text_or_empty(o->last_modified);
            fill_url(a, job, fresh, o);
        }
    } else {
        o->error = job->resp.text;
        o->n_errors = fresh->n_errors + (job->outage ? 0 : 1);
        o->state = job->resp.kind == RESPONSE_GONE ? FEED_GONE
                   : job_has_document(job)         ? FEED_FAILING
                                                   : FEED_NEW;
        if (job->outage)
            o->state = fresh->state;
    }
    if (found->doc != NULL) {
        o->hints = (struct doc_hint_row){
            .max_age_s = job->resp.max_age_s > 0 ? job->resp.max_age_s : 0,
            .ttl_s = found->doc->hints.ttl_s,
            .sy_period_s = found->doc->hints.sy_period_s,
            .skip_hours = found->doc->hints.skip_hours,
            .skip_days = found->doc->hints.skip_days,
        };
        fill_document(a, job, fresh, found, o);
    }
    fill_schedule(job, fresh, found, now, o);
    job->rc = o->ok ? RC_OK : job->resp.rc;
    job->status = job->resp.status;
    job->text = job->resp.text;
}
