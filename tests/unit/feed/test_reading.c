
#include "base/compiler.h"
#include "feed/read/parse.h"
#include "feed/text/json.h"
#include "tests/unit/cmocka_all.h"

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
static void test_reading__unknown_elements_and_their_attributes(void **state UNUSED)
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

    CHECK(claims);
}

/* OBJ-05 */
static void test_reading__namespaces_by_any_prefix(void **state UNUSED)
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

    CHECK(claims);
}

/* OBJ-06 */
static void test_reading__repeated_elements(void **state UNUSED)
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

    CHECK(claims);
}

static void test_reading__titles_of_pictures_are_not_the_entrys(void **state UNUSED)
{
    static const struct claim claims[] = {
        {RSS("<media:title>of the picture</media:title><title>mine</title>"), "entries/0/title",
         "\"mine\""},
        {RSS("<title>mine</title><media:title>of the picture</media:title>"), "entries/0/title",
         "\"mine\""},
        {RSS("<media:title>of the picture</media:title>"), "entries/0/title", "\"of the picture\""},
    };

    CHECK(claims);
}

static void test_reading__addresses_of_authors(void **state UNUSED)
{
    static const struct claim claims[] = {
        {RSS("<author>ann@a.org (Ann)</author>"), "entries/0/author_detail",
         "{\"name\":\"Ann\",\"email\":\"ann@a.org\"}"},
        {RSS("<author>Ann &lt;ann@a.org&gt;</author>"), "entries/0/author_detail",
         "{\"name\":\"Ann\",\"email\":\"ann@a.org\"}"},
        {RSS("<author>ann@a.org?subject=Hi (Ann)</author>"), "entries/0/author_detail",
         "{\"name\":\"Ann\",\"email\":\"ann@a.org?subject=Hi\"}"},
    };

    CHECK(claims);
}

static void test_reading__content_that_is_no_base64(void **state UNUSED)
{
    static const struct claim claims[] = {
        {ATOM("<content type='application/json'>{\"a\":1}</content>"), "entries/0/content/0/value",
         "\"{\\\"a\\\":1}\""},
        {ATOM("<content type='application/ld+json'>{\"a\":1}</content>"),
         "entries/0/content/0/value", "\"{\\\"a\\\":1}\""},
        {ATOM("<content type='image/x'>aGFsbG8=</content>"), "entries/0/content/0/value",
         "\"hallo\""},
    };

    CHECK(claims);
}

static void test_reading__moved_feed_names_its_new_address(void **state UNUSED)
{
    static const struct claim claims[] = {
        {"<rss version='2.0'><channel><newLocation>/new</newLocation></channel></rss>",
         "feed/newlocation", "\"http://base.org/new\""},
    };

    CHECK(claims);
}

/* A second author brings nothing of the first one's. */
static void test_reading__details_of_the_last_author(void **state UNUSED)
{
    static const struct claim claims[] = {
        {ATOM("<author><name>Ann</name><email>ann@e.org</email></author>"
              "<author><name>Bob</name><uri>http://b.org/</uri></author>"),
         "entries/0/author_detail", "{\"name\":\"Bob\",\"href\":\"http://b.org/\"}"},
        {ATOM("<author><name>Ann</name><email>ann@e.org</email></author>"
              "<author><name>Bob</name><uri>http://b.org/</uri></author>"),
         "entries/0/authors/0", "{\"name\":\"Ann\",\"email\":\"ann@e.org\"}"},
    };

    CHECK(claims);
}

static void test_reading__brackets_of_an_author_stay_together(void **state UNUSED)
{
    static const struct claim claims[] = {
        {RSS("<author>Ann (Editor) ann@e.org</author>"), "entries/0/author_detail/name",
         "\"Ann (Editor)\""},
        {RSS("<author>ann@e.org (Ann)</author>"), "entries/0/author_detail/name", "\"Ann\""},
        {RSS("<author>ann@e.org (Ann (Editor))</author>"), "entries/0/author_detail/name",
         "\"Ann (Editor)\""},
        {RSS("<author>ann@e.org (Ann</author>"), "entries/0/author_detail/name", "\"Ann\""},
        {RSS("<author>ann@e.org Ann)</author>"), "entries/0/author_detail/name", "\"Ann\""},
    };

    CHECK(claims);
}

