/* tests/unit/net/test_url.c - URLs: canonical form, resolving, the public form. */
#include "base/limits.h"
#include "net/http_proxy.h"
#include "net/url.h"
#include "tests/unit/cmocka_all.h"

/* OPML-08: feed: is mapped. */
static void test_url__canonical_form(void **state UNUSED)
{
    static const struct {
        const char *raw, *url;
    } rows[] = {
        {"http://example.com", "http://example.com/"},
        {"HTTP://EXAMPLE.Com:80/A?B#c", "http://example.com/A?B"},
        {"https://example.com:443/", "https://example.com/"},
        {"https://example.com:80/", "https://example.com:80/"},
        {"http://example.com:/x", "http://example.com/x"},
        {"http://example.com:0080/x", "http://example.com/x"},
        {"  http://example.com/x \r\n", "http://example.com/x"},
        {"http://exam\nple.com/\ta", "http://example.com/a"},
        {"http://example.com/a b", "http://example.com/a%20b"},
        {"http://example.com/a\"<>`{}|^[]", "http://example.com/a%22%3C%3E%60%7B%7D%7C%5E%5B%5D"},
        {"http://example.com/\xC3\xA9?\xC3\xA9", "http://example.com/%C3%A9?%C3%A9"},
        {"http://example.com/%c3%A9%7e", "http://example.com/%c3%A9%7e"},
        {"http://example.com/100%?5%z", "http://example.com/100%25?5%25z"},
        {"http://example.com/a/./b/../c", "http://example.com/a/c"},
        {"http://example.com/a/%2e%2E/c/..", "http://example.com/"},
        {"http://example.com/../../x", "http://example.com/x"},
        {"http://example.com/a//b/...", "http://example.com/a//b/..."},
        {"http://example.com?q", "http://example.com/?q"},
        {"http://example.com?a=/../b", "http://example.com/?a=/../b"},
        {"http://example.com/x?", "http://example.com/x?"},
        {"http:\\\\example.com\\a\\b", "http://example.com/a/b"},
        {"http://b\xC3\xBC"
         "cher.example/",
         "http://xn--bcher-kva.example/"},
        {"http://B\xC3\x9C"
         "CHER.example/",
         "http://xn--bcher-kva.example/"},
        {"http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
        {"http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"},
        {"http://fa\xC3\x9F.de/", "http://xn--fa-hia.de/"},
        {"http://a_b.example.com/", "http://a_b.example.com/"},
        {"http://r3---sn.example.com/", "http://r3---sn.example.com/"},
        {"http://example.com./", "http://example.com./"},
        {"http://2130706433/", "http://127.0.0.1/"},
        {"http://0x7f.1/", "http://127.0.0.1/"},
        {"http://1.0x7f/", "http://1.0.0.127/"},
        {"http://0x7f.1.org/", "http://0x7f.1.org/"},
        {"http://1.2.3.x1/", "http://1.2.3.x1/"},
        {"http://0177.0.0.1/", "http://127.0.0.1/"},
        {"http://[::1]:8080/x", "http://[::1]:8080/x"},
        {"http://[0:0::0:1]/", "http://[::1]/"},
        {"http://[2001:DB8::A]/", "http://[2001:db8::a]/"},
        {"http://[::ffff:127.0.0.1]/", "http://[::ffff:127.0.0.1]/"},
        {"http://user:secret@example.com/x", "http://example.com/x"},
        {"http://a@b@example.com/", "http://example.com/"},
        {"feed://example.com/x", "http://example.com/x"},
        {"feed:http://example.com/x", "http://example.com/x"},
        {"feed:https://example.com/x", "https://example.com/x"},
        {"FEED://https://example.com/x", "https://example.com/x"},
        {"feed:example.com/x", "http://example.com/x"},
        {"http://example.com/a,b;c=d&e+f~g!*'()", "http://example.com/a,b;c=d&e+f~g!*'()"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct url_parts p, again;

        if (url_parse(&a, str_from(rows[i].raw), &p, &err) != RC_OK)
            fail_msg("%s: %s", rows[i].raw, err.text);
        assert_str(p.url, rows[i].url);
        assert_int_equal(url_parse(&a, p.url, &again, &err), RC_OK); /* a fixed point */
        assert_str(again.url, rows[i].url);
        arena_release(&a);
    }
}

/* REST-15: what is not an absolute http(s) URL is refused, and the text says why. */
static void test_url__what_is_refused(void **state UNUSED)
{
    static const struct {
        const char *raw, *why;
    } rows[] = {
        {"", "not an absolute URL"},
        {"foo", "not an absolute URL"},
        {"/x", "not an absolute URL"},
        {"//example.com/", "not an absolute URL"},
        {"1http://x/", "not an absolute URL"},
        {"ftp://example.com/", "only http:// and https://"},
        {"javascript:alert(1)", "only http:// and https://"},
        {"file:///etc/passwd", "only http:// and https://"},
        {"http:", "\"//\" and a host must follow"},
        {"http:/example.com", "\"//\" and a host must follow"},
        {"http://", "there is no host"},
        {"http:///x", "there is no host"},
        {"http://:80/", "there is no host"},
        {"http://user@/", "there is no host"},
        {"http://exa mple.com/", "a character that no host name may have"},
        {"http://a%00b/", "a character that no host name may have"},
        {"http://a%2fb/", "a character that no host name may have"},
        {"http://a..b/", "a part of the host is empty"},
        {"http://.b/", "a part of the host is empty"},
        {"http://./", "a part of the host is empty"},
        {"http://x:0/", "the port is not a number"},
        {"http://x:65536/", "the port is not a number"},
        {"http://x:-1/", "the port is not a number"},
        {"http://x:8a/", "the port is not a number"},
        {"http://[::1/", "not an IPv6 address"},
        {"http://[::g]/", "not an IPv6 address"},
        {"http://[fe80::1%25eth0]/", "not an IPv6 address"},
        {"http://[::1]x/", "not an IPv6 address"},
        {"http://\xFF\xFE/", "the host is not UTF-8"},
        {"http://u%0d%0a:p@x/", "a control character"},
        {"http://u%3Av:p@x/", "a colon in the user name"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct url_parts p;

        assert_int_equal(url_parse(&a, str_from(rows[i].raw), &p, &err), RC_INPUT);
        if (strstr(err.text, rows[i].why) == NULL)
            fail_msg("%s: %s", rows[i].raw, err.text);
        arena_release(&a);
    }
}

/* What is canonical already is read in a shorter way, unless it has a fragment. */
static void test_url__canonical_ones_are_read_alike(void **state UNUSED)
{
    static const char *const rows[] = {
        "http://example.com/",
        "http://example.com",
        "http://example.com:8080/a/b?c=d&e",
        "http://example.com:80/",
        "http://example.com:65535/",
        "http://example.com:65536/",
        "http://example.com:080/",
        "http://example.com:123456/",
        "http://example.com:/",
        "https://example.com:443/x",
        "https://xn--bcher-kva.example/%C3%A9?%",
        "https://example.com/100%/?5%z",
        "http://example.com/a/../b",
        "http://example.com/a/.b",
        "http://example.com/a/%2e%2e/b",
        "http://example.com/a/b%2e",
        "http://example.com./",
        "http://example..com/",
        "http://.example.com/",
        "http://exa_mple.com/",
        "http://Example.com/",
        "http://-example.com/",
        "http://3com.example/",
        "http://127.0.0.1:1/2",
        "http://127.1/",
        "http://1.2.3.4.5/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://u:p@example.com/",
        "http://example.com/u:p@h",
        "http://example.com/a b",
        "http:///x",
        "ftp://example.com/",
        "http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example/",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;
        struct url_parts p, with;
        enum rc rc = url_parse(&a, str_from(rows[i]), &p, NULL);

        assert_int_equal(url_parse(&a, str_printf(&a, "%s#f", rows[i]), &with, NULL), rc);
        if (rc == RC_OK) {
            assert_true(str_eq(p.url, with.url) && str_eq(p.host, with.host));
            assert_true(str_eq(p.scheme, with.scheme) && p.port == with.port);
            assert_int_equal(str_is_null(p.credential), str_is_null(with.credential));
        }
        arena_release(&a);
    }
}

static void test_url__length_is_bounded(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct url_parts p;
    char *raw = arena_alloc(&a, LIMIT_URL + 2);

    memset(raw, 'a', LIMIT_URL + 1);
    memcpy(raw, "http://x/", 9);
    assert_int_equal(url_parse(&a, str_of(raw, LIMIT_URL), &p, &err), RC_OK);
    assert_int_equal(url_parse(&a, str_of(raw, LIMIT_URL + 1), &p, &err), RC_INPUT);
    memset(raw + 9, '\"', LIMIT_URL - 9); /* three times as long when encoded */
    assert_int_equal(url_parse(&a, str_of(raw, LIMIT_URL), &p, &err), RC_INPUT);
    memset(raw + 7, 'a', 64);
    memcpy(raw + 7 + 64, ".b/", 3);
    assert_int_equal(url_parse(&a, str_of(raw, 74), &p, &err), RC_INPUT);
    arena_release(&a);
}

static void test_url__parts(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct url_parts p;

    assert_int_equal(
        url_parse(&a, STR("https://us%65r:p%40%3A%2Fw:x@Host.example:8443/p"), &p, NULL), RC_OK);
    assert_str(p.scheme, "https");
    assert_str(p.host, "host.example");
    assert_int_equal(p.port, 8443);
    assert_str(p.credential, "user:p@:/w:x");
    assert_str(p.url, "https://host.example:8443/p");
    assert_int_equal(url_parse(&a, STR("http://user@h/"), &p, NULL), RC_OK);
    assert_str(p.credential, "user:");
    assert_int_equal(p.port, 80);
    assert_int_equal(url_parse(&a, STR("http://@h/"), &p, NULL), RC_OK);
    assert_true(str_is_null(p.credential));
    assert_int_equal(url_parse(&a, STR("https://h/"), &p, NULL), RC_OK);
    assert_true(str_is_null(p.credential));
    assert_int_equal(p.port, 443);
    arena_release(&a);
}

/* REST-28: errors do not show the password. */
static void test_url__errors_hide_credentials(void **state UNUSED)
{
    static const char *const rows[] = {
        "http://user:secret@host:99999/",
        "ftp://user:secret@host/",
        "http://user:sec/secret@host/",
        "user:secret@host/feed",
        "http:/user:secret@host/",
        "feed:ftp://user:secret@host/",
        "http://user:secret@",
        "ht\ntp://u:secret@ho st/",
        "//user:secret@host/",
        "http://u:secret@h/?a@b:x:c",
        "http:user:secret@host/",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct url_parts p;

        if (url_parse(&a, str_from(rows[i]), &p, &err) != RC_OK && strstr(err.text, "secret"))
            fail_msg("%s: %s", rows[i], err.text);
        arena_release(&a);
    }
}

static void test_url__public_form(void **state UNUSED)
{
    static const struct {
        const char *raw, *shown;
    } rows[] = {
        {"http://user:pw@h/x#f", "http://h/x"},
        {"http://h/x?a=b@c", "http://h/x?a=b@c"},
        {"https://medium.example/@user", "https://medium.example/@user"},
        {"http://h:80/@user", "http://h:80/@user"},
        {"http://[::1]/@user", "http://[::1]/@user"},
        {"ftp://u:p@h/x", "ftp://h/x"},
        {"feed://u:p@h/x", "feed://h/x"},
        {"feed:http://u:p@h/x", "feed:http://h/x"},
        {"//u:p@h/x", "//h/x"},
        {"u:p@h/x", "h/x"},
        {"mailto:a@b.example", "mailto:a@b.example"},
        {"tag:a@b.example,2005:x", "tag:a@b.example,2005:x"},
        {"foo", "foo"},
        {"", ""},
        {"http://u:pa/ss@h/", "http://h/"},
        {"http://u:p@h#a@b", "http://h"},
        {"amqp://u:pw", "amqp://u:..."}, /* without a host */
        {"http://u:pa/ss?x", "http://u:..."},
        {"u:pw", "u:..."},
        {"http://h:80/x", "http://h:80/x"},
        {"amqp://u:...", "amqp://u:..."},
        {"http://h#x@y", "http://h"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;

        assert_str(url_public(&a, str_from(rows[i].raw)), rows[i].shown);
        arena_release(&a);
    }
}

static void test_url__shown(void **state UNUSED)
{
    static const struct {
        const char *raw, *shown;
    } rows[] = {
        {"http%3A%2F%2Fu%3Apw%40h%2Fx", "http://h/x"},
        {"http%3a%2F%2Fu%3apw", "http://u:..."},
        {"http://h/x?u=http%3A%2F%2Fh", "http://h/x?u=http%3A%2F%2Fh"},
        {"50%25", "50%25"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;

        assert_str(url_shown(&a, str_from(rows[i].raw)), rows[i].shown);
        arena_release(&a);
    }
}

/* RFC 3986 §5.4, all examples. */
static void test_url__resolve_rfc_3986(void **state UNUSED)
{
    static const struct {
        const char *ref, *url;
    } rows[] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {"g?y#s", "http://a/b/c/g?y#s"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y#s"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/./x", "http://a/b/c/g#s/./x"},
        {"g#s/../x", "http://a/b/c/g#s/../x"},
        {"http:g", "http:g"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;

        assert_str(url_resolve(&a, STR("http://a/b/c/d;p?q"), str_from(rows[i].ref)), rows[i].url);
        arena_release(&a);
    }
}

static void test_url__resolve_odd_bases(void **state UNUSED)
{
    static const struct {
        const char *base, *ref, *url;
    } rows[] = {
        {"http://h", "x", "http://h/x"},
        {"http://h?q", "x", "http://h/x"},
        {"http://h", "?y", "http://h?y"},
        {"", " x ", "x"},
        {"/a/b", "c", "c"},
        {"urn:uuid:1", "c", "c"},
        {"tag:x,2005:y", "/c", "/c"},
        {"ftp://h/a/b", "../c", "ftp://h/c"},
        {"http://h/a", "mailto:x@y", "mailto:x@y"},
        {"http://h/a", "b\nc", "http://h/bc"},
        {"http://u:p@h/a", "b", "http://u:p@h/b"},
        {"http://h/a#f", "", "http://h/a"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena a = ARENA_INIT;

        assert_str(url_resolve(&a, str_from(rows[i].base), str_from(rows[i].ref)), rows[i].url);
        arena_release(&a);
    }
}

static void test_url__resolve_without_base(void **state UNUSED)
{
    struct arena a = ARENA_INIT;

    assert_str(url_resolve(&a, STR_NULL, STR("\tx/y ")), "x/y");
    assert_int_equal(url_resolve(&a, STR_NULL, STR_NULL).len, 0);
    assert_str(url_resolve(&a, STR("http://h/p?q"), STR_NULL), "http://h/p?q");
    arena_release(&a);
}

static void test_url__authority(void **state UNUSED)
{
    struct arena a = ARENA_INIT;

    assert_str(url_authority(&a, STR("http://h/x")), "h:80");
    assert_str(url_authority(&a, STR("https://h")), "h:443");
    assert_str(url_authority(&a, STR("https://h:8443/x:y")), "h:8443");
    assert_str(url_authority(&a, STR("http://[::1]/")), "[::1]:80");
    assert_str(url_authority(&a, STR("http://[::1]:81/")), "[::1]:81");
    assert_str(url_authority(&a, STR("http://h?x:1")), "h:80");
    arena_release(&a);
}

static void test_url__percent_encoding(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct str s;

    assert_str(url_encode(&a, STR("aZ09-._~ /?\xC3\xA9%")), "aZ09-._~%20%2F%3F%C3%A9%25");
    assert_str(url_decode(&a, STR("a%20b+c%2B%zz%4"), false), "a b+c+%zz%4");
    assert_str(url_decode(&a, STR("a%20b+c%2b%"), true), "a b c+%");
    s = url_decode(&a, STR("a%00b"), false);
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.ptr, "a\0b", 3);
    assert_int_equal(url_encode(&a, STR_NULL).len, 0);
    arena_release(&a);
}

/* ETIQ-08: what is sent with the fetches of a feed goes to its origin alone, not even to https of
 * the same host. */
static void test_url__same_origin(void **state UNUSED)
{
    static const struct {
        const char *given, *asked;
        bool may;
    } rows[] = {
        {"http://a.example/f", "http://a.example/f", true},
        {"http://a.example/f", "http://A.example:80/g?x", true},
        {"https://a.example/f", "https://a.example:443/", true},
        {"http://a.example/f", "https://a.example/f", false},
        {"https://a.example/f", "http://a.example/f", false},
        {"http://a.example/f", "http://b.example/f", false},
        {"http://a.example/f", "http://sub.a.example/f", false},
        {"http://a.example/f", "http://a.example.b.example/f", false},
        {"http://a.example/f", "http://a.example:8080/f", false},
        {"http://a.example/f", "http://a.example@b.example/f", false},
        {"http://a.example/f", "nonsense", false},
        {"nonsense", "nonsense", false},
        {"", "http://a.example/f", false},
        {NULL, "http://a.example/f", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(url_same_origin(str_from(rows[i].given), str_from(rows[i].asked)),
                         rows[i].may);
}

/* ETIQ-08 */
static void test_url__proxies(void **state UNUSED)
{
    static const struct {
        const char *text, *host, *credential;
        int port;
        enum http_proxy_kind kind;
    } good[] = {
        {"http://p.example", "p.example", NULL, 3128, HTTP_PROXY_HTTP},
        {"HTTP://P.example:80/", "p.example", NULL, 80, HTTP_PROXY_HTTP},
        {"socks5://joe:se%40me@10.0.0.1", "10.0.0.1", "joe:se@me", 1080, HTTP_PROXY_SOCKS5},
        {"socks5h://[::1]:9050", "[::1]", NULL, 9050, HTTP_PROXY_SOCKS5H},
        {"p.example:3129", "p.example", NULL, 3129, HTTP_PROXY_HTTP},
        {"joe:se%40me@[::1]:8080/", "[::1]", "joe:se@me", 8080, HTTP_PROXY_HTTP},
    };
    static const char *const bad[] = {
        "", "sesame", "sesame/", "joe:sesame@p.example", ":3128", "https://sesame/", "socks4://sesame", "http://",
        "http:///", "http://sesame/path", "http://sesame?x", "http://sesame#x", "http://sesame:0",
        "http://a:sesame%0a@p/", "http://sesame:x/", "http://:3128",
    };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct http_proxy p;

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(RC_OK, http_proxy_read(&a, str_from(good[i].text), &p, NULL));
        assert_int_equal(good[i].kind, p.kind);
        assert_int_equal(good[i].port, p.at.port);
        assert_true(str_eqz(p.at.host, good[i].host));
        assert_true(good[i].credential == NULL ? str_is_null(p.at.credential)
                                               : str_eqz(p.at.credential, good[i].credential));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(RC_INPUT, http_proxy_read(&a, str_from(bad[i]), &p, &err));
        assert_null(strstr(err.text, "sesame"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url__same_origin),
        cmocka_unit_test(test_url__proxies),
        cmocka_unit_test(test_url__canonical_form),
        cmocka_unit_test(test_url__what_is_refused),
        cmocka_unit_test(test_url__canonical_ones_are_read_alike),
        cmocka_unit_test(test_url__length_is_bounded),
        cmocka_unit_test(test_url__parts),
        cmocka_unit_test(test_url__errors_hide_credentials),
        cmocka_unit_test(test_url__public_form),
        cmocka_unit_test(test_url__shown),
        cmocka_unit_test(test_url__resolve_rfc_3986),
        cmocka_unit_test(test_url__resolve_odd_bases),
        cmocka_unit_test(test_url__resolve_without_base),
        cmocka_unit_test(test_url__authority),
        cmocka_unit_test(test_url__percent_encoding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
