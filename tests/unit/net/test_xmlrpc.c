/* tests/unit/net/test_xmlrpc.c - XML-RPC calls and answers, and the shim around xmlrpc-c. */
#include <math.h>
#include <stdio.h>

#include "net/xmlrpc.h"
#include "net/xmlrpc_shim.h"
#include "tests/unit/cmocka_all.h"

#define DECLARATION "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"

/* One arena and one buffer a test. */
struct bench {
    struct arena a;
    struct buf out;
    struct rpc_server *server;
};

static enum rc on_echo(void *ctx UNUSED, struct arena *a, const struct value *params,
                       struct value **result, struct err *err)
{
    if (value_len(params) != 1)
        return err_set(err, RC_INPUT, "echo takes 1 parameter, %zu came", value_len(params));
    *result = value_copy(a, value_at(params, 0));
    return RC_OK;
}

static enum rc on_count(void *ctx, struct arena *a, const struct value *params UNUSED,
                        struct value **result, struct err *err UNUSED)
{
    *result = value_int(a, ++*(int *)ctx);
    return RC_OK;
}

static enum rc on_nothing(void *ctx UNUSED, struct arena *a, const struct value *params UNUSED,
                          struct value **result, struct err *err UNUSED)
{
    *result = value_null(a);
    return RC_OK;
}

static enum rc on_deep(void *ctx UNUSED, struct arena *a, const struct value *params UNUSED,
                       struct value **result, struct err *err UNUSED)
{
    struct value *v = value_list(a);

    for (int i = 0; i < 100; i++) {
        struct value *outer = value_list(a);

        value_push(a, outer, v);
        v = outer;
    }
    *result = v;
    return RC_OK;
}

static enum rc on_refuse(void *ctx UNUSED, struct arena *a UNUSED,
                         const struct value *params UNUSED, struct value **result UNUSED,
                         struct err *err)
{
    return err_set(err, RC_DENIED, "not <you> \xF0\x9F\x98\x80");
}

static const struct rpc_method methods[] = {
    {"echo", "Gives back its parameter.", on_echo, false},
    {"count", "Counts.", on_count, false},
    {"nothing", NULL, on_nothing, false},
    {"deep", NULL, on_deep, false},
    {"refuse", NULL, on_refuse, false},
};

static int counted;

static int setup(void **state)
{
    static struct bench b;

    b = (struct bench){.a = ARENA_INIT, .out = BUF_INIT(1024 * 1024)};
    b.server = rpc_server_new(methods, sizeof methods / sizeof methods[0], &counted);
    counted = 0;
    *state = &b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;

    rpc_server_free(&b->server);
    buf_release(&b->out);
    arena_release(&b->a);
    return 0;
}

static int init(void **state UNUSED)
{
    rpc_init();
    return 0;
}

static bool has(const struct buf *b, const char *z)
{
    return str_find(buf_view(b), str_from(z)) >= 0;
}

/* What the server answers to `xml`: its result, or NULL for a fault, whose code is given. */
static struct value *ask(struct bench *b, struct str xml, struct str content_type, int *code)
{
    struct value *result = NULL;
    struct str text = STR_NULL;

    buf_reset(&b->out);
    rpc_server_answer(b->server, xml, content_type, &b->out);
    *code = 0;
    switch (rpc_read_answer(&b->a, buf_view(&b->out), &result, code, &text)) {
    case RPC_RESULT:
        return result;
    case RPC_FAULT:
        assert_true(text.len > 0);
        return NULL;
    default:
        fail_msg("no methodResponse: %s", b->out.ptr);
        return NULL;
    }
}

/* echo(value) as XML in `xml`. */
static struct value *echo_xml(struct bench *b, const char *xml, int *code)
{
    return ask(b,
               str_printf(&b->a,
                          "<methodCall><methodName>echo</methodName><params><param>%s</param>"
                          "</params></methodCall>",
                          xml),
               STR_NULL, code);
}

/* echo(v), written and read by us. */
static struct value *echo_value(struct bench *b, const struct value *v)
{
    struct buf call = BUF_INIT(1024 * 1024);
    struct value *back;
    int code;