/* What is understood has a name, so that nobody takes it for something else. */
static void test_reading__every_dialect_is_named(void **state UNUSED)
{
    static const struct claim claims[] = {
        {"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
         "xmlns='http://channel.netscape.com/rdf/simple/0.9/'><item><title>a</title></item></"
         "r:RDF>",
         "version", "\"rss090\""},
        {"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='urn:unknown'>"
         "<item><title>a</title></item></r:RDF>",
         "version", "\"rss\""},
        {"<news><item><description>a</description></item></news>", "version", "\"rss\""},
        {"<news><story>a</story></news>", "version", "\"\""},
    };

    CHECK(claims);
}

#define WITH_BASE(base)                                                                            \
    ATOM("<content type='html' xml:base='" base "'>&lt;img src='i.png'></content>")
#define IN_BASE(base)                                                                              \
    "<feed xmlns='http://www.w3.org/2005/Atom'><entry xml:base='http://e.org/d/'>"                 \
    "<content type='html' xml:base='" base "'>&lt;img src='i.png'></content></entry></feed>"

/* OBJ-10 */
static void test_reading__a_base_that_is_none_is_passed_over(void **state UNUSED)
{
    static const char inner[] = "\"<img src=\\\"http://e.org/d/i.png\\\" />\"";
    static const struct claim claims[] = {
        {IN_BASE("mailto:x@y"), "entries/0/content/0/value", inner},
        {IN_BASE("javascript:alert(1)"), "entries/0/content/0/value", inner},
        {IN_BASE("data:text/plain,x"), "entries/0/content/0/value", inner},
        {IN_BASE("urn:x"), "entries/0/content/0/value", inner},
        {WITH_BASE("mailto:x@y"), "entries/0/content/0/value",
         "\"<img src=\\\"http://base.org/i.png\\\" />\""},
        {IN_BASE("ftp://f.org/"), "entries/0/content/0/value",
         "\"<img src=\\\"ftp://f.org/i.png\\\" />\""},
    };

    CHECK(claims);
}

static void test_reading__a_content_location_that_is_no_base_is_passed_over(void **state UNUSED)
{
    static const char *const documents[] = {
        "<rss version='2.0'><channel><link>a</link></channel></rss>",
        "{\"version\":\"https://jsonfeed.org/version/1.1\",\"home_page_url\":\"a\",\"items\":[]}",
    };

    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct parse_input in = {.body = str_from(documents[i]),
                                 .url = STR("http://base.org/feed"),
                                 .content_location = STR("mailto:x@y")};

        assert_true(
            str_eqz(value_get_textz(feed_parse(&a, &in)->feed, "link"), "http://base.org/a"));
    }
}

/* Controls of C1 are characters of windows-1252, in attributes as in text. */
static void test_reading__c1_controls_in_attributes(void **state UNUSED)
{
    static const struct claim claims[] = {
        {RSS("<enclosure url='http://h/' title='a\xC2\x96z'/>"), "entries/0/links/0/title",
         "\"a\xE2\x80\x93z\""},
        {RSS("<p:x xmlns:p='urn:p' t='\xC2\x93q\xC2\x94'/>"), "entries/0/p_x/t",
         "\"\xE2\x80\x9Cq\xE2\x80\x9D\""},
    };

    CHECK(claims);
}

static void test_reading__kept_references_are_percent_encoded(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct parse_input in = {.body = STR(RSS("<p:x xmlns:p='urn:p' href='a b'/>")),
                             .url = STR("http://base.org/feed")};
    struct feed_doc *doc = feed_parse(&a, &in);

    assert_true(str_find(doc->entries[0].ext, STR("href=\"http://base.org/a%20b\"")) > 0);
}

static void test_reading__media_types_of_xml(void **state UNUSED)
{
    static const char *const types[] = {"text/xml-external-parsed-entity; charset=utf-8",
                                        "application/xml-external-parsed-entity", "text/xml",
                                        "image/svg+xml"};

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct parse_input in = {.body = STR("<rss version='2.0'><channel/></rss>"),
                                 .url = STR("http://base.org/feed"),
                                 .content_type = str_from(types[i])};

        assert_int_equal(feed_parse(&a, &in)->bozo, i == 3);
    }
}

