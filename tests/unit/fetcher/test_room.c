/* tests/unit/fetcher/test_room.c - what is under way while the size of the database is bounded (KEEP-05). */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fetcher/job.h"
#include "fetcher/room.h"
#include "fetcher/source.h"

#define MB 1000000

static struct job *job_of(struct fetcher *f, size_t len)
{
    static const char bytes[8 * MB];
    static const struct schedule_rules rules;
    struct job *job = job_new(f, &source_delivery, 1, 0, &rules);

    job->body = str_of(bytes, len);
    return job;
}

static void reopen(struct world *w, int64_t max_bytes)
{
    close_world(w, 0);
    w->max_bytes = max_bytes;
    open_world(w);
}

static int64_t taken(struct fetcher *f)
{
    int64_t bytes;

    pthread_mutex_lock(&f->room.lock); /* the loop looks, too */
    bytes = f->room.taken;
    pthread_mutex_unlock(&f->room.lock);
    return bytes;
}

/* Until the database was measured after all was given back. */
static void wait_free(struct fetcher *f)
{
    for (int64_t end_ms = clock_mono_ms() + 60000; room_is_kept(f); rest_ms(5))
        if (clock_mono_ms() > end_ms)
            fail_msg("room is kept for ever");
    assert_int_equal(taken(f), 0);
}

/* Half of what is left is given out, whoever wants it; one document is always taken; and all comes back, however a
 * job ends. */
static void test_room__pushes_and_fetches_share_it(void **state)
{
    struct world *w = *state;
    struct fetcher *f;
    struct job *jobs[3];

    reopen(w, 100 * MB);
    f = w->fetcher;
    for (int i = 0; i < 3; i++)
        jobs[i] = job_of(f, 4 * MB); /* 32 MB each */
    assert_true(room_take_pushed(f, jobs[0]));
    assert_false(room_take_pushed(f, jobs[1]));
    assert_false(room_take(f, jobs[2]));
    room_leave(f, jobs[0]);
    assert_false(room_take_pushed(f, jobs[1])); /* a fetched document waits */
    assert_true(room_take(f, jobs[2]));
    assert_false(room_take_pushed(f, jobs[1]));
    room_give(f, jobs[2]);
    assert_int_equal(taken(f), 0);
    wait_free(f);
    assert_true(room_take_pushed(f, jobs[1]));
    room_give(f, jobs[1]);
    room_give(f, jobs[1]); /* once more changes nothing */
    wait_free(f);
    for (int i = 0; i < 3; i++)
        job_free(&jobs[i]);
}

/* A pushed document takes room by its coded length, and more when it was decoded. */
static void test_room__it_grows_with_the_document(void **state)
{
    struct world *w = *state;
    struct job *one, *other;
    struct fetcher *f;

    reopen(w, 100 * MB);
    f = w->fetcher;
    one = job_of(f, 1000);
    other = job_of(f, 1000);
    assert_true(room_take_pushed(f, one));
    assert_true(room_take_pushed(f, other));
    one->body.len = 8 * MB;
    assert_false(room_resize(f, one));
    assert_int_equal(one->room, ROOM_FACTOR * 1000);
    one->body.len = 2 * MB;
    assert_true(room_resize(f, one));
    assert_int_equal(taken(f), ROOM_FACTOR * (2 * MB + 1000));
    room_give(f, other);
    room_give(f, one);
    wait_free(f);
    job_free(&one);
    job_free(&other);
}

static char *long_feed(size_t len)
{
    char *text = malloc(len + 1000);
    size_t n = (size_t)sprintf(text, "%s", "<rss version=\"2.0\"><channel><title>T</title>");

    for (int i = 0; n < len; i++)
        n += (size_t)sprintf(text + n, "<item><guid>%d</guid><title>%d</title><description>%0900d</description></item>", i, i, i);
    sprintf(text + n, "</channel></rss>");
    return text;
}

/* The database is full when an older document comes. Callers that wait for the feed have it. */
static void test_room__the_feed_is_there_when_its_past_is_turned_away(void **state)
{
    struct world *w = *state;
    struct ticket t = TICKET;
    char body[1000], *big = long_feed(900000);
    int64_t id, other;

    w->cfg.catch_up = 5;
    reopen(w, 2 * MB);
    snprintf(body, sizeof body,
             "<feed xmlns='http://www.w3.org/2005/Atom'><id>urn:f</id><title>F</title><updated>2024-01-01T00:00:00Z</updated>"
             "<link rel='prev-archive' href='%s'/><entry><id>urn:e</id><title>e</title><updated>2024-01-01T00:00:00Z</updated>"
             "</entry></feed>", origin_url(w->origin, "/past"));
    serve(w, "/f", NULL, body);
    serve(w, "/past", NULL, body);
    serve(w, "/big", NULL, big);
    origin_hold(w->origin, "/past");
    id = subscribe(w, origin_url(w->origin, "/f"), NULL, 1, 0);
    fetcher_await(w->fetcher, id, REASON_READER, on_fetched, &t);
    wait_count(w, "/past", 1);
    other = subscribe(w, origin_url(w->origin, "/big"), NULL, 1, 0);
    assert_int_equal(fetch(w, other), RC_OK);
    while (store_fill(w->store) != FILL_FULL)
        rest_ms(5);
    origin_release(w->origin);
    wait_for(&t);
    assert_string_equal(t.text, "");
    assert_int_equal(t.rc, RC_OK);
    assert_int_equal(t.id, id);
    assert_int_equal(count_revisions(w, id), 1);
    free(big);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_room__##name, world_setup, world_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(pushes_and_fetches_share_it),
        TEST(it_grows_with_the_document),
        TEST(the_feed_is_there_when_its_past_is_turned_away),
    };

    world_init(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
