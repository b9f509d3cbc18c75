/* tests/unit/feed/test_log_object.c - feed/write/log_object.h. */
#include "feed/write/log_object.h"
#include "tests/unit/cmocka_all.h"

static void expect(const struct revision *rev, struct str url, const char *text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    log_object_write(&out, rev, url, STR("0123456789abcdef"));
    assert_str(buf_view(&out), text);
}

static void test_log_object__an_entry(void **state UNUSED)
{
    struct revision rev = {.seq = 7,
                           .at_us = 1500000,
                           .feed_id = 3,
                           .kind = REV_CHANGED,
                           .uid = STR("a\"b"),
                           .doc = STR("{\"id\":\"x\"}")};

    expect(&rev, STR("http://h/"),
           "{\"seq\":7,\"cursor\":\"fm1.01234567.7.1500000\","
           "\"at\":\"1970-01-01T00:00:01.500000Z\",\"kind\":\"changed\",\"initial\":false,"
           "\"feed\":3,\"url\":\"http://h/\",\"uid\":\"a\\\"b\",\"entry\":{\"id\":\"x\"}}");
}

static void test_log_object__a_deletion_has_no_entry(void **state UNUSED)
{
    struct revision rev = {.seq = 8,
                           .at_us = 2000001,
                           .feed_id = 3,
                           .kind = REV_DELETED,
                           .initial = true,
                           .uid = STR("u")};

    expect(&rev, STR_NULL,
           "{\"seq\":8,\"cursor\":\"fm1.01234567.8.2000001\","
           "\"at\":\"1970-01-01T00:00:02.000001Z\",\"kind\":\"deleted\",\"initial\":true,"
           "\"feed\":3,\"url\":null,\"uid\":\"u\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_object__an_entry),
        cmocka_unit_test(test_log_object__a_deletion_has_no_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
