/* tests/unit/feed/test_lists.c - feed/lists: OPML, discovery, change logs. */
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "feed/lists/changes.h"
#include "feed/lists/discover.h"
#include "feed/lists/opml.h"
#include "feed/lists/opml_parts.h"
#include "tests/unit/cmocka_all.h"

static struct opml read_list(struct arena *a, const char *text)
{
    struct opml list;
    struct err err = ERR_INIT;

    assert_int_equal(opml_read(a, str_from(text), STR_NULL, &list, &err), RC_OK);
    return list;
}

/* OPML-05 */
static void test_opml__reads_nested_outlines_in_any_case(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct opml l = read_list(
        &a, "<?xml version=\"1.0\"?><opml version=\"1.0\"><head><title>T &amp; U</title></head>"
            "<body><outline text=\"A\" title=\"AA\"><outline text=\"B\">"
            "<outline text=\"x\" XMLURL=\" http://h/x?a=1&amp;b=2 \" htmlUrl=\"http://h/\"/>"
            "</outline><outline title=\"y\" xmlurl=\"http://h/y\"/></outline>"
            "<outline xmlUrl=\"\" text=\"none\"/></body></opml>");

    assert_false(l.bozo);
    assert_true(str_eqz(l.title, "T & U"));
    assert_int_equal(l.n_feeds, 2);
    assert_true(str_eqz(l.feeds[0].xml_url, "http://h/x?a=1&b=2"));
    assert_true(str_eqz(l.feeds[0].title, "x"));
    assert_int_equal(l.feeds[0].n_folders, 2);
    assert_true(str_eqz(l.feeds[0].folders[0], "AA"));
    assert_true(str_eqz(l.feeds[0].folders[1], "B"));
    assert_int_equal(l.feeds[1].n_folders, 1);
    assert_true(str_is_null(l.feeds[1].html_url));
    assert_true(str_is_null(l.feeds[0].freq) && str_is_null(l.feeds[0].category));
    arena_release(&a);
}

/* OPML-07, OPML-08, OPML-06 */
static void test_opml__leaves_out_comments_and_maps_feed_scheme(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct opml l = read_list(
        &a, "<opml><body><outline isComment=\"TRUE\" text=\"c\"><outline xmlUrl=\"http://h/no\"/>"
            "</outline><outline xmlUrl=\"feed:http://h/1\"/><outline xmlUrl=\"feed://h/2\"/>"
            "<outline xmlUrl=\"feed:feed: http://h/3\"/><outline xmlUrl=\"feed:\"/>"
            "<outline type=\"include\" url=\"http://h/more\"/>"
            "<outline type=\"link\" url=\"http://h/a.opml\"/>"
            "<outline type=\"link\" url=\"http://h/page\"/></body></opml>");

    assert_int_equal(l.n_feeds, 3);
    assert_true(str_eqz(l.feeds[0].xml_url, "http://h/1"));
    assert_true(str_eqz(l.feeds[1].xml_url, "http://h/2"));
    assert_true(str_eqz(l.feeds[2].xml_url, "http://h/3"));
    assert_int_equal(l.n_includes, 2);
    assert_true(str_eqz(l.includes[1].url, "http://h/a.opml"));
    assert_int_equal(l.includes[1].before, 3);
    arena_release(&a);
}

static void test_opml__mends_broken_xml(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct opml l = read_list(&a, "<opml><body><outline text=\"F\">"
                                  "<outline xmlUrl=\"http://h/1?a&b=2\" text='R&D'>"
                                  "<outline xmlUrl=http://h/2 text=\"a < b\"></body>");

    assert_true(l.bozo);
    assert_int_equal(l.n_feeds, 2);
    assert_true(str_eqz(l.feeds[0].xml_url, "http://h/1?a&b=2"));
    assert_true(str_eqz(l.feeds[0].title, "R&D"));
    assert_true(str_eqz(l.feeds[1].xml_url, "http://h/2"));
    arena_release(&a);
}

