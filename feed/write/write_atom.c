/* feed/write/write_atom.c - Atom 1.0 (RFC 4287). The output is valid whatever the input was. */
#include "feed/text/html.h"
#include "feed/text/iri.h"
#include "feed/text/uri.h"
#include "feed/text/xml_out.h"
#include "feed/write/writer_priv.h"
#include "model/media_types.h"

static void begin(struct buf *out, const char *name)
{
    buf_putc(out, '<');
    buf_puts(out, name);
}

static void end(struct buf *out, const char *name)
{
    buf_puts(out, "</");
    buf_puts(out, name);
    buf_puts(out, ">\n");
}

void atom_text(struct arena *a, struct buf *out, const char *name, struct part_text t,
               struct str lang, struct str kept)
{
    bool html = t.html || str_chr(t.value, '<') >= 0 || str_chr(t.value, '&') >= 0;

    if (str_is_null(t.value))
        return;
    begin(out, name);
    xml_attr(out, "type", html ? STR("html") : STR("text"));
    if (!str_eq(t.lang, lang))
        xml_attr(out, "xml:lang", t.lang);
    buf_str(out, kept);
    buf_putc(out, '>');
    xml_text(out, html ? part_html(a, t) : t.value);
    end(out, name);
}

static void write_date(struct buf *out, const char *name, int64_t at, struct str kept)
{
    char text[CLOCK_TEXT];

    clock_rfc3339(at, text);
    xml_element_at(out, name, str_from(text), kept);
}

void atom_person(struct buf *out, const char *name, const struct part_person *p,
                 const struct kept *m, enum kept_on on)
{
    bool prefixed = strncmp(name, "atom:", 5) == 0;

    begin(out, name);
    buf_str(out, kept_get(m, on, p->at));
    buf_putc(out, '>');
    xml_element(out, prefixed ? "atom:name" : "name", p->name);
    xml_element(out, prefixed ? "atom:uri" : "uri", p->uri);
    xml_element(out, prefixed ? "atom:email" : "email", p->email);
    kept_put_inner(out, m, on, p->at);
    end(out, name);
}

static void write_persons(struct buf *out, const char *name, const struct part_person *p, size_t n,
                          const struct kept *m, enum kept_on on)
{
    for (size_t i = 0; i < n; i++)
        atom_person(out, name, &p[i], m, on);
}

static void write_author_name(struct buf *out, struct str name)
{
    struct part_person p = {.name = name, .email = STR_NULL, .uri = STR_NULL};

    atom_person(out, "author", &p, &kept_none, KEPT_NONE);
}

void atom_link(struct buf *out, const char *name, const struct part_link *l, struct str kept)
{
    begin(out, name);
    xml_attr(out, "rel", l->rel);
    xml_attr(out, "type", l->type);
    xml_attr(out, "hreflang", l->hreflang);
    xml_attr(out, "href", l->href);
    xml_attr(out, "title", l->title);
    if (l->length >= 0)
        buf_printf(out, " length=\"%lld\"", (long long)l->length);
    buf_str(out, kept);
    buf_puts(out, "/>\n");
}

static void write_link_to(struct buf *out, struct str rel, struct str type, struct str href)
{
    struct part_link l = {.rel = rel, .type = type, .href = href, .length = -1};

    atom_link(out, "link", &l, STR_NULL);
}

static void write_own_links(struct buf *out, const struct out_entry *e)
{
    for (size_t i = 0; i < e->n_links; i++)
        write_link_to(out, e->links[i].rel, e->links[i].type, e->links[i].href);
}

/* Returns true when the entry gets a link to the document itself. Then the publisher's own such
 * link is left out. */
static bool names_itself(const struct out_entry *e)
{
    for (size_t i = 0; i < e->n_links; i++)
        if (str_eqz(e->links[i].rel, "self"))
            return true;
    return false;
}

static void write_links(struct buf *out, const struct out_parts *v, bool but_self)
{
    for (size_t i = 0; i < v->n_links; i++)
        if (!but_self || !str_eqz(v->links[i].rel, "self"))
            atom_link(out, "link", &v->links[i], kept_get(v->kept, KEPT_LINK, v->links[i].at));
}

