/* tests/unit/feed/test_writer.c - the writers: one entry as it may come, four formats out. */
#include "base/clock.h"
#include "feed/text/json.h"
#include "feed/write/writer.h"
#include "tests/unit/cmocka_all.h"

/* Write one entry, single or merged; the caller releases the buffer. */
static struct buf written(enum feed_format format, const char *head, const char *entry,
                          const char *ext, const char *uid, bool merged)
{
    struct arena a = ARENA_INIT;
    struct buf b = BUF_INIT(BUF_ANY);
    struct out_feed feed = {.url = STR("http://h/feed.xml"), .updated_at = 50};
    struct out_entry e = {.feed = &feed,
                          .json = str_from(entry),
                          .ext = str_from(ext),
                          .uid = str_from(uid),
                          .published_at = TIME_UNKNOWN,
                          .updated_at = TIME_UNKNOWN,
                          .received_at = 86400};
    struct out_doc doc = {.merged = merged,
                          .self_url = STR("http://me/feed?a=1&b=2"),
                          .id = merged ? STR("urn:uuid:1") : STR_NULL,
                          .title = merged ? STR("M") : STR_NULL,
                          .feeds = &feed,
                          .n_feeds = 1,
                          .entries = &e,
                          .n_entries = 1,
                          .updated_at = 86400};

    assert_int_equal(json_read(&a, str_from(head), &feed.obj, NULL), RC_OK);
    feed_write(&b, format, &doc);
    arena_release(&a);
    return b;
}

static void expect_has(enum feed_format format, const char *entry, const char *ext, bool merged,
                       const char *want)
{
    struct buf b = written(format, "{\"title\":\"F\"}", entry, ext, "u 1", merged);

    if (strstr(b.ptr, want) == NULL)
        fail_msg("no %s in %s", want, b.ptr);
    buf_release(&b);
}

static void expect_not(enum feed_format format, const char *entry, const char *ext,
                       const char *unwanted)
{
    struct buf b = written(format, "{\"title\":\"F\"}", entry, ext, "u 1", false);

    if (strstr(b.ptr, unwanted) != NULL)
        fail_msg("%s in %s", unwanted, b.ptr);
    buf_release(&b);
}

/* ATOM-08, RSS-03, JF-03 */
static void test_writer__id_is_the_same_in_all_formats(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct str iri = feed_entry_iri(&a, STR("http://h/feed.xml"), STR("u 1"));

    assert_int_equal(iri.len, 45);
    assert_true(str_starts(iri, STR("urn:uuid:")));
    expect_has(FORMAT_ATOM, "{}", "", false, iri.ptr);
    expect_has(FORMAT_RSS, "{}", "", false, iri.ptr);
    expect_has(FORMAT_JSONFEED, "{}", "", false, iri.ptr);
    assert_true(str_eqz(feed_entry_iri(&a, STR("x"), STR("tag:h,2020:1")), "tag:h,2020:1"));
    assert_true(str_eqz(feed_entry_iri(&a, STR("x"), STR("http://h/1")), "http://h/1"));
    assert_true(str_eqz(feed_entry_iri(&a, STR("x"), STR("urn:x:1")), "urn:x:1"));
    assert_true(str_eqz(feed_entry_iri(&a, STR("x"), STR("urn:e1")), "urn:e1"));
    assert_true(str_eqz(feed_entry_iri(&a, STR("x"), STR("tag:e1")), "tag:e1"));
    assert_false(str_eqz(feed_entry_iri(&a, STR("x"), STR("urn:")), "urn:"));
    assert_false(str_eqz(feed_entry_iri(&a, STR("x"), STR("http://h/a b")), "http://h/a b"));
    arena_release(&a);
}

/* ATOM-03, ATOM-04, ATOM-05, ATOM-06, ATOM-07 */
static void test_writer__atom_makes_up_what_is_missing(void **state UNUSED)
{
    expect_has(FORMAT_ATOM, "{}", "", false, "<author><name>F</name>");
    expect_has(FORMAT_ATOM, "{}", "", false, "href=\"http://me/feed?a=1&amp;b=2\"");
    expect_has(FORMAT_ATOM, "{}", "", false, "<title type=\"text\">Untitled</title>");
    expect_has(FORMAT_ATOM, "{}", "", false, "<updated>1970-01-02T00:00:00Z</updated>");
    expect_has(FORMAT_ATOM, "{}", "", false, "<content type=\"text\"></content>");
    expect_not(FORMAT_ATOM, "{\"link\":\"http://h/1\"}", "", "<content");
}

