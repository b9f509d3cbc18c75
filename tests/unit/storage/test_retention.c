/* tests/unit/storage/test_retention.c - which revisions retention takes (D58). */
#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "model/shown.h"
#include "storage/retention.h"

static struct old_revision row(int64_t seq, int64_t entry, int64_t first, int64_t last,
                               const char *uid)
{
    return (struct old_revision){.seq = seq,
                                 .at_us = seq * 10,
                                 .entry_id = entry,
                                 .first_seq = first,
                                 .last_seq = last,
                                 .last_at_us = last * 10,
                                 .lives = true,
                                 .uid = str_from(uid)};
}

static bool has(const struct taken *t, int64_t seq)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->seqs[i] == seq)
            return true;
    return false;
}

static struct taken choose(struct arena *a, const char *shown_uid, int64_t limit,
                           const struct old_revision *rows, size_t n)
{
    AUTO(buf_release) struct buf shown = BUF_INIT(BUF_ANY);
    struct retention how = {.limit = limit};
    struct taken out;

    if (shown_uid != NULL)
        shown_add(&shown, str_from(shown_uid));
    how.shown = shown_uid == NULL ? STR_NULL : str_dup(a, buf_view(&shown));
    retention_choose(&how, rows, n, a, &out);
    return out;
}

/* Entry 1 was edited twice, entry 2 never. */
static const int64_t firsts[] = {1, 2, 1, 1};

static void fill(struct old_revision *rows)
{
    rows[0] = row(1, 1, firsts[0], 4, "a");
    rows[1] = row(2, 2, firsts[1], 2, "b");
    rows[2] = row(3, 1, firsts[2], 4, "a");
    rows[3] = row(4, 1, firsts[3], 4, "a");
}

static void test_retention__all_that_is_old_goes(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct old_revision rows[4];
    struct taken t;

    fill(rows);
    t = choose(&a, "other", 10, rows, 4);
    assert_int_equal(t.n, 4);
    assert_int_equal(t.n_entries, 2);
    assert_int_equal(t.n_live, 2);
    assert_int_equal(t.last_seq, 4);
    assert_int_equal(t.last_at_us, 40);
}

static void
test_retention__what_the_document_shows_stays_with_its_first_revision(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct old_revision rows[4];
    struct taken t;

    fill(rows);
    t = choose(&a, "a", 10, rows, 4);
    assert_int_equal(t.n, 2);
    assert_true(has(&t, 2) && has(&t, 3));
    assert_int_equal(t.n_entries, 1);
    t = choose(&a, NULL, 10, rows, 4); /* it is not known what it shows */
    assert_int_equal(t.n, 1);
    assert_true(has(&t, 3));
    assert_int_equal(t.n_entries, 0);
}

static void test_retention__an_entry_stays_while_its_newest_revision_is_young(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct old_revision rows[4];
    struct taken t;

    fill(rows);
    t = choose(&a, "other", 3, rows, 4);
    assert_int_equal(t.n, 2);
    assert_true(has(&t, 2) && has(&t, 3));
    assert_int_equal(t.last_seq, 3);
}

/* The batch ends between the first and the newest revision of an entry. */
static void test_retention__the_newest_revision_goes_with_the_first_one(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct old_revision rows[4];
    struct taken t;

    fill(rows);
    t = choose(&a, "other", 10, rows, 1);
    assert_int_equal(t.n, 2);
    assert_true(has(&t, 1) && has(&t, 4));
    assert_int_equal(t.n_entries, 1);
    assert_int_equal(t.last_seq, 4);
    assert_int_equal(t.last_at_us, 40);
}

static void test_retention__a_tombstone_is_not_shown(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct old_revision r = row(5, 3, 5, 5, "a");
    struct taken t;

    r.lives = false;
    t = choose(&a, "a", 10, &r, 1);
    assert_int_equal(t.n_entries, 1);
    assert_int_equal(t.n_live, 0);
}

/* KEEP-04 */
static void test_retention__who_it_was_is_forgotten_after_30_days(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf shown = BUF_INIT(BUF_ANY);
    const int64_t now = 100 * 86400;
    const struct gone_entry rows[] = {{1, now - 31 * 86400, STR("a")},
                                      {2, now - 31 * 86400, STR("b")},
                                      {3, now - 30 * 86400, STR("c")}};
    struct ended e;

    shown_add(&shown, STR("b"));
    retention_end(rows, 3, buf_view(&shown), now, &a, &e);
    assert_int_equal(1, e.n_ended);
    assert_int_equal(1, e.ended[0]);
    assert_int_equal(1, e.n_shown);
    assert_int_equal(2, e.shown[0]);
    retention_end(rows, 3, STR_NULL, now, &a, &e); /* any of them may be shown */
    assert_int_equal(0, e.n_ended);
}

/* Two feeds become one: an entry with a live and a gone twin there leaves the gone one alone, which
 * is known still (KEEP-04); one whose twins are all gone takes their place (D58). */
static void test_retention__of_twins_one_is_left(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    static const struct twin_pair pairs[] = {
        {1, 11, false, true}, {1, 12, false, false}, /* a live one is there */
        {2, 13, false, true}, {2, 14, false, true},  /* all of them are gone */
        {3, 15, true, true},  {4, 16, true, false},  {5, 17, false, false}, /* it stays */
        {6, 18, false, true},
    };
    struct twins_end end;

    retention_merge(pairs, ARRAY_LEN(pairs), &a, &end);
    assert_int_equal(4, end.n_mine);
    assert_memory_equal(((int64_t[]){1, 3, 4, 5}), end.mine, 4 * sizeof *end.mine);
    assert_int_equal(3, end.n_theirs);
    assert_memory_equal(((int64_t[]){13, 14, 18}), end.theirs, 3 * sizeof *end.theirs);
    retention_merge(NULL, 0, &a, &end);
    assert_int_equal(0, end.n_mine + end.n_theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retention__all_that_is_old_goes),
        cmocka_unit_test(test_retention__what_the_document_shows_stays_with_its_first_revision),
        cmocka_unit_test(test_retention__an_entry_stays_while_its_newest_revision_is_young),
        cmocka_unit_test(test_retention__the_newest_revision_goes_with_the_first_one),
        cmocka_unit_test(test_retention__a_tombstone_is_not_shown),
        cmocka_unit_test(test_retention__who_it_was_is_forgotten_after_30_days),
        cmocka_unit_test(test_retention__of_twins_one_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
