/* tests/unit/notifier/test_acks.c - outcomes that are written together, on a real store whose
 * storer can be held. */
#include "storage/pushes.h"
#include "tests/unit/storage/fixture.h"
#include "tests/unit/cmocka_all.h"

#include "notifier/acks.h"

#define SUBS 5

struct world {
    struct fixture *f;
    struct loop *loop;
    struct acks acks;
    int64_t subs[SUBS];

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool is_held; /* the storer waits */
    int n_done, n_missing, n_other;
};

static void on_ack(void *ctx, struct ack *ack, enum rc rc)
{
    struct world *w = ctx;

    ack_free(ack);
    pthread_mutex_lock(&w->lock);
    w->n_done += rc == RC_OK;
    w->n_missing += rc == RC_NOT_FOUND;
    w->n_other += rc != RC_OK && rc != RC_NOT_FOUND;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static int setup(void **state)
{
    static struct world world;
    struct world *w = &world;
    struct feed_ref ref = {.url = STR("http://a.example/"), .shown_url = STR("http://a.example/")};
    struct sub_request req = {.sink = STR("xmlrpc"),
                              .endpoint = STR("http://e.example/"),
                              .feeds = &ref,
                              .n_feeds = 1,
                              .level = LEVEL_KEEP};
    struct answer a;

    *w = (struct world){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    fixture_setup((void **)&w->f);
    w->loop = loop_new("acks");
    acks_init(&w->acks, w->f->store, w->loop, on_ack, w);
    for (size_t i = 0; i < SUBS; i++) {
        WRITE(a, store_subscribe(w->f->store, &req, on_answer, &a));
        w->subs[i] = a.res.id;
    }
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    void *f = w->f;

    loop_free(&w->loop);
    assert_int_equal(0, w->acks.n);
    return fixture_teardown(&f);
}

/* On the storer's thread. */
static void wait_released(void *ctx, enum rc rc UNUSED, const struct store_result *res UNUSED,
                          const struct err *err UNUSED)
{
    struct world *w = ctx;

    pthread_mutex_lock(&w->lock);
    while (w->is_held)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* From now on the storer does nothing until release(). */
static void hold(struct world *w)
{
    struct feed_ref ref = {.url = STR("http://b.example/"), .shown_url = STR("http://b.example/")};

    w->is_held = true;
    assert_int_equal(RC_OK, store_add_feed(w->f->store, &ref, wait_released, w));
}

static void release(struct world *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_held = false;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void wait_done(struct world *w, int n)
{
    pthread_mutex_lock(&w->lock);
    while (w->n_done + w->n_missing + w->n_other < n)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* An outcome for each subscription: the position is 9. On the loop. */
static void add_all(void *ctx)
{
    struct world *w = ctx;

    for (size_t i = 0; i < SUBS; i++) {
        struct outcome o = {.write = {.sub_id = w->subs[i],
                                      .position = 9,
                                      .chain = {9, 900},
                                      .n_entries = 1,
                                      .next_try_at = TIME_UNKNOWN,
                                      .has_note = true,
                                      .note = {.at_us = 1}}};

        acks_add(&w->acks, ack_new(&w->acks, &o), 0);
    }
}

static void stop(void *ctx)
{
    struct world *w = ctx;

    acks_stop(&w->acks);
}

static struct subscription *sub_of(struct world *w, size_t i)
{
    struct subscription *sub;

    assert_int_equal(RC_OK, reader_sub(w->f->reader, w->subs[i], &w->f->arena, &sub, NULL));
    return sub;
}

/* DELIV-08: while a write is under way the others are gathered, and go in one more */
static void test_acks__gathered_and_written(void **state)
{
    struct world *w = *state;
    size_t n = 0;
    struct ack *ack;

    hold(w);
    loop_call(w->loop, add_all, w);
    TAILQ_FOREACH (ack, &w->acks.gathered, next)
        n++;
    assert_int_equal(SUBS - 1, n);
    release(w);
    wait_done(w, SUBS);
    assert_int_equal(SUBS, w->n_done);
    for (size_t i = 0; i < SUBS; i++) {
        struct delivery_note *notes;

        assert_int_equal(9, sub_of(w, i)->position);
        assert_int_equal(
            RC_OK, reader_deliveries(w->f->reader, w->subs[i], 9, &w->f->arena, &notes, &n, NULL));
        assert_int_equal(1, n);
    }
}

/* DELIV-01: what was acknowledged before the stop is written */
static void test_acks__stop_writes_all(void **state)
{
    struct world *w = *state;

    hold(w);
    loop_call(w->loop, add_all, w);
    loop_call(w->loop, stop, w);
    loop_stop(w->loop);
    release(w);
    fixture_close(w->f);
    loop_free(&w->loop); /* the answers that came late */
    assert_int_equal(SUBS, w->n_done);
    fixture_open(w->f);
    for (size_t i = 0; i < SUBS; i++)
        assert_int_equal(9, sub_of(w, i)->position);
}

/* DELIV-01 DELIV-06: a replay while the outcome is gathered stays; the chain goes on */
static void test_acks__replay_of_a_gathered_one(void **state)
{
    struct world *w = *state;
    struct answer a = answer_init(1);

    hold(w);
    loop_call(w->loop, add_all, w);
    assert_int_equal(RC_OK, store_resume(w->f->store, w->subs[SUBS - 1], 3, on_answer, &a));
    release(w);
    answer_wait(&a);
    wait_done(w, SUBS);
    assert_int_equal(3, sub_of(w, SUBS - 1)->position);
    assert_int_equal(9, sub_of(w, SUBS - 1)->chain.seq);
    assert_int_equal(9, sub_of(w, SUBS - 2)->position);
}

/* One that ends meanwhile does not keep the others from being written. */
static void test_acks__ended_meanwhile(void **state)
{
    struct world *w = *state;
    struct answer a = answer_init(1);

    hold(w);
    loop_call(w->loop, add_all, w);
    assert_int_equal(RC_OK, store_unsubscribe(w->f->store, w->subs[2], NULL, 0, on_answer, &a));
    release(w);
    answer_wait(&a);
    wait_done(w, SUBS);
    assert_int_equal(1, w->n_missing);
    assert_int_equal(SUBS - 1, w->n_done);
    assert_int_equal(9, sub_of(w, SUBS - 1)->position);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_acks__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(gathered_and_written), TEST(stop_writes_all),
                                       TEST(replay_of_a_gathered_one), TEST(ended_meanwhile)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
