#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "feed/read/prefilter.h"

/* A document put together again: its tags, and between them its text with '<' and '&' escaped. */
struct whole {
    struct buf out;
    size_t n_tags;
};
#define WHOLE_INIT                                                                                 \
    {                                                                                              \
        BUF_INIT(BUF_ANY), 0                                                                       \
    }

static void whole_release(struct whole *w)
{
    buf_release(&w->out);
}

static void put_texts(struct whole *w, const struct prefilter_batch *batch, size_t *next)
{
    for (; *next < batch->n_texts && batch->texts[*next].at == w->n_tags; ++*next) {
        struct str text = batch->texts[*next].text;

        assert_true(str_utf8_valid(text) == text.len); /* never cut within a character */
        for (size_t i = 0; i < text.len; i++)
            if (text.ptr[i] == '<' || text.ptr[i] == '&')
                buf_puts(&w->out, text.ptr[i] == '<' ? "&lt;" : "&amp;");
            else
                buf_putc(&w->out, text.ptr[i]);
    }
}

static void collect(void *ctx, const struct prefilter_batch *batch)
{
    struct whole *w = ctx;
    size_t next = 0;
    char quote = '\0';

    assert_true(batch->tags.len <= PREFILTER_CHUNK);
    for (size_t i = 0; i < batch->tags.len; i++) {
        char c = batch->tags.ptr[i];

        if (c == '<' && quote == '\0')
            put_texts(w, batch, &next);
        buf_putc(&w->out, c);
        if (c == quote)
            quote = '\0';
        else if (quote == '\0' && (c == '"' || c == '\''))
            quote = c;
        else if (quote == '\0' && c == '>')
            w->n_tags += batch->tags.ptr[i - 1] == '/' ? 2 : 1;
    }
    put_texts(w, batch, &next);
    assert_int_equal(next, batch->n_texts);
}

/* `why` NULL: well-formed already. */
static void check(const char *in, const char *want, const char *why)
{
    AUTO(whole_release) struct whole whole = WHOLE_INIT;
    struct prefilter_result r;

    prefilter(str_from(in), PREFILTER_GUESSES, collect, &whole, &r);
    if (!str_eqz(buf_view(&whole.out), want))
        fail_msg("%s became %s", in, whole.out.ptr);
    if (why == NULL ? r.why != NULL : r.why == NULL || strstr(r.why, why) == NULL)
        fail_msg("%s: why is %s", in, r.why);
}

static void test_prefilter__well_formed_text_stays(void **state UNUSED)
{
    check("<a b=\"1\" c='2'>x<d/>ü]</a >", "<a b=\"1\" c='2'>x<d/>ü]</a>", NULL);
    check("<?xml version='1.0'?>\n<!-- c --><a/>\n", "<a/>", NULL);
}

static void test_prefilter__references_become_characters(void **state UNUSED)
{
    check("<a>1&lt;2&#38;&#x41;</a>", "<a>1&lt;2&amp;A</a>", NULL);
    check("<a>]]&gt;</a>", "<a>]]></a>", NULL);
    check("<a>&amp;]]&gt;</a>", "<a>&amp;]]></a>", NULL);
    check("<a>&nbsp;</a>", "<a>\xC2\xA0</a>", "HTML entity");
    check("<a>&lstrok;&period;</a>", "<a>ł.</a>", "HTML entity");
    check("<a b='&amp;&eacute;'/>", "<a b=\"&#38;&#233;\"/>", "HTML entity");
}

static void test_prefilter__stray_markup_is_kept_as_text(void **state UNUSED) /* OBJ-08 */
{
    check("<a>AT&T</a>", "<a>AT&amp;T</a>", "ampersand");
    check("<a>1 < 2</a>", "<a>1 &lt; 2</a>", "less-than");
    check("<a b='x&y'/>", "<a b=\"x&#38;y\"/>", "ampersand");
    check("<a b='<'/>", "<a b=\"&#60;\"/>", "less-than");
}

static void test_prefilter__control_characters_go(void **state UNUSED)
{
    check("<a>x\001y\013</a>", "<a>xy</a>", "control");
    check("<a>&#1;x&#xFFFF;</a>", "<a>x</a>", "forbids");
    check("<a>x\r\ny\rz</a>", "<a>x\ny\nz</a>", NULL);
}

static void test_prefilter__tags_are_balanced(void **state UNUSED) /* OBJ-08 */
{
    check("<a><b>x</a>", "<a><b>x</b></a>", "match");
    check("<a>x</b></a>", "<a>x</a>", "match");
    check("<a><B>x</b></a>", "<a><B>x</B></a>", "match");
    check("<a/><b/>", "<a/>", "after the end");
    check("<a>x</a><a>y</a>", "<a>xy</a>", "after the end");
    check("<a><b>x", "<a><b>x", "cut off");
}