    assert_int_equal(rpc_write_call(&call, STR("echo"), &v, 1, NULL), RC_OK);
    assert_int_equal(str_utf8_valid(buf_view(&call)), call.len);
    back = ask(b, buf_view(&call), STR_NULL, &code);
    buf_release(&call);
    assert_non_null(back);
    return back;
}

static void assert_text(const struct value *v, const char *z)
{
    assert_non_null(v);
    assert_int_equal(v->kind, VAL_TEXT);
    if (!str_eqz(v->s, z))
        fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(v->s), z);
}

/* PUSH-14: all Unicode text survives. */
static void test_xmlrpc__text_survives(void **state)
{
    static const char *const rows[] = {
        "",
        "plain",
        "\xE2\x98\x83 & <b> ]]>",                           /* U+2603 */
        "\xF0\x9F\x98\x80",                                 /* U+1F600 */
        "a\xF0\x90\x80\x80z\xF4\x8F\xBF\xBD",               /* U+10000, U+10FFFD */
        "\xEE\x80\x80\xEE\x90\x80\xEE\xA0\x80\xEE\xA0\x81", /* private use: what the shim uses */
        "\xEE\xA0\x80\xEE\x80\x80\xEE\x90\x80",
        "\xEE\xA0\x80",
        "\xEE\x80\x80",
        "\xEE\x9F\xBF\xEE\x80\x80",
        "\xEF\xA3\xBF",
        "a\rb\r\nc\nd\te",
        "\r",
        "\r\xEE\xA0\x81",
        "  blanks  ",
        "&amp; &#65; <![CDATA[x]]>",
        "\xEF\xBB\xBFmark",
        "\xEF\xBF\xBD",
        "\xC2\x80\xC2\x9F\xE2\x80\xA8",
    };
    struct bench *b = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct value *dict = value_dict(&b->a), *back;

        assert_text(echo_value(b, value_text(&b->a, str_from(rows[i]))), rows[i]);
        value_set_text(&b->a, dict, str_from(rows[i]), STR("as a key"));
        back = echo_value(b, dict);
        assert_true(value_equal(dict, back));
    }
}

/* PUSH-14, D51: what XML 1.0 forbids is removed; broken bytes are replaced. */
static void test_xmlrpc__forbidden_characters_are_dropped(void **state)
{
    struct bench *b = *state;
    const struct value *v;

    v = value_text(&b->a, str_of("a\x01"
                                 "b\0c\x1f"
                                 "d\x7f",
                                 8));
    assert_text(echo_value(b, v), "abcd\x7f");
    v = value_text(&b->a, STR("x\xEF\xBF\xBE\xEF\xBF\xBFy")); /* U+FFFE, U+FFFF */
    assert_text(echo_value(b, v), "xy");
    v = value_text(&b->a, STR("x\xFFy\xED\xA0\x80z\xC0\x80\xF0\x9F"));
    assert_int_equal(str_utf8_valid(echo_value(b, v)->s), echo_value(b, v)->s.len);
    v = value_text(&b->a, STR("x\xFFy"));
    assert_text(echo_value(b, v), "x\xEF\xBF\xBDy");
}

/* The bytes on the wire are the characters themselves, not the stand-ins. */
static void test_xmlrpc__call_on_the_wire(void **state)
{
    struct bench *b = *state;
    const struct value *params[2];

    params[0] = value_text(&b->a, STR("\xF0\x9F\x98\x80<\r"));
    params[1] = value_int(&b->a, 7);
    assert_int_equal(rpc_write_call(&b->out, STR("a.b"), params, 2, NULL), RC_OK);
    assert_true(has(&b->out, "encoding=\"UTF-8\""));
    assert_true(has(&b->out, "<methodName>a.b</methodName>"));
    assert_true(has(&b->out, "<string>\xF0\x9F\x98\x80&lt;&#13;</string>"));
    assert_true(has(&b->out, "7</"));
    assert_false(has(&b->out, "\xEE"));
}

