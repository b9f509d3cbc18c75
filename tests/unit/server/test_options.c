/* The option table's four sources, their precedence, and what bad values are answered with. */
#include "tests/unit/cmocka_all.h"

#include <unistd.h>

#include "server/option_checks.h"
#include "server/options.h"

static struct options *load(const char *const *argv, struct err *err)
{
    struct options *o = NULL;
    bool help = false;
    int argc = 0;

    while (argv[argc] != NULL)
        argc++;
    /* main()'s strings may be written to; nobody here does */
    return options_load(argc, (char **)(uintptr_t)argv, &o, &help, err) == RC_OK ? o : NULL;
}

static void refused(const char *flag, const char *value, const char *says)
{
    const char *argv[] = {flag, value, NULL};
    struct err err = ERR_INIT;

    assert_null(load(argv, &err));
    if (strstr(err.text, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(err.rc, RC_INPUT);
}

static void test_options__defaults_are_in_range(void **state UNUSED)
{
    const char *argv[] = {NULL};
    struct err err = ERR_INIT;
    struct options *o = load(argv, &err);

    assert_non_null(o);
    assert_str(o->listen, "127.0.0.1:8080");
    assert_true(str_is_null(o->memcached));
    assert_int_equal(o->level1_period, 1800);
    assert_int_equal(o->fetch_timeout, 30000);
    assert_int_equal(o->fetch_size, 16 << 20);
    assert_int_equal(o->allow_fetch.n, 0);
    options_free(&o);
}

static void test_options__flags_beat_environment_beats_file(void **state UNUSED)
{
    char path[] = "/tmp/feedmill-options-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "# a comment\nlevel1-period = 1h\nlevel2_period = 2m\nreaders = 3\n"
                               "allow-fetch = 10.0.0.0/8\nallow-fetch = 10.1.0.0/16\n";
    const char *argv[] = {"--config",         path,        "--readers=5", "--allow-callback", "::1",
                          "--allow-callback", "127.0.0.1", NULL};
    struct err err = ERR_INIT;
    struct options *o;

    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    setenv("FEEDMILL_LEVEL2_PERIOD", "3m", 1);
    setenv("FEEDMILL_READERS", "4", 1);
    o = load(argv, &err);
    unsetenv("FEEDMILL_LEVEL2_PERIOD");
    unsetenv("FEEDMILL_READERS");
    unlink(path);
    if (o == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(o->level1_period, 3600);
    assert_int_equal(o->level2_period, 180);
    assert_int_equal(o->readers, 5);
    assert_int_equal(o->allow_fetch.n, 2);
    assert_str(o->allow_fetch.items[1], "10.1.0.0/16");
    assert_int_equal(o->allow_callback.n, 2);
    options_free(&o);
}

/* The file `text` as configuration; NULL, and *err says why. */
static struct options *load_text(const char *text, size_t len, struct err *err)
{
    char path[] = "/tmp/feedmill-options-XXXXXX";
    const char *argv[] = {"--config", path, NULL};
    struct options *o;
    int fd = mkstemp(path);

    assert_int_equal(write(fd, text, len), len);
    close(fd);
    o = load(argv, err);
    unlink(path);
    return o;
}

static void test_options__long_lines_of_the_file(void **state UNUSED)
{
    char text[3000] = "base-url = http://", *end = text + strlen(text);
    struct err err = ERR_INIT;
    struct options *o;

    memset(end, 'x', 2500);
    strcpy(end + 2500, "\nreaders = 3\n");
    o = load_text(text, strlen(text), &err);
    if (o == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(o->base_url.len, 7 + 2500);
    assert_int_equal(o->readers, 3);
    options_free(&o);
}

static void test_options__what_a_file_may_hold(void **state UNUSED)
{
    static const char text[] =
        "\xEF\xBB\xBF; one comment\n  # another\r\n\nreaders=3\r\n\tdb : a=b.db ; why\n"
        "token = a;b#c\nlisten = 127.0.0.1:81\nlog-level = debug # why\nxmpp-secret = #1\n"
        "access-log = a.log\t;why # not\n";
    struct err err = ERR_INIT;
    struct options *o = load_text(text, sizeof text - 1, &err);

    if (o == NULL)
        fail_msg("%s", err.text);
    assert_int_equal(o->readers, 3);
    assert_str(o->db, "a=b.db");
    assert_str(o->token, "a;b#c");
    assert_str(o->log_level, "debug");
    assert_str(o->xmpp_secret, "#1");
    assert_str(o->access_log, "a.log");
    assert_str(o->listen, "127.0.0.1:81");
    options_free(&o);
}

static void test_options__bad_lines_are_named(void **state UNUSED)
{
    static const struct {
        const char *text, *why;
    } rows[] = {{"readers = 3\n\nhello\n", "line 3 is not 'name = value'"},
                {"= 3\n", "line 1 is not"},
                {"[main]\nreaders = 3\n", "line 1: sections are not supported"},
                {"readers = 3\nfrob = 1\n", "line 2: unknown option frob"},
                {"--keep = 1d\n", "line 1: unknown option --keep; did you mean keep?"},
                {"lisen = x\n", "line 1: unknown option lisen; did you mean listen?"},
                {"confg = x\n", "unknown option confg (feedmill help serve"},
                {"config = other\n", "line 1: option config: a config file cannot name another one"},
                {"\nmax_size = many\n", "line 2: option max-size: \"many\" is not"},
                {"\n\nkeep-entries = 2000000\n", "line 3: option keep-entries: 2000000 is out of range"}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;

        assert_null(load_text(rows[i].text, strlen(rows[i].text), &err));
        if (strstr(err.text, rows[i].why) == NULL)
            fail_msg("%s", err.text);
    }
}

/* What is found only when all options are known names the line, too. */
static void test_options__late_faults_name_the_line(void **state UNUSED)
{
    static const struct {
        const char *text, *why;
    } rows[] = {{"\nlog-level = loud\n", "line 2: option log-level: \"loud\" is not"},
                {"log_format = xml\n", "line 1: option log-format: "},
                {"\n\nlisten = x\n", "line 3: option listen: \"x\" is not"},
                {"anonymous = admin\n", "line 1: option anonymous: "},
                {"base-url = http://a\nbase-url = x\n", "line 2: option base-url: "},
                {"announce = http://a\nannounce = x\nannounce = http://b\n", "line 2: option announce: "},
                {"allow-fetch = ::1\nallow-fetch = x\n", "line 2: option allow-fetch: "},
                {"cors-origin = x\n", "line 1: option cors-origin: "}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        struct options *o = load_text(rows[i].text, strlen(rows[i].text), &err);

        assert_non_null(o);
        assert_int_equal(options_check(o, &err), RC_INPUT);
        if (strstr(err.text, rows[i].why) == NULL || strncmp(err.text, "config file /tmp/", 17) != 0)
            fail_msg("%s", err.text);
        options_free(&o);
    }
}

static void test_options__faults_of_the_environment_name_the_variable(void **state UNUSED)
{
    const char *argv[] = {NULL};
    struct err err = ERR_INIT;
    struct options *o;

    setenv("FEEDMILL_MAX_SIZE", "much", 1);
    assert_null(load(argv, &err));
    unsetenv("FEEDMILL_MAX_SIZE");
    assert_non_null(strstr(err.text, "FEEDMILL_MAX_SIZE in the environment: option max-size: \"much\""));
    setenv("FEEDMILL_ALLOW_FETCH", "::1 x", 1);
    o = load(argv, &err);
    unsetenv("FEEDMILL_ALLOW_FETCH");
    assert_int_equal(options_check(o, &err), RC_INPUT);
    assert_non_null(strstr(err.text, "FEEDMILL_ALLOW_FETCH in the environment: option allow-fetch: \"x\""));
    options_free(&o);
}

/* Variables with our prefix that are not options: those of the commands and of the tests, and those that
 * a container gets for a service of this name. */
static void test_options__only_what_is_misspelt_is_named(void **state UNUSED)
{
    static const char *const others[] = {
        "FEEDMILL_URL",   "FEEDMILL_SERVER",   "FEEDMILL_TOKEN",        "FEEDMILL_BINARY",
        "FEEDMILL_SEED",  "FEEDMILL_PATIENCE", "FEEDMILL_ROUNDS",       "FEEDMILL_TEST_ENGINE",
        "FEEDMILL_ALL",   "FEEDMILL_JOBS",     "FEEDMILL_HOLD",         "FEEDMILL_QUICK",
        "FEEDMILL_PORT",  "FEEDMILL_TESTS",    "FEEDMILL_SERVICE_HOST", "FEEDMILL_PORT_8080_TCP_ADDR",
        "FEEDMILL_LEVEL", "FEEDMILL_SOURCE",   "FEEDMILL_POSTGRES",     "FEEDMILL_SERVICE_PORT"};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    char *variable = NULL, *meant = NULL;
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        setenv(others[i], "1", 1);
    if (options_next_misspelt(&at, &a, &variable, &meant))
        fail_msg("%s: did you mean %s?", variable, meant);
    setenv("FEEDMILL_KEEP_ENTRIS", "5", 1);
    at = 0;
    assert_true(options_next_misspelt(&at, &a, &variable, &meant));
    assert_string_equal(variable, "FEEDMILL_KEEP_ENTRIS");
    assert_string_equal(meant, "FEEDMILL_KEEP_ENTRIES");
    assert_false(options_next_misspelt(&at, &a, &variable, &meant));
    unsetenv("FEEDMILL_KEEP_ENTRIS");
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        unsetenv(others[i]);
}

static void test_options__bad_values_are_named(void **state UNUSED)
{
    refused("--frob", "1", "--frob");
    refused("frob", NULL, "\"frob\" is not an option");
    refused("--listen", NULL, "needs a value");
    refused("--level1-period", "soon", "a time such as");
    refused("--level1-period", "1500ms", "a time such as");
    refused("--level1-period", "0", "out of range");
    refused("--level1-period", "99999999999999999999d", "a time such as");
    refused("--level1-period", "9223372036854775807d", "a time such as");
    refused("--readers", "two", "a whole number");
    refused("--readers", "65", "1 to 64");
    refused("--fetch-size", "1T", "a number of bytes");
    refused("--fetch-size", "1KBit", "a number of bytes");
    refused("--fetch-size", "1iB", "a number of bytes");
    refused("--fetch-size", "1.5G", "a number of bytes");
    refused("--adaptive=perhaps", NULL, "option adaptive: \"perhaps\" is not yes or no");
    refused("--adaptive", "perhaps", "\"perhaps\" is not an option");
    refused("--no-readers", NULL, "unknown option --no-readers");
    refused("--no-adaptive=yes", NULL, "unknown option --no-adaptive");
    refused("--config", "/nonexistent/file", "/nonexistent/file");
}

/* One flag or two words, a line of the file, a variable: a switch is read in the same way. */
static void test_options__switches_are_words(void **state UNUSED) /* ETIQ-01 OPS-06 */
{
    static const struct {
        const char *flag, *value;
        bool adaptive;
    } rows[] = {{"--adaptive", NULL, true},     {"--no-adaptive", NULL, false}, {"--adaptive=off", NULL, false},
                {"--adaptive=on", NULL, true},  {"--adaptive=no", NULL, false}, {"--adaptive=False", NULL, false},
                {"--adaptive=0", NULL, false},  {"--adaptive=true", NULL, true}, {"--adaptive=1", NULL, true},
                {"--adaptive", "off", false},   {"--adaptive", "NO", false},    {"--adaptive", "1", true},
                {"--adaptive", "--hub", true},  {"--no-adaptive", "--hub", false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *argv[] = {"--announced-only", rows[i].flag, rows[i].value, NULL};
        struct err err = ERR_INIT;
        struct options *o = load(argv, &err);

        if (o == NULL || !o->announced_only || !o->hub || o->adaptive != rows[i].adaptive)
            fail_msg("%s %s: %s", rows[i].flag, rows[i].value, err.text);
        options_free(&o);
    }
}

static void test_options__switches_of_a_file_and_the_environment(void **state UNUSED) /* ETIQ-01 OPS-06 */
{
    static const char text[] = "adaptive = off\nannounced-only = On\nhub = 1\n";
    struct err err = ERR_INIT;
    struct options *o;

    setenv("FEEDMILL_HUB", "FALSE", 1);
    o = load_text(text, sizeof text - 1, &err);
    unsetenv("FEEDMILL_HUB");
    if (o == NULL)
        fail_msg("%s", err.text);
    assert_false(o->adaptive);
    assert_true(o->announced_only);
    assert_false(o->hub);
    options_free(&o);
}

static void test_options__sizes_in_all_spellings(void **state UNUSED) /* OPS-06 */
{
    static const struct {
        const char *text;
        int64_t size;
    } rows[] = {{"67108864", 64 << 20}, {"65536K", 64 << 20}, {"64M", 64 << 20},   {"64MB", 64 << 20},
                {"64MiB", 64 << 20},    {"64m", 64 << 20},    {"64mb", 64 << 20},  {"1GB", 1 << 30},
                {"1GiB", 1 << 30},      {"1G", 1 << 30},      {"65536KB", 64 << 20}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *argv[] = {"--cache-size", rows[i].text, NULL};
        struct err err = ERR_INIT;
        struct options *o = load(argv, &err);

        if (o == NULL || o->cache_size != rows[i].size)
            fail_msg("%s: %s", rows[i].text, err.text);
        options_free(&o);
    }
}

static void test_options__times_and_sizes_have_units(void **state UNUSED)
{
    const char *argv[] = {"--fetch-timeout", "2m", "--level0-period",        "1w",
                          "--cache-size",    "2G", "--push-first-retry=250", NULL};
    struct err err = ERR_INIT;
    struct options *o = load(argv, &err);

    assert_non_null(o);
    assert_int_equal(o->fetch_timeout, 120000);
    assert_int_equal(o->level0_period, 7 * 86400);
    assert_true(o->cache_size == (int64_t)2 << 30);
    assert_int_equal(o->push_first_retry, 250);
    options_free(&o);
}

static void test_options__a_reload_knows_what_it_cannot_change(void **state UNUSED)
{
    const char *one[] = {NULL}, *two[] = {"--level1-period", "1h", NULL},
               *three[] = {"--readers", "9", NULL}, *four[] = {"--max-size", "9", NULL};
    struct options *a = load(one, NULL), *b = load(two, NULL), *c = load(three, NULL);

    assert_null(options_changed_fixed(a, b));
    assert_string_equal(options_changed_fixed(a, c), "readers");
    options_free(&c);
    c = load(four, NULL);
    assert_string_equal(options_changed_fixed(a, c), "max-size");
    options_free(&a);
    options_free(&b);
    options_free(&c);
}

/* Options that are texts: the first word of the answer names the option, and it says what is right.
 */
static void check(const char *flag, const char *value, const char *says)
{
    const char *argv[] = {flag, value, NULL};
    struct err err = ERR_INIT;
    struct options *o = load(argv, &err);
    enum rc rc;

    assert_non_null(o);
    rc = options_check(o, &err);
    if (says == NULL ? rc != RC_OK : rc != RC_INPUT || strstr(err.text, says) == NULL)
        fail_msg("%s \"%s\": \"%s\"", flag, value, err.text);
    options_free(&o);
}

static void test_options__the_base_url_is_an_address(void **state UNUSED)
{
    static const char *const good[] = {"", "https://Feeds.example:8443",
                                       "http://feeds.example/mill/", "http://[::1]:80",
                                       "HTTPS://feeds.example"};
    static const char *const bad[] = {"x",
                                      "feeds.example",
                                      "ftp://feeds.example",
                                      "feed://feeds.example",
                                      "http://",
                                      "http:///x",
                                      "http://a b/",
                                      "http://feeds.example/?a",
                                      "http://feeds.example/#a",
                                      "http://feeds.example:99999/",
                                      " http://feeds.example"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        check("--base-url", good[i], NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check("--base-url", bad[i], "option base-url: \"");
    check("--base-url", "http://u:secret@feeds.example", "\"http://feeds.example\" is not");
}

static void test_options__xmpp_needs_all_three(void **state UNUSED)
{
    static const struct {
        const char *server, *component, *secret, *says; /* says NULL: they are right */
    } rows[] = {
        {"127.0.0.1:5347", "feeds.example.org", "sesame", NULL},
        {"[::1]:5347", "feeds.localhost", "sesame", NULL},
        {"127.0.0.1:5347", "feeds.example.org", "", "go together"},
        {"127.0.0.1:5347", "", "sesame", "go together"},
        {"", "feeds.example.org", "sesame", "go together"},
        {"127.0.0.1", "feeds.example.org", "sesame", "option xmpp-server: \"127.0.0.1\""},
        {"127.0.0.1:0", "feeds.example.org", "sesame", "option xmpp-server"},
        {"a b:5347", "feeds.example.org", "sesame", "option xmpp-server"},
        {"127.0.0.1:5347", "user@feeds.example.org", "sesame", "option xmpp-component"},
        {"127.0.0.1:5347", "feeds.example.org:80", "sesame", "option xmpp-component"},
        {"127.0.0.1:5347", "feeds'/><x", "sesame", "option xmpp-component"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *argv[] = {"--xmpp-server",
                              rows[i].server,
                              "--xmpp-component",
                              rows[i].component,
                              "--xmpp-secret",
                              rows[i].secret,
                              NULL};
        struct err err = ERR_INIT;
        struct options *o = load(argv, &err);

        assert_non_null(o);
        assert_int_equal(options_check(o, &err),
                         rows[i].says == NULL ? RC_OK : RC_INPUT);
        if (rows[i].says != NULL && strstr(err.text, rows[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, rows[i].says);
        assert_null(strstr(err.text, "sesame"));
        options_free(&o);
    }
}

static void test_options__a_page_is_named_by_its_origin(void **state UNUSED)
{
    static const char *const good[] = {"",
                                       "*",
                                       "https://app.example",
                                       "http://localhost:3000",
                                       "http://[::1]:3000",
                                       "http://192.0.2.7",
                                       "moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc"};
    static const char *const bad[] = {"a b",
                                      "app.example",
                                      "null",
                                      "://a",
                                      "https://",
                                      "https://a.example https://b.example",
                                      "https://a.example,https://b.example",
                                      "https://app.example/x",
                                      "https://app.example?x",
                                      "https://u@app.example",
                                      "https://*.example",
                                      "https://app.example:x"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        check("--cors-origin", good[i], NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check("--cors-origin", bad[i], "is not an origin; write one, as in https://app.example");
    check("--cors-origin", "https://app.example/", "write https://app.example");
    check("--cors-origin", "HTTPS://App.example:443", "write https://app.example");
}

static void test_options__what_the_outer_world_is_told(void **state UNUSED)
{
    static const struct {
        const char *flag, *value;
    } good[] = {{"--contact-url", "https://feeds.example/bot?x=1"},
                {"--contact-url", "http://n1.node.example/"},
                {"--contact-url", "mailto:mill@feeds.example"},
                {"--mirror-types", "audio/*, image/png"},
                {"--mirror-types", "*/*"},
                {"--mirror-types", "application/vnd.oasis.opendocument.text,image/svg+xml"},
                {"--node", ""},
                {"--node", "mill-1.example.org:8080"},
                {"--ping-server", "http://rpc.example/changes.xml"},
                {"--xmpp-allow", "alice@localhost"},
                {"--xmpp-allow", "b\xc3\xa4r@example.org"},
                {"--xmpp-allow", "my_chat.example.org"},
                {"--xmpp-allow", "127.0.0.1"}};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        check(good[i].flag, good[i].value, NULL);
    check("--mirror-types", "audio", "\"audio\" is not a media type; write audio/*, or");
    check("--contact-url", "http://u:secret@feeds.example", "\"http://feeds.example\" is not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__the_base_url_is_an_address),
        cmocka_unit_test(test_options__xmpp_needs_all_three),
        cmocka_unit_test(test_options__a_page_is_named_by_its_origin),
        cmocka_unit_test(test_options__defaults_are_in_range),
        cmocka_unit_test(test_options__flags_beat_environment_beats_file),
        cmocka_unit_test(test_options__bad_values_are_named),
        cmocka_unit_test(test_options__switches_are_words),
        cmocka_unit_test(test_options__switches_of_a_file_and_the_environment),
        cmocka_unit_test(test_options__sizes_in_all_spellings),
        cmocka_unit_test(test_options__what_the_outer_world_is_told),
        cmocka_unit_test(test_options__late_faults_name_the_line),
        cmocka_unit_test(test_options__faults_of_the_environment_name_the_variable),
        cmocka_unit_test(test_options__only_what_is_misspelt_is_named),
        cmocka_unit_test(test_options__long_lines_of_the_file),
        cmocka_unit_test(test_options__what_a_file_may_hold),
        cmocka_unit_test(test_options__bad_lines_are_named),
        cmocka_unit_test(test_options__times_and_sizes_have_units),
        cmocka_unit_test(test_options__a_reload_knows_what_it_cannot_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