static struct str moved(struct arena *a, const char *document)
{
    struct parse_input in = {.body = str_from(document), .url = STR("http://base.org/feed")};

    return feed_parse(a, &in)->moved_to;
}

static void test_reading__where_a_feed_has_moved_to(void **state UNUSED)
{
    static const struct {
        const char *document, *to;
    } rows[] = {
        {"<redirect><newLocation>http://n.org/feed</newLocation></redirect>", "http://n.org/feed"},
        {"<?xml version='1.0'?>\n<redirect>\n<newLocation>/new</newLocation></redirect>",
         "http://base.org/new"},
        {"<rss version='2.0'><channel><newLocation> http://n.org/feed "
         "</newLocation></channel></rss>",
         "http://n.org/feed"},
        {"<rss version='2.0' xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd'><channel>"
         "<itunes:new-feed-url>https://n.org/p</itunes:new-feed-url><item/></channel></rss>",
         "https://n.org/p"},
        {"<rss version='2.0'><channel><newLocation>mailto:x@y</newLocation></channel></rss>", NULL},
        {"<rss version='2.0'><channel><newLocation>feed</newLocation></channel></rss>", NULL},
        {RSS("<newLocation>http://n.org/</newLocation>"), NULL},
        {RSS("<title>a</title>"), NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct str to = moved(&a, rows[i].document);

        if (!str_eq(to, str_from(rows[i].to)) || str_is_null(to) != (rows[i].to == NULL))
            fail_msg("%s\nleads to %.*s", rows[i].document, STR_ARG(to));
    }
}

/* Where no tag is a word of HTML, the text is what it looks like. */
static void test_reading__text_with_brackets_is_not_markup(void **state UNUSED)
{
    static const struct claim claims[] = {
        {RSS("<description>%&lt;bitfield>x</description>"), "entries/0/summary",
         "\"%&lt;bitfield&gt;x\""},
        {RSS("<description>ann &lt;ann at host></description>"), "entries/0/summary",
         "\"ann &lt;ann at host&gt;\""},
        {RSS("<description>&lt;x onclick='a()'>y</description>"), "entries/0/summary", "\"y\""},
        {RSS("<description>&lt;custom-tag>y&lt;/custom-tag></description>"), "entries/0/summary",
         "\"y\""},
        {RSS("<description>a &lt;word> &lt;b>c&lt;/b></description>"), "entries/0/summary",
         "\"a  <b>c<\\/b>\""},
        {RSS("<description>&lt;word> &amp;amp; x</description>"), "entries/0/summary",
         "\"&amp; x\""},
        {ATOM("<summary type='html'>%&lt;bitfield>x</summary>"), "entries/0/summary", "\"%x\""},
    };

    CHECK(claims);
}

#define DOUBLED "<item><title>d\xC3\x83\xC2\xA9j\xC3\x83\xC2\xA0 vu</title></item>" /* surely */
#define CHANNEL(items) "<rss version='2.0'><channel>" items "</channel></rss>"

/* Whether a text was encoded twice is decided by what all texts of the document say. */
static void test_reading__doubled_text_by_the_document(void **state UNUSED)
{
    static const struct claim claims[] = {
        {CHANNEL("<item><title>Be\xC3\x84\xC2\x8D</title></item>" DOUBLED), "entries/0/title",
         "\"Be\xC4\x8D\""},
        {CHANNEL(DOUBLED "<item><title>Be\xC3\x84\xC2\x8D</title></item>"), "entries/1/title",
         "\"Be\xC4\x8D\""},
        {CHANNEL(DOUBLED), "entries/0/title", "\"d\xC3\xA9j\xC3\xA0 vu\""},
        /* no other text says so, or one says otherwise */
        {CHANNEL("<item><title>Be\xC3\x84\xC2\x8D</title></item>"), "entries/0/title",
         "\"Be\xC3\x84\xC2\x8D\""},
        {CHANNEL("<item><title>CAF\xC3\x89\xC2\xAE</title></item>" DOUBLED
                 "<item><title>caf\xC3\xA9</title></item>"),
         "entries/0/title", "\"CAF\xC3\x89\xC2\xAE\""},
        /* the no-break space at the end is half a letter */
        {CHANNEL("<item><title>citt\xC3\x83\xC2\xA0</title></item>" DOUBLED), "entries/0/title",
         "\"citt\xC3\xA0\""},
        {CHANNEL("<item><title>d\xC3\x83\xC2\xA9j\xC3\x83\xC2\xA0 </title></item>"),
         "entries/0/title", "\"d\xC3\xA9j\xC3\xA0\""},
        {CHANNEL("<item><title>AMANH\xC3\x83\xC2\xA0</title></item>"), "entries/0/title",
         "\"AMANH\xC3\x83\""},
    };

    CHECK(claims);
}

#define XML_CONTENT(inner) ATOM("<id>urn:a</id><content type='application/xml'>" inner "</content>")

/* Content that is XML stays the XML it was. */
static void test_reading__content_of_xml_keeps_names_and_namespaces(void **state UNUSED)
{
    static const struct claim claims[] = {
        {XML_CONTENT("<Invoice xmlns='urn:a' Total='5'><p:Line xmlns:p='urn:p' p:No='1'>a &amp; b"
                     "</p:Line></Invoice>"),
         "entries/0/content/0/xml",
         "\"<Invoice xmlns=\\\"urn:a\\\" Total=\\\"5\\\"><p:Line xmlns:p=\\\"urn:p\\\" "
         "p:No=\\\"1\\\">a &amp; b<\\/p:Line><\\/Invoice>\""},
        {XML_CONTENT("<Invoice xmlns='urn:a' Total='5'/>"), "entries/0/content/0/value", "\"\""},
        /* a script is left out, with what is in it */
        {XML_CONTENT(
             "<a xmlns='urn:a'><x:script xmlns:x='http://www.w3.org/1999/xhtml'>s<x:b>t</x:b>"
             "</x:script>u</a>"),
         "entries/0/content/0/xml", "\"<a xmlns=\\\"urn:a\\\">u<\\/a>\""},
    };

    CHECK(claims);
}

#define JSON_FEED(items) "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":" items "}"

static void test_reading__json_that_is_none(void **state UNUSED) /* OBJ-08, OBJ-09 */
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

    CHECK(claims);
}