/* PUSH-15, D51: no nil and no i8; null members are left out, large numbers are strings. */
static void test_xmlrpc__base_types_only(void **state)
{
    struct bench *b = *state;
    struct value *dict = value_dict(&b->a), *list = value_list(&b->a), *back;
    const struct value *param = dict;

    value_setz(&b->a, dict, "null", value_null(&b->a));
    value_setz(&b->a, dict, "max", value_int(&b->a, INT32_MAX));
    value_setz(&b->a, dict, "min", value_int(&b->a, INT32_MIN));
    value_setz(&b->a, dict, "large", value_int(&b->a, (int64_t)INT32_MAX + 1));
    value_setz(&b->a, dict, "small", value_int(&b->a, INT64_MIN));
    value_setz(&b->a, dict, "yes", value_bool(&b->a, true));
    value_setz(&b->a, dict, "real", value_real(&b->a, -1.5));
    value_setz(&b->a, dict, "nan", value_real(&b->a, NAN));
    value_setz(&b->a, dict, "list", list);
    value_push(&b->a, list, value_null(&b->a));
    value_push(&b->a, list, value_dict(&b->a));
    value_push(&b->a, list, value_list(&b->a));
    assert_int_equal(rpc_write_call(&b->out, STR("x"), &param, 1, NULL), RC_OK);
    assert_false(has(&b->out, "nil"));
    assert_false(has(&b->out, "i8"));
    assert_false(has(&b->out, "<ex:"));
    back = echo_value(b, dict);
    assert_null(value_getz(back, "null"));
    assert_int_equal(value_get_int(back, STR("max"), 0), INT32_MAX);
    assert_int_equal(value_get_int(back, STR("min"), 0), INT32_MIN);
    assert_text(value_getz(back, "large"), "2147483648");
    assert_text(value_getz(back, "small"), "-9223372036854775808");
    assert_int_equal(value_getz(back, "yes")->kind, VAL_BOOL);
    assert_true(value_getz(back, "yes")->b);
    assert_int_equal(value_getz(back, "real")->kind, VAL_REAL);
    assert_true(value_getz(back, "real")->d == -1.5);
    assert_text(value_getz(back, "nan"), "NaN");
    assert_int_equal(value_len(value_getz(back, "list")), 3);
    assert_text(value_at(value_getz(back, "list"), 0), "");
    assert_int_equal(value_at(value_getz(back, "list"), 1)->kind, VAL_DICT);
}

static void test_xmlrpc__call_over_a_bound(void **state)
{
    struct bench *b = *state;
    const struct value *v = value_text(&b->a, STR("0123456789"));
    struct buf tiny = BUF_INIT(100);
    struct err err = ERR_INIT;
    struct value *deep;

    assert_int_equal(rpc_write_call(&tiny, STR("x"), &v, 1, &err), RC_LIMIT);
    assert_non_null(strstr(err.text, "100 bytes"));
    buf_release(&tiny);
    on_deep(NULL, &b->a, NULL, &deep, NULL);
    v = deep;
    assert_int_equal(rpc_write_call(&b->out, STR("x"), &v, 1, &err), RC_LIMIT);
    assert_int_equal(b->out.len, 0);
}

/* XRPC-05: integers leave as <int>, whatever texts beside them say. */
static void test_xmlrpc__integers_leave_as_int(void **state)
{
    struct bench *b = *state;
    struct value *list = value_list(&b->a);
    const struct value *param = list;

    value_push(&b->a, list, value_int(&b->a, -7));
    value_push(&b->a, list, value_text(&b->a, STR("<i4>i4></i4>")));
    buf_reset(&b->out);
    assert_int_equal(rpc_write_call(&b->out, STR("x"), &param, 1, NULL), RC_OK);
    assert_true(has(&b->out, "<int>-7</int>"));
    assert_false(has(&b->out, "<i4>"));
    assert_true(has(&b->out, "&lt;i4&gt;i4&gt;&lt;/i4&gt;"));
}

