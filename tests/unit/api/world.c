/* tests/unit/api/world.c - see world.h. */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "feed/filter/filter.h"
#include "feed/text/json.h"
#include "net/xmlrpc.h"

struct job {
    struct job *next;
    int64_t feed_id; /* 0: a document */
    char *url;
    fetch_done_fn *fetched;
    document_done_fn *document;
    void *ctx;
    struct world *w;
};

void nap(int ms)
{
    usleep((useconds_t)ms * 1000);
}

/* ---- publishers ---- */

static bool path_is(const char *url, const char *path)
{
    const char *at = strstr(url, "://");

    at = at != NULL ? strchr(at + 3, '/') : NULL;
    return at != NULL && strncmp(at, path, strlen(path)) == 0;
}

static void on_stored(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    struct job *job = ctx;
    struct fetch_result out = {.rc = rc,
                               .feed_id = res != NULL ? res->id : 0,
                               .status = 200,
                               .url = str_from(job->url),
                               .text = err != NULL ? str_from(err->text) : STR_NULL};

    job->fetched(job->ctx, &out);
    mem_free(job->url);
    mem_free(job);
}

static struct entry_change *entries_of(struct arena *a, const char *url, int from, int n)
{
    struct entry_change *changes = ARENA_ARRAY(a, struct entry_change, (size_t)n);

    for (int i = 0; i < n; i++) { /* newest first, as documents have it */
        int k = from + n - 1 - i;
        int64_t at = 1700000000 + k * 60;
        char date[CLOCK_TEXT];
        struct entry_change *e = &changes[i];

        clock_rfc3339(at, date);
        *e = (struct entry_change){.kind = REV_NEW, .published_at = TIME_UNKNOWN};
        e->uid = str_printf(a, "%s#%d", url, k);
        e->updated_at = at;
        e->title = str_printf(a, "Entry %d", k);
        e->link = e->uid;
        e->summary = STR("Text");
        e->doc =
            str_printf(a,
                       "{\"id\":\"%s#%d\",\"title\":\"Entry %d\",\"link\":\"%s#%d\","
                       "\"summary\":\"Some text that is long enough to be compressed, and "
                       "then some more of it, and again some text that is long enough to be "
                       "compressed, until the document passes a kilobyte, which it does soon. \","
                       "\"updated\":\"%s\"}",
                       url, k, k, url, k, date);
        digest_content(e->doc, e->essence);
    }
    return changes;
}

static enum rc store_entries(struct store *s, int64_t feed_id, const char *url, int from, int n,
                             store_done_fn *done, void *ctx)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct poll_outcome o = {.check.feed_id = feed_id,
                             .check.checked_at = clock_now_s(),
                             .check.ok = true,
                             .check.status = 200,
                             .has_document = true,
                             .head.json =
                                 str_printf(&a,
                                            "{\"feed\":{\"title\":\"Feed %s\",\"link\":\"%s\"},"
                                            "\"version\":\"rss20\",\"encoding\":\"utf-8\","
                                            "\"bozo\":0,\"namespaces\":{},\"href\":\"%s\","
                                            "\"status\":200}",
                                            url, url, url),
                             .head.title = str_printf(&a, "Feed %s", url),
                             .head.site_url = str_from(url),
                             .entries.changes = entries_of(&a, url, from, n),
                             .entries.n = (size_t)n,
                             .check.state = FEED_OK,
                             .check.level = LEVEL_KEEP,
                             .check.next_fetch_at = clock_now_s() + 1800,
                             .check.next_reason = REASON_PERIOD};

    return store_poll_outcome(s, &o, 0, done, ctx);
}

static void fetch_feed(struct job *job)
{
    static const struct {
        const char *path, *text;
        enum rc rc;
        int status;
    } failures[] = {{"/404", "the publisher answered 404", RC_PEER, 404},
                    {"/page", "the page names no feed", RC_UNSUPPORTED, 200},
                    {"/denied", "169.254.0.1 is closed", RC_DENIED, 0},
                    {"/late", "no answer in time", RC_TIMEOUT, 0}};

    struct feed_brief brief;

    atomic_fetch_add(&job->w->n_fetches, 1);
    if (path_is(job->url, "/slow") &&
        !(store_brief(job->w->store, job->feed_id, &brief) && brief.fetched))
        nap(300);
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct fetch_result res = {.rc = failures[i].rc,
                                   .feed_id = job->feed_id,
                                   .status = failures[i].status,
                                   .url = str_from(job->url),
                                   .text = str_from(failures[i].text)};

        if (!path_is(job->url, failures[i].path))
            continue;
        job->fetched(job->ctx, &res);
        mem_free(job->url);
        mem_free(job);
        return;
    }
    if (store_entries(job->w->store, job->feed_id, job->url, 0, 3, on_stored, job) != RC_OK)
        abort();
}

