/* tests/unit/feed/test_writer.c - the writers: one entry as it may come, four formats out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "feed/json.h"
#include "feed/writer.h"

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
static void test_writer__id_is_the_same_in_all_formats(void **state)
{
    struct arena a = ARENA_INIT;
    struct str iri = feed_entry_iri(&a, STR("http://h/feed.xml"), STR("u 1"));

    (void)state;
    assert_int_equal(iri.len, 45);
    assert_true(str_starts(iri, STR("urn:uuid:")));
    expect_has(FORMAT_ATOM, "{}", "", false, iri.ptr);
    expect_has(FORMAT_RSS, "{}", "", false, iri.ptr);
    expect_has(FORMAT_JSONFEED, "{}", "", false, iri.ptr);
    assert_true(str_eqz(feed_entry_iri(&a, STR("x"), STR("tag:h,2020:1")), "tag:h,2020:1"));
    assert_true(str_eqz(feed_entry_iri(&a, STR("x"), STR("http://h/1")), "http://h/1"));
    assert_false(str_eqz(feed_entry_iri(&a, STR("x"), STR("http://h/a b")), "http://h/a b"));
    arena_release(&a);
}

/* ATOM-03, ATOM-04, ATOM-05, ATOM-06, ATOM-07 */
static void test_writer__atom_makes_up_what_is_missing(void **state)
{
    (void)state;
    expect_has(FORMAT_ATOM, "{}", "", false, "<author><name>F</name>");
    expect_has(FORMAT_ATOM, "{}", "", false, "href=\"http://me/feed?a=1&amp;b=2\"");
    expect_has(FORMAT_ATOM, "{}", "", false, "<title type=\"text\">Untitled</title>");
    expect_has(FORMAT_ATOM, "{}", "", false, "<updated>1970-01-02T00:00:00Z</updated>");
    expect_has(FORMAT_ATOM, "{}", "", false, "<content type=\"text\"></content>");
    expect_not(FORMAT_ATOM, "{\"link\":\"http://h/1\"}", "", "<content");
}

/* ATOM-09 */
static void test_writer__atom_text_has_the_right_type(void **state)
{
    (void)state;
    expect_has(FORMAT_ATOM, "{\"title\":\"a &lt; <b>b</b>\"}", "", false,
               "<title type=\"html\">a &amp;lt; &lt;b&gt;b&lt;/b&gt;</title>");
    expect_has(FORMAT_ATOM, "{\"title_detail\":{\"type\":\"text/plain\",\"value\":\"1 < 2\"}}", "",
               false, "<title type=\"html\">1 &amp;lt; 2</title>");
    expect_has(FORMAT_ATOM, "{\"title\":\"a\\u0001b\\uffffc\"}", "", false, ">abc</title>");
}

/* ATOM-06, ATOM-15, ATOM-16 */
static void test_writer__links_and_tags_are_without_doubles(void **state)
{
    const char *entry = "{\"link\":\"1.html\",\"links\":[{\"rel\":\"alternate\",\"href\":\"x\"},"
                        "{\"rel\":\"hub\",\"href\":\"http://no/\"},"
                        "{\"rel\":\"enclosure\",\"href\":\"http://h/a b\",\"length\":\"7\","
                        "\"type\":\"audio/mpeg\"},{\"rel\":\"related\",\"href\":\"javascript:x\"}],"
                        "\"tags\":[{\"term\":\"\"},{\"term\":\"t\"},{\"term\":\"t\"}]}";

    (void)state;
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
static void test_writer__foreign_elements_are_copied(void **state)
{
#define EXT "<m:thumbnail xmlns:m=\"http://search.yahoo.com/mrss/\" url=\"http://h/t\"/>"

    (void)state;
    expect_has(FORMAT_ATOM, "{}", EXT, false, EXT);
    expect_has(FORMAT_RSS, "{}", EXT, false, EXT);
    expect_not(FORMAT_RSS, "{}", "<plain xmlns=\"\">x</plain>", "plain");
    expect_not(FORMAT_ATOM, "{}", "<z:id xmlns:z=\"http://www.w3.org/2005/Atom\">x</z:id>", "z:id");
    expect_not(FORMAT_ATOM, "{}", "<z:cut xmlns:z=\"u:z\"><z:in>", "z:cut");
}

/* ATOM-10, RSS-11 */
static void test_writer__merged_entries_name_their_source(void **state)
{
    (void)state;
    expect_has(FORMAT_ATOM, "{}", "", true, "<source>\n<id>urn:uuid:");
    expect_has(FORMAT_RSS, "{}", "", true, "<source url=\"http://h/feed.xml\">F</source>");
    expect_has(FORMAT_JSON, "{\"id\":\"x\"}", "", true, "\"href\":\"http://h/feed.xml\"");
    expect_has(FORMAT_JSON_OBJ, "{\"source\":{\"a\":1}}", "", true,
               "[\n{\"source\":{\"a\":1}}]");
}

/* RSS-02, RSS-04, RSS-07, RSS-08 */
static void test_writer__rss_follows_the_profile(void **state)
{
    (void)state;
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
static void test_writer__json_entries_are_copied(void **state)
{
    (void)state;
    expect_has(FORMAT_JSON_OBJ, "{\"x\":{\"id\":1},\"title\":\"t \\\" id\"}", "", false,
               "[\n{\"x\":{\"id\":1},\"title\":\"t \\\" id\"}]\n");
    expect_has(FORMAT_JSON, "{}", "", false, "{\"feed\":{\"title\":\"F\"},\"entries\":[");
}

/* JF-01, JF-04, JF-05 */
static void test_writer__json_feed_has_one_body(void **state)
{
    (void)state;
    expect_has(FORMAT_JSONFEED, "{}", "", false, "https://jsonfeed.org/version/1.1");
    expect_has(FORMAT_JSONFEED, "{\"summary\":\"<i>x</i>\"}", "", false,
               "\"content_html\":\"<i>x<\\/i>\"");
    expect_has(FORMAT_JSONFEED, "{\"summary\":\"x\"}", "", false, "\"content_text\":\"x\"");
    expect_not(FORMAT_JSONFEED, "{\"summary\":\"<i>x</i>\"}", "", "content_text");
    expect_has(FORMAT_JSONFEED, "{}", "", false, "\"date_published\":\"1970-01-02T00:00:00Z\"");
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
