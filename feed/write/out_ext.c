/* feed/write/out_ext.c - decides which foreign elements are written, and writes elements of Dublin
 * Core and Media RSS for members that the format has no element for. */
#include "base/compiler.h"
#include "feed/text/fragment.h"
#include "feed/text/xml_out.h"
#include "feed/write/writer_priv.h"

/* Rows: namespace, local name (NULL: the whole namespace), and the uses in which it must not be
 * written. */
#define IN_ATOM (1u << EXT_ATOM_HEAD | 1u << EXT_ATOM_ENTRY)
#define IN_RSS (1u << EXT_RSS_HEAD | 1u << EXT_RSS_ITEM)
static const struct {
    const char *ns, *local;
    unsigned uses;
} own_elements[] = {
    {"", NULL, IN_ATOM | IN_RSS},
    {NS_ATOM, NULL, IN_ATOM | IN_RSS},
    {"http://purl.org/atom/ns#", NULL, IN_ATOM | IN_RSS},
    {NS_HISTORY, NULL, IN_ATOM | IN_RSS},
    {NS_TOMBSTONES, NULL, IN_ATOM | IN_RSS},
    {NS_FANOUT, NULL, IN_ATOM | IN_RSS},
    {"http://purl.org/rss/1.0/", NULL, IN_ATOM | IN_RSS},
    {"http://my.netscape.com/rdf/simple/0.9/", NULL, IN_ATOM | IN_RSS},
    {"http://www.w3.org/1999/02/22-rdf-syntax-ns#", NULL, IN_ATOM | IN_RSS},
    {NS_KEPT, NULL, IN_ATOM | IN_RSS},
    {NS_CONTENT, "encoded", IN_ATOM | IN_RSS},
    {NS_DC, "creator", IN_ATOM | IN_RSS},
    {NS_DC, "date", IN_RSS},
    {NS_DC, "subject", IN_RSS},
};

static bool is_own(const struct fragment_element *el, enum ext_use use)
{
    for (size_t i = 0; i < ARRAY_LEN(own_elements); i++)
        if (own_elements[i].uses & (1u << use) && str_eqz(el->ns, own_elements[i].ns) &&
            (own_elements[i].local == NULL || str_eqz(el->local, own_elements[i].local)))
            return true;
    return false;
}

void out_ext_write(struct buf *out, struct str ext, enum ext_use use)
{
    struct fragment_element el;

    while (fragment_next(&ext, &el)) {
        if (is_own(&el, use))
            continue;
        buf_str(out, el.text);
        buf_putc(out, '\n');
    }
}

/* Returns true when the fragment has an element with this name. */
static bool has_element(struct str ext, const char *ns, const char *local)
{
    struct fragment_element el;

    if (str_find(ext, str_from(ns)) < 0)
        return false;
    while (fragment_next(&ext, &el))
        if (str_eqz(el.ns, ns) && str_eqz(el.local, local))
            return true;
    return false;
}

static void write_extra(struct buf *out, const char *prefix, const char *ns, const char *local,
                        struct str text)
{
    buf_printf(out, "<%s:%s xmlns:%s=\"%s\">", prefix, local, prefix, ns);
    xml_text(out, text);
    buf_printf(out, "</%s:%s>\n", prefix, local);
}

void out_extra_write(struct buf *out, const struct out_parts *v, struct str ext, enum ext_use use)
{
    const struct {
        const char *prefix, *ns, *local;
        struct str text;
        unsigned uses;
    } rows[] = {
        {"dcterms", NS_DCTERMS, "created", v->created, IN_ATOM | IN_RSS},
        {"dc", NS_DC, "publisher", v->publisher, IN_ATOM | IN_RSS},
        {"dc", NS_DC, "language", v->lang, 1u << EXT_RSS_ITEM | 1u << EXT_ATOM_ENTRY},
        {"dc", NS_DC, "rights", v->rights.value, 1u << EXT_RSS_ITEM},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].uses & (1u << use) && !str_is_null(rows[i].text) &&
            !has_element(ext, rows[i].ns, rows[i].local))
            write_extra(out, rows[i].prefix, rows[i].ns, rows[i].local, rows[i].text);
    if (use != EXT_ATOM_ENTRY && use != EXT_RSS_ITEM)
        return;
    if (!str_is_null(v->image) && !has_element(ext, NS_ITUNES, "image") &&
        !has_element(ext, NS_MEDIA, "thumbnail")) {
        buf_puts(out, "<media:thumbnail xmlns:media=\"" NS_MEDIA "\"");
        xml_attr(out, "url", v->image);
        buf_puts(out, "/>\n");
    }
}
