/* api/hub/cloud.c - see cloud.h.
 *
 * A registration is checked, and its feeds are fetched if they are not known. Then it is an intent
 * that waits, as at the hub with hub.verify=sync: the notifier calls the handler, and the answer
 * comes after that. Answers have status 200 also when they refuse, because clients of rssCloud look
 * at the body; only "try again later" has another one. */
#include "api/hub/cloud.h"

#include "api/http/auth.h"
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/hub/cloud_asked.h"
#include "api/hub/hub_wait.h"
#include "api/hub/topic.h"
#include "feed/text/xml_out.h"
#include "model/media_types.h"

#define LATER_S 10 /* Retry-After when there is no room */
#define FEEDS_MAX 1000

struct cloud_topic {
    struct str url; /* as it was registered */
    struct topic topic;
    size_t first, n; /* its feeds, in `items` */
};

/* In the request's arena. */
struct cloud_registration {
    struct cloud_asked asked;
    struct hub_intent intent;
    struct cloud_topic topics[CLOUD_URLS_MAX];
    size_t n_items;
    struct gathered *items;

    bool is_over;
    int status; /* of HTTP */
    bool success;
    struct str why; /* a sentence */
    void (*answer)(struct request *req);
};

static void finish(struct request *req, int status, bool success, struct str why)
{
    struct cloud_registration *c = req->cloud;

    c->is_over = true;
    c->status = status;
    c->success = success;
    c->why = why;
    c->answer(req);
}

static void refuse(struct request *req, struct str why)
{
    finish(req, 200, false, why);
}

/* ---- the handler's answer -------------------------------------------------------------------- */

static struct str why_not(struct arena *a, const struct hub_intent *in, const struct hub_settled *s)
{
    struct str handler = in->callback;

    if (s->rc == RC_CONFLICT)
        return str_printf(a, "Somebody else has registered %.*s, with another token.",
                          STR_ARG(handler));
    if (s->rc == RC_DENIED)
        return str_printf(a, "Handlers at the address of %.*s are not called from here.",
                          STR_ARG(handler));
    if (s->rc != RC_OK)
        return str_printf(a,
                          "Your handler at %.*s did not answer the test; it must answer with a "
                          "status 2xx.",
                          STR_ARG(handler));
    if (s->status < 200 || s->status > 299)
        return str_printf(a, "Your handler at %.*s answered the test with status %d, not 2xx.",
                          STR_ARG(handler), s->status);
    if (in->protocol == CLOUD_HTTP_POST)
        return str_printf(a,
                          "Your handler at %.*s did not answer with the challenge: the body of "
                          "its answer must be the value of the parameter `challenge`.",
                          STR_ARG(handler));
    return str_printf(a, "The procedure %.*s at %.*s did not return the boolean true.",
                      STR_ARG(in->procedure), STR_ARG(handler));
}

static void on_end(struct request *req, const struct hub_end *end, void *ctx)
{
    const struct cloud_registration *c = ctx;

    if (end->rc == RC_AGAIN)
        finish(req, 503, false,
               STR("It is not known what came of this request. Try again in 10 seconds."));
    else if (end->rc == RC_CONFLICT)
        refuse(req, why_not(req->ask.arena, &c->intent, &(struct hub_settled){.rc = RC_CONFLICT}));
    else if (end->rc != RC_OK)
        finish(req, 503, false, STR("Too many requests are waiting. Try again in 10 seconds."));
    else if (end->settled.confirmed)
        finish(req, 200, true,
               str_printf(req->ask.arena,
                          "You are registered: your handler will be told when one of %zu URLs "
                          "changes. The registration ends after %lld seconds; register again "
                          "before that.",
                          c->asked.n_urls, (long long)c->intent.lease_s));
    else
        refuse(req, why_not(req->ask.arena, &c->intent, &end->settled));
}

/* ---- the feeds ------------------------------------------------------------------------------- */

