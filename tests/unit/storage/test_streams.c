/* tests/unit/storage/test_streams.c - pieces of a Smart Feed: what is stored with which cursor. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

static struct feed *feed_of(struct fixture *f, int64_t feed_id)
{
    struct feed *feed;
    size_t n;

    assert_int_equal(RC_OK, reader_feeds(f->reader, &feed_id, 1, &f->arena, &feed, &n, NULL));
    assert_int_equal(1, n);
    return feed;
}

static void assert_at(struct fixture *f, int64_t feed_id, const char *cursor, unsigned state)
{
    const struct feed *feed = feed_of(f, feed_id);

    assert_int_equal(cursor == NULL, str_is_null(feed->cursor));
    assert_true(str_eqz(feed->cursor, cursor == NULL ? "" : cursor));
    assert_int_equal(state, feed->cursor_state);
    assert_int_equal((state & CURSOR_FIRST) != 0, feed->partial);
}

static struct stream_outcome piece(struct fixture *f, int64_t feed_id, const char *from,
                                   const char *to, bool more, const char *uid, const char *text)
{
    struct entry_change *c = ARENA_NEW(&f->arena, struct entry_change);
    struct poll_outcome o;

    *c = change(f, uid, text, 1000);
    o = outcome(feed_id, c, 1);
    return (struct stream_outcome){
        .check = o.check,
        .has_document = true,
        .head = o.head,
        .entries = o.entries,
        .piece = {.from = str_from(from), .cursor = str_from(to), .more = more},
    };
}

static struct answer put(struct fixture *f, const struct stream_outcome *o)
{
    struct answer a;

    WRITE(a, store_stream_outcome(f->store, o, 0, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("outcome: %s", a.text);
    return a;
}

/* The same piece, when a hub delivers it. */
static struct answer push(struct fixture *f, const struct stream_outcome *o)
{
    struct delivery_outcome d = {.feed_id = o->check.feed_id,
                                 .received_at = o->check.checked_at,
                                 .has_piece = true,
                                 .piece = o->piece,
                                 .entries = o->entries};
    struct answer a;

