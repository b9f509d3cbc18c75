#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "feed/read/parse.h"
#include "feed/read/whole.h"
#include "feed/text/json.h"

static struct feed_doc *parse(struct arena *a, struct str body)
{
    struct parse_input in = {.body = body, .url = STR("http://base.org/feed")};

    return feed_parse(a, &in);
}

#define PARSE(literal) parse(&a, STR(literal))

static struct str read_file(struct arena *a, const char *name)
{
    const char *root = getenv("FEEDMILL_SOURCE");
    char path[4096];
    struct str s;
    FILE *file;
    long n;

    (void)snprintf(path, sizeof path, "%s/tests/fixtures/feeds/%s", root == NULL ? "." : root,
                   name);
    file = fopen(path, "rb");
    if (file == NULL)
        return STR_NULL;
    (void)fseek(file, 0, SEEK_END);
    n = ftell(file);
    rewind(file);
    s.ptr = arena_alloc(a, (size_t)n + 1);
    s.len = fread((char *)(uintptr_t)s.ptr, 1, (size_t)n, file);
    (void)fclose(file);
    return s;
}

/* Every fixture and the object it must become, beside it. */
static const char *const fixtures[] = {
    "rss20_core.xml", "atom10_core.xml", "atom03.xml",         "rdf10.xml",       "cdf.xml",
    "extensions.xml", "bozo_mended.xml", "foreign_nested.xml", "jsonfeed11.json",
};

/* OBJ-01 to OBJ-09: one document of each kind, against its golden object. */
static void test_parse__fixtures_become_their_golden_objects(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(buf_release) struct buf got = BUF_INIT(BUF_ANY), want = BUF_INIT(BUF_ANY);
        struct str body = read_file(&a, fixtures[i]);
        struct value *object;
        char golden[256];

        (void)snprintf(golden, sizeof golden, "%.*s.golden.json",
                       (int)(strrchr(fixtures[i], '.') - fixtures[i]), fixtures[i]);
        assert_int_equal(RC_OK, json_read(&a, read_file(&a, golden), &object, NULL));
        json_write(&want, object);
        assert_false(str_is_null(body));
        json_write(&got, feed_doc_object(&a, parse(&a, body)));
        if (!str_eq(buf_view(&got), buf_view(&want)))
            fail_msg("%s became\n%s", fixtures[i], buf_view(&got).ptr);
    }
}

/* Cut anywhere, or with a wrong label, a document gives valid UTF-8 and never more entries. */
static void test_parse__fixtures_cut_and_mislabelled(void **state UNUSED)
{
    static const char *const labels[] = {"text/xml; charset=utf-16", "text/xml; charset=us-ascii",
                                         "application/xml; charset=iso-8859-1", "text/html"};

    for (size_t i = 0; i < ARRAY_LEN(fixtures); i++)
        for (size_t k = 0; k <= 16 + ARRAY_LEN(labels); k++) {
            AUTO(arena_release) struct arena a = ARENA_INIT;
            AUTO(buf_release) struct buf got = BUF_INIT(BUF_ANY);
            struct str body = read_file(&a, fixtures[i]);
            size_t n = parse(&a, body)->n_entries;
            struct parse_input in = {.body = k <= 16 ? str_slice(body, 0, body.len * k / 16) : body,
                                     .content_type = k <= 16 ? STR_NULL : str_from(labels[k - 17])};
            struct feed_doc *doc;

            /* a copy of its own, so that a read past its end is seen */
            in.body.ptr = memcpy(mem_alloc(in.body.len + 1), in.body.ptr, in.body.len);
            doc = feed_parse(&a, &in);
            mem_free((char *)(uintptr_t)in.body.ptr);
            assert_true(doc->n_entries <= n);
            if (k < 15)
                assert_true(doc->bozo);
            json_write(&got, feed_doc_object(&a, doc));
            assert_int_equal(str_utf8_valid(buf_view(&got)), got.len);
        }
}

static void check_text(struct str got, const char *want)
{
    if (want == NULL ? !str_is_null(got) : !str_eqz(got, want))
        fail_msg("got \"%.*s\", not \"%s\"", STR_ARG(got), want == NULL ? "(absent)" : want);
}

static void test_parse__normalized_fields(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<rss version='2.0'><channel><item><guid isPermaLink='false'> x </guid>"
              "<title/><link>/1</link><pubDate>Thu, 01 Jan 1970 00:01:00 GMT</pubDate>"
              "<author>j@e.org (J)</author></item></channel></rss>");
    struct doc_entry *e = doc->entries;

    assert_int_equal(doc->n_entries, 1);
    check_text(e->id, "x");
    check_text(e->title, NULL);
    check_text(e->link, "http://base.org/1");
    check_text(e->summary, NULL);
    check_text(e->author, "j@e.org (J)");
    assert_int_equal(e->published_at, 60);
    assert_true(e->updated_at == TIME_UNKNOWN);
    assert_int_equal(doc->family, FAMILY_RSS);
}

