/* feed/write/write_html.c - a plain page for eyes: no script, nothing to configure, light or dark
 * as the reader's system is.
 *
 * The texts of publishers are made safe here once more, because for some feeds that was switched
 * off when they came in. The styles of the page name elements by their place only, so that no text
 * can borrow them. The answer must forbid scripts, too (api/views/pull.c). */
#include "feed/text/iri.h"
#include "feed/text/sanitize.h"
#include "feed/text/xml_out.h"
#include "feed/write/writer_priv.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1f2328;--soft:#636c76;--line:#d8dee4;--ground:#fff;"
    "--link:#0a58ca}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#d6d9de;--soft:#959da6;--line:#343a41;"
    "--ground:#16191d;--link:#7fb2ff}}\n"
    "html{background:var(--ground);color:var(--ink);-webkit-text-size-adjust:100%}\n"
    "body{max-width:42rem;margin:0 auto;padding:2rem 1rem 4rem;font:1.0625rem/1.6 system-ui,"
    "sans-serif;overflow-wrap:anywhere}\n"
    "a{color:var(--link);text-underline-offset:.15em}\n"
    "body>header{padding-bottom:1.25rem;border-bottom:1px solid var(--line)}\n"
    "body>header>h1{font-size:1.75rem;line-height:1.25;margin:0}\n"
    "body>header>h1>a{color:inherit;text-decoration:none}\n"
    "body>header>p{margin:.4rem 0 0;color:var(--soft)}\n"
    "main>article{padding:1.75rem 0;border-bottom:1px solid var(--line)}\n"
    "main>article>h2{font-size:1.3rem;line-height:1.3;margin:0}\n"
    "main>article>h2>a{color:inherit;text-decoration:none}\n"
    "main>article>h2>a:hover,main>article>h2>a:focus-visible{text-decoration:underline}\n"
    "main>article>p{margin:.3rem 0 0;font-size:.875rem;color:var(--soft)}\n"
    "main>article>div{margin-top:.75rem;contain:layout paint;overflow-x:auto}\n"
    "main>article>div>:first-child{margin-top:0}\n"
    "main>article>div>:last-child{margin-bottom:0}\n"
    "main>article>div :is(h1,h2,h3,h4,h5,h6){font-size:1.0625rem;line-height:1.4;"
    "margin:1.25em 0 .5em}\n"
    "main>article>div :is(img,video,iframe,svg){max-width:100%;height:auto}\n"
    "main>article>div :is(input,button,select,textarea){display:none}\n"
    "main>article>div pre{overflow-x:auto;font-size:.9em}\n"
    "main>article>div blockquote{margin:1em 0;padding-left:1em;border-left:3px solid "
    "var(--line);color:var(--soft)}\n"
    "main>article>ul{margin:.75rem 0 0;padding:0;list-style:none;font-size:.875rem}\n"
    "main>p{color:var(--soft)}\n"
    "body>nav{display:flex;gap:1.5rem;padding-top:1.5rem}\n";

/* Write a text that may go in any direction, so that it cannot turn what stands around it. */
static void put_isolated(struct buf *out, struct str text)
{
    buf_puts(out, "<bdi>");
    xml_text(out, text);
    buf_puts(out, "</bdi>");
}

/* The element around it has dir="auto", or is a <bdi>. */
static void put_link(struct arena *a, struct buf *out, struct str href, const char *rel,
                     struct str text)
{
    if (!iri_is_http(href)) {
        xml_text(out, text);
        return;
    }
    buf_puts(out, "<a");
    xml_attr(out, "href", iri_escape(a, href, true));
    xml_attr(out, "rel", str_from(rel));
    buf_putc(out, '>');
    xml_text(out, text);
    buf_puts(out, "</a>");
}

static void put_part(struct buf *out, bool *is_first, struct str text)
{
    if (text.len == 0)
        return;
    if (!*is_first)
        buf_puts(out, " \xC2\xB7 ");
    *is_first = false;
    put_isolated(out, text);
}

/* Write whose entry it is, and of when: "2026-01-31 12:00 UTC". */
static void put_line(struct arena *a, struct buf *out, const struct out_doc *doc,
                     const struct out_entry *e, const struct out_parts *v)
{
    int64_t at = e->published_at != TIME_UNKNOWN ? e->published_at : out_entry_updated(e);
    struct out_parts head;
    char text[CLOCK_TEXT];
    bool is_first = true;

    clock_rfc3339(at, text);
    buf_puts(out, "<p>");
    if (doc->merged) {
        out_parts_read(a, e->feed->obj, STR(""), e->feed->url, true, &head);
        put_part(out, &is_first, out_feed_name(a, part_plain(a, head.title), e->feed->url));
    }
    put_part(out, &is_first, v->n_authors > 0 ? v->authors[0].name : STR(""));
    buf_printf(out, "%s<time datetime=\"%s\">%.10s %.5s UTC</time></p>\n",
               is_first ? "" : " \xC2\xB7 ", text, text, text + 11);
}