void atom_tag(struct buf *out, const char *name, const struct part_tag *t, struct str kept)
{
    begin(out, name);
    xml_attr(out, "term", t->term);
    xml_attr(out, "scheme", t->scheme);
    xml_attr(out, "label", t->label);
    buf_str(out, kept);
    buf_puts(out, "/>\n");
}

static void write_tags(struct buf *out, const struct out_parts *v)
{
    for (size_t i = 0; i < v->n_tags; i++)
        atom_tag(out, "category", &v->tags[i], kept_get(v->kept, KEPT_TAG, v->tags[i].at));
}

static void write_generator(struct buf *out, const struct out_parts *v)
{
    bool own = str_is_null(v->generator);

    buf_puts(out, "<generator");
    xml_attr(out, "uri", own ? STR_NULL : v->generator_uri);
    xml_attr(out, "version", own ? STR(FEEDMILL_VERSION) : v->generator_version);
    if (!own)
        buf_str(out, kept_get(v->kept, KEPT_GENERATOR, 0));
    buf_putc(out, '>');
    xml_text(out, own ? STR("Feedmill") : v->generator);
    buf_puts(out, "</generator>\n");
}

void atom_source(struct arena *a, struct buf *out, const struct out_feed *feed,
                 const struct out_parts *v, int64_t updated_at, bool ns)
{
    struct part_text title = v->title;

    buf_puts(out, ns ? "<source xmlns=\"" NS_ATOM "\">\n" : "<source>\n");
    xml_element(out, "id", feed_iri(a, feed));
    if (str_is_null(title.value))
        title.value = out_feed_name(a, STR_NULL, feed->url);
    atom_text(a, out, "title", title, STR_NULL, STR_NULL);
    write_date(out, "updated", updated_at, STR_NULL);
    write_persons(out, "author", v->authors, v->n_authors, v->kept, KEPT_AUTHOR);
    write_persons(out, "contributor", v->contributors, v->n_contributors, v->kept,
                  KEPT_CONTRIBUTOR);
    write_links(out, v, false);
    if (!str_is_null(feed->url))
        write_link_to(out, STR("self"), STR_NULL, iri_escape(a, feed->url, false));
    atom_text(a, out, "subtitle", v->summary, STR_NULL, STR_NULL);
    atom_text(a, out, "rights", v->rights, STR_NULL, STR_NULL);
    write_tags(out, v);
    if (!str_is_null(v->generator))
        write_generator(out, v);
    xml_element(out, "icon", v->icon);
    xml_element(out, "logo", v->image);
    buf_puts(out, "</source>\n");
}

/* Write the source of an entry in a merged document: the head of its feed. If the feed took the
 * entry from another feed, the entry has a source already. */
static void write_source(struct arena *a, struct buf *out, const struct out_doc *doc,
                         const struct out_entry *e, const struct value *obj)
{
    struct out_feed own;
    struct out_parts v;
    int64_t at;

    if (doc->merged) {
        out_parts_read(a, e->feed->obj, STR(""), e->feed->url, true, &v);
        if (v.n_authors == 0) {
            v.authors[0] =
                (struct part_person){.name = out_feed_name(a, part_plain(a, v.title), e->feed->url),
                                     .email = STR_NULL,
                                     .uri = STR_NULL};
            v.n_authors = 1;
        }
        atom_source(a, out, e->feed, &v, out_feed_updated(e->feed), false);
    } else if (out_source_read(a, obj, e->feed->url, &own, &v)) {
        at = own.updated_at != TIME_UNKNOWN ? own.updated_at : out_entry_updated(e);
        atom_source(a, out, &own, &v, at, false);
    }
}

/* Write summary, foreign elements and content. An entry without an alternate link always gets a
 * content. The foreign elements come between summary and content, because what the parser does with
 * a summary among them (members.c) depends on what came before. */
static void write_body(struct arena *a, struct buf *out, const struct out_parts *v, struct str ext,
                       struct str lang)
{
    struct part_text summary = v->summary, content = v->content;
    bool elsewhere = str_is_null(content.value) && !str_is_null(v->content_src);
    bool is_xml = !elsewhere && str_is_null(content.value) && !str_is_null(v->content_xml);
    struct str kept = kept_get(v->kept, KEPT_CONTENT, 0);