static void test_opml__says_what_it_is_instead(void **state UNUSED)
{
    static const struct {
        const char *body, *what;
    } cases[] = {{"<!DOCTYPE html><html>", "HTML"},
                 {"<rss version=\"2.0\">", "feed"},
                 {"{}", "JSON"},
                 {"", "empty"},
                 {"hello", "plain text"},
                 {"<x/>", "another"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct opml l;
        assert_int_equal(opml_read(&a, str_from(cases[i].body), STR_NULL, &l, &err), RC_INPUT);
        assert_non_null(strstr(err.text, cases[i].what));
        arena_release(&a);
    }
}

/* OPML-10 */
static void test_opml__number_and_depth_are_bounded(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct buf b = BUF_INIT(BUF_ANY);
    struct opml l;

    buf_puts(&b, "<opml>");
    for (int i = 0; i < LIMIT_OPML_OUTLINES; i++)
        buf_puts(&b, "<outline xmlUrl=\"http://h/\"/>");
    assert_int_equal(opml_read(&a, buf_view(&b), STR_NULL, &l, NULL), RC_OK);
    assert_int_equal(l.n_feeds, LIMIT_OPML_OUTLINES);
    buf_puts(&b, "<outline/>");
    assert_int_equal(opml_read(&a, buf_view(&b), STR_NULL, &l, NULL), RC_LIMIT);
    buf_reset(&b);
    buf_puts(&b, "<opml>");
    for (int i = 0; i <= LIMIT_OPML_DEPTH; i++)
        buf_puts(&b, "<outline text=\"x\">");
    assert_int_equal(opml_read(&a, buf_view(&b), STR_NULL, &l, NULL), RC_LIMIT);
    buf_release(&b);
    arena_release(&a);
}

/* OPML-01, OPML-02, OPML-03, OPML-04 */
static void test_opml__writes_what_it_reads(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct buf b = BUF_INIT(BUF_ANY);
    struct str folders[] = {STR("F & G"), STR("H")};
    struct opml_feed feeds[] = {
        {.xml_url = STR("http://h/?a=1&b"),
         .title = STR("A & \"B\" <c>"),
         .folders = folders,
         .n_folders = 2,
         .category = STR("a,/b/c"),
         .freq = STR("2"),
         .sanitize = STR("no")},
        {.xml_url = STR("http://h/2"), .folders = folders, .n_folders = 1, .freq = STR("90")},
        {.xml_url = STR("http://h/3"), .html_url = STR("http://h/")}};
    struct opml list = {.title = STR("T"), .feeds = feeds, .n_feeds = 3}, l;

    opml_write(&b, &list, TIME_UNKNOWN,
               TIME_UNKNOWN); /* OPML-03: no date rather than a wrong one */
    assert_null(strstr(b.ptr, "<date"));
    buf_reset(&b);
    opml_write(&b, &list, 0, 86400);
    assert_non_null(strstr(b.ptr, "<opml version=\"2.0\""));
    assert_non_null(strstr(b.ptr, "<dateCreated>Thu, 01 Jan 1970 00:00:00 GMT</dateCreated>"));
    assert_non_null(strstr(b.ptr, "<dateModified>Fri, 02 Jan 1970 00:00:00 GMT</dateModified>"));
    assert_non_null(strstr(b.ptr, "title=\"A &amp; &quot;B&quot; &lt;c&gt;\""));
    l = read_list(&a, b.ptr);
    assert_false(l.bozo);
    assert_int_equal(l.n_feeds, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(str_eq(l.feeds[i].xml_url, feeds[i].xml_url));
        assert_int_equal(l.feeds[i].n_folders, feeds[i].n_folders);
        assert_true(str_eq(l.feeds[i].freq, feeds[i].freq));
        assert_true(str_eq(l.feeds[i].sanitize, feeds[i].sanitize));
        assert_true(str_eq(l.feeds[i].category, feeds[i].category));
    }
    assert_true(str_eq(l.feeds[0].title, feeds[0].title));
    assert_true(str_eq(l.feeds[0].folders[0], folders[0]));
    assert_true(str_eqz(l.feeds[1].title, "http://h/2"));
    buf_release(&b);
    arena_release(&a);
}

/* Our own attributes count by their namespace; other ones are passed over. */
static void test_opml__own_attributes_by_namespace(void **state UNUSED)
{
    static const struct {
        const char *root, *attrs, *freq;
    } rows[] = {
        {"", "feedmill:freq='2'", "2"},
        {"xmlns:feedmill='" OPML_NS "'", "feedmill:freq='2' feedmill:color='red'", "2"},
        {"xmlns:fm='" OPML_NS "'", "fm:freq=' 90 '", "90"},
        {"xmlns:fm='" OPML_NS "'", "xmlns:fm='urn:other' fm:freq='2'", NULL},
        {"xmlns:feedmill='urn:other'", "feedmill:freq='2'", NULL},
        {"", "xmlns:x='" OPML_NS "' X:FREQ='1'", "1"},
        {"", "freq='2' other:freq='1' :freq='0' frss:freq='3'", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a = ARENA_INIT;
        struct opml l = read_list(
            &a, arena_printf(&a, "<opml %s><body><outline xmlUrl='http://h/' %s/></body></opml>",
                             rows[i].root, rows[i].attrs));

        assert_true(rows[i].freq == NULL ? str_is_null(l.feeds[0].freq)
                                         : str_eqz(l.feeds[0].freq, rows[i].freq));
        arena_release(&a);
    }
}

/* Feeds of one folder stand together, where its first one was; the rest keeps its order. */
static void test_opml__grouping_opens_each_folder_once(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct buf b = BUF_INIT(BUF_ANY), again = BUF_INIT(BUF_ANY);
    struct str ab[] = {STR("A"), STR("B")}, c[] = {STR("C")};
    struct opml_feed feeds[] = {
        {.xml_url = STR("http://h/1")},
        {.xml_url = STR("http://h/2"), .folders = ab, .n_folders = 1},
        {.xml_url = STR("http://h/6"), .folders = c, .n_folders = 1},
        {.xml_url = STR("http://h/8")},
        {.xml_url = STR("http://h/3"), .folders = ab, .n_folders = 2},
        {.xml_url = STR("http://h/7"), .folders = c, .n_folders = 1},
        {.xml_url = STR("http://h/5"), .folders = ab, .n_folders = 1},
        {.xml_url = STR("http://h/4"), .folders = ab, .n_folders = 2},
    };
    struct opml list = {.feeds = feeds, .n_feeds = ARRAY_LEN(feeds)}, l;
    static const char *const order = "12345678";

    /* 5 is in A itself and came after 3 made the folder B: B stands before it */
    opml_group(&a, &list);
    opml_write(&b, &list, 0, 0);
    l = read_list(&a, b.ptr);
    assert_int_equal(l.n_feeds, ARRAY_LEN(feeds));
    for (size_t i = 0; i < l.n_feeds; i++)
        assert_int_equal(l.feeds[i].xml_url.ptr[9], order[i]);
    assert_int_equal(l.n_outlines, ARRAY_LEN(feeds) + 3);
    opml_group(&a, &l);
    opml_write(&again, &l, 0, 0);
    assert_true(str_eq(buf_view(&b), buf_view(&again)));
    buf_release(&b);
    buf_release(&again);
    arena_release(&a);
}

/* CLI-03: what the parts have together is what the list had, in its order. */
static void test_opml__parts_have_what_the_list_had(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    static const char *const text =
        "<opml version='2.0' xmlns:feedmill='urn:feedmill:opml'><head><title>T</title></head><body>"
        "<outline text='A &amp; B'><outline text='C'><outline text='1' xmlUrl='http://h/1'/>"
        "<outline text='2' title='two' category='x' feedmill:freq='2' xmlUrl='http://h/2'/>"
        "<outline type='include' url='http://h/more.opml'/></outline>"
        "<outline text='3' xmlUrl='http://h/3'/></outline><outline text='4' xmlUrl='http://h/4'/>"
        "<outline text='5' xmlUrl='http://h/5'/></body></opml>";
    static const size_t n_feeds[] = {2, 3}, numbers[] = {3, 4, 6, 7, 8};
    struct opml whole = read_list(&a, text);
    struct opml_part *parts;
    size_t n = 0, at = 0, n_includes = 0;

    assert_int_equal(opml_cut(&a, str_from(text), 4, &parts, &n, NULL), RC_OK);
    assert_int_equal(n, ARRAY_LEN(n_feeds));
    for (size_t i = 0; i < n; i++) {
        struct opml l = read_list(&a, str_z(&a, parts[i].text));

        assert_int_equal(l.n_feeds, n_feeds[i]);
        assert_int_equal(parts[i].n_feeds, n_feeds[i]);
        assert_int_equal(parts[i].n_outlines, l.n_outlines);
        assert_true(str_eqz(l.title, "T"));
        n_includes += l.n_includes;
        for (size_t k = 0; k < l.n_feeds; k++, at++) {
            const struct opml_feed *f = &l.feeds[k], *was = &whole.feeds[at];

            assert_true(str_eq(f->xml_url, was->xml_url) && str_eq(f->text, was->text));
            assert_true(str_eq(f->category, was->category) && str_eq(f->freq, was->freq));
            assert_int_equal(f->n_folders, was->n_folders);
            assert_int_equal(opml_shared_folders(f, was), was->n_folders);
            assert_int_equal(parts[i].outline_no[f->outline_no], numbers[at]);
        }
    }
    assert_int_equal(at, 5);
    assert_int_equal(n_includes, 1);
    arena_release(&a);
}

/* OPML-06: where the feeds of an included list belong. */
static void test_opml__includes_are_numbered(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct opml l = read_list(
        &a, "<opml><body><outline text='F'><outline xmlUrl='http://h/1'/>"
            "<outline type='Include' url='more.OPML'/></outline><outline xmlUrl='http://h/2'/>"
            "<outline type='link' url='http://h/x.Opml?a=1#b'/>"
            "<outline type='link' url='http://h/p?x=.opml'/><outline type='include'/>"
            "<outline isComment='true'><outline type='include' url='no.opml'/></outline>"
            "</body></opml>");

    assert_int_equal(l.n_includes, 2);
    assert_true(str_eqz(l.includes[0].url, "more.OPML"));
    assert_int_equal(l.includes[0].before, 1);
    assert_int_equal(l.includes[0].n_folders, 1);
    assert_true(str_eqz(l.includes[0].folders[0], "F"));
    assert_int_equal(l.includes[0].outline_no, 3);
    assert_int_equal(l.includes[1].before, 2);
    assert_int_equal(l.includes[1].n_folders, 0);
    arena_release(&a);
}

static void expect_found(const char *html, size_t n, const char *first, const char *type)
{
    struct arena a = ARENA_INIT;
    struct discovery d;

    discover_page(&a, str_from(html), STR("http://h/d/p.html"), STR_NULL, &d);
    assert_int_equal(d.n_feeds, n);
    if (n > 0) {
        assert_true(str_eqz(d.feeds[0].href, first));
        assert_true(str_eqz(d.feeds[0].type, type));
    }
    arena_release(&a);
}

/* DISC-01, DISC-02 */
static void test_discover__knows_the_feed_types(void **state UNUSED)
{
    static const char *const types[] = {"application/rss+xml", "application/atom+xml",
                                        "application/rdf+xml", "application/feed+json",
                                        "text/rss+xml",        "application/x-atom+xml"};
    char html[200];

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        snprintf(html, sizeof html, "<link rel=alternate type='%s; charset=x' href=f>", types[i]);
        expect_found(html, 1, "http://h/d/f", types[i]);
    }
    expect_found("<link rel=alternate type=text/html href=f>", 0, NULL, NULL);
    expect_found("<link rel=alternate type=application/json+oembed href=f>", 0, NULL, NULL);
    expect_found("<link rel=feed href=f>", 1, "http://h/d/f", NULL);
    expect_found("<link rel=stylesheet type=application/rss+xml href=f>", 0, NULL, NULL);
}

/* DISC-03, DISC-04 */
static void test_discover__resolves_by_base_and_decodes(void **state UNUSED)
{
    expect_found("<base href=\"/deep/\"><link rel=alternate type=application/rss+xml "
                 "href=\"f.xml?a=1&amp;b=2\">",
                 1, "http://h/deep/f.xml?a=1&b=2", "application/rss+xml");
    expect_found("<LINK TYPE='Application/RSS+xml' HREF=x REL=\"feed ALTERNATE\">", 1,
                 "http://h/d/x", "application/rss+xml");
    expect_found("<link rel=alternate type=text/rss+xml href=x><base href=/b/><base href=/c/>", 1,
                 "http://h/b/x", "text/rss+xml");
}

/* DISC-03: the HTML standard, section 4.2.3 */
static void test_discover__scripts_and_data_are_no_base(void **state UNUSED)
{
    static const char *const bases[] = {"javascript:x", " JavaScript:/x/", "data:text/html,x",
                                        "data:image/png,/x/"};
    char html[200];

    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        snprintf(html, sizeof html,
                 "<base href='%s'><base href=/c/><link rel=alternate type=text/rss+xml href=x>",
                 bases[i]);
        expect_found(html, 1, "http://h/d/x", "text/rss+xml");
    }
}