/* http://l.test/treeN names the feed okN and includes treeN+1 before it, itself and a broken one.
 */
static void list_of_tree(struct buf *out, const char *url)
{
    int n = atoi(strstr(url, "/tree") + 5);

    buf_printf(out, "<opml version=\"2.0\"><body><outline type=\"include\" url=\"tree%d\"/>",
               n + 1);
    buf_printf(out, "<outline xmlUrl=\"http://p.test/ok%d\" text=\"t%d\"/>", n, n);
    buf_printf(out, "<outline type=\"include\" url=\"http://l.test/tree%d\"/>", n);
    buf_puts(out, "<outline type=\"include\" url=\"/404\"/></body></opml>");
}

static void fetch_document(struct job *job)
{
    struct document_result res = {.rc = RC_OK, .status = 200, .content_type = STR("text/x-opml")};
    AUTO(buf_release) struct buf deep = BUF_INIT(BUF_ANY);

    atomic_fetch_add(&job->w->n_documents, 1);
    if (atomic_load(&job->w->lists_fail) || path_is(job->url, "/404")) {
        res.rc = RC_PEER;
        res.status = 404;
        res.text = STR("the publisher answered 404");
    } else if (path_is(job->url, "/tree")) {
        list_of_tree(&deep, job->url);
        res.body = buf_view(&deep);
    } else if (path_is(job->url, "/html")) {
        res.body = STR("<html><body><p>No list.</p></body></html>");
    } else if (path_is(job->url, "/deep.opml")) {
        buf_puts(&deep, "<opml version=\"2.0\"><body>");
        for (int i = 0; i < 100000; i++)
            buf_printf(&deep, "<outline text=\"x\" xmlUrl=\"http://p.test/ok%d\"/>", i);
        buf_puts(&deep, "</body></opml>");
        res.body = buf_view(&deep);
    } else {
        res.body = STR("<opml version=\"1.1\"><head><title>My list</title></head><body>"
                       "<outline text=\"a\"><outline text=\"b\" xmlurl=\"http://p.test/ok1\"/>"
                       "<outline text=\"c\" XMLURL=\"feed://p.test/ok2\"/></outline>"
                       "<outline text=\"d\" xmlUrl=\"http://p.test/ok1\"/>"
                       "<outline text=\"e\" xmlUrl=\"ftp://p.test/ok3\"/>"
                       "<outline isComment=\"true\"><outline xmlUrl=\"http://p.test/ok4\"/>"
                       "</outline></body></opml>");
    }
    job->document(job->ctx, &res);
    mem_free(job->url);
    mem_free(job);
}

static void *publishers(void *ctx)
{
    struct world *w = ctx;
    struct job *hanging = NULL;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct job *job = w->jobs;

        if (job == NULL && w->stop)
            break;
        if (job == NULL) {
            pthread_cond_wait(&w->more, &w->lock);
            continue;
        }
        w->jobs = job->next;
        pthread_mutex_unlock(&w->lock);
        if (path_is(job->url, "/hang")) {
            job->next = hanging;
            hanging = job;
        } else if (job->feed_id == 0) {
            fetch_document(job);
        } else {
            fetch_feed(job);
        }
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    while (hanging != NULL) { /* a fetcher that stops tells everyone */
        struct job *job = hanging;
        struct fetch_result res = {.rc = RC_CLOSED, .feed_id = job->feed_id};

        hanging = job->next;
        job->fetched(job->ctx, &res);
        mem_free(job->url);
        mem_free(job);
    }
    return NULL;
}

