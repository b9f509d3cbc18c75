/* Arena, buffer, blob, map and error texts. */
#include "tests/unit/cmocka_all.h"

#include <pthread.h>

#include "base/arena.h"
#include "base/blob.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/map.h"

static void test_arena__pieces_are_aligned_and_keep_their_bytes(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    char *p[500];

    for (size_t i = 0; i < 500; i++) {
        p[i] = arena_alloc(&a, i * 7 + 1);
        assert_int_equal((uintptr_t)p[i] % 8, 0);
        memset(p[i], (int)i, i * 7 + 1);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k < i * 7 + 1; k++)
            assert_int_equal((unsigned char)p[i][k], i & 255);
    arena_release(&a);
    assert_int_equal(arena_size(&a), 0);
}

static void test_arena__a_large_piece_leaves_the_chunk_in_use(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    char *small = arena_alloc(&a, 16), *next;

    memset(arena_alloc(&a, 5 << 20), 1, 5 << 20);
    next = arena_alloc(&a, 16);
    assert_ptr_equal(next, small + 16);
    arena_release(&a);
}

static void test_arena__rewinding_gives_back_all_since_the_mark(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct arena_mark empty = arena_mark(&a), mark;
    char *kept = arena_copy(&a, "kept", 4), *next;
    size_t size = arena_size(&a);

    mark = arena_mark(&a);
    for (int round = 0; round < 3; round++) {
        memset(arena_alloc(&a, 16), 1, 16);
        memset(arena_alloc(&a, 5 << 20), 1, 5 << 20); /* behind the head */
        for (int i = 0; i < 1000; i++)                /* several heads */
            memset(arena_alloc(&a, 100), 1, 100);
        memset(arena_alloc(&a, 5 << 20), 1, 5 << 20);
        arena_rewind(&a, mark);
        assert_int_equal(arena_size(&a), size);
        next = arena_alloc(&a, 16);
        assert_ptr_equal(next, kept + 8);
        arena_rewind(&a, mark);
    }
    assert_string_equal(kept, "kept");
    arena_rewind(&a, empty);
    assert_int_equal(arena_size(&a), 0);
    assert_null(a.head);
}

/* Two arenas at a time, over and over: chunks that were given back go to another, of another size.
 */
static void *fill_arenas(void *unused)
{
    unsigned seed = 1;

    for (int round = 0; round < 60; round++) {
        struct arena arenas[2] = {ARENA_INIT, ARENA_INIT};
        struct {
            unsigned char *p;
            size_t n;
        } pieces[64];

        for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
            seed = seed * 1103515245 + 12345;
            pieces[i].n = ((size_t)1 << (seed >> 16) % 19) + (seed >> 8) % 5000;
            pieces[i].p = arena_alloc(&arenas[i % 2], pieces[i].n);
            memset(pieces[i].p, (int)i, pieces[i].n);
        }
        for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
            if (pieces[i].p[0] != i || memcmp(pieces[i].p, pieces[i].p + 1, pieces[i].n - 1) != 0)
                return NULL;
        arena_release(&arenas[round % 2]);
        arena_release(&arenas[1 - round % 2]);
    }
    return unused;
}

static void test_arena__memory_that_was_given_back_is_used_once(void **state)
{
    assert_ptr_equal(fill_arenas(state), state);
}

/* The leak check of the sanitizers proves the end of it. */
static void test_arena__a_thread_takes_what_it_kept_along(void **state)
{
    pthread_t thread;
    void *result = NULL;

    assert_int_equal(pthread_create(&thread, NULL, fill_arenas, state), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, state);
}

static void test_buf__overflow_is_sticky_and_keeps_what_was_there(void **state UNUSED)
{
    struct buf b = BUF_INIT(10);

    buf_puts(&b, "12345678");
    buf_puts(&b, "abc");
    assert_false(buf_ok(&b));
    buf_puts(&b, "x");
    assert_str(buf_view(&b), "12345678");
    buf_reset(&b);
    buf_printf(&b, "%d-%s", 10, "ten");
    assert_true(buf_ok(&b));
    assert_str(buf_view(&b), "10-ten");
    buf_release(&b);
}

static void test_buf__fills_to_its_maximum_exactly(void **state UNUSED)
{
    struct buf b = BUF_INIT(64);

    for (int i = 0; i < 64; i++)
        buf_putc(&b, 'x');
    assert_true(buf_ok(&b));
    buf_putc(&b, 'y');
    assert_false(buf_ok(&b));
    assert_int_equal(b.len, 64);
    buf_release(&b);
}

