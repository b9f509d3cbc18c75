/* tests/unit/fetcher/test_stream_rules.c - what is asked of a Smart Feed, and what an answer leads
 * to. */
#include "tests/unit/cmocka_all.h"

#include "base/digest.h"
#include "base/limits.h"
#include "fetcher/stream_rules.h"

#define URL "http://a.example/s?order=modified"

static struct feed a_feed(const char *cursor, unsigned state)
{
    return (struct feed){.url = STR(URL),
                         .cursor = str_from(cursor),
                         .cursor_state = state,
                         .head = STR("{\"version\":\"atom10\"}")};
}

static struct feed_doc piece(const char *cursor, size_t n, bool has_next)
{
    return (struct feed_doc){
        .version = STR("atom10"), .cursor = str_from(cursor), .n_entries = n, .has_next = has_next};
}

static bool is_piece; /* of the last answer that was judged */

static struct doc_piece judge(struct stream_state *f, const struct feed *feed,
                              const struct feed_doc *doc, bool has_news)
{
    struct doc_piece out;

    is_piece = stream_place_piece(f, feed, feed->url, doc, has_news, &out);
    return out;
}

/* SMARTC-11: the base URL keeps what is not about a piece of it, in order and as it was written. */
static void test_stream__urls(void **state UNUSED)
{
    static const struct {
        const char *base, *cursor;
        int max;
        const char *url;
    } rows[] = {
        {"http://a/s", "c", 0, "http://a/s?since=cursor%3Ac&timeout=0"},
        {"http://a/s?x=%20&order=created", "a b&c/d%", 1000,
         "http://a/s?x=%20&order=created&since=cursor%3Aa%20b%26c%2Fd%25&timeout=0&max=1000"},
        {"http://a/s?since=time%3A1&y&max=3&z=1&timeout=9&%6Dax=4", "c", 0,
         "http://a/s?y&z=1&since=cursor%3Ac&timeout=0"},
        {"http://a/s?max=3", "c", 0, "http://a/s?since=cursor%3Ac&timeout=0"},
    };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *large = arena_alloc(&a, LIMIT_URL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str url =
            stream_url_after(&a, str_from(rows[i].base), str_from(rows[i].cursor), rows[i].max);

        assert_str(url, rows[i].url);
        assert_str(stream_base_url(&a, url),
                   str_z(&a, stream_base_url(&a, str_from(rows[i].base))));
    }
    assert_str(stream_base_url(&a, STR("http://a/s?since=1&max=2")), "http://a/s");
    memset(large, 'c', LIMIT_URL);
    assert_true(str_is_null(stream_url_after(&a, STR("http://a/s"), str_of(large, LIMIT_URL), 0)));
}

static void test_stream__descending_orders_are_not_followed(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed feed = a_feed(NULL, 0);
    struct feed_doc doc = piece("c", 5, true);
    struct stream_state f = {.ask = STREAM_FIRST};
    struct doc_piece out;

    assert_true(stream_descends(&a, STR("http://a/?x&order=-modified")));
    assert_true(stream_descends(&a, STR("http://a/?order=%2Dcreated&x")));
    assert_false(stream_descends(&a, STR("http://a/?order=created&border=-x")));
    assert_false(stream_descends(&a, STR("http://a/-")));
    is_piece = stream_place_piece(&f, &feed, STR("http://a/?order=-modified"), &doc, true, &out);
    assert_false(is_piece);
}

