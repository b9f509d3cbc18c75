/* tests/unit/notifier/test_bodies.c - the ring of finished bodies of calls.
 *
 * The claims: what was put is found under its key (assert_kept), the oldest goes when there are too
 * many or they are too large, and a body that several threads want at once is made by one of them.
 * That nothing is freed twice, used after its end or left over is what the sanitizers say: a test
 * whose last act is bodies_free() relies on them. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "notifier/bodies.h"
#include "tests/unit/cmocka_all.h"

static void key(unsigned char out[BODIES_KEY_LEN], unsigned n)
{
    memset(out, 0, BODIES_KEY_LEN);
    memcpy(out, &n, sizeof n);
}

/* Is it kept? Else nobody is left to make it. */
static void assert_kept(struct bodies *b, unsigned n, const char *text)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    unsigned char k[BODIES_KEY_LEN];
    struct body body = {.bytes = NULL};
    bool found;

    key(k, n);
    found = bodies_get(b, k, &a, &body);
    assert_int_equal(text != NULL, found);
    if (found)
        assert_true(str_eqz(blob_bytes(body.bytes), text));
    else
        bodies_give_up(b, k);
    blob_unref(&body.bytes);
}

/* As who has made it does. */
static void put_bytes(struct bodies *b, unsigned n, struct str bytes)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    unsigned char k[BODIES_KEY_LEN];
    struct body body = {.bytes = NULL};

    key(k, n);
    if (!bodies_get(b, k, &a, &body)) {
        body = (struct body){.bytes = blob_copy(bytes)};
        bodies_put(b, k, &body);
    }
    blob_unref(&body.bytes);
}

static void put(struct bodies *b, unsigned n, const char *text)
{
    put_bytes(b, n, str_from(text));
}

