/* tests/documents/test_bombs.c - documents made to cost more than they weigh, made here at run time
 * because they are large. Each is a head, a piece repeated until the size is reached, and a tail;
 * it is read and written in every format (check_feed.h), at one size and at four times that. Four
 * times the length may cost four times the time, and some; not sixteen times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "feed/identity/identity.h"
#include "feed/lists/opml.h"
#include "feed/text/json.h"
#include "tests/documents/check_feed.h"
#include "tests/fuzz/bound.h"

#define SMALL (32 * 1024)
#define SLACK_NS 400000000LL

struct bomb {
    const char *name, *head, *piece, *tail; /* '@' in the piece: its number */
    size_t size;                            /* of the smaller one; 0: SMALL */
};

#define RSS "<rss version=\"2.0\"><channel><title>T</title>"
#define ITEM RSS "<item>"
#define END "</item></channel></rss>"
#define ATOM "<feed xmlns=\"http://www.w3.org/2005/Atom\">"
#define LONG_100                                                                                   \
    "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901" \
    "23"                                                                                           \
    "456789"
#define LONG_2000                                                                                  \
    LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100      \
        LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100 LONG_100
#define ENTITY_10(x, y)                                                                            \
    "<!ENTITY " x " \"&" y ";&" y ";&" y ";&" y ";&" y ";&" y ";&" y ";&" y ";&" y ";&" y ";\">"