/* Find the feeds of a topic that can be watched. False: the request was answered. */
static bool take_topic(struct request *req, struct cloud_registration *c,
                       const struct cloud_topic *t, struct sub_feed *feeds, size_t *n)
{
    const struct gathered *items = c->items + t->first;
    size_t n_ready = 0, missing = t->n;
    struct asks_found found;
    struct problem p;

    for (size_t i = 0; i < t->n; i++) {
        n_ready += items[i].ready;
        if (!items[i].ready && !items[i].is_member && missing == t->n)
            missing = i;
    }
    if (!feeds_asked_failed(t->topic.query.asked, n_ready) &&
        (missing == t->n || !t->topic.query.needs_all)) {
        topic_take(&t->topic, items, t->n, &found);
        for (size_t i = 0; i < found.n; i++)
            feeds[(*n)++] = (struct sub_feed){.feed_id = found.feeds[i].feed_id, .url = t->url};
        c->intent.filter = found.filter; /* which is that of all URLs */
        return true;
    }
    gather_problem(req, c->items + t->first + missing, 1, &p);
    refuse(req, str_printf(req->ask.arena, "The feed %.*s cannot be watched. %.*s", STR_ARG(t->url),
                           STR_ARG(p.detail)));
    return false;
}

static void on_gathered(struct request *req, struct gathered *items UNUSED, size_t n UNUSED,
                        void *ctx)
{
    struct cloud_registration *c = ctx;
    struct sub_feed *feeds = ARENA_ARRAY(req->ask.arena, struct sub_feed, c->n_items + 1);
    int64_t *touched = ARENA_ARRAY(req->ask.arena, int64_t, c->n_items + 1);
    const struct hub_full *full;
    size_t n_feeds = 0;

    for (size_t i = 0; i < c->asked.n_urls; i++)
        if (!take_topic(req, c, &c->topics[i], feeds, &n_feeds))
            return;
    for (size_t i = 0; i < n_feeds; i++)
        touched[i] = feeds[i].feed_id;
    store_touch(req->ask.api->store, touched, n_feeds); /* from now on the feeds are swept */
    c->intent.feeds = feeds;
    c->intent.n_feeds = n_feeds;
    full = hub_wait_start(req, &c->intent, on_end, c);
    if (full != NULL)
        finish(req, full->status, false, str_from(full->why));
}

/* Read the feeds of a URL: those of our own document, or the one at the URL. NULL: they are read.
 */
static struct str read_topic(struct request *req, struct str url, const struct str *origins,
                             size_t n_origins, struct topic *out)
{
    struct arena *a = req->ask.arena;
    struct str origin, target, key = STR_NULL;
    struct wanted_url *one = ARENA_NEW(a, struct wanted_url);
    struct feeds_asked *asked;
    struct problem p;

    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] < ' ' || url.ptr[i] == 127)
            return STR("A URL must not have control characters.");
    target = topic_target(a, url, origins, n_origins, &origin);
    if (!str_is_null(target))
        auth_without_key(a, target, &key);
    if (!str_is_null(key))
        return STR("A URL with a token cannot be registered, because notifications name it.");
    if (!str_is_null(target) && !topic_read(req, origin, target, out, &p))
        return p.detail;
    if (!str_is_null(target))
        return STR_NULL;
    if (!wanted_url_read(a, "url", url, one, &p))
        return p.detail;
    if (!str_is_null(one->credential))
        return STR("A URL with a user or password cannot be registered, because notifications "
                   "name it.");
    asked = ARENA_NEW(a, struct feeds_asked);
    *asked = (struct feeds_asked){.urls = one, .n_urls = 1};
    *out = (struct topic){.ask = req->ask, .query = {.asked = asked, .urls = one, .n_urls = 1, .needs_all = true}};
    return STR_NULL;
}

/* Read a URL of the registration. Null: it can be watched together with the first one. */
static struct str add_topic(struct request *req, struct cloud_registration *c, size_t i, const struct str *origins,
                            size_t n_origins)
{
    struct cloud_topic *t = &c->topics[i];
    struct str why = read_topic(req, c->asked.urls[i], origins, n_origins, &t->topic);
    struct str filter, asks;

    if (!str_is_null(why))
        return why;
    t->url = c->asked.urls[i];
    filter = filter_text(t->topic.query.lasting);
    asks = topic_asks(&t->topic);
    if (i == 0) {
        c->intent.filter = filter;
        c->intent.asks = asks;
    } else if (!str_eq(c->intent.filter, filter)) {
        return STR("Its filter differs from that of url1, so it needs a request of its own.");
    } else if (!str_is_null(asks) || !str_is_null(c->intent.asks)) {
        return STR("Which feeds it has changes over time, or those of url1 do, so it needs a request of its own.");
    }
    return STR_NULL;
}

