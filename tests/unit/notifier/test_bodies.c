/* test_bodies.c - the ring of rendered calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "notifier/bodies.h"

static void key(unsigned char out[BODIES_KEY_LEN], unsigned n)
{
    memset(out, 0, BODIES_KEY_LEN);
    memcpy(out, &n, sizeof n);
}

static void assert_kept(struct bodies *b, unsigned n, const char *text)
{
    unsigned char k[BODIES_KEY_LEN];
    struct blob *rest;

    key(k, n);
    rest = bodies_get(b, k);
    if (text == NULL)
        assert_null(rest);
    else
        assert_true(str_eqz(blob_bytes(rest), text));
    blob_unref(&rest);
}

static void put(struct bodies *b, unsigned n, const char *text)
{
    unsigned char k[BODIES_KEY_LEN];

    key(k, n);
    bodies_put(b, k, str_from(text));
}

static void test_bodies__kept_by_key(void **state UNUSED)
{
    struct bodies *b = bodies_new();

    put(b, 1, "one");
    put(b, 2, "two");
    put(b, 1, "another one"); /* the first stays: same key, same bytes */
    assert_kept(b, 1, "one");
    assert_kept(b, 2, "two");
    assert_kept(b, 3, NULL);
    bodies_free(&b);
    assert_null(b);
}

static void test_bodies__the_oldest_goes(void **state UNUSED)
{
    struct bodies *b = bodies_new();

    for (unsigned n = 0; n < 1000; n++)
        put(b, n, "text");
    assert_kept(b, 999, "text");
    assert_kept(b, 990, "text");
    assert_kept(b, 0, NULL);
    bodies_free(&b);
}

static void test_bodies__large_ones_are_not_kept(void **state UNUSED)
{
    struct bodies *b = bodies_new();
    char *large = mem_alloc(1000001);

    memset(large, 'x', 1000000);
    large[1000000] = '\0';
    put(b, 1, large);
    assert_kept(b, 1, NULL);
    mem_free(large);
    bodies_free(&b);
}

/* Who holds a rest may use it after it has left the ring. */
static void test_bodies__held_beyond_the_ring(void **state UNUSED)
{
    struct bodies *b = bodies_new();
    unsigned char k[BODIES_KEY_LEN];
    struct blob *rest;

    put(b, 1, "one");
    key(k, 1);
    rest = bodies_get(b, k);
    bodies_free(&b);
    assert_true(str_eqz(blob_bytes(rest), "one"));
    blob_unref(&rest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies__kept_by_key),
        cmocka_unit_test(test_bodies__the_oldest_goes),
        cmocka_unit_test(test_bodies__large_ones_are_not_kept),
        cmocka_unit_test(test_bodies__held_beyond_the_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