/* XRPC-05: an untyped value is a string, i4 is int; and the types others add. */
static void test_xmlrpc__types_that_come_in(void **state)
{
    static const struct {
        const char *xml;
        enum value_kind kind;
        const char *text;
        int64_t i;
    } rows[] = {
        {"<value>text</value>", VAL_TEXT, "text", 0},
        {"<value> </value>", VAL_TEXT, " ", 0},
        {"<value></value>", VAL_TEXT, "", 0},
        {"<value/>", VAL_TEXT, "", 0},
        {"<value><string/></value>", VAL_TEXT, "", 0},
        {"<value><i4>-7</i4></value>", VAL_INT, NULL, -7},
        {"<value><int>7</int></value>", VAL_INT, NULL, 7},
        {"<value><i8>9000000000</i8></value>", VAL_INT, NULL, INT64_C(9000000000)},
        {"<value><ex:i8> -5 </ex:i8></value>", VAL_INT, NULL, -5},
        {"<value>\xEE\xA0\x80\xEE\xA0\x82"
         "5</value>",
         VAL_TEXT,
         "\xEE\xA0\x80\xEE\xA0\x82"
         "5",
         0},
        {"<value><nil/></value>", VAL_NULL, NULL, 0},
        {"<value><base64>aGk=</base64></value>", VAL_TEXT, "hi", 0},
        {"<value><dateTime.iso8601>20260102T03:04:05</dateTime.iso8601></value>", VAL_TEXT,
         "20260102T03:04:05", 0},
        {"<value><string a='>' b=\"/\">x</string></value>", VAL_TEXT, "x", 0},
        {"<value><string><![CDATA[a <b> & \xF0\x9F\x98\x80 <!DOCTYPE]]>c</string></value>",
         VAL_TEXT, "a <b> & \xF0\x9F\x98\x80 <!DOCTYPEc", 0},
        {"<value>a<!-- <x> & -->b<?pi?></value>", VAL_TEXT, "ab", 0},
        {"<value>&#x1F600;&#9829;&#1;&#xFFFF;&#x110000;&lt;&quot;&apos;&#38;</value>", VAL_TEXT,
         "\xF0\x9F\x98\x80\xE2\x99\xA5<\"'&", 0},
        {"<value>a\r\nb\rc&#13;</value>", VAL_TEXT, "a\nb\nc\r", 0},
        {"<value>x\x01y</value>", VAL_TEXT, "xy", 0},
        {"<value>]]></value>", VAL_TEXT, "]]>", 0},
        {"<value>&#xE000;&#xE400;</value>", VAL_TEXT, "\xEE\x80\x80\xEE\x90\x80", 0},
    };
    struct bench *b = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* `nothing` shows what came only through the parameters, so look at those of echo */
        struct value *v;
        int code;

        v = echo_xml(b, rows[i].xml, &code);
        if (v == NULL)
            fail_msg("%s: fault %d", rows[i].xml, code);
        if (rows[i].kind == VAL_NULL) {
            assert_text(v, ""); /* on the way back */
        } else if (rows[i].kind == VAL_INT && rows[i].i > INT32_MAX) {
            assert_text(v, "9000000000");
        } else {
            assert_int_equal(v->kind, rows[i].kind);
            if (rows[i].text != NULL)
                assert_text(v, rows[i].text);
            else
                assert_true(v->i == rows[i].i);
        }
    }
}

/* XRPC-03, XRPC-08: what is ill-formed, or would blow up, is a fault. */
static void test_xmlrpc__bad_documents_are_faults(void **state)
{
    static const char *const rows[] = {
        "",
        "junk",
        "<methodCall>",
        "<methodCall><methodName>echo</methodName><params><param><value>x",
        "<methodCall><methodName>echo</methodName><params><param><value>x</val",
        "<methodCall><methodName>echo</methodName></params></methodCall>",
        "<methodResponse/>",
        "<methodCall><methodName>echo</methodName><params><value>x</value></params></methodCall>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><methodCall><methodName>echo</methodName><params><param>"
        "<value>&a;</value></param></params></methodCall>",
        "<methodCall><!ELEMENT x><methodName>echo</methodName></methodCall>",
        "<methodCall><methodName>echo</methodName><params><param><value>&nbsp;</value></param>"
        "</params></methodCall>",
        "<methodCall><methodName>echo</methodName><params><param><value>a & b</value></param>"
        "</params></methodCall>",
        "<methodCall><methodName>echo</methodName><params><param><value><int>x</int></value>"
        "</param></params></methodCall>",
        "<methodCall><methodName>echo</methodName><params><param><value><int>2147483648</int>"
        "</value></param></params></methodCall>",
        "<methodCall><methodName>echo</methodName><params><param><value>&#x;&#;</value></param>"
        "</params></methodCall>",
        "<methodCall><!-- never ends",
        "<methodCall><![CDATA[",
        "<methodCall a='",
        "<methodCall <x>",
        "<>",
        "<?xml version='1.0' encoding='klingon'?><methodCall>\xFF</methodCall>",
    };
    struct bench *b = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int code;

        if (ask(b, str_from(rows[i]), STR_NULL, &code) != NULL)
            fail_msg("taken: %s", rows[i]);
        assert_true(code < 0);
    }
}