/* The feeds of all URLs. False: there are too many. */
static bool take_items(struct request *req, struct cloud_registration *c)
{
    struct gathered *items[CLOUD_URLS_MAX];

    for (size_t i = 0; i < c->asked.n_urls; i++) {
        struct cloud_topic *t = &c->topics[i];

        items[i] = feeds_asked_items(&t->topic.ask, t->topic.query.asked, &t->n);
        t->first = c->n_items;
        c->n_items += t->n;
    }
    if (c->n_items > FEEDS_MAX)
        return false;
    c->items = ARENA_ARRAY(req->ask.arena, struct gathered, c->n_items + 1);
    for (size_t i = 0; i < c->asked.n_urls; i++)
        memcpy(c->items + c->topics[i].first, items[i], c->topics[i].n * sizeof *c->items);
    return true;
}

static void start(struct request *req)
{
    struct cloud_registration *c = req->cloud;
    struct arena *a = req->ask.arena;
    struct str origins[TOPIC_ORIGINS_MAX], why, shown, key;
    size_t n_origins = topic_origins(req, origins);

    if (topics_prepare(req, c->asked.urls, c->asked.n_urls, start))
        return;
    if (!cloud_asked_read(a, &c->asked, http_request_peer(req->http), &c->intent, &why)) {
        refuse(req, why);
        return;
    }
    c->intent.mode = HUB_SUBSCRIBE;
    c->intent.owner = caller_lease_owner(&req->ask.caller);
    c->intent.by_admin = req->ask.caller.role == ROLE_ADMIN;
    c->intent.topic = c->asked.urls[0]; /* the one that the test names */
    c->intent.secret = c->intent.verify_token = STR_NULL;
    c->intent.reason = STR("");
    c->intent.waits = true;
    c->intent.lease_s = req->ask.cfg->cloud_lease_s;
    for (size_t i = 0; i < c->asked.n_urls; i++) {
        why = add_topic(req, c, i, origins, n_origins);
        if (str_is_null(why))
            continue;
        shown = auth_without_key(a, c->asked.urls[i], &key);
        refuse(req, str_printf(a, "%.*s cannot be watched. %.*s", STR_ARG(shown), STR_ARG(why)));
        return;
    }
    if (take_items(req, c))
        gather_start(req, c->items, c->n_items, on_gathered, c);
    else
        refuse(req, STR("The URLs name too many feeds."));
}

/* ---- by HTTP --------------------------------------------------------------------------------- */

static void answer_xml(struct request *req)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    const struct cloud_registration *c = req->cloud;

    buf_puts(&out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<notifyResult");
    xml_attr(&out, "success", c->success ? STR("true") : STR("false"));
    xml_attr(&out, "msg", c->why);
    buf_puts(&out, "/>\n");
    reply_buf(req, c->status, MEDIA_XML MEDIA_UTF8, &out,
              c->status == 200 ? STR_NULL
                               : str_printf(req->ask.arena, "Retry-After: %d\r\n", LATER_S));
}

static struct cloud_registration *registration_new(struct request *req)
{
    struct cloud_registration *c = ARENA_NEW(req->ask.arena, struct cloud_registration);

    req->cloud = c;
    return c;
}