static const struct bomb bombs[] = {
    {"entities_within_entities",
     "<!DOCTYPE rss [<!ENTITY a \"lollollollol\">" ENTITY_10("b", "a") ENTITY_10("c", "b")
         ENTITY_10("d", "c") ENTITY_10("e", "d") ENTITY_10("f", "e") ENTITY_10("g", "f") "]>" RSS,
     "<item><title>&g;&g;</title></item>", "</channel></rss>", 8 * 1024},
    {"a_long_entity_many_times", "<!DOCTYPE rss [<!ENTITY a \"" LONG_2000 LONG_2000 "\">]>" RSS,
     "<item><description>&a;&a;&a;&a;</description></item>", "</channel></rss>", 0},
    {"many_entities", "<!DOCTYPE rss [", "<!ENTITY e@ \"x\">", "]>" ITEM "<title>&e1;</title>" END,
     0},
    {"a_doctype_that_never_ends", "<!DOCTYPE rss [", "<!ELEMENT a (b|c)> [ ", "", 0},
    {"elements_nested", ITEM, "<a>", "", 0},
    {"elements_nested_with_namespaces", ITEM, "<p@:a xmlns:p@=\"urn:@\">", "", 0},
    {"attributes_of_one_element", ITEM "<x:y ", "a@=\"v\" ", "/>" END, 0},
    {"attributes_of_one_name", ITEM "<x:y ", "a=\"v\" ", "/>" END, 0},
    {"attributes_without_values", ITEM "<x:y ", "a@ ", "/>" END, 0},
    {"a_long_element_name", ITEM "<x:", "abcdefgh", ">v</x>" END, 0},
    {"a_long_attribute_name", ITEM "<x:y ", "abcdefgh", "=\"v\"/>" END, 0},
    {"a_long_attribute_value", ITEM "<x:y a=\"", "abcdefgh", "\"/>" END, 0},
    {"a_quote_that_never_ends", ITEM "<x:y a=\"", "b=c d=\"", "", 0},
    {"namespaces_declared", "<rss version=\"2.0\"", " xmlns:n@=\"urn:example:@\"",
     "><channel><item><n7:a>v</n7:a>" END, 0},
    {"a_long_namespace_used_often",
     "<rss version=\"2.0\" xmlns:x=\"urn:" LONG_2000 "\"><channel><item>", "<x:a/>", END, 0},
    {"a_long_base_used_often", ATOM "<entry xml:base=\"http://h/" LONG_100 "/\">",
     "<link href=\"a\"/>", "</entry></feed>", 0},
    {"a_long_base_in_html",
     ATOM "<entry xml:base=\"http://h/" LONG_100 "/\"><content type=\"html\">", "&lt;a href=a>",
     "</content></entry></feed>", 0},
    {"bases_within_bases", ATOM, "<entry xml:base=\"abcdefghijklmnop/\"><link href=\"a\"/>", "", 0},
    {"a_long_language_used_often",
     "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"" LONG_2000 "\">",
     "<entry><title>a</title></entry>", "</feed>", 0},
    {"bare_ampersands", ITEM "<title>", "&", "</title>" END, 0},
    {"bare_less_than_signs", ITEM "<title>", "<", "</title>" END, 0},
    {"references_without_end", ITEM "<title>", "&#", "</title>" END, 0},
    {"long_numbers_as_references", ITEM "<title>&#", "99999999", ";</title>" END, 0},
    {"comments_unclosed", ITEM, "<!--", "", 0},
    {"comments_of_dashes", ITEM "<!--", "--", "-->" END, 0},
    {"cdata_unclosed", ITEM "<title>", "<![CDATA[", "", 0},
    {"cdata_ends", ITEM "<title>", "]]>", "</title>" END, 0},
    {"cdata_pieces", ITEM "<title>", "<![CDATA[a]]>", "</title>" END, 0},
    {"instructions_unclosed", ITEM, "<?x ", "", 0},
    {"end_tags_that_close_nothing", ITEM, "</a@>", END, 0},
    {"tags_crossed", ITEM, "<a><b></a></b>", END, 0},
    {"items_unclosed", RSS, "<item><title>a", "", 0},
    {"blank_space_in_front", "", "\n ", ITEM END, 0},
    {"junk_in_front", "", "<junk <!-- <? ", ITEM END, 0},
    {"white_space_in_a_text", ITEM "<title>a", " \xC2\xA0", "</title>" END, 0},
    {"tags_of_an_entry", ITEM, "<category>c@</category>", END, 0},
    {"links_of_an_entry", ITEM, "<link>http://h/@</link>", END, 0},
    {"authors_of_an_entry", ITEM, "<author>a@ (b@e.org)</author>", END, 0},
    {"author_of_brackets", ITEM "<author>", "a(b@", "</author>" END, 0},
    {"descriptions_of_an_entry", ITEM, "<description>d@</description>", END, 0},
    {"enclosures_of_an_entry", ITEM, "<enclosure url=\"http://h/@\" type=\"a/b\"/>", END, 0},
    {"unknown_elements_of_an_entry", ITEM, "<x:u@ a=\"1\">v</x:u@>", END, 0},
    {"unknown_elements_of_the_head", RSS, "<x:u@>v</x:u@>", "</channel></rss>", 0},
    {"entries_under_one_guid", RSS, "<item><guid>http://h/</guid><title>@</title></item>",
     "</channel></rss>", 0},
    {"entries_that_are_equal", RSS, "<item><title>a</title></item>", "</channel></rss>", 0},
    {"tombstones",
     "<feed xmlns=\"http://www.w3.org/2005/Atom\" "
     "xmlns:at=\"http://purl.org/atompub/tombstones/1.0\">",
     "<at:deleted-entry ref=\"urn:@\"/>", "</feed>", 0},
    {"coordinates", "<rss xmlns:g=\"http://www.georss.org/georss\"><channel><item><g:polygon>",
     "1 2 ", "</g:polygon>" END, 0},
    {"places", "<rss xmlns:g=\"http://www.georss.org/georss\"><channel><item>",
     "<g:point>1 2</g:point>", END, 0},
    {"chapters", "<rss xmlns:p=\"http://podlove.org/simple-chapters\"><channel><item><p:chapters>",
     "<p:chapter start=\"@\"/>", "</p:chapters>" END, 0},
    {"a_long_date", ITEM "<pubDate>", "1 Jan 2004 ", "</pubDate>" END, 0},
    {"html_elements_nested", ITEM "<description><![CDATA[", "<b>", "]]></description>" END, 0},
    {"html_svg_nested", ITEM "<description><![CDATA[", "<svg><math>", "]]></description>" END, 0},
    {"html_applets_nested", ITEM "<description><![CDATA[", "<applet>", "]]></description>" END, 0},
    {"html_attributes", ITEM "<description><![CDATA[<p ", "title@=x class=y ",
     "]]></description>" END, 0},
    {"html_tag_unclosed", ITEM "<description><![CDATA[", "<a href=\"", "]]></description>" END, 0},
    {"html_comments_unclosed", ITEM "<description><![CDATA[", "<!--", "]]></description>" END, 0},
    {"html_scripts_unclosed", ITEM "<description><![CDATA[", "<script>", "]]></description>" END,
     0},
    {"html_style_of_urls", ITEM "<description><![CDATA[<p style=\"", "url(",
     "\">]]></description>" END, 0},
    {"html_style_of_declarations", ITEM "<description><![CDATA[<p style=\"", "color:red;",
     "\">]]></description>" END, 0},
    {"html_references", ITEM "<description><![CDATA[<b>", "&#x1;&amp&x;", "]]></description>" END,
     0},
    {"html_dots_in_a_path", ITEM "<description><![CDATA[<a href=\"", "a/../",
     "\">]]></description>" END, 0},
    {"json_nested", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[],\"x\":", "[",
     "", 0},
    {"json_members", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"1\"",
     ",\"m@\":@", "}]}", 0},
    {"json_one_name_often",
     "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"1\"", ",\"m\":@",
     "}]}", 0},
    {"json_a_long_number", "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[],\"x\":1",
     "0", "}", 0},
    {"json_tags",
     "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{\"id\":\"1\",\"tags\":[\"a\"",
     ",\"t@\"", "]}]}", 0},
    {"bytes_of_windows_1252", ITEM "<title>", "\x93", "</title>" END, 0},
    {"shifts_of_iso_2022_jp", "<?xml version=\"1.0\" encoding=\"iso-2022-jp\"?>" ITEM "<title>",
     "\033$B\033(B", "</title>" END, 0},
    {"utf_7", "<?xml version=\"1.0\" encoding=\"utf-7\"?>" ITEM "<title>", "+ADw-", "</title>" END,
     0},
    {"rss_roots", "", RSS, "", 0},
};