/* ATOM-09 */
static void test_writer__atom_text_has_the_right_type(void **state UNUSED)
{
    expect_has(FORMAT_ATOM, "{\"title\":\"a &lt; <b>b</b>\"}", "", false,
               "<title type=\"html\">a &amp;lt; &lt;b&gt;b&lt;/b&gt;</title>");
    expect_has(FORMAT_ATOM, "{\"title_detail\":{\"type\":\"text/plain\",\"value\":\"1 < 2\"}}", "",
               false, "<title type=\"html\">1 &amp;lt; 2</title>");
    expect_has(FORMAT_ATOM, "{\"title\":\"a\\u0001b\\uffffc\"}", "", false, ">abc</title>");
}

/* ATOM-06, ATOM-15, ATOM-16 */
static void test_writer__links_and_tags_are_without_doubles(void **state UNUSED)
{
    const char *entry = "{\"link\":\"1.html\",\"links\":[{\"rel\":\"alternate\",\"href\":\"x\"},"
                        "{\"rel\":\"hub\",\"href\":\"http://no/\"},"
                        "{\"rel\":\"enclosure\",\"href\":\"http://h/a b\",\"length\":\"7\","
                        "\"type\":\"audio/mpeg\"},{\"rel\":\"related\",\"href\":\"javascript:x\"}],"
                        "\"tags\":[{\"term\":\"\"},{\"term\":\"t\"},{\"term\":\"t\"}]}";

    expect_has(FORMAT_ATOM, entry, "", false, "<link rel=\"alternate\" href=\"http://h/1.html\"/>");
    expect_has(
        FORMAT_ATOM, entry, "", false,
        "<link rel=\"enclosure\" type=\"audio/mpeg\" href=\"http://h/a%20b\" length=\"7\"/>");
    expect_has(FORMAT_ATOM, entry, "", false, "<category term=\"t\"/>\n<");
    expect_not(FORMAT_ATOM, entry, "", "http://h/x");
    expect_not(FORMAT_ATOM, entry, "", "http://no/");
    expect_not(FORMAT_ATOM, entry, "", "javascript");
    expect_has(FORMAT_RSS, entry, "", false,
               "<enclosure url=\"http://h/a%20b\" length=\"7\" type=\"audio/mpeg\"/>");
    expect_has(FORMAT_JSONFEED, entry, "", false, "\"size_in_bytes\":7");
}

/* ATOM-11, RSS-14 */
static void test_writer__foreign_elements_are_copied(void **state UNUSED)
{
#define EXT "<m:thumbnail xmlns:m=\"http://search.yahoo.com/mrss/\" url=\"http://h/t\"/>"

    expect_has(FORMAT_ATOM, "{}", EXT, false, EXT);
    expect_has(FORMAT_RSS, "{}", EXT, false, EXT);
    expect_not(FORMAT_RSS, "{}", "<plain xmlns=\"\">x</plain>", "plain");
    expect_not(FORMAT_ATOM, "{}", "<z:id xmlns:z=\"http://www.w3.org/2005/Atom\">x</z:id>", "z:id");
    expect_not(FORMAT_ATOM, "{}", "<z:cut xmlns:z=\"u:z\"><z:in>", "z:cut");
}

/* ATOM-10, RSS-11 */
static void test_writer__merged_entries_name_their_source(void **state UNUSED)
{
    expect_has(FORMAT_ATOM, "{}", "", true, "<source>\n<id>urn:uuid:");
    expect_has(FORMAT_RSS, "{}", "", true, "<source url=\"http://h/feed.xml\">F</source>");
    expect_has(FORMAT_JSON, "{\"id\":\"x\"}", "", true, "\"href\":\"http://h/feed.xml\"");
    expect_has(FORMAT_JSON_OBJ, "{\"source\":{\"a\":1}}", "", true, "[\n{\"source\":{\"a\":1}}]");
}