static void push_job(struct world *w, struct job *job)
{
    struct job **end = &w->jobs;

    pthread_mutex_lock(&w->lock);
    while (*end != NULL)
        end = &(*end)->next;
    *end = job;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

static void on_record(void *ctx, struct reader *r)
{
    struct job *job = ctx;
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed *feed;

    if (reader_feed(r, job->feed_id, &a, &feed, NULL) != RC_OK)
        abort();
    job->url = mem_strndup(feed->url.ptr, feed->url.len);
    push_job(job->w, job);
}

static void port_await(void *ctx, int64_t feed_id, fetch_done_fn *done, void *done_ctx)
{
    struct world *w = ctx;
    struct job *job = NEW(struct job);

    job->w = w;
    job->feed_id = feed_id;
    job->fetched = done;
    job->ctx = done_ctx;
    if (store_read(w->store, on_record, job) != RC_OK)
        abort();
}

static void port_document(void *ctx, struct str url, struct str credential UNUSED,
                          document_done_fn *done, void *done_ctx)
{
    struct world *w = ctx;
    struct job *job = NEW(struct job);

    job->w = w;
    job->url = mem_strndup(url.ptr, url.len);
    job->document = done;
    job->ctx = done_ctx;
    push_job(w, job);
}

/* The storer's thread: what should have been written was not. */
static void on_lost(void *ctx, enum rc rc UNUSED, const struct store_result *res,
                    const struct err *err)
{
    struct world *w = ctx;

    w->lost_done(w->lost_ctx, RC_IO, res, err);
}

/* Nobody pushes here, so no endpoint wants to be left alone. */
static int64_t port_push_held(void *ctx UNUSED, struct str endpoint UNUSED)
{
    return TIME_UNKNOWN;
}

static enum rc port_ping(void *ctx, struct str url, struct str rss_url, size_t *n,
                         store_done_fn *done, void *done_ctx)
{
    struct world *w = ctx;

    pthread_mutex_lock(&w->lock);
    snprintf(w->pinged, sizeof(w->pinged), "%.*s %.*s", STR_ARG(url), STR_ARG(rss_url));
    pthread_mutex_unlock(&w->lock);
    atomic_fetch_add(&w->n_pings, 1);
    *n = str_find(url, STR("known")) >= 0 ? 1 : 0;
    if (str_find(url, STR("known/full")) >= 0)
        return RC_FULL;
    if (*n == 0)
        return RC_OK;
    if (str_find(url, STR("known/lost")) < 0)
        return store_ping(w->store, &(int64_t){1}, 1, done, done_ctx);
    w->lost_done = done;
    w->lost_ctx = done_ctx;
    return store_ping(w->store, &(int64_t){1}, 1, on_lost, w);
}

static const struct str own_name = {"api.test", 8};

/* ---- life ---- */

static void start(struct world *w)
{
    struct http_server_cfg http = {.listen = STR("127.0.0.1:0"),
                                   .n_loops = 2,
                                   .max_connections = 1000,
                                   .max_header = 128 * 1024,
                                   .max_body = 16 * 1024 * 1024,
                                   .header_ms = 10000,
                                   .body_ms = 10000,
                                   .idle_ms = 10000,
                                   .write_ms = 10000,
                                   .stall_ms = 60000,
                                   .max_unsent = 64 * 1024 * 1024};
    char path[96];
    struct store_cfg store = {.n_readers = 2,
                              .read_filter = filter_read,
                              .queue_len = 1000,
                              .batch_ops = 64,
                              .batch_ms = 2,
                              .cache_bytes = 1 << 20,
                              .levels = {{86400, 1800, 300}}};
    struct err err = ERR_INIT;

    snprintf(path, sizeof(path), "%s/f.db", w->dir);
    store.path = str_from(path);
    if (store_open(&store, &w->store, &err) != RC_OK)
        fail_msg("store: %s", err.text);
    w->cfg.store = w->store;
    w->api = api_new(&w->cfg);
    if (http_server_new(&http, api_handle, w->api, &w->server, &err) != RC_OK)
        fail_msg("server: %s", err.text);
    w->port = http_server_port(w->server);
    w->stop = false;
    pthread_create(&w->thread, NULL, publishers, w);
    http_server_start(w->server);
}

static void stop(struct world *w)
{
    api_stop(w->api);
    http_server_stop(w->server, 1000);
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    store_close(&w->store);
    http_server_free(&w->server);
    api_free(&w->api);
}

int world_setup(void **state)
{
    struct world *w = NEW(struct world);
    static bool once;

    if (!once) {
        digest_init();
        rpc_init();
        log_set_level(LOG_LEVEL_ERROR);
        once = true;
    }
    snprintf(w->dir, sizeof(w->dir), "%s/feedmill-api-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(w->dir));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    w->cfg = (struct api_cfg){.allow_hosts = &own_name,
                              .n_allow_hosts = 1,
                              .ports = {.ctx = w,
                                        .await_feed = port_await,
                                        .get_document = port_document,
                                        .ping = port_ping,
                                        .push_held = port_push_held},
                              .fetch_wait_ms = 3000,
                              .levels = {{86400, 1800, 300}},
                              .ping_rate = 10,
                              .ping_burst = 120,
                              .list_ttl_s = 60,
                              .archive_size = 50,
                              .min_period_s = 10,
                              .event_beat_ms = 15000};
    start(w);
    *state = w;
    return 0;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *ftw UNUSED)
{
    return remove(path);
}

int world_teardown(void **state)
{
    struct world *w = *state;

    stop(w);
    nftw(w->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    mem_free(w);
    return 0;
}

void world_restart(struct world *w)
{
    stop(w);
    start(w);
}

struct stored {
    atomic_bool done;
};

static void on_published(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                         const struct err *err UNUSED)
{
    struct stored *s = ctx;

    if (rc != RC_OK)
        abort();
    atomic_store(&s->done, true);
}

void publish(struct world *w, const char *url, int from, int n)
{
    struct feed_brief brief;
    struct stored s = {.done = false};

    assert_true(store_find_feed(w->store, str_from(url), STR_NULL, &brief));
    assert_int_equal(RC_OK, store_entries(w->store, brief.id, url, from, n, on_published, &s));
    until(atomic_load(&s.done));
}

/* ---- the client ---- */

int open_request(struct world *w, const char *method, const char *target, const char *fields,
                 const char *body)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval limit = {.tv_sec = 120}; /* longer than a long poll of the tests */
    size_t sent = 0;

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&sin, sizeof(sin)));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    buf_printf(&out, "%s %s HTTP/1.1\r\nHost: api.test:8080\r\nConnection: close\r\n%s", method,
               target, fields != NULL ? fields : "");
    if (body != NULL)
        buf_printf(&out, "Content-Length: %zu\r\n", strlen(body));
    buf_puts(&out, "\r\n");
    if (body != NULL)
        buf_puts(&out, body);
    while (sent < out.len) {
        ssize_t n = send(fd, out.ptr + sent, out.len - sent, MSG_NOSIGNAL);

        assert_true(n > 0);
        sent += (size_t)n;
    }
    return fd;
}