/* Lists; tried at LIST_SIZE and four times that, since reading one is quick. */
#define LIST_SIZE (256 * 1024)
#define OPML "<opml version=\"2.0\"><body><outline text=\"a\""
#define OPML_END "/></body></opml>"

static const struct bomb lists[] = {
    {"list_of_attributes", OPML, " a@=\"v\"", OPML_END, LIST_SIZE},
    {"list_of_attributes_of_one_name", OPML, " a=\"v\"", OPML_END, LIST_SIZE},
    {"list_of_attributes_with_prefixes", OPML, " p:a@=\"v\"", OPML_END, LIST_SIZE},
    {"list_of_attributes_without_values", OPML, " a@", OPML_END, LIST_SIZE},
    {"list_of_attributes_unclosed", OPML, " a@=\"v\"", "", LIST_SIZE},
    {"list_of_namespaces", OPML, " xmlns:n@=\"urn:@\"", OPML_END, LIST_SIZE},
    {"list_of_namespaces_in_elements", "<opml><body>", "<outline xmlns:n@=\"urn:@\">", "",
     LIST_SIZE},
    {"list_of_default_attributes", "<!DOCTYPE opml [<!ATTLIST outline", " a@ CDATA \"v\"",
     ">]>" OPML OPML_END, LIST_SIZE},
    {"list_of_elements_with_default_attributes",
     "<!DOCTYPE opml [<!ATTLIST o a CDATA 'v' b CDATA 'v' c CDATA 'v' d CDATA 'v' e CDATA 'v' "
     "f CDATA 'v' g CDATA 'v' h CDATA 'v' i CDATA 'v' j CDATA 'v' k CDATA 'v' l CDATA 'v'>]><opml>",
     "<o/>", "</opml>", LIST_SIZE},
    {"list_of_entities_in_a_value",
     "<!DOCTYPE opml [<!ENTITY a \"" LONG_2000 LONG_2000 "\">]><opml><body><outline text=\"", "&a;",
     "\"/></body></opml>", LIST_SIZE},
    {"list_of_elements_nested", "<opml>", "<x>", "", LIST_SIZE},
    {"list_of_declarations", "<!DOCTYPE opml [", "<!ENTITY e@ \"x\">", "]>" OPML OPML_END,
     LIST_SIZE},
    {"list_of_folders_named_at_length", "<opml><body><outline text=\"" LONG_2000 "\">",
     "<outline xmlUrl=\"http://h/@\"/>", "</outline></body></opml>", LIST_SIZE},
};

