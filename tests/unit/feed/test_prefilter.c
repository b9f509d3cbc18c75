#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "feed/prefilter.h"

static void collect(void *ctx, const char *p, size_t len)
{
    assert_true(len <= PREFILTER_CHUNK);
    buf_append(ctx, p, len);
}

/* `why` NULL: well-formed already. */
static void check(const char *in, const char *want, const char *why)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct prefilter_result r;

    prefilter(str_from(in), collect, &out, &r);
    if (!str_eqz(buf_view(&out), want))
        fail_msg("%s became %s", in, out.ptr);
    if (why == NULL ? r.why != NULL : r.why == NULL || strstr(r.why, why) == NULL)
        fail_msg("%s: why is %s", in, r.why);
}

static void test_prefilter__well_formed_text_stays(void **state)
{
    (void)state;
    check("<a b=\"1\" c='2'>x<d/>ü]</a >", "<a b=\"1\" c='2'>x<d/>ü]</a>", NULL);
    check("<?xml version='1.0'?>\n<!-- c --><a/>\n", "<a/>", NULL);
}

static void test_prefilter__references_become_characters(void **state)
{
    (void)state;
    check("<a>1&lt;2&#38;&#x41;</a>", "<a>1<![CDATA[<2&A]]></a>", NULL);
    check("<a>]]&gt;</a>", "<a>]]<![CDATA[>]]></a>", NULL);
    check("<a>&amp;]]&gt;</a>", "<a><![CDATA[&]]]]><![CDATA[>]]></a>", NULL);
    check("<a>&nbsp;</a>", "<a><![CDATA[\xC2\xA0]]></a>", "HTML entity");
    check("<a b='&amp;&eacute;'/>", "<a b=\"&#38;&#233;\"/>", "HTML entity");
}

static void test_prefilter__stray_markup_is_kept_as_text(void **state) /* OBJ-08 */
{
    (void)state;
    check("<a>AT&T</a>", "<a>AT<![CDATA[&T]]></a>", "ampersand");
    check("<a>1 < 2</a>", "<a>1 <![CDATA[< 2]]></a>", "less-than");
    check("<a b='x&y'/>", "<a b=\"x&#38;y\"/>", "ampersand");
    check("<a b='<'/>", "<a b=\"&#60;\"/>", "less-than");
}

static void test_prefilter__control_characters_go(void **state)
{
    (void)state;
    check("<a>x\001y\013</a>", "<a>xy</a>", "control");
    check("<a>&#1;x&#xFFFF;</a>", "<a>x</a>", "forbids");
    check("<a>x\r\ny\rz</a>", "<a>x\ny\nz</a>", NULL);
}

static void test_prefilter__tags_are_balanced(void **state) /* OBJ-08 */
{
    (void)state;
    check("<a><b>x</a>", "<a><b>x</b></a>", "match");
    check("<a>x</b></a>", "<a>x</a>", "match");
    check("<a><B>x</b></a>", "<a><B>x</B></a>", "match");
    check("<a/><b/>", "<a/>", "behind the end");
    check("<a>x</a><a>y</a>", "<a>xy</a>", "behind the end");
    check("<a><b>x", "<a><b>x", "cut off");
}

static void test_prefilter__attributes_are_mended(void **state)
{
    (void)state;
    check("<a b=1 c d=\"2\"e='3'/>", "<a b=\"1\" c=\"c\" d=\"2\" e=\"3\"/>", "quotes");
    check("<a b='\"'c='1'/>", "<a b='\"' c=\"1\"/>", "space");
}

static void test_prefilter__doctype_and_its_entities(void **state)
{
    (void)state;
    check("<!DOCTYPE a [<!ENTITY e \"v&#65;\"><!-- don't --><!ENTITY f SYSTEM \"file:///x\">]>"
          "<a>&e;&f;</a>",
          "<a><![CDATA[vA&f;]]></a>", "ampersand");
    check("<!DOCTYPE a PUBLIC \"-//Netscape//x\" \"y\"><a/>", "<a/>", NULL);
}