/* Scalars that are none. For an <i8> the library itself would crash. */
static void test_xmlrpc__bad_scalars_are_faults(void **state)
{
    static const char *const rows[] = {
        "<i8>z9</i8>",
        "<i8></i8>",
        "<i8/>",
        "<i8>9223372036854775808</i8>",
        "<ex:i8>x</ex:i8>",
        "<int>z</int>",
        "<int></int>",
        "<int/>",
        "<int> 5</int>",
        "<i4>99999999999999999999</i4>",
        "<double>z</double>",

        "<double>1.5x</double>",
        "<double>--1</double>",
        "<boolean>2</boolean>",
        "<boolean></boolean>",
        "<boolean>x</boolean>",
        "<dateTime.iso8601>never</dateTime.iso8601>",
        "<dateTime.iso8601>20209999T99:99:99</dateTime.iso8601>",
        "<other>x</other>",
        "<array/>",
        "<array><value/></array>",
        "<array><data><int>1</int></data></array>",
        "<struct><x/></struct>",
        "<struct><member/></struct>",
        "<struct><member><name><a/></name><value/></member></struct>",
        "<struct><member><value/><value/></member></struct>",
        "<struct><member><name>a</name><name>b</name></member></struct>",
        "<int><int>5</int></int>",
        "<string><int>5</int></string>",
        "<int>5</int><int>6</int>",
    };
    struct bench *b = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct value *v;
        int code;

        v = echo_xml(b, str_printf(&b->a, "<value>%s</value>", rows[i]).ptr, &code);
        if (v != NULL)
            fail_msg("taken: %s", rows[i]);
    }
}

/* XRPC-08: depth and size. */
static void test_xmlrpc__large_documents_are_faults(void **state)
{
    struct bench *b = *state;
    struct buf xml = BUF_INIT(BUF_ANY);
    int code;

    for (int i = 0; i < 100000; i++)
        buf_puts(&xml, "<value>");
    assert_null(ask(b, buf_view(&xml), STR_NULL, &code));
    buf_reset(&xml);
    buf_puts(&xml, "<methodCall><methodName>echo</methodName><params><param>");
    for (int i = 0; i < 70; i++)
        buf_puts(&xml, "<value><array><data>");
    for (int i = 0; i < 70; i++)
        buf_puts(&xml, "</data></array></value>");
    buf_puts(&xml, "</param></params></methodCall>");
    assert_null(ask(b, buf_view(&xml), STR_NULL, &code));
    buf_reset(&xml);
    while (xml.len < 600 * 1024)
        buf_puts(&xml, "<value/>");
    assert_null(ask(b, buf_view(&xml), STR_NULL, &code));
    assert_int_equal(code, -509);
    buf_reset(&xml);
    buf_puts(&xml, "<methodCall><methodName>echo</methodName><params><param><value><struct>");
    for (int i = 0; i < 5000; i++)
        buf_printf(&xml, "<member><name>%d</name><value>1</value></member>", i);
    buf_puts(&xml, "</struct></value></param></params></methodCall>");
    assert_null(ask(b, buf_view(&xml), STR_NULL, &code));
    buf_release(&xml);
}