/* DISC-03, DISC-05: what cannot be fetched is left out, announced or guessed */
static void test_discover__leaves_out_what_cannot_be_fetched(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct discovery d;

#define ANY "<link rel=alternate type=application/rss+xml href='"
    expect_found(ANY "javascript:alert(1)'>" ANY "java\nscript:alert(1)'>" ANY
                     "data:text/xml,x'>" ANY "mailto:a@h'>" ANY "file:///etc/passwd'>" ANY
                     "ftp://h/f'>" ANY "HTTPS://h/f'>",
                 1, "HTTPS://h/f", "application/rss+xml");
    expect_found(ANY "feed://h/f'>", 1, "feed://h/f", "application/rss+xml");
    discover_page(&a, STR("<a rel=feed href=javascript:x>x</a><a rel=feed href=f>f</a>"), STR(""),
                  STR_NULL, &d);
    assert_int_equal(d.n_guesses, 1);
    assert_true(str_eqz(d.guesses[0].href, "f")); /* the URL of the page is not known */
}

/* DISC-05 */
static void test_discover__ignores_comments_and_scripts(void **state UNUSED)
{
#define DECOY "<link rel=alternate type=application/rss+xml href=decoy>"
    expect_found("<!-- " DECOY " --><script>'" DECOY "'</script><style>" DECOY "</style>"
                 "<textarea>" DECOY "</textarea><p title='" DECOY "'>"
                 "<link rel=alternate type=application/atom+xml href=real>" DECOY,
                 2, "http://h/d/real", "application/atom+xml");
}

