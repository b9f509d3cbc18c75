/* feed/lists/discover.c - finds link and a elements of an HTML page that lead to feeds. */
#include "feed/lists/discover.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/map.h"
#include "feed/read/encoding.h"
#include "feed/text/html.h"
#include "feed/text/iri.h"
#include "feed/text/uri.h"

#define FEEDS_MAX 1000  /* announced by one page, and as many guesses */
#define META_REACH 4096 /* bytes at the start of a page that are searched for its charset */

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

/* Types of feeds that other documents have, too. */
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
    return str_trim(html_decode(a, html_attr_get(t, name)));
}

/* Returns the media type in lower case, without parameters; null when it is empty. */
static struct str media_type(struct arena *a, struct str s)
{
    struct str type = str_trim(str_split(&s, ';'));

    return type.len == 0 ? STR_NULL : str_lower(a, type);
}

/* Returns the Content-Type that names the charset: that of the answer, or else that of a meta
 * element near the top. */
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

enum discover_kind discover_link(struct str rel, struct str type)
{
    bool is_feed = is_feed_type(type), is_xml_or_json;

    if ((has_word(rel, "alternate") && is_feed) ||
        (has_word(rel, "feed") && (is_feed || is_vague_type(type))))
        return DISCOVER_ANNOUNCED;
    is_xml_or_json = !str_is_null(type) && !str_eqz(type, "text/html") && is_vague_type(type);
    if ((has_word(rel, "alternate") && is_xml_or_json) ||
        (has_word(rel, "service.feed") && (is_feed || is_xml_or_json)))
        return DISCOVER_VAGUE;
    if (has_word(rel, "service") && str_eqz(type, "application/atomsvc+xml"))
        return DISCOVER_SERVICE;
    return DISCOVER_NONE;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Returns the URL up to its path: "http://host:80". Empty when it is not an absolute http(s)
 * URL. */
static struct str origin_of(struct str url)
{
    size_t at = str_istarts(url, STR("http://")) ? 7 : str_istarts(url, STR("https://")) ? 8 : 0;

    if (at == 0)
        return STR("");
    while (at < url.len && strchr("/?#", url.ptr[at]) == NULL)
        at++;
    return str_slice(url, 0, at);
}

static struct str path_of(struct str url)
{
    struct str path = str_slice(url, origin_of(url).len, url.len);

    path = str_split(&path, '#');
    return str_split(&path, '?');
}

/* Returns the host without user, port and "www.", as written. */
static struct str site_of(struct str url)
{
    struct str host = origin_of(url);
    ssize_t at;

