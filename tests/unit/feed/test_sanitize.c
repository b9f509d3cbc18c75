/* tests/unit/feed/test_sanitize.c - feed/sanitize (OBJ-10, OBJ-11). */
#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "feed/text/sanitize.h"
#include "feed/text/sanitize_priv.h"

struct pair {
    const char *in, *out;
};

static void expect_all(const struct pair *pairs, size_t n, const char *base)
{
    for (size_t i = 0; i < n; i++) {
        struct arena a = ARENA_INIT;
        struct str out = sanitize_html(&a, str_from(pairs[i].in), str_from(base));
        assert_string_equal(out.ptr, pairs[i].out);
        arena_release(&a);
    }
}
#define EXPECT(base, ...)                                                                          \
    do {                                                                                           \
        static const struct pair pairs_[] = {__VA_ARGS__};                                         \
        expect_all(pairs_, ARRAY_LEN(pairs_), base);                                               \
    } while (0)

static void test_sanitize__plain_text_stays(void **state UNUSED)
{
    EXPECT(NULL, {"", ""}, {"  a > b\n", "a > b"}, {"one\r\ntwo\rthree", "one\ntwo\nthree"});
}

static void test_sanitize__script_goes_with_its_text(void **state UNUSED)
{
    EXPECT(NULL, {"safe<script type=\"x\">alert('<b>')</script> <b>text</b>", "safe <b>text</b>"},
           {"a<style>p{}</style>b", "ab"}, {"a<SCRIPT>x</sCRIPT >b", "ab"}, {"a<script>x", "a"},
           {"a<applet><b>x</b></applet>b", "ab"}, {"a<script/>b", "ab"},
           {"a<scr<script>ipt>x</script>b", "aipt>xb"});
}

/* In HTML a slash at the end of a start tag means nothing. */
static void test_sanitize__script_with_a_slash_is_open(void **state UNUSED)
{
    EXPECT(NULL, {"a<script/>alert(1)</script>b", "ab"}, {"a<style />p{}</style>b", "ab"},
           {"a<script src=\"x\" />b<script>c</script>d", "ad"}, {"a<script/>b", "ab"},
           {"a<script/>b<style/>c</style>d", "abd"}, {"a<style/>b<style/>c", "abc"});
}

static void test_sanitize__what_is_written_is_balanced(void **state UNUSED)
{
    EXPECT(NULL, {"a</div></div>b", "ab"}, {"<b>open", "<b>open</b>"},
           {"<div><b>x</div>y", "<div><b>x</b></div>y"}, {"<b><i>x</b>y</i>z", "<b><i>x</i></b>yz"},
           {"<p>a<p>b", "<p>a</p><p>b</p>"},
           {"<p>a<ul><li>b<li>c</ul>", "<p>a</p><ul><li>b</li><li>c</li></ul>"},
           {"<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"},
           {"<table><tr><td>a<td>b<tr><td>c</table>d",
            "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>d"},
           {"<div><table><tr><td>a</div></td></tr></table>b</div>",
            "<div><table><tr><td>a</td></tr></table>b</div>"},
           {"<ul><li>a<ul><li>b</li></li></ul></ul>c", "<ul><li>a<ul><li>b</li></ul></li></ul>c"},
           {"<p>a</p></p>b", "<p>a</p>b"}, {"<br>a</br>", "<br />a"},
           {"<svg><g>a</svg>b</g>c", "<svg xmlns=\"http://www.w3.org/2000/svg\"><g>a</svg>bc"});
}

