/* fetcher/check.c - see check.h. */
#include "fetcher/check.h"

#include <math.h>

#include "base/buf.h"
#include "base/limits.h"
#include "feed/text/json.h"
#include "feed/text/utf8.h"
#include "feed/words/entry_facts.h"
#include "fetcher/budget.h"
#include "fetcher/moves.h"
#include "fetcher/work_queue.h"
#include "net/url.h"

#define TITLE_MAX ((size_t)64 * 1024)

/* ---- the head -------------------------------------------------------------------------------- */

static struct str text_or_empty(struct str s)
{
    return str_is_null(s) ? STR("") : s;
}

static void write_head(struct arena *a, struct buf *buf, struct str href,
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
    value_set_textz(a, head, "href", url_public(a, href));
    json_write(buf, head);
}

/* Returns the head's JSON, or null when it is the same as the stored one. Members that come from
 * this answer alone are written last and are not compared. */
static struct str head_json(struct arena *a, const struct job *job, const struct feed_doc *doc,
                            struct str href, struct str stored)
{
    AUTO(buf_release) struct buf buf = BUF_INIT(LIMIT_ENTRY);
    size_t core_len;

    write_head(a, &buf, href, doc, doc->feed);
    if (!buf_ok(&buf)) {
        struct value *less = value_dict(a);
        struct str title = value_get_textz(doc->feed, "title");

        if (!str_is_null(title) && title.len <= TITLE_MAX)
            value_set_textz(a, less, "title", title);
        buf_reset(&buf);
        write_head(a, &buf, href, doc, less);
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
        json_write_text(&buf, utf8_of(a, job->resp.etag));
    }
    if (!str_is_null(job->resp.last_modified)) {
        buf_puts(&buf, ",\"modified\":");
        json_write_text(&buf, utf8_of(a, job->resp.last_modified));
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

/* Returns the canonical URL of the feed's site. Empty when the feed's link is not a web address: it
 * may be an id. */
static struct str site_of(struct arena *a, const struct feed_doc *doc)
{
    struct url_parts parts;

    return url_parse(a, value_get_textz(doc->feed, "link"), &parts, NULL) == RC_OK ? parts.url
                                                                                   : STR("");
}

void check_head(struct arena *a, const struct job *job, const struct feed *fresh,
                const struct feed_doc *doc, struct str href, struct doc_head *o)
{
    struct str ext = doc->ext.len > LIMIT_ENTRY ? STR("") : text_or_empty(doc->ext);

    o->json = head_json(a, job, doc, href, fresh->head);
    o->ext = str_eq(ext, fresh->ext) ? STR_NULL : ext;
    o->speaks_anew = !str_is_null(o->json) &&
                     (fresh->head.len == 0 || !head_facts_same(a, o->json, fresh->head));
    o->title = bounded(value_get_textz(doc->feed, "title"));
    o->site_url = site_of(a, doc);
}

/* ---- where the feed lives -------------------------------------------------------------------- */

/* Note a permanent redirect of the feed's own URL. Returns true when it is believed. Validators of
 * the old URL prove nothing at the new one: a page that is older than the feed answers them with
 * 304. So they are forgotten until a document was understood there. */
static bool believes_move(const struct feed *fresh, struct str to, struct feed_check *o)
{
    bool was_read = fresh->move.n > 0 && str_eq(fresh->move.to, to);

    o->move = move_seen(&fresh->move, to, o->checked_at, o->status != 304 || was_read);
    if (o->move.n == 0)
        o->etag = o->last_modified = STR("");
    return o->move.n > 0 && (move_is_plain(fresh, to) || move_is_sure(&o->move, o->checked_at));
}

/* The feed's URL is taken over only when a document was understood there. */
static void fill_url(struct arena *a, const struct feed *fresh, const struct found_at *at,
                     struct feed_check *o)
{
    struct str *aliases = ARENA_ARRAY(a, struct str, 3);

    o->aliases = aliases;
    o->page_url = at->page_url;
    if (str_is_null(at->page_url) && str_is_null(fresh->page_url) &&
        !str_is_null(fresh->credential) && !job_may_identify(fresh, at->url))
        return; /* the credential would go to another host */
    if (!str_is_null(fresh->secrets) && !url_same_origin(fresh->url, at->url))
        return; /* there what was given for it would not be sent any more */
    o->move = fresh->move;
    if (!str_is_null(at->for_url) && !str_eq(at->for_url, fresh->url))
        return; /* the feed has moved since the job began, so its row is newer than this answer */
    if (str_eq(at->asked, fresh->url) && !str_eq(at->url, fresh->url) &&
        !believes_move(fresh, at->url, o))
        return;
    o->move = (struct feed_move){.since = TIME_UNKNOWN};
    if (str_eq(at->url, fresh->url))
        return;
    o->url = at->url;
    aliases[o->n_aliases++] = fresh->url;
    if (!str_eq(at->asked, at->url) && !str_eq(at->asked, fresh->url))
        aliases[o->n_aliases++] = at->asked;
}

void check_keep_date(struct store *store, const struct feed *fresh, struct feed_check *o)
{
    struct feed_brief target;

    if (str_is_null(o->url) || !store_find_feed(store, o->url, fresh->credential, &target) ||
        target.id == o->feed_id || target.next_fetch_at == TIME_UNKNOWN)
        return;
    if (o->next_fetch_at == TIME_UNKNOWN || target.next_fetch_at < o->next_fetch_at) {
        o->next_fetch_at = target.next_fetch_at;
        o->next_reason = REASON_PERIOD;
    }
}

/* ---- when it is asked next ------------------------------------------------------------------- */

static bool upstream_works(const struct feed *feed, int64_t now)
{
    return feed->upstream.hub.len > 0 && feed->upstream.state == UPSTREAM_ACTIVE &&
           feed->upstream.lease_end_at > now;
}

/* Returns true when the upstream cloud has announced what this fetch may find. */
static bool is_announced(const struct job *job, const struct feed *fresh)
{
    const struct upstream *u = &fresh->upstream;

    return u->protocol != HUB_WEBSUB && (job->reasons & REASON_BIT(REASON_PING)) != 0 &&
           u->delivered_at != TIME_UNKNOWN && u->delivered_at >= fresh->last_check_at;
}

/* Judge the feed's upstream hub or cloud, whose lease has not ended. If it did not tell of an
 * update, it is not trusted until it delivers again. After a ping, news do not count against it,
 * because the ping may have been faster. A cloud is trusted when news followed its announcement; an
 * announcement without news says nothing for it. */
static void judge_upstream(const struct job *job, const struct feed *fresh, bool has_news,
                           struct feed_check *o)
{
    bool pinged = (job->reasons & REASON_BIT(REASON_PING)) != 0;

    if (!o->ok || !job_has_document(job))
        return;
    if (is_announced(job, fresh))
        o->trust = has_news ? TRUST_FULL : o->trust;
    else if (has_news && !pinged && (fresh->cursor_state & CURSOR_FIRST) == 0)
        o->trust = -1;
    else if (o->trust >= 0 && o->trust < TRUST_FULL)
        o->trust++;
}

static enum schedule_event event_of(const struct job *job, const struct feed_check *o)
{
    if (job->outage)
        return SCHEDULE_OUTAGE;
    if (o->state == FEED_GONE)
        return SCHEDULE_ASLEEP;
    if (job->resp.kind == RESPONSE_GONE)
        return SCHEDULE_GONE;
    /* one that refuses again, and does not say for how long, is left alone as after other errors */
    if (job->resp.kind == RESPONSE_LIMITED && (job->resp.retry_after_s >= 0 || o->n_errors <= 1))
        return SCHEDULE_LIMITED;
    return o->ok ? SCHEDULE_OK : SCHEDULE_ERROR;
}

struct doc_hint_row check_hints(const struct job *job, const struct feed_doc *doc)
{
    return (struct doc_hint_row){
        .max_age_s = job->resp.max_age_s > 0 ? job->resp.max_age_s : 0,
        .ttl_s = doc->hints.ttl_s,
        .sy_period_s = doc->hints.sy_period_s,
        .skip_hours = doc->hints.skip_hours,
        .skip_days = doc->hints.skip_days,
    };
}

/* Entries that the feed's hub has delivered since the last document are known when this one shows them. They
 * count by their dates, and nothing can have been lost. A cloud delivers none. */
static void add_delivered(const struct feed *fresh, const struct pace *p, struct sight *s)
{
    int64_t n = 0;

    if (fresh->upstream.hub.len == 0 || fresh->upstream.protocol != HUB_WEBSUB || p->seen_at == TIME_UNKNOWN ||
        fresh->upstream.delivered_at == TIME_UNKNOWN || fresh->upstream.delivered_at < p->seen_at)
        return;
    for (size_t i = 0; i < s->n_dates; i++)
        n += s->dates[i] > p->seen_at && s->dates[i] <= s->at;
    if (n <= s->n_new)
        return;
    s->n_new = n;
    s->n_shown = 0;
}

/* Without a budget it is the price at which the usual rate has the period of level 1. With one, the
 * first feeds have it for themselves until they are counted. */
static double price_for(const struct schedule_rules *rules, const struct pace *p)
{
    struct need need = {.root = sqrt(ADAPT_USUAL_RATE)};

    if (rules->adaptive_budget == 0)
        return adapt_price_of(&need, 86400.0 / (double)levels_period_s(&rules->levels, 1, 0));
    need = adapt_need(p);
    return rules->price > 0 ? rules->price : adapt_price_of(&need, (double)rules->adaptive_budget);
}

/* The period of level 1 that follows from what is known; 0: the level's own. */
static int64_t decide_pace(const struct schedule_rules *rules, struct pace *p)
{
    int64_t usual_s = levels_period_s(&rules->levels, 1, 0);
    bool adapts = rules->adapts && (rules->adaptive_budget > 0 ||
                                    (usual_s >= ADAPT_FLOOR_S && usual_s <= ADAPT_CEILING_S));

    p->why = PACE_NEW;
    p->period_s = adapts ? usual_s : 0;
    if (!adapts || (rules->adaptive_budget == 0 && !adapt_knows(p)))
        return 0;
    adapt_decide(p, price_for(rules, p));
    return p->period_s;
}

/* What this fetch teaches of how the feed posts. Lists of feeds do not post. */
static void fill_pace(struct arena *a, const struct job *job, const struct feed *fresh,
                      const struct check_facts *found, int64_t now, struct feed_check *o)
{
    struct sight sight = found->sight;
    struct need need;
    struct pace p;

    if (!o->ok || fresh->is_list || found->is_past)
        return;
    sight.at = now;
    pace_read(fresh->pace, &p);
    add_delivered(fresh, &p, &sight);
    adapt_learn(&p, &sight);
    need = adapt_need(&p);
    o->need_class = budget_class(&need);
    o->own_period_s = decide_pace(&job->rules, &p);
    o->pace = pace_write(a, &p);
}

/* For LEVEL_EXACT and level 1, as struct schedule_facts has it. What taught nothing, such as a piece of the past
 * of a stream, leaves the period of level 1 as it was. */
static int64_t period_of(const struct feed *fresh, int level, const struct feed_check *o)
{
    if (level == 1 && !str_is_null(o->pace))
        return o->own_period_s;
    return level == fresh->level ? fresh->period_s : 0;
}

/* When the feed is to be told as broken, if it is not before. */
static int64_t broken_at(const struct feed *fresh, const struct feed_check *o)
{
    return fresh->is_broken || o->n_errors >= FEED_BROKEN_FAILURES ||
                   fresh->last_success_at == TIME_UNKNOWN
               ? 0
               : fresh->last_success_at + FEED_BROKEN_S;
}

static void fill_schedule(const struct job *job, const struct feed *fresh,
                          const struct check_facts *found, int64_t now, struct feed_check *o)
{
    bool announced = upstream_works(fresh, now) && is_announced(job, fresh);
    bool pinged = (job->reasons & REASON_BIT(REASON_PING)) != 0;
    bool is_first = (fresh->cursor_state & CURSOR_FIRST) != 0;
    bool updated = job_has_document(job) && !is_first && found->has_news;
    /* trust, not the level, keeps what a cloud is worth */
    int level = announced ? fresh->level : schedule_level(fresh->level, pinged, updated);
    struct schedule_facts facts = {
        .event = event_of(job, o),
        .now = now,
        .started_at = job->started_at,
        .feed_id = job->feed_id,
        .level = level,
        .period_s = period_of(fresh, level, o),
        .n_errors = o->n_errors,
        .broken_at = broken_at(fresh, o),
        .retry_after_s = job->resp.retry_after_s >= 0 ? job->resp.retry_after_s : RESPONSE_PAUSE_S,
        .hints = found->doc != NULL ? check_hints(job, found->doc) : fresh->hints,
        .n_subscriptions = fresh->n_subscriptions,
        .has_gap = found->is_gap ||
                   (fresh->gap_since != TIME_UNKNOWN && now - fresh->gap_since < SCHEDULE_GAP_S),
        .wanted_at = fresh->wanted_at,
        .upstream_trust = -1,
    };
    struct schedule_decision next;

    if (upstream_works(fresh, now)) {
        o->trust = o->trust_was = fresh->upstream.trust;
        judge_upstream(job, fresh, found->has_news, o);
        facts.upstream_trust = o->trust;
    }
    /* the user who had the feed added counts as a reader, too */
    if ((job->reasons & REASON_BIT(REASON_READER)) != 0 || fresh->last_check_at == TIME_UNKNOWN)
        facts.wanted_at = now;
    if (job->resp.max_age_s >= 0)
        facts.hints.max_age_s = job->resp.max_age_s;
    next = schedule_next(&job->rules, &facts);
    o->level = level == fresh->level ? LEVEL_KEEP : level;
    o->next_fetch_at = next.next_at;
    o->next_reason = next.reason;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void fill_success(struct arena *a, const struct job *job, const struct feed *fresh,
                         const struct found_at *at, struct feed_check *o)
{
    o->state = FEED_OK;
    /* a 304 may leave out validators that are still valid; a 200 without validators has none */
    o->etag = job->resp.etag;
    o->last_modified = job->resp.last_modified;
    if (job->resp.kind == RESPONSE_DOCUMENT) {
        o->etag = text_or_empty(o->etag);
        o->last_modified = text_or_empty(o->last_modified);
        o->validators_url = url_same_path(job->final_url, fresh->url)
                                ? STR("")
                                : url_without_query(job->final_url); /* it may be signed */
    }
    fill_url(a, fresh, at, o);
}

/* Other failures between two answers 410 say nothing for the feed. */
static void count_gone(struct feed_check *o)
{
    o->n_gone++;
    if (o->gone_since == TIME_UNKNOWN)
        o->gone_since = o->checked_at;
}

/* Only success wakes a feed that is asleep. */
static bool is_asleep(const struct feed *fresh, const struct feed_check *o)
{
    return fresh->state == FEED_GONE ||
           (o->gone_since != TIME_UNKNOWN &&
            schedule_is_gone(o->n_gone, o->checked_at - o->gone_since) && o->status == 410);
}

static void fill_failure(const struct job *job, const struct feed *fresh, struct feed_check *o)
{
    o->error = job->resp.text;
    o->n_errors = fresh->n_errors + (job->outage || job->resp.is_held ? 0 : 1);
    o->n_gone = fresh->n_gone;
    o->gone_since = fresh->gone_since;
    o->move = fresh->move;
    if (job->resp.moved && str_eq(job->url, fresh->url)) /* no feed is there yet */
        o->move = move_seen(&fresh->move, job->final_url, o->checked_at, false);
    if (job->resp.kind == RESPONSE_GONE && !job->outage)
        count_gone(o);
    if (job->resp.is_held)
        o->status = fresh->last_status;
    o->state = job->outage || job->resp.is_held ? fresh->state
               : is_asleep(fresh, o)   ? FEED_GONE
               : job_has_document(job) ? FEED_FAILING
                                       : FEED_NEW;
}

/* Why the fetch was made, in the words of the schedule: a request, or what was due. A request by hand may have come
 * during the fetch before, whose outcome took its place in the row. */
static enum fetch_reason reason_of(const struct job *job, const struct feed *fresh)
{
    if (job->feed->next_reason == REASON_HAND || (job->reasons & REASON_BIT(REASON_HAND)) != 0)
        return REASON_HAND;
    if ((job->reasons & REASON_BIT(REASON_PING)) != 0)
        return REASON_PING;
    if (fresh->last_check_at == TIME_UNKNOWN)
        return REASON_NEW;
    if ((job->reasons & REASON_BIT(REASON_READER)) != 0)
        return REASON_READER;
    return fresh->next_reason == REASON_NONE ? REASON_PERIOD : fresh->next_reason;
}

void check_fill(struct arena *a, struct job *job, const struct feed *fresh,
                const struct check_facts *facts, const struct found_at *at, int64_t now,
                struct feed_check *o)
{
    *o = (struct feed_check){
        .feed_id = job->feed_id,
        .checked_at = now,
        .ok = facts->is_ok || job->resp.kind == RESPONSE_NOT_MODIFIED,
        .status = job->resp.status,
        .raw_html = job->feed->raw_html,
        .secrets = job->feed->secrets,
        .n_pings = job->feed->n_pings,
        .reason = reason_of(job, fresh),
        .began_at = job->started_at,
        .gone_since = TIME_UNKNOWN,
        .move.since = TIME_UNKNOWN,
        .after_check_at = job->seen_check_at,
    };
    job->seen_check_at = now;
    if (o->ok)
        fill_success(a, job, fresh, at, o);
    else
        fill_failure(job, fresh, o);
    fill_pace(a, job, fresh, facts, now, o);
    fill_schedule(job, fresh, facts, now, o);
    job->rc = o->ok ? RC_OK : job->resp.rc;
    job->status = job->resp.status;
    job->text = job->resp.text;
}
