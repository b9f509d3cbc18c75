/* api/hub/hub.c - POST /hub: requests of WebSub and PubSubHubbub 0.3 subscribers and publishers.
 *
 * A request is checked, its topic is read, and its feeds are fetched if they are not known. Then it
 * is stored as an intent, and answered with 202. The notifier asks the callback. With
 * hub.verify=sync the answer comes after that; a commit notice tells the result. */
#include "api/http/auth.h"
#include "api/http/buckets.h"
#include "api/http/handlers.h"
#include "api/http/reply.h"
#include "api/http/ticket.h"
#include "api/hub/hub_wait.h"
#include "api/hub/topic.h"
#include "api/views/queries.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/url.h"

#define STORE_MS 60000 /* if the storer has not answered by then, it is stuck */
#define PUBLISH_MAX 100
#define LATER_S 10 /* Retry-After when there is no room */
#define PINGED_MAX 1000

/* A request to subscribe or unsubscribe. It is in the request's arena. */
struct hub_change {
    struct hub_intent intent;
    struct topic topic; /* what it shows */
};

/* An announcement that waits for the storer. */
struct publishing {
    struct ticket ticket;
    enum rc rc; /* result of the storer */
};

/* ---- answers --------------------------------------------------------------------------------- */

static void answer(struct request *req, int status, struct str text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_printf(&out, "%.*s\n", STR_ARG(text));
    reply_buf(req, status, "text/plain; charset=utf-8", &out, STR_NULL);
}

/* Refuse for now, with Retry-After. */
static void put_off(struct request *req, int status, const char *text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_printf(&out, "%s Try again in %d seconds.\n", text, LATER_S);
    reply_buf(req, status, "text/plain; charset=utf-8", &out,
              str_printf(req->ask.arena, "Retry-After: %d\r\n", LATER_S));
}

static void refuse(struct request *req, const char *text)
{
    answer(req, 400, str_from(text));
}

/* Answer with the text of a problem. */
static void refuse_problem(struct request *req, const struct problem *p)
{
    if (p->retry_after_s > 0)
        put_off(req, problem_status(p), str_z(req->ask.arena, p->detail));
    else
        answer(req, problem_status(p), p->detail);
}

static void answer_done(struct request *req)
{
    http_reply(req->http, 204, STR("Cache-Control: no-store\r\n"), NULL);
}

static void answer_full(struct request *req)
{
    put_off(req, 503, "Too many requests are waiting.");
}

/* ---- publish --------------------------------------------------------------------------------- */

static void on_published(struct request *req, void *work)
{
    struct publishing *w = work;

    if (req != NULL && w->rc == RC_OK)
        answer_done(req);
    else if (req != NULL)
        answer_full(req);
    mem_free(w);
}

/* The storer's thread. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                      const struct err *err UNUSED)
{
    struct publishing *w = ctx;

    w->rc = rc;
    ticket_post(&w->ticket, on_published, w);
}

static size_t add_known(struct request *req, struct str url, int64_t *ids, size_t n)
{
    size_t found = store_find_by_any_url(req->ask.api->store, url, ids + n, PINGED_MAX - n);

    return n + (found < PINGED_MAX - n ? found : PINGED_MAX - n);
}

/* The feeds that are found for one URL of an announcement, after those that were found before. */
static size_t add_announced(struct request *req, struct str url, struct str canonical,
                            const struct str *origins, size_t n_origins, int64_t *ids, size_t n)
{
    struct str origin, target = topic_target(req->ask.arena, url, origins, n_origins, &origin);
    struct problem p;
    struct topic topic;
    struct gathered *items;
    size_t n_items;

    if (str_is_null(target) || !topic_read(req, origin, target, &topic, &p))
        return add_known(req, canonical, ids, n);
    for (size_t k = 0; k < topic.query.n_urls; k++)
        n = add_known(req, topic.query.urls[k].url, ids, n);
    items = feeds_asked_items(&topic.ask, topic.query.asked, &n_items);
    for (size_t k = 0; k < n_items && n < PINGED_MAX; k++)
        if (items[k].is_member)
            ids[n++] = items[k].id;
    return n;
}