/* However deep elements are nested, what is written closes what it opens. */
static void test_sanitize__deep_nesting_is_cut(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct buf in = BUF_INIT(BUF_ANY);
    size_t n_open = 0, n_close = 0;
    struct str out;

    for (int i = 0; i < 1000; i++)
        buf_puts(&in, "<b>");
    buf_puts(&in, "x");
    for (int i = 0; i < 1000; i++)
        buf_puts(&in, "</b>");
    buf_puts(&in, "<i>y</i>");
    out = sanitize_html(&a, buf_view(&in), STR_NULL);
    for (size_t i = 0; i + 3 < out.len; i++) {
        n_open += str_starts(str_slice(out, i, out.len), STR("<b>"));
        n_close += str_starts(str_slice(out, i, out.len), STR("</b>"));
    }
    assert_true(n_open > 100 && n_open < 1000);
    assert_int_equal(n_open, n_close);
    assert_true(str_ends(out, STR("</b><i>y</i>")));
    buf_release(&in);
    arena_release(&a);
}

static void test_sanitize__media_do_not_start_by_themselves(void **state UNUSED)
{
    EXPECT(NULL,
           {"<video autoplay controls src=\"http://h/v\"></video>",
            "<video controls=\"controls\" src=\"http://h/v\"></video>"},
           {"<input autofocus name=a>", "<input name=\"a\" />"});
}

static void test_sanitize__references_without_semicolon(void **state UNUSED)
{
    EXPECT(NULL, {"&copy 2007", "&copy; 2007"}, {"caf&eacute", "caf&eacute;"},
           {"a &amp x", "a &amp; x"}, {"AT&T &zwj x", "AT&amp;T &amp;zwj x"},
           {"?a=1&copy=2&reg=3", "?a=1&amp;copy=2&amp;reg=3"}, {"&copyright", "&amp;copyright"},
           {"&lt &copy;&copy", "&lt; &copy;&copy;"});
}

static void test_sanitize__foreign_elements_keep_their_text(void **state UNUSED)
{
    EXPECT(NULL, {"a<object data=x>b</object><iframe src=y>c</iframe><blink>d</blink>", "abcd"},
           {"<meta http-equiv=refresh content=0><link rel=x><base href=y>z<embed>", "z"},
           {"<form action=\"http://x/\"><input name=n></form>",
            "<form action=\"http://x/\"><input name=\"n\" /></form>"});
}

static void test_sanitize__event_attributes_go(void **state UNUSED)
{
    EXPECT(NULL, {"<img src=\"http://h/i\" onerror=x ONLOAD='y'/>", "<img src=\"http://h/i\" />"},
           {"<p/onclick=x class=c>", "<p class=\"c\"></p>"},
           {"<b onmouseover\n=\n\"x\" title=t>", "<b title=\"t\"></b>"});
}

static void test_sanitize__unsafe_schemes_go(void **state UNUSED)
{
    EXPECT(NULL, {"<a href=\"javascript:x\">y</a>", "<a href=\"\">y</a>"},
           {"<a href=\" java\nscript:x\">y</a>", "<a href=\"\">y</a>"},
           {"<a href=\"&#106;avascript&colon;x\">", "<a href=\"\"></a>"},
           {"<a href=\"jav&#x09;ascript&#58;x\">", "<a href=\"\"></a>"},
           {"<a href=\"\x01vbscript:x\">", "<a href=\"\"></a>"},
           {"<img src=\"data:text/html,x\"><img src=\"data:image/svg+xml,x\">", "<img /><img />"},
           {"<img src=\"data:image/png;base64,AA\">", "<img src=\"data:image/png;base64,AA\" />"},
           {"<a href=\"mailto:a@b\">", "<a href=\"mailto:a@b\"></a>"});
}

static void test_sanitize__references_become_absolute(void **state UNUSED)
{
    EXPECT("http://h/d/f.xml",
           {"<a href=\"x?a=1&b=2\">", "<a href=\"http://h/d/x?a=1&amp;b=2\"></a>"},
           {"<img src=\"/i.png\">", "<img src=\"http://h/i.png\" />"},
           {"<a href=\"#top\">", "<a href=\"http://h/d/f.xml#top\"></a>"},
           {"<q cite=\"../c\">", "<q cite=\"http://h/c\"></q>"},
           {"<a href=\"http://o/\">", "<a href=\"http://o/\"></a>"});
}

