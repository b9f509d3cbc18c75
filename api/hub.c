/* api/hub.c - POST /hub: what WebSub and PubSubHubbub 0.3 subscribers and publishers ask for.
 *
 * A request is checked, its topic is read and its feeds are fetched if they are not known; then it
 * is written down as an intent, and 202 is the answer. The notifier asks the callback. With
 * hub.verify=sync the answer waits for what comes of that, which a commit notice tells. */
#include "api/hub.h"

#include <inttypes.h>

#include "api/buckets.h"
#include "api/hub_open.h"
#include "api/pull.h"
#include "api/reply.h"
#include "api/resources.h"
#include "api/topic.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "net/url.h"

#define STORE_MS 60000 /* a storer that has not answered by then is stuck */
#define SYNC_MS 120000 /* so long a request waits for its verification */
#define PUBLISH_MAX 100
#define LATER_S 10 /* Retry-After of who comes when there is no room */
#define PINGED_MAX 1000
#define TOKEN_MAX 1024

struct hub_ask { /* in the call's arena */
    struct hub_intent intent;
    struct topic topic;
    struct call *reading; /* the call that the topic was read with */
};

/* A request on its way through the storer, and perhaps the notifier. */
struct hub_wait {
    struct hub_waiters *waiters;
    struct hub_place *place; /* until the storer has answered; NULL: publish */
    struct loop *loop;
    uint64_t serial;
    struct call *call;
    bool is_sync, is_publish;
    enum rc rc; /* of the storer */
    bool confirmed;
};

struct hub_waiters {
    pthread_mutex_t lock;
    struct map by_intent; /* id -> struct hub_wait */
    struct hub_open *open;
};

/* ---- answers --------------------------------------------------------------------------------- */

static void answer(struct call *c, int status, struct str text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_printf(&out, "%.*s\n", STR_ARG(text));
    reply_buf(c, status, "text/plain; charset=utf-8", &out, STR_NULL);
}

/* Not now. */
static void put_off(struct call *c, int status, const char *text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_printf(&out, "%s Try again in %d seconds.\n", text, LATER_S);
    reply_buf(c, status, "text/plain; charset=utf-8", &out,
              str_printf(c->arena, "Retry-After: %d\r\n", LATER_S));
}

static void refuse(struct call *c, const char *text)
{
    answer(c, 400, str_from(text));
}

/* A problem, in the words of a text. */
static void refuse_problem(struct call *c, const struct problem *p)
{
    if (p->retry_after_s > 0)
        put_off(c, problem_status(p), str_z(c->arena, p->detail));
    else
        answer(c, problem_status(p), p->detail);
}

