#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "feed/json.h"
#include "feed/parse.h"

/* One claim a row: what `path` of the object form of a document must be, as JSON. */
struct claim {
    const char *document, *path, *json;
};

#define RSS(item) "<rss version='2.0'><channel><item>" item "</item></channel></rss>"
#define ATOM(entry) "<feed xmlns='http://www.w3.org/2005/Atom'><entry>" entry "</entry></feed>"

static const struct value *walk(const struct value *v, struct str path)
{
    while (v != NULL && !str_is_null(path)) {
        struct str step = str_split(&path, '/');
        int64_t n;

        v = str_to_i64(step, &n) ? value_at(v, (size_t)n) : value_get(v, step);
    }
    return v;
}

static void check(const struct claim *claims, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(buf_release) struct buf got = BUF_INIT(BUF_ANY);
        struct parse_input in = {.body = str_from(claims[i].document),
                                 .url = STR("http://base.org/feed")};
        struct value *all = feed_doc_object(&a, feed_parse(&a, &in));
        const struct value *v = walk(all, str_from(claims[i].path));

        if (v == NULL)
            buf_puts(&got, "absent");
        else
            json_write(&got, v);
        if (!str_eqz(buf_view(&got), claims[i].json))
            fail_msg("%s\n%s is %s", claims[i].document, claims[i].path, got.ptr);
    }
}

#define CHECK(claims) check((claims), ARRAY_LEN(claims))

/* OBJ-03, OBJ-04 */
static void test_reading__unknown_elements_and_their_attributes(void **state)
{
    static const struct claim claims[] = {
        {RSS("<digg:diggCount xmlns:digg='http://digg.com/docs/diggrss/'>42</digg:diggCount>"),
         "entries/0/digg_diggcount", "\"42\""},
        {RSS("<p:content xmlns:p='urn:p' Price='$2,021.99'>x</p:content>"), "entries/0/p_content",
         "\"x\""},
        {RSS("<p:content xmlns:p='urn:p' Price='$2,021.99'>x</p:content>"), "entries/0/p_content_",
         "{\"price\":\"$2,021.99\"}"},
        {RSS("<p:chart xmlns:p='urn:p' href='c.png'/>"), "entries/0/p_chart",
         "{\"href\":\"c.png\"}"},
        {RSS("<p:chart xmlns:p='urn:p' href='c.png'/>"), "entries/0/p_chart_",
         "{\"href\":\"c.png\"}"},
        {RSS("<mood>good</mood>"), "entries/0/mood", "\"good\""},
    };

    (void)state;
    CHECK(claims);
}

/* OBJ-05 */
static void test_reading__namespaces_by_any_prefix(void **state)
{
    static const struct claim claims[] = {
        {RSS("<x:creator xmlns:x='http://purl.org/dc/elements/1.1/'>Ann</x:creator>"),
         "entries/0/author", "\"Ann\""},
        {RSS("<x:creator xmlns:x='https://purl.org/dc/elements/1.1'>Ann</x:creator>"),
         "entries/0/author", "\"Ann\""},
        {RSS("<dc:creator>Ann</dc:creator>"), "entries/0/author", "\"Ann\""},
        {RSS("<b:license xmlns:b='http://backend.userland.com/creativeCommonsRssModule'>"
             "http://l.org/</b:license>"),
         "namespaces",
         "{\"creativeCommons\":\"http://backend.userland.com/creativeCommonsRssModule\"}"},
        {RSS("<b:license xmlns:b='http://backend.userland.com/creativeCommonsRssModule'>"
             "http://l.org/</b:license>"),
         "entries/0/links", "[{\"rel\":\"license\",\"href\":\"http://l.org/\"}]"},
        {RSS("<b:blogRoll xmlns:b='http://backend.userland.com/blogChannelModule'>"
             "http://l.org/</b:blogRoll>"),
         "entries/0/blogchannel_blogroll", "\"http://l.org/\""},
    };

    (void)state;
    CHECK(claims);
}

