/* fetcher/list.c - the source "list": a list of feeds (OPML) that subscriptions follow.
 *
 * The list has a record as a feed has: it is asked for at its times and after pings, with
 * validators, by the owner of its host, and its failures back off. A poll passes the job here when
 * subscriptions follow the record and it never was a feed. The lists that it includes are asked for
 * one after the other, in the same job. When all were read, list_plan.h says what becomes of each
 * subscription, and one outcome stores all of it.
 *
 * What is not a list is a failure, and so is a list that breaks off. If nothing was ever read of it
 * as a list, and somebody wants it as a feed, it goes back to the poll. */
#include "base/digest.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/stats.h"
#include "feed/lists/folders.h"
#include "feed/lists/opml.h"
#include "fetcher/list_plan.h"
#include "fetcher/poll.h"
#include "model/access.h"
#include "net/url.h"

#define ACCEPT "text/x-opml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1"
#define NAME_MAX_LEN ((size_t)1024)
#define CHANGES_MAX 50000 /* in one outcome; more subscriptions get theirs by the next answer */
#define SOON_S 60         /* until that one is asked for */

/* The list, or one that it includes. */
struct part {
    struct str url; /* canonical */
    struct str *folders;
    size_t n_folders;
    int depth;
    struct opml opml; /* empty when it was not read */
};

struct listing {
    struct part parts[LIMIT_LISTS];
    size_t n_parts, n_asked; /* the first ones were asked for */
    size_t n_outlines, n_bytes;
    bool is_cut; /* not all of them could be read */
    /* of the list itself, while those that it includes are asked for: */
    struct response resp;
    struct found_at at;
    unsigned char hash[16];
};

static struct listing *state_of(struct job *job)
{
    if (job->states[SOURCE_ID_list] == NULL)
        job->states[SOURCE_ID_list] = ARENA_NEW(job->arena, struct listing);
    return job->states[SOURCE_ID_list];
}

/* ---- what is asked --------------------------------------------------------------------------- */

static enum job_step begin(struct job *job, struct reader *r UNUSED)
{
    const struct feed *feed = job->feed;

    job->url = feed->url;
    job->conditional = feed->has_body_hash && (feed->etag.len > 0 || feed->last_modified.len > 0) &&
                       !job_is_in_doubt(job);
    return STEP_QUEUE;
}

static void request(struct job *job, struct http_field *fields, struct http_call *call)
{
    const struct feed *feed = job->feed;

    fields[call->n_fields++] = (struct http_field){STR("Accept"), STR(ACCEPT)};
    call->conditional_url = job_validators_url(job);
    if (job->conditional && feed->etag.len > 0)
        fields[call->n_fields++] = (struct http_field){STR("If-None-Match"), feed->etag};
    if (job->conditional && feed->last_modified.len > 0)
        fields[call->n_fields++] =
            (struct http_field){STR("If-Modified-Since"), feed->last_modified};
}

static enum job_step answered(struct job *job UNUSED)
{
    return STEP_UNDERSTAND;
}

/* ---- reading a list -------------------------------------------------------------------------- */

static bool was_named(const struct listing *l, struct str url)
{
    for (size_t i = 0; i < l->n_parts; i++)
        if (str_eq(l->parts[i].url, url))
            return true;
    return false;
}

/* A list includes another one. Each is read once, so circles end. */
static void take_include(struct job *job, struct listing *l, const struct part *from,
                         const struct opml_include *in)
{
    struct part *part = &l->parts[l->n_parts];
    struct url_parts parts;

    if (url_parse(job->arena, url_resolve(job->arena, job->final_url, in->url), &parts, NULL) !=
        RC_OK)
        return; /* it cannot be asked */
    if (was_named(l, parts.url))
        return;
    if (l->n_parts == LIMIT_LISTS || from->depth == LIMIT_LISTS_DEPTH) {
        l->is_cut = true;
        return;
    }
    *part = (struct part){
        .url = parts.url, .depth = from->depth + 1, .n_folders = from->n_folders + in->n_folders};
    part->folders = ARENA_ARRAY(job->arena, struct str, part->n_folders + 1);
    for (size_t i = 0; i < part->n_folders; i++)
        part->folders[i] =
            i < from->n_folders ? from->folders[i] : in->folders[i - from->n_folders];
    l->n_parts++;
}

