/* tests/fuzz/fuzz_html.c - any bytes as HTML: made safe, searched for feeds, read as text.
 *
 * What was made safe is read by a scanner of its own here, which knows neither the tokenizer nor
 * the lists of the sanitizer: plain tags with quoted attributes, text, references, and nothing
 * else; no element, attribute, address or style that could run or fetch. Made safe again it stays
 * as it is. */
#include <stdint.h>

#include "base/assert.h"
#include "base/buf.h"
#include "feed/lists/discover.h"
#include "feed/text/html.h"
#include "feed/text/sanitize.h"
#include "tests/fuzz/bound.h"

#define URL STR("http://e.org/a/page")
#define MEMORY_PER_BYTE 4096 /* a page of one-letter references under a base, three times */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* ---------------------------------------------------------------- the scanner */

static bool is_one_of(struct str s, const char *const *table)
{
    for (; *table != NULL; table++)
        if (str_ieqz(s, *table))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The run of name characters at s[*at], which moves behind it. */
static struct str take_name(struct str s, size_t *at)
{
    size_t from = *at;

    while (*at < s.len &&
           (is_letter(s.ptr[*at]) || is_digit(s.ptr[*at]) || strchr("-:_", s.ptr[*at]) != NULL) &&
           s.ptr[*at] != '\0')
        ++*at;
    return str_slice(s, from, *at);
}

/* The value between quotes as a browser has it: references, which may stay as they were written,
 * are replaced. */
static struct str unquote(struct arena *a, struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        ASSERT(value.ptr[i] != '<' && value.ptr[i] != '>');
    return html_decode(a, value);
}

/* The scheme a browser finds: it drops controls in front and line ends and tabs anywhere. */
static struct str scheme_of(struct arena *a, struct str url)
{
    char *out = arena_alloc(a, url.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.ptr[i];

        if (c == '\t' || c == '\n' || c == '\r' || (n == 0 && c <= ' '))
            continue;
        if (c == ':')
            return str_of(out, n);
        if (!is_letter((char)c) && !is_digit((char)c) && (c == 0 || strchr("+-.", c) == NULL))
            return STR_NULL;
        out[n++] = (char)c;
    }
    return STR_NULL;
}

static void check_url(struct arena *a, struct str element, struct str attr, struct str url)
{
    static const char *const bad[] = {"javascript", "vbscript",    "livescript", "mocha", "data",
                                      "jar",        "view-source", "about",      "blob",  "chrome",
                                      "filesystem", "res",         NULL};
    struct str scheme = scheme_of(a, url);

    if (str_ieqz(scheme, "data") && str_ieqz(element, "img") && str_eqz(attr, "src"))
        ASSERT(str_istarts(url, STR("data:image/")) && !str_istarts(url, STR("data:image/svg")));
    else
        ASSERT(!is_one_of(scheme, bad));
}

/* Declarations: no property that lays one thing over another or binds a program, and in values no
 * address, no escape, and no function of anything but numbers. */
static void check_style(struct arena *a, struct str style)
{
    static const char *const bad[] = {"position", "z-index", "behavior", "-moz-binding",
                                      "content",  "filter",  "opacity",  NULL};
    struct str rest = str_lower(a, style);
    bool inside = false;

    ASSERT(str_find(rest, STR("url(")) < 0);
    for (size_t i = 0; i < rest.len; i++) {
        inside = rest.ptr[i] == '(' || (inside && rest.ptr[i] != ')');
        ASSERT(!inside || !is_letter(rest.ptr[i]));
        ASSERT(rest.ptr[i] != '\0' && strchr("\\<>&@/*{}", rest.ptr[i]) == NULL);
    }
    while (!str_is_null(rest)) {
        struct str value = str_split(&rest, ';'), property = str_split(&value, ':');

        ASSERT(!is_one_of(str_trim(property), bad));
        ASSERT(str_chr(value, ':') < 0);
    }
}

static void check_attr(struct arena *a, struct str element, struct str name, struct str quoted)
{
    static const char *const bad[] = {"srcdoc",        "formaction", "srcset",  "http-equiv",
                                      "attributename", "values",     "begin",   "onload",
                                      "codebase",      "classid",    "profile", NULL};
    static const char *const urls[] = {"href",    "src",        "action", "cite",   "longdesc",
                                       "poster",  "background", "dynsrc", "lowsrc", "data",
                                       "ping",    "icon",       "usemap", "altimg", "xlink:href",
                                       "datasrc", "xml:base",   NULL};
    struct str value = unquote(a, quoted);

    ASSERT(!str_istarts(name, STR("on")) && !is_one_of(name, bad));
    if (is_one_of(name, urls))
        check_url(a, element, name, value);
    if (str_ieqz(name, "style"))
        check_style(a, value);
    if (str_ieqz(name, "xmlns"))
        ASSERT(str_starts(value, STR("http://www.w3.org/")) || !str_ieqz(element, "svg"));
}

static void check_element(struct str name)
{
    static const char *const bad[] = {
        "script",         "style",   "iframe",   "frame",   "frameset", "object",    "embed",
        "applet",         "base",    "basefont", "meta",    "link",     "html",      "head",
        "body",           "xmp",     "template", "noembed", "noframes", "plaintext", "listing",
        "foreignobject",  "animate", "set",      "use",     "handler",  "portal",    "isindex",
        "annotation-xml", "image",   "bgsound",  "layer",   "xml",      "marquee",   NULL};

    ASSERT(name.len > 0 && is_letter(name.ptr[0]) && !is_one_of(name, bad));
    ASSERT(!str_istarts(name, STR("animate")));
}

/* The tag whose `<` stands in front of s[at]; the offset behind it. */
static size_t check_tag(struct arena *a, struct str s, size_t at)
{
    struct str seen[HTML_ATTRS_MAX + 2], name;
    size_t n_seen = 0;
    bool is_end = at < s.len && s.ptr[at] == '/';

    at += is_end;
    name = take_name(s, &at);
    check_element(name);
    while (!is_end && at + 1 < s.len && s.ptr[at] == ' ' && s.ptr[at + 1] != '/') {
        struct str attr, rest;
        ssize_t close;

        at++;
        attr = take_name(s, &at);
        ASSERT(attr.len > 0 && at + 1 < s.len && s.ptr[at] == '=' && s.ptr[at + 1] == '"');
        at += 2;
        rest = str_slice(s, at, s.len);
        close = str_chr(rest, '"');
        ASSERT(close >= 0);
        check_attr(a, name, attr, str_slice(rest, 0, (size_t)close));
        at += (size_t)close + 1;
        for (size_t i = 0; i < n_seen; i++)
            ASSERT(!str_ieq(seen[i], attr));
        ASSERT(n_seen < HTML_ATTRS_MAX + 2);
        seen[n_seen++] = attr;
    }
    if (!is_end && str_starts(str_slice(s, at, s.len), STR(" /")))
        at += 2;
    ASSERT(at < s.len && s.ptr[at] == '>');
    return at + 1;
}

/* What follows an `&` is the rest of a reference. */
static void check_reference(struct str s)
{
    ssize_t semi = str_chr(str_slice(s, 0, 40), ';');
    struct str name;

    ASSERT(semi > 0);
    name = str_slice(s, 0, (size_t)semi);
    for (size_t i = name.ptr[0] == '#'; i < name.len; i++)
        ASSERT(is_letter(name.ptr[i]) || is_digit(name.ptr[i]));
}

static void check_safe(struct arena *a, struct str safe)
{
    ASSERT(str_utf8_valid(safe) == safe.len);
    for (size_t at = 0; at < safe.len;) {
        if (safe.ptr[at] == '<') {
            at = check_tag(a, safe, at + 1);
            continue;
        }
        if (safe.ptr[at] == '&')
            check_reference(str_slice(safe, at + 1, safe.len));
        at++;
    }
}

/* ---------------------------------------------------------------- the target */

/* Text is given to the sanitizer decoded: without what is not UTF-8. */
static void keep_valid(struct buf *out, struct str raw)
{
    while (raw.len > 0) {
        size_t good = str_utf8_valid(raw);

        buf_str(out, str_slice(raw, 0, good));
        raw = str_slice(raw, good + 1, raw.len);
    }
}

static void check_found(const struct discovered_feed *feeds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ASSERT(feeds[i].href.len > 0 && str_utf8_valid(feeds[i].href) == feeds[i].href.len);
        for (size_t k = 0; k < i && i < 100; k++)
            ASSERT(!str_eq(feeds[i].href, feeds[k].href));
    }
}