/* ATOM-11, RSS-14: foreign elements with nesting, attributes and all namespaces they need. */
static void test_parse__foreign_elements_as_xml(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<feed xmlns='http://www.w3.org/2005/Atom' xmlns:m='urn:m' xmlns:n='urn:n' "
              "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:a='http://www.w3.org/2005/Atom'>"
              "<m:head/><entry><a:id>1</a:id><dc:creator>Jo</dc:creator>"
              "<m:x n:k='1 &amp; &quot;2&quot;' j='3'>t &lt; u<n:y/><z/></m:x>"
              "<w xmlns='urn:w'><v>&amp;</v></w></entry></feed>");

    assert_false(doc->bozo);
    check_text(doc->ext, "<m:head xmlns:m=\"urn:m\"></m:head>");
    check_text(doc->entries[0].ext,
               "<m:x xmlns:m=\"urn:m\" xmlns:n=\"urn:n\" n:k=\"1 &amp; &quot;2&quot;\" j=\"3\">"
               "t &lt; u<n:y></n:y><z xmlns=\"http://www.w3.org/2005/Atom\"></z></m:x>"
               "<w xmlns=\"urn:w\"><v>&amp;</v></w>");
    check_text(value_get_textz(doc->entries[0].obj, "author"), "Jo");
}

/* An element that holds an entry is not kept as foreign: half of it never remains. */
static void test_parse__entries_in_foreign_elements(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc = PARSE(
        "<rss version='2.0' xmlns:m='urn:m' xmlns:at='http://purl.org/atompub/tombstones/1.0'>"
        "<channel><m:h/><m:w><m:v/><item><title>1</title><m:a>x</m:a></item><m:y/></m:w>"
        "<item><m:b/><m:c><m:d/><item><title>3</title><m:e/></item></m:c></item>"
        "<m:z><at:deleted-entry ref='r'><m:q/></at:deleted-entry></m:z></channel></rss>");

    assert_int_equal(doc->n_entries, 3);
    check_text(doc->ext, "<m:h xmlns:m=\"urn:m\"></m:h>");
    check_text(doc->entries[0].ext, "<m:a xmlns:m=\"urn:m\">x</m:a>");
    check_text(doc->entries[1].ext, "<m:b xmlns:m=\"urn:m\"></m:b>");
    check_text(doc->entries[2].ext, "<m:e xmlns:m=\"urn:m\"></m:e>");
    assert_int_equal(doc->n_tombstones, 1);
    check_text(doc->tombstones[0].ext,
               "<at:deleted-entry xmlns:at=\"http://purl.org/atompub/tombstones/1.0\" ref=\"r\">"
               "<m:q xmlns:m=\"urn:m\"></m:q></at:deleted-entry>");
}

/* An element that needs more declarations than are kept in mind is left out as a whole. */
static void test_parse__foreign_element_with_many_namespaces(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    struct feed_doc *doc;

    buf_puts(&b, "<rss version='2.0'><channel xmlns:m='urn:m'><item>");
    for (int i = 0; i < 75; i++) {
        if (i % 25 == 0)
            buf_puts(&b, i == 0 ? "<m:x" : "><m:x");
        buf_printf(&b, " xmlns:n%d='urn:%d' n%d:k='v'", i, i, i);
    }
    buf_puts(&b, "><m:y/></m:x></m:x></m:x><m:z/></item></channel></rss>");
    doc = parse(&a, buf_view(&b));
    assert_int_equal(doc->n_entries, 1);
    check_text(doc->entries[0].ext, "<m:z xmlns:m=\"urn:m\"></m:z>");
}

static void test_parse__first_root_says_what_it_is(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<rss version='2.0' xmlns:m='urn:m'><channel><m:x><rss version='0.91'/><feed/>"
              "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/></m:x></channel>"
              "</rss>");

    assert_int_equal(doc->family, FAMILY_RSS);
    check_text(doc->version, "rss20");
}

static void test_parse__reasons_are_text(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct parse_input in = {.body = STR("<rss version='2.0'/>"),
                             .content_type = STR("image/\xFFpng\x01")};

    check_text(feed_parse(&a, &in)->bozo_why,
               "It was sent as image/?png , which is not a type for XML");
}

/* Names with two colons or none where one should be, and attributes given twice, would make any
 * document ill-formed that the element is copied to. */
static void test_parse__what_is_ill_formed_is_not_kept(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<rss version='2.0' xmlns:m='urn:m'><channel><item><m:a:b/><m:c :k='1' m:i:j='2' "
              "l='3'><m:d:e>x</m:d:e><m:f b=1 c='2' b='3' m:b='4'/></m:c></item></channel></rss>");

    assert_int_equal(doc->n_entries, 1);
    check_text(doc->entries[0].ext,
               "<m:c xmlns:m=\"urn:m\" l=\"3\"><m:f b=\"1\" c=\"2\" m:b=\"4\"></m:f></m:c>");
}

/* As in members: what looks like a C1 control was meant as windows-1252. */
static void test_parse__c1_controls_in_foreign_elements(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc = PARSE("<rss version='2.0' xmlns:m='urn:m'><channel><item>"
                                 "<m:a k='&#x93;q'>it\xC2\x92s</m:a></item></channel></rss>");

    check_text(doc->entries[0].ext, "<m:a xmlns:m=\"urn:m\" k=\"“q\">it’s</m:a>");
    check_text(value_get_textz(doc->entries[0].obj, "m_a"), "it’s");
}

/* OBJ-11: a browser runs XHTML and SVG scripts in any XML document it is shown. Namespaces that are
 * no URIs go the same way. */
