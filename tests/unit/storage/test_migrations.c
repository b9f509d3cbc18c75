/* tests/unit/storage/test_migrations.c - every schema that ever was becomes the newest one.
 *
 * tests/fixtures/schema/ has each of them as it was. Its tables get rows in which every column has
 * a value of its own, so that a value that is lost or that changes its place is seen. When
 * schema.sql changes, the one before the change is added there. */
#include "old_schema.h"
#include "tests/unit/cmocka_all.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/mem.h"
#include "storage/sqlite/db.h"

#define FILE_MAX (1 << 20)

static struct arena arena = ARENA_INIT;
static char path[128], kept[160];

static int set_up(void **state UNUSED)
{
    const char *top = getenv("TMPDIR");

    digest_init();
    snprintf(path, sizeof path, "%s/feedmill-migrations-%d.db", top != NULL ? top : "/tmp",
             (int)getpid());
    snprintf(kept, sizeof kept, "%s-kept", path);
    return 0;
}

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", "-kept"};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        unlink(arena_printf(&arena, "%s%s", path, ends[i]));
}

static int tear_down(void **state UNUSED)
{
    remove_files();
    arena_release(&arena);
    return 0;
}

static enum rc open_it(struct err *err)
{
    struct db *db = NULL;
    enum rc rc = db_open_writer(path, &db, err);

    db_close(&db);
    return rc;
}

static void must_open(void)
{
    struct err err = ERR_INIT;

    if (open_it(&err) != RC_OK)
        fail_msg("%s", err.text);
}

/* An empty file, as db_file_claim() makes it. */
static void make_empty(void)
{
    FILE *file;

    remove_files();
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

/* Statements that write out all rows, with the columns that the tables have now. */
static const char *dump_statements(void)
{
    return for_tables(path,
                      "SELECT 'SELECT ''%s: '' || ' || group_concat('''' || t.name || '='' ||"
                      " quote(' || t.name || ')', ' || '' '' || ') || ' FROM %s' ||"
                      " iif('%s' = 'meta', ' WHERE name LIKE ''meta%''', '') || ' ORDER BY 1;'"
                      " FROM pragma_table_info('%s') t;",
                      &arena);
}

static const char *dump(const char *statements)
{
    return str_z(&arena, text_of_sql(path, statements, &arena));
}

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    char *bytes = mem_alloc(FILE_MAX);
    size_t n;

    assert_true(in != NULL && out != NULL);
    n = fread(bytes, 1, FILE_MAX, in);
    assert_true(n > 0 && n < FILE_MAX && fwrite(bytes, 1, n, out) == n);
    mem_free(bytes);
    fclose(in);
    assert_int_equal(0, fclose(out));
}

/* Make a database of the version, with rows in all tables, and keep a copy of it. Returns how to
 * read them. *want: what they will be after the migration, for feeds of schemas before 8 are read
 * whole the next time. */
static const char *make_full(int version, const char **want)
{
    const char *statements;

    remove_files();
    make_old(path, version, &arena);
    fill(path, &arena);
    copy_file(path, kept);
    statements = dump_statements();
    if (version < 8)
        run_sql(path, "UPDATE feeds SET body_hash = NULL, etag = NULL, last_modified = NULL");
    *want = dump(statements);
    copy_file(kept, path);
    return statements;
}

/* The database that make_full() has made last, as it was. */
static void start_again(void)
{
    unlink(arena_printf(&arena, "%s-wal", path));
    unlink(arena_printf(&arena, "%s-shm", path));
    copy_file(kept, path);
}

static struct str fresh_shape(void)
{
    make_empty();
    must_open();
    return shape_of(path, &arena);
}

static void check_migrated(struct str fresh, const char *statements, const char *want)
{
    assert_string_equal(str_z(&arena, fresh), str_z(&arena, shape_of(path, &arena)));
    assert_string_equal(want, dump(statements));
    assert_string_equal("ok\n", str_z(&arena, text_of_sql(path, "PRAGMA integrity_check", &arena)));
    assert_string_equal("", str_z(&arena, text_of_sql(path, "PRAGMA foreign_key_check", &arena)));
}