/* A publisher announces its feeds, or our views of them. */
static void publish(struct request *req, const struct str *origins, size_t n_origins)
{
    static const enum param_id announced[] = {PARAM_hub_url, PARAM_hub_topic};
    int64_t *ids = ARENA_ARRAY(req->ask.arena, int64_t, PINGED_MAX);
    const struct param *param;
    size_t n_urls = 0, n = 0;
    struct publishing *w;

    if (!buckets_take(req->ask.api->buckets, http_request_peer(req->http), req->ask.cfg->ping_rate,
                      req->ask.cfg->ping_burst, clock_mono_ms())) {
        put_off(req, 429, "Too many announcements from your address.");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(announced); i++)
        for (size_t at = 0; (param = params_next(&req->ask.params, announced[i], &at)) != NULL;) {
            struct url_parts parts;

            if (++n_urls > PUBLISH_MAX ||
                url_parse(req->ask.arena, param->value, &parts, NULL) != RC_OK) {
                refuse(req, n_urls > PUBLISH_MAX
                                ? "At most 100 URLs can be announced at once."
                                : "hub.url must be an absolute http or https URL.");
                return;
            }
            n = add_announced(req, param->value, parts.url, origins, n_origins, ids, n);
        }
    if (n_urls == 0) {
        refuse(req, "hub.url is missing: the feed that has changed.");
        return;
    }
    if (n == 0) { /* none of the feeds is known here */
        answer_done(req);
        return;
    }
    w = NEW(struct publishing);
    w->ticket = ticket_take(req, STORE_MS);
    if (store_ping(req->ask.api->store, ids, n, on_stored, w) != RC_OK) {
        w->rc = RC_FULL;
        on_published(req, w);
    }
}

/* ---- subscribe, unsubscribe ------------------------------------------------------------------ */

static struct str why_not(struct arena *a, const struct hub_settled *s)
{
    if (s->rc == RC_CONFLICT)
        return STR("Somebody else has this subscription, with another token.");
    if (s->rc == RC_DENIED)
        return STR("The callback is at an address that is not called from here.");
    if (s->rc == RC_LIMIT)
        return STR("The answer of the callback is longer than the challenge.");
    if (s->rc != RC_OK)
        return STR("The callback did not answer.");
    if (s->status < 200 || s->status > 299)
        return str_printf(a, "The callback answered with status %d, not 2xx.", s->status);
    return STR("The callback did not confirm the request: its answer is not the challenge.");
}

static void on_end(struct request *req, const struct hub_end *end, void *ctx)
{
    const struct hub_change *change = ctx;

    if (end->rc == RC_AGAIN)
        put_off(req, 503, "It is not known what came of this request.");
    else if (end->rc == RC_CONFLICT)
        answer(req, 409, why_not(req->ask.arena, &(struct hub_settled){.rc = RC_CONFLICT}));
    else if (end->rc != RC_OK)
        answer_full(req);
    else if (!change->intent.waits)
        answer(req, 202, STR("Accepted; the callback will be asked to confirm it."));
    else if (end->settled.confirmed)
        answer_done(req);
    else
        answer(req, 409, why_not(req->ask.arena, &end->settled));
}

static void hand_over(struct request *req, struct hub_change *change)
{
    const struct hub_full *full = hub_wait_start(req, &change->intent, on_end, change);

    if (full != NULL)
        put_off(req, full->status, full->why);
}

/* Which feed of the topic cannot be had? `n`: none that it needs. */
static size_t missing_of(const struct topic *topic, const struct gathered *items, size_t n)
{
    size_t n_ready = 0, missing = n;

    for (size_t i = 0; i < n; i++) {
        n_ready += items[i].ready;
        if (missing == n && !items[i].ready && !items[i].is_member)
            missing = i;
    }
    if (feeds_asked_failed(topic->query.asked, n_ready))
        return 0;
    return topic->query.needs_all ? missing : n;
}

/* The feeds of a topic that does not follow anything: those that can be had, by their URLs. */
static void take_named(struct request *req, struct hub_change *change, const struct gathered *items, size_t n)
{
    struct sub_feed *feeds = ARENA_ARRAY(req->ask.arena, struct sub_feed, n + 1);

    change->intent.feeds = feeds;
    for (size_t i = 0; i < n; i++)
        if (items[i].ready)
            feeds[change->intent.n_feeds++] =
                (struct sub_feed){.feed_id = items[i].id, .url = items[i].want.shown};
    change->intent.filter = filter_text(change->topic.query.lasting);
}