static void on_over(void *ctx)
{
    struct hub_wait *w = ctx;
    struct call *c = call_find(w->loop, w->serial, w->call);

    if (c == NULL)
        ; /* the client has left */
    else if (w->rc == RC_OK && (w->is_publish || (w->is_sync && w->confirmed)))
        http_reply(c->req, 204, STR("Cache-Control: no-store\r\n"), NULL);
    else if (w->rc == RC_OK && w->is_sync)
        answer(c, 409, STR("The callback did not confirm the request."));
    else if (w->rc == RC_OK)
        answer(c, 202, STR("Accepted; the callback will be asked to confirm it."));
    else
        put_off(c, 503, "Too many requests wait here.");
    mem_free(w);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static struct str key_of(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

struct hub_waiters *hub_waiters_new(void)
{
    struct hub_waiters *w = NEW(struct hub_waiters);

    pthread_mutex_init(&w->lock, NULL);
    w->open = hub_open_new();
    return w;
}

static void wait_free(void *value)
{
    mem_free(value);
}

void hub_waiters_free(struct hub_waiters **wp)
{
    if (*wp == NULL)
        return;
    map_release(&(*wp)->by_intent, wait_free);
    hub_open_free(&(*wp)->open);
    pthread_mutex_destroy(&(*wp)->lock);
    mem_free(*wp);
    *wp = NULL;
}

void hub_waiters_notice(struct hub_waiters *all, const struct commit_notice *notice)
{
    for (size_t i = 0; i < notice->n_settled; i++) {
        struct str key = key_of(&notice->settled[i].intent_id);
        struct hub_wait *w;

        hub_open_settled(all->open, notice->settled[i].intent_id);
        pthread_mutex_lock(&all->lock);
        w = map_get(&all->by_intent, key);
        if (w != NULL)
            map_del(&all->by_intent, key);
        pthread_mutex_unlock(&all->lock);
        if (w == NULL)
            continue;
        w->confirmed = notice->settled[i].confirmed;
        loop_post(w->loop, on_over, w);
    }
}

static struct hub_wait *wait_new(struct call *c, int64_t ms)
{
    struct hub_wait *w = NEW(struct hub_wait);

    call_hold(c, ms);
    w->waiters = c->api->hub;
    w->loop = http_request_loop(c->req);
    w->serial = c->serial;
    w->call = c;
    return w;
}

/* The storer's thread: nothing is settled before this returns. */
static void on_stored(void *ctx, enum rc rc, const struct store_result *res,
                      const struct err *err UNUSED)
{
    struct hub_wait *w = ctx;

    w->rc = rc;
    if (w->place != NULL && rc == RC_OK)
        hub_open_keep(w->waiters->open, &w->place, res->id);
    else if (w->place != NULL)
        hub_open_leave(w->waiters->open, &w->place);
    if (rc == RC_OK && w->is_sync) {
        pthread_mutex_lock(&w->waiters->lock);
        map_put(&w->waiters->by_intent, key_of(&res->id), w);
        pthread_mutex_unlock(&w->waiters->lock);
        return;
    }
    loop_post(w->loop, on_over, w);
}

/* ---- publish --------------------------------------------------------------------------------- */

static size_t add_known(struct call *c, struct str url, int64_t *ids, size_t n)
{
    size_t found = store_find_by_any_url(c->api->store, url, ids + n, PINGED_MAX - n);

    return n + (found < PINGED_MAX - n ? found : PINGED_MAX - n);
}

/* A publisher names its feeds, or our views of them. */
static void publish(struct call *c, const struct str *origins, size_t n_origins)
{
    int64_t *ids = ARENA_ARRAY(c->arena, int64_t, PINGED_MAX);
    size_t n_urls = 0, n = 0;
    struct hub_wait *w;

    if (!buckets_take(c->api->buckets, http_request_peer(c->req), c->cfg->ping_rate,
                      c->cfg->ping_burst, clock_mono_ms())) {
        put_off(c, 429, "Too many announcements from your address.");
        return;
    }
    for (size_t i = 0; i < c->params.n; i++) {
        const struct param *param = &c->params.items[i];
        struct call reading = {.api = c->api, .cfg = c->cfg, .arena = c->arena};
        struct str origin, target;
        struct url_parts parts;
        struct problem p;
        struct topic t;

        if (!str_eqz(param->name, "hub.url") && !str_eqz(param->name, "hub.topic"))
            continue;
        if (++n_urls > PUBLISH_MAX || url_parse(c->arena, param->value, &parts, NULL) != RC_OK) {
            refuse(c, n_urls > PUBLISH_MAX ? "At most 100 URLs can be announced at once."
                                           : "hub.url must be an absolute http or https URL.");
            return;
        }
        target = topic_target(c->arena, param->value, origins, n_origins, &origin);
        if (!str_is_null(target) && topic_read(&reading, origin, target, &t, &p))
            for (size_t k = 0; k < t.n_urls; k++)
                n = add_known(c, t.urls[k].url, ids, n);
        else
            n = add_known(c, parts.url, ids, n);
    }
    if (n_urls == 0) {
        refuse(c, "hub.url is missing: the feed that has changed.");
        return;
    }
    if (n == 0) { /* nobody here wants it */
        http_reply(c->req, 204, STR("Cache-Control: no-store\r\n"), NULL);
        return;
    }
    w = wait_new(c, STORE_MS);
    w->is_publish = true;
    if (store_ping(c->api->store, ids, n, on_stored, w) != RC_OK) {
        w->rc = RC_FULL;
        on_over(w);
    }
}

/* ---- subscribe, unsubscribe ------------------------------------------------------------------ */

static void hand_over(struct call *c, struct hub_ask *ask)
{
    struct hub_open *open = c->api->hub->open;
    const struct hub_full *full;
    struct hub_place *place = hub_open_take(open, http_request_peer(c->req), ask->intent.callback,
                                            ask->intent.topic, &full);
    struct hub_wait *w;

    if (place == NULL) {
        put_off(c, full->status, full->why);
        return;
    }
    w = wait_new(c, ask->intent.waits ? SYNC_MS : STORE_MS);
    w->is_sync = ask->intent.waits;
    w->place = place;
    if (store_hub_request(c->api->store, &ask->intent, on_stored, w) != RC_OK) {
        hub_open_leave(open, &w->place);
        w->rc = RC_FULL;
        on_over(w);
    }
}

static void on_gathered(struct call *c, struct gathered *items, size_t n, void *ctx)
{
    struct hub_ask *ask = ctx;
    struct sub_feed *feeds = ARENA_ARRAY(c->arena, struct sub_feed, n + 1);
    int64_t *touched;
    struct problem p;
    size_t n_feeds = 0, missing = n;

    for (size_t i = 0; i < n; i++) {
        if (items[i].ready)
            feeds[n_feeds++] =
                (struct sub_feed){.feed_id = items[i].id, .url = items[i].want.shown};
        else if (missing == n)
            missing = i;
    }
    if (n_feeds == 0 || (missing < n && ask->topic.needs_all)) {
        gather_problem(c, n_feeds == 0 ? items : &items[missing], n_feeds == 0 ? n : 1, &p);
        refuse_problem(c, &p);
        return;
    }
    touched = ARENA_ARRAY(c->arena, int64_t, n_feeds);
    for (size_t i = 0; i < n_feeds; i++)
        touched[i] = feeds[i].feed_id;
    store_touch(c->api->store, touched, n_feeds); /* from the subscription on it is kept swept */
    ask->intent.feeds = feeds;
    ask->intent.n_feeds = n_feeds;
    hand_over(c, ask);
}

/* Without what cannot stand in a URL: the callback is called as it was given, or not at all. */
static bool is_callback(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == 127 ||
            strchr("#<>\"\\", s.ptr[i]) != NULL)
            return false;
    return str_istarts(s, STR("http://")) || str_istarts(s, STR("https://"));
}

static bool read_callback(struct call *c, struct hub_ask *ask)
{
    struct wanted_url url;
    struct problem p;
    struct str raw;

    if (!params_optional(&c->params, c->arena, "hub.callback", &raw, &p) || str_is_null(raw)) {
        refuse(c, "hub.callback is missing, or was given twice.");
        return false;
    }
    if (!is_callback(raw) || !wanted_url_read(c->arena, "hub.callback", raw, &url, &p)) {
        refuse(c, "hub.callback must be an absolute http or https URL without a fragment.");
        return false;
    }
    ask->intent.callback = url.url;
    ask->intent.credential = url.credential;
    return true;
}

static bool read_topic(struct call *c, struct hub_ask *ask, const struct str *origins,
                       size_t n_origins)
{
    struct str origin, target;
    struct problem p;

    if (!params_optional(&c->params, c->arena, "hub.topic", &ask->intent.topic, &p) ||
        str_is_null(ask->intent.topic)) {
        refuse(c, "hub.topic is missing, or was given twice.");
        return false;
    }
    target = topic_target(c->arena, ask->intent.topic, origins, n_origins, &origin);
    if (str_is_null(target)) {
        refuse(c,
               "hub.topic must be a URL of this server, percent-encoded, without a fragment: the "
               "rel=self link of one of its documents. This hub delivers no others.");
        return false;
    }
    ask->reading = ARENA_NEW(c->arena, struct call);
    *ask->reading = (struct call){.api = c->api, .cfg = c->cfg, .arena = c->arena};
    if (!topic_read(ask->reading, origin, target, &ask->topic, &p)) {
        refuse_problem(c, &p);
        return false;
    }
    for (size_t i = 0; i < ask->topic.n_urls; i++) {
        struct str credential = ask->topic.urls[i].credential;
        ssize_t colon = str_chr(credential, ':');

        if (colon >= 0 && (size_t)colon + 1 < credential.len) {
            refuse(c, "hub.topic holds a password; take the document's rel=self link, which stands "
                      "for it.");
            return false;
        }
    }
    return true;
}

static bool read_lease(struct call *c, struct hub_ask *ask)
{
    const struct api_cfg *cfg = c->cfg;
    struct problem p;
    struct str text;
    int64_t *lease = &ask->intent.lease_s;

    if (!params_optional(&c->params, c->arena, "hub.lease_seconds", &text, &p) ||
        !params_count(&c->params, c->arena, "hub.lease_seconds", cfg->lease_default_s, INT32_MAX,
                      lease, &p) ||
        (!str_is_null(text) && *lease == 0)) {
        refuse(c, "hub.lease_seconds must be a whole number above 0.");
        return false;
    }
    ask->intent.renews = ask->intent.legacy && str_is_null(text);
    if (*lease < cfg->lease_min_s)
        *lease = cfg->lease_min_s;
    if (*lease > cfg->lease_max_s)
        *lease = cfg->lease_max_s;
    return true;
}

static bool read_secret(struct call *c, struct hub_ask *ask)
{
    struct problem p;

    if (!params_optional(&c->params, c->arena, "hub.secret", &ask->intent.secret, &p) ||
        ask->intent.secret.len > HUB_SECRET_MAX) {
        refuse(c, "hub.secret must be shorter than 200 bytes.");
        return false;
    }
    if (!params_optional(&c->params, c->arena, "hub.verify_token", &ask->intent.verify_token, &p) ||
        ask->intent.verify_token.len > TOKEN_MAX) {
        refuse(c, "hub.verify_token is too long, or was given twice.");
        return false;
    }
    return true;
}

/* D33: hub.verify makes it a request of PubSubHubbub 0.3; its first word that we know counts. */
static bool read_verify(struct call *c, struct hub_ask *ask)
{
    bool known = false;

    for (size_t i = 0; i < c->params.n; i++) {
        struct str rest = c->params.items[i].value;

        if (!str_eqz(c->params.items[i].name, "hub.verify"))
            continue;
        ask->intent.legacy = true;
        while (!known && !str_is_null(rest)) {
            struct str word = str_trim(str_split(&rest, ','));

            known = str_eqz(word, "sync") || str_eqz(word, "async");
            ask->intent.waits = str_eqz(word, "sync");
        }
    }
    if (known || !ask->intent.legacy)
        return true;
    refuse(c, "hub.verify names neither sync nor async.");
    return false;
}

static void subscribe(struct call *c, enum hub_mode mode, const struct str *origins,
                      size_t n_origins)
{
    struct hub_ask *ask = ARENA_NEW(c->arena, struct hub_ask);
    struct gathered *items;

    *ask = (struct hub_ask){.intent = {.mode = mode, .reason = STR_NULL}};
    if (!read_callback(c, ask) || !read_topic(c, ask, origins, n_origins) || !read_verify(c, ask) ||
        !read_secret(c, ask) || (mode == HUB_SUBSCRIBE && !read_lease(c, ask)))
        return;
    if (mode == HUB_UNSUBSCRIBE) { /* whatever has become of the topic */
        hand_over(c, ask);
        return;
    }
    items = ARENA_ARRAY(c->arena, struct gathered, ask->topic.n_urls);
    for (size_t i = 0; i < ask->topic.n_urls; i++)
        items[i].want = ask->topic.urls[i];
    gather_start(c, items, ask->topic.n_urls, on_gathered, ask);
}

/* A request at one of these may name a topic at another one. */
static const char *const loopback_names[] = {"localhost", "127.0.0.1", "[::1]"};

/* As links name us: with and without --base-url. On the own machine its names are one: who asked
 * by the one may have the topic from a program that uses the other. */
static size_t origins_of(struct call *c, struct str *out)
{
    struct str host = http_request_host(c->req), port;
    size_t n = 0;

    out[n++] = pull_origin(c);
    out[n++] = str_concat(c->arena, STR("http://"), host);
    for (size_t i = 0; i < ARRAY_LEN(loopback_names); i++) {
        if (!str_istarts(host, str_from(loopback_names[i])))
            continue;
        port = str_slice(host, strlen(loopback_names[i]), host.len);
        if (port.len > 0 && port.ptr[0] != ':')
            continue;
        for (size_t k = 0; k < ARRAY_LEN(loopback_names); k++)
            out[n++] = str_printf(c->arena, "http://%s%.*s", loopback_names[k], STR_ARG(port));
        break;
    }
    return n;
}

void hub_post(struct call *c)
{
    struct str origins[2 + ARRAY_LEN(loopback_names)];
    size_t n_origins = origins_of(c, origins);
    struct problem p;
    struct str mode;

    if (!c->cfg->hub) {
        answer(c, 404, STR("There is no hub here."));
        return;
    }
    if (!params_optional(&c->params, c->arena, "hub.mode", &mode, &p))
        mode = STR_NULL;
    if (str_eqz(mode, "subscribe"))
        subscribe(c, HUB_SUBSCRIBE, origins, n_origins);
    else if (str_eqz(mode, "unsubscribe"))
        subscribe(c, HUB_UNSUBSCRIBE, origins, n_origins);
    else if (str_eqz(mode, "publish"))
        publish(c, origins, n_origins);
    else
        refuse(c, "hub.mode must be subscribe, unsubscribe or publish.");
}
