/* tests/unit/api/test_forms.c - what a revision becomes in each protocol, and which links a page of
 * the log carries. */
#include "../cmocka_all.h"

#include "api/views/forms.h"
#include "base/compiler.h"

#define LOG "0f1e2d3c-1111-4222-8333-444455556666"
#define US INT64_C(1000000)

static struct arena arena;
static const struct out_feed feed = {
    .url = {"http://h.example/f", 18}, .id_url = {"http://h.example/f", 18}, .ext = {"", 0}};

/* ---- entries ---- */

/* A revision of 2020-09-13; its publisher's date is a day older. */
static struct revision revision(enum revision_kind kind, int64_t first_seq, int64_t seq)
{
    return (struct revision){.seq = seq,
                             .first_seq = first_seq,
                             .last_seq = seq,
                             .gone = kind == REV_DELETED,
                             .at_us = 1600000000 * US + 123456,
                             .feed_id = 1,
                             .kind = kind,
                             .uid = STR("urn:x:1"),
                             .id_url = STR_NULL,
                             .sort_at = 1599913600,
                             .published_at = TIME_UNKNOWN,
                             .updated_at = 1599913600,
                             .title = STR("t"),
                             .doc = STR("{}"),
                             .ext = STR("")};
}

/* D14, D18: one form of deletion a protocol; events and metadata records have our times. */
static void test_forms__kinds_and_times(void **state UNUSED)
{
    static const struct {
        enum form form;
        enum revision_kind kind;
        enum out_kind wanted;
        bool has_our_time, is_stream;
    } rows[] = {
        {FORM_NEWEST, REV_NEW, OUT_ENTRY, false, false},
        {FORM_EVENTS, REV_NEW, OUT_ENTRY, false, false},
        {FORM_EVENTS, REV_DELETED, OUT_EMPTY, false, false},
        {FORM_ARCHIVE, REV_CHANGED, OUT_ENTRY, false, false},
        {FORM_ARCHIVE, REV_DELETED, OUT_TOMBSTONE, true, false},
        {FORM_HISTORY, REV_CHANGED, OUT_ENTRY, false, false},
        {FORM_HISTORY, REV_DELETED, OUT_TOMBSTONE, true, false},
        {FORM_METADATA, REV_NEW, OUT_METADATA, true, false},
        {FORM_METADATA, REV_DELETED, OUT_EMPTY, true, false},
        {FORM_STREAM, REV_CHANGED, OUT_ENTRY, false, true},
        {FORM_STREAM, REV_DELETED, OUT_EMPTY, false, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct revision rev = revision(rows[i].kind, 7, 7);
        struct out_entry out;

        form_entry(rows[i].form, &arena, &rev, &feed, STR(LOG), &out);
        if (out.kind != rows[i].wanted || out.at_us != (rows[i].has_our_time ? rev.at_us : 0) ||
            out.changed_at != (rows[i].is_stream ? 1600000000 : 0))
            fail_msg("row %zu: kind %d, at %lld, changed %lld", i, (int)out.kind,
                     (long long)out.at_us, (long long)out.changed_at);
        assert_str(out.uid, "urn:x:1");
        assert_int_equal(1600000000, out.received_at);
        assert_int_equal(1599913600, out.updated_at);
    }
}

/* D10: only Simplefeed gives later revisions an id of their own, which leads to the entry. */
static void test_forms__ids_of_events(void **state UNUSED)
{
    struct revision first = revision(REV_NEW, 7, 7), later = revision(REV_CHANGED, 7, 9);
    struct revision latest = revision(REV_CHANGED, 7, 10);
    struct out_entry out, again, other;

    form_entry(FORM_EVENTS, &arena, &first, &feed, STR(LOG), &out);
    assert_true(str_is_null(out.id));
    assert_int_equal(0, out.n_links);
    form_entry(FORM_EVENTS, &arena, &later, &feed, STR(LOG), &out);
    assert_true(str_starts(out.id, STR("urn:uuid:")));
    assert_int_equal(1, out.n_links);
    assert_str(out.links[0].rel, "related");
    assert_str(out.links[0].href, "urn:x:1");
    form_entry(FORM_EVENTS, &arena, &later, &feed, STR(LOG), &again);
    form_entry(FORM_EVENTS, &arena, &latest, &feed, STR(LOG), &other);
    assert_true(str_eq(out.id, again.id)); /* it is stable */
    assert_false(str_eq(out.id, other.id));
    form_entry(FORM_EVENTS, &arena, &later, &feed, STR("another log"), &other);
    assert_false(str_eq(out.id, other.id));
    for (enum form form = FORM_NEWEST; form < FORM_COUNT_; form++) {
        form_entry(form, &arena, &later, &feed, STR(LOG), &out);
        assert_true(form == FORM_EVENTS || str_is_null(out.id));
    }
}

/* RFC 6721 section 3: entries are measured against the time of a tombstone. */
static void test_forms__a_tombstone_has_the_later_time(void **state UNUSED)
{
    struct revision rev = revision(REV_DELETED, 7, 9);
    struct out_entry out;

    rev.updated_at = 1600000500; /* the publisher says: later than we saw it */
    form_entry(FORM_ARCHIVE, &arena, &rev, &feed, STR(LOG), &out);
    assert_int_equal(1600000500 * US + rev.seq, out.at_us); /* and later than those of the same date before it (D54) */
    rev.updated_at = TIME_UNKNOWN;
    form_entry(FORM_ARCHIVE, &arena, &rev, &feed, STR(LOG), &out);
    assert_int_equal(rev.at_us, out.at_us);
}

/* SMART-29: ids are unique in a stream, and an id that is made of the feed's URL is already. */
static void test_forms__ids_of_items(void **state UNUSED)
{
    struct feed a = {.id = 1, .id_url = STR("http://a.example/f"), .access_key = STR_NULL};
    struct feed b = {.id = 2, .id_url = STR("http://b.example/f"), .access_key = STR_NULL};
    struct revision rev = revision(REV_NEW, 7, 7);
    struct str own, other;

    assert_str(form_item_id(&arena, &rev, &a, false), "urn:x:1");
    own = form_item_id(&arena, &rev, &a, true);
    other = form_item_id(&arena, &rev, &b, true);
    assert_true(str_starts(own, STR("urn:uuid:")));
    assert_false(str_eq(own, other));
    rev.uid = STR("not an IRI");
    own = form_item_id(&arena, &rev, &a, false);
    assert_true(str_starts(own, STR("urn:uuid:")));
    assert_true(str_eq(own, form_item_id(&arena, &rev, &a, true)));
}

/* ---- pages ---- */

/* Rows are given newest first; what is kept is told by seq. */
static void assert_newest(struct revision *rows, size_t n, const int64_t *kept, size_t n_kept)
{
    assert_int_equal(n_kept, form_newest_versions(&arena, rows, n));
    for (size_t i = 0; i < n_kept; i++)
        assert_int_equal(kept[i], rows[i].seq);
}

static void test_forms__the_newest_version_stands_for_all(void **state UNUSED)
{
    struct revision edits[] = {revision(REV_CHANGED, 1, 9), revision(REV_NEW, 8, 8),
                               revision(REV_CHANGED, 1, 7), revision(REV_NEW, 1, 1)};
    struct revision deleted[] = {revision(REV_CHANGED, 1, 9), revision(REV_DELETED, 1, 8),
                                 revision(REV_NEW, 1, 7)};
    struct revision twins[] = {revision(REV_NEW, 9, 9), revision(REV_NEW, 8, 8)};

    edits[1].uid = STR("urn:x:2");
    assert_newest(edits, 4, (int64_t[]){9, 8}, 2);
    assert_newest(deleted, 3, (int64_t[]){9, 8}, 2); /* a deletion stays */

    twins[1].feed_id =
        2; /* two feeds have the same entry: the one with the later date stays, too */
    assert_newest(twins, 2, (int64_t[]){9}, 1);
    twins[1] = revision(REV_NEW, 8, 8);
    twins[1].feed_id = 2;
    twins[1].updated_at++;
    assert_newest(twins, 2, (int64_t[]){9, 8}, 2);
    twins[1].updated_at--;
    twins[0].uid = twins[1].uid = STR("not an IRI"); /* it says nothing outside its feed */
    assert_newest(twins, 2, (int64_t[]){9, 8}, 2);
}

struct page_case {
    enum form form;
    int64_t n, n_pages;
    bool by_entry;
    bool settled, archive;
    const char *links; /* "rel page" each, in order */
};

/* A log of two sealed pages and a third that grows, in pages of 50; and a log of one page. D11,
 * D12. */
static const struct page_case pages[] = {
    {FORM_EVENTS, 2, 3, true, false, false, "via 2;prev-archive 1;"},
    {FORM_EVENTS, 2, 3, false, false, false, "prev-archive 1;"},
    {FORM_EVENTS, 1, 3, false, true, true, "current entry;prev-archive 0;next-archive 2;"},
    {FORM_EVENTS, 0, 3, false, true, true, "current entry;next-archive 1;"},
    {FORM_EVENTS, 0, 1, true, false, false, "via 0;"},
    {FORM_ARCHIVE, 2, 3, true, false, false, "prev-archive 1;"},
    {FORM_ARCHIVE, 1, 3, false, false, true, "current entry;prev-archive 0;"},
    {FORM_ARCHIVE, 0, 3, false, true, true, "current entry;next-archive 1;"},
    {FORM_ARCHIVE, 0, 1, true, false, false, ""},
    {FORM_METADATA, 2, 3, true, false, false, "current entry;prev-archive 1;"},
    {FORM_METADATA, 1, 3, false, false, true, "current entry;prev-archive 0;"},
    {FORM_METADATA, 0, 3, false, true, true, "current entry;next-archive 1;"},
    {FORM_HISTORY, 2, 3, true, false, false, "this 2-7;prev 1-50;"},
    {FORM_HISTORY, 2, 3, false, true, false, "this 2-7;prev 1-50;"},
    {FORM_HISTORY, 1, 3, false, true, false, "this 1-50;prev 0-50;"},
    {FORM_HISTORY, 0, 1, true, false, false, "this 0-7;"},
};

static struct form_page page_of(const struct page_case *c)
{
    bool is_last = c->n + 1 == c->n_pages;

    return (struct form_page){.n = c->n,
                              .n_pages = c->n_pages,
                              .rows = is_last ? 7 : 50,
                              .shown = is_last ? 7 : 50,
                              .by_entry = c->by_entry,
                              .is_page = true,
                              .reaches_back = true,
                              .base = STR("http://h/x/"),
                              .entry = STR("entry"),
                              .suffix = "",
                              .media_type = "application/atom+xml"};
}

static struct str links_of(enum form form, const struct form_page *page)
{
    struct out_link *links;
    size_t n = form_links(form, &arena, page, 50, &links);
    struct str out = STR("");

    assert_in_range(n, 0, 4);
    for (size_t i = 0; i < n; i++) {
        struct str href = links[i].href;

        if (str_starts(href, page->base))
            href = str_slice(href, page->base.len, href.len);
        assert_str(links[i].type, page->media_type);
        out = str_printf(&arena, "%.*s%.*s %.*s;", STR_ARG(out), STR_ARG(links[i].rel),
                         STR_ARG(href));
    }
    return out;
}

static void test_forms__pages_and_their_links(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        const struct page_case *c = &pages[i];
        struct form_page page = page_of(c);
        struct str links = links_of(c->form, &page);

        if (!str_eqz(links, c->links) || form_page_is_settled(c->form, &page) != c->settled ||
            form_page_is_archive(c->form, &page) != c->archive)
            fail_msg("row %zu: settled %d, archive %d, links \"%.*s\", wanted \"%s\"", i,
                     form_page_is_settled(c->form, &page), form_page_is_archive(c->form, &page),
                     STR_ARG(links), c->links);
    }
}

