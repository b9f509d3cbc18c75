/* feed/discover.c - link elements of an HTML page that lead to feeds. */
#include "feed/discover.h"

#include "base/compiler.h"
#include "base/map.h"
#include "feed/encoding.h"
#include "feed/html.h"
#include "feed/uri.h"

#define FEEDS_MAX 1000  /* of one page */
#define META_REACH 4096 /* bytes in which a page names its charset */

static bool is_listed(struct str type, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eqz(type, list[i]))
            return true;
    return false;
}

static bool is_feed_type(struct str type)
{
    static const char *const types[] = {"application/rss+xml",
                                        "application/atom+xml",
                                        "application/rdf+xml",
                                        "application/feed+json",
                                        "application/x.atom+xml",
                                        "application/x-atom+xml",
                                        "application/x.rss+xml",
                                        "application/x-rss+xml",
                                        "text/rss+xml",
                                        "text/atom+xml",
                                        "text/rdf+xml"};

    return is_listed(type, types, ARRAY_LEN(types));
}

/* What a link with rel=feed may be called, besides a feed. */
static bool is_vague_type(struct str type)
{
    static const char *const types[] = {"text/html", "text/xml", "application/xml",
                                        "application/json"};

    return str_is_null(type) || is_listed(type, types, ARRAY_LEN(types));
}

static bool has_word(struct str words, const char *word)
{
    size_t i = 0;

    while (i < words.len) {
        size_t from;
        while (i < words.len && strchr(" \t\r\n\f", words.ptr[i]) != NULL)
            i++;
        from = i;
        while (i < words.len && strchr(" \t\r\n\f", words.ptr[i]) == NULL)
            i++;
        if (str_ieqz(str_slice(words, from, i), word))
            return true;
    }
    return false;
}

static struct str attr(struct arena *a, const struct html_token *t, const char *name)
{
    return str_trim(html_decode(a, html_attr_get(t, name), true));
}

/* A media type, lower case, without parameters; null when empty. */
static struct str media_type(struct arena *a, struct str s)
{
    struct str type = str_trim(str_split(&s, ';'));

    return type.len == 0 ? STR_NULL : str_lower(a, type);
}

/* Elements whose content is text to a browser, whatever it looks like. */
static bool is_raw(struct str name)
{
    static const char *const names[] = {"script", "style",  "textarea", "xmp",     "template",
                                        "title",  "iframe", "noembed",  "noframes"};

    return is_listed(name, names, ARRAY_LEN(names));
}

/* The Content-Type to decode by: the header's, else what a meta element near the top says. */
static struct str charset_source(struct arena *a, struct str html, struct str content_type)
{
    struct str head = str_slice(html, 0, META_REACH), value;
    ssize_t at;
    size_t n = 0;

    if (str_ifind(content_type, STR("charset=")) >= 0)
        return content_type;
    at = str_ifind(head, STR("<meta"));
    if (at < 0)
        return content_type;
    head = str_slice(head, (size_t)at, head.len);
    at = str_ifind(head, STR("charset="));
    if (at < 0)
        return content_type;
    value = str_slice(head, (size_t)at + 8, head.len);
    while (value.len > 0 && strchr("\"' ", value.ptr[0]) != NULL)
        value = str_slice(value, 1, value.len);
    while (n < value.len && n < 40 && strchr("\"'> ;/", value.ptr[n]) == NULL)
        n++;
    return str_printf(a, "text/html; charset=%.*s", (int)n, value.ptr);
}

struct finder {
    struct arena *a;
    struct discovered_feed *feeds;
    size_t n;
};

/* hrefs made absolute (the base element may stand behind the links), doubles dropped. */
static void resolve_all(struct finder *f, struct str base)
{
    struct map known = MAP_INIT;
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        struct str href = uri_resolve(f->a, base, f->feeds[i].href);
        if (map_get(&known, href) != NULL)
            continue;
        map_put(&known, href, f);
        f->feeds[n] = f->feeds[i];
        f->feeds[n++].href = str_dup(f->a, href);
    }
    f->n = n;
    map_release(&known, NULL);
}

static void add_link(struct finder *f, const struct html_token *t)
{
    struct str rel = attr(f->a, t, "rel"), type = media_type(f->a, attr(f->a, t, "type"));
    struct str href = attr(f->a, t, "href"), title = attr(f->a, t, "title");
    bool counts = (has_word(rel, "alternate") && is_feed_type(type)) ||
                  (has_word(rel, "feed") && (is_feed_type(type) || is_vague_type(type)));

    if (!counts || href.len == 0 || f->n == FEEDS_MAX)
        return;
    f->feeds[f->n++] =
        (struct discovered_feed){.href = str_dup(f->a, href),
                                 .type = type,
                                 .title = title.len == 0 ? STR_NULL : str_dup(f->a, title)};
}

size_t discover_feeds(struct arena *a, struct str html, struct str page_url,
                      struct str content_type, struct discovered_feed **out)
{
    struct finder f = {.a = a};
    struct str base = page_url;
    struct html_lexer *lx = arena_alloc(a, sizeof *lx);
    struct html_token t;
    struct decoded d;
    bool based = false;

    decode_document(a, html, charset_source(a, html, content_type), &d);
    f.feeds = ARENA_ARRAY(a, struct discovered_feed, FEEDS_MAX);
    html_lexer_init(lx, a, d.text);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        if (t.kind != HTML_START_TAG)
            continue;
        if (is_raw(t.name)) {
            html_skip_raw(lx, t.name);
        } else if (str_eqz(t.name, "base") && !based) {
            struct str href = attr(a, &t, "href");
            based = href.len > 0;
            if (based)
                base = uri_resolve(a, page_url, href);
        } else if (str_eqz(t.name, "link")) {
            add_link(&f, &t);
        }
    }
    resolve_all(&f, base);
    decoded_release(&d);
    *out = f.feeds;
    return f.n;
}