static void test_discover__drops_doubles(void **state UNUSED)
{
    expect_found(DECOY "<link rel=alternate type=text/rss+xml href=../d/decoy>", 1,
                 "http://h/d/decoy", "application/rss+xml");
    expect_found("<p>nothing</p>", 0, NULL, NULL);
}

static void test_discover__reads_the_charset_of_the_page(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct discovery d;

    discover_page(&a,
                  STR("<meta charset=iso-8859-1><link rel=alternate href=f "
                      "type=text/rss+xml title='caf\xE9'>"),
                  STR("http://h/"), STR("text/html"), &d);
    assert_int_equal(d.n_feeds, 1);
    assert_true(str_eqz(d.feeds[0].title, "caf\xC3\xA9"));
    arena_release(&a);
}

/* SUBR-101: hubs and self of a page stand in its head, and are relative to its base */
static void test_discover__hubs_of_the_head(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct discovery d;

    discover_page(&a,
                  STR("<head><link rel='HUB nofollow' href=/hub><link rel=hub href=https://b/>"
                      "<link rel=self href='?a&amp;b'><link rel=self href=second>"
                      "<base href=http://c/x/></head><link rel=hub href=http://late/>"
                      "<body><link rel=self href=http://late/>"),
                  STR("http://h/"), STR("text/html"), &d);
    assert_int_equal(d.n_hubs, 2);
    assert_true(str_eqz(d.hubs[0], "http://c/hub"));
    assert_true(str_eqz(d.hubs[1], "https://b/"));
    assert_true(str_eqz(d.self, "http://c/x/?a&b"));
    discover_page(&a, STR("<p><body><link rel=hub href=http://late/>"), STR("http://h/"), STR_NULL,
                  &d);
    assert_int_equal(d.n_hubs, 0);
    assert_true(str_is_null(d.self));
    arena_release(&a);
}