static void test_parse__executable_elements_are_not_kept(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<feed xmlns='http://www.w3.org/2005/Atom' xmlns:h='http://www.w3.org/1999/xhtml' "
              "xmlns:m='urn:m'><h:script>alert(1)</h:script><entry>"
              "<script xmlns='http://www.w3.org/1999/xhtml'>alert(1)</script>"
              "<xhtml:script>undeclared</xhtml:script><p:q xmlns:p='u &lt;b'/><m:x>a<h:script>b"
              "</h:script><svg xmlns='http://www.w3.org/2000/svg' onload='c'><m:y/></svg></m:x>"
              "</entry></feed>");

    check_text(doc->ext, "");
    check_text(doc->entries[0].ext, "<m:x xmlns:m=\"urn:m\">a</m:x>");
}

/* Lists and numbers that readers rely on are ours to make, whatever the document calls its own. */
static void test_parse__shaped_members_are_not_taken_from_documents(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"1\","
              "\"published_parsed\":[9223372036854775807,1,-9223372036854775807,9999999,\"x\",1],"
              "\"links\":3,\"enclosures\":\"x\",\"content\":\"y\",\"title_detail\":4,"
              "\"_own\":5}]}");
    const struct value *obj = doc->entries[0].obj;

    assert_int_equal(doc->n_entries, 1);
    assert_true(doc->entries[0].published_at == TIME_UNKNOWN);
    assert_int_equal(value_len(obj), 2);
    assert_int_equal(value_get_int(obj, STR("_own"), 0), 5);
    doc = PARSE("<rss version='2.0'><channel><item><category>c</category><tags>a</tags><links>b"
                "</links></item></channel></rss>");
    obj = doc->entries[0].obj;
    check_text(value_get_textz(value_at(value_getz(obj, "tags"), 0), "term"), "c");
    assert_null(value_getz(obj, "links"));
}

static void test_parse__undeclared_prefix_is_taken_by_custom(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<rss version='2.0'><channel><item><dc:creator>Jo</dc:creator>"
              "<slash:comments>1</slash:comments><foo:x/></item></channel></rss>");

    assert_true(doc->bozo);
    check_text(value_get_textz(doc->entries[0].obj, "author"), "Jo");
    check_text(doc->entries[0].ext,
               "<slash:comments xmlns:slash=\"http://purl.org/rss/1.0/modules/slash/\">1"
               "</slash:comments>");
}

static void test_parse__hints(void **state UNUSED) /* SCHED-16 */
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<rss version='2.0' xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'><channel>"
              "<ttl>120</ttl><skipHours><hour>0</hour><hour>23</hour><hour>77</hour></skipHours>"
              "<skipDays><day>Monday</day><day>Sunday</day></skipDays>"
              "<sy:updateFrequency>2</sy:updateFrequency><sy:updatePeriod>daily</sy:updatePeriod>"
              "</channel></rss>");

    assert_int_equal(doc->hints.ttl_s, 7200);
    assert_int_equal(doc->hints.skip_hours, 1u | 1u << 23);
    assert_int_equal(doc->hints.skip_days, 1 | 1 << 6);
    assert_int_equal(doc->hints.sy_period_s, 43200);
    doc = PARSE("<rss version='2.0'><channel><ttl>99999999999</ttl></channel></rss>");
    assert_int_equal(doc->hints.ttl_s, 366 * 86400); /* not less than what is shorter */
    doc = PARSE("<rss version='2.0'><channel><ttl>99999999999999999999999</ttl></channel></rss>");
    assert_int_equal(doc->hints.ttl_s, 366 * 86400);
}

static void test_parse__history_marks_and_tombstones(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<feed xmlns='http://www.w3.org/2005/Atom' "
              "xmlns:at='http://purl.org/atompub/tombstones/1.0' "
              "xmlns:fh='http://purl.org/syndication/history/1.0'><title>T</title><fh:complete/>"
              "<at:deleted-entry ref='tag:e.org,2004:1' when='1970-01-01T00:00:09Z'>"
              "<at:comment>gone</at:comment><title>no</title></at:deleted-entry>"
              "<at:deleted-entry ref='2'/></feed>");

    assert_true(doc->complete);
    assert_false(doc->archive);
    assert_int_equal(doc->n_tombstones, 2);
    check_text(doc->tombstones[0].ref, "tag:e.org,2004:1");
    assert_int_equal(doc->tombstones[0].when_at, 9);
    check_text(
        doc->tombstones[0].ext,
        "<at:deleted-entry xmlns:at=\"http://purl.org/atompub/tombstones/1.0\" "
        "ref=\"tag:e.org,2004:1\" when=\"1970-01-01T00:00:09Z\"><at:comment>gone</at:comment>"
        "<title xmlns=\"http://www.w3.org/2005/Atom\">no</title></at:deleted-entry>");
    assert_true(doc->tombstones[1].when_at == TIME_UNKNOWN);
    check_text(value_get_textz(doc->feed, "title"), "T");
    check_text(doc->ext, "");
}

static void test_parse__bases_in_their_order(void **state UNUSED) /* OBJ-10 */
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct parse_input in = {
        .body = STR("<feed xmlns='http://www.w3.org/2005/Atom'><link href='a'/>"
                    "<entry xml:base='http://x.org/y/'><link href='b'/>"
                    "<content type='html'>&lt;img src='i.png'&gt;</content></entry></feed>"),
        .url = STR("http://u.org/f"),
        .content_location = STR("/sub/g"),
    };
    struct feed_doc *doc = feed_parse(&a, &in);

    check_text(value_get_textz(doc->feed, "link"), "http://u.org/sub/a");
    check_text(doc->entries[0].link, "http://x.org/y/b");
    assert_true(str_find(doc->entries[0].summary, STR("http://x.org/y/i.png")) > 0);
}

