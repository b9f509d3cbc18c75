/* feed/read/parse.c - finds out the kind of a document, has it read, and fills the fields that
 * follow from the result. */
#include "feed/read/parse.h"

#include "base/limits.h"
#include "feed/read/builder.h"
#include "feed/read/encoding.h"
#include "feed/read/json_feed.h"
#include "feed/read/sniff.h"
#include "feed/read/whole.h"
#include "feed/read/xml_reader.h"
#include "feed/text/date.h"
#include "feed/text/iri.h"
#include "feed/text/uri.h"

/* Returns true for media types that XML may be sent as, and for null. */
static bool is_xml_type(struct str content_type)
{
    static const char *const types[] = {"application/xml", "text/xml", "application/xml-dtd",
                                        "application/xml-external-parsed-entity",
                                        "text/xml-external-parsed-entity"};
    struct str type = str_trim(str_split(&content_type, ';'));

    if (type.len == 0 ||
        ((str_istarts(type, STR("application/")) || str_istarts(type, STR("text/"))) &&
         type.len > 4 && str_ieq(str_slice(type, type.len - 4, type.len), STR("+xml"))))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ieqz(type, types[i]))
            return true;
    return false;
}

/* ---------------------------------------------------------------- normalized fields */

static struct str null_if_empty(struct str s)
{
    s = str_trim(s);
    return s.len == 0 ? STR_NULL : s;
}

/* Add a list of those links that are enclosures (OBJ-02). */
static void list_enclosures(struct arena *a, struct value *obj)
{
    const struct value *links = value_getz(obj, "links");

    for (size_t i = 0; i < value_len(links); i++) {
        const struct value *link = value_at(links, i);
        struct value *enclosure;

        if (!str_eqz(value_get_textz(link, "rel"), "enclosure"))
            continue;
        enclosure = value_dict(a);
        for (size_t k = 0; k < value_len(link); k++)
            if (!str_eqz(link->members[k].key, "rel"))
                value_set(a, enclosure, link->members[k].key, link->members[k].val);
        value_push(a, value_list_at(a, obj, STR("enclosures")), enclosure);
    }
}

/* Members that a web page may follow or load. */
static bool is_followed(struct str key)
{
    switch (key.len) {
    case 3:
        return str_eqz(key, "url") || str_eqz(key, "uri") || str_eqz(key, "src");
    case 4:
        return str_eqz(key, "href") || str_eqz(key, "link") || str_eqz(key, "icon") ||
               str_eqz(key, "logo");
    case 8:
        return str_eqz(key, "comments");
    default:
        return false;
    }
}

static void drop_scripts(struct value *v);

static inline void drop_scripts_within(struct value *v)
{
    if (v->kind == VAL_LIST || v->kind == VAL_DICT)
        drop_scripts(v);
}

/* Remove scripts from members that a web page may follow or load: such a member becomes empty. */
static void drop_scripts(struct value *v)
{
    for (uint32_t i = 0; v->kind == VAL_LIST && i < v->len; i++)
        drop_scripts_within(v->items[i]);
    for (uint32_t i = 0; v->kind == VAL_DICT && i < v->len; i++) {
        struct value *m = v->members[i].val;

        if (m->kind != VAL_TEXT)
            drop_scripts_within(m);
        else if (is_followed(v->members[i].key) && !str_starts(m->s, STR("http")) &&
                 iri_is_script(m->s))
            m->s = STR("");
    }
}

static void normalize(struct arena *a, struct doc_entry *e)
{
    drop_scripts(e->obj);
    list_enclosures(a, e->obj);
    e->id = null_if_empty(value_get_textz(e->obj, "id"));
    e->title = null_if_empty(value_get_textz(e->obj, "title"));
    e->link = null_if_empty(value_get_textz(e->obj, "link"));
    e->summary = null_if_empty(value_get_textz(e->obj, "summary"));
    if (str_is_null(e->summary))
        e->summary =
            null_if_empty(value_get_textz(value_at(value_getz(e->obj, "content"), 0), "value"));
    e->author = null_if_empty(value_get_textz(e->obj, "author"));
    e->published_at = date_of_nine(value_getz(e->obj, "published_parsed"));
    e->updated_at = date_of_nine(value_getz(e->obj, "updated_parsed"));
}

/* ---------------------------------------------------------------- Smart Feeds */

static void drop_stream_facts(struct value *dict)
{
    static const char *const facts[] = {"fo_total", "fo_last_cursor", "fo_prev_cursor", "fo_id",
                                        "fo_deleted"};

    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        value_del(dict, str_from(facts[i]));
}