/* Read the document as this part of the list. False: *err says what it is instead. */
static bool read_part(struct job *job, struct listing *l, struct part *part, struct err *err)
{
    enum rc rc = RC_OK;

    if (job->resp.partial)
        rc = err_set(err, RC_PEER, "only a part of it came");
    else if (l->n_bytes + job->body.len > LIMIT_FETCH_BODY)
        rc = err_set(err, RC_LIMIT, "the lists together have more than %d bytes", LIMIT_FETCH_BODY);
    if (rc == RC_OK)
        rc = opml_read(job->arena, job->body, job->content_type, &part->opml, err);
    if (rc == RC_OK && part->opml.bozo && str_ifind(job->body, STR("</opml")) < 0)
        rc = err_set(err, RC_INPUT, "it breaks off before its end");
    if (rc == RC_OK && l->n_outlines + part->opml.n_outlines > LIMIT_OPML_OUTLINES)
        rc = err_set(err, RC_LIMIT, "the lists together have more than %d outlines",
                     LIMIT_OPML_OUTLINES);
    if (rc != RC_OK) {
        part->opml = (struct opml){.n_feeds = 0};
        return false;
    }
    l->n_bytes += job->body.len;
    l->n_outlines += part->opml.n_outlines;
    for (size_t i = 0; i < part->opml.n_includes; i++)
        take_include(job, l, part, &part->opml.includes[i]);
    return true;
}

/* ---- its feeds ------------------------------------------------------------------------------- */

struct taking {
    struct reading *r;
    struct list_item *items;
    size_t n, n_unknown;
    struct map seen; /* by id, or by URL and credential */
};

static struct str bounded(struct str s)
{
    if (s.len > NAME_MAX_LEN)
        s.len = str_utf8_valid(str_of(s.ptr, NAME_MAX_LEN));
    return s;
}

/* What a list shows of a feed is its name. */
static struct feed_details details_of(struct arena *a, const struct part *part,
                                      const struct opml_feed *f)
{
    struct str folder = folders_of(a, f->folders, f->n_folders);
    struct str name = f->text.len > 0 && !str_eq(f->text, f->xml_url) ? f->text : f->title;
    struct url_parts site;
    struct feed_details d = {
        .folder = folders_within(a, folders_of(a, part->folders, part->n_folders), folder)};

    if (name.len > 0 && !str_eq(name, f->xml_url))
        d.name = d.title = bounded(name);
    if (f->category.len <= FOLDERS_MAX_LEN)
        d.category = f->category;
    if (url_parse(a, f->html_url, &site, NULL) == RC_OK)
        d.site_url = site.url;
    return d;
}

/* The address as it is shown to the subscriber. */
static struct str shown_url(struct arena *a, struct str raw, const struct url_parts *url)
{
    raw = str_trim(raw);
    if (str_utf8_valid(raw) != raw.len)
        return url->url;
    return str_is_null(url->credential) ? raw : url_public(a, raw);
}

static void take_feed(struct taking *t, const struct part *part, const struct opml_feed *f)
{
    struct list_item *item = &t->items[t->n];
    struct arena *a = &t->r->a;
    struct feed_brief brief;
    struct url_parts url;
    struct str key;

    if (url_parse(a, f->xml_url, &url, NULL) != RC_OK)
        return; /* ftp: or not a URL; the other feeds of the list are used */
    *item = (struct list_item){.ref = {.url = url.url, .credential = url.credential}};
    if (store_find_feed(t->r->w->store, url.url, url.credential, &brief))
        item->feed_id = brief.id;
    if (item->feed_id == t->r->job->feed_id)
        return; /* the list itself is not one of its feeds */
    key = item->feed_id != 0
              ? str_printf(a, "%lld", (long long)item->feed_id)
              : str_printf(a, "%.*s %.*s", STR_ARG(url.url), STR_ARG(url.credential));
    if (map_put(&t->seen, key, t) != NULL)
        return;
    item->ref.shown_url = shown_url(a, f->xml_url, &url);
    item->ref.details = details_of(a, part, f);
    t->n_unknown += item->feed_id == 0;
    t->n++;
}

static void take_feeds(struct taking *t, const struct listing *l)
{
    t->items = ARENA_ARRAY(&t->r->a, struct list_item, l->n_outlines + 1);
    for (size_t i = 0; i < l->n_parts; i++)
        for (size_t k = 0; k < l->parts[i].opml.n_feeds; k++)
            take_feed(t, &l->parts[i], &l->parts[i].opml.feeds[k]);
    map_release(&t->seen, NULL);
}

/* ---- the outcome ----------------------------------------------------------------------------- */

struct result {
    struct list_answer answer;
    size_t n_unknown;
    bool is_ok;        /* a list came, or the answer is that it is as it was */
    bool is_unsettled; /* the next answer must be whole, too */
    bool is_soon;      /* and it is asked for soon */
    struct str title;
    struct list_sync *syncs;
    size_t n_syncs;
    bool has_news;
};

