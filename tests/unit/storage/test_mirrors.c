/* tests/unit/storage/test_mirrors.c - what becomes of mirrored files: rows, the place in the log,
 * and which entries count (ENCL-01, ENCL-02). */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#include "storage/mirrors.h"
#include "storage/store_writes.h"

static struct mirrored wanted(struct arena *a, const char *url, int64_t at)
{
    return (struct mirrored){.key = mirror_key(a, str_from(url)),
                             .url = str_from(url),
                             .type = STR("audio/mpeg"),
                             .since_at = at,
                             .next_at = at};
}

static enum rc store(struct fixture *f, const struct mirror_change *c)
{
    struct answer a;

    WRITE(a, store_mirror(f->store, c, on_answer, &a));
    return a.rc;
}

static struct mirrored row(struct fixture *f, struct str key)
{
    struct mirrored *rows;
    size_t n;

    assert_int_equal(RC_OK, reader_mirrors(f->reader, &key, 1, &f->arena, &rows, &n, NULL));
    assert_int_equal(1, n);
    return rows[0];
}

static struct mirrored next_of(struct fixture *f, enum mirror_list list, int64_t until, size_t skip,
                               size_t *n)
{
    struct mirrored *rows;

    assert_int_equal(
        RC_OK, reader_mirror_list(f->reader, list, until, skip, 10, &f->arena, &rows, n, NULL));
    return *n > 0 ? rows[0] : (struct mirrored){.size = -1};
}

static struct mirrored first_of(struct fixture *f, enum mirror_list list, int64_t until, size_t *n)
{
    return next_of(f, list, until, 0, n);
}

static void keep(struct fixture *f, struct mirrored m, struct str sha256, int64_t size, int64_t us)
{
    m.state = MIRROR_STORED;
    m.sha256 = sha256;
    m.size = size;
    m.next_at = TIME_UNKNOWN;
    m.used_us = us;
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.outcome = &m}));
}

static void test_mirrors__a_file_waits_is_stored_and_leaves(void **state)
{
    struct fixture *f = *state;
    struct mirrored m[3] = {wanted(&f->arena, "http://a/1", 100),
                            wanted(&f->arena, "http://a/2", 50),
                            wanted(&f->arena, "http://a/3", 200)};
    struct str x = mirror_key(&f->arena, STR("x")), y = mirror_key(&f->arena, STR("y"));
    struct mirror_change add = {.moves = true, .from = -1, .to = 7, .added = m, .n_added = 3};
    int64_t edition = store_mirror_edition(f->store), place, bytes;
    struct mirror_use used = {y, 4000};
    struct mirrored found;
    size_t n;

    assert_int_equal(RC_OK, reader_mirror_place(f->reader, &place, &bytes, NULL));
    assert_int_equal(-1, place);
    assert_int_equal(RC_OK, store(f, &add));
    assert_true(store_mirror_edition(f->store) != edition);
    assert_int_equal(RC_CONFLICT, store(f, &add)); /* another one was faster */
    found = first_of(f, MIRRORS_DUE, 100, &n);
    assert_int_equal(2, n);
    assert_true(str_eqz(found.url, "http://a/2"));
    found = next_of(f, MIRRORS_DUE, 100, 1, &n); /* behind those that cannot begin now */
    assert_int_equal(1, n);
    assert_true(str_eqz(found.url, "http://a/1"));

    keep(f, m[0], x, 10, 1000);
    keep(f, m[1], x, 10, 3000); /* the same content: both rows were used then */
    keep(f, m[2], y, 5, 2000);
    assert_int_equal(3000, row(f, m[0].key).used_us);
    assert_int_equal(RC_OK, reader_mirror_place(f->reader, &place, &bytes, NULL));
    assert_int_equal(7, place);
    assert_int_equal(15, bytes); /* each file once */
    first_of(f, MIRRORS_DUE, INT64_MAX, &n);
    assert_int_equal(0, n);
    found = first_of(f, MIRRORS_OLDEST, INT64_MAX, &n);
    assert_true(str_eq(found.sha256, y));
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.used = &used, .n_used = 1}));
    found = first_of(f, MIRRORS_OLDEST, INT64_MAX, &n);
    assert_true(str_eq(found.sha256, x));

    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.dropped = x}));
    assert_int_equal(MIRROR_DROPPED, row(f, m[0].key).state);
    assert_int_equal(MIRROR_DROPPED, row(f, m[1].key).state);
    assert_true(str_eqz(row(f, m[0].key).error, MIRROR_DROPPED_WHY));
    assert_int_equal(RC_OK, reader_mirror_file(f->reader, x, &f->arena, &found, NULL));
    assert_int_equal(MIRROR_DROPPED, found.state);
    assert_int_equal(RC_OK, reader_mirror_file(f->reader, y, &f->arena, &found, NULL));
    assert_int_equal(MIRROR_STORED, found.state);
    assert_int_equal(RC_NOT_FOUND,
                     reader_mirror_file(f->reader, m[0].key, &f->arena, &found, NULL));

    m[0].since_at = m[0].next_at = m[2].since_at = 900; /* a new entry names them again */
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.added = m, .n_added = 3}));
    assert_int_equal(MIRROR_WAITING, row(f, m[0].key).state);
    assert_int_equal(900, row(f, m[0].key).since_at);
    assert_true(str_is_null(row(f, m[0].key).error));
    assert_int_equal(MIRROR_STORED, row(f, m[2].key).state); /* it is there */
    assert_int_equal(200, row(f, m[2].key).since_at);
}