static void test_bodies__kept_by_key(void **state UNUSED)
{
    struct bodies *b = bodies_new();

    put(b, 1, "one");
    put(b, 2, "two");
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

/* Ten of 10 MB: not more than 64 MB stay, the newest among them. */
static void test_bodies__their_bytes_have_a_bound(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const size_t len = (size_t)10 * 1024 * 1024;
    struct bodies *b = bodies_new();
    char *large = mem_alloc(len);
    unsigned char k[BODIES_KEY_LEN];
    size_t n_kept = 0;

    memset(large, 'x', len);
    for (unsigned n = 0; n < 10; n++)
        put_bytes(b, n, str_of(large, len));
    for (unsigned n = 0; n < 10; n++) {
        struct body body = {.bytes = NULL};
        bool found;

        key(k, n);
        found = bodies_get(b, k, &a, &body);
        n_kept += found;
        assert_true(found || n < 9);
        if (!found)
            bodies_give_up(b, k);
        blob_unref(&body.bytes);
    }
    assert_int_equal(6, n_kept);
    mem_free(large);
    bodies_free(&b);
}

/* Who holds it may use it after it has left the ring. */
static void test_bodies__held_beyond_the_ring(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bodies *b = bodies_new();
    unsigned char k[BODIES_KEY_LEN];
    struct body body;

    put(b, 1, "one");
    key(k, 1);
    assert_true(bodies_get(b, k, &a, &body));
    bodies_free(&b);
    assert_true(str_eqz(blob_bytes(body.bytes), "one"));
    blob_unref(&body.bytes);
}

static void test_bodies__cleared_ones_are_made_again(void **state UNUSED)
{
    struct bodies *b = bodies_new();

    put(b, 1, "one");
    bodies_clear(b);
    assert_kept(b, 1, NULL);
    bodies_free(&b);
}

/* Another thread asks for the body while this one is making it, and makes it itself after
 * everything was forgotten. */
static void *make_new(void *arg)
{
    struct bodies *b = arg;

    put(b, 1, "new");
    return NULL;
}

static void test_bodies__what_is_being_made_is_cleared_too(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bodies *b = bodies_new();
    unsigned char k[BODIES_KEY_LEN];
    struct body body = {.bytes = NULL};
    pthread_t other;

    key(k, 1);
    assert_false(bodies_get(b, k, &a, &body));
    bodies_clear(b);
    body.bytes = blob_copy(STR("old"));
    bodies_put(b, k, &body);
    assert_kept(b, 1, NULL);
    assert_false(bodies_get(b, k, &a, &body)); /* again, and now another one is first */
    bodies_clear(b);
    assert_int_equal(0, pthread_create(&other, NULL, make_new, b));
    pthread_join(other, NULL);
    bodies_put(b, k, &body);
    assert_kept(b, 1, "new");
    blob_unref(&body.bytes);
    bodies_free(&b);
}

/* Who waits for a body does not wait for ever when everything is forgotten meanwhile. */
static void test_bodies__who_waits_makes_it_after_a_clear(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bodies *b = bodies_new();
    unsigned char k[BODIES_KEY_LEN];
    struct body body = {.bytes = NULL};
    pthread_t other;

    key(k, 1);
    assert_false(bodies_get(b, k, &a, &body));
    assert_int_equal(0, pthread_create(&other, NULL, make_new, b));
    sched_yield(); /* it may wait now, or ask later: both end well */
    bodies_clear(b);
    pthread_join(other, NULL);
    assert_kept(b, 1, "new");
    bodies_free(&b);
}

/* All that is known of a topic's document comes with it, and what cannot be made is remembered,
 * too. */
static void test_bodies__facts_of_documents_are_kept(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bodies *b = bodies_new();
    unsigned char k[BODIES_KEY_LEN];
    struct body body = {.rc = RC_LIMIT}, got;

    body.doc = (struct topic_document){.self = str_dup(&a, STR("http://a.example/t")),
                                       .hub = str_dup(&a, STR("http://a.example/hub")),
                                       .n_entries = 3,
                                       .position = 17,
                                       .is_last = true};
    key(k, 1);
    assert_false(bodies_get(b, k, &a, &got));
    bodies_put(b, k, &body);
    arena_release(&a);
    assert_true(bodies_get(b, k, &a, &got));
    assert_int_equal(RC_LIMIT, got.rc);
    assert_null(got.bytes);
    assert_true(str_eqz(got.doc.self, "http://a.example/t"));
    assert_true(str_eqz(got.doc.hub, "http://a.example/hub"));
    assert_int_equal(3, got.doc.n_entries);
    assert_int_equal(17, got.doc.position);
    assert_true(got.doc.is_last);
    bodies_free(&b);
}

#define N_RACERS 8

struct race {
    struct bodies *b;
    atomic_int n_asking, n_made, n_got;
    bool first_gives_up;
};

static void *want(void *arg)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct race *race = arg;
    unsigned char k[BODIES_KEY_LEN];
    struct body body = {.bytes = NULL};

    key(k, 1);
    atomic_fetch_add(&race->n_asking, 1);
    if (!bodies_get(race->b, k, &a, &body)) {
        while (race->n_asking < N_RACERS) /* all want it before it is there */
            sched_yield();
        if (atomic_fetch_add(&race->n_made, 1) == 0 && race->first_gives_up) {
            bodies_give_up(race->b, k);
            return NULL;
        }
        body.bytes = blob_copy(STR("one"));
        bodies_put(race->b, k, &body);
    }
    if (str_eqz(blob_bytes(body.bytes), "one")) /* cmocka asserts in the main thread only */
        atomic_fetch_add(&race->n_got, 1);
    blob_unref(&body.bytes);
    return NULL;
}

static void run_race(struct race *race)
{
    pthread_t threads[N_RACERS];

    race->b = bodies_new();
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, want, race));
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    bodies_free(&race->b);
}

static void test_bodies__made_once_for_all_who_ask_at_once(void **state UNUSED)
{
    struct race race = {.first_gives_up = false};

    run_race(&race);
    assert_int_equal(1, race.n_made);
    assert_int_equal(N_RACERS, race.n_got);
}

static void test_bodies__given_up_another_one_makes_it(void **state UNUSED)
{
    struct race race = {.first_gives_up = true};

    run_race(&race);
    assert_int_equal(2, race.n_made);
    assert_int_equal(N_RACERS - 1, race.n_got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies__kept_by_key),
        cmocka_unit_test(test_bodies__the_oldest_goes),
        cmocka_unit_test(test_bodies__their_bytes_have_a_bound),
        cmocka_unit_test(test_bodies__held_beyond_the_ring),
        cmocka_unit_test(test_bodies__cleared_ones_are_made_again),
        cmocka_unit_test(test_bodies__what_is_being_made_is_cleared_too),
        cmocka_unit_test(test_bodies__who_waits_makes_it_after_a_clear),
        cmocka_unit_test(test_bodies__facts_of_documents_are_kept),
        cmocka_unit_test(test_bodies__made_once_for_all_who_ask_at_once),
        cmocka_unit_test(test_bodies__given_up_another_one_makes_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
