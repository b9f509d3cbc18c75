/* tests/unit/storage/test_memcached.c - a real memcached on a free port of the loopback, and what
 * happens when it goes. Skipped where there is none. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/blob.h"
#include "base/stats.h"

#define SERVER "/usr/bin/memcached"
#define LOG_ID STR("6f0e6d0a-0000-4000-8000-000000000000")

/* A port that was free a moment ago; with a listening socket when fd is wanted. */
static int free_port(int *fd)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(0, bind(s, (struct sockaddr *)&sa, sizeof sa));
    assert_int_equal(0, getsockname(s, (struct sockaddr *)&sa, &len));
    if (fd != NULL) {
        assert_int_equal(0, listen(s, 8));
        *fd = s;
    } else {
        close(s);
    }
    return ntohs(sa.sin_port);
}

static bool can_connect(int port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = connect(s, (struct sockaddr *)&sa, sizeof sa) == 0;

    close(s);
    return ok;
}

static pid_t start_server(int *port)
{
    char text[16];
    pid_t pid;
    int i;

    if (access(SERVER, X_OK) != 0)
        skip();
    *port = free_port(NULL);
    snprintf(text, sizeof text, "%d", *port);
    pid = fork();
    if (pid == 0) {
        execl(SERVER, SERVER, "-u", "nobody", "-l", "127.0.0.1", "-p", text, "-U", "0", "-m", "8",
              (char *)NULL);
        _exit(127);
    }
    for (i = 0; i < 6000 && !can_connect(*port); i++)
        usleep(10000);
    assert_true(can_connect(*port));
    return pid;
}

