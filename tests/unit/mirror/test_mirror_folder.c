/* tests/unit/mirror/test_mirror_folder.c - partial files, and what is found in the folder (ENCL-01,
 * ENCL-02, ENCL-04). */
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "mirror/folder.h"
#include "mirror/partial.h"
#include "mirror/used.h"
#include "model/mirror.h"
#include "storage/mirrors.h"

struct fixture {
    struct arena arena;
    char dir[64];
    struct str at, key, sha256; /* sha256: of "one two" */
};

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){.dir = "/tmp/feedmill-test-XXXXXX"};
    if (mkdtemp(f.dir) == NULL)
        return -1;
    f.at = str_printf(&f.arena, "%s/mirror", f.dir);
    f.key = mirror_key(&f.arena, STR("http://a/1"));
    f.sha256 = mirror_key(&f.arena, STR("one two"));
    *state = &f;
    return partial_prepare(f.at, NULL) == RC_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    int rc = system(arena_printf(&f->arena, "rm -rf %s", f->dir));

    arena_release(&f->arena);
    return rc;
}

static struct partial opened(struct fixture *f)
{
    struct partial p;

    assert_int_equal(RC_OK, partial_open(&p, &f->arena, f->at, f->key, NULL));
    return p;
}

static void add(struct partial *p, const char *text)
{
    assert_int_equal(RC_OK, partial_add(p, str_from(text), NULL));
}

static void assert_digest(struct fixture *f, struct partial *p, struct str expected)
{
    const atomic_bool stops = false;
    struct str sha256;

    assert_int_equal(RC_OK, partial_digest(p, &f->arena, &stops, &sha256, NULL));
    assert_true(str_eq(expected, sha256));
}

/* ENCL-01: in several tries, with what is known of the bytes that are there. */
static void test_mirror_folder__a_file_in_two_parts(void **state)
{
    struct fixture *f = *state;
    struct partial p = opened(f);
    const atomic_bool stops = true;
    struct str sha256;
    struct stat st;

    assert_int_equal(0, p.size);
    assert_true(str_is_null(p.validator));
    assert_int_equal(RC_OK, partial_restart(&p, STR("\"v\""), STR("audio/ogg"), NULL));
    add(&p, "one ");
    partial_close(&p);
    p = opened(f);
    assert_int_equal(4, p.size);
    assert_true(str_eqz(p.validator, "\"v\"") && str_eqz(p.type, "audio/ogg"));
    add(&p, "two");
    assert_int_equal(RC_CLOSED, partial_digest(&p, &f->arena, &stops, &sha256, NULL));
    partial_close(&p);
    p = opened(f);
    assert_int_equal(7, p.size);
    assert_digest(f, &p, f->sha256);
    assert_int_equal(RC_OK, partial_store(&p, f->at, f->sha256, NULL));
    partial_close(&p);
    assert_int_equal(0, stat(str_z(&f->arena, mirror_path(&f->arena, f->at, f->sha256)), &st));
    assert_int_equal(7, st.st_size);
    p = opened(f); /* and nothing of it is left */
    assert_int_equal(0, p.size);
    partial_close(&p);
}

static void test_mirror_folder__bytes_without_a_validator_are_of_no_use(void **state)
{
    struct fixture *f = *state;
    struct partial p = opened(f);

    assert_int_equal(RC_OK, partial_restart(&p, STR("\"v\""), STR("audio/ogg"), NULL));
    add(&p, "old");
    assert_int_equal(RC_OK, partial_restart(&p, STR_NULL, STR("audio/ogg"), NULL));
    add(&p, "one two");
    assert_digest(f, &p, f->sha256); /* they count while the file is open */
    partial_close(&p);
    p = opened(f);
    assert_int_equal(0, p.size);
    partial_close(&p);
}

/* Two nodes with one folder: a node that opens a file which another one is about to store must not
 * write to what is stored. */
static void test_mirror_folder__one_process_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct partial p = opened(f), other;

    assert_int_equal(RC_AGAIN, partial_open(&other, &f->arena, f->at, f->key, NULL));
    assert_false(folder_drop_partial(f->at, f->key));
    add(&p, "one two");
    assert_digest(f, &p, f->sha256);
    assert_int_equal(RC_OK, partial_store(&p, f->at, f->sha256, NULL));
    other = opened(f); /* the path is free, and what was there is somewhere else */
    assert_int_equal(0, other.size);
    partial_close(&other);
    partial_close(&p);
}

static void touch(struct fixture *f, const char *path)
{
    FILE *file = fopen(arena_printf(&f->arena, "%.*s/%s", STR_ARG(f->at), path), "we");

    assert_non_null(file);
    assert_int_equal(3, fprintf(file, "xyz"));
    assert_int_equal(0, fclose(file));
}