static void check_discovery(struct arena *a, struct str raw)
{
    struct discovery found;
    struct str *urls;

    discover_page(a, raw, URL, STR_NULL, &found);
    check_found(found.feeds, found.n_feeds);
    check_found(found.guesses, found.n_guesses);
    discover_order(URL, found.feeds, found.n_feeds);
    check_found(found.feeds, found.n_feeds);
    discover_order(raw, found.guesses, found.n_guesses);
    ASSERT(discover_usual(a, raw, &urls) <= DISCOVER_USUAL_MAX);
    discover_service(a, raw, URL, STR_NULL, &urls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf valid = BUF_INIT(BUF_ANY);
    const struct str bases[] = {URL, STR_NULL, STR("javascript:/x/,alert(1)//"), STR("")};
    struct bound bound = bound_start(len);
    struct str raw = str_of((const char *)data, len), text;

    check_discovery(&a, raw);
    keep_valid(&valid, raw);
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        struct str safe = sanitize_html(&a, buf_view(&valid), bases[i]);

        check_safe(&a, safe);
        ASSERT(str_eq(sanitize_html(&a, safe, bases[i]), safe));
    }
    text = html_to_text(&a, buf_view(&valid));
    ASSERT(str_utf8_valid(text) == text.len && text.len <= 2 * valid.len);
    bound_check_time(&bound);
    bound_check_memory(&bound, &a, MEMORY_PER_BYTE);
    return 0;
}