/* Remove the links with this relation from the feed. False: there are none. */
static bool take_links(struct value *feed, const char *rel)
{
    struct value *links = value_getz(feed, "links");
    uint32_t n = (uint32_t)value_len(links), kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (!str_eqz(value_get_textz(value_at(links, i), "rel"), rel))
            links->items[kept++] = links->items[i];
    if (kept < n)
        links->len = kept;
    return kept < n;
}

/* The document is a piece of a stream. Its end is only that of the piece. Items that are marked as
 * deleted become deletions, at the time of their last change. */
static void read_stream(struct arena *a, struct feed_doc *doc)
{
    struct doc_tombstone *all;
    size_t kept = 0;

    doc->cursor = value_get_textz(doc->feed, "fo_last_cursor");
    if (str_is_null(doc->cursor))
        return;
    doc->prev_cursor = value_get_textz(doc->feed, "fo_prev_cursor");
    if (!str_to_i64(str_trim(value_get_textz(doc->feed, "fo_total")), &doc->n_total))
        doc->n_total = 0;
    doc->has_next = take_links(doc->feed, "next");
    drop_stream_facts(doc->feed);
    all = ARENA_ARRAY(a, struct doc_tombstone, doc->n_tombstones + doc->n_entries + 1);
    if (doc->n_tombstones > 0)
        memcpy(all, doc->tombstones, doc->n_tombstones * sizeof *all);
    doc->tombstones = all;
    for (size_t i = 0; i < doc->n_entries; i++) {
        struct doc_entry *e = &doc->entries[i];

        if (str_is_null(e->id)) {
            e->id = null_if_empty(str_trim(value_get_textz(e->obj, "fo_id")));
            if (!str_is_null(e->id))
                value_set_textz(a, e->obj, "id", e->id);
        }
        if (str_ieqz(str_trim(value_get_textz(e->obj, "fo_deleted")), "true") &&
            !str_is_null(e->id)) {
            all[doc->n_tombstones++] = (struct doc_tombstone){
                .ref = e->id, .when_at = e->updated_at, .ext = STR(""), .item_index = i};
            continue;
        }
        e->item_index = i;
        drop_stream_facts(e->obj);
        doc->entries[kept++] = *e;
    }
    doc->n_entries = kept;
}

/* Returns the URL to which the publisher says that the feed has moved. The URL at which the
 * document was found does not count. */
static struct str moved_to(const struct feed_doc *doc, struct str url)
{
    static const char *const members[] = {"newlocation", "itunes_new-feed-url"};

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct str to = null_if_empty(value_get_text(doc->feed, str_from(members[i])));

        if (iri_is_http(to) && iri_is_permanent(to) && !str_eq(to, url))
            return to;
    }
    return STR_NULL;
}

/* ---------------------------------------------------------------- the whole */

static void set_bozo(struct feed_doc *doc, struct str why)
{
    if (!doc->bozo)
        doc->bozo_why = why;
    doc->bozo = true;
}

/* How a document is read, and what was found out while reading it. */
struct pass {
    size_t from; /* offset at which it begins */
    bool guesses, crossed;
    struct doubling doubling;
};

/* Read the document once. Returns NULL, or what was wrong with it. */
static const char *build(struct arena *a, const struct parse_input *in, struct str text,
                         struct pass *pass, struct feed_doc *doc)
{
    struct builder *b = ARENA_NEW(a, struct builder);
    const char *why;

    builder_init(b, a, in, doc);
    b->doubling.is_sure = pass->doubling.is_sure;
    why = xml_read(b, str_slice(text, pass->from, text.len), pass->guesses, &pass->crossed);
    if (pass->from > 0 || why != NULL)
        builder_restore_ids(b);
    if (buf_ok(&b->head_ext) && b->head_ext.len > 0)
        doc->ext = str_dup(a, buf_view(&b->head_ext));
    pass->doubling = b->doubling;
    builder_release(b);
    return why;
}

/* Is there nothing in it that a feed has? After junk, it is then some element that is only named
 * like the root of a feed. */
static bool is_hollow(const struct feed_doc *doc)
{
    return doc->n_entries == 0 && doc->n_tombstones == 0 && value_getz(doc->feed, "title") == NULL;
}

static void settle_version(struct feed_doc *doc, bool after_tags)
{
    bool is_no_feed = after_tags && is_hollow(doc);

    if (is_no_feed)
        doc->version = STR("");
    if (is_no_feed || (doc->family == FAMILY_NONE && doc->n_entries == 0))
        set_bozo(doc, STR("It is not a feed of a known format"));
    else if (doc->version.len == 0) /* its items were understood, although the dialect is unknown */
        doc->version = STR("rss");
}