static void test_parse__content_is_sanitized(void **state UNUSED) /* OBJ-11 */
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc =
        PARSE("<rss version='2.0'><channel><item><description>&lt;b onclick='x()'&gt;t&lt;/b&gt;"
              "&lt;script&gt;alert(1)&lt;/script&gt;</description></item></channel></rss>");

    check_text(doc->entries[0].summary, "<b>t</b>");
}

/* The setting of a feed: in every format HTML is then what the publisher wrote. */
static void test_parse__raw_html_is_as_it_was_written(void **state UNUSED)
{
    static const char *const bodies[] = {
        "<rss version='2.0'><channel><item><description>&lt;b onclick='x()'&gt;&lt;a href='i'&gt;t"
        "&lt;/a&gt;&lt;/b&gt;</description></item></channel></rss>",
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry><content type='html'>&lt;b onclick='x()'"
        "&gt;&lt;a href='i'&gt;t&lt;/a&gt;&lt;/b&gt;</content></entry></feed>",
        "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"1\","
        "\"content_html\":\"<b onclick='x()'><a href='i'>t</a></b>\"}]}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        for (int raw = 0; raw < 2; raw++) {
            AUTO(arena_release) struct arena a = ARENA_INIT;
            struct parse_input in = {
                .body = str_from(bodies[i]), .url = STR("http://u.org/f"), .raw_html = raw};
            const struct feed_doc *doc = feed_parse(&a, &in);
            struct str text = value_get_textz(doc->entries[0].obj, "summary");

            if (str_is_null(text))
                text = value_get_textz(value_at(value_getz(doc->entries[0].obj, "content"), 0),
                                       "value");
            check_text(text, raw ? "<b onclick='x()'><a href='i'>t</a></b>"
                                 : "<b><a href=\"http://u.org/i\">t</a></b>");
        }
    }
}

static void test_parse__junk_in_front_is_skipped(void **state UNUSED) /* OBJ-08 */
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_doc *doc = PARSE("<br />\n<b>Warning</b>: foo() in x.php\n<?xml version='1.0'?>"
                                 "<rss version='2.0'><channel><item><title>t</title></item>"
                                 "</channel></rss>");

    assert_true(doc->bozo);
    check_text(doc->version, "rss20");
    assert_int_equal(doc->n_entries, 1);
}

#define LINK "<link rel=alternate type=application/rss+xml href=/f>"
#define SAMPLE                                                                                     \
    "<rss version='2.0'><channel><title>T</title><item><title>t</title></item></channel></rss>"
#define LICENCE                                                                                    \
    "<svg><metadata><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"             \
    "<cc:Work/></rdf:RDF></metadata></svg>"

/* DISC-01, DISC-05, DISC-06, ETIQ-05: samples and pieces of feeds make no feed of a page */
static void test_parse__a_page_is_not_a_feed_whatever_it_contains(void **state UNUSED)
{
    static const char *const rows[] = {
        "<!DOCTYPE html><html><head><meta name=d content='<rss/>'>" LINK "</head>",
        "<!DOCTYPE html><html><head>" LINK "</head><body><div title='<rss version=2.0>'>x</div>",
        "<!doctype HTML>" LINK "<pre>" SAMPLE "</pre>",
        "<head><link href='data:text/xml,<rss/>'>" LINK,
        "<head><script>var x = \"" SAMPLE "\";</script>" LINK,
        "<html><body><textarea>" SAMPLE "</textarea>" LINK,
        "\xEF\xBB\xBF <?xml version='1.0'?><!-- <x> --><html><head>" LINK "</head><pre>" SAMPLE
        "</pre>",
        "<html><head>" LINK "</head><body><xmp><feed><entry><title>x</title></entry></feed></xmp>",
        "<html><head>" LINK "</head><body>Write <rss><channel><title>x</title></channel></rss>",
        "<title>About <rss> in HTML</title>" LINK,
        "<!DOCTYPE html><html><head>" LINK "</head><body>" LICENCE,
        "<body>" LICENCE,
        "<br /><b>Warning</b>: x<html><head>" LINK "</head>" SAMPLE "</html>"};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed_doc *doc = parse(&a, str_from(rows[i]));

        if (doc->version.len > 0 || !feed_looks_like_html(str_from(rows[i])))
            fail_msg("%s: %.*s", rows[i], STR_ARG(doc->version));
        assert_int_equal(doc->n_entries, 0);
        check_text(doc->bozo_why, "It is an HTML page, not a feed");
    }
}

/* DISC-06: drawings and elements of other names are not feeds, with or without a page around them
 */
static void test_parse__what_is_only_named_like_a_root_is_no_feed(void **state UNUSED)
{
    static const char *const rows[] = {"<?xml version='1.0'?>" LICENCE,
                                       "<div><feed></feed></div>" LINK, "<p>x</p><rss/>",
                                       LINK "<p title='<rss>'>x"};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed_doc *doc = parse(&a, str_from(rows[i]));

        if (doc->version.len > 0 || !doc->bozo)
            fail_msg("%s: %.*s", rows[i], STR_ARG(doc->version));
    }
}

