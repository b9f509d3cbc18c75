/* tests/unit/feed/test_iri.c - parts of references, and which of them may be printed. */
#include "tests/unit/cmocka_all.h"

#include "base/compiler.h"
#include "feed/text/iri.h"

static struct arena arena;

/* NULL in `wanted`: the null slice. */
static void compare(const char *what, const char *text, struct str got, const char *wanted)
{
    if (wanted == NULL ? !str_is_null(got) : str_is_null(got) || !str_eqz(got, wanted))
        fail_msg("%s of \"%s\": got \"%.*s\", wanted \"%s\"", what, text, STR_ARG(got),
                 wanted == NULL ? "(none)" : wanted);
}

static void test_iri__schemes_and_hosts(void **state UNUSED)
{
    static const struct {
        const char *text, *scheme, *host;
    } rows[] = {
        {"http://a.example/x", "http", "a.example"},
        {"HTTPS://A.example", "HTTPS", "A.example"},
        {"//a.example/x", NULL, "a.example"},
        {"http://user:pw@a.example:80/x", "http", "a.example"},
        {"http://a@b@c.example/", "http", "c.example"}, /* as browsers: the last @ */
        {"http://[::1]:80/", "http", "[::1]"},
        {"http://[::1", "http", "[::1"},
        {"http://a.example?x@y", "http", "a.example"},
        {"http://a.example#x@y", "http", "a.example"},
        {"http:///x", "http", ""},
        {"urn:x:1", "urn", NULL},
        {"mailto:a@b.example", "mailto", NULL},
        {"view-source+x.1:a", "view-source+x.1", NULL},
        {"1a:b", NULL, NULL},
        {"a b:c", NULL, NULL},
        {"path/to:x", NULL, NULL},
        {":x", NULL, NULL},
        {"", NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        compare("scheme", rows[i].text, iri_scheme(str_from(rows[i].text)), rows[i].scheme);
        compare("host", rows[i].text, iri_host(str_from(rows[i].text)), rows[i].host);
    }
}

static void test_iri__what_would_run_in_a_browser(void **state UNUSED)
{
    static const struct {
        const char *text;
        bool runs;
    } rows[] = {
        {"javascript:alert(1)", true},
        {"JavaScript:alert(1)", true},
        {" \tjava\nscript\r:alert(1)", true},
        {"\x01javascript:x", true},
        {"vbscript:x", true},
        {"livescript:x", true},
        {"data:text/html,<script>", true},
        {"DATA:,x", true},
        {"data:image/svg+xml,<svg onload=x>", true}, /* a picture that has scripts */
        {"data:ima\nge/svg+xml,x", true},
        {"data:image/png;base64,x", false},
        {"data:audio/ogg,x", false},
        {"data:video/mp4,x", false},
        {"http://a.example/javascript:x", false},
        {"javascripts:x", false},
        {"/javascript", false},
        {"", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (iri_is_script(str_from(rows[i].text)) != rows[i].runs)
            fail_msg("\"%s\"", rows[i].text);
}

static void test_iri__permanent_ids(void **state UNUSED)
{
    static const struct {
        const char *text;
        bool is_permanent, is_http;
    } rows[] = {
        {"http://a.example/1", true, true},
        {"https://a.example", true, true},
        {"http:///1", false, true},
        {"http:", false, true},
        {"http:1", false, true},
        {"urn:x:1", true, false},
        {"tag:a.example,2020:1", true, false},
        {"urn:", false, false},
        {"1", false, false},
        {"a b:1", false, false},
        {"/1", false, false},
        {"", false, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (iri_is_permanent(str_from(rows[i].text)) != rows[i].is_permanent ||
            iri_is_http(str_from(rows[i].text)) != rows[i].is_http)
            fail_msg("\"%s\"", rows[i].text);
}

static void test_iri__escaping(void **state UNUSED)
{
    static const struct {
        const char *text, *iri, *uri; /* uri: ASCII alone */
    } rows[] = {
        {" http://a.example/x ", "http://a.example/x", "http://a.example/x"},
        {"http://a/b c", "http://a/b%20c", "http://a/b%20c"},
        {"http://a/\"<>\\^`{|}", "http://a/%22%3C%3E%5C%5E%60%7B%7C%7D",
         "http://a/%22%3C%3E%5C%5E%60%7B%7C%7D"},
        {"http://a/%41%4g%", "http://a/%41%254g%25", "http://a/%41%254g%25"},
        {"http://a/#b#c", "http://a/#b%23c", "http://a/#b%23c"},
        {"http://[::1]/[x]", "http://[::1]/%5Bx%5D", "http://[::1]/%5Bx%5D"},
        {"http://a/[::1]", "http://a/%5B::1%5D", "http://a/%5B::1%5D"},
        {"http://a/\xc3\xa9", "http://a/\xc3\xa9", "http://a/%C3%A9"},
        {"http://a/\x7f\x01", "http://a/%7F%01", "http://a/%7F%01"},
        {"", "", ""},
        {"   ", "", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str text = str_from(rows[i].text);

        compare("IRI", rows[i].text, iri_escape(&arena, text, false), rows[i].iri);
        compare("URI", rows[i].text, iri_escape(&arena, text, true), rows[i].uri);
        /* what is escaped stays as it is */
        compare("URI again", rows[i].text, iri_escape(&arena, str_from(rows[i].uri), true),
                rows[i].uri);
    }
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iri__schemes_and_hosts),
        cmocka_unit_test(test_iri__what_would_run_in_a_browser),
        cmocka_unit_test(test_iri__permanent_ids),
        cmocka_unit_test(test_iri__escaping),
    };

    return cmocka_run_group_tests_name("iri", tests, NULL, release);
}