/* OBJ-06 */
static void test_reading__repeated_elements(void **state)
{
    static const struct claim claims[] = {
        {RSS("<g:n xmlns:g='urn:g'>1</g:n><g:n xmlns:g='urn:g'>2</g:n>"), "entries/0/g_n", "\"2\""},
        {RSS("<category>a</category><category domain='d'>b</category><category>a</category>"),
         "entries/0/tags",
         "[{\"term\":\"a\",\"scheme\":null,\"label\":null},"
         "{\"term\":\"b\",\"scheme\":\"d\",\"label\":null}]"},
        {RSS("<tags>a, b,,c</tags>"), "entries/0/tags/2/term", "\"c\""},
        {ATOM("<contributor><name>a</name></contributor><contributor><name>b</name></contributor>"),
         "entries/0/contributors", "[{\"name\":\"a\"},{\"name\":\"b\"}]"},
        {RSS("<enclosure url='/a'/><enclosure url='/b'/>"), "entries/0/enclosures",
         "[{\"href\":\"http://base.org/a\"},{\"href\":\"http://base.org/b\"}]"},
    };

    (void)state;
    CHECK(claims);
}

static void test_reading__titles_of_pictures_are_not_the_entrys(void **state)
{
    static const struct claim claims[] = {
        {RSS("<media:title>of the picture</media:title><title>mine</title>"), "entries/0/title",
         "\"mine\""},
        {RSS("<title>mine</title><media:title>of the picture</media:title>"), "entries/0/title",
         "\"mine\""},
        {RSS("<media:title>of the picture</media:title>"), "entries/0/title", "\"of the picture\""},
    };

    (void)state;
    CHECK(claims);
}

static void test_reading__addresses_of_authors(void **state)
{
    static const struct claim claims[] = {
        {RSS("<author>ann@a.org (Ann)</author>"), "entries/0/author_detail",
         "{\"name\":\"Ann\",\"email\":\"ann@a.org\"}"},
        {RSS("<author>Ann &lt;ann@a.org&gt;</author>"), "entries/0/author_detail",
         "{\"name\":\"Ann\",\"email\":\"ann@a.org\"}"},
        {RSS("<author>ann@a.org?subject=Hi (Ann)</author>"), "entries/0/author_detail",
         "{\"name\":\"Ann\",\"email\":\"ann@a.org?subject=Hi\"}"},
    };

    (void)state;
    CHECK(claims);
}

static void test_reading__content_that_is_no_base64(void **state)
{
    static const struct claim claims[] = {
        {ATOM("<content type='application/json'>{\"a\":1}</content>"), "entries/0/content/0/value",
         "\"{\\\"a\\\":1}\""},
        {ATOM("<content type='application/ld+json'>{\"a\":1}</content>"),
         "entries/0/content/0/value", "\"{\\\"a\\\":1}\""},
        {ATOM("<content type='image/x'>aGFsbG8=</content>"), "entries/0/content/0/value",
         "\"hallo\""},
    };

    (void)state;
    CHECK(claims);
}

static void test_reading__moved_feed_names_its_new_address(void **state)
{
    static const struct claim claims[] = {
        {"<rss version='2.0'><channel><newLocation>/new</newLocation></channel></rss>",
         "feed/newlocation", "\"http://base.org/new\""},
    };

    (void)state;
    CHECK(claims);
}

#define JSON_FEED(items) "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":" items "}"