static struct str build(const struct bomb *b, size_t size)
{
    struct buf out = BUF_INIT(BUF_ANY);
    size_t len;
    char *p;

    buf_puts(&out, b->head);
    for (int i = 0; out.len < size; i++)
        for (const char *c = b->piece; *c != '\0'; c++)
            if (*c == '@')
                buf_printf(&out, "%d", i);
            else
                buf_putc(&out, *c);
    buf_puts(&out, b->tail);
    p = buf_detach(&out, &len);
    return str_of(p, len);
}

/* Processor time for it all. */
static int64_t cost(const struct bomb *b, size_t size)
{
    struct parse_input in = {.body = build(b, size), .url = STR("http://example.org/feed")};
    int64_t from = bound_clock();

    check_feed(&in, CHECK_BOTH);
    mem_free((char *)(uintptr_t)in.body.ptr);
    return bound_clock() - from;
}

static void test_bomb(void **state)
{
    const struct bomb *b = *state;
    size_t size = b->size > 0 ? b->size : SMALL;
    int64_t once = cost(b, size), four_times = cost(b, size * 4);

    if (four_times > 8 * once + SLACK_NS)
        fail_msg("%zu bytes: %lld ms, four times as many: %lld ms", size, (long long)once / 1000000,
                 (long long)four_times / 1000000);
}

static int64_t cost_of_list(const struct bomb *b, size_t size)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str body = build(b, size);
    int64_t from = bound_clock();
    struct err err = ERR_INIT;
    struct opml list;

    if (opml_read(&a, body, STR_NULL, &list, &err) == RC_OK) {
        opml_group(&a, &list);
        opml_write(&out, &list, 0, 0);
    }
    mem_free((char *)(uintptr_t)body.ptr);
    return bound_clock() - from;
}

static void test_list(void **state)
{
    const struct bomb *b = *state;
    int64_t once = cost_of_list(b, b->size), four_times = cost_of_list(b, b->size * 4);

    if (four_times > 8 * once + SLACK_NS)
        fail_msg("%zu bytes: %lld ms, four times as many: %lld ms", b->size,
                 (long long)once / 1000000, (long long)four_times / 1000000);
}

/* ---------------------------------------------------------------- limits by number */

static struct feed_doc *parse(struct arena *a, const struct bomb *b, size_t size)
{
    struct str body = build(b, size);
    struct parse_input in = {.body = body, .url = STR("http://example.org/feed")};
    struct feed_doc *doc = feed_parse(a, &in);

    mem_free((char *)(uintptr_t)body.ptr);
    return doc;
}

static void test_bombs__entries_beyond_the_limit_are_counted(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct bomb b = {"", RSS, "<item><title>@</title></item>", "</channel></rss>", 0};
    struct feed_doc *doc = parse(&a, &b, 1000000);

    assert_int_equal(doc->n_entries, LIMIT_FEED_ENTRIES);
    assert_true(doc->n_cut > 1000);
    check_feed(&(struct parse_input){.body = STR("<rss/>")}, CHECK_BOTH);
}

static void test_bombs__no_file_is_read_for_an_entity(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    const struct bomb b = {"",
                           "<!DOCTYPE rss [<!ENTITY x SYSTEM \"file:///etc/passwd\"><!ENTITY % p "
                           "SYSTEM \"file:///etc/passwd\">%p;]>" ITEM "<title>",
                           "&x;", "</title>" END, 0};

    json_write(&out, feed_doc_object(&a, parse(&a, &b, 1000)));
    assert_true(str_find(buf_view(&out), STR("root:")) < 0);
}