static void put_enclosures(struct arena *a, struct buf *out, const struct out_parts *v)
{
    bool any = false;

    for (size_t i = 0; i < v->n_links; i++) {
        const struct part_link *l = &v->links[i];

        if (!str_eqz(l->rel, "enclosure") || !iri_is_http(l->href))
            continue;
        buf_puts(out, any ? "<li><bdi>" : "<ul>\n<li><bdi>");
        any = true;
        put_link(a, out, l->href, "noreferrer noopener",
                 str_is_null(l->title) ? l->href : l->title);
        buf_puts(out, "</bdi>");
        if (!str_is_null(l->type)) {
            buf_puts(out, " (");
            xml_text(out, l->type);
            buf_putc(out, ')');
        }
        buf_puts(out, "</li>\n");
    }
    if (any)
        buf_puts(out, "</ul>\n");
}

static void put_entry(struct arena *a, struct buf *out, const struct out_doc *doc,
                      const struct out_entry *e)
{
    struct out_parts v;
    struct str title, body;

    out_parts_read(a, out_entry_object(a, e), STR(""), e->feed->url, false, &v);
    title = part_plain(a, v.title);
    body = part_html(a, str_is_null(v.content.value) ? v.summary : v.content);
    buf_puts(out, "<article");
    xml_attr(out, "lang", v.lang);
    buf_puts(out, ">\n<h2 dir=\"auto\">");
    put_link(a, out, v.link, "noreferrer noopener", title.len > 0 ? title : parts_title(a, &v));
    buf_puts(out, "</h2>\n");
    put_line(a, out, doc, e, &v);
    if (body.len > 0) {
        buf_puts(out, "<div dir=\"auto\">\n");
        buf_str(out, sanitize_html(a, body, e->feed->url));
        buf_puts(out, "\n</div>\n");
    }
    put_enclosures(a, out, &v);
    buf_puts(out, "</article>\n");
}

static void put_entries(struct buf *out, const struct out_doc *doc)
{
    struct arena ids = ARENA_INIT;
    struct map seen = MAP_INIT;
    bool any = false;

    buf_puts(out, "<main>\n");
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        struct arena a = ARENA_INIT;

        if (doc->entries[i].kind == OUT_ENTRY &&
            out_entry_is_first(&ids, &seen, doc, &doc->entries[i])) {
            put_entry(&a, out, doc, &doc->entries[i]);
            any = true;
        }
        arena_release(&a);
    }
    if (!any)
        buf_puts(out, "<p>There are no entries here.</p>\n");
    buf_puts(out, "</main>\n");
    map_release(&seen, NULL);
    arena_release(&ids);
}

static struct str page_link(const struct out_doc *doc, const char *rel)
{
    for (size_t i = 0; i < doc->n_links; i++)
        if (str_eqz(doc->links[i].rel, rel))
            return doc->links[i].href;
    return STR_NULL;
}

static void put_pages(struct arena *a, struct buf *out, const struct out_doc *doc)
{
    struct str newer = page_link(doc, "previous"), older = page_link(doc, "next");

    if (str_is_null(older))
        older = doc->next_url;
    if (str_is_null(newer) && str_is_null(older))
        return;
    buf_puts(out, "<nav>\n");
    if (!str_is_null(newer))
        put_link(a, out, newer, "prev", STR("Newer entries"));
    if (!str_is_null(older))
        put_link(a, out, older, "next", STR("Older entries"));
    buf_puts(out, "\n</nav>\n");
}

static void put_alternates(struct arena *a, struct buf *out, const struct out_doc *doc)
{
    for (size_t i = 0; i < doc->n_links; i++) {
        const struct out_link *l = &doc->links[i];

        if (!str_eqz(l->rel, "alternate"))
            continue;
        buf_puts(out, "<link rel=\"alternate\"");
        xml_attr(out, "type", l->type);
        xml_attr(out, "href", iri_escape(a, l->href, true));
        buf_puts(out, ">\n");
    }
}

static void put_head(struct arena *a, struct buf *out, const struct out_doc *doc)
{
    const struct out_feed *feed = doc->merged || doc->n_feeds == 0 ? NULL : &doc->feeds[0];
    struct str url = feed == NULL ? doc->self_url : feed->url, title, subtitle;
    struct out_parts v;

    out_parts_read(a, feed == NULL ? NULL : feed->obj, STR(""), url, true, &v);
    title = !str_is_null(doc->title) ? doc->title : out_feed_name(a, part_plain(a, v.title), url);
    subtitle = part_plain(a, v.summary);
    buf_puts(out, "<!DOCTYPE html>\n<html");
    xml_attr(out, "lang", v.lang);
    buf_puts(out, ">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                  "content=\"width=device-width,initial-scale=1\">\n<meta name=\"referrer\" "
                  "content=\"no-referrer\">\n<title>");
    xml_text(out, title);
    buf_puts(out, "</title>\n");
    put_alternates(a, out, doc);
    buf_puts(out, "<style>\n");
    buf_puts(out, style);
    buf_puts(out, "</style>\n</head>\n<body>\n<header>\n<h1 dir=\"auto\">");
    put_link(a, out, v.link, "noreferrer noopener", title);
    buf_puts(out, "</h1>\n");
    if (subtitle.len > 0 && !str_eq(subtitle, title)) {
        buf_puts(out, "<p dir=\"auto\">");
        xml_text(out, subtitle);
        buf_puts(out, "</p>\n");
    }
    buf_puts(out, "</header>\n");
}

void write_html(struct buf *out, const struct out_doc *doc)
{
    struct arena a = ARENA_INIT;

    put_head(&a, out, doc);
    put_entries(out, doc);
    put_pages(&a, out, doc);
    buf_puts(out, "</body>\n</html>\n");
    arena_release(&a);
}