/* ENCL-01: what two addresses gave comes back at both, in one step; what was dropped stays so. */
static void test_mirrors__a_lost_file_waits_at_all_its_addresses(void **state)
{
    struct fixture *f = *state;
    struct mirrored m[3] = {wanted(&f->arena, "http://a/1", 100),
                            wanted(&f->arena, "http://a/2", 100),
                            wanted(&f->arena, "http://a/3", 100)};
    struct str x = mirror_key(&f->arena, STR("x"));
    int64_t edition, place, bytes;
    struct mirrored found;

    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.added = m, .n_added = 3}));
    for (size_t i = 0; i < 2; i++)
        keep(f, m[i], x, 10, 1000);
    m[2].sha256 = x; /* it had this content once, and was dropped */
    m[2].state = MIRROR_DROPPED;
    m[2].next_at = TIME_UNKNOWN;
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.outcome = &m[2]}));
    edition = store_mirror_edition(f->store);
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.lost = x, .lost_at = 700}));
    assert_true(store_mirror_edition(f->store) != edition);
    for (size_t i = 0; i < 2; i++) {
        found = row(f, m[i].key);
        assert_int_equal(MIRROR_WAITING, found.state);
        assert_int_equal(700, found.next_at);
        assert_true(str_eq(found.sha256, x));
    }
    assert_int_equal(MIRROR_DROPPED, row(f, m[2].key).state);
    assert_int_equal(RC_OK, reader_mirror_place(f->reader, &place, &bytes, NULL));
    assert_int_equal(0, bytes);
    keep(f, m[0], mirror_key(&f->arena, STR("y")), 10, 1000); /* that address has other content now */
    assert_int_equal(RC_OK, reader_mirror_file(f->reader, x, &f->arena, &found, NULL));
    assert_int_equal(MIRROR_WAITING, found.state); /* not the one that was dropped */
    assert_true(str_eqz(found.url, "http://a/2"));
}