void please_notify_post(struct request *req)
{
    struct cloud_registration *c = registration_new(req);
    const struct {
        enum param_id id;
        struct str *out;
    } texts[] = {{PARAM_cloud_procedure, &c->asked.procedure},
                 {PARAM_cloud_port, &c->asked.port},
                 {PARAM_cloud_path, &c->asked.path},
                 {PARAM_cloud_protocol, &c->asked.protocol},
                 {PARAM_cloud_domain, &c->asked.domain}};
    const struct params *ps = &req->ask.params;
    const struct param *url;
    struct problem p;
    size_t at = 0;

    c->answer = answer_xml;
    if (!req->ask.cfg->cloud) {
        problem_set(&p, req->ask.arena, PROBLEM_NOT_FOUND, "There is no rssCloud here.");
        reply_problem(req, &p);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!params_optional(ps, req->ask.arena, texts[i].id, texts[i].out, &p)) {
            refuse(req, p.detail);
            return;
        }
    while ((url = params_next(ps, PARAM_cloud_url, &at)) != NULL)
        if (!cloud_asked_add(req->ask.arena, &c->asked, url->value)) {
            refuse(req, str_printf(req->ask.arena, "At most %d URLs can be registered at once.",
                                   CLOUD_URLS_MAX));
            return;
        }
    start(req);
}

/* ---- by XML-RPC ------------------------------------------------------------------------------ */

/* Get a parameter as text; a number counts as its digits. */
static enum rc text_at(struct arena *a, const struct value *params, size_t i, const char *name,
                       struct str *out, struct err *err)
{
    const struct value *v = value_at(params, i);

    if (v != NULL && v->kind == VAL_INT)
        *out = str_printf(a, "%lld", (long long)v->i);
    else if (v != NULL && v->kind == VAL_TEXT)
        *out = v->s;
    else
        return err_set(err, RC_INPUT, "parameter %zu (%s) is missing, or is not a string", i + 1,
                       name);
    return RC_OK;
}

/* The URLs: a list, or one string. */
static enum rc urls_at(struct arena *a, const struct value *params, size_t i,
                       struct cloud_asked *asked, struct err *err)
{
    const struct value *v = value_at(params, i);
    size_t n = v != NULL && v->kind == VAL_LIST ? value_len(v) : 1;

    for (size_t k = 0; k < n; k++) {
        const struct value *url = v != NULL && v->kind == VAL_LIST ? value_at(v, k) : v;

        if (url == NULL || url->kind != VAL_TEXT)
            return err_set(err, RC_INPUT, "parameter %zu must be a list of URLs, as strings",
                           i + 1);
        if (!cloud_asked_add(a, asked, str_dup(a, url->s)))
            return err_set(err, RC_INPUT, "at most %d URLs can be registered at once",
                           CLOUD_URLS_MAX);
    }
    return RC_OK;
}

static enum rc read_call(struct request *req, const struct value *params, struct cloud_asked *out,
                         struct err *err)
{
    struct arena *a = req->ask.arena;
    struct str *const texts[] = {&out->procedure, &out->port, &out->path, &out->protocol};
    static const char *const names[] = {"notifyProcedure", "port", "path", "protocol"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (text_at(a, params, i, names[i], texts[i], err) != RC_OK)
            return RC_INPUT;
        *texts[i] = str_dup(a, *texts[i]); /* the values end with the call */
    }
    out->domain = STR_NULL;
    if (urls_at(a, params, 4, out, err) != RC_OK)
        return RC_INPUT;
    if (value_len(params) > 5 && text_at(a, params, 5, "domain", &out->domain, err) != RC_OK)
        return RC_INPUT;
    if (!str_is_null(out->domain))
        out->domain = str_dup(a, out->domain);
    return RC_OK;
}

static enum rc on_please_notify(void *ctx, struct arena *a, const struct value *params,
                                struct value **result, struct err *err)
{
    struct request *req = ctx;
    struct cloud_asked asked = {.n_urls = 0};

    *result = value_bool(a, true);
    if (req->cloud != NULL && !req->cloud->success)
        return err_set(err, RC_INPUT, "%.*s", STR_ARG(req->cloud->why));
    if (req->cloud != NULL)
        return RC_OK;
    if (read_call(req, params, &asked, err) != RC_OK)
        return RC_INPUT;
    registration_new(req)->asked = asked;
    return RC_OK;
}

const struct rpc_method cloud_rpc_methods[CLOUD_RPC_METHODS] = {
    {"rssCloud.pleaseNotify",
     "Tell me when feeds change: notifyProcedure, port, path, protocol, urls[, domain].",
     on_please_notify, false}};

void cloud_rpc_start(struct request *req, void (*answer)(struct request *req))
{
    req->cloud->answer = answer;
    start(req);
}