static void test_reading__json_that_is_none(void **state) /* OBJ-08, OBJ-09 */
{
    static const struct claim claims[] = {
        {JSON_FEED("[{\"id\":\"1\",\"title\":\"a \\ud83d b\"}]"), "entries/0/title", "\"a � b\""},
        {JSON_FEED("[{\"id\":\"1\",\"title\":\"\\ud83d\\ude00 \\ude00\\ud83d\\u0041\"}]"),
         "entries/0/title", "\"😀 ��A\""},
        {JSON_FEED("[{\"id\":\"1\",\"title\":\"a\nb\"}]"), "entries/0/title", "\"a\\nb\""},
        {JSON_FEED("[{\"id\":\"1\",\"title\":\"it\\'s\",},]"), "entries/0/title", "\"it's\""},
        {JSON_FEED("[{\"id\":\"1\",\"size\":NaN}]"), "entries/0/size", "null"},
        {JSON_FEED("[{\"id\":\"1\"}]") " and more", "entries/0/id", "\"1\""},
        {JSON_FEED("[{\"id\":\"1\",\"title\":\"a \\ud83d b\"}]"), "bozo", "true"},
        {JSON_FEED("[{\"id\":\"1\",\"title\":\"\\ud83d\\ude00\"}]"), "bozo", "false"},
        {"{\"version\":\"https://jsonfeed.org/version/1\",\"title\":\"t\"}", "feed/title", "\"t\""},
        {"{\"version\":\"https://jsonfeed.org/version/1\",\"title\":\"t\"}", "bozo_exception",
         "\"The items are missing\""},
    };

    (void)state;
    CHECK(claims);
}

/* Wherever it is cut, what was complete before is there. */
static void test_reading__json_cut_off(void **state)
{
    static const char whole[] =
        JSON_FEED("[{\"id\":\"1\",\"title\":\"a\",\"tags\":[\"x\",\"y\"]},"
                  "{\"id\":\"2\",\"content_text\":\"\\u00e9\\ud83d\\ude00\",\"n\":12}]");
    const char *first_end = strstr(whole, "},") + 1, *second_id = strstr(whole, "\"2\"") + 3;

    (void)state;
    for (size_t n = 2; n < sizeof whole - 1; n++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct parse_input in = {.body = str_of(whole, n)};
        struct feed_doc *doc = feed_parse(&a, &in);

        assert_true(doc->bozo);
        if (whole + n >= first_end) {
            assert_true(doc->n_entries >= 1);
            assert_int_equal(value_len(value_getz(doc->entries[0].obj, "tags")), 2);
        }
        if (whole + n >= second_id) {
            assert_int_equal(doc->n_entries, 2);
            assert_true(str_eqz(doc->entries[1].id, "2"));
        }
    }
}

/* What looks like an element left open means what it says while all tags match. */
static void test_reading__well_formed_nesting_is_left_alone(void **state)
{
    static const struct claim claims[] = {
        {RSS("<title>t</title><x:log xmlns:x='urn:x'><id>1<source>s</source><pubDate>d</pubDate>"
             "</id></x:log><link>http://l.org/</link>"),
         "bozo", "false"},
        {RSS("<id>1<comments>c</comments></id><title>t</title>"), "bozo", "false"},
        {RSS("<title>a<link>http://l.org/</link></item><item><title>b</title>"), "entries/0/link",
         "\"http://l.org/\""},
        {RSS("<title>a<link>http://l.org/</link></item><item><title>b</title>"), "entries/1/title",
         "\"b\""},
    };

    (void)state;
    CHECK(claims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading__unknown_elements_and_their_attributes),
        cmocka_unit_test(test_reading__namespaces_by_any_prefix),
        cmocka_unit_test(test_reading__repeated_elements),
        cmocka_unit_test(test_reading__titles_of_pictures_are_not_the_entrys),
        cmocka_unit_test(test_reading__addresses_of_authors),
        cmocka_unit_test(test_reading__content_that_is_no_base64),
        cmocka_unit_test(test_reading__well_formed_nesting_is_left_alone),
        cmocka_unit_test(test_reading__json_that_is_none),
        cmocka_unit_test(test_reading__json_cut_off),
        cmocka_unit_test(test_reading__moved_feed_names_its_new_address),
    };

    return cmocka_run_group_tests_name("reading", tests, NULL, NULL);
}