/* A revision knows the one before it, whatever came in between. */
static void test_migrations__revisions_are_linked(void **state UNUSED)
{
    remove_files();
    make_old(path, 16, &arena);
    run_sql(path, "INSERT INTO feeds (id, url, version) VALUES (1, 'http://a/', 1);"
                  "INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us,"
                  " sort_at, doc, ext) SELECT seq, entry, 1, seq, 0, 0, seq, 0, '{}', '' FROM"
                  " (SELECT column1 AS seq, column2 AS entry FROM"
                  " (VALUES (3, 7), (4, 8), (9, 7), (10, 9), (12, 8), (20, 7)))");
    must_open();
    assert_string_equal("3 0\n4 0\n9 3\n10 0\n12 4\n20 9\n",
                        str_z(&arena, text_of_sql(path,
                                                  "SELECT seq || ' ' || prev_seq FROM revisions"
                                                  " ORDER BY seq",
                                                  &arena)));
}

static void test_migrations__a_newer_schema_is_left_alone(void **state UNUSED)
{
    struct err err = ERR_INIT;
    const char *before;
    const char *statements;

    make_empty();
    must_open();
    run_sql(path, arena_printf(&arena, "PRAGMA user_version = %d; CREATE TABLE future (x)",
                               SCHEMA_VERSION + 1));
    fill(path, &arena);
    statements = dump_statements();
    before = dump(statements);
    assert_int_equal(RC_UNSUPPORTED, open_it(&err));
    assert_non_null(strstr(err.text, "newer Feedmill"));
    assert_non_null(strstr(err.text, arena_printf(&arena, "%d", SCHEMA_VERSION + 1)));
    assert_string_equal(before, dump(statements));
}

/* ---- interrupted migrations ---- */

/* For each connection that is opened from now on: kill the process after so many steps of the
 * engine, or let the file grow no more. */
static int steps_left;
static bool is_full;

static int on_step(void *ctx UNUSED)
{
    if (--steps_left == 0)
        (void)raise(SIGKILL);
    return 0;
}

static int on_open(sqlite3 *sq, const char **text UNUSED, const void *api UNUSED)
{
    if (is_full)
        sqlite3_exec(sq, "PRAGMA max_page_count = 1", NULL, NULL, NULL); /* as many as it has */
    else
        sqlite3_progress_handler(sq, 1, on_step, NULL);
    return SQLITE_OK;
}

/* Open the file in another process that is killed after `steps`. True: it was; false: it had done
 * before. */
static bool open_and_die(int steps)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        steps_left = steps;
        sqlite3_auto_extension((void (*)(void))on_open);
        _exit(open_it(NULL) == RC_OK ? 0 : 1);
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    if (WIFSIGNALED(status)) {
        assert_int_equal(SIGKILL, WTERMSIG(status));
        return true;
    }
    assert_int_equal(0, WEXITSTATUS(status));
    return false;
}

/* Whatever was done before, the file is of one version, whole, and goes on from there. */
static void test_migrations__a_kill_leaves_one_version(void **state UNUSED)
{
    static const int from[] = {1, 12}; /* 12: rows are copied to a new table */
    struct str fresh = fresh_shape(), shapes[SCHEMA_VERSION + 1];

    shapes[SCHEMA_VERSION] = fresh;
    for (int version = 1; version < SCHEMA_VERSION; version++) {
        remove_files();
        make_old(path, version, &arena);
        shapes[version] = shape_of(path, &arena);
    }
    for (size_t i = 0; i < ARRAY_LEN(from); i++) {
        const char *want, *statements = make_full(from[i], &want);
        bool was_killed = true;
        int n_killed = 0;

        for (int steps = 1; was_killed; steps *= 2) {
            struct arena_mark mark = arena_mark(&arena);
            int64_t version = 0;

            start_again();
            was_killed = open_and_die(steps);
            n_killed += was_killed;
            assert_true(
                str_to_i64(str_trim(text_of_sql(path, "PRAGMA user_version", &arena)), &version));
            assert_true(version >= from[i] && version <= SCHEMA_VERSION);
            assert_string_equal(str_z(&arena, shapes[version]),
                                str_z(&arena, shape_of(path, &arena)));
            must_open();
            check_migrated(fresh, statements, want);
            arena_rewind(&arena, mark);
        }
        assert_true(n_killed > 8);
    }
}