/* OBJ-08: a second byte order mark is text before the document */
static void test_parse__an_empty_feed_after_text_is_a_feed(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    check_text(
        PARSE("\xEF\xBB\xBF\xEF\xBB\xBF<feed xmlns='http://www.w3.org/2005/Atom'></feed>")->version,
        "atom10");
}

/* OBJ-08: junk in front, pieces of HTML included, does not hide a feed */
static void test_parse__a_feed_is_found_after_pieces_of_html(void **state UNUSED)
{
    static const char *const rows[] = {
        "\n\n" SAMPLE,
        "Notice: x < y " SAMPLE,
        "<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 4.01//EN'>" SAMPLE,
        "<br />\n<font size='1'><table class='xdebug-error' "
        "dir=ltr><tr><th>x</th></table></font>" SAMPLE,
        "<meta http-equiv='Content-Type' content='text/html; charset=utf-8'>" SAMPLE,
        "<script>var x = '<rss><channel>';</script><style>p {}</style><?xml version='1.0'?>" SAMPLE,
        "<script src='x'/>" SAMPLE,
        "<b <a <rss version='2.0'><channel><title>T</title><item><title>t</title></item></channel>",
        "<a href='/x>x</a><?xml version='1.0'?>" SAMPLE,
        "<pre>" SAMPLE "</pre>",
        "<html><head></head><body>\n" SAMPLE "</body></html>",
        "<!DOCTYPE html><html><head><title>x</title></head><body>Error</body></html>\n"
        "<?xml version='1.0'?>" SAMPLE};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed_doc *doc = parse(&a, str_from(rows[i]));

        if (!str_eqz(doc->version, "rss20") || doc->n_entries != 1 ||
            !str_eqz(value_get_textz(doc->feed, "title"), "T") ||
            feed_looks_like_html(str_from(rows[i])))
            fail_msg("%s: %.*s, %zu entries", rows[i], STR_ARG(doc->version), doc->n_entries);
    }
}

static void test_parse__looking_for_the_document_takes_linear_time(void **state UNUSED)
{
    static const char *const pieces[] = {"<!--", "<?", "<![>", "<a ", "<a b='", "<style>"};
    static char text[64 * 1024];
    int64_t from = cpu_ns() / 1000000;

    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        size_t n = strlen(pieces[i]);

        for (size_t at = 0; at < sizeof text; at++)
            text[at] = pieces[i][at % n];
        for (int round = 0; round < 30; round++)
            assert_false(feed_looks_like_html(str_of(text, sizeof text)));
    }
    assert_true(cpu_ns() / 1000000 - from < 5000); /* milliseconds; half a minute if squared */
}

