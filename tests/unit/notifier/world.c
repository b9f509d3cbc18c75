/* tests/unit/notifier/world.c - a small world around a notifier. */
#include "world.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "feed/filter/filter.h"

#define WAIT_MS 60000 /* what has not come by then does not come */

/* An operation of the store that is waited for. */
struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    enum rc rc;
    int64_t id;
};

static struct waiting waiting = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .done = PTHREAD_COND_INITIALIZER};
static struct arena records = ARENA_INIT;

static void on_done(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct waiting *w = ctx;

    if (rc != RC_OK)
        fprintf(stderr, "operation failed: %s\n", err == NULL ? "?" : err->text);
    pthread_mutex_lock(&w->lock);
    w->is_done = true;
    w->rc = rc;
    w->id = res == NULL ? 0 : res->id;
    pthread_cond_signal(&w->done);
    pthread_mutex_unlock(&w->lock);
}

static int64_t finish(enum rc rc)
{
    ASSERT(rc == RC_OK);
    pthread_mutex_lock(&waiting.lock);
    while (!waiting.is_done)
        pthread_cond_wait(&waiting.done, &waiting.lock);
    waiting.is_done = false;
    ASSERT(waiting.rc == RC_OK);
    pthread_mutex_unlock(&waiting.lock);
    return waiting.id;
}

#define RESPONSE(inside) "<?xml version=\"1.0\"?><methodResponse>" inside "</methodResponse>"

static const char taken[] = RESPONSE("<params><param><value><int>1</int></value></param></params>");
static const char fault[] = RESPONSE(
    "<fault><value><struct><member><name>faultCode</name><value><int>1</int></value></member>"
    "<member><name>faultString</name><value><string>no</string></value></member></struct></value>"
    "</fault>");

/* What the endpoint does, see world.h. */
static void endpoint_script(void *ctx, const struct origin_request *request,
                            struct origin_page *out)
{
    struct world *w = ctx;
    const char *path = request->path;
    bool is_busy = strncmp(path, "/busy", 5) == 0;

    if (is_busy && request->nth <= ARRAY_LEN(w->busy_ms))
        w->busy_ms[request->nth - 1] = clock_mono_ms();
    *out = (struct origin_page){
        .fields = "Content-Type: text/xml\r\nLocation: /ok\r\n"
                  "WWW-Authenticate: Basic realm=\"test\"\r\n",
        .body = strncmp(path, "/fault", 6) == 0     ? fault
                : strncmp(path, "/garbage", 8) == 0 ? "\xff<not a response"
                                                    : taken,
        .waits = strncmp(path, "/hold", 5) == 0,
    };
    if (strncmp(path, "/moved", 6) == 0)
        out->status = 302;
    else if (strncmp(path, "/auth", 5) == 0 &&
             strcasestr(request->head, "\r\nAuthorization: Basic dXNlcjpzZWNyZXQ=") == NULL)
        out->status = 401;
    else if ((strncmp(path, "/fail", 5) == 0 && request->nth <= strtoul(path + 5, NULL, 10)) ||
             (strncmp(path, "/down", 5) == 0 && w->is_down))
        out->status = 500;
    else if (is_busy && request->nth == 1) {
        out->status = 503;
        out->fields = w->retry_after;
    }
}