/* Wherever it is cut, what was complete before is there. */
static void test_reading__json_cut_off(void **state UNUSED)
{
    static const char whole[] =
        JSON_FEED("[{\"id\":\"1\",\"title\":\"a\",\"tags\":[\"x\",\"y\"]},"
                  "{\"id\":\"2\",\"content_text\":\"\\u00e9\\ud83d\\ude00\",\"n\":12}]");
    const char *first_end = strstr(whole, "},") + 1, *second_id = strstr(whole, "\"2\"") + 3;

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
static void test_reading__well_formed_nesting_is_left_alone(void **state UNUSED)
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
        cmocka_unit_test(test_reading__details_of_the_last_author),
        cmocka_unit_test(test_reading__brackets_of_an_author_stay_together),
        cmocka_unit_test(test_reading__every_dialect_is_named),
        cmocka_unit_test(test_reading__a_base_that_is_none_is_passed_over),
        cmocka_unit_test(test_reading__a_content_location_that_is_no_base_is_passed_over),
        cmocka_unit_test(test_reading__c1_controls_in_attributes),
        cmocka_unit_test(test_reading__kept_references_are_percent_encoded),
        cmocka_unit_test(test_reading__media_types_of_xml),
        cmocka_unit_test(test_reading__where_a_feed_has_moved_to),
        cmocka_unit_test(test_reading__content_of_xml_keeps_names_and_namespaces),
        cmocka_unit_test(test_reading__doubled_text_by_the_document),
        cmocka_unit_test(test_reading__text_with_brackets_is_not_markup),
    };

    return cmocka_run_group_tests_name("reading", tests, NULL, NULL);
}