/* A reference of one letter under a base of two thousand, half a million times. */
static void test_bombs__references_under_a_long_base_grow_within_bounds(void **state UNUSED)
{
    static const struct bomb kinds[] = {
        {"", ATOM "<entry xml:base=\"http://h/" LONG_2000 "/\"><content type=\"html\"><![CDATA[",
         "<q cite=a>", "]]></content></entry></feed>", 0},
        {"", ATOM "<entry xml:base=\"http://h/" LONG_2000 "/\">", "<link href=\"a\"/>",
         "</entry></feed>", 0},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;

        (void)parse(&a, &kinds[i], 2000000);
        assert_true(arena_size(&a) < 160 * 1024 * 1024);
    }
}

/* However entities are nested or repeated, text grows by a bounded factor. */
static void test_bombs__entities_expand_within_bounds(void **state UNUSED)
{
    for (size_t i = 0; i < 2; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
        struct feed_doc *doc = parse(&a, &bombs[i], 64 * 1024);

        json_write(&out, feed_doc_object(&a, doc));
        assert_true(out.len < 64 * 1024 * 1024);
    }
}

static void test_bombs__lists_nested_or_long_beyond_the_limit_are_refused(void **state UNUSED)
{
    const struct bomb deep = {"", "<opml><body>", "<outline text=\"a\">", "", 0},
                      wide = {"", "<opml><body>", "<outline xmlUrl=\"http://h/@\"/>",
                              "</body></opml>", 0};

    for (int i = 0; i < 2; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct str body = build(i == 0 ? &deep : &wide, 1000000);
        struct err err = ERR_INIT;
        struct opml list;

        assert_int_equal(opml_read(&a, body, STR_NULL, &list, &err), RC_LIMIT);
        assert_true(err.text[0] != '\0');
        mem_free((char *)(uintptr_t)body.ptr);
    }
}

static void test_bombs__a_list_of_attributes_says_why_it_is_refused(void **state UNUSED)
{
    static const struct bomb crowded[] = {
        {"", OPML, " a@=\"v\"", OPML_END, 0},
        {"", OPML, " xmlns:n@=\"urn:@\"", OPML_END, 0},
        {"", "<opml><x", " a@='v'", "/><body></body></opml>", 0},
    };

    for (size_t i = 0; i < sizeof crowded / sizeof crowded[0]; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct str body = build(&crowded[i], 1000000);
        struct err err = ERR_INIT;
        struct opml list;

        assert_int_equal(opml_read(&a, body, STR_NULL, &list, &err), RC_LIMIT);
        assert_string_equal(err.text, "an element has more than 100 attributes");
        mem_free((char *)(uintptr_t)body.ptr);
    }
}

#define N_BOMBS (sizeof bombs / sizeof bombs[0])
#define N_LISTS (sizeof lists / sizeof lists[0])

int main(void)
{
    struct CMUnitTest tests[N_BOMBS + N_LISTS + 6];
    char names[N_BOMBS + N_LISTS][80];
    size_t n = 0;

    for (; n < N_BOMBS + N_LISTS; n++) {
        const struct bomb *b = n < N_BOMBS ? &bombs[n] : &lists[n - N_BOMBS];

        (void)snprintf(names[n], sizeof names[n], "test_bombs__%s", b->name);
        tests[n] = (struct CMUnitTest){.name = names[n],
                                       .test_func = n < N_BOMBS ? test_bomb : test_list,
                                       .initial_state = (void *)(uintptr_t)b};
    }
    tests[n++] =
        (struct CMUnitTest)cmocka_unit_test(test_bombs__entries_beyond_the_limit_are_counted);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_bombs__no_file_is_read_for_an_entity);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_bombs__entities_expand_within_bounds);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(
        test_bombs__references_under_a_long_base_grow_within_bounds);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(
        test_bombs__lists_nested_or_long_beyond_the_limit_are_refused);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(
        test_bombs__a_list_of_attributes_says_why_it_is_refused);
    return _cmocka_run_group_tests("bombs", tests, n, NULL, NULL);
}