static void take_followed(struct hub_change *change, const struct gathered *items, size_t n)
{
    struct asks_found found;

    topic_take(&change->topic, items, n, &found);
    change->intent.feeds = found.feeds;
    change->intent.n_feeds = found.n;
    change->intent.filter = found.filter;
}

static void on_gathered(struct request *req, struct gathered *items, size_t n, void *ctx)
{
    struct hub_change *change = ctx;
    size_t missing = missing_of(&change->topic, items, n);
    int64_t *touched;
    struct problem p;

    if (missing < n) {
        bool needs_all = change->topic.query.needs_all;

        gather_problem(req, needs_all ? &items[missing] : items, needs_all ? 1 : n, &p);
        refuse_problem(req, &p);
        return;
    }
    change->intent.asks = topic_asks(&change->topic);
    if (str_is_null(change->intent.asks))
        take_named(req, change, items, n);
    else
        take_followed(change, items, n);
    touched = ARENA_ARRAY(req->ask.arena, int64_t, change->intent.n_feeds + 1);
    for (size_t i = 0; i < change->intent.n_feeds; i++)
        touched[i] = change->intent.feeds[i].feed_id;
    /* once it is subscribed, the feed is swept */
    store_touch(req->ask.api->store, touched, change->intent.n_feeds);
    hand_over(req, change);
}

/* Returns true when all characters are allowed in a URL. A callback is called exactly as given, or
 * refused. */
static bool is_callback(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == 127 ||
            strchr("#<>\"\\", s.ptr[i]) != NULL)
            return false;
    return str_istarts(s, STR("http://")) || str_istarts(s, STR("https://"));
}

static bool read_callback(struct request *req, struct hub_change *change)
{
    struct wanted_url url;
    struct problem p;
    struct str raw;

    if (!params_optional(&req->ask.params, req->ask.arena, PARAM_hub_callback, &raw, &p) ||
        str_is_null(raw)) {
        refuse(req, "hub.callback is missing, or was given twice.");
        return false;
    }
    if (!is_callback(raw) || !wanted_url_read(req->ask.arena, "hub.callback", raw, &url, &p)) {
        refuse(req, "hub.callback must be an absolute http or https URL without a fragment.");
        return false;
    }
    change->intent.callback = url.url;
    change->intent.credential = url.credential;
    return true;
}

static bool read_topic(struct request *req, struct hub_change *change, const struct str *origins,
                       size_t n_origins)
{
    struct str origin, target, key;
    struct problem p;

    if (!params_optional(&req->ask.params, req->ask.arena, PARAM_hub_topic, &change->intent.topic,
                         &p) ||
        str_is_null(change->intent.topic)) {
        refuse(req, "hub.topic is missing, or was given twice.");
        return false;
    }
    target = topic_target(req->ask.arena, change->intent.topic, origins, n_origins, &origin);
    if (change->intent.topic.len > TOPIC_MAX) {
        refuse(req, "hub.topic is too long: it is sent in a field of each delivery, so it may have 8192 bytes.");
        return false;
    }
    if (str_is_null(target)) {
        refuse(req,
               "hub.topic must be a URL of this server, percent-encoded, without a fragment: the "
               "rel=self link of one of its documents. This hub delivers nothing else.");
        return false;
    }
    auth_without_key(req->ask.arena, target, &key);
    if (!str_is_null(key)) { /* the topic is stored, and sent to the callback */
        refuse(req,
               "hub.topic has a token (key); use the document's rel=self link, which has none.");
        return false;
    }
    if (!topic_read(req, origin, target, &change->topic, &p)) {
        refuse_problem(req, &p);
        return false;
    }
    for (size_t i = 0; i < change->topic.query.n_urls; i++) {
        struct str credential = change->topic.query.urls[i].credential;
        ssize_t colon = str_chr(credential, ':');

        if (colon >= 0 && (size_t)colon + 1 < credential.len) {
            refuse(req, "hub.topic has a password; use the document's rel=self link, which needs "
                        "none.");
            return false;
        }
    }
    return true;
}