/* RSS-02, RSS-04, RSS-07, RSS-08 */
static void test_writer__rss_follows_the_profile(void **state UNUSED)
{
    expect_has(FORMAT_RSS, "{}", "", false, "<title>Untitled</title>");
    expect_has(FORMAT_RSS, "{}", "", false, "<pubDate>Fri, 02 Jan 1970 00:00:00 GMT</pubDate>");
    expect_has(FORMAT_RSS, "{\"title\":\"<b>x</b> &amp;\"}", "", false, "<title>x &amp;</title>");
    expect_has(FORMAT_RSS, "{\"author\":\"Jane\"}", "", false, "<dc:creator>Jane</dc:creator>");
    expect_has(FORMAT_RSS, "{\"author_detail\":{\"name\":\"J\",\"email\":\"j@x.org\"}}", "", false,
               "<author>j@x.org (J)</author>");
    expect_has(FORMAT_RSS,
               "{\"summary\":\"s\",\"content\":[{\"type\":\"text/html\",\"value\":"
               "\"<p>c</p>\"}]}",
               "", false, "<description>s</description>\n<content:encoded>&lt;p&gt;c&lt;/p&gt;<");
}

/* OBJ-12 */
static void test_writer__json_entries_are_copied(void **state UNUSED)
{
    expect_has(FORMAT_JSON_OBJ, "{\"x\":{\"id\":1},\"title\":\"t \\\" id\"}", "", false,
               "[\n{\"x\":{\"id\":1},\"title\":\"t \\\" id\"}]\n");
    expect_has(FORMAT_JSON, "{}", "", false, "{\"feed\":{\"title\":\"F\"},\"entries\":[");
}

/* JF-01, JF-04, JF-05 */
static void test_writer__json_feed_has_one_body(void **state UNUSED)
{
    expect_has(FORMAT_JSONFEED, "{}", "", false, "https://jsonfeed.org/version/1.1");
    expect_has(FORMAT_JSONFEED, "{\"summary\":\"<i>x</i>\"}", "", false,
               "\"content_html\":\"<i>x<\\/i>\"");
    expect_has(FORMAT_JSONFEED, "{\"summary\":\"x\"}", "", false, "\"content_text\":\"x\"");
    expect_not(FORMAT_JSONFEED, "{\"summary\":\"<i>x</i>\"}", "", "content_text");
    expect_has(FORMAT_JSONFEED, "{}", "", false, "\"date_published\":\"1970-01-02T00:00:00Z\"");
}

/* VIEW-14: whatever a publisher writes, and though nothing was made safe when it was stored */
static void test_writer__a_page_is_safe(void **state UNUSED)
{
    static const char *const evil =
        "{\"title\":\"a &lt;/style&gt;&lt;script&gt;\",\"link\":\"javascript:x()\","
        "\"summary\":\"<script>x()</script></div></article><p onclick='x()'>fine\"}";
    static const char *const quotes = "{\"title\":\"t\",\"link\":\"http://h/\\\"onclick=x\"}";

    expect_has(FORMAT_HTML, evil, "", false, "a &lt;/style&gt;&lt;script");
    expect_has(FORMAT_HTML, evil, "", false, "<p>fine</p>\n</div>\n</article>");
    expect_not(FORMAT_HTML, evil, "", "<script");
    expect_not(FORMAT_HTML, evil, "", "onclick");
    expect_not(FORMAT_HTML, evil, "", "javascript");
    expect_has(FORMAT_HTML, quotes, "", false, "href=\"http://h/%22onclick=x\"");
}

/* VIEW-14 */
static void test_writer__a_list_has_the_feeds(void **state UNUSED)
{
    expect_has(FORMAT_OPML, "{}", "", false, "<title>F</title>");
    expect_has(FORMAT_OPML, "{}", "", true, "<title>M</title>");
    expect_has(FORMAT_OPML, "{}", "", true, "xmlUrl=\"http://h/feed.xml\"");
}