static void test_parse__what_is_no_feed_says_why(void **state UNUSED)
{
    static const struct {
        const char *body, *why;
    } rows[] = {{"<!DOCTYPE html><html><body>x</body></html>", "HTML"},
                {"{\"a\": 1}", "JSON"},
                {"{", "JSON"},
                {"", "element"},
                {"<foo>bar</foo>", "not a feed"},
                {"plain text", "root"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed_doc *doc = parse(&a, str_from(rows[i].body));

        check_text(doc->version, "");
        assert_true(doc->bozo);
        assert_int_equal(doc->n_entries, 0);
        if (str_find(doc->bozo_why, str_from(rows[i].why)) < 0)
            fail_msg("%s: %.*s", rows[i].body, STR_ARG(doc->bozo_why));
    }
    assert_true(feed_looks_like_html(STR("\n<HTML><head>")));
    assert_false(feed_looks_like_html(STR("<?xml version='1.0'?><rss><channel><title>x")));
}

static void test_parse__entries_are_bounded(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    struct feed_doc *doc;

    buf_puts(&in, "<rss version='2.0'><channel>");
    for (int i = 0; i < LIMIT_FEED_ENTRIES + 5; i++)
        buf_puts(&in, "<item/>");
    buf_puts(&in, "</channel></rss>");
    doc = parse(&a, buf_view(&in));
    assert_int_equal(doc->n_entries, LIMIT_FEED_ENTRIES);
    assert_int_equal(doc->n_cut, 5);
    assert_false(doc->bozo);
}

/* Thousands of names, tags, attributes and namespaces in one entry: nothing grows with their
 * square. */
static void test_parse__many_of_everything_in_one_entry(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    struct feed_doc *doc;
    int64_t from = cpu_ns() / 1000000;

    buf_puts(&in, "<rss version='2.0'><channel><item>");
    for (int i = 0; i < 20000; i++)
        buf_printf(&in, "<n%d/><category>c%d</category><p%d:x xmlns:p%d='urn:%d' a%d='1'/>", i, i,
                   i, i, i, i);
    buf_puts(&in, "<a");
    for (int i = 0; i < 20000; i++)
        buf_printf(&in, " b%d='1'", i);
    buf_puts(&in, "/></item></channel></rss>");
    doc = parse(&a, buf_view(&in));
    assert_int_equal(doc->n_entries, 1);
    assert_true(value_len(doc->entries[0].obj) <= 1200);
    assert_true(cpu_ns() / 1000000 - from < 10000);
}

/* The same for the members and tags of one JSON item. */
static void test_parse__many_members_in_one_json_item(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    struct feed_doc *doc;
    int64_t from = cpu_ns() / 1000000;

    buf_puts(&in, "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{\"id\":\"1\"");
    for (int i = 0; i < 100000; i++)
        buf_printf(&in, ",\"k%d\":1", i);
    buf_puts(&in, "}]}");
    doc = parse(&a, buf_view(&in));
    assert_int_equal(doc->n_entries, 1);
    assert_true(value_len(doc->entries[0].obj) <= 600);
    assert_true(cpu_ns() / 1000000 - from < 10000);
}

/* Entries as weblogs write them, of about `html_len` bytes and what belongs to it. */
static void make_large(struct buf *out, bool is_atom, size_t n, size_t html_len)
{
    buf_puts(out, is_atom ? "<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title>"
                          : "<rss version='2.0'><channel><title>F</title>");
    for (size_t i = 0; i < n; i++) {
        size_t end;

        buf_printf(out,
                   is_atom ? "<entry><title>Caf\xc3\xa9 and a headline</title><id>urn:%zu</id>"
                             "<link href='/e/%zu'/><published>2024-05-01T10:00:00Z</published>"
                             "<updated>2024-05-02T10:00:00Z</updated><author><name>A Writer</name>"
                             "</author><category term='one'/><content type='html'>"
                           : "<item><title>Caf\xc3\xa9 and a headline</title><guid>urn:%zu</guid>"
                             "<link>http://a.org/e/%zu</link>"
                             "<pubDate>Wed, 01 May 2024 10:00:00 GMT</pubDate>"
                             "<author>A Writer</author><category>one</category><description>",
                   i, i);
        for (end = out->len + html_len; out->len < end;)
            buf_puts(out,
                     "&lt;p&gt;Words and &lt;a href='/na\xc3\xafve'&gt;a link&lt;/a&gt; between "
                     "words, and some more of them in the same paragraph.&lt;/p&gt;");
        buf_puts(out, is_atom ? "</content></entry>" : "</description></item>");
    }
    buf_puts(out, is_atom ? "</feed>" : "</channel></rss>");
}

static void test_parse__memory_is_bounded_by_the_document(void **state UNUSED)
{
    for (int i = 0; i < 4; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(buf_release) struct buf doc = BUF_INIT(BUF_ANY);

        make_large(&doc, i % 2 == 1, 4000, i < 2 ? 3000 : 500);
        assert_int_equal(parse(&a, buf_view(&doc))->n_entries, 4000);
        assert_true(arena_size(&a) <= 4 * doc.len);
    }
}

static void test_parse__same_bytes_same_result(void **state UNUSED) /* OBJ-12 */
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf x = BUF_INIT(BUF_ANY), y = BUF_INIT(BUF_ANY);
    struct str body = read_file(&a, "extensions.xml");

    json_write(&x, feed_doc_object(&a, parse(&a, body)));
    json_write(&y, feed_doc_object(&a, parse(&a, body)));
    assert_true(str_eq(buf_view(&x), buf_view(&y)));
}

/* An address that the publisher chose (by a redirect) stands in every text's detail. */
static void test_parse__a_long_address_is_not_repeated(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *url = arena_alloc(&a, 16001);
    struct parse_input in = {.body = STR("<rss version='2.0'><channel><item><title>t</title>"
                                         "<link>x</link></item></channel></rss>")};
    const struct feed_doc *doc;
    const struct value *detail;

    memset(url, 'a', 16000);
    memcpy(url, "http://h.org/", 13);
    url[16000] = '\0';
    in.url = str_from(url);
    doc = feed_parse(&a, &in);
    detail = value_getz(doc->entries[0].obj, "title_detail");
    assert_int_equal(0, value_get_textz(detail, "base").len);
    assert_true(str_eqz(doc->entries[0].link, "http://h.org/x"));
}

/* A piece of a Smart Feed: deleted items are deletions, and a change of its cursors is not news of
 * the feed. */
static void test_parse__smart_feed(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct parse_input in = {
        .body =
            STR("<feed xmlns='http://www.w3.org/2005/Atom' xmlns:f="
                "'http://fanout.org/protocol/atom'><f:total>7</f:total><f:last_cursor> c9 "
                "</f:last_cursor><entry><id>urn:ab:1</id><title>one</title><f:id>urn:ab:1</f:id>"
                "</entry><entry><id>urn:ab:2</id><title>Deleted</title><updated>"
                "2020-01-02T03:04:05Z</updated><content/><f:id>urn:ab:2</f:id>"
                "<f:deleted>true</f:deleted></entry></feed>")};
    const struct feed_doc *doc = feed_parse(&a, &in);

    assert_true(str_eqz(doc->cursor, "c9"));
    assert_int_equal(1, doc->n_entries);
    assert_true(str_eqz(doc->entries[0].id, "urn:ab:1"));
    assert_null(value_getz(doc->entries[0].obj, "fo_id"));
    assert_null(value_getz(doc->feed, "fo_total"));
    assert_int_equal(1, doc->n_tombstones);
    assert_true(str_eqz(doc->tombstones[0].ref, "urn:ab:2"));
    assert_int_equal(1577934245, doc->tombstones[0].when_at);
    assert_int_equal(7, doc->n_total);
    assert_false(doc->has_next);
    assert_true(str_is_null(doc->prev_cursor));
    assert_int_equal(0, doc->ext.len);
    assert_int_equal(0, doc->entries[0].ext.len);
    in.body = STR("<rss version='2.0'><channel><title>t</title></channel></rss>");
    assert_true(str_is_null(feed_parse(&a, &in)->cursor));
    in.body = STR("<feed xmlns='http://www.w3.org/2005/Atom' xmlns:fo="
                  "'http://fanout.org/protocol/atom'><link rel='next' href='?n'/><fo:last_cursor/>"
                  "<fo:prev_cursor>a&lt;&amp;b</fo:prev_cursor><entry><fo:id>only</fo:id>"
                  "<title>t</title></entry></feed>");
    doc = feed_parse(&a, &in);
    assert_true(!str_is_null(doc->cursor) && doc->cursor.len == 0);
    assert_true(str_eqz(doc->prev_cursor, "a<&b"));
    assert_true(doc->has_next);
    assert_true(str_eqz(doc->entries[0].id, "only"));
}