/* What is tried, in its order: announced feeds when there are any, else guesses. */
static void expect_order(const char *html, const char *hrefs)
{
    struct arena a = ARENA_INIT;
    struct buf b = BUF_INIT(BUF_ANY);
    struct discovery d;
    struct discovered_feed *list;
    size_t n;

    discover_page(&a, str_from(html), STR("http://www.h.org/d/p.html"), STR_NULL, &d);
    list = d.n_feeds > 0 ? d.feeds : d.guesses;
    n = d.n_feeds > 0 ? d.n_feeds : d.n_guesses;
    discover_order(STR("http://www.h.org/d/p.html"), list, n);
    for (size_t i = 0; i < n; i++) {
        buf_puts(&b, i == 0 ? "" : " ");
        buf_str(&b, list[i].href);
    }
    buf_putc(&b, '\0');
    assert_string_equal(b.ptr, hrefs);
    buf_release(&b);
    arena_release(&a);
}

#define RSS "rel=alternate type=application/rss+xml "
#define ATOM "rel=alternate type=application/atom+xml "

/* DISC-05: the first of equals; comments and other sites come after. */
static void test_discover__order_of_announced_feeds(void **state UNUSED)
{
    expect_order("<link " RSS "href=/rss><link " ATOM "href=/atom>",
                 "http://www.h.org/rss http://www.h.org/atom");
    expect_order("<link " ATOM "href=/atom><link " RSS "href=/rss>",
                 "http://www.h.org/atom http://www.h.org/rss");
    expect_order("<link " RSS "href=/x title='T \xC2\xBB Comments Feed'><link " RSS
                 "href=/comments/feed/><link " RSS "href=/feed/>",
                 "http://www.h.org/feed/ http://www.h.org/x http://www.h.org/comments/feed/");
    expect_order("<link " RSS "href=http://o.org/f><link " RSS
                 "href=http://feeds.h.org/f><link " RSS "href=//H.ORG:81/f><link " RSS
                 "href=http://xh.org/f>",
                 "http://feeds.h.org/f http://H.ORG:81/f http://o.org/f http://xh.org/f");
    expect_order("<link " RSS "href=/comments><link " RSS "href=http://feeds.example/main>",
                 "http://feeds.example/main http://www.h.org/comments");
}

