/* tests/unit/net/test_jid.c - addresses of XMPP and their URLs. */
#include "base/compiler.h"
#include "base/buf.h"
#include "net/jid.h"
#include "tests/unit/cmocka_all.h"

static void test_jid__url(void **state UNUSED)
{
    static const struct {
        const char *raw, *url, *host, *jid; /* url NULL: refused */
    } rows[] = {
        {"xmpp:alice@example.org", "xmpp:alice@example.org", "example.org", "alice@example.org"},
        {" XMPP:Alice@Example.ORG/Desk ", "xmpp:alice@example.org/Desk", "example.org",
         "alice@example.org/Desk"},
        {"xmpp:feeds.example.org", "xmpp:feeds.example.org", "feeds.example.org",
         "feeds.example.org"},
        {"xmpp:a%27b@example.org", NULL, NULL, NULL},
        {"xmpp:a@example.org/my%20desk%2F2", "xmpp:a@example.org/my%20desk%2F2", "example.org",
         "a@example.org/my desk/2"},
        {"xmpp:a@example.org/x@y/z", "xmpp:a@example.org/x%40y%2Fz", "example.org",
         "a@example.org/x@y/z"},
        {"xmpp:", NULL, NULL, NULL},
        {"xmpp:@example.org", NULL, NULL, NULL},
        {"xmpp:a@", NULL, NULL, NULL},
        {"xmpp:a@example.org/", NULL, NULL, NULL},
        {"xmpp:a@b@example.org", NULL, NULL, NULL},
        {"xmpp://a@example.org", NULL, NULL, NULL},
        {"xmpp:a@example.org?message", NULL, NULL, NULL},
        {"xmpp:a@example.org#x", NULL, NULL, NULL},
        {"xmpp:a b@example.org", NULL, NULL, NULL},
        {"xmpp:a%00@example.org", NULL, NULL, NULL},
        {"xmpp:a%FF@example.org", NULL, NULL, NULL},
        {"xmpp:a@exa%22mple.org", NULL, NULL, NULL},
        {"mailto:a@example.org", NULL, NULL, NULL},
        {"a@example.org", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct url_parts parts;
        struct err err = ERR_INIT;
        enum rc rc = jid_url_parse(&a, str_from(rows[i].raw), &parts, &err);

        assert_int_equal(rc, rows[i].url == NULL ? RC_INPUT : RC_OK);
        if (rc != RC_OK)
            continue;
        assert_string_equal(rows[i].url, str_z(&a, parts.url));
        assert_string_equal(rows[i].host, str_z(&a, parts.host));
        assert_string_equal(rows[i].jid, str_z(&a, jid_of_url(&a, parts.url)));
        assert_string_equal(rows[i].url, str_z(&a, jid_to_url(&a, jid_of_url(&a, parts.url))));
    }
}

static void test_jid__too_long(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf raw = BUF_INIT(BUF_ANY);
    struct url_parts parts;

    buf_puts(&raw, "xmpp:a@b/");
    for (size_t i = 0; i < JID_MAX - 4; i++)
        buf_putc(&raw, 'x');
    assert_int_equal(jid_url_parse(&a, buf_view(&raw), &parts, NULL), RC_OK);
    buf_putc(&raw, 'x');
    assert_int_equal(jid_url_parse(&a, buf_view(&raw), &parts, NULL), RC_INPUT);
}

/* XMPP-15 */
static void test_jid__same_bare(void **state UNUSED)
{
    assert_true(jid_same_bare(STR("a@b/one"), STR("a@b/two")));
    assert_true(jid_same_bare(STR("A@B"), STR("a@b/two")));
    assert_false(jid_same_bare(STR("a@b"), STR("a@bc")));
    assert_false(jid_same_bare(STR("b"), STR("a@b")));
    assert_false(jid_same_bare(STR("x/a@b"), STR("a@b")));
    assert_false(jid_same_bare(STR(""), STR("a@b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jid__url),
        cmocka_unit_test(test_jid__too_long),
        cmocka_unit_test(test_jid__same_bare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