static bool read_lease(struct request *req, struct hub_change *change)
{
    struct problem p;
    struct str text;

    if (!params_optional(&req->ask.params, req->ask.arena, PARAM_hub_lease, &text, &p) ||
        !params_count(&req->ask.params, req->ask.arena, PARAM_hub_lease, &change->intent.lease_s,
                      &p)) {
        refuse(req, "hub.lease_seconds must be a whole number above 0.");
        return false;
    }
    change->intent.renews = change->intent.legacy && str_is_null(text);
    return true;
}

static bool read_secret(struct request *req, struct hub_change *change)
{
    struct problem p;

    if (!params_optional(&req->ask.params, req->ask.arena, PARAM_hub_secret, &change->intent.secret,
                         &p) ||
        change->intent.secret.len > (size_t)param_max(PARAM_hub_secret)) {
        refuse(req, "hub.secret must be shorter than 200 bytes.");
        return false;
    }
    if (!params_optional(&req->ask.params, req->ask.arena, PARAM_hub_verify_token,
                         &change->intent.verify_token, &p) ||
        change->intent.verify_token.len > (size_t)param_max(PARAM_hub_verify_token)) {
        refuse(req, "hub.verify_token is too long, or was given twice.");
        return false;
    }
    return true;
}

/* hub.verify makes it a request of PubSubHubbub 0.3. Of the words in it, the first one that is
 * known counts (D33). */
static bool read_verify(struct request *req, struct hub_change *change)
{
    const struct param *one;
    bool known = false;
    size_t at = 0;

    while ((one = params_next(&req->ask.params, PARAM_hub_verify, &at)) != NULL) {
        struct str rest = one->value;

        change->intent.legacy = true;
        while (!known && !str_is_null(rest)) {
            struct str word = str_trim(str_split(&rest, ','));

            known = str_eqz(word, "sync") || str_eqz(word, "async");
            change->intent.waits = str_eqz(word, "sync");
        }
    }
    if (known || !change->intent.legacy)
        return true;
    refuse(req, "hub.verify must be sync or async.");
    return false;
}

static void subscribe(struct request *req, enum hub_mode mode, const struct str *origins,
                      size_t n_origins)
{
    struct hub_change *change = ARENA_NEW(req->ask.arena, struct hub_change);

    *change = (struct hub_change){.intent = {.mode = mode,
                                             .reason = STR_NULL,
                                             .owner = caller_lease_owner(&req->ask.caller),
                                             .by_admin = req->ask.caller.role == ROLE_ADMIN}};
    if (!read_callback(req, change) || !read_topic(req, change, origins, n_origins) ||
        !read_verify(req, change) || !read_secret(req, change) ||
        (mode == HUB_SUBSCRIBE && !read_lease(req, change)))
        return;
    /* one can unsubscribe even if the topic does not exist any more */
    if (mode == HUB_UNSUBSCRIBE) {
        hand_over(req, change);
        return;
    }
    feeds_asked_gather(req, change->topic.query.asked, on_gathered, change);
}

/* All topics that the request names. */
static bool prepare(struct request *req)
{
    static const enum param_id names[] = {PARAM_hub_url, PARAM_hub_topic};
    struct str *urls = ARENA_ARRAY(req->ask.arena, struct str, PUBLISH_MAX);
    const struct param *one;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (size_t at = 0; n < PUBLISH_MAX && (one = params_next(&req->ask.params, names[i], &at)) != NULL;)
            urls[n++] = one->value;
    return topics_prepare(req, urls, n, hub_post);
}

void hub_post(struct request *req)
{
    struct str origins[TOPIC_ORIGINS_MAX];
    size_t n_origins = topic_origins(req, origins);
    struct problem p;
    struct str mode;

    if (!req->ask.cfg->hub) {
        answer(req, 404, STR("There is no hub here."));
        return;
    }
    if (prepare(req))
        return;
    if (!params_optional(&req->ask.params, req->ask.arena, PARAM_hub_mode, &mode, &p))
        mode = STR_NULL;
    if (str_eqz(mode, "subscribe"))
        subscribe(req, HUB_SUBSCRIBE, origins, n_origins);
    else if (str_eqz(mode, "unsubscribe"))
        subscribe(req, HUB_UNSUBSCRIBE, origins, n_origins);
    else if (str_eqz(mode, "publish"))
        publish(req, origins, n_origins);
    else
        refuse(req, "hub.mode must be subscribe, unsubscribe or publish.");
}