static void test_discover__guesses_when_nothing_is_announced(void **state UNUSED)
{
    expect_order(
        "<a href='feed/'>f</a><a type='application/rss+xml' href='http://o.org/m'>m</a>"
        "<link rel=service type=application/atomsvc+xml href=/svc>"
        "<link rel=service.post type=application/atom+xml href=/post>"
        "<link rel=service.feed type=application/atom+xml href=/sf>"
        "<link rel=alternate type=text/xml href=/v.xml>"
        "<link rel=alternate type=application/json+oembed href=/o>"
        "<link rel=alternate type=text/html href=/h><a rel='nofollow feed' href=/marked>x</a>",
        "http://www.h.org/sf http://www.h.org/v.xml http://www.h.org/svc "
        "http://www.h.org/marked http://o.org/m http://www.h.org/d/feed/");
    expect_order(
        "<a href='/a/RSS.xml?x=1#y'>r</a><a href=/b/news.atom>a</a><a href='/feedback'>n</a>"
        "<a href='http://other.org/feed'>o</a><a href='/x?f=/feed'>q</a><a href='#feed'>f</a>"
        "<a href='/wp/feed/'>w</a><a href='mailto:feed'>m</a><script><a href=/rss></script>",
        "http://www.h.org/a/RSS.xml?x=1#y http://www.h.org/b/news.atom "
        "http://www.h.org/wp/feed/");
    expect_order("<a href=/feed>f</a><link " RSS "href=/announced>", "http://www.h.org/announced");
}

static void test_discover__usual_addresses(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct str *urls;
    size_t n;

    n = discover_usual(&a, STR("https://h:81/blog/2020/p.html?x=/y/"), &urls);
    assert_int_equal(n, DISCOVER_USUAL_MAX);
    assert_true(str_eqz(urls[0], "https://h:81/blog/2020/feed/"));
    assert_true(str_eqz(urls[1], "https://h:81/feed"));
    assert_int_equal(discover_usual(&a, STR("http://h?q"), &urls), DISCOVER_USUAL_MAX - 1);
    assert_true(str_eqz(urls[0], "http://h/feed"));
    assert_int_equal(discover_usual(&a, STR("ftp://h/"), &urls), 0);
    assert_int_equal(discover_usual(&a, STR_NULL, &urls), 0);
    arena_release(&a);
}

static void test_discover__service_documents(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct str *urls;
    const char *doc = "<?xml version='1.0'?><app:service xmlns:app='http://www.w3.org/2007/app'>"
                      "<app:workspace><app:collection href='entries'/><app:collection/>"
                      "<app:collection href='/media?a=1&amp;b=2'></app:collection></app:workspace>"
                      "</app:service>";

    assert_int_equal(discover_service(&a, str_from(doc), STR("http://h/app/svc"), STR_NULL, &urls),
                     2);
    assert_true(str_eqz(urls[0], "http://h/app/entries"));
    assert_true(str_eqz(urls[1], "http://h/media?a=1&b=2"));
    assert_int_equal(discover_service(&a, STR("<html><service><collection href='x'/>"),
                                      STR("http://h/"), STR_NULL, &urls),
                     0);
    arena_release(&a);
}

