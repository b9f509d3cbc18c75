/* tests/unit/feed/test_metadata.c - where the content of a metadata record is, and what of it
 * becomes part of the entry (Atom-PMH). */
#include "../cmocka_all.h"

#include "base/arena.h"
#include "feed/lists/metadata.h"
#include "feed/text/json.h"

static struct value *dict(struct arena *a, const char *json)
{
    struct value *v = NULL;

    assert_int_equal(json_read(a, str_from(json), &v, NULL), RC_OK);
    return v;
}

/* PMHC-09: the order of preference, and what is none of the record's */
static void test_metadata__forms(void **state UNUSED)
{
    static const struct {
        const char *links, *hrefs;
    } rows[] = {
        {"[]", ""},
        {"[{'rel':'alternate','type':'text/html','href':'http://h/p'},"
         "{'type':'Application/Atom+XML;type=entry','href':'http://o/a'}]",
         "http://o/a http://h/p"},
        {"[{'rel':'self','type':'application/atom+xml','href':'http://h/s'},"
         "{'rel':'alternate','type':'application/pdf','href':'http://h/d'},"
         "{'rel':'alternate','type':'application/atom+xml;type=feed','href':'http://h/f'}]",
         ""},
        {"[{'rel':'alternate','type':'application/json','href':'http://h/j'},"
         "{'rel':'alternate','type':'application/rdf+xml','href':'http://o/x'},"
         "{'rel':'alternate','type':'text/plain','href':'http://h/t'},"
         "{'rel':'alternate','type':'application/xhtml+xml','href':'http://H:81/p'}]",
         "http://H:81/p http://h/t http://o/x http://h/j"},
        {"[{'rel':'alternate','type':'text/html','href':'http://other/p'},"
         "{'rel':'alternate','type':'text/html','href':'http://h.other/p'},"
         "{'rel':'alternate','type':'text/html','href':'http://h@other/p'},"
         "{'rel':'alternate','type':'text/html','href':'http://other/@h/'},"
         "{'rel':'alternate','type':'text/html','href':'mailto:x@h'}]",
         ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct metadata_alternate forms[METADATA_ALTERNATES_MAX];
        struct str got = STR("");
        char *json = str_z(&a, str_printf(&a, "{\"links\":%s}", rows[i].links));
        size_t n;

        for (char *p = json; *p != '\0'; p++)
            *p = *p == '\'' ? '"' : *p;
        n = metadata_alternates(&a, dict(&a, json), STR("h"), forms);
        for (size_t k = 0; k < n; k++)
            got = str_printf(&a, "%.*s%s%.*s", STR_ARG(got), k == 0 ? "" : " ",
                             STR_ARG(forms[k].href));
        assert_string_equal(str_z(&a, got), rows[i].hrefs);
    }
}

/* However many alternates there are, so many are asked for. */
static void test_metadata__forms_are_bounded(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct metadata_alternate forms[METADATA_ALTERNATES_MAX];
    struct value *entry = value_dict(&a), *links = value_list(&a);

    for (int i = 0; i < 1000; i++) {
        struct value *link = value_dict(&a);

        value_set_textz(&a, link, "type", STR("text/plain"));
        value_set_textz(&a, link, "href", str_printf(&a, "http://h/%d", i));
        value_push(&a, links, link);
    }
    value_setz(&a, entry, "links", links);
    assert_int_equal(metadata_alternates(&a, entry, STR("h"), forms), METADATA_ALTERNATES_MAX);
}

static bool read(struct arena *a, const char *body, const char *sent, const char *type,
                 struct value *entry, struct str *ext)
{
    struct parse_input in = {.body = str_from(body),
                             .url = STR("http://h/r"),
                             .content_type = sent == NULL ? STR_NULL : str_from(sent),
                             .content_location = STR_NULL,
                             .content_language = STR_NULL};

    *ext = STR("");
    return metadata_read(a, &in, str_from(type), entry, ext);
}

#define ENTRY "{\"id\":\"urn:x\",\"title\":\"ours\",\"summary\":\"\",\"links\":[]}"
#define ATOM_ENTRY                                                                                 \
    "<entry xmlns='http://www.w3.org/2005/Atom' xmlns:q='urn:q'><id>urn:y</id>"                    \
    "<title>theirs</title><updated>2019-01-01T00:00:00Z</updated><q:x>kept</q:x>"                  \
    "<content>c</content></entry>"

/* PMHC-09: what comes is taken as what was promised, or not at all */
static void test_metadata__read(void **state UNUSED)
{
    static const struct {
        const char *body, *sent, *type, *content; /* NULL: refused */
    } rows[] = {
        {ATOM_ENTRY, "application/atom+xml", "application/atom+xml", "c"},
        {ATOM_ENTRY, "text/xml", "application/atom+xml", "c"},
        {"<feed xmlns='http://www.w3.org/2005/Atom'>" ATOM_ENTRY "</feed>", "application/atom+xml",
         "application/atom+xml", NULL},
        {"<html><body>log in</body></html>", "text/html", "application/atom+xml", NULL},
        {"", "application/atom+xml", "application/atom+xml", NULL},
        {"<!DOCTYPE html><html><head><title>T</title></head><body class='b'><p>p<script>s</script>",
         "text/html", "text/html", "<p>p</p>"},
        {"<p>a fragment</p>", "text/html", "text/html", "<p>a fragment</p>"},
        {"<title>T</title><p>no body</p>", NULL, "text/html", "<p>no body</p>"},
        {"<html>page</html>", "text/html", "text/plain", NULL},
        {"t\xe9xt", "text/plain; charset=iso-8859-1", "text/plain", "t\xc3\xa9xt"},
        {"%PDF", "application/pdf", "text/plain", NULL},
        {"{}", "application/json", "application/ld+json", "{}"},
        {"  ", "text/plain", "text/plain", NULL},
        {"x", "text/plain", "image/png", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct value *entry = dict(&a, ENTRY), *before = value_copy(&a, entry);
        struct str ext;
        bool taken = read(&a, rows[i].body, rows[i].sent, rows[i].type, entry, &ext);

        assert_int_equal(taken, rows[i].content != NULL);
        if (!taken) {
            assert_true(value_equal(before, entry));
            continue;
        }
        assert_string_equal(
            str_z(&a, value_get_textz(value_at(value_getz(entry, "content"), 0), "value")),
            rows[i].content);
        assert_true(str_eqz(value_get_textz(entry, "title"), "ours"));
        assert_true(str_eqz(value_get_textz(entry, "id"), "urn:x"));
    }
}

/* PMHC-09: foreign elements of the record come along, as a member and as XML; what the feed says
 * itself stays */
static void test_metadata__adds_what_is_missing(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct value *entry = dict(&a, "{\"summary\":\"s\",\"q_x\":\"ours\"}");
    struct str ext;

    assert_true(read(&a, ATOM_ENTRY, NULL, "application/atom+xml", entry, &ext));
    assert_true(str_eqz(value_get_textz(entry, "q_x"), "ours"));
    assert_true(str_eqz(value_get_textz(entry, "summary"), "s"));
    assert_true(str_find(ext, STR(">kept<")) >= 0);
}

/* PMHC-08 PMHC-09: what is beyond doubt a list of metadata records */
static void test_metadata__evidence(void **state UNUSED)
{
    static const struct {
        const char *entry;
        bool evident;
    } rows[] = {
        {"<link rel='alternate' type='text/html' href='h'/>", false},
        {"<link rel='alternate' type='application/pdf' href='h'/>", false},
        {"<link rel='alternate' type='application/atom+xml' href='h'/><content>c</content>", false},
        {"<link type='application/atom+xml' href='h'/><link type='text/html' href='h'/>", true},
        {"<link rel='alternate' type='application/rdf+xml' href='h'/>", true},
        {"<content/>", true},
        {"", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct parse_input in = {
            .body = str_printf(&a,
                               "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>urn:x</id>"
                               "<title>t</title>%s</entry></feed>",
                               rows[i].entry),
            .url = STR("http://h/f")};

        assert_int_equal(metadata_is_evident(&a, feed_parse(&a, &in)), rows[i].evident);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata__forms),
        cmocka_unit_test(test_metadata__forms_are_bounded),
        cmocka_unit_test(test_metadata__evidence),
        cmocka_unit_test(test_metadata__read),
        cmocka_unit_test(test_metadata__adds_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