static void test_buf__utf8_replaces_what_is_no_character(void **state UNUSED)
{
    struct buf b = BUF_INIT(64);

    buf_utf8(&b, 'a');
    buf_utf8(&b, 0xE4);
    buf_utf8(&b, 0x2603);
    buf_utf8(&b, 0x1F600);
    buf_utf8(&b, 0xD800);
    buf_utf8(&b, 0x110000);
    assert_str(buf_view(&b), "a\xC3\xA4\xE2\x98\x83\xF0\x9F\x98\x80\xEF\xBF\xBD\xEF\xBF\xBD");
    buf_release(&b);
}

static void test_blob__lives_as_long_as_a_holder(void **state UNUSED)
{
    struct blob *a = blob_copy(STR("text")), *b = blob_ref(a);

    blob_unref(&a);
    assert_null(a);
    assert_str(blob_bytes(b), "text");
    blob_unref(&b);
    blob_unref(&b);
    assert_int_equal(blob_bytes(b).len, 0);
}

static void test_map__put_get_replace_delete(void **state UNUSED)
{
    struct map m = MAP_INIT;
    struct str key;
    void *it = NULL, *value;
    int one = 1, two = 2, n = 0;

    assert_null(map_put(&m, STR("k"), &one));
    assert_null(map_put(&m, STR("k\0k"), &two));
    assert_ptr_equal(map_put(&m, STR("k"), &two), &one);
    assert_ptr_equal(map_get(&m, STR("k")), &two);
    assert_int_equal(map_count(&m), 2);
    while (map_next(&m, &it, &key, &value)) {
        n++;
        map_del(&m, key); /* the current one may go */
    }
    assert_int_equal(n, 2);
    assert_null(map_get(&m, STR("k")));
    map_put(&m, STR("x"), &one);
    map_release(&m, NULL);
    assert_int_equal(map_count(&m), 0);
}

static void test_err__long_texts_are_cut_between_characters(void **state UNUSED)
{
    struct err err = ERR_INIT;
    char text[600];

    memset(text, 'a', sizeof text);
    for (size_t i = 500; i + 3 < sizeof text; i += 3)
        memcpy(text + i, "\xE2\x98\x83", 3);
    text[sizeof text - 1] = '\0';
    assert_int_equal(err_set(&err, RC_LIMIT, "%s", text), RC_LIMIT);
    assert_int_equal(str_utf8_valid(str_from(err.text)), strlen(err.text));
    err_prefix(&err, "feed %d", 7);
    assert_true(str_starts(str_from(err.text), STR("feed 7: aaa")));
    assert_int_equal(str_utf8_valid(str_from(err.text)), strlen(err.text));
    assert_int_equal(err.rc, RC_LIMIT);
    assert_int_equal(err_set(NULL, RC_INPUT, "nobody listens"), RC_INPUT);
}

static void test_err__table_rows(void **state UNUSED)
{
    assert_string_equal(rc_name(RC_TIMEOUT), "TIMEOUT");
    assert_string_equal(rc_meaning(RC_TIMEOUT), "took too long");
}

static void test_digest__known_values(void **state UNUSED)
{
    static const unsigned char url_ns[16] = {0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                             0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
    unsigned char md[DIGEST_SHA256_LEN];
    char hex[2 * DIGEST_SHA256_LEN + 1], uuid[37], again[37];

    digest_sha256(STR("abc"), md);
    digest_hex(md, 4, hex);
    assert_string_equal(hex, "ba7816bf"); /* FIPS 180-4, example */
    digest_uuid5(url_ns, STR("http://www.example.com/"), uuid);
    assert_int_equal(uuid[14], '5');
    digest_uuid5(url_ns, STR("http://www.example.com/"), again);
    assert_string_equal(uuid, again);
    digest_uuid4(uuid);
    digest_uuid4(again);
    assert_string_not_equal(uuid, again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena__pieces_are_aligned_and_keep_their_bytes),
        cmocka_unit_test(test_arena__a_large_piece_leaves_the_chunk_in_use),
        cmocka_unit_test(test_arena__rewinding_gives_back_all_since_the_mark),
        cmocka_unit_test(test_arena__memory_that_was_given_back_is_used_once),
        cmocka_unit_test(test_arena__a_thread_takes_what_it_kept_along),
        cmocka_unit_test(test_buf__overflow_is_sticky_and_keeps_what_was_there),
        cmocka_unit_test(test_buf__fills_to_its_maximum_exactly),
        cmocka_unit_test(test_buf__utf8_replaces_what_is_no_character),
        cmocka_unit_test(test_blob__lives_as_long_as_a_holder),
        cmocka_unit_test(test_map__put_get_replace_delete),
        cmocka_unit_test(test_err__long_texts_are_cut_between_characters),
        cmocka_unit_test(test_err__table_rows),
        cmocka_unit_test(test_digest__known_values),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
