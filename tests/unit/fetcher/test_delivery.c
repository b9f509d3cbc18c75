/* tests/unit/fetcher/test_delivery.c - signatures of deliveries (WebSub section 7.1). */
#include "tests/unit/cmocka_all.h"

#include "fetcher/delivery.h"

/* SUBR-301, SUBR-303: the methods of the text, in any case of letters; nothing that is cut, longer
 * or of another body or secret. The first one is of RFC 4231 section 4.3. */
static void test_delivery__signatures(void **state UNUSED)
{
    static const char sha256[] = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    static const struct {
        const char *format;
        bool fits;
    } rows[] = {
        {"sha256=%s", true}, {" SHA256 = %s ", true}, {"sha1=%s", false}, {"sha256=%s0", false},
        {"sha256=", false},  {"sha256", false},       {"md5=%s", false},  {"%s", false},
        {"", false},         {"sha256==%s", false},
    };
    struct str body = STR("what do ya want for nothing?");
    char text[200], upper[65] = "";

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ssize_t at = str_find(str_from(rows[i].format), STR("%s"));
        struct str format = str_from(rows[i].format);

        if (at < 0)
            snprintf(text, sizeof text, "%s", rows[i].format);
        else
            snprintf(text, sizeof text, "%.*s%s%s", (int)at, format.ptr, sha256,
                     format.ptr + at + 2);
        if (delivery_is_signed(str_from(text), STR("Jefe"), body) != rows[i].fits)
            fail_msg("%s", text);
    }
    for (size_t i = 0; i < 64; i++)
        upper[i] = (char)(sha256[i] >= 'a' ? sha256[i] - 32 : sha256[i]);
    snprintf(text, sizeof text, "sha256=%s", upper);
    assert_true(delivery_is_signed(str_from(text), STR("Jefe"), body));
    assert_false(delivery_is_signed(str_from(text), STR("jefe"), body));
    assert_false(delivery_is_signed(str_from(text), STR("Jefe"), STR("what do ya want")));
    assert_true(delivery_is_signed(STR("sha1=effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
                                   STR("Jefe"), body));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_delivery__signatures)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