    if (v->is_summary_content &&
        (str_find(ext, STR("summary")) >= 0 || str_find(ext, STR("description")) >= 0))
        /* otherwise a foreign element would be read as the summary */
        summary = content;
    /* RFC 4287, 4.1.2: an entry with src must have a summary */
    if (elsewhere && str_is_null(summary.value))
        summary = (struct part_text){.value = parts_title(a, v), .lang = STR_NULL};
    if (!elsewhere && !is_xml && str_is_null(content.value) && str_is_null(v->link)) {
        content = summary;
        summary.value = STR_NULL;
        if (str_is_null(content.value))
            content = (struct part_text){.value = STR(""), .lang = STR_NULL};
    }
    atom_text(a, out, "summary", summary, lang, kept_get(v->kept, KEPT_SUMMARY, 0));
    out_ext_write(out, ext, EXT_ATOM_ENTRY);
    if (elsewhere) {
        buf_puts(out, "<content");
        xml_attr(out, "type", v->content_type);
        xml_attr(out, "src", v->content_src);
        buf_str(out, kept);
        buf_puts(out, "/>\n");
    }
    if (is_xml) {
        buf_puts(out, "<content");
        xml_attr(out, "type", v->content_xml_type);
        buf_str(out, kept);
        buf_putc(out, '>');
        buf_str(out, v->content_xml);
        buf_puts(out, "</content>\n");
    }
    atom_text(a, out, "content", content, lang, kept);
}

/* Write a deletion or a metadata record, which has no text except the title. */
static void write_bare_entry(struct arena *a, struct buf *out, const struct out_doc *doc,
                             const struct out_entry *e, struct str lang)
{
    struct out_parts v;

    buf_puts(out, "<entry>\n");
    xml_element(out, "id", out_entry_id(a, e));
    if (e->kind == OUT_EMPTY) {
        buf_puts(out, "<title type=\"text\">Deleted</title>\n");
    } else {
        out_parts_read(a, out_entry_object(a, e), e->ext, e->feed->url, false, &v);
        if (str_is_null(v.title.value))
            v.title.value = parts_title(a, &v);
        atom_text(a, out, "title", v.title, lang, STR_NULL);
    }
    out_time_write(out, "updated", out_entry_updated(e), e->at_us, STR_NULL);
    if (e->kind == OUT_METADATA)
        write_persons(out, "author", v.authors, v.n_authors, v.kept, KEPT_AUTHOR);
    write_own_links(out, e);
    if (e->kind == OUT_EMPTY)
        buf_puts(out, "<content/>\n");
    if (doc->stream != NULL)
        out_stream_entry_write(out, out_entry_id(a, e), e);
    if (doc->merged)
        write_source(a, out, doc, e, NULL);
    buf_puts(out, "</entry>\n");
}

static void write_entry(struct arena *a, struct buf *out, const struct out_doc *doc,
                        const struct out_entry *e, struct str lang)
{
    const struct value *obj = out_entry_object(a, e);
    struct out_parts v;

    out_parts_read(a, obj, e->ext, e->feed->url, false, &v);
    buf_puts(out, "<entry");
    if (!str_eq(v.lang, lang))
        xml_attr(out, "xml:lang", v.lang);
    buf_str(out, kept_get(v.kept, KEPT_ITSELF, 0));
    buf_puts(out, ">\n");
    xml_element_at(out, "id", out_entry_id(a, e), kept_get(v.kept, KEPT_ID, 0));
    if (str_is_null(v.title.value))
        v.title.value = parts_title(a, &v);
    if (!str_is_null(v.lang))
        lang = v.lang;
    atom_text(a, out, "title", v.title, lang, kept_get(v.kept, KEPT_TITLE, 0));
    out_time_write(out, "updated", out_entry_updated(e), e->at_us,
                   kept_get(v.kept, KEPT_UPDATED, 0));
    if (e->published_at != TIME_UNKNOWN)
        write_date(out, "published", e->published_at, kept_get(v.kept, KEPT_PUBLISHED, 0));
    write_persons(out, "author", v.authors, v.n_authors, v.kept, KEPT_AUTHOR);
    write_persons(out, "contributor", v.contributors, v.n_contributors, v.kept, KEPT_CONTRIBUTOR);
    write_own_links(out, e);
    write_links(out, &v, names_itself(e));
    write_tags(out, &v);
    write_body(a, out, &v, e->ext, lang);
    atom_text(a, out, "rights", v.rights, lang, kept_get(v.kept, KEPT_RIGHTS, 0));
    if (doc->stream != NULL)
        out_stream_entry_write(out, out_entry_id(a, e), e);
    out_extra_write(out, &v, e->ext, EXT_ATOM_ENTRY);
    write_source(a, out, doc, e, obj);
    buf_puts(out, "</entry>\n");
}