/* HUB-34: a delivery that has not all of its page does not lead back, and is not the page. */
static void test_forms__deliveries_lead_back_only_where_nothing_is_left_out(void **state UNUSED)
{
    static const enum form forms[] = {FORM_EVENTS, FORM_ARCHIVE, FORM_HISTORY, FORM_METADATA};

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct page_case c = {.form = forms[i], .n = 2, .n_pages = 3, .by_entry = true};
        struct form_page page = page_of(&c);

        page.is_page = page.reaches_back = false;
        assert_str(links_of(forms[i], &page),
                   form_has(forms[i], FORM_NAMES_ITSELF) ? "current entry;" : "");
    }
}

static void test_forms__urls_of_pages(void **state UNUSED)
{
    struct page_case c = {.form = FORM_ARCHIVE, .n = 2, .n_pages = 3};
    struct form_page page = page_of(&c);

    assert_str(form_page_url(FORM_ARCHIVE, &arena, &page, 1, 50), "http://h/x/1");
    assert_str(form_page_url(FORM_HISTORY, &arena, &page, 1, 50), "http://h/x/1-50");
    page.suffix = ".rss";
    assert_str(form_page_url(FORM_ARCHIVE, &arena, &page, 0, 50), "http://h/x/0.rss");
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

/* A form is found by its path and by what is below it. */
static void test_forms__paths(void **state UNUSED)
{
    static const struct {
        const char *path;
        int form; /* -1: none */
    } rows[] = {{"/simple/recent", FORM_EVENTS},
                {"/simple/word/3.rss", FORM_EVENTS},
                {"/archive", FORM_ARCHIVE},
                {"/archive/", FORM_ARCHIVE},
                {"/history/word/0-2", FORM_HISTORY},
                {"/pmh", FORM_METADATA},
                {"/archives", -1},
                {"/feed", -1},
                {"/smart", -1},
                {"", -1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum form form;
        int got = form_of_path(str_from(rows[i].path), &form) ? (int)form : -1;

        if (got != rows[i].form)
            fail_msg("%s: %d", rows[i].path, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms__paths),
        cmocka_unit_test(test_forms__kinds_and_times),
        cmocka_unit_test(test_forms__ids_of_events),
        cmocka_unit_test(test_forms__a_tombstone_has_the_later_time),
        cmocka_unit_test(test_forms__ids_of_items),
        cmocka_unit_test(test_forms__the_newest_version_stands_for_all),
        cmocka_unit_test(test_forms__pages_and_their_links),
        cmocka_unit_test(test_forms__deliveries_lead_back_only_where_nothing_is_left_out),
        cmocka_unit_test(test_forms__urls_of_pages),
    };

    return cmocka_run_group_tests_name("forms", tests, NULL, release);
}