/* How many unknown feeds the list may add to the subscription: what strangers have fetched is
 * bounded. */
static size_t let_unknown(const struct parse_worker *w, const struct subscription *sub, size_t n)
{
    if (sub->owner != OWNER_ANONYMOUS || w->let_unknown == NULL || n == 0)
        return SIZE_MAX;
    return w->let_unknown(w->let_ctx, n);
}

/* What the answer means for each subscription that follows the list. */
static enum rc plan_subs(struct reading *r, const struct list_followers *followers,
                         struct result *res)
{
    struct subscription *subs;
    size_t n, n_changes = 0;
    enum rc rc =
        reader_subs(r->w->reader, followers->subs, followers->n, &r->a, &subs, &n, &r->err);

    if (rc != RC_OK)
        return rc;
    res->syncs = ARENA_ARRAY(&r->a, struct list_sync, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct list_sync *sync = &res->syncs[res->n_syncs];
        size_t n_let;

        if (n_changes > CHANGES_MAX) {
            res->is_soon = true;
            break;
        }
        n_let = let_unknown(r->w, &subs[i], res->n_unknown);
        if (list_plan(&r->a, &subs[i], &res->answer, n_let, sync) > 0)
            res->is_soon |= n_let < res->n_unknown;
        if (sync->n_added + sync->n_changed + sync->n_dropped == 0)
            continue;
        n_changes += sync->n_added + sync->n_changed + sync->n_dropped;
        res->n_syncs++;
    }
    res->has_news = res->n_syncs > 0;
    return RC_OK;
}

/* The hash of the bytes, by which the same list is recognised; of one that has to be read whole in
 * any case, another one. */
static void fill_hash(const struct listing *l, bool is_unsettled, struct list_outcome *o)
{
    o->has_body_hash = true;
    memcpy(o->body_hash, l->hash, sizeof o->body_hash);
    if (is_unsettled)
        digest_content(str_of((const char *)l->hash, sizeof l->hash), o->body_hash);
}

static enum job_step hand_over(struct reading *r, const struct found_at *at, struct result *res)
{
    struct job *job = r->job;
    const struct feed *fresh = reading_fresh(r);
    struct check_facts facts = {.is_ok = res->is_ok, .has_news = res->has_news};
    struct list_outcome o = {.syncs = res->syncs, .n_syncs = res->n_syncs};
    enum rc rc;

    if (fresh == NULL)
        return reading_failed(r);
    check_fill(&r->a, job, fresh, &facts, at, r->now, &o.check);
    o.check.loaded = job->loaded;
    check_keep_date(r->w->store, fresh, &o.check);
    o.has_news = res->has_news;
    if (res->is_ok && !res->answer.is_same) {
        o.title = str_eq(res->title, fresh->title) ? STR_NULL : res->title;
        o.has_news |= !str_is_null(o.title);
        fill_hash(state_of(job), res->is_unsettled || res->is_soon, &o);
    }
    if (res->is_ok && (res->is_unsettled || res->is_soon))
        o.check.etag = o.check.last_modified = STR("");
    if (res->is_soon && o.check.next_fetch_at > r->now + SOON_S)
        o.check.next_fetch_at = r->now + SOON_S;
    STORE_OUTCOME(rc, r->w, list, &o, job);
    if (rc == RC_OK)
        return STEP_AWAY;
    err_set(&r->err, rc, "the outcome of the fetch could not be stored: %s", rc_meaning(rc));
    return job_give_back(job, rc, &r->err);
}

static enum job_step take_failure(struct reading *r, const struct found_at *at)
{
    struct result res = {.is_ok = false};

    return hand_over(r, at, &res);
}

/* The list is as it was: what it lacked twice goes. */
static enum job_step take_same(struct reading *r, const struct list_followers *followers)
{
    struct result res = {.is_ok = true, .answer = {.is_same = true}};
    struct found_at at = poll_found_at(r->job);

    if (plan_subs(r, followers, &res) != RC_OK)
        return reading_failed(r);
    return hand_over(r, &at, &res);
}

/* All parts have been asked for. */
static enum job_step take_list(struct reading *r, const struct list_followers *followers)
{
    struct listing *l = state_of(r->job);
    struct taking t = {.r = r, .seen = MAP_INIT};
    struct result res = {.is_ok = true};

