/* tests/unit/feed/test_history.c - where a document leads (RFC 5005 and its drafts), and what the
 * entries of one id come to. */
#include "../cmocka_all.h"

#include "base/arena.h"
#include "feed/lists/history.h"
#include "feed/read/parse.h"

#define HEAD                                                                                       \
    "<feed xmlns='http://www.w3.org/2005/Atom'"                                                    \
    " xmlns:fh='http://purl.org/syndication/history/1.0'"                                          \
    " xml:base='http://h.example/d/'><title>t</title>"

static struct feed_doc *parsed(struct arena *a, const char *inner)
{
    struct str body = str_printf(a, HEAD "%s</feed>", inner);
    struct parse_input in = {.body = body, .url = STR("http://h.example/f")};

    return feed_parse(a, &in);
}

/* ARCHC-05 ARCHC-10 FHC-01 FHC-02 FHC-03 FHC-04: where a head leads */
static void test_history__older(void **state UNUSED)
{
    static const struct {
        const char *head, *older;
        bool complete;
    } rows[] = {
        {"", NULL, false},
        {"<link rel='prev-archive' href='a'/>", "http://h.example/d/a", false},
        {"<link rel='http://www.iana.org/assignments/relation/prev-archive' href='a'/>",
         "http://h.example/d/a", false},
        {"<link rel='prev-archive' href='a'/><link rel='prev-archive' href='b'/>",
         "http://h.example/d/a", false},
        {"<link rel='prev' href='a'/>", NULL, false},
        {"<link rel='this' href='x'/><link rel='prev' href='a'/>", "http://h.example/d/a", false},
        {"<fh:Stateful> 1\n</fh:Stateful><link rel='prev' href='a'/>", "http://h.example/d/a",
         false},
        {"<fh:Stateful>0</fh:Stateful><link rel='prev' href='a'/>", NULL, true},
        {"<fh:stateful>true</fh:stateful><fh:prev>a</fh:prev>", "http://h.example/d/a", false},
        {"<fh:incremental>1</fh:incremental><fh:prev> a </fh:prev>", "http://h.example/d/a", false},
        {"<fh:incremental>false</fh:incremental>", NULL, true},
        {"<fh:prev>a</fh:prev>", NULL, false},
        {"<fh:stateful>perhaps</fh:stateful><link rel='prev' href='a'/>", NULL, false},
        {"<link rel='previous' href='a'/>", NULL, false},
        {"<link rel='previous' href='a'/><link rel='current' href='f'/>", "http://h.example/d/a",
         false},
        {"<link rel='previous' href='a'/><link rel='current' href='f'/><link rel='next' href='n'/>",
         NULL, false},
        {"<fh:complete/><link rel='prev-archive' href='a'/>", NULL, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed_history h;

        history_read(parsed(&a, rows[i].head), false, &h);
        assert_int_equal(rows[i].complete, h.complete);
        assert_false(h.metadata);
        if (rows[i].older == NULL)
            assert_true(str_is_null(h.older));
        else
            assert_true(str_eq(h.older, str_from(rows[i].older)));
    }
}

#define ENTRY(id, second, rest)                                                                    \
    "<entry><id>urn:x:" id "</id><title>" second "</title><updated>2020-01-01T00:00:" second       \
    "Z</updated>" rest "</entry>"
#define FORM "<link rel='alternate' type='text/html' href='h'/>"
#define BLANK "<content/>"

/* PMHC-04 PMHC-05 PMHC-06 PMHC-08: what is kept, as "titles" and number of tombstones */
static void test_history__settle(void **state UNUSED)
{
    static const struct {
        const char *entries, *titles;
        bool metadata;
        size_t n_tombstones;
    } rows[] = {
        {ENTRY("a", "01", FORM) ENTRY("a", "02", FORM), "02", true, 0},
        {ENTRY("a", "02.5", FORM) ENTRY("a", "02.25", FORM), "02.5", true, 0},
        {ENTRY("a", "02", FORM "<summary>first</summary>") ENTRY("a", "02", FORM), "02", true, 0},
        {ENTRY("a", "01", FORM) ENTRY("b", "02", FORM), "01 02", true, 0},
        {ENTRY("a", "01", FORM) ENTRY("a", "02", BLANK), "", true, 1},
        {ENTRY("a", "03", FORM) ENTRY("a", "02", BLANK), "03", true, 0},
        {ENTRY("a", "03", FORM "<content>c</content>") ENTRY("b", "02", BLANK), "03 02", false, 0},
        {ENTRY("a", "03", FORM "<summary>s</summary>"), "03", false, 0},
        {"<link rel='prev-archive' href='a'/>" ENTRY("b", "02", BLANK), "", true, 1},
        {ENTRY("b", "02", "<content> </content>" FORM), "02", false, 0},
        {"<entry><id>urn:x:a</id><title>1</title>" FORM "</entry>"
         "<entry><id>urn:x:a</id><title>2</title>" FORM "</entry>",
         "1 2", true, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed_doc *doc = parsed(&a, rows[i].entries);
        struct str titles = STR("");
        struct feed_history h;

        history_read(doc, false, &h);
        assert_int_equal(rows[i].metadata, h.metadata);
        history_settle(&a, doc, h.metadata);
        for (size_t k = 0; k < doc->n_entries; k++)
            titles = str_printf(&a, "%.*s%s%.*s", STR_ARG(titles), k == 0 ? "" : " ",
                                STR_ARG(doc->entries[k].title));
        assert_true(str_eq(titles, str_from(rows[i].titles)));
        assert_int_equal(rows[i].n_tombstones, doc->n_tombstones);
    }
}

/* PMHC-02: the span that a document covers */
static void test_history__span(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_history h;

    history_read(parsed(&a, ENTRY("a", "09", FORM) ENTRY("a", "04", FORM) ENTRY("b", "05", BLANK)),
                 false, &h);
    assert_int_equal(5, h.newest - h.oldest);
    history_read(parsed(&a, ""), false, &h);
    assert_true(h.oldest == TIME_UNKNOWN && h.newest == TIME_UNKNOWN);
}

#define UNDATED(id) "<entry><id>urn:x:" id "</id><title>u</title></entry>"

/* Undated entries of the past stand where their document does, and never among the news. */
static void test_history__dates(void **state UNUSED)
{
    const int64_t minute = 1577836800; /* 2020-01-01 */
    static const struct {
        const char *inner;
        int64_t oldest, dates[4]; /* seconds of that minute */
    } rows[] = {
        {UNDATED("a") ENTRY("b", "30", "") UNDATED("c") ENTRY("d", "10", ""), 50, {30, 30, 30, 10}},
        {ENTRY("a", "30", "") ENTRY("b", "10", "") UNDATED("c") UNDATED("d"), 50, {30, 10, 10, 10}},
        {"<updated>2020-01-01T00:00:20Z</updated>" UNDATED("a") UNDATED("b"), 50, {20, 20}},
        {UNDATED("a") UNDATED("b"), 50, {49, 49}},
        {"<updated>2020-01-01T01:59:00Z</updated>" UNDATED("a"), 50, {49}}, /* made now */
        {"<entry><id>a</id><updated>2031-01-01T00:00:00Z</updated></entry>" UNDATED("b"),
         50,
         {7200, 7200}},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        const struct feed_doc *doc = parsed(&a, rows[i].inner);
        const int64_t *dates = history_dates(&a, doc, minute + rows[i].oldest, minute + 7200);

        for (size_t k = 0; k < doc->n_entries; k++)
            assert_int_equal(dates[k] - minute, rows[i].dates[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history__older),
        cmocka_unit_test(test_history__settle),
        cmocka_unit_test(test_history__span),
        cmocka_unit_test(test_history__dates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
