/* tests/unit/fetcher/test_upstream_saves.c - rows of upstream hubs over a real store that refuses
 * some of them: what was decided is stored in the end. */
#include "tests/unit/storage/gate.h"

#include <sqlite3.h>

#include "base/clock.h"
#include "fetcher/upstream_save.h"
#include "storage/sqlite/db.h"

/* A row that has this as its error is refused by the database. */
#define BAD "bad"

struct world {
    struct fixture *f;
    struct upstream_table t;
    struct upstream_sub *sub;
    pthread_mutex_t lock; /* guards the rest; the owner of the table has one for it, too */
    pthread_cond_t come;
    int n_saved, n_conflicts;
};

static struct world *world_of(struct upstream_table *t)
{
    return CONTAINER_OF(t, struct world, t);
}

/* The storer's thread. */
static void on_saved(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                     const struct err *err UNUSED)
{
    struct upstream_save *save = ctx;
    struct world *w = world_of(save->table);

    pthread_mutex_lock(&w->lock);
    upstream_table_saved(&w->t, save, rc);
    w->n_saved++;
    w->n_conflicts += rc == RC_CONFLICT;
    pthread_cond_signal(&w->come);
    pthread_mutex_unlock(&w->lock);
    upstream_save_free(&save);
}

static void wait_saved(struct world *w, int n)
{
    pthread_mutex_lock(&w->lock);
    while (w->n_saved < n)
        pthread_cond_wait(&w->come, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* On the storer's connection, while the storer waits. */
static void script(struct fixture *f, const char *sql)
{
    struct answer at;

    close_gate(f, &at);
    assert_int_equal(SQLITE_OK,
                     sqlite3_exec(db_handle(storer_db(f->store->storer)), sql, NULL, NULL, NULL));
    open_gate(&at);
}

/* Under the lock: the storer may answer before this returns. */
static void save_locked(struct world *w, const char *error)
{
    snprintf(w->sub->error, sizeof w->sub->error, "%s", error);
    assert_true(upstream_sub_save(&w->t, w->sub, NULL, NULL));
}

/* Save the row as it is now, with this error. */
static void save(struct world *w, const char *error)
{
    pthread_mutex_lock(&w->lock);
    save_locked(w, error);
    pthread_mutex_unlock(&w->lock);
}

/* A row that is stored, at a database that refuses bad ones. */
static void world_open(struct world *w, struct fixture *f)
{
    struct upstream row = {.token = STR("t"),
                           .base_url = STR("http://me"),
                           .secret = STR("s"),
                           .hub = STR("http://hub/"),
                           .topic = STR("http://t/"),
                           .feed_id = add_feed(f, "http://a.example/", NULL),
                           .is_current = true,
                           .state = UPSTREAM_ASKING,
                           .lease_end_at = TIME_UNKNOWN,
                           .next_at = TIME_UNKNOWN,
                           .ended_at = TIME_UNKNOWN,
                           .error = STR_NULL};

    *w = (struct world){.f = f,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .come = PTHREAD_COND_INITIALIZER,
                        .t = {.store = f->store, .saved = on_saved}};
    store_listen(f->store, wait_at_gate, NULL);
    w->sub = upstream_table_add(&w->t, &row);
    save(w, "");
    wait_saved(w, 1);
    script(f, "CREATE TEMP TRIGGER refuse BEFORE UPDATE ON upstreams WHEN new.error = '" BAD
              "' BEGIN SELECT raise(ABORT, 'no'); END;"
              "CREATE TEMP TRIGGER refuse_new BEFORE INSERT ON upstreams WHEN new.error = '" BAD
              "' BEGIN SELECT raise(ABORT, 'no'); END");
}

/* Save it twice. The storer has the first one when the second comes, and both when it answers. */
static void save_both(struct world *w, const char *first, const char *second)
{
    pthread_mutex_lock(&w->lock);
    save_locked(w, first);
    while (storer_is_busy(w->f->store->storer))
        usleep(1000);
    save_locked(w, second);
    pthread_mutex_unlock(&w->lock);
}

/* As the loop does when it has its turn. */
static void save_again(struct world *w)
{
    pthread_mutex_lock(&w->lock);
    assert_int_equal(1, w->t.n_unsaved);
    assert_true(w->t.needs_turn);
    assert_true(w->t.save_at_ms > 0);
    w->t.save_at_ms = INT64_MAX; /* this machine may have stalled since */
    upstream_table_save_again(&w->t); /* not at once: the database may be away */
    assert_int_equal(1, w->t.n_unsaved);
    w->t.save_at_ms = 0;
    upstream_table_save_again(&w->t);
    assert_int_equal(0, w->t.n_unsaved);
    pthread_mutex_unlock(&w->lock);
}

static const struct upstream *stored(struct world *w)
{
    struct upstream *rows;
    size_t n;

    assert_int_equal(RC_OK, reader_upstreams(w->f->reader, &w->f->arena, &rows, &n, NULL));
    assert_int_equal(1, n);
    return rows;
}

static void world_close(struct world *w)
{
    upstream_table_release(&w->t);
}

/* The first of two decisions is not stored. The second one is refused, because it builds on it: it
 * is not taken for a conflict with another node, and is stored later. */
static void test_saves__a_decision_after_one_that_failed(void **state)
{
    struct fixture *f = *state;
    struct world w;

    world_open(&w, f);
    w.sub->row.state = UPSTREAM_ENDING;
    save_both(&w, BAD, "");
    wait_saved(&w, 3);
    assert_int_equal(1, w.n_conflicts);
    assert_false(w.sub->is_stale);
    save_again(&w);
    wait_saved(&w, 4);
    assert_int_equal(UPSTREAM_ENDING, stored(&w)->state);
    assert_int_equal(0, w.t.n_failures);
    world_close(&w);
}

/* So is the only one, as often as it takes. */
static void test_saves__the_last_decision_failed(void **state)
{
    struct fixture *f = *state;
    struct world w;

    world_open(&w, f);
    w.sub->row.state = UPSTREAM_ENDING;
    save(&w, BAD);
    wait_saved(&w, 2);
    save_again(&w);
    wait_saved(&w, 3);
    script(f, "DROP TRIGGER refuse; DROP TRIGGER refuse_new");
    save_again(&w);
    wait_saved(&w, 4);
    assert_int_equal(UPSTREAM_ENDING, stored(&w)->state);
    assert_int_equal(0, w.n_conflicts);
    assert_int_equal(0, w.t.n_unsaved);
    world_close(&w);
}

static void nothing(void *ctx UNUSED, enum rc rc UNUSED, const struct store_result *res UNUSED,
                    const struct err *err UNUSED)
{
}

/* The hub is told to come again. It may do nothing of the kind, so it is asked soon. */
static void test_saves__a_verification_that_was_not_stored(void **state)
{
    struct fixture *f = *state;
    int64_t now = clock_now_s();
    struct world w;

    world_open(&w, f);
    pthread_mutex_lock(&w.lock);
    w.sub->row.state = UPSTREAM_ACTIVE;
    upstream_sub_set_next(&w.t, w.sub, now + 86400);
    snprintf(w.sub->error, sizeof w.sub->error, BAD);
    assert_true(upstream_sub_save(&w.t, w.sub, nothing, NULL));
    assert_int_equal(now + 86400, w.sub->row.next_at);
    pthread_mutex_unlock(&w.lock);
    wait_saved(&w, 2);
    assert_int_equal(1, w.t.n_unsaved);
    assert_in_range(w.sub->row.next_at, now + 1, now + 3600);
    world_close(&w);
}

/* NODE-06: if another node has changed the row meanwhile, that is a conflict all the same. */
static void test_saves__another_node_after_one_that_failed(void **state)
{
    struct fixture *f = *state;
    struct upstream theirs;
    struct answer a;
    struct world w;

    world_open(&w, f);
    theirs = w.sub->row;
    theirs.state = UPSTREAM_ACTIVE;
    save(&w, BAD);
    wait_saved(&w, 2);
    WRITE(a, store_upstream_put(f->store, &theirs, UPSTREAM_ANY, on_answer, &a));
    w.sub->row.state = UPSTREAM_ENDING;
    snprintf(w.sub->error, sizeof w.sub->error, "good");
    save_again(&w);
    wait_saved(&w, 3);
    assert_true(w.sub->is_stale);
    assert_int_equal(0, w.t.n_unsaved);
    assert_int_equal(UPSTREAM_ACTIVE, stored(&w)->state);
    world_close(&w);
}

#define T(name) cmocka_unit_test_setup_teardown(test_saves__##name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_decision_after_one_that_failed),
        T(the_last_decision_failed),
        T(a_verification_that_was_not_stored),
        T(another_node_after_one_that_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
