/* feed/writer.c - what all formats agree on: ids, dates, which foreign elements may leave. */
#include "feed/writer.h"

#include "base/assert.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "feed/date.h"
#include "feed/fragment.h"
#include "feed/iri.h"
#include "feed/uri.h"
#include "feed/writer_priv.h"
#include "feed/xml_out.h"

static const struct {
    const char *name, *media_type;
} formats[] = {
    [FORMAT_ATOM] = {"atom", "application/atom+xml; charset=utf-8"},
    [FORMAT_RSS] = {"rss", "application/rss+xml; charset=utf-8"},
    [FORMAT_JSON] = {"json", "application/json"},
    [FORMAT_JSON_OBJ] = {"json", "application/json"},
    [FORMAT_JSONFEED] = {"jsonfeed", "application/feed+json"},
    [FORMAT_ACTIVITIES] = {"json", "application/json"},
};

const char *feed_format_media_type(enum feed_format format)
{
    ASSERT((size_t)format < ARRAY_LEN(formats));
    return formats[format].media_type;
}

const char *feed_format_name(enum feed_format format)
{
    ASSERT((size_t)format < ARRAY_LEN(formats));
    return formats[format].name;
}

void feed_write(struct buf *out, enum feed_format format, const struct out_doc *doc)
{
    switch (format) {
    case FORMAT_ATOM:
        write_atom(out, doc);
        break;
    case FORMAT_RSS:
        write_rss(out, doc);
        break;
    case FORMAT_JSON:
    case FORMAT_JSON_OBJ:
        write_json(out, doc, format == FORMAT_JSON_OBJ);
        break;
    case FORMAT_JSONFEED:
        write_jsonfeed(out, doc);
        break;
    case FORMAT_ACTIVITIES:
        write_activities(out, doc);
        break;
    }
}

/* RFC 9562: the namespace of names that are URLs. */
static const unsigned char ns_url[16] = {0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                         0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};

/* Whether a publisher's id can be an atom:id as it stands: an absolute IRI without a byte that
 * would have to be escaped (RFC 4287 4.2.6). What its scheme asks for beside that ("urn:e1" lacks a
 * namespace) is the publisher's affair: who compares ids must find the one that was published. */
static bool is_atom_id(struct arena *a, struct str s)
{
    return iri_is_permanent(s) && !iri_is_script(s) && str_eq(iri_escape(a, s, false), s);
}

static struct str uuid_of(struct arena *a, struct str name)
{
    char uuid[37];

    digest_uuid5(ns_url, name, uuid);
    return str_printf(a, "urn:uuid:%s", uuid);
}

struct str feed_entry_iri(struct arena *a, struct str id_url, struct str uid)
{
    if (is_atom_id(a, uid))
        return uid;
    /* a line end stands in no URL: no two pairs give the same name */
    return uuid_of(a, str_printf(a, "%.*s\n%.*s", STR_ARG(id_url), STR_ARG(uid)));
}

static struct str id_url_of(const struct out_feed *feed)
{
    return feed->id_url.len > 0 ? feed->id_url : feed->url;
}

struct str out_entry_iri(struct arena *a, const struct out_entry *e)
{
    return feed_entry_iri(a, e->id_url.len > 0 ? e->id_url : id_url_of(e->feed), e->uid);
}

struct str feed_iri(struct arena *a, const struct out_feed *feed)
{
    struct str id = str_trim(value_get_textz(feed->obj, "id")), base = id_url_of(feed);

    if (is_atom_id(a, id))
        return id;
    return uuid_of(a, str_is_null(base) ? value_get_textz(feed->obj, "link") : base);
}

struct str out_feed_name(struct arena *a, struct str title, struct str url)
{
    struct str host = iri_host(url);

    (void)a;
    return title.len > 0 ? title : host.len > 0 ? host : STR("unknown");
}

int64_t out_entry_updated(const struct out_entry *e)
{
    if (e->changed_at != 0)
        return e->changed_at;
    if (e->updated_at != TIME_UNKNOWN)
        return e->updated_at;
    return e->published_at != TIME_UNKNOWN ? e->published_at : e->received_at;
}

int64_t out_feed_updated(const struct out_feed *feed)
{
    int64_t at = date_of_nine(value_getz(feed->obj, "updated_parsed"));

    return at == TIME_UNKNOWN ? feed->updated_at : at;
}

bool out_entry_is_first(struct arena *a, struct map *seen, const struct out_doc *doc,
                        const struct out_entry *e)
{
    struct str iri;
    const struct out_feed *owner;

    if (!doc->merged || doc->repeats)
        return true;
    iri = out_entry_iri(a, e);
    owner = map_get(seen, iri);
    if (owner == NULL) {
        map_put(seen, iri, (void *)(uintptr_t)e->feed);
        return true;
    }
    return owner == e->feed;
}

/* Rows: namespace, local name (NULL: all of the namespace), uses that must not have it. */
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

bool out_ext_has(struct str ext, const char *ns, const char *local)
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

void out_extra_write(struct buf *out, const struct out_view *v, struct str ext, enum ext_use use)
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
            !out_ext_has(ext, rows[i].ns, rows[i].local))
            write_extra(out, rows[i].prefix, rows[i].ns, rows[i].local, rows[i].text);
    if (use != EXT_ATOM_ENTRY && use != EXT_RSS_ITEM)
        return;
    if (!str_is_null(v->image) && !out_ext_has(ext, NS_ITUNES, "image") &&
        !out_ext_has(ext, NS_MEDIA, "thumbnail")) {
        buf_puts(out, "<media:thumbnail xmlns:media=\"" NS_MEDIA "\"");
        xml_attr(out, "url", v->image);
        buf_puts(out, "/>\n");
    }
}

/* The address of the feed that an entry was taken from: RSS's url, or Atom's self link. */
static struct str source_url(struct arena *a, const struct value *source, struct str base)
{
    const struct value *links = value_getz(source, "links");
    struct str url = value_get_textz(source, "href");

    if (url.len == 0)
        url = value_get_textz(source, "url");
    for (size_t i = 0; i < value_len(links) && url.len == 0; i++)
        if (str_eqz(value_get_textz(value_at(links, i), "rel"), "self"))
            url = value_get_textz(value_at(links, i), "href");
    url = url.len == 0 ? url : iri_escape(a, uri_resolve(a, base, url), false);
    return iri_is_http(url) && iri_is_permanent(url) ? url : STR_NULL;
}

bool out_source_read(struct arena *a, const struct value *obj, struct str base,
                     struct out_feed *feed, struct out_view *out)
{
    struct value *source = value_getz(obj, "source");
    struct str id;

    if (source == NULL || source->kind != VAL_DICT)
        return false;
    out_view_read(a, source, STR(""), base, true, out);
    *feed = (struct out_feed){.url = source_url(a, source, base),
                              .obj = source,
                              .updated_at = date_of_nine(value_getz(source, "updated_parsed"))};
    id = str_trim(value_get_textz(source, "id"));
    if (str_is_null(feed->url) && str_is_null(out->link) && !is_atom_id(a, id))
        return false; /* nothing that says which */
    if (str_is_null(out->title.value))
        out->title.value =
            out_feed_name(a, STR_NULL, str_is_null(feed->url) ? out->link : feed->url);
    return true;
}