/* A new file that was not finished is a new file. */
static void test_migrations__a_kill_at_the_first_start(void **state UNUSED)
{
    struct str fresh = fresh_shape();
    bool was_killed = true;

    for (int steps = 1; was_killed; steps += 1 + steps / 2) {
        make_empty();
        was_killed = open_and_die(steps);
        must_open();
        assert_string_equal(str_z(&arena, fresh), str_z(&arena, shape_of(path, &arena)));
    }
}

/* The migration runs into a full disk. True: it did; the file is as it was. */
static bool open_on_a_full_disk(int version, const char *statements)
{
    struct err err = ERR_INIT;
    const char *before = dump(statements);
    bool failed;

    is_full = true;
    sqlite3_auto_extension((void (*)(void))on_open);
    failed = open_it(&err) != RC_OK; /* some steps need no room */
    sqlite3_reset_auto_extension();
    is_full = false;
    if (failed) {
        assert_non_null(strstr(err.text, "full"));
        assert_non_null(strstr(err.text, "schema from version"));
    }
    if (version >= 8) /* columns as they were: later steps of older ones forget validators */
        assert_string_equal(before, dump(statements));
    return failed;
}

/* What is not a copy: each was filled from what there was. */
static void check_filled(int version)
{
    static const struct {
        int before;        /* the version in which it came */
        const char *wrong; /* gives a row for each value that is not as it should be */
    } rows[] = {
        {2, "SELECT id FROM feeds f WHERE n_items <> (SELECT count(*) FROM entries e"
            " WHERE e.feed_id = f.id)"},
        {2, "SELECT id FROM feeds WHERE id NOT IN (SELECT feed_id FROM head_log l JOIN heads h"
            " USING (feed_id) WHERE since_seq = 0 AND l.head = h.head AND l.ext = h.ext)"},
        {5, "SELECT id FROM feeds WHERE id_url <> url"},
        {8, "SELECT e.id FROM entries e JOIN revisions r USING (seq)"
            " WHERE e.updated_us IS NOT 1000000 * coalesce(r.updated_at, r.published_at)"},
        {11, "SELECT id FROM subscriptions WHERE chain_seq <> position"},
        {18, "SELECT id FROM subscriptions WHERE owner <> iif(id IN (SELECT sub_id FROM "
             "hub_leases), 0, -2)"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (version < rows[i].before)
            assert_string_equal("", str_z(&arena, text_of_sql(path, rows[i].wrong, &arena)));
}

/* One walk for all that is true of each of them: to make them takes most of the time. */
static void test_migrations__every_schema_becomes_the_newest(void **state UNUSED)
{
    struct str fresh = fresh_shape();
    int n_full = 0;

    for (int version = 1; version < SCHEMA_VERSION; version++) {
        struct arena_mark mark = arena_mark(&arena);
        const char *want;
        const char *statements = make_full(version, &want);

        n_full += open_on_a_full_disk(version, statements);
        must_open();
        check_migrated(fresh, statements, want);
        check_filled(version);
        assert_string_equal(arena_printf(&arena, "%d\n", SCHEMA_VERSION),
                            str_z(&arena, text_of_sql(path, "PRAGMA user_version", &arena)));
        arena_rewind(&arena, mark);
    }
    assert_true(n_full > 5);
}

#define T(name) cmocka_unit_test_setup_teardown(test_migrations__##name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(revisions_are_linked),
        T(a_newer_schema_is_left_alone),
        T(a_kill_leaves_one_version),
        T(a_kill_at_the_first_start),
        T(every_schema_becomes_the_newest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