static void write_head(struct arena *a, struct buf *out, const struct out_doc *doc,
                       const struct out_feed *feed, const struct out_parts *v)
{
    struct part_text title = v->title;

    if (!str_is_null(doc->title) || str_is_null(title.value))
        title = (struct part_text){
            .value = !str_is_null(doc->title)
                         ? doc->title
                         : out_feed_name(a, STR_NULL, feed != NULL ? feed->url : doc->self_url),
            .lang = STR_NULL};
    xml_element_at(out, "id",
                   !str_is_null(doc->id) ? doc->id
                   : feed != NULL        ? feed_iri(a, feed)
                                         : feed_entry_iri(a, doc->self_url, STR("")),
                   kept_get(v->kept, KEPT_ID, 0));
    atom_text(a, out, "title", title, v->lang, kept_get(v->kept, KEPT_TITLE, 0));
    out_time_write(out, "updated", doc->updated_at, doc->updated_us,
                   kept_get(v->kept, KEPT_UPDATED, 0));
    if (v->n_authors == 0)
        write_author_name(
            out, out_feed_name(a, part_plain(a, title), feed != NULL ? feed->url : doc->self_url));
    write_persons(out, "author", v->authors, v->n_authors, v->kept, KEPT_AUTHOR);
    write_persons(out, "contributor", v->contributors, v->n_contributors, v->kept,
                  KEPT_CONTRIBUTOR);
    if (!str_is_null(doc->self_url))
        write_link_to(out, STR("self"), STR(MEDIA_ATOM), iri_escape(a, doc->self_url, false));
    for (size_t i = 0; i < doc->n_links; i++)
        write_link_to(out, doc->links[i].rel, doc->links[i].type, doc->links[i].href);
    write_links(out, v, false);
    atom_text(a, out, "subtitle", v->summary, v->lang, kept_get(v->kept, KEPT_SUMMARY, 0));
    atom_text(a, out, "rights", v->rights, v->lang, kept_get(v->kept, KEPT_RIGHTS, 0));
    write_tags(out, v);
    write_generator(out, v);
    xml_element(out, "icon", v->icon);
    xml_element(out, "logo", v->image);
    out_history_write(out, doc);
    if (doc->stream != NULL)
        out_stream_write(out, doc->stream);
    if (feed == NULL)
        return;
    out_ext_write(out, feed->ext, EXT_ATOM_HEAD);
    out_extra_write(out, v, feed->ext, EXT_ATOM_HEAD);
}

void write_atom(struct buf *out, const struct out_doc *doc)
{
    static const struct out_xml_format atom = {
        .begin = "<feed xmlns=\"" NS_ATOM "\"",
        .has_lang = true,
        .head = write_head,
        .entry = write_entry,
        .bare_entry = write_bare_entry,
        .end = "</feed>\n",
    };

    out_document_write(out, doc, &atom);
}

/* Write an entry that stands alone. It gets its source. */
static void write_lone_entry(struct buf *out, const struct out_entry *e,
                             const struct out_stream *stream)
{
    struct out_doc doc = {.merged = true, .title = STR_NULL, .id = STR_NULL, .stream = stream};
    struct buf entry = BUF_INIT(BUF_ANY);
    struct arena a = ARENA_INIT;

    if (e->kind == OUT_EMPTY || e->kind == OUT_METADATA)
        write_bare_entry(&a, &entry, &doc, e, STR_NULL);
    else
        write_entry(&a, &entry, &doc, e, STR_NULL);
    buf_puts(out, "<entry xmlns=\"" NS_ATOM "\"");
    buf_str(out, str_slice(buf_view(&entry), strlen("<entry"), entry.len));
    buf_release(&entry);
    arena_release(&a);
}

void write_atom_entry(struct buf *out, const struct out_entry *e)
{
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    write_lone_entry(out, e, NULL);
}

void feed_write_item(struct buf *out, const struct out_entry *e)
{
    static const struct out_stream stream = {.total = 0};

    write_lone_entry(out, e, &stream);
}