static const struct value *link_of(const struct value *dict, const char *rel)
{
    const struct value *list = value_getz(dict, "links");

    for (size_t i = 0; i < value_len(list); i++)
        if (str_eqz(value_get_textz(value_at(list, i), "rel"), rel))
            return value_at(list, i);
    return NULL;
}

/* SMARTC-01: a collection of ActivityStreams 1.0; what is said of the object counts first.
 */
static void test_parse__activities(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct parse_input in = {
        .url = STR("http://h/s?since=x"),
        .content_type = STR("application/json"),
        .body = STR(
            "{\"count\":3,\"totalItems\":70,\"url\":\"http://h/s\",\"last_cursor\":\"c/9\","
            "\"next\":\"http://h/s?since=cursor%3Ac\",\"items\":[{\"id\":\"urn:1\",\"verb\":"
            "\"post\",\"published\":\"2020-01-02T03:04:05Z\",\"updated\":\"2020-01-03T03:04:05Z\","
            "\"title\":\"Ann wrote\",\"actor\":{\"objectType\":\"person\",\"displayName\":"
            "\"Ann\"},\"provider\":{\"displayName\":\"P\"},\"object\":{\"id\":\"urn:o\","
            "\"displayName\":\"A & B\",\"content\":\"<p onclick=x>text</p>\",\"summary\":\"s\","
            "\"url\":\"/one\",\"published\":\"2001-01-01T00:00:00Z\",\"tags\":[{\"displayName\":"
            "\"red\"}],\"attachments\":[{\"url\":\"http://h/f.mp3\",\"mimeType\":\"audio/mpeg\","
            "\"fileSize\":9}],\"image\":{\"url\":\"http://h/i.png\"}}},"
            "{\"id\":\"urn:2\",\"updated\":\"2020-01-04T03:04:05Z\",\"deleted\":true,\"object\":"
            "{\"id\":\"urn:2\",\"updated\":\"2001-01-01T00:00:00Z\"}},"
            "{\"id\":3,\"title\":\"flat\",\"content\":\"whole\",\"deleted\":false,\"updated\":"
            "\"2020-01-05T00:00:00Z\",\"actor\":{\"objectType\":\"service\",\"displayName\":"
            "\"robot\"}}]}")};
    const struct feed_doc *doc = feed_parse(&a, &in);
    const struct value *one, *flat;

    assert_false(doc->bozo);
    assert_true(str_eqz(doc->version, "as1"));
    assert_true(str_eqz(doc->cursor, "c/9"));
    assert_true(doc->has_next);
    assert_int_equal(70, doc->n_total);
    assert_true(str_eqz(value_get_textz(doc->feed, "title"), "P"));
    assert_true(str_eqz(value_get_textz(link_of(doc->feed, "self"), "href"), "http://h/s"));
    assert_null(link_of(doc->feed, "next"));
    assert_int_equal(2, doc->n_entries);
    one = doc->entries[0].obj;
    assert_true(str_eqz(doc->entries[0].id, "urn:1"));
    assert_true(str_eqz(doc->entries[0].title, "A & B"));
    assert_true(str_eqz(doc->entries[0].link, "http://h/one"));
    assert_true(str_eqz(doc->entries[0].summary, "s"));
    assert_true(str_eqz(doc->entries[0].author, "Ann"));
    assert_int_equal(978307200, doc->entries[0].published_at);
    assert_int_equal(TIME_UNKNOWN, doc->entries[0].updated_at);
    assert_true(
        str_eqz(value_get_textz(value_at(value_getz(one, "content"), 0), "value"), "<p>text</p>"));
    assert_true(str_eqz(value_get_textz(value_at(value_getz(one, "tags"), 0), "term"), "red"));
    assert_true(str_eqz(value_get_textz(link_of(one, "enclosure"), "type"), "audio/mpeg"));
    assert_true(str_eqz(value_get_textz(one, "image"), "http://h/i.png"));
    flat = doc->entries[1].obj;
    assert_true(str_eqz(doc->entries[1].id, "3"));
    assert_true(str_eqz(doc->entries[1].title, "flat"));
    assert_true(str_eqz(doc->entries[1].summary, "whole"));
    assert_true(str_is_null(doc->entries[1].author));
    assert_null(value_getz(flat, "fo_deleted"));
    assert_int_equal(1, doc->n_tombstones);
    assert_true(str_eqz(doc->tombstones[0].ref, "urn:2"));
    assert_int_equal(1578107045, doc->tombstones[0].when_at);

    in.body = STR("{\"totalItems\":70,\"items\":[]}"); /* may leave out where it ends */
    doc = feed_parse(&a, &in);
    assert_true(str_eqz(doc->version, "as1"));
    assert_true(str_is_null(doc->cursor));
    in.body = STR("{\"items\":[{\"id\":1}]}");
    assert_int_equal(0, feed_parse(&a, &in)->version.len);
}