/* The base is the publisher's word (xml:base), so no scheme may come from there either. */
static void test_sanitize__unsafe_base_makes_no_reference(void **state UNUSED)
{
    EXPECT("javascript:/x/,alert(1)//", {"<a href=\"#y\">t</a>", "<a href=\"\">t</a>"},
           {"<a href=y>t</a>", "<a href=\"\">t</a>"}, {"<img src=y>", "<img />"},
           {"<a href=\"http://h/\">", "<a href=\"http://h/\"></a>"});
}

static void test_sanitize__style_is_weighed_by_property(void **state UNUSED)
{
    EXPECT(
        NULL, {"<p style=\"color: red; position: fixed\">", "<p style=\"color: red;\"></p>"},
        {"<p style=\"width:expression(alert(1))\">", "<p></p>"},
        {"<p style=\"background: url( http://x/ ) yellow\">",
         "<p style=\"background: yellow;\"></p>"},
        {"<p style=\"margin: 0px !important\">", "<p style=\"margin: 0px !important;\"></p>"},
        {"<p style=\"margin: 99999em\">", "<p></p>"}, {"<p style=\"color: \\72 ed\">", "<p></p>"},
        {"<p style=\"font-family: 'Comic Sans'\">", "<p style=\"font-family: 'Comic Sans';\"></p>"},
        {"<p style=\"border: 3px solid #ccc\">", "<p style=\"border: 3px solid #ccc;\"></p>"},
        {"<p style=\"-moz-x: y\">", "<p></p>"}, {"<p style=\"color: red;;\">", "<p></p>"},
        {"<p style=\"color: url(url( x) red\">", "<p></p>"},
        {"<p style=\"color: url(url(x) red\">", "<p style=\"color: red;\"></p>"});
}

static void test_sanitize__markup_in_attributes_is_escaped(void **state UNUSED)
{
    EXPECT(NULL,
           {"<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
            "<noscript><p title=\"&lt;/noscript&gt;&lt;img src=x "
            "onerror=alert(1)&gt;\"></p></noscript>"},
           {"<a title='\"x\"'>", "<a title=\"&quot;x&quot;\"></a>"});
}

static void test_sanitize__comments_and_declarations_go(void **state UNUSED)
{
    EXPECT(NULL, {"a<!-- <b> -->b", "ab"}, {"a<!-- x", "a"}, {"a<!-->b", "ab"},
           {"a<!DOCTYPE html>b<?php x ?>c", "abc"},
           {"a<!--[if IE]><script>x</script><![endif]-->b", "ab"},
           {"a<![CDATA[b", "a&lt;![CDATA[b"}, {"a<!b", "a&lt;!b"});
}

static void test_sanitize__stray_signs_are_escaped(void **state UNUSED)
{
    EXPECT(NULL, {"1 < 2 && 3", "1 &lt; 2 &amp;&amp; 3"}, {"a<b", "a&lt;b"},
           {"<a href=\"x", "&lt;a href=\"x"}, {"AT&T &foo;", "AT&amp;T &amp;foo;"});
}

/* Browsers take all the rest for the value; readers want to read it. */
static void test_sanitize__quote_never_closed_ends_with_the_tag(void **state UNUSED)
{
    EXPECT(NULL, {"<a href=\"x>y <b>z</b>", "<a href=\"x\">y <b>z</b></a>"},
           {"<i title='x>y</i> <b title=\"z\">w</b>", "<i title=\"x\">y</i> <b title=\"z\">w</b>"},
           {"<i title=\"x'>y</i> <b title='z>w</b>", "<i title=\"x'\">y</i> <b title=\"z\">w</b>"},
           {"<i title=\"<script>alert(1)</script>", "<i title=\"&lt;script\">alert(1)</i>"});
}