static void test_prefilter__no_entity_bomb(void **state)
{
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY), out = BUF_INIT(BUF_ANY);
    struct prefilter_result r;

    (void)state;
    buf_puts(&in, "<!DOCTYPE a [<!ENTITY e \"");
    for (int i = 0; i < 250; i++)
        buf_putc(&in, 'x');
    buf_puts(&in, "\">]><a>");
    for (int i = 0; i < 100000; i++)
        buf_puts(&in, "&e;");
    buf_puts(&in, "</a>");
    prefilter(buf_view(&in), collect, &out, &r);
    assert_true(out.len < 2 * 1024 * 1024);
    assert_non_null(r.why);
}

static void test_prefilter__depth_is_bounded(void **state)
{
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY), out = BUF_INIT(BUF_ANY);
    struct prefilter_result r;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 100000; i++)
        buf_puts(&in, "<a>");
    buf_puts(&in, "x");
    for (int i = 0; i < 100000; i++)
        buf_puts(&in, "</a>");
    prefilter(buf_view(&in), collect, &out, &r);
    for (size_t i = 0; i + 2 < out.len; i++)
        n += memcmp(out.ptr + i, "<a>", 3) == 0;
    assert_int_equal(n, LIMIT_XML_DEPTH);
    assert_true(str_find(buf_view(&out), STR(">x</a>")) > 0);
}

/* Each of these once made some search start anew at every byte. */
static void test_prefilter__hostile_repetitions_take_linear_time(void **state)
{
    static const char *const pieces[] = {"<!--", "<![CDATA[",   "<?",       "<a b=\"", "<a b='",
                                         "&",    "<",           "</x>",     "<a ",     "]",
                                         "&#",   "<!DOCTYPE [", "<!ENTITY "};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY), out = BUF_INIT(BUF_ANY);
        struct prefilter_result r;
        int64_t from = clock_mono_ms();

        buf_puts(&in, i == ARRAY_LEN(pieces) - 1 ? "<!DOCTYPE a [" : "<r>");
        while (in.len < 2 * 1024 * 1024)
            buf_puts(&in, pieces[i]);
        prefilter(buf_view(&in), collect, &out, &r);
        if (clock_mono_ms() - from > 8000) /* sanitizers make it slow, quadratic would be minutes */
            fail_msg("%s", pieces[i]);
    }
}

static void test_prefilter__characters_are_not_cut_at_chunk_ends(void **state)
{
    (void)state;
    for (size_t pad = 0; pad < 8; pad++) {
        AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY), out = BUF_INIT(BUF_ANY);
        struct prefilter_result r;

        buf_puts(&in, "<a>&lt;");
        for (size_t i = 0; i < pad; i++)
            buf_putc(&in, 'x');
        for (size_t i = 0; i < 20000; i++)
            buf_puts(&in, "\xE2\x82\xAC");
        buf_puts(&in, "</a>");
        prefilter(buf_view(&in), collect, &out, &r);
        assert_null(r.why);
        /* a section boundary never stands within a character */
        for (size_t i = 0; i + 2 < out.len; i++)
            if (memcmp(out.ptr + i, "]]>", 3) == 0)
                assert_true(i == 0 || str_utf8_valid(str_of(out.ptr, i)) == i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefilter__well_formed_text_stays),
        cmocka_unit_test(test_prefilter__references_become_characters),
        cmocka_unit_test(test_prefilter__stray_markup_is_kept_as_text),
        cmocka_unit_test(test_prefilter__control_characters_go),
        cmocka_unit_test(test_prefilter__tags_are_balanced),
        cmocka_unit_test(test_prefilter__attributes_are_mended),
        cmocka_unit_test(test_prefilter__doctype_and_its_entities),
        cmocka_unit_test(test_prefilter__no_entity_bomb),
        cmocka_unit_test(test_prefilter__depth_is_bounded),
        cmocka_unit_test(test_prefilter__hostile_repetitions_take_linear_time),
        cmocka_unit_test(test_prefilter__characters_are_not_cut_at_chunk_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