    take_feeds(&t, l);
    res.answer = (struct list_answer){.items = t.items, .n = t.n, .is_cut = l->is_cut};
    res.n_unknown = t.n_unknown;
    res.title = bounded(l->parts[0].opml.title);
    /* validators speak of the list alone, and no answer may confirm an empty one
     */
    res.is_unsettled = l->n_parts > 1 || l->is_cut || t.n == 0;
    r->job->resp = l->resp;
    if (plan_subs(r, followers, &res) != RC_OK)
        return reading_failed(r);
    return hand_over(r, &l->at, &res);
}

/* ---- understanding --------------------------------------------------------------------------- */

/* The list itself came. */
static bool read_list(struct reading *r, struct err *err)
{
    struct job *job = r->job;
    struct listing *l = state_of(job);

    l->n_parts = l->n_asked = 1;
    l->parts[0] = (struct part){.url = str_dup(job->arena, job->url)};
    l->resp = job->resp;
    l->at = poll_found_at(job);
    l->at.asked = str_dup(job->arena, l->at.asked);
    l->at.url = str_dup(job->arena, l->at.url);
    l->at.for_url = str_dup(job->arena, l->at.for_url);
    memcpy(l->hash, r->hash, sizeof l->hash);
    return read_part(job, l, &l->parts[0], err);
}

/* A list that is included came, or did not. */
static void read_included(struct job *job)
{
    struct listing *l = state_of(job);
    struct part *part = &l->parts[l->n_asked - 1];
    struct err err = ERR_INIT;

    if (job->resp.kind == RESPONSE_DOCUMENT && read_part(job, l, part, &err)) {
        /* an empty list takes nothing away, here neither */
        l->is_cut |= part->opml.n_feeds + part->opml.n_includes == 0;
        return;
    }
    l->is_cut = true;
    log_warn("fetch", "list_left_out", "list=%s why=%s",
             log_quote(url_public(job->arena, part->url)),
             log_quote(job->resp.kind == RESPONSE_DOCUMENT ? str_from(err.text) : job->resp.text));
}

/* Ask for the next list that is included; when there is none, all were read. */
static enum job_step go_on(struct reading *r, const struct list_followers *followers)
{
    struct listing *l = state_of(r->job);

    if (l->n_asked < l->n_parts)
        return job_ask(r->job, l->parts[l->n_asked++].url);
    return take_list(r, followers);
}

static bool is_same(const struct reading *r)
{
    const struct feed *feed = r->job->feed;

    return r->job->resp.kind == RESPONSE_NOT_MODIFIED ||
           (r->job->resp.kind == RESPONSE_DOCUMENT && feed->has_body_hash &&
            memcmp(r->hash, feed->body_hash, sizeof r->hash) == 0);
}

/* May the document be for those who want the record as a feed? */
static bool is_for_others(const struct job *job, const struct list_followers *followers)
{
    return followers->n == 0 || (!job->feed->has_body_hash &&
                                 (followers->n_others > 0 || job->feed->wanted_at != TIME_UNKNOWN));
}

static enum job_step understand_list(struct reading *r, const struct list_followers *followers)
{
    struct job *job = r->job;
    struct found_at at = poll_found_at(job);
    struct err err = ERR_INIT;

    if (state_of(job)->n_asked > 0) {
        read_included(job);
        return go_on(r, followers);
    }
    if (is_same(r)) {
        stats_inc(STAT_fetch_same_total);
        return take_same(r, followers);
    }
    if (job->resp.kind != RESPONSE_DOCUMENT)
        return take_failure(r, &at);
    if (read_list(r, &err))
        return go_on(r, followers);
    if (is_for_others(job, followers)) {
        job->source = &source_poll;
        return source_poll.understand(r->w, job);
    }
    job_fail(job, RC_UNSUPPORTED,
             str_printf(&r->a, "the document cannot be used as a list of feeds: %s", err.text));
    return take_failure(r, &at);
}

static enum job_step understand(const struct parse_worker *w, struct job *job)
{
    struct list_followers followers;
    struct reading r;
    enum job_step step;

    reading_begin(&r, w, job);
    if (reader_followers(w->reader, job->feed_id, &r.a, &followers, &r.err) != RC_OK)
        step = reading_failed(&r);
    else
        step = understand_list(&r, &followers);
    reading_end(&r);
    return step;
}

static void stored(struct job *job, enum rc rc, const struct store_result *res,
                   const struct err *err)
{
    job->next.source = NULL;
    if (rc != RC_OK) {
        job_give_back(job, rc, err);
        return;
    }
    job->result_id = res->id;
    job->is_list = job->rc == RC_OK;
}

const struct source source_list = {
    .name = "list",
    .begin = begin,
    .request = request,
    .answered = answered,
    .understand = understand,
    .stored = stored,
};