static void test_sanitize__references_in_attributes_stay_as_written(void **state UNUSED)
{
    EXPECT(NULL,
           {"<a title=\"&#x26;&#38;&amp;&eacute;&#8217;\">x</a>",
            "<a title=\"&#x26;&#38;&amp;&eacute;&#8217;\">x</a>"},
           {"<a title=\"&#38;&copy=1\">x</a>", "<a title=\"&amp;&amp;copy=1\">x</a>"},
           {"<a title='&bogus; \"'>x</a>", "<a title=\"&amp;bogus; &quot;\">x</a>"},
           {"<a href=\"http://x/?a&#38;b\">x</a>", "<a href=\"http://x/?a&amp;b\">x</a>"});
}

static void test_sanitize__references_have_one_spelling(void **state UNUSED)
{
    EXPECT(NULL, {"&eacute;&#39;&#34;&#8217;&#X41;", "&eacute;'\"&#8217;&#x41;"},
           {"&#146;", "&#x2019;"}, {"&#0;&#x110000;&#1;", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
           {"&#12a;", "&amp;#12a;"}, {"&lstrok;&comma;&bogus;", "&lstrok;&comma;&amp;bogus;"},
           {"<a href=\"javascript&colon;alert(1)\">x</a>", "<a href=\"\">x</a>"},
           {"<a href=\"http://x/?a&num&apos\">x</a>",
            "<a href=\"http://x/?a&amp;num&amp;apos\">x</a>"});
}

static void test_sanitize__svg_and_mathml_by_their_own_lists(void **state UNUSED)
{
    EXPECT(NULL,
           {"<svg viewbox=1><lineargradient onclick=x /><use xlink:href=\"#a\"/>"
            "<foreignObject>t</foreignObject></svg>",
            "<svg viewBox=\"1\" xmlns=\"http://www.w3.org/2000/svg\"><linearGradient>t</svg>"},
           {"<svg><a xlink:href=\"javascript:x\"><animate attributeName=href></a></svg>",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><a></a></svg>"},
           {"<math><mi>x</mi></math>",
            "<math xmlns=\"http://www.w3.org/1998/Math/MathML\"><mi>x</mi></math>"},
           {"<mi>x</mi>", "x"});
}

/* Each of these made some parser's time grow with the square of the length. */
static void test_sanitize__time_is_linear(void **state UNUSED)
{
    static const char *const seeds[] = {"<",     "<a",       "<!--",  "<a b='",     "&",
                                        "</",    "<b ",      "<?",    "<![",        "--",
                                        "<svg>", "<applet>", "<b><!", "<a href='&#"};
    static const char *const in_style[] = {"url(", "url( ", "url ", "'", "(1", "a:", "-"};
    const size_t len = 256 * 1024;
    char *text = mem_alloc(len);

    for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
        struct arena a = ARENA_INIT;
        size_t n = strlen(seeds[i]);
        int64_t began = cpu_ns() / 1000000;
        for (size_t at = 0; at < len; at++)
            text[at] = seeds[i][at % n];
        sanitize_html(&a, str_of(text, len), STR("http://h/"));
        assert_true(cpu_ns() / 1000000 - began < 5000); /* milliseconds; a minute if squared */
        arena_release(&a);
    }
    for (size_t i = 0; i < ARRAY_LEN(in_style); i++) {
        struct arena a = ARENA_INIT;
        size_t n = strlen(in_style[i]);
        int64_t began = cpu_ns() / 1000000;
        memcpy(text, "<p style=\"", 10);
        for (size_t at = 10; at < len - 2; at++)
            text[at] = in_style[i][at % n];
        memcpy(text + len - 2, "\">", 2);
        sanitize_html(&a, str_of(text, len), STR("http://h/"));
        assert_true(cpu_ns() / 1000000 - began < 5000);
        arena_release(&a);
    }
    mem_free(text);
}

static void test_sanitize__names_are_found_in_any_case_and_only_whole(void **state UNUSED)
{
    const struct sanitize_name *name = sanitize_name(STR("VIEWbox"));

    assert_true(sanitize_is(name, SANITIZE_SVG_ATTRIBUTES));
    assert_false(sanitize_is(name, SANITIZE_ATTRIBUTES));
    assert_true(str_eqz(name->own, "viewBox"));
    assert_true(sanitize_listed(SANITIZE_ELEMENTS, STR("Blockquote")));
    assert_true(sanitize_listed(SANITIZE_VOID_ELEMENTS, STR("br")));
    assert_true(sanitize_listed(SANITIZE_ELEMENTS, STR("br")));
    assert_true(sanitize_listed(SANITIZE_SCHEMES, STR("svn+ssh")));
    assert_false(sanitize_listed(SANITIZE_SCHEMES, STR("javascript")));
    assert_null(sanitize_name(STR("onclick")));
    assert_null(sanitize_name(STR("")));
    assert_null(sanitize_name(STR("hre")));
    assert_null(sanitize_name(STR("hreff")));
    assert_null(sanitize_name(str_of("href\0", 5)));
    assert_null(sanitize_name(STR("a-name-that-is-longer-than-all-of-those-in-the-lists")));
}

/* The order of output does not depend on how many there are to sort. */
static void test_sanitize__attributes_leave_in_order(void **state UNUSED)
{
    EXPECT(
        "http://h/",
        {"<a title=t href=/x class=c>", "<a class=\"c\" href=\"http://h/x\" title=\"t\"></a>"},
        {"<td width=1 valign=2 title=3 style='color: red' scope=5 rowspan=6 nowrap=7 lang=8 id=9 "
         "height=a headers=b dir=c colspan=d class=e charoff=f char=g bgcolor=h axis=i align=j "
         "abbr=k>",
         "<td abbr=\"k\" align=\"j\" axis=\"i\" bgcolor=\"h\" char=\"g\" charoff=\"f\" "
         "class=\"e\" colspan=\"d\" dir=\"c\" headers=\"b\" height=\"a\" id=\"9\" lang=\"8\" "
         "nowrap=\"7\" rowspan=\"6\" scope=\"5\" style=\"color: red;\" title=\"3\" valign=\"2\" "
         "width=\"1\"></td>"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sanitize__plain_text_stays),
        cmocka_unit_test(test_sanitize__script_goes_with_its_text),
        cmocka_unit_test(test_sanitize__script_with_a_slash_is_open),
        cmocka_unit_test(test_sanitize__what_is_written_is_balanced),
        cmocka_unit_test(test_sanitize__deep_nesting_is_cut),
        cmocka_unit_test(test_sanitize__media_do_not_start_by_themselves),
        cmocka_unit_test(test_sanitize__references_without_semicolon),
        cmocka_unit_test(test_sanitize__foreign_elements_keep_their_text),
        cmocka_unit_test(test_sanitize__event_attributes_go),
        cmocka_unit_test(test_sanitize__unsafe_schemes_go),
        cmocka_unit_test(test_sanitize__references_become_absolute),
        cmocka_unit_test(test_sanitize__unsafe_base_makes_no_reference),
        cmocka_unit_test(test_sanitize__style_is_weighed_by_property),
        cmocka_unit_test(test_sanitize__markup_in_attributes_is_escaped),
        cmocka_unit_test(test_sanitize__comments_and_declarations_go),
        cmocka_unit_test(test_sanitize__stray_signs_are_escaped),
        cmocka_unit_test(test_sanitize__quote_never_closed_ends_with_the_tag),
        cmocka_unit_test(test_sanitize__references_have_one_spelling),
        cmocka_unit_test(test_sanitize__references_in_attributes_stay_as_written),
        cmocka_unit_test(test_sanitize__svg_and_mathml_by_their_own_lists),
        cmocka_unit_test(test_sanitize__time_is_linear),
        cmocka_unit_test(test_sanitize__names_are_found_in_any_case_and_only_whole),
        cmocka_unit_test(test_sanitize__attributes_leave_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