void reset_request(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

struct answer read_answer(struct arena *a, int fd, bool head_only)
{
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    struct answer ans = {0};
    char piece[65536];
    ssize_t n, head;
    struct str all;

    /* with SO_RCVTIMEO a program that was stopped for a while gets EINTR */
    while ((n = TEMP_FAILURE_RETRY(recv(fd, piece, sizeof(piece), 0))) > 0)
        buf_append(&in, piece, (size_t)n);
    close(fd);
    all = str_dup(a, buf_view(&in));
    head = str_find(all, STR("\r\n\r\n"));
    if (head < 0)
        fail_msg("no answer: \"%.*s\"", STR_ARG(all));
    ans.head = str_slice(all, 0, (size_t)head + 2);
    ans.body = str_slice(all, (size_t)head + 4, all.len);
    ans.status = atoi(all.ptr + strlen("HTTP/1.1 "));
    if (head_only)
        assert_int_equal(0, ans.body.len);
    return ans;
}

struct answer ask(struct world *w, struct arena *a, const char *method, const char *target,
                  const char *fields, const char *body)
{
    return read_answer(a, open_request(w, method, target, fields, body),
                       strcmp(method, "HEAD") == 0);
}

struct str field(const struct answer *ans, const char *name)
{
    struct str rest = ans->head;

    while (!str_is_null(rest)) {
        struct str line = str_split(&rest, '\n'), key;

        line = str_trim(line);
        key = str_split(&line, ':');
        if (!str_is_null(line) && str_ieqz(key, name))
            return str_trim(line);
    }
    return STR_NULL;
}

struct value *json_of(struct arena *a, const struct answer *ans)
{
    struct value *v;
    struct err err = ERR_INIT;

    if (json_read(a, ans->body, &v, &err) != RC_OK)
        fail_msg("%s in \"%.*s\"", err.text, STR_ARG(ans->body));
    return v;
}

void assert_problem(struct arena *a, const struct answer *ans, int status, const char *name)
{
    struct value *v;

    if (ans->status != status)
        fail_msg("status %d, wanted %d: %.*s", ans->status, status, STR_ARG(ans->body));
    assert_str(field(ans, "Content-Type"), "application/problem+json");
    assert_str(field(ans, "Cache-Control"), "no-store");
    v = json_of(a, ans);
    assert_int_equal(status, value_get_int(v, STR("status"), 0));
    assert_true(value_get_textz(v, "title").len > 0);
    assert_true(value_get_textz(v, "detail").len > 0);
    if (!str_ends(value_get_textz(v, "type"), str_from(name)))
        fail_msg("a problem \"%.*s\", wanted \"%s\"", STR_ARG(value_get_textz(v, "type")), name);
}

bool has(const struct answer *ans, const char *text)
{
    return str_find(ans->body, str_from(text)) >= 0;
}