static void test_prefilter__attributes_are_mended(void **state UNUSED)
{
    check("<a b=1 c d=\"2\"e='3'/>", "<a b=\"1\" c=\"c\" d=\"2\" e=\"3\"/>", "quotes");
    check("<a b='\"'c='1'/>", "<a b='\"' c=\"1\"/>", "space");
}

/* OBJ-08: elements of a feed that cannot stand in the one left open end it. */
static void test_prefilter__texts_left_open_end_where_the_next_begins(void **state UNUSED)
{
    check("<item><title>a<link>b</link></item>", "<item><title>a</title><link>b</link></item>",
          "missing");
    check("<r><item><title>a<item><title>b</title></item></r>",
          "<r><item><title>a</title><item><title>b</title></item></item></r>", "missing");
    check("<i><link href='x'><title>a</title></i>", "<i><link href='x'></link><title>a</title></i>",
          "missing");
    check("<i><description>a<p>b</p><guid>c</guid></i>",
          "<i><description>a<p>b</p></description><guid>c</guid></i>", "missing");
    check("<i><description><link/>a<title>b</title></description></i>",
          "<i><description><link/>a<title>b</title></description></i>", NULL);
    check("<i><title>a<b>c</b></title></i>", "<i><title>a<b>c</b></title></i>", NULL);
}

static void
test_prefilter__what_is_not_closed_does_not_swallow_the_rest(void **state UNUSED) /* OBJ-08 */
{
    check("<r><a><![CDATA[x <b>]]</a><c/></r>", "<r><a>x &lt;b></a><c/></r>", "CDATA");
    check("<r><a><![CDATA[x</ab></a ><c/></r>", "<r><a>x&lt;/ab></a><c/></r>", "CDATA");
    check("<r><a><![CDATA[x</r>", "<r><a>x&lt;/r>", "CDATA");
    check("<r><!-- x ><a/></r>", "<r><a/></r>", "comment");
    check("<r><a b=\"1>x</a><c/></r>", "<r><a b=\"1\">x</a><c/></r>", "quote");
    check("<r><a b=\"1>x</a><c d=\"2\"/></r>", "<r><a b=\"1\">x</a><c d=\"2\"/></r>", "quote");
    check("<r><a b=\"1 > 0 < 2\"/></r>", "<r><a b=\"1 > 0 &#60; 2\"/></r>", "less-than");
}

static void test_prefilter__doctype_and_its_entities(void **state UNUSED)
{
    check("<!DOCTYPE a [<!ENTITY e \"v&#65;\"><!-- don't --><!ENTITY f SYSTEM \"file:///x\">]>"
          "<a>&e;&f;</a>",
          "<a>vA&amp;f;</a>", "ampersand");
    check("<!DOCTYPE a PUBLIC \"-//Netscape//x\" \"y\"><a/>", "<a/>", NULL);
}

static void test_prefilter__no_entity_bomb(void **state UNUSED)
{
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    AUTO(whole_release) struct whole whole = WHOLE_INIT;
    struct prefilter_result r;

    buf_puts(&in, "<!DOCTYPE a [<!ENTITY e \"");
    for (int i = 0; i < 250; i++)
        buf_putc(&in, 'x');
    buf_puts(&in, "\">]><a>");
    for (int i = 0; i < 100000; i++)
        buf_puts(&in, "&e;");
    buf_puts(&in, "</a>");
    prefilter(buf_view(&in), PREFILTER_GUESSES, collect, &whole, &r);
    assert_true(whole.out.len < 2 * 1024 * 1024);
    assert_non_null(r.why);
}

static void test_prefilter__depth_is_bounded(void **state UNUSED)
{
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    AUTO(whole_release) struct whole whole = WHOLE_INIT;
    struct prefilter_result r;
    size_t n = 0;

    for (int i = 0; i < 100000; i++)
        buf_puts(&in, "<a>");
    buf_puts(&in, "x");
    for (int i = 0; i < 100000; i++)
        buf_puts(&in, "</a>");
    prefilter(buf_view(&in), PREFILTER_GUESSES, collect, &whole, &r);
    for (size_t i = 0; i + 2 < whole.out.len; i++)
        n += memcmp(whole.out.ptr + i, "<a>", 3) == 0;
    assert_int_equal(n, LIMIT_XML_DEPTH);
    assert_true(str_find(buf_view(&whole.out), STR(">x</a>")) > 0);
}

/* Processor time for `n` bytes of a piece, in nanoseconds: of this thread, since others take
 * theirs. */
static int64_t time_of(const char *first, const char *piece, size_t n)
{
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    AUTO(whole_release) struct whole whole = WHOLE_INIT;
    struct prefilter_result r;
    int64_t from;

    buf_puts(&in, first);
    while (in.len < n)
        buf_puts(&in, piece);
    from = cpu_ns();
    prefilter(buf_view(&in), PREFILTER_GUESSES, collect, &whole, &r);
    return cpu_ns() - from;
}