/* ATOM-11, RSS-14: attributes of a format's own elements, and elements of persons */
static void test_writer__foreign_attributes_are_copied(void **state UNUSED)
{
#define MARK(e, n)                                                                                 \
    "<f:on xmlns:f=\"urn:feedmill:attributes\" e=\"" e "\" n=\"" n                                 \
    "\" xmlns:x=\"urn:x\" x:k=\"1\"/>"
#define KEPT " xmlns:x=\"urn:x\" x:k=\"1\""
    static const char *const entry =
        "{\"title\":\"t\",\"link\":\"http://h/"
        "1\",\"links\":[{\"rel\":\"alternate\",\"href\":\"http://h/1\"}],"
        "\"authors\":[{\"name\":\"A\"},{\"name\":\"B\"}],\"tags\":[{\"term\":\"a\"},{\"term\":"
        "\"b\"}]}";

    expect_has(FORMAT_ATOM, entry, MARK("itself", "0"), false, "<entry" KEPT ">");
    expect_has(FORMAT_RSS, entry, MARK("itself", "0"), false, "<item" KEPT ">");
    expect_has(FORMAT_ATOM, entry, MARK("title", "0"), false, "<title type=\"text\"" KEPT ">");
    expect_has(FORMAT_RSS, entry, MARK("title", "0"), false, "<title" KEPT ">t</title>");
    expect_has(FORMAT_ATOM, entry, MARK("link", "0"), false, "href=\"http://h/1\"" KEPT "/>");
    expect_has(FORMAT_RSS, entry, MARK("link", "0"), false, "<link" KEPT ">http://h/1</link>");
    expect_has(FORMAT_ATOM, entry, MARK("tag", "1"), false, "<category term=\"b\"" KEPT "/>");
    expect_has(FORMAT_ATOM, entry, MARK("author", "1"), false, "<author" KEPT "><name>B</name>");
    expect_has(FORMAT_ATOM, entry,
               "<f:in xmlns:f=\"urn:feedmill:attributes\" e=\"author\" n=\"0\"><x:i "
               "xmlns:x=\"urn:x\"/></f:in>",
               false, "<author><name>A</name>\n<x:i xmlns:x=\"urn:x\"/></author>");
    expect_not(FORMAT_ATOM, entry, MARK("title", "0"), "urn:feedmill:attributes");
    expect_not(FORMAT_RSS, entry, MARK("title", "9"), "urn:x");
}

/* ATOM-12: the language of an entry and of its texts */
static void test_writer__languages_are_effective(void **state UNUSED)
{
    struct buf b =
        written(FORMAT_ATOM, "{\"title\":\"F\",\"language\":\"de\"}",
                "{\"title_detail\":{\"type\":\"text/plain\",\"language\":\"fr\",\"value\":"
                "\"T\"},\"summary_detail\":{\"type\":\"text/plain\",\"language\":\"de\","
                "\"value\":\"S\"}}",
                "", "u", false);

    assert_non_null(strstr(b.ptr, "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"de\">"));
    assert_non_null(strstr(b.ptr, "<title type=\"text\" xml:lang=\"fr\">T</title>"));
    assert_non_null(strstr(b.ptr, ">S</content>"));
    buf_release(&b);
    expect_not(FORMAT_ATOM, "{\"language\":\"no language\"}", "", "xml:lang");
}

/* ATOM-17 */
static void test_writer__atom_head_is_passed_on(void **state UNUSED)
{
    struct buf b =
        written(FORMAT_ATOM,
                "{\"title\":\"F\",\"subtitle\":\"sub\",\"rights\":\"(c)\",\"icon\":\"http://h/i\","
                "\"logo\":\"http://h/l\",\"generator\":\"G\",\"generator_detail\":{\"name\":\"G\","
                "\"href\":\"http://g/\",\"version\":\"2\"}}",
                "{}", "", "u", false);
    static const char *const wanted[] = {
        "<subtitle type=\"text\">sub</subtitle>", "<rights type=\"text\">(c)</rights>",
        "<icon>http://h/i</icon>", "<logo>http://h/l</logo>",
        "<generator uri=\"http://g/\" version=\"2\">G</generator>"};

    for (size_t i = 0; i < 5; i++)
        assert_non_null(strstr(b.ptr, wanted[i]));
    buf_release(&b);
}