static void test_parse__the_end_of_a_text(void **state UNUSED)
{
    static const struct {
        const char *text;
        enum feed_end end;
    } cases[] = {
        {"<rss><item/></rss>\n<!-- kept in 0.2 s by <b>a cache</b> -->", FEED_END_WHOLE},
        {" <a:feed><a:entry/></a:feed >", FEED_END_WHOLE},
        {"<rdf:RDF><item>x</item></rdf:RDF><br />Warning: <", FEED_END_WHOLE},
        {"<rss><item>&</item></RSS>", FEED_END_WHOLE},
        {"{\"items\":[{\"a\":\"}{\\\"\"}]} ", FEED_END_WHOLE},
        {"", FEED_END_BETWEEN},
        {"<feed><entry></entry>", FEED_END_BETWEEN},
        {"<feed><entry><title>feed</title></entry></fe", FEED_END_BETWEEN},
        {"<rss><channel><item>a</item></channel>", FEED_END_BETWEEN},
        {"<feed>x <feed>", FEED_END_BETWEEN},
        {"{\"items\":\"]}", FEED_END_BETWEEN},
        {"{\"items\":[{\"a\":1},{\"b\":2}", FEED_END_BETWEEN},
        {"<rss><channel><item>", FEED_END_IN_ENTRY},
        {"<rss><item/><item><![CDATA[<p>a</p>", FEED_END_IN_ENTRY},
        {"{\"items\":[{\"a\":1},{\"b\":2", FEED_END_IN_ENTRY},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (feed_text_end(str_from(cases[i].text)) != cases[i].end)
            fail_msg("another end of %s was seen", cases[i].text);
}

/* Processor time that it takes to look for the end of this piece, a million times. */
static int64_t time_of_end(const char *piece)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);
    int64_t from;

    for (int i = 0; i < 1000000; i++)
        buf_puts(&text, piece);
    from = cpu_ns();
    assert_int_equal(FEED_END_BETWEEN, feed_text_end(buf_view(&text)));
    return cpu_ns() - from;
}

/* A name is not read on and on where the next tag begins. */
static void test_parse__the_end_of_many_tags(void **state UNUSED)
{
    int64_t apart = time_of_end("< ");

    assert_true(time_of_end("<") < 8 * apart + 20000000); /* some sixty times as long if it is */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse__fixtures_become_their_golden_objects),
        cmocka_unit_test(test_parse__a_long_address_is_not_repeated),
        cmocka_unit_test(test_parse__smart_feed),
        cmocka_unit_test(test_parse__activities),
        cmocka_unit_test(test_parse__fixtures_cut_and_mislabelled),
        cmocka_unit_test(test_parse__normalized_fields),
        cmocka_unit_test(test_parse__foreign_elements_as_xml),
        cmocka_unit_test(test_parse__first_root_says_what_it_is),
        cmocka_unit_test(test_parse__reasons_are_text),
        cmocka_unit_test(test_parse__entries_in_foreign_elements),
        cmocka_unit_test(test_parse__executable_elements_are_not_kept),
        cmocka_unit_test(test_parse__c1_controls_in_foreign_elements),
        cmocka_unit_test(test_parse__what_is_ill_formed_is_not_kept),
        cmocka_unit_test(test_parse__shaped_members_are_not_taken_from_documents),
        cmocka_unit_test(test_parse__foreign_element_with_many_namespaces),
        cmocka_unit_test(test_parse__undeclared_prefix_is_taken_by_custom),
        cmocka_unit_test(test_parse__hints),
        cmocka_unit_test(test_parse__history_marks_and_tombstones),
        cmocka_unit_test(test_parse__bases_in_their_order),
        cmocka_unit_test(test_parse__content_is_sanitized),
        cmocka_unit_test(test_parse__raw_html_is_as_it_was_written),
        cmocka_unit_test(test_parse__junk_in_front_is_skipped),
        cmocka_unit_test(test_parse__a_page_is_not_a_feed_whatever_it_contains),
        cmocka_unit_test(test_parse__what_is_only_named_like_a_root_is_no_feed),
        cmocka_unit_test(test_parse__an_empty_feed_after_text_is_a_feed),
        cmocka_unit_test(test_parse__a_feed_is_found_after_pieces_of_html),
        cmocka_unit_test(test_parse__looking_for_the_document_takes_linear_time),
        cmocka_unit_test(test_parse__what_is_no_feed_says_why),
        cmocka_unit_test(test_parse__entries_are_bounded),
        cmocka_unit_test(test_parse__many_of_everything_in_one_entry),
        cmocka_unit_test(test_parse__many_members_in_one_json_item),
        cmocka_unit_test(test_parse__memory_is_bounded_by_the_document),
        cmocka_unit_test(test_parse__same_bytes_same_result),
        cmocka_unit_test(test_parse__the_end_of_a_text),
        cmocka_unit_test(test_parse__the_end_of_many_tags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
