/* tests/unit/storage/test_cache.c - documents in memory: bounds, order of leaving, references. */
#include <pthread.h>
#include <stdio.h>

#include "base/blob.h"
#include "base/digest.h"
#include "base/mem.h"
#include "base/stats.h"
#include "storage/cache.h"
#include "tests/unit/cmocka_all.h"

static void put(struct cache *c, const char *key, const char *meta, const char *body, bool gzip)
{
    struct cached_doc d = {.meta = str_from(meta), .body = blob_copy(str_from(body))};

    if (gzip)
        d.gzip = blob_copy(STR("gz"));
    cache_add(c, str_from(key), &d);
    blob_unref(&d.body);
    blob_unref(&d.gzip);
}

static bool has(struct cache *c, const char *key)
{
    struct cached_doc d;
    bool hit = cache_find(c, str_from(key), &d);

    if (hit)
        cached_doc_release(&d);
    return hit;
}

static void test_cache__hit_and_miss(void **state UNUSED)
{
    struct cache *c = cache_new(1 << 20);
    struct cached_doc d;

    put(c, "k1", "meta", "body", true);
    put(c, "", "", "no key", false);
    assert_false(has(c, "k2"));
    assert_true(cache_find(c, STR("k1"), &d));
    assert_true(str_eqz(d.meta, "meta"));
    assert_true(str_eqz(blob_bytes(d.body), "body"));
    assert_true(str_eqz(blob_bytes(d.gzip), "gz"));
    cached_doc_release(&d);
    assert_null(d.body);
    assert_true(cache_find(c, STR(""), &d));
    assert_null(d.gzip);
    cached_doc_release(&d);
    cache_free(&c);
    assert_null(c);
    assert_int_equal(0, stats_get(STAT_cache_bytes));
}

static void test_cache__replaces(void **state UNUSED)
{
    struct cache *c = cache_new(1 << 20);
    struct cached_doc d;

    put(c, "k", "m1", "old", true);
    put(c, "k", "m2", "new", false);
    assert_true(cache_find(c, STR("k"), &d));
    assert_true(str_eqz(d.meta, "m2"));
    assert_true(str_eqz(blob_bytes(d.body), "new"));
    assert_null(d.gzip);
    cached_doc_release(&d);
    cache_free(&c);
}

/* A document outlives its place in the cache while somebody holds it. */
static void test_cache__references_outlive(void **state UNUSED)
{
    struct cache *c = cache_new(1 << 20);
    struct cached_doc d;

    put(c, "k", "m", "body", false);
    assert_true(cache_find(c, STR("k"), &d));
    cache_free(&c);
    assert_true(str_eqz(d.meta, "m"));
    assert_true(str_eqz(blob_bytes(d.body), "body"));
    cached_doc_release(&d);
}

/* Bounded in bytes; what was used stays, what nobody asked for goes. */
static void test_cache__bound_and_order(void **state UNUSED)
{
    enum { SHARES = 8, DOC = 1000, N = 2000 };
    struct cache *c = cache_new((size_t)SHARES * 16 * (DOC + 300));
    char *body = mem_zalloc(DOC + 1), key[32];
    int i, left = 0;

    for (i = 0; i < DOC; i++)
        body[i] = 'b';
    put(c, "kept", "", body, false);
    for (i = 0; i < N; i++) {
        snprintf(key, sizeof key, "k%d", i);
        put(c, key, "", body, false);
        assert_true(has(c, "kept"));
        assert_true(has(c, key));
        assert_true(stats_get(STAT_cache_bytes) <= SHARES * 16 * (DOC + 300));
    }
    assert_false(has(c, "k0"));
    for (i = 0; i < N; i++) {
        snprintf(key, sizeof key, "k%d", i);
        left += has(c, key);
    }
    assert_true(left >= SHARES * 10 && left <= SHARES * 17);
    mem_free(body);
    cache_free(&c);
}

static void test_cache__too_large_or_none(void **state UNUSED)
{
    struct cache *c = cache_new(8 * 1000);
    char body[1200] = {0};

    memset(body, 'b', sizeof body - 1);
    put(c, "k", "", body, false);
    assert_false(has(c, "k"));
    cache_free(&c);
    c = cache_new(0);
    put(c, "k", "", "b", false);
    assert_false(has(c, "k"));
    cache_free(&c);
}

static void *hammer(void *arg)
{
    struct cache *c = arg;
    struct cached_doc d;
    char key[16];
    int i;

    for (i = 0; i < 3000; i++) {
        snprintf(key, sizeof key, "k%d", i * 7 % 40);
        if (i % 3 == 0)
            put(c, key, "meta", "body", true);
        else if (cache_find(c, str_from(key), &d)) {
            assert_true(str_eqz(blob_bytes(d.body), "body"));
            cached_doc_release(&d);
        }
    }
    return NULL;
}

static void test_cache__many_threads(void **state UNUSED)
{
    struct cache *c = cache_new(8 * 2000);
    pthread_t t[3];
    int i;

    for (i = 0; i < 3; i++)
        assert_int_equal(0, pthread_create(&t[i], NULL, hammer, c));
    for (i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    cache_free(&c);
    assert_int_equal(0, stats_get(STAT_cache_bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache__hit_and_miss),
        cmocka_unit_test(test_cache__replaces),
        cmocka_unit_test(test_cache__references_outlive),
        cmocka_unit_test(test_cache__bound_and_order),
        cmocka_unit_test(test_cache__too_large_or_none),
        cmocka_unit_test(test_cache__many_threads),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