static void test_mirrors__which_entries_count(void **state)
{
    struct fixture *f = *state;
    struct entry_change first[12], later = change(f, "later", "l", 1);
    struct entry_change edited = change(f, "e0", "an older entry is edited", 1);
    int64_t feed = add_feed(f, "http://a/", NULL), other = add_feed(f, "http://b/", NULL), end;
    struct feed_ref ref = {.url = STR("http://a/")};
    struct sub_request req = {.endpoint = STR("http://e/"),
                              .feeds = &ref,
                              .n_feeds = 1,
                              .level = LEVEL_KEEP,
                              .mirror = 1};
    struct answer a;
    struct mirror_entry *entries;
    size_t n;

    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        first[i] = change(f, arena_printf(&f->arena, "e%zu", i), "t", 1);
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    store_changes(f, feed, first, ARRAY_LEN(first));
    store_changes(f, other, first, 1);
    end = store_last_seq(f->store);
    assert_int_equal(RC_OK, reader_mirror_entries(f->reader, 0, end, &f->arena, &entries, &n, NULL));
    assert_int_equal(MIRROR_FIRST,
                     n); /* of those that were there; none of a feed that is not mirrored */
    store_changes(f, feed, &later, 1);
    assert_int_equal(RC_OK, reader_mirror_entries(f->reader, end, store_last_seq(f->store),
                                                  &f->arena, &entries, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_eq(entries[0].doc, later.doc) && entries[0].is_wanted && entries[0].id > 0);

    req.mirror = MIRROR_OFF;
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    end = store_last_seq(f->store);
    req.mirror = end + 1;
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    edited.kind = REV_CHANGED;
    store_changes(f, feed, &edited, 1);
    assert_int_equal(RC_OK, reader_mirror_entries(f->reader, end, store_last_seq(f->store),
                                                  &f->arena, &entries, &n, NULL));
    assert_int_equal(0, n);
}

static struct mirror_look look(struct fixture *f, struct str key)
{
    struct mirror_look *looks;
    size_t n, i = 0;

    assert_int_equal(RC_OK, reader_mirror_looks(f->reader, STR_NULL, 10, &f->arena, &looks, &n, NULL));
    while (i < n && !str_eq(looks[i].row.key, key))
        i++;
    assert_true(i < n);
    return looks[i];
}

static bool wants(struct fixture *f, struct str key)
{
    struct mirror_wish wish;

    assert_int_equal(RC_OK, reader_mirror_wish(f->reader, key, &f->arena, &wish, NULL));
    return wish.is_wanted;
}

static size_t count_rows(struct fixture *f, struct str key)
{
    struct mirrored *rows;
    size_t n;

    assert_int_equal(RC_OK, reader_mirrors(f->reader, &key, 1, &f->arena, &rows, &n, NULL));
    return n;
}

static void set_mirror(struct fixture *f, const char *url, int64_t mirror)
{
    struct feed_ref ref = {.url = str_from(url)};
    struct sub_request req = {
        .endpoint = STR("http://e/"), .feeds = &ref, .n_feeds = 1, .level = LEVEL_KEEP, .mirror = mirror};
    struct answer a;

    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

/* ENCL-01, ENCL-04: what no feed wants any more waits no longer, and what no entry names leaves. */
static void test_mirrors__what_nobody_wants_ends(void **state)
{
    struct fixture *f = *state;
    int64_t feeds[2] = {add_feed(f, "http://a/", NULL), add_feed(f, "http://b/", NULL)};
    struct entry_change entry = change(f, "e", "t", 1);
    struct mirrored m[2] = {wanted(&f->arena, "http://a/1", 100), wanted(&f->arena, "http://a/2", 100)};
    struct mirror_name names[5];
    struct mirror_entry *entries;
    struct answer a;
    size_t n;

    set_mirror(f, "http://a/", 1);
    set_mirror(f, "http://b/", 1);
    for (size_t i = 0; i < 2; i++)
        store_changes(f, feeds[i], &entry, 1);
    assert_int_equal(RC_OK, reader_mirror_entries(f->reader, 0, store_last_seq(f->store), &f->arena, &entries, &n, NULL));
    assert_int_equal(2, n);
    /* both name the first file, and one the second */
    names[0] = (struct mirror_name){entries[0].id, STR_NULL};
    names[1] = (struct mirror_name){entries[1].id, STR_NULL};
    names[2] = (struct mirror_name){entries[0].id, m[0].key};
    names[3] = (struct mirror_name){entries[1].id, m[0].key};
    names[4] = (struct mirror_name){entries[0].id, m[1].key};
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.added = m, .n_added = 2, .names = names, .n_names = 5}));
    assert_true(wants(f, m[0].key) && wants(f, m[1].key) && look(f, m[1].key).is_wanted);

    set_mirror(f, "http://a/", MIRROR_OFF);
    assert_true(wants(f, m[0].key) && !wants(f, m[1].key));
    assert_true(look(f, m[0].key).is_wanted && !look(f, m[1].key).is_wanted && look(f, m[1].key).is_named);
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.unwanted = &m[1].key, .n_unwanted = 1}));
    assert_int_equal(MIRROR_DROPPED, row(f, m[1].key).state);
    assert_int_equal(TIME_UNKNOWN, row(f, m[1].key).next_at);
    assert_true(str_eqz(row(f, m[1].key).error, MIRROR_UNWANTED_WHY));
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.unnamed = &m[1].key, .n_unnamed = 1}));
    assert_int_equal(1, count_rows(f, m[1].key)); /* an entry names it */

    /* the entry of a feed that is not mirrored changes: it is told as well, and then names one file only */
    entry = change(f, "e", "changed", 1);
    entry.kind = REV_CHANGED;
    n = (size_t)store_last_seq(f->store);
    store_changes(f, feeds[0], &entry, 1);
    assert_int_equal(RC_OK, reader_mirror_entries(f->reader, (int64_t)n, store_last_seq(f->store), &f->arena, &entries, &n, NULL));
    assert_int_equal(1, n);
    assert_int_equal(names[0].entry_id, entries[0].id);
    assert_false(entries[0].is_wanted);
    names[1] = names[2];
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.names = names, .n_names = 2}));
    assert_true(look(f, m[0].key).is_named && !look(f, m[1].key).is_named);
    assert_int_equal(RC_OK, store(f, &(struct mirror_change){.unnamed = &m[1].key, .n_unnamed = 1}));
    assert_int_equal(0, count_rows(f, m[1].key));

    for (size_t i = 0; i < 2; i++) {
        assert_true(look(f, m[0].key).is_named);
        WRITE(a, store_forget_feed(f->store, feeds[i], on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
    }
    assert_false(look(f, m[0].key).is_named || wants(f, m[0].key));
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_mirrors__##name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_file_waits_is_stored_and_leaves),
        T(a_lost_file_waits_at_all_its_addresses),
        T(which_entries_count),
        T(what_nobody_wants_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