    WRITE(a, store_delivery_outcome(f->store, &d, 0, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("outcome: %s", a.text);
    return a;
}

/* The same document, when it stands in no stream. `left`: the cursor of the stream that the feed
 * was until now; NULL: it was none. */
static struct answer put_plain(struct fixture *f, const struct stream_outcome *o, const char *left)
{
    struct poll_outcome poll = {.check = o->check,
                                .has_document = true,
                                .head = o->head,
                                .entries = o->entries,
                                .left_cursor = str_from(left)};
    struct answer a;

    WRITE(a, store_poll_outcome(f->store, &poll, 0, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("outcome: %s", a.text);
    return a;
}

static const char *titles(struct fixture *f, int64_t feed_id)
{
    struct view v = view_of(VIEW_LOG, &feed_id, 1);

    v.with_deleted = true;
    return view_titles(f, &v);
}

/* "1" for each revision that was there before anyone looked, else "0". */
static const char *initials(struct fixture *f, int64_t feed_id)
{
    struct view v = view_of(VIEW_LOG, &feed_id, 1);
    char *text = arena_alloc(&f->arena, 100);
    struct revision *rows;
    size_t n;

    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    for (size_t i = 0; i < n; i++)
        text[i] = rows[i].initial ? '1' : '0';
    text[n] = '\0';
    return text;
}

/* SMARTC-03 SMARTC-05 */
static void test_streams__the_backlog_is_initial_and_what_follows_is_not(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome first = piece(f, id, NULL, "c1", true, "a", "a"),
                          second = piece(f, id, "c1", "c2", true, "b", "b"),
                          last = piece(f, id, "c2", "c3", false, "c", "c"),
                          news = piece(f, id, "c3", "c4", true, "d", "d"),
                          more = piece(f, id, "c4", "c5", false, "e", "e");

    assert_string_equal("c1", put(f, &first).next_cursor);
    assert_at(f, id, "c1", CURSOR_FIRST);
    put(f, &second);
    fixture_close(f);
    fixture_open(f);
    assert_at(f, id, "c2", CURSOR_FIRST);
    assert_string_equal("", put(f, &last).next_cursor);
    assert_at(f, id, "c3", 0);
    put(f, &news);
    put(f, &more);
    assert_at(f, id, "c5", 0);
    assert_string_equal("a b c d e", titles(f, id));
    assert_string_equal("11100", initials(f, id));
}

/* SMARTC-03: a poll and a delivery may overlap: the second one is not taken. */
static void test_streams__a_piece_that_was_overtaken_is_not_taken(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome first = piece(f, id, NULL, "c1", false, "a", "a"),
                          delivered = piece(f, id, "c1", "c3", false, "b", "newer"),
                          poll = piece(f, id, "c1", "c2", false, "b", "older"),
                          late = piece(f, id, "c1", "c4", false, "b", "late");
    struct answer a;

    put(f, &first);
    assert_false(push(f, &delivered).res.is_overtaken);
    assert_at(f, id, "c3", 0);
    a = put(f, &poll);
    assert_true(a.res.is_overtaken);
    assert_string_equal("c3", a.next_cursor);
    assert_true(push(f, &late).res.is_overtaken);
    assert_at(f, id, "c3", 0);
    assert_string_equal("a newer", titles(f, id));
    assert_string_equal("10", initials(f, id));
}

static void test_streams__a_feed_that_was_empty(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome none = piece(f, id, NULL, "", false, "a", "a"),
                          some = piece(f, id, "", "c1", true, "a", "a"),
                          rest = piece(f, id, "c1", "c2", false, "b", "b");

    none.entries.n = 0;
    put(f, &none);
    assert_at(f, id, "", 0);
    put(f, &some);
    assert_at(f, id, "c1", 0);
    put(f, &rest);
    assert_string_equal("00", initials(f, id));
}

/* SMARTC-07: a stream that every cursor is refused of has no end to be reached: what it shows is
 * news then. */
static void test_streams__refused_twice(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome first = piece(f, id, NULL, "c1", true, "a", "a"),
                          again = piece(f, id, "c1", "c1", false, "b", "b"),
                          once = piece(f, id, "c1", "c1", false, "c", "c"),
                          more = piece(f, id, "c1", "c1", false, "d", "d"),
                          good = piece(f, id, "c1", "c2", false, "e", "e");

    put(f, &first);
    again.piece.is_refused = once.piece.is_refused = more.piece.is_refused = true;
    put(f, &again);
    assert_at(f, id, "c1", CURSOR_FIRST | CURSOR_REFUSED | CURSOR_AGAIN);
    put(f, &once);
    assert_at(f, id, "c1", CURSOR_REFUSED);
    put(f, &more);
    assert_string_equal("1110", initials(f, id));
    put(f, &good);
    assert_at(f, id, "c2", 0);
}

/* A server that has dropped what followed the cursor is read from the start again, and something
 * may be missing (ETIQ-10, D59). If it refuses each cursor so, that says nothing. */
static void test_streams__a_cursor_that_is_gone_is_a_gap(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome first = piece(f, id, NULL, "c1", false, "a", "a"),
                          again = piece(f, id, "c1", "c5", false, "b", "b"),
                          more = piece(f, id, "c5", "c6", true, "c", "c"),
                          last = piece(f, id, "c6", "c7", false, "d", "d"),
                          refused = piece(f, id, "c7", "c8", false, "e", "e");

    put(f, &first);
    again.piece.is_refused = refused.piece.is_refused = true;
    again.piece.is_lost = true;
    again.check.checked_at += 5;
    put(f, &again);
    assert_at(f, id, "c5", CURSOR_REFUSED | CURSOR_AGAIN);
    assert_int_equal(again.check.checked_at, feed_of(f, id)->gap_since);
    put(f, &more);
    assert_at(f, id, "c6", CURSOR_AGAIN);
    put(f, &last);
    assert_at(f, id, "c7", 0);

    id = add_feed(f, "http://b.example/", NULL);
    refused.check.feed_id = first.check.feed_id = id;
    refused.piece.from = STR("c1");
    put(f, &first);
    put(f, &refused);
    assert_int_equal(TIME_UNKNOWN, feed_of(f, id)->gap_since); /* it may not know cursors of ours */
    refused.piece.from = STR("c8");
    refused.piece.is_lost = true;
    put(f, &refused);
    assert_int_equal(TIME_UNKNOWN, feed_of(f, id)->gap_since);
}

/* SMARTC-04: in a stream what comes later is later, whatever its date. */
static void test_streams__deletions_go_by_order(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome first = piece(f, id, NULL, "c1", false, "a", "a"),
                          dead = piece(f, id, "c1", "c2", false, "a", "");
    struct entry_change c = {.kind = REV_DELETED,
                             .uid = STR("a"),
                             .published_at = TIME_UNKNOWN,
                             .updated_at = 10,
                             .doc = STR(""),
                             .ext = STR("")};

    put(f, &first);
    dead.entries.changes = &c;
    put(f, &dead);
    assert_string_equal("a -", titles(f, id));
    first.piece.from = STR("c2");
    first.piece.cursor = STR("c3");
    put(f, &first);
    put_plain(f, &dead,
              NULL); /* elsewhere a deletion that is older than the entry does not count */
    assert_string_equal("a - a", titles(f, id));
}

static void test_streams__another_setting_reads_it_anew(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome first = piece(f, id, NULL, "c1", true, "a", "a"),
                          next = piece(f, id, "c1", "c2", true, "b", "b");

    put(f, &first);
    next.check.raw_html = true;
    assert_string_equal("", put(f, &next).next_cursor);
    assert_true(str_eqz(feed_of(f, id)->cursor, ""));
    assert_false(str_is_null(feed_of(f, id)->cursor));
}

static void test_streams__an_ordinary_feed_again(void **state)
{
    struct fixture *f = *state;
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct stream_outcome first = piece(f, id, NULL, "c1", true, "a", "a"),
                          plain = piece(f, id, "c1", NULL, false, "b", "b");

    put(f, &first);
    assert_true(put_plain(f, &plain, "c0").res.is_overtaken);
    assert_at(f, id, "c1", CURSOR_FIRST);
    put_plain(f, &plain, "c1");
    assert_at(f, id, NULL, 0);
    assert_string_equal("10", initials(f, id));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_streams__the_backlog_is_initial_and_what_follows_is_not),
        TEST(test_streams__a_piece_that_was_overtaken_is_not_taken),
        TEST(test_streams__a_feed_that_was_empty),
        TEST(test_streams__refused_twice),
        TEST(test_streams__a_cursor_that_is_gone_is_a_gap),
        TEST(test_streams__deletions_go_by_order),
        TEST(test_streams__another_setting_reads_it_anew),
        TEST(test_streams__an_ordinary_feed_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