/* Each of these once made some search start anew at every byte. Four times as many bytes take four
 * times as long, or sixteen times. */
static void test_prefilter__hostile_repetitions_take_linear_time(void **state UNUSED)
{
    static const char *const pieces[] = {"<!--",
                                         "<![CDATA[",
                                         "<?",
                                         "<a b=\"",
                                         "<a b='",
                                         "&",
                                         "<",
                                         "</x>",
                                         "<a ",
                                         "]",
                                         "&#",
                                         "<!DOCTYPE [",
                                         "<a b=\"1></a>",
                                         "<title>",
                                         "<![CDATA[</y>",
                                         "<a b=\"1>",
                                         "<!DOCTYPE[>",
                                         "<!DOCTYPE '\"[>",
                                         " b=\"<a\"",
                                         " b='<a' c=\"",
                                         "<!ENTITY "};

    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        const char *first = i == ARRAY_LEN(pieces) - 1 ? "<!DOCTYPE a [" : "<r>";
        int64_t small = time_of(first, pieces[i], 256 * 1024);
        int64_t large = time_of(first, pieces[i], 1024 * 1024);

        if (large > 9 * small + 20000000)
            fail_msg("%s: %lld ns, then %lld", pieces[i], (long long)small, (long long)large);
    }
}

/* Where tags were read in vain too often, what they took up is text, once and in its place. */
static void test_prefilter__what_is_no_tag_stays_as_text(void **state UNUSED) /* OBJ-08 */
{
    AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf expected = BUF_INIT(BUF_ANY);
    AUTO(whole_release) struct whole whole = WHOLE_INIT;
    struct prefilter_result r;

    buf_puts(&in, "<r>");
    buf_puts(&expected, "<r>");
    for (int i = 0; i < 2000; i++) {
        buf_puts(&in, " b=\"<a\"");
        buf_puts(&expected, " b=\"&lt;a\"");
    }
    buf_puts(&in, "<x>y</x></r>");
    buf_puts(&expected, "<x>y</x></r>");
    prefilter(buf_view(&in), PREFILTER_GUESSES, collect, &whole, &r);
    assert_true(str_eq(buf_view(&whole.out), buf_view(&expected)));
}

/* Many batches: a long text, one of many pieces, many tags, and a tag longer than a batch. */
static void test_prefilter__text_and_tags_keep_their_order_over_batches(void **state UNUSED)
{
    for (size_t pad = 0; pad < 8; pad++) {
        AUTO(buf_release) struct buf in = BUF_INIT(BUF_ANY);
        AUTO(whole_release) struct whole whole = WHOLE_INIT;
        struct prefilter_result r;

        buf_puts(&in, "<a>&lt;");
        for (size_t i = 0; i < pad; i++)
            buf_putc(&in, 'x');
        for (size_t i = 0; i < 20000; i++)
            buf_puts(&in, i % 7 == pad ? "\xE2\x82\xAC&amp;" : "\xE2\x82\xAC");
        for (size_t i = 0; i < 5000; i++)
            buf_puts(&in, i % 3 == 0 ? "<b/>&lt;\n" : "<b c=\"d\">]e&amp;</b>");
        buf_puts(&in, "f</a>");
        prefilter(buf_view(&in), PREFILTER_GUESSES, collect, &whole, &r);
        assert_null(r.why);
        assert_true(str_eq(buf_view(&whole.out), buf_view(&in)));
    }
}

static void test_prefilter__tags_without_an_xml_name_are_text(void **state UNUSED) /* OBJ-08 */
{
    check("<a><b\xC3\x97>x</a>", "<a>&lt;b\xC3\x97>x</a>", "less-than");
    check("<a b\xE2\x80\x9C='1' c='2'>x</a>", "<a c=\"2\">x</a>", "stray");
    check("<\xC3\xA9 \xC3\xA9\xC2\xB7='1'/>", "<\xC3\xA9 \xC3\xA9\xC2\xB7='1'/>", NULL);
    check("<x:\xC2\xB7 />", "", "less-than");
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
        cmocka_unit_test(test_prefilter__texts_left_open_end_where_the_next_begins),
        cmocka_unit_test(test_prefilter__what_is_not_closed_does_not_swallow_the_rest),
        cmocka_unit_test(test_prefilter__doctype_and_its_entities),
        cmocka_unit_test(test_prefilter__no_entity_bomb),
        cmocka_unit_test(test_prefilter__depth_is_bounded),
        cmocka_unit_test(test_prefilter__hostile_repetitions_take_linear_time),
        cmocka_unit_test(test_prefilter__what_is_no_tag_stays_as_text),
        cmocka_unit_test(test_prefilter__text_and_tags_keep_their_order_over_batches),
        cmocka_unit_test(test_prefilter__tags_without_an_xml_name_are_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