    host = str_slice(host, (size_t)(str_find(host, STR("://")) + 3), host.len);
    while ((at = str_chr(host, '@')) >= 0)
        host = str_slice(host, (size_t)at + 1, host.len);
    at = str_chr(host, str_starts(host, STR("[")) ? ']' : ':');
    if (at >= 0)
        host = str_slice(host, 0, (size_t)at);
    return str_istarts(host, STR("www.")) ? str_slice(host, 4, host.len) : host;
}

static bool is_below(struct str host, struct str domain)
{
    return domain.len > 0 && host.len > domain.len && host.ptr[host.len - domain.len - 1] == '.' &&
           str_ieq(str_slice(host, host.len - domain.len, host.len), domain);
}

static bool same_site(struct str x, struct str y)
{
    struct str a = site_of(x), b = site_of(y);

    return str_ieq(a, b) || is_below(a, b) || is_below(b, a);
}

/* Returns true when the last part of the path is a usual name of a feed. */
static bool has_feed_name(struct str url)
{
    static const char *const names[] = {"feed",      "feeds",     "rss",        "rss2",
                                        "atom",      "rdf",       "index.rdf",  "feed.xml",
                                        "feed.json", "feed.php",  "rss.php",    "rss.xml",
                                        "atom.xml",  "index.xml", "backend.php"};
    static const char *const ends[] = {".rss", ".atom", ".rdf", "/rss.xml", "/feed.xml"};
    struct str path = path_of(url), rest, name = STR("");

    for (rest = path; !str_is_null(rest);) {
        struct str part = str_split(&rest, '/');

        if (part.len > 0)
            name = part;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieqz(name, names[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct str end = str_from(ends[i]);

        if (path.len > end.len && str_ieq(str_slice(path, path.len - end.len, path.len), end))
            return true;
    }
    return false;
}

size_t discover_usual(struct arena *a, struct str page_url, struct str **out)
{
    static const char *const paths[] = {
        "/feed",     "/feed/",     "/rss.xml", "/atom.xml",
        "/feed.xml", "/index.xml", "/rss",     "/feeds/posts/default",
        "/feed.json"};
    struct str origin = origin_of(page_url), path = path_of(page_url);
    struct str *urls = ARENA_ARRAY(a, struct str, DISCOVER_USUAL_MAX);
    size_t n = 0;

    _Static_assert(ARRAY_LEN(paths) < DISCOVER_USUAL_MAX, "and one below the page's folder");
    *out = urls;
    if (origin.len == 0)
        return 0;
    while (path.len > 0 && path.ptr[path.len - 1] != '/')
        path.len--;
    if (path.len > 1)
        urls[n++] = str_printf(a, "%.*s%.*sfeed/", STR_ARG(origin), STR_ARG(path));
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        urls[n++] = str_concat(a, origin, str_from(paths[i]));
    return n;
}

/* ---- order ----------------------------------------------------------------------------------- */

struct ranked {
    struct discovered_feed feed;
    size_t rank, index;
};

static bool is_about_comments(const struct discovered_feed *f)
{
    static const char *const words[] = {"comment", "kommentar", "comentari", "commenti",
                                        "reacties"};
    struct str path = path_of(f->href);

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ifind(f->title, str_from(words[i])) >= 0 ||
            str_ifind(path, str_from(words[i])) >= 0)
            return true;
    return false;
}

static int by_rank(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

void discover_order(struct str page_url, struct discovered_feed *list, size_t n)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct ranked *all = ARENA_ARRAY(&a, struct ranked, n + 1);

    for (size_t i = 0; i < n; i++)
        all[i] = (struct ranked){.feed = list[i],
                                 .rank = 4 * (size_t)list[i].kind +
                                         (is_about_comments(&list[i]) ? 2 : 0) +
                                         (same_site(page_url, list[i].href) ? 0 : 1),
                                 .index = i};
    if (n > 1)
        qsort(all, n, sizeof *all, by_rank);
    for (size_t i = 0; i < n; i++)
        list[i] = all[i].feed;
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct finder {
    struct arena *a;
    struct str page_url, base;
    struct discovered_feed *found; /* of all kinds; hrefs stay as written until resolve_all() */
    size_t n, n_announced;
    bool is_head; /* neither the end of the head nor the start of the body has come */
    struct str hubs[DISCOVER_HUBS], self;
    size_t n_hubs;
};

static void add(struct finder *f, const struct html_token *t, enum discover_kind kind,
                struct str type)
{
    struct str href = attr(f->a, t, "href"), title = attr(f->a, t, "title");

    bool announced = kind == DISCOVER_ANNOUNCED;

    if (href.len == 0 || (announced ? f->n_announced : f->n - f->n_announced) == FEEDS_MAX)
        return;
    f->n_announced += announced;
    f->found[f->n++] =
        (struct discovered_feed){.href = str_dup(f->a, href),
                                 .type = type,
                                 .title = title.len == 0 ? STR_NULL : str_dup(f->a, title),
                                 .kind = kind};
}

/* Look only in the head, because the body may have what visitors wrote. */
static void look_for_hub(struct finder *f, const struct html_token *t, struct str rel)
{
    struct str href = f->is_head ? attr(f->a, t, "href") : STR("");

    if (href.len == 0)
        return;
    if (has_word(rel, "hub") && f->n_hubs < DISCOVER_HUBS)
        f->hubs[f->n_hubs++] = str_dup(f->a, href);
    if (has_word(rel, "self") && str_is_null(f->self))
        f->self = str_dup(f->a, href);
}

static void look_at(struct finder *f, const struct html_token *t)
{
    struct str rel, type;

    if (str_eqz(t->name, "link")) {
        enum discover_kind kind;

        look_for_hub(f, t, attr(f->a, t, "rel"));
        type = media_type(f->a, attr(f->a, t, "type"));
        kind = discover_link(attr(f->a, t, "rel"), type);
        if (kind != DISCOVER_NONE)
            add(f, t, kind, type);
    } else if (str_eqz(t->name, "a")) {
        struct str href = attr(f->a, t, "href");

        rel = attr(f->a, t, "rel");
        type = media_type(f->a, attr(f->a, t, "type"));
        if (is_feed_type(type) || has_word(rel, "feed"))
            add(f, t, DISCOVER_MARKED, type);
        else if (has_feed_name(href))
            add(f, t, DISCOVER_NAMED, type);
    }
}

/* Returns true for what can be fetched: http, https, and feed, which means http. Without a scheme
 * it is relative to a page whose URL is not known. */
static bool is_on_web(struct str url)
{
    return str_is_null(iri_scheme(url)) || iri_is_http(url) || str_ieqz(iri_scheme(url), "feed");
}

/* javascript: and data: do not count as the base of a page (HTML standard). */
static bool is_base(struct str href)
{
    return !iri_is_script(href) && !str_istarts(href, STR("data:"));
}

/* Make the hrefs absolute; this comes last, because the base element may come after the links. Drop
 * doubles, what cannot be fetched, and links that only look like feeds of this site but lead to
 * another site. */
static void resolve_all(struct finder *f, struct discovery *out)
{
    struct map known = MAP_INIT;

    for (int announced = 1; announced >= 0; announced--) {
        for (size_t i = 0; i < f->n; i++) {
            struct discovered_feed *feed = &f->found[i];
            struct str href;

            if ((feed->kind == DISCOVER_ANNOUNCED) != (announced == 1))
                continue;
            href = uri_resolve(f->a, f->base, feed->href);
            if (!is_on_web(href) || iri_is_script(feed->href) ||
                (feed->kind == DISCOVER_NAMED && !same_site(f->page_url, href)) ||
                map_get(&known, href) != NULL)
                continue;
            map_put(&known, href, f);
            feed->href = str_dup(f->a, href);
            if (announced)
                out->feeds[out->n_feeds++] = *feed;
            else
                out->guesses[out->n_guesses++] = *feed;
        }
    }
    map_release(&known, NULL);
}

void discover_page(struct arena *a, struct str html, struct str page_url, struct str content_type,
                   struct discovery *out)
{
    struct finder f = {
        .a = a, .page_url = page_url, .base = page_url, .is_head = true, .self = STR_NULL};
    struct html_lexer *lx = arena_alloc(a, sizeof *lx);
    struct html_token t;
    struct decoded d;
    bool based = false;

    decode_document(a, html, charset_source(a, html, content_type), &d);
    f.found = ARENA_ARRAY(a, struct discovered_feed, (size_t)2 * FEEDS_MAX);
    html_lexer_init(lx, a, d.text);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        if ((t.kind == HTML_START_TAG && str_eqz(t.name, "body")) ||
            (t.kind == HTML_END_TAG && str_eqz(t.name, "head")))
            f.is_head = false;
        if (t.kind != HTML_START_TAG)
            continue;
        if (html_is_raw(t.name)) {
            html_skip_raw(lx, t.name);
        } else if (str_eqz(t.name, "base") && !based) {
            struct str href = attr(a, &t, "href");
            based = href.len > 0;
            if (based && is_base(href)) /* no later one counts in its place */
                f.base = uri_resolve(a, page_url, href);
        } else {
            look_at(&f, &t);
        }
    }
    *out = (struct discovery){.feeds = ARENA_ARRAY(a, struct discovered_feed, f.n + 1),
                              .guesses = ARENA_ARRAY(a, struct discovered_feed, f.n + 1)};
    resolve_all(&f, out);
    for (; out->n_hubs < f.n_hubs; out->n_hubs++)
        out->hubs[out->n_hubs] = str_dup(a, uri_resolve(a, f.base, f.hubs[out->n_hubs]));
    out->self = str_is_null(f.self) ? STR_NULL : str_dup(a, uri_resolve(a, f.base, f.self));
    decoded_release(&d);
}

/* ---- service documents ----------------------------------------------------------------------- */

/* The name without its prefix. */
static struct str local_name(struct str name)
{
    ssize_t at = str_chr(name, ':');

    return at < 0 ? name : str_slice(name, (size_t)at + 1, name.len);
}

size_t discover_service(struct arena *a, struct str body, struct str url, struct str content_type,
                        struct str **out)
{
    struct html_lexer *lx = arena_alloc(a, sizeof *lx);
    struct str *hrefs = ARENA_ARRAY(a, struct str, FEEDS_MAX);
    struct html_token t;
    struct decoded d;
    bool is_service = false;
    size_t n = 0;

    decode_document(a, body, content_type, &d);
    html_lexer_init(lx, a, d.text);
    while (n < FEEDS_MAX && html_next(lx, &t) != HTML_END_OF_INPUT) {
        if (t.kind != HTML_START_TAG)
            continue;
        if (!is_service && !str_eqz(local_name(t.name), "service"))
            break;
        is_service = true; /* the root element */
        if (str_eqz(local_name(t.name), "collection")) {
            struct str href = attr(a, &t, "href");

            if (href.len > 0)
                hrefs[n++] = str_dup(a, uri_resolve(a, url, href));
        }
    }
    decoded_release(&d);
    *out = hrefs;
    return n;
}