static void read_xml(struct arena *a, const struct parse_input *in, struct str text,
                     struct feed_doc *doc)
{
    struct feed_doc before;
    struct arena_mark mark;
    struct sniffed sniffed = sniff_document(text);
    struct pass pass = {.from = sniffed.from};
    const char *why;

    if (sniffed.is_page) {
        set_bozo(doc, STR("It is an HTML page, not a feed"));
        return;
    }
    if (pass.from > 0)
        set_bozo(doc, STR("There is text before the document"));
    mark = arena_mark(a);
    before = *doc;
    for (;;) {
        doc->feed = value_dict(a);
        doc->namespaces = value_dict(a);
        why = build(a, in, text, &pass, doc);
        /* read it again, with guesses about what feeds look like */
        if (pass.crossed && !pass.guesses)
            pass.guesses = true;
        else if (!pass.doubling.is_sure && pass.doubling.n_sure > 0 && pass.doubling.n_may > 0 &&
                 /* read it again, and take what may be doubled as doubled */
                 pass.doubling.n_no == 0)
            pass.doubling.is_sure = true;
        else
            break;
        *doc = before;
        arena_rewind(a, mark);
    }
    if (why != NULL)
        set_bozo(doc, str_from(why));
    doc->broken = why != NULL;
    settle_version(doc, sniffed.after_tags);
}

/* Returns `s` without bytes that are not text: messages quote what came in. */
static struct str printable(struct arena *a, struct str s)
{
    char *z = str_z(a, s);
    size_t at = 0;

    while ((at += str_utf8_valid(str_of(z + at, s.len - at))) < s.len)
        z[at] = '?';
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)z[i] < ' ')
            z[i] = ' ';
    return str_of(z, s.len);
}

bool feed_looks_like_html(struct str body)
{
    return sniff_document(body).is_page;
}

struct feed_doc *feed_parse(struct arena *a, const struct parse_input *in)
{
    struct feed_doc *doc = ARENA_NEW(a, struct feed_doc);
    struct decoded text;
    struct str base = in->url;

    doc->version = STR("");
    doc->ext = STR("");
    doc->cursor = doc->prev_cursor = doc->moved_to = STR_NULL;
    doc->feed = value_dict(a);
    doc->namespaces = value_dict(a);
    decode_document(a, in->body, in->content_type, &text);
    doc->encoding = str_dup(a, text.encoding);
    if (!str_is_null(text.why))
        set_bozo(doc, text.why);
    if (str_starts(str_trim(str_slice(text.text, 0, 1024)), STR("{"))) {
        if (in->content_location.len > 0 && uri_is_base(uri_resolve(a, base, in->content_location)))
            base = uri_resolve(a, base, in->content_location);
        json_feed_read(a, text.text, str_is_null(base) ? STR("") : str_dup(a, base), in->raw_html,
                       doc);
        doc->broken = doc->bozo;
    } else {
        if (!is_xml_type(in->content_type))
            set_bozo(doc, str_printf(a, "It was sent as %.*s, which is not a type for XML",
                                     STR_ARG(str_slice(in->content_type, 0, 100))));
        read_xml(a, in, text.text, doc);
    }
    if (doc->broken) {
        enum feed_end end = feed_text_end(text.text);

        doc->cut = end != FEED_END_WHOLE;
        doc->open = end == FEED_END_IN_ENTRY;
    }
    decoded_release(&text);
    if (doc->bozo)
        doc->bozo_why = printable(a, doc->bozo_why);
    drop_scripts(doc->feed);
    for (size_t i = 0; i < doc->n_entries; i++)
        normalize(a, &doc->entries[i]);
    read_stream(a, doc);
    doc->moved_to = moved_to(doc, in->url);
    return doc;
}

struct value *feed_doc_object(struct arena *a, const struct feed_doc *doc)
{
    struct value *o = value_dict(a), *entries = value_list(a);

    value_setz(a, o, "bozo", value_bool(a, doc->bozo));
    if (doc->bozo)
        value_set_textz(a, o, "bozo_exception", doc->bozo_why);
    value_set_textz(a, o, "version", doc->version);
    value_set_textz(a, o, "encoding", doc->encoding);
    value_setz(a, o, "namespaces", doc->namespaces);
    value_setz(a, o, "feed", doc->feed);
    for (size_t i = 0; i < doc->n_entries; i++)
        value_push(a, entries, doc->entries[i].obj);
    value_setz(a, o, "entries", entries);
    return o;
}
