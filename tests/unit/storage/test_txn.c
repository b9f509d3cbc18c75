/* tests/unit/storage/test_txn.c - the notes of a transaction: joined per feed, taken back whole. */
#include "base/clock.h"
#include "storage/op.h"
#include "tests/unit/cmocka_all.h"

static void test_txn__folds(void **state UNUSED)
{
    struct txn t = {0};

    txn_feed(&t, 7)->is_new = true;
    txn_feed(&t, 3)->first_seq = 20;
    txn_feed(&t, 7)->first_seq = 10;
    txn_feed(&t, 3)->first_seq = 30;
    txn_feed(&t, 7)->reload_keys = true;
    txn_feed(&t, 3)->merged_into = 7;
    txn_feed(&t, 3);
    txn_sub(&t, 9);
    txn_sub(&t, 2);
    txn_sub(&t, 9);
    txn_fold(&t);
    assert_int_equal(2, t.n_feeds);
    assert_int_equal(3, t.feeds[0].id);
    assert_int_equal(20, t.feeds[0].first_seq);
    assert_int_equal(7, t.feeds[0].merged_into);
    assert_int_equal(7, t.feeds[1].id);
    assert_true(t.feeds[1].is_new && t.feeds[1].reload_keys);
    assert_int_equal(10, t.feeds[1].first_seq);
    assert_int_equal(2, t.n_subs);
    assert_int_equal(2, t.subs[0]);
    assert_int_equal(9, t.subs[1]);
    txn_release(&t);
}

static void test_txn__undoes(void **state UNUSED)
{
    struct txn t = {.last_seq = 5, .version = 8};
    struct directory_key k = {.feed_id = 1};
    struct txn_mark mark;

    clock_fake_us(8); /* it has not moved since: versions rise all the same */
    txn_feed(&t, 1);
    mark = txn_mark(&t);
    txn_feed(&t, 2);
    txn_sub(&t, 1);
    txn_key(&t, &k);
    assert_int_equal(6, txn_next_seq(&t));
    assert_int_equal(9, txn_next_version(&t));
    txn_undo(&t, mark);
    assert_int_equal(1, t.n_feeds);
    assert_int_equal(0, t.n_subs + t.n_keys);
    assert_int_equal(6, txn_next_seq(&t));
    assert_int_equal(9, txn_next_version(&t));
    txn_reset(&t);
    assert_int_equal(0, t.n_feeds);
    assert_int_equal(6, t.last_seq);
    clock_fake_us(1000);
    assert_int_equal(1000, txn_next_version(&t));
    clock_fake_us(0);
    txn_release(&t);
}

/* D14 */
static void test_txn__times_rise_strictly(void **state UNUSED)
{
    struct txn t = {.last_at_us = 5000};

    clock_fake_us(4000);
    assert_int_equal(5001, txn_next_at_us(&t));
    assert_int_equal(5002, txn_next_at_us(&t));
    clock_fake_us(9000);
    assert_int_equal(9000, txn_next_at_us(&t));
    assert_int_equal(9001, txn_next_at_us(&t));
    clock_fake_us(0);
}

/* Numbers that are not known yet are larger than all that are, and become numbers of the log. */
static void test_txn__numbers_that_are_not_known_yet(void **state UNUSED)
{
    struct txn t = {0};
    const struct txn_base base = {
        .seq = 40 - NUMBERS_HERE, .at_us = 7000 - NUMBERS_HERE, .version = 8000 - NUMBERS_HERE};
    struct directory_key key = {.feed_id = 1, .old_seq = 12};
    struct subscription sub = {.position = 0, .chain = {0, 0}, .n_failures = 3};
    struct feed_row row = {.feed = {.id = 1}};
    struct op op = {.result = {.last_seq = 5, .sub = &sub}};

    txn_count_here(&t);
    sub.position = t.last_seq; /* the end of the log at the commit */
    key.key.seq = txn_next_seq(&t);
    sub.chain = (struct log_mark){key.key.seq, txn_next_at_us(&t)};
    row.feed.version = txn_next_version(&t);
    txn_key(&t, &key);
    txn_feed(&t, 1)->first_seq = key.key.seq;
    txn_feed(&t, 1)->row = &row;
    txn_feed(&t, 2)->first_seq = 3;
    assert_true(key.key.seq > INT64_C(1000000000000) && txn_next_seq(&t) == key.key.seq + 1);
    txn_settle(&t, &base);
    op_settle(&op, &base);
    assert_int_equal(42, t.last_seq);
    assert_int_equal(7001, t.last_at_us);
    assert_int_equal(8001, t.version);
    assert_int_equal(41, t.keys[0].key.seq);
    assert_int_equal(12, t.keys[0].old_seq);
    assert_int_equal(41, t.feeds[0].first_seq);
    assert_int_equal(8001, row.feed.version);
    assert_int_equal(3, t.feeds[2].first_seq);
    assert_int_equal(40, sub.position);
    assert_int_equal(41, sub.chain.seq);
    assert_int_equal(7001, sub.chain.at_us);
    assert_int_equal(3, sub.n_failures);
    assert_int_equal(5, op.result.last_seq);
    txn_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_txn__folds),
        cmocka_unit_test(test_txn__undoes),
        cmocka_unit_test(test_txn__numbers_that_are_not_known_yet),
        cmocka_unit_test(test_txn__times_rise_strictly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