/* ENCL-04: what is there in part counts, too; what is not the mirror's is left alone. */
static void test_mirror_folder__lists(void **state)
{
    struct fixture *f = *state;
    const char *key = str_z(&f->arena, f->key), *sha256 = str_z(&f->arena, f->sha256);
    struct folder_file *files;
    unsigned first;
    size_t n;

    touch(f, arena_printf(&f->arena, "partial/%s", key));
    touch(f, arena_printf(&f->arena, "partial/%s.tag", key));
    touch(f, arena_printf(&f->arena, "partial/%s.tag", sha256));
    touch(f, "partial/of-somebody-else");
    folder_partials(f->at, &f->arena, &files, &n);
    assert_int_equal(2, n);
    assert_int_equal(3, files[0].size + files[1].size);
    assert_true(folder_drop_partial(f->at, f->key));
    assert_true(folder_drop_partial(f->at, f->sha256));
    folder_partials(f->at, &f->arena, &files, &n);
    assert_int_equal(0, n);

    assert_int_equal(1, sscanf(sha256, "%2x", &first));
    assert_int_equal(0, mkdir(arena_printf(&f->arena, "%.*s/%.2s", STR_ARG(f->at), sha256), 0700));
    touch(f, arena_printf(&f->arena, "%.2s/%s", sha256, sha256));
    touch(f, arena_printf(&f->arena, "%.2s/of-somebody-else", sha256));
    touch(f, arena_printf(&f->arena, "%.2s/%s", sha256, key)); /* which is not its place */
    folder_files(f->at, (unsigned char)first, &f->arena, &files, &n);
    assert_int_equal(1, n);
    assert_true(str_eq(f->sha256, files[0].name));
    assert_int_equal(3, files[0].size);
    folder_files(f->at, (unsigned char)(first + 1), &f->arena, &files, &n);
    assert_int_equal(0, n);
}

/* ENCL-01: a file counts as lost only where the folder is certainly the mirror's. */
static void test_mirror_folder__what_is_lost_and_what_is_broken(void **state)
{
    struct fixture *f = *state;
    const char *sha256 = str_z(&f->arena, f->sha256);
    const char *partial = arena_printf(&f->arena, "%.*s/partial", STR_ARG(f->at));

    assert_int_equal(MIRROR_FILE_LOST, mirror_file_look(f->at, f->sha256, 3));
    assert_int_equal(0, mkdir(arena_printf(&f->arena, "%.*s/%.2s", STR_ARG(f->at), sha256), 0700));
    assert_int_equal(MIRROR_FILE_LOST, mirror_file_look(f->at, f->sha256, 3));
    touch(f, arena_printf(&f->arena, "%.2s/%s", sha256, sha256));
    assert_int_equal(MIRROR_FILE_HERE, mirror_file_look(f->at, f->sha256, 3));
    assert_int_equal(MIRROR_FILE_LOST, mirror_file_look(f->at, f->sha256, 4));
    assert_int_equal(0, unlink(arena_printf(&f->arena, "%.*s/%.2s/%s", STR_ARG(f->at), sha256, sha256)));
    assert_int_equal(0, rmdir(partial)); /* as if it were not mounted */
    assert_int_equal(MIRROR_FILE_BROKEN, mirror_file_look(f->at, f->sha256, 3));
    assert_int_equal(MIRROR_FILE_BROKEN, mirror_file_look(STR("/dev/null"), f->sha256, 3)); /* ENOTDIR */
}

/* ENCL-01: what is lost is looked up, not each file that is served. */
static void test_mirror_folder__only_what_is_lost_is_looked_up(void **state)
{
    struct fixture *f = *state;
    struct used_files u = {.n = 0};
    struct mirror_use *used;
    struct str *lost;
    size_t n_used, n_lost;

    used_files_add(&u, f->key, 1, false);
    used_files_add(&u, f->sha256, 2, true);
    used_files_add(&u, f->sha256, 3, false); /* it was lost all the same */
    used_files_take(&u, &f->arena, &used, &n_used, &lost, &n_lost);
    assert_int_equal(2, n_used);
    assert_int_equal(3, used[1].at_us);
    assert_int_equal(1, n_lost);
    assert_true(str_eq(f->sha256, lost[0]));
    used_files_take(&u, &f->arena, &used, &n_used, &lost, &n_lost);
    assert_int_equal(0, n_used + n_lost);
    for (size_t i = 0; i < USED_MAX + 5; i++)
        used_files_add(&u, mirror_key(&f->arena, str_printf(&f->arena, "%zu", i)), 1, true);
    assert_int_equal(USED_MAX, u.n);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_mirror_folder__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_file_in_two_parts),
        TEST(bytes_without_a_validator_are_of_no_use),
        TEST(one_process_at_a_time),
        TEST(lists),
        TEST(what_is_lost_and_what_is_broken),
        TEST(only_what_is_lost_is_looked_up),
    };

    return cmocka_run_group_tests_name("mirror_folder", tests, NULL, NULL);
}