/* RSS-05, RSS-09, RSS-12 */
static void test_writer__rss_head(void **state UNUSED)
{
    expect_has(FORMAT_RSS, "{}", "", false,
               "<atom:link rel=\"self\" type=\"application/rss+xml\" "
               "href=\"http://me/feed?a=1&amp;b=2\"/>");
    expect_has(FORMAT_RSS, "{}", "", false,
               "<lastBuildDate>Fri, 02 Jan 1970 00:00:00 GMT</lastBuildDate>");
    expect_has(FORMAT_RSS, "{}", "", false,
               "<docs>https://www.rssboard.org/rss-specification</docs>");
    expect_has(FORMAT_RSS, "{}", "", false, "<generator>Feedmill ");
    expect_not(FORMAT_RSS, "{}", "<own xmlns=\"\">x</own>", "<own");
}

/* RSS-10: hosts as the DNS has them; what IDNA does not take is percent-encoded. */
static void test_writer__rss_hosts_are_ascii(void **state UNUSED)
{
    expect_has(FORMAT_RSS,
               "{\"links\":[{\"rel\":\"enclosure\",\"href\":\"http://www.\u8a79.com:80/\u00e4\"}]}",
               "", false, "url=\"http://www.xn--g32a.com:80/%C3%A4\"");
    expect_has(FORMAT_RSS, "{\"link\":\"http://u@b\u00fccher.example/?q=\u00fc\"}", "", false,
               "<link>http://u@xn--bcher-kva.example/?q=%C3%BC</link>");
    expect_has(FORMAT_RSS, "{\"link\":\"http://a\u2026b/\"}", "", false, "<link>http://a");
    expect_has(FORMAT_ATOM, "{\"link\":\"http://b\u00fccher.example/\"}", "", false,
               "href=\"http://b\xC3\xBC"
               "cher.example/\"");
}

/* Content of an XML media type leaves in Atom as what it is, unless a browser would act on it. */
static void test_writer__atom_content_of_xml(void **state UNUSED)
{
    expect_has(FORMAT_ATOM,
               "{\"content\":[{\"type\":\"application/xml\",\"value\":\"\",\"xml\":\"<I "
               "xmlns=\\\"urn:a\\\" "
               "T=\\\"5\\\"></I>\"}]}",
               "", false,
               "<content type=\"application/xml\"><I xmlns=\"urn:a\" T=\"5\"></I></content>");
    expect_not(FORMAT_ATOM,
               "{\"content\":[{\"type\":\"image/svg+xml\",\"value\":\"\",\"xml\":\"<svg xmlns=\\\""
               "http://www.w3.org/2000/svg\\\"></svg>\"}]}",
               "", "<svg");
    expect_not(FORMAT_ATOM,
               "{\"content\":[{\"type\":\"application/xml\",\"value\":\"\",\"xml\":\"<a></a>\"}]}",
               "", "<a>");
}

/* A relation in the long form of the registry is that relation; the address of the document is
 * ours. */
static void test_writer__relations_in_full(void **state UNUSED)
{
    struct buf b =
        written(FORMAT_ATOM,
                "{\"title\":\"F\",\"links\":[{\"rel\":\"http://www.iana.org/assignments/"
                "relation/self\",\"href\":\"http://h/own\"},{\"rel\":\"http://www.iana.org/"
                "assignments/relation/related\",\"href\":\"http://h/rel\"}]}",
                "{\"title\":\"a\"}", "", "u 1", false);

    assert_null(strstr(b.ptr, "http://h/own"));
    assert_non_null(strstr(b.ptr, "<link rel=\"related\" href=\"http://h/rel\"/>"));
    buf_release(&b);
}

/* RSS-06 */
static void test_writer__rss_item_has_one_enclosure(void **state UNUSED)
{
    static const char *const entry = "{\"links\":[{\"rel\":\"enclosure\",\"href\":\"http://h/1\"},"
                                     "{\"rel\":\"enclosure\",\"href\":\"http://h/"
                                     "2\",\"type\":\"audio/mpeg\",\"length\":\"5\"}]}";

    expect_has(FORMAT_RSS, entry, "", false,
               "<enclosure url=\"http://h/1\" length=\"0\" type=\"application/octet-stream\"/>");
    expect_has(
        FORMAT_RSS, entry, "", false,
        "<atom:link rel=\"enclosure\" type=\"audio/mpeg\" href=\"http://h/2\" length=\"5\"/>");
    expect_not(FORMAT_RSS, entry, "", "<enclosure url=\"http://h/2\"");
}