/* PING-07 */
static void test_changes__when_counts_back_from_updated(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct change_row *rows;
    size_t n;

    assert_int_equal(
        changes_read(&a,
                     STR("<weblogUpdates version=\"2\" updated=\"Thu, 01 Jan 1970 01:00:00 GMT\" "
                         "count=\"2\"><weblog name=\"A &amp; B\" url=\"http://h/?a&b\" when=\"10\""
                         "/><weblog name=\"C\" url=\"http://c/\" rssUrl=\"http://c/rss\" "
                         "when=\"x\"/><weblog name=\"none\"/></weblogUpdates>"),
                     1000000, &rows, &n, NULL),
        RC_OK);
    assert_int_equal(n, 2);
    assert_true(str_eqz(rows[0].name, "A & B"));
    assert_true(str_eqz(rows[0].url, "http://h/?a&b"));
    assert_true(str_is_null(rows[0].rss_url));
    assert_int_equal(rows[0].when_at, 3590);
    assert_true(str_eqz(rows[1].rss_url, "http://c/rss"));
    assert_int_equal(rows[1].when_at, 3600);
    arena_release(&a);
}

static void test_changes__now_stands_for_a_bad_updated(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct change_row *rows;
    size_t n;

    assert_int_equal(changes_read(&a,
                                  STR("<weblogUpdates updated=\"soon\"><weblog url=\"http://x/\" "
                                      "when=\"1\"/></weblogUpdates>"),
                                  500, &rows, &n, NULL),
                     RC_OK);
    assert_int_equal(rows[0].when_at, 499);
    assert_int_equal(changes_read(&a, STR("<rss/>"), 500, &rows, &n, &err), RC_INPUT);
    assert_non_null(strstr(err.text, "weblogUpdates"));
    arena_release(&a);
}

/* PING-06 */
static void test_changes__writes_what_it_reads(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct buf b = BUF_INIT(BUF_ANY);
    struct change_row in[] = {{STR("<A>"), STR("http://a/?x&y"), STR_NULL, 990},
                              {STR("B"), STR("http://b/"), STR("http://b/f"), 2000}};
    struct change_row *rows;
    size_t n;

    changes_write(&b, in, 2, 1000);
    assert_non_null(strstr(b.ptr, "version=\"2\""));
    assert_non_null(strstr(b.ptr, "count=\"2\""));
    assert_int_equal(changes_read(&a, buf_view(&b), 5000, &rows, &n, NULL), RC_OK);
    assert_int_equal(n, 2);
    assert_true(str_eqz(rows[0].name, "<A>"));
    assert_true(str_eq(rows[0].url, in[0].url));
    assert_int_equal(rows[0].when_at, 990);
    assert_int_equal(rows[1].when_at, 1000);
    buf_release(&b);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opml__reads_nested_outlines_in_any_case),
        cmocka_unit_test(test_opml__leaves_out_comments_and_maps_feed_scheme),
        cmocka_unit_test(test_opml__mends_broken_xml),
        cmocka_unit_test(test_opml__says_what_it_is_instead),
        cmocka_unit_test(test_opml__number_and_depth_are_bounded),
        cmocka_unit_test(test_opml__writes_what_it_reads),
        cmocka_unit_test(test_opml__own_attributes_by_namespace),
        cmocka_unit_test(test_opml__grouping_opens_each_folder_once),
        cmocka_unit_test(test_opml__includes_are_numbered),
        cmocka_unit_test(test_opml__parts_have_what_the_list_had),
        cmocka_unit_test(test_discover__knows_the_feed_types),
        cmocka_unit_test(test_discover__resolves_by_base_and_decodes),
        cmocka_unit_test(test_discover__scripts_and_data_are_no_base),
        cmocka_unit_test(test_discover__leaves_out_what_cannot_be_fetched),
        cmocka_unit_test(test_discover__ignores_comments_and_scripts),
        cmocka_unit_test(test_discover__drops_doubles),
        cmocka_unit_test(test_discover__reads_the_charset_of_the_page),
        cmocka_unit_test(test_discover__hubs_of_the_head),
        cmocka_unit_test(test_discover__order_of_announced_feeds),
        cmocka_unit_test(test_discover__guesses_when_nothing_is_announced),
        cmocka_unit_test(test_discover__usual_addresses),
        cmocka_unit_test(test_discover__service_documents),
        cmocka_unit_test(test_changes__when_counts_back_from_updated),
        cmocka_unit_test(test_changes__now_stands_for_a_bad_updated),
        cmocka_unit_test(test_changes__writes_what_it_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