/* XRPC-07: encodings by mark, declaration and charset. */
static void test_xmlrpc__encodings(void **state)
{
#define CALL "<methodCall><methodName>echo</methodName><params><param><value>"
#define END "</value></param></params></methodCall>"
    static const struct {
        const char *xml, *content_type, *text;
    } rows[] = {
        {CALL "\xC3\xA9" END, NULL, "\xC3\xA9"},
        {"\xEF\xBB\xBF" DECLARATION CALL "\xC3\xA9" END, NULL, "\xC3\xA9"},
        {"<?xml version='1.0' encoding='ISO-8859-1'?>" CALL "\xE9&#9829;\x80" END, NULL,
         "\xC3\xA9\xE2\x99\xA5\xE2\x82\xAC"},
        {"<?xml version=\"1.0\" encoding = \"windows-1251\" ?>" CALL "\xE9" END, NULL, "\xD0\xB9"},
        {CALL "\xE9" END, "text/xml; charset=\"iso-8859-1\"", "\xC3\xA9"},
        {CALL "\xE9" END, "text/xml;charset=KOI8-R;x=y", "\xD0\x98"},
        {"<?xml version='1.0' encoding='utf-8'?>" CALL "\xE9" END, "text/xml; charset=iso-8859-2",
         "\xC3\xA9"},
        {"<?xml version='1.0' encoding='utf-16'?>" CALL "\xC3\xA9" END, NULL, "\xC3\xA9"},
        {"<?xml version='1.0' encoding='klingon'?>" CALL "\xC3\xA9" END, NULL, "\xC3\xA9"},
        {"\n " DECLARATION CALL "x" END "\n", NULL, "x"},
        {"<?xml version='1.0' encoding='shift_jis'?>" CALL "\x83\x65" END, NULL, "\xE3\x83\x86"},
    };
    struct bench *b = *state;
    struct buf wide = BUF_INIT(BUF_ANY);
    struct str ascii = STR("<?xml version='1.0' encoding='UTF-16'?>" CALL "x" END);
    int code;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct value *v = ask(b, str_from(rows[i].xml), str_from(rows[i].content_type), &code);

        if (v == NULL)
            fail_msg("row %zu: fault %d", i, code);
        assert_text(v, rows[i].text);
    }
    for (int mark = 0; mark < 4; mark++) { /* both orders, with and without a mark */
        bool big = mark & 1;

        buf_reset(&wide);
        if (mark & 2)
            buf_append(&wide, big ? "\xFE\xFF" : "\xFF\xFE", 2);
        for (size_t i = 0; i < ascii.len; i++) {
            buf_append(&wide, big ? (char[]){0, ascii.ptr[i]} : (char[]){ascii.ptr[i], 0}, 2);
        }
        assert_text(ask(b, buf_view(&wide), STR_NULL, &code), "x");
    }
    buf_release(&wide);
}

/* XRPC-02, XRPC-04. */
static void test_xmlrpc__faults_of_the_server(void **state)
{
    struct bench *b = *state;
    int code;

    assert_null(
        ask(b, STR("<methodCall><methodName>no.such</methodName></methodCall>"), STR_NULL, &code));
    assert_int_equal(code, -506);
    assert_true(has(&b->out, "no.such"));
    assert_null(
        ask(b, STR("<methodCall><methodName>echo</methodName></methodCall>"), STR_NULL, &code));
    assert_int_equal(code, -501);
    assert_true(has(&b->out, "echo takes 1 parameter, 0 came"));
    assert_null(
        ask(b, STR("<methodCall><methodName>refuse</methodName></methodCall>"), STR_NULL, &code));
    assert_int_equal(code, -507);
    assert_true(has(&b->out, "not &lt;you&gt; \xF0\x9F\x98\x80"));
    assert_null(
        ask(b, STR("<methodCall><methodName>deep</methodName></methodCall>"), STR_NULL, &code));
    assert_int_equal(code, -509);
}

static void test_xmlrpc__server_calls_its_methods(void **state)
{
    struct bench *b = *state;
    struct value *v;
    int code;

    v = ask(b, STR("<methodCall><methodName>count</methodName><params/></methodCall>"), STR_NULL,
            &code);
    assert_non_null(v);
    assert_int_equal(v->i, 1);
    v = ask(b, STR("<methodCall><methodName>count</methodName></methodCall>"), STR_NULL, &code);
    assert_int_equal(v->i, 2);
    v = ask(b, STR("<methodCall><methodName>nothing</methodName></methodCall>"), STR_NULL, &code);
    assert_text(v, "");
}