/* RSS-07 */
static void test_writer__rss_content_is_the_description_too(void **state UNUSED)
{
    expect_has(
        FORMAT_RSS,
        "{\"content\":[{\"type\":\"text/html\",\"value\":\"<p>c</p>\"}],\"summary\":\"<p>c</p>\"}",
        "", false,
        "<description>&lt;p&gt;c&lt;/p&gt;</description>\n"
        "<content:encoded>&lt;p&gt;c&lt;/p&gt;</content:encoded>");
    expect_has(FORMAT_RSS, "{\"title\":\"<b>x</b>\"}", "", false,
               "<atom:title type=\"html\">&lt;b&gt;x&lt;/b&gt;</atom:title>\n<title>x</title>");
}

/* RSS-10 */
static void test_writer__addresses_are_absolute_and_valid(void **state UNUSED)
{
    expect_has(FORMAT_RSS, "{\"link\":\"a b\\\"c\u00e4\"}", "", false,
               "<link>http://h/a%20b%22c%C3%A4</link>");
    expect_has(FORMAT_ATOM, "{\"link\":\"a b\"}", "", false, "href=\"http://h/a%20b\"");
    expect_not(FORMAT_RSS, "{\"link\":\"javascript:alert(1)\"}", "", "javascript");
}

/* JF-07, JF-10 */
static void test_writer__json_feed_extensions(void **state UNUSED)
{
    static const char *const entry =
        "{\"title\":\"<b>t</"
        "b>\",\"rating\":5,\"_own\":{\"a\":1},\"contributors\":[{\"name\":\"C\"}],"
        "\"tags\":[{\"term\":\"t\",\"scheme\":\"http://s/\",\"label\":null}],"
        "\"authors\":[{\"name\":\"A\",\"href\":\"http://a/\"}]}";

    expect_has(FORMAT_JSONFEED, entry, "", false, "\"_feedmill\":{\"rating\":5}");
    expect_has(FORMAT_JSONFEED, entry, "", false, "\"_own\":{\"a\":1}");
    expect_has(FORMAT_JSONFEED, entry, "", false, "\"_atom\":{\"title\":\"<b>t<\\/b>\"");
    expect_has(FORMAT_JSONFEED, entry, "", false, "\"contributors\":[{\"name\":\"C\"}]");
    expect_has(FORMAT_JSONFEED, entry, "", false, "\"tags\":[\"t\"]");
    expect_has(FORMAT_JSONFEED, entry, "", false,
               "\"authors\":[{\"name\":\"A\",\"url\":\"http://a/\"}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writer__id_is_the_same_in_all_formats),
        cmocka_unit_test(test_writer__atom_makes_up_what_is_missing),
        cmocka_unit_test(test_writer__atom_text_has_the_right_type),
        cmocka_unit_test(test_writer__links_and_tags_are_without_doubles),
        cmocka_unit_test(test_writer__foreign_elements_are_copied),
        cmocka_unit_test(test_writer__merged_entries_name_their_source),
        cmocka_unit_test(test_writer__rss_follows_the_profile),
        cmocka_unit_test(test_writer__json_entries_are_copied),
        cmocka_unit_test(test_writer__json_feed_has_one_body),
        cmocka_unit_test(test_writer__a_page_is_safe),
        cmocka_unit_test(test_writer__a_list_has_the_feeds),
        cmocka_unit_test(test_writer__foreign_attributes_are_copied),
        cmocka_unit_test(test_writer__languages_are_effective),
        cmocka_unit_test(test_writer__atom_head_is_passed_on),
        cmocka_unit_test(test_writer__rss_head),
        cmocka_unit_test(test_writer__rss_hosts_are_ascii),
        cmocka_unit_test(test_writer__relations_in_full),
        cmocka_unit_test(test_writer__atom_content_of_xml),
        cmocka_unit_test(test_writer__rss_item_has_one_enclosure),
        cmocka_unit_test(test_writer__rss_content_is_the_description_too),
        cmocka_unit_test(test_writer__addresses_are_absolute_and_valid),
        cmocka_unit_test(test_writer__json_feed_extensions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