static void test_stream__pieces_lead_on(void **state UNUSED)
{
    static const struct {
        const char *was;
        unsigned state;
        const char *cursor;
        size_t n;
        bool has_next, more;
    } rows[] = {
        {NULL, 0, "c1", 50, true, true},
        {NULL, 0, "c1", 2, false, true}, /* it may have no links */
        {"c1", 0, "c2", 50, true, true},
        {"c1", 0, "c2", 2, false, false},
        {"c1", 0, "c2", 10, false, true},
        {"c1", CURSOR_FIRST, "c2", 1, false, true},
        {"c1", 0, "c1", 50, true, false},
        {"c1", 0, "c2", 0, true, true}, /* its items are filtered */
        {"c1", CURSOR_FIRST, "c2", 0, false, false},
        {"c1", CURSOR_FIRST, "c1", 0, false, false},
        {"", 0, "c1", 50, true, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct feed feed = a_feed(rows[i].was, rows[i].state);
        struct feed_doc doc = piece(rows[i].cursor, rows[i].n, rows[i].has_next);
        struct stream_state f = {.ask = feed.cursor.len > 0 ? STREAM_AFTER : STREAM_FIRST};
        struct doc_piece out = judge(&f, &feed, &doc, true);

        assert_true(is_piece);
        assert_true(str_eq(out.from, feed.cursor));
        assert_str(out.cursor, rows[i].cursor);
        assert_int_equal(out.more, rows[i].more);
    }
}

/* What was there before says nothing of how the feed posts (ETIQ-01). */
static void test_stream__past(void **state UNUSED)
{
    static const struct {
        const char *was;
        unsigned state;
        bool is_refused, more, is_past;
    } rows[] = {
        {NULL, 0, false, true, true},
        {NULL, 0, false, false, false}, /* with the end of the stream */
        {"c", CURSOR_FIRST, false, true, true},
        {"c", 0, false, true, false},
        {"c", 0, true, false, true},
        {"c", CURSOR_REFUSED | CURSOR_AGAIN, false, true, true},
        {"c", CURSOR_AGAIN, false, true, true},
        {"c", CURSOR_AGAIN, false, false, false},
        {"c", CURSOR_REFUSED | CURSOR_AGAIN, true, false, false}, /* every cursor is refused */
        {"c", CURSOR_REFUSED, true, false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct feed feed = a_feed(rows[i].was, rows[i].state);
        struct doc_piece p = {.more = rows[i].more, .is_refused = rows[i].is_refused};

        assert_int_equal(rows[i].is_past, stream_is_past(&feed, &p));
    }
}

static void test_stream__links_and_totals_are_believed(void **state UNUSED)
{
    struct feed feed = a_feed(NULL, 0);
    struct feed_doc first = piece("c1", 50, true), last = piece("c2", 12, false);
    struct stream_state f = {.ask = STREAM_FIRST};

    assert_true(judge(&f, &feed, &first, true).more);
    feed = a_feed("c1", CURSOR_FIRST);
    f.ask = STREAM_AFTER;
    assert_false(judge(&f, &feed, &last, true).more); /* it gave links before */

    feed = a_feed(NULL, 0);
    last.n_total = 12;
    f = (struct stream_state){.ask = STREAM_FIRST};
    assert_false(judge(&f, &feed, &last, true).more); /* all of it is here */
}

static void test_stream__cursors_that_cannot_be_kept(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str large = str_of(arena_alloc(&a, 1000000), 1000000);
    struct feed feed = a_feed(NULL, 0);
    struct feed_doc doc = piece("", 3, true);
    struct stream_state f = {.ask = STREAM_FIRST};
    struct doc_piece out;

    memset((char *)(uintptr_t)large.ptr, 'c', large.len);
    doc.cursor = large;
    judge(&f, &feed, &doc, true);
    assert_false(is_piece);
    feed = a_feed("c1", 0);
    f.ask = STREAM_AFTER;
    out = judge(&f, &feed, &doc, true);
    assert_true(is_piece && !out.more);
    assert_str(out.cursor, "c1");
    f.ask = STREAM_FIRST; /* the first piece, asked for anew */
    assert_true(str_is_null(judge(&f, &feed, &doc, true).cursor));
}

/* Empty answers may leave out where they end; others have to say it. */
static void test_stream__answers_without_a_cursor(void **state UNUSED)
{
    struct feed feed = a_feed("c1", 0);
    struct feed_doc doc = piece(NULL, 0, false);
    struct stream_state f = {.ask = STREAM_AFTER};
    struct doc_piece out = judge(&f, &feed, &doc, false);

    assert_str(out.cursor, "c1");
    doc.n_entries = 1;
    out = judge(&f, &feed, &doc, true);
    assert_true(is_piece && str_is_null(out.cursor)); /* an ordinary feed now */
    doc = piece("", 1, false);
    assert_str(judge(&f, &feed, &doc, true).cursor, "c1");
    feed = a_feed(NULL, 0);
    f.ask = STREAM_FIRST;
    doc = piece("", 0, false);
    out = judge(&f, &feed, &doc, false);
    assert_true(is_piece && !str_is_null(out.cursor) && out.cursor.len == 0); /* empty as yet */
}

static void test_stream__servers_that_err_are_not_asked_for_ever(void **state UNUSED)
{
    struct feed feed = a_feed("c", 0);
    struct stream_state f = {.ask = STREAM_AFTER};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int n = 0;

    for (bool more = true; more; n++) { /* each piece has another cursor, and nothing new */
        struct feed_doc doc = piece(arena_printf(&a, "n%d", n), 50, true);

        doc.n_total = 120;
        more = judge(&f, &feed, &doc, false).more;
    }
    assert_int_equal(8, n);
    f = (struct stream_state){.ask = STREAM_AFTER};
    for (n = 0; n < 30; n++) { /* what is known is passed over, as long as it can be that */
        struct feed_doc doc = piece(arena_printf(&a, "n%d", n), 50, true);

        doc.n_total = 1000000;
        assert_true(judge(&f, &feed, &doc, false).more);
    }
    f = (struct stream_state){.ask = STREAM_AFTER};
    n = 0;
    for (bool more = true; more; n++) { /* a circle, with news in each piece of it */
        struct feed_doc doc = piece(arena_printf(&a, "n%d", n % 3), 50, true);

        more = judge(&f, &feed, &doc, true).more;
    }
    assert_int_equal(4, n);
}

static void test_stream__a_check_that_finds_nothing_changes_nothing(void **state UNUSED)
{
    struct feed feed = a_feed("c9", 0);
    struct feed_doc doc = piece("c1", 50, true);
    struct stream_state f = {.ask = STREAM_CHECK};
    struct doc_piece out = judge(&f, &feed, &doc, false);

    assert_str(out.cursor, "c9");
    assert_false(out.more);
    out = judge(&f, &feed, &doc, true); /* the cursor hid something */
    assert_str(out.cursor, "c1");
    assert_true(out.more);
    assert_false(out.is_refused);
}

static void test_stream__after_a_refusal_the_next_fetch_goes_on(void **state UNUSED)
{
    struct feed feed = a_feed("c9", 0);
    struct feed_doc doc = piece("c1", 50, true);
    struct stream_state f = {.ask = STREAM_REFUSED};
    struct doc_piece out = judge(&f, &feed, &doc, true);

    assert_true(out.is_refused && !out.more);
    assert_str(out.from, "c9");
    assert_str(out.cursor, "c1");
}

/* Smart Feeds, "Updates/Synchronization via Push". */
static void test_stream__pushes(void **state UNUSED)
{
    static const struct {
        const char *was;
        unsigned state;
        const char *prev, *last, *version;
        enum stream_push want;
    } rows[] = {
        {"c1", 0, "c1", "c2", "atom10", STREAM_TAKE},
        {"", 0, "", "c2", "atom10", STREAM_TAKE},
        {"c1", 0, "c0", "c2", "atom10", STREAM_PULL},
        {"c1", 0, "c0", "c1", "atom10", STREAM_KNOWN},
        {"c1", 0, NULL, "c2", "atom10", STREAM_PULL},
        {"c1", 0, "c1", NULL, "atom10", STREAM_PULL},
        {"c1", CURSOR_FIRST, "c1", "c2", "atom10", STREAM_PULL},
        {"c1", 0, "c1", "c2", "as1", STREAM_PULL},
        {NULL, 0, NULL, NULL, "atom10", STREAM_PLAIN},
        {NULL, 0, "c1", "c2", "atom10", STREAM_PLAIN},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct feed feed = a_feed(rows[i].was, rows[i].state);
        struct feed_doc doc = piece(rows[i].last, 1, false);
        struct doc_piece out;

        doc.prev_cursor = str_from(rows[i].prev);
        doc.version = str_from(rows[i].version);
        assert_int_equal(stream_place_push(&feed, &doc, &out), rows[i].want);
        if (rows[i].want != STREAM_PULL) {
            assert_int_equal(rows[i].want != STREAM_PLAIN, rows[i].was != NULL);
            assert_true(str_eq(out.from, feed.cursor) && str_eq(out.cursor, doc.cursor));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream__urls),
        cmocka_unit_test(test_stream__descending_orders_are_not_followed),
        cmocka_unit_test(test_stream__pieces_lead_on),
        cmocka_unit_test(test_stream__past),
        cmocka_unit_test(test_stream__links_and_totals_are_believed),
        cmocka_unit_test(test_stream__cursors_that_cannot_be_kept),
        cmocka_unit_test(test_stream__answers_without_a_cursor),
        cmocka_unit_test(test_stream__servers_that_err_are_not_asked_for_ever),
        cmocka_unit_test(test_stream__a_check_that_finds_nothing_changes_nothing),
        cmocka_unit_test(test_stream__after_a_refusal_the_next_fetch_goes_on),
        cmocka_unit_test(test_stream__pushes),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