/* XRPC-10; and what must not be there. */
static void test_xmlrpc__introspection(void **state)
{
    struct bench *b = *state;
    struct value *v;
    int code;

    v = ask(b, STR("<methodCall><methodName>system.listMethods</methodName></methodCall>"),
            STR_NULL, &code);
    assert_non_null(v);
    assert_text(value_at(v, 0), "echo");
    assert_int_equal(value_len(v), 7);
    v = ask(b,
            STR("<methodCall><methodName>system.methodHelp</methodName><params><param><value>"
                "echo</value></param></params></methodCall>"),
            STR_NULL, &code);
    assert_text(v, "Gives back its parameter.");
    assert_null(ask(b, STR("<methodCall><methodName>system.multicall</methodName></methodCall>"),
                    STR_NULL, &code));
    assert_int_equal(code, -506);
    assert_null(ask(b, STR("<methodCall><methodName>system.shutdown</methodName></methodCall>"),
                    STR_NULL, &code));
    assert_int_equal(code, -506);
}

static void test_xmlrpc__answer_that_does_not_fit_is_a_fault(void **state)
{
    struct bench *b = *state;
    struct buf small = BUF_INIT(800);
    struct value *result;
    struct str text;
    int code;

    rpc_server_answer(b->server,
                      str_printf(&b->a,
                                 "<methodCall><methodName>echo</methodName><params><param>"
                                 "<value>%0700d</value></param></params></methodCall>",
                                 1),
                      STR_NULL, &small);
    assert_true(buf_ok(&small));
    assert_int_equal(rpc_read_answer(&b->a, buf_view(&small), &result, &code, &text), RPC_FAULT);
    assert_int_equal(code, -509);
    buf_release(&small);
}

/* D6, PUSH-10, PUSH-11: results, faults and garbage are told apart. */
static void test_xmlrpc__answers(void **state)
{
    static const struct {
        const char *xml;
        enum rpc_answer answer;
    } rows[] = {
        {DECLARATION "<methodResponse><params><param><value><int>1</int></value></param></params>"
                     "</methodResponse>",
         RPC_RESULT},
        {"<methodResponse><params><param><value><nil/></value></param></params></methodResponse>",
         RPC_RESULT},
        {"<methodResponse><fault><value><struct><member><name>faultCode</name><value><int>4"
         "</int></value></member><member><name>faultString</name><value><string>\xF0\x9F\x98\x80"
         "</string></value></member></struct></value></fault></methodResponse>",
         RPC_FAULT},
        {"<methodResponse><fault><value>x</value></fault></methodResponse>", RPC_GARBAGE},
        {"<methodResponse/>", RPC_GARBAGE},
        {"<methodResponse><params/></methodResponse>", RPC_GARBAGE},
        {"<html><body>It works!</body></html>", RPC_GARBAGE},
        {"ok", RPC_GARBAGE},
        {"", RPC_GARBAGE},
        {"<!DOCTYPE html><methodResponse/>", RPC_GARBAGE},
    };
    struct bench *b = *state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct value *result = NULL;
        struct str text = STR_NULL;
        int code = 0;

        if (rpc_read_answer(&b->a, str_from(rows[i].xml), &result, &code, &text) != rows[i].answer)
            fail_msg("%s", rows[i].xml);
        assert_true((result != NULL) == (rows[i].answer == RPC_RESULT));
        if (rows[i].answer == RPC_FAULT) {
            assert_int_equal(code, 4);
            assert_true(str_eqz(text, "\xF0\x9F\x98\x80"));
        }
    }
    assert_int_equal(rpc_read_answer(&b->a, STR_NULL, &(struct value *){NULL}, &(int){0},
                                     &(struct str){NULL, 0}),
                     RPC_GARBAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_xmlrpc__text_survives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__forbidden_characters_are_dropped, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__call_on_the_wire, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__integers_leave_as_int, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__base_types_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__call_over_a_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__types_that_come_in, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__bad_documents_are_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__bad_scalars_are_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__large_documents_are_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__encodings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__faults_of_the_server, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__server_calls_its_methods, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__introspection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__answer_that_does_not_fit_is_a_fault, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_xmlrpc__answers, setup, teardown),
    };

    return cmocka_run_group_tests(tests, init, NULL);
}