void world_init(struct world *w, bool refusing)
{
    struct str loopback = STR("127.0.0.0/8");

    *w = (struct world){.queue_len = 4096,
                        .retry_after = "Retry-After: 1\r\n",
                        .cfg = {.user_agent = "Feedmill-test/1",
                                .max_calls = 32,
                                .max_entries = 100,
                                .timeout_ms = 30000,
                                .first_retry_ms = 20,
                                .max_retry_ms = 100,
                                .suspend_after_s = 3600,
                                .max_refusals = 3}};
    snprintf(w->dir, sizeof w->dir, "%s/feedmill-test-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    ASSERT(mkdtemp(w->dir) != NULL);
    ASSERT(guard_new(&loopback, 1, &w->guard, NULL) == RC_OK);
    w->receiver = origin_new(endpoint_script, w, refusing);
}

void world_down(struct world *w, bool down)
{
    w->is_down = down;
}

void world_start(struct world *w)
{
    char path[128];
    struct store_cfg cfg = {.n_readers = 2,
                            .read_filter = filter_read,
                            .queue_len = w->queue_len,
                            .batch_ops = 256,
                            .batch_ms = 5,
                            .cache_bytes = 1 << 20,
                            .levels = {{3600, 3600, 3600}}};
    struct err err = ERR_INIT;

    snprintf(path, sizeof path, "%s/feedmill.db", w->dir);
    cfg.path = str_from(path);
    if (store_open(&cfg, &w->store, &err) != RC_OK)
        fprintf(stderr, "store_open: %s\n", err.text);
    ASSERT(w->store != NULL);
    if (w->listener != NULL)
        store_listen(w->store, w->listener, w->listener_ctx);
    w->cfg.store = w->store;
    w->cfg.guard = w->guard;
    w->notifier = notifier_new(&w->cfg);
    ASSERT(notifier_start(w->notifier, &err) == RC_OK);
}

void world_stop(struct world *w, int64_t ms)
{
    notifier_stop(w->notifier, ms);
    store_close(&w->store);
    notifier_free(&w->notifier);
}

void world_release(struct world *w)
{
    char command[128];

    if (w->store != NULL)
        world_stop(w, 5000);
    origin_free(&w->receiver);
    guard_free(&w->guard);
    arena_release(&records);
    snprintf(command, sizeof command, "rm -r %s", w->dir);
    ASSERT(system(command) == 0);
}

int64_t world_feed(struct world *w, const char *url)
{
    struct feed_ref ref = {.url = str_from(url), .shown_url = str_from(url)};
    int64_t id = finish(store_add_feed(w->store, &ref, on_done, &waiting));

    world_publish(w, id, NULL, 0, "");
    return id;
}

int64_t world_subscribe(struct world *w, const char *path, const char *const *urls, size_t n,
                        bool from_start)
{
    struct feed_ref refs[8] = {{.url = STR_NULL}};
    struct sub_request req = {.sink = STR("xmlrpc"),
                              .feeds = refs,
                              .n_feeds = n,
                              .level = LEVEL_KEEP,
                              .from_given = from_start};

    ASSERT(n <= ARRAY_LEN(refs));
    for (size_t i = 0; i < n; i++)
        refs[i] = (struct feed_ref){.url = str_from(urls[i]), .shown_url = str_from(urls[i])};
    if (path != NULL)
        req.endpoint = str_from(origin_url(w->receiver, path));
    req.endpoint_credential = str_from(w->credential);
    return finish(store_subscribe(w->store, &req, on_done, &waiting));
}

void world_unsubscribe(struct world *w, int64_t sub_id)
{
    finish(store_unsubscribe(w->store, sub_id, NULL, 0, on_done, &waiting));
}

void world_resume(struct world *w, int64_t sub_id, int64_t position)
{
    finish(store_resume(w->store, sub_id, position, on_done, &waiting));
}

static void publish(struct world *w, int64_t feed_id, const struct entry_change *changes, size_t n)
{
    struct poll_outcome o = {.check.feed_id = feed_id,
                             .check.checked_at = clock_now_s(),
                             .check.ok = true,
                             .check.status = 200,
                             .has_document = true,
                             .head.json = STR("{}"),
                             .head.ext = STR(""),
                             .head.title = STR("A feed"),
                             .entries.changes = changes,
                             .entries.n = n,
                             .check.state = FEED_OK,
                             .check.level = LEVEL_KEEP,
                             .check.next_fetch_at = TIME_UNKNOWN};

    finish(store_poll_outcome(w->store, &o, 0, on_done, &waiting));
}

void world_publish(struct world *w, int64_t feed_id, const char *const *uids, size_t n,
                   const char *text)
{
    struct entry_change *changes;
    struct arena a = ARENA_INIT;

    changes = ARENA_ARRAY(&a, struct entry_change, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct entry_change *c = &changes[i];

        c->kind = text[0] == '\0' ? REV_NEW : REV_CHANGED;
        c->uid = str_from(uids[i]);
        c->title = str_printf(&a, "%s %s", uids[i], text);
        c->published_at = c->updated_at = TIME_UNKNOWN;
        c->doc = str_printf(&a, "{\"id\":\"%s\",\"title\":\"%s\"}", uids[i], c->title.ptr);
        c->ext = STR("");
        digest_content(str_printf(&a, "%" PRId64 " %s", ++w->n_published, uids[i]), c->essence);
    }
    publish(w, feed_id, changes, n);
    arena_release(&a);
}

void world_delete(struct world *w, int64_t feed_id, const char *uid)
{
    struct entry_change change = {.kind = REV_DELETED,
                                  .uid = str_from(uid),
                                  .published_at = TIME_UNKNOWN,
                                  .updated_at = TIME_UNKNOWN};

    publish(w, feed_id, &change, 1);
}

bool world_sub(struct world *w, int64_t sub_id, struct subscription *out)
{
    struct reader *r = reader_open(w->store);
    struct subscription *sub = NULL;
    enum rc rc;

    arena_release(&records);
    rc = reader_sub(r, sub_id, &records, &sub, NULL);
    ASSERT(rc == RC_OK || rc == RC_NOT_FOUND);
    reader_close(&r);
    if (rc == RC_OK)
        *out = *sub;
    return rc == RC_OK;
}

/* Look again and again: the storer's answer to the notifier cannot be waited for from outside. */
static bool wait_sub(struct world *w, int64_t sub_id,
                     bool (*is_so)(const struct subscription *sub, int64_t figure), int64_t figure)
{
    int64_t until = clock_mono_ms() + WAIT_MS;
    struct subscription sub;

    while (clock_mono_ms() < until) {
        if (world_sub(w, sub_id, &sub) && is_so(&sub, figure))
            return true;
        usleep(2000);
    }
    return false;
}

static bool is_delivered(const struct subscription *sub, int64_t n)
{
    return sub->n_delivered >= n;
}

static bool is_suspended(const struct subscription *sub, int64_t n UNUSED)
{
    return sub->state == SUB_SUSPENDED;
}

bool world_wait_delivered(struct world *w, int64_t sub_id, int64_t n_entries)
{
    return wait_sub(w, sub_id, is_delivered, n_entries);
}

bool world_wait_suspended(struct world *w, int64_t sub_id)
{
    return wait_sub(w, sub_id, is_suspended, 0);
}
