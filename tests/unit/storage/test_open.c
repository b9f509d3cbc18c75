/* tests/unit/storage/test_open.c - the file: mode, lock, strangers, newer and older schemas. */
#include "fixture.h"

#include <sqlite3.h>
#include <sys/stat.h>

static enum rc try_open(const char *path, struct err *err)
{
    struct fixture f = {.store = NULL};
    struct store_cfg cfg;
    enum rc rc;

    snprintf(f.path, sizeof f.path, "%s", path);
    cfg = fixture_cfg(&f);
    rc = store_open(&cfg, &f.store, err);
    store_close(&f.store);
    return rc;
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *sq;

    assert_int_equal(SQLITE_OK, sqlite3_open(path, &sq));
    assert_int_equal(SQLITE_OK, sqlite3_exec(sq, sql, NULL, NULL, NULL));
    assert_int_equal(SQLITE_OK, sqlite3_close(sq));
}

static void test_open__only_the_owner_can_read(void **state)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    struct fixture *f = *state;
    char path[128];
    struct stat st;
    size_t i;

    add_feed(f, "http://a.example/", "u:p");
    for (i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", f->path, ends[i]);
        assert_int_equal(0, stat(path, &st));
        assert_int_equal(0600, st.st_mode & 0777);
    }
}

static void test_open__one_process_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    assert_int_equal(RC_IO, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "in use"));
}

static void test_open__strangers_are_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    FILE *text;

    fixture_close(f);
    unlink(f->path);
    run_sql(f->path, "CREATE TABLE notes (x)");
    assert_int_equal(RC_UNSUPPORTED, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "another program"));
    unlink(f->path);
    text = fopen(f->path, "w");
    fputs("These are the notes of somebody else, and no database at all. ............", text);
    fclose(text);
    assert_int_equal(RC_UNSUPPORTED, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "no database"));
    unlink(f->path);
    fixture_open(f);
}

static void test_open__newer_schema_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    fixture_close(f);
    run_sql(f->path, "PRAGMA user_version = 1000");
    assert_int_equal(RC_UNSUPPORTED, try_open(f->path, &err));
    assert_non_null(strstr(err.text, "newer"));
    run_sql(f->path, "PRAGMA user_version = 1");
    fixture_open(f);
}

static void test_open__no_such_directory(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(RC_IO, try_open("/nonexistent/dir/f.db", &err));
    assert_non_null(strstr(err.text, "/nonexistent/dir/f.db"));
}

static void test_open__bad_memcached_address(void **state)
{
    struct fixture *f = *state;
    struct store_cfg cfg = fixture_cfg(f);
    struct store *s = NULL;
    struct err err = ERR_INIT;

    fixture_close(f);
    cfg.memcached = STR("nowhere");
    assert_int_equal(RC_INPUT, store_open(&cfg, &s, &err));
    assert_null(s);
    assert_non_null(strstr(err.text, "HOST:PORT"));
    fixture_open(f);
}

static const struct migration steps[] = {
    {1, 2, "CREATE TABLE added (x); INSERT INTO added SELECT count(*) FROM feeds"},
    {2, 3, "ALTER TABLE added ADD COLUMN y; UPDATE added SET y = x + 1"},
    {3, 4, "CREATE TABLE half (x); THIS IS NO SQL"},
};

/* A made-up old file, brought up step by step; a step that fails leaves the file at the last. */
static void test_open__migrations(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct db *db = NULL;

    add_feed(f, "http://a.example/", NULL);
    fixture_close(f);
    assert_int_equal(RC_OK, db_open_writer(f->path, &db, &err));
    assert_int_equal(RC_OK, db_migrate(db, steps, 3, 3, &err));
    assert_int_equal(SQLITE_OK,
                     sqlite3_exec(db_handle(db), "INSERT INTO added (x, y) SELECT x, y FROM added",
                                  NULL, NULL, NULL));
    assert_int_equal(1, sqlite3_changes(db_handle(db)));
    assert_int_equal(RC_OK, db_migrate(db, steps, 3, 3, &err)); /* nothing to do */
    assert_int_equal(RC_IO, db_migrate(db, steps, 3, 4, &err));
    assert_non_null(strstr(err.text, "from version 3 to 4"));
    assert_int_equal(SQLITE_ERROR,
                     sqlite3_exec(db_handle(db), "SELECT * FROM half", NULL, NULL, NULL));
    assert_int_equal(RC_UNSUPPORTED, db_migrate(db, steps, 2, 4, &err)); /* no way leads on */
    assert_int_equal(RC_UNSUPPORTED, db_migrate(db, steps, 3, 2, &err)); /* newer */
    db_close(&db);
    unlink(f->path);
    fixture_open(f);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_open__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(only_the_owner_can_read),
        T(one_process_at_a_time),
        T(strangers_are_refused),
        T(newer_schema_is_refused),
        T(no_such_directory),
        T(bad_memcached_address),
        T(migrations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