static void stop_server(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static struct far_cache *open_far_ms(int port, struct str log_id, int call_ms)
{
    struct far_cache *m = NULL;
    char address[32];

    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    assert_int_equal(RC_OK, far_open(str_from(address), log_id, call_ms, &m, NULL));
    return m;
}

/* No call runs out of time, however busy the machine. */
static struct far_cache *open_far(int port, struct str log_id)
{
    return open_far_ms(port, log_id, 60000);
}

static void put(struct far_cache *m, const char *key, struct str meta, struct str body, bool gzip)
{
    struct cached_doc d = {.meta = meta, .body = blob_copy(body)};

    if (gzip)
        d.gzip = blob_copy(STR("\x1f\x8b\0gz"));
    far_add(m, str_from(key), &d);
    blob_unref(&d.body);
    blob_unref(&d.gzip);
}

static void test_memcached__round_trip(void **state UNUSED)
{
    int port;
    pid_t pid = start_server(&port);
    struct far_cache *m = open_far(port, LOG_ID), *other = open_far(port, STR("another log"));
    struct cached_doc d;

    assert_false(far_find(m, STR("k"), &d));
    put(m, "k", STR("the\0meta"), STR("the body"), true);
    assert_true(far_find(m, STR("k"), &d));
    assert_true(str_eq(d.meta, STR("the\0meta")));
    assert_true(str_eqz(blob_bytes(d.body), "the body"));
    assert_true(str_eq(blob_bytes(d.gzip), STR("\x1f\x8b\0gz")));
    cached_doc_release(&d);
    assert_false(far_find(other, STR("k"), &d)); /* two databases may share a server */
    put(m, "", STR(""), STR(""), false);
    assert_true(far_find(m, STR(""), &d));
    assert_int_equal(0, blob_bytes(d.body).len);
    assert_null(d.gzip);
    cached_doc_release(&d);
    far_close(&m);
    far_close(&other);
    stop_server(pid);
}

static void test_memcached__large_documents_stay_home(void **state UNUSED)
{
    int port;
    pid_t pid = start_server(&port);
    struct far_cache *m = open_far(port, LOG_ID);
    char *large = mem_alloc(MEMCACHED_VALUE_MAX);
    struct cached_doc d;
    int64_t errors = stats_get(STAT_memcached_error_total);

    memset(large, 'x', MEMCACHED_VALUE_MAX);
    put(m, "large", STR(""), str_of(large, MEMCACHED_VALUE_MAX), false);
    assert_false(far_find(m, STR("large"), &d));
    put(m, "fits", STR(""), str_of(large, MEMCACHED_VALUE_MAX - 100), false);
    assert_true(far_find(m, STR("fits"), &d));
    assert_int_equal(MEMCACHED_VALUE_MAX - 100, blob_bytes(d.body).len);
    cached_doc_release(&d);
    assert_int_equal(errors, stats_get(STAT_memcached_error_total));
    mem_free(large);
    far_close(&m);
    stop_server(pid);
}

/* What is damaged or not ours is a miss: a raw client overwrites every value it finds. */
static void test_memcached__damage_is_a_miss(void **state UNUSED)
{
    int port, fd, i;
    pid_t pid = start_server(&port);
    struct far_cache *m = open_far(port, LOG_ID);
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    char key[80] = "fm:", line[160], answer[64];
    unsigned char hash[32];
    struct cached_doc d;
    static const char *const ends[] = {"append %s 0 0 1\r\nx\r\n", "prepend %s 0 0 1\r\nx\r\n",
                                       "set %s 0 0 0\r\n\r\n"};

    digest_sha256(STR("6f0e6d0a-0000-4000-8000-000000000000\nk"), hash);
    digest_hex(hash, sizeof hash, key + 3);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(0, connect(fd, (struct sockaddr *)&sa, sizeof sa));
    for (i = 0; i < 3; i++) {
        put(m, "k", STR("meta"), STR("body"), false);
        assert_true(far_find(m, STR("k"), &d));
        cached_doc_release(&d);
        snprintf(line, sizeof line, ends[i], key);
        assert_int_equal(strlen(line), write(fd, line, strlen(line)));
        assert_int_equal(8, read(fd, answer, sizeof answer)); /* STORED */
        assert_false(far_find(m, STR("k"), &d));
    }
    close(fd);
    far_close(&m);
    stop_server(pid);
}

/* Killed midway: misses, soon without asking; another one in its place is found again later. */
static void test_memcached__server_goes(void **state UNUSED)
{
    int port, i;
    pid_t pid = start_server(&port);
    struct far_cache *m = open_far(port, LOG_ID);
    struct cached_doc d;
    int64_t errors;

    put(m, "k", STR("meta"), STR("body"), false);
    stop_server(pid);
    errors = stats_get(STAT_memcached_error_total);
    for (i = 0; i < 100; i++) {
        assert_false(far_find(m, STR("k"), &d));
        put(m, "k", STR("meta"), STR("body"), false);
    }
    assert_int_equal(errors + 2, stats_get(STAT_memcached_error_total));
    far_close(&m);
}

/* Accepts and never answers: each of the two calls that are made costs the time-out, no more. */
static void test_memcached__server_hangs(void **state UNUSED)
{
    int fd, port = free_port(&fd), i;
    struct far_cache *m = open_far_ms(port, LOG_ID, 500);
    struct cached_doc d;
    int64_t start = clock_mono_ms();

    for (i = 0; i < 100; i++)
        assert_false(far_find(m, STR("k"), &d));
    assert_true(clock_mono_ms() - start < 20000); /* not 100 time-outs */
    far_close(&m);
    close(fd);
}

static void open_node(struct fixture *f, const struct store_cfg *cfg)
{
    struct cached_doc got;

    fixture_close(f);
    assert_int_equal(RC_OK, store_open(cfg, &f->store, NULL));
    f->reader = reader_open(f->store);
    assert_false(cache_get(f->store, STR("k"), &got));
}

/* One node makes a document. Returns whether another finds it. */
static bool share(struct fixture *f, const struct store_cfg *cfg, const struct cached_doc *d,
                  struct cached_doc *got)
{
    open_node(f, cfg);
    cache_put(f->reader, STR("k"), d);
    assert_true(cache_get(f->store, STR("k"), got));
    cached_doc_release(got);
    open_node(f, cfg);
    return cache_get_far(f->reader, STR("k"), got);
}

/* Through the store: what one node made, another finds. */
static void test_memcached__beside_the_store(void **state)
{
    struct fixture *f = *state;
    struct store_cfg cfg = fixture_cfg(f);
    struct cached_doc d = {.meta = STR("m"), .body = blob_copy(STR("body"))}, got;
    int64_t until = clock_mono_ms() + 60000;
    char address[32];
    int port;
    pid_t pid = start_server(&port);

    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    cfg.memcached = str_from(address);
    open_node(f, &cfg);
    assert_false(cache_get_far(f->reader, STR("k"), &got));
    while (!share(f, &cfg, &d, &got)) /* on a busy machine it may be late, and is not waited for */
        assert_true(clock_mono_ms() < until);
    assert_true(str_eqz(blob_bytes(got.body), "body"));
    cached_doc_release(&got);
    assert_true(cache_get(f->store, STR("k"), &got)); /* now it is here, too */
    cached_doc_release(&got);
    blob_unref(&d.body);
    stop_server(pid);
}

static void test_memcached__breaker(void **state UNUSED)
{
    static const int64_t pauses[] = {2000, 4000, 8000, 16000, 30000, 30000};
    struct breaker b = {0};
    int64_t now = 100;
    size_t i;

    assert_true(breaker_allows(&b, now));
    breaker_note(&b, false, now);
    breaker_note(&b, true, now);
    breaker_note(&b, false, now);
    assert_true(breaker_allows(&b, now)); /* two in a row are meant */
    for (i = 0; i < ARRAY_LEN(pauses); i++) {
        breaker_note(&b, false, now);
        assert_false(breaker_allows(&b, now + pauses[i] - 1));
        now += pauses[i];
        assert_true(breaker_allows(&b, now));
    }
    breaker_note(&b, true, now);
    breaker_note(&b, false, now);
    assert_true(breaker_allows(&b, now));
    breaker_note(&b, false, now);
    assert_false(breaker_allows(&b, now + 1999));
    assert_true(breaker_allows(&b, now + 2000));
}

static void test_memcached__address(void **state UNUSED)
{
    static const char *const bad[] = {"",       "host",       "host:", ":11211",
                                      "host:0", "host:65536", "host:x"};
    struct far_cache *m = NULL;
    struct err err = ERR_INIT;
    size_t i;

    for (i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(RC_INPUT, far_open(str_from(bad[i]), LOG_ID, MEMCACHED_MS, &m, &err));
    assert_null(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memcached__round_trip),
        cmocka_unit_test(test_memcached__large_documents_stay_home),
        cmocka_unit_test(test_memcached__damage_is_a_miss),
        cmocka_unit_test(test_memcached__server_goes),
        cmocka_unit_test(test_memcached__server_hangs),
        cmocka_unit_test_setup_teardown(test_memcached__beside_the_store, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test(test_memcached__breaker),
        cmocka_unit_test(test_memcached__address),
    };

    digest_init();
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
