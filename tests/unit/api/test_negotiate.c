#include "../cmocka_all.h"

#include "api/http/negotiate.h"
#include "base/compiler.h"

/* NEG-01, NEG-02, REST-07 */
static void test_negotiate__accept(void **state UNUSED)
{
    static const struct {
        const char *accept;
        int format; /* -1: none */
    } rows[] = {{NULL, FORMAT_ATOM},
                {"", FORMAT_ATOM},
                {"*/*", FORMAT_ATOM},
                {"application/*", FORMAT_ATOM},
                {"application/rss+xml", FORMAT_RSS},
                {"application/atom+xml", FORMAT_ATOM},
                {"application/json", FORMAT_JSON},
                {"application/feed+json", FORMAT_JSONFEED},
                {"Application/JSON; charset=utf-8", FORMAT_JSON},
                {"application/rss+xml;q=0.5, application/json;q=0.9", FORMAT_JSON},
                {"application/json;q=0.1, */*", FORMAT_ATOM},
                {"application/atom+xml;q=0, */*", FORMAT_RSS},
                {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", FORMAT_ATOM},
                {"text/xml", FORMAT_ATOM},
                {"image/png", -1},
                {"text/html", -1},
                {"text/x-opml", -1},
                {"application/json;q=0", -1},
                {"*/*;q=0", -1}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum feed_format format = FORMAT_ATOM;
        int got = negotiate_format(str_from(rows[i].accept), FORMAT_IS_ACCEPTED, &format)
                      ? (int)format
                      : -1;

        if (got != rows[i].format)
            fail_msg("%s: %d", rows[i].accept, got);
    }
}

/* HTTP-12 */
static void test_negotiate__gzip(void **state UNUSED)
{
    static const struct {
        const char *field;
        bool gzip;
    } rows[] = {{NULL, false},
                {"", false},
                {"gzip", true},
                {"gzip, deflate, br", true},
                {"deflate", false},
                {"gzip;q=0", false},
                {"identity", false},
                {"*", true},
                {"*;q=0, identity", false},
                {"gzip;q=0.5, identity;q=0.9", false},
                {"gzip;q=0.5", true},
                {"identity;q=0, gzip;q=0.1", true}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (negotiate_gzip(str_from(rows[i].field)) != rows[i].gzip)
            fail_msg("%s", rows[i].field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_negotiate__accept),
        cmocka_unit_test(test_negotiate__gzip),
    };

    return cmocka_run_group_tests_name("negotiate", tests, NULL, NULL);
}
