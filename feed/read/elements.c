/* feed/read/elements.c - the elements of the feed formats: RSS 0.9x to 2.0, RSS 1.0, Atom 0.3 and
 * 1.0, CDF. They are in one table, because publishers mix them. */
#include "feed/read/builder.h"

#include "base/clock.h"
#include "base/mem.h"
#include "feed/text/date.h"
#include "feed/text/fragment.h"
#include "feed/text/html.h"
#include "feed/text/uri.h"

#define ENTRY_MEMBERS 20 /* enough for most entries */

/* ---------------------------------------------------------------- generic rows */

void start_text(struct builder *b UNUSED, struct frame *f, const struct attrs *at UNUSED)
{
    builder_push(f, str_from(f->name->element->member), true);
}

void start_raw(struct builder *b UNUSED, struct frame *f, const struct attrs *at UNUSED)
{
    builder_push(f, str_from(f->name->element->member), false);
}

void start_construct(struct builder *b, struct frame *f, const struct attrs *at)
{
    const struct element *el = f->name->element;

    builder_push_content(b, f, str_from(el->member), at, el->type, true);
}

void end_pop(struct builder *b, struct frame *f)
{
    (void)builder_pop(b, f);
    if (f->is_content)
        b->in_content = false;
}

void start_nothing(struct builder *b UNUSED, struct frame *f UNUSED, const struct attrs *at UNUSED)
{
}

/* ---------------------------------------------------------------- roots, heads and entries */

static void start_rss(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    static const struct {
        const char *attr, *version;
    } versions[] = {{"0.90", "rss090"},
                    {"0.91", "rss091u"},
                    {"0.92", "rss092"},
                    {"0.93", "rss093"},
                    {"0.94", "rss094"}};
    struct str v = str_trim(attrs_get(at, "version"));
    struct feed_doc *doc = b->doc;

    if (doc->family != FAMILY_NONE) /* only the first root decides */
        return;
    doc->family = FAMILY_RSS;
    if (str_eqz(doc->version, "rss091n"))
        return;
    doc->version = str_starts(v, STR("2.")) ? STR("rss20") : STR("rss");
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        if (str_eqz(v, versions[i].attr))
            doc->version = str_from(versions[i].version);
}

static void start_rdf(struct builder *b, struct frame *f, const struct attrs *at UNUSED)
{
    f->is_container = true;
    if (b->doc->family == FAMILY_NONE)
        b->doc->family = FAMILY_RDF;
}

static void cdf_attributes(struct builder *b, const struct attrs *at)
{
    struct str modified = attrs_get(at, "lastmod"), href = attrs_get(at, "href");
    struct value *context = builder_context(b), *link;

    if (modified.len > 0) {
        value_set_textz(b->a, context, "updated", str_dup(b->a, modified));
        builder_set_date(b, "updated_parsed", modified);
    }
    if (href.len > 0) {
        link = value_dict(b->a);
        value_set_textz(b->a, link, "rel", STR("alternate"));
        value_set_textz(b->a, link, "type", STR("text/html"));
        value_set_textz(b->a, link, "href", builder_resolve(b, href));
        value_push(b->a, value_list_at(b->a, context, STR("links")), link);
        value_set_textz(b->a, context, "link", value_get_textz(link, "href"));
    }
}

static void start_channel(struct builder *b, struct frame *f, const struct attrs *at)
{
    f->is_container = true;
    b->in_feed = true;
    if (b->doc->family == FAMILY_NONE) {
        b->doc->family = str_eqz(b->doc->version, "rss11") ? FAMILY_RDF : FAMILY_CDF;
        if (b->doc->version.len == 0)
            b->doc->version = STR("cdf");
    }
    cdf_attributes(b, at);
}

static void start_feed(struct builder *b, struct frame *f, const struct attrs *at)
{
    static const struct {
        const char *attr, *version;
    } versions[] = {{"0.1", "atom01"}, {"0.2", "atom02"}, {"0.3", "atom03"}};
    struct str v = attrs_get(at, "version");

    f->is_container = true;
    b->in_feed = true;
    if (b->doc->family != FAMILY_NONE)
        return;
    b->doc->family = FAMILY_ATOM;
    if (b->doc->version.len > 0)
        return;
    b->doc->version = STR("atom");
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        if (str_eqz(v, versions[i].attr))
            b->doc->version = str_from(versions[i].version);
}

/* A document that only says to which URL the feed has moved: <redirect><newLocation>. */
static void start_redirect(struct builder *b, struct frame *f, const struct attrs *at UNUSED)
{
    f->is_container = true;
    b->in_feed = b->in_feed || b->depth == 1;
}

static void end_feed(struct builder *b, struct frame *f UNUSED)
{
    b->in_feed = false;
}

void builder_begin_entry(struct builder *b)
{
    builder_copy_drop(b);
    if (b->in_entry) /* the entry before was not closed */
        builder_finish_entry(b);
    if (b->doc->n_entries == 0)
        b->repeats_summaries = b->has_content;
    b->entry = value_dict_for(b->a, ENTRY_MEMBERS);
    b->in_entry = true;
    b->guid_is_link = false;
    b->has_content = b->has_alternate = b->has_typed_alternate = false;
    b->in_image = b->in_textinput = b->in_source = false;
    b->title_depth = -1;
    b->n_seen = 0;
    b->n_entry_kept = 0;
    buf_reset(&b->entry_ext);
}

/* Returns true when its content element is empty and there is no content elsewhere. */
static bool is_content_empty(const struct value *entry)
{
    const struct value *list = value_getz(entry, "content"), *content = value_at(list, 0);

    return value_len(list) == 0 || (value_len(list) == 1 && value_getz(content, "src") == NULL &&
                                    str_trim(value_get_textz(content, "value")).len == 0);
}

void builder_finish_entry(struct builder *b)
{
    struct feed_doc *doc = b->doc;

    if (!b->in_entry)
        return;
    if (doc->n_entries == LIMIT_FEED_ENTRIES) {
        doc->n_cut++;
    } else {
        b->entries =
            mem_grow(b->entries, &b->entries_cap, doc->n_entries + 1, sizeof b->entries[0]);
        b->entries[doc->n_entries++] = (struct doc_entry){
            .obj = b->entry,
            .ext = b->entry_ext.len == 0 || !buf_ok(&b->entry_ext)
                       ? STR("")
                       : str_dup(b->a, buf_view(&b->entry_ext)),
            .is_metadata = b->has_typed_alternate && !b->has_content,
            .is_cut = b->is_over,
            .is_blank = b->has_content && !b->has_alternate && is_content_empty(b->entry),
        };
    }
    b->in_entry = false;
    b->in_source = false;
    b->entry = NULL;
    b->has_content = false;
}

static void start_item(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct str id = attrs_get(at, "rdf:about");

    builder_begin_entry(b);
    f->is_container = true;
    if (id.len > 0)
        value_set_textz(b->a, b->entry, "id", str_dup(b->a, id));
    cdf_attributes(b, at);
}

static void end_item(struct builder *b, struct frame *f UNUSED)
{
    builder_finish_entry(b);
}

static void start_image(struct builder *b, struct frame *f UNUSED, const struct attrs *at UNUSED)
{
    struct value *context = builder_context(b);

    if (!b->in_entry && value_getz(context, "image") == NULL)
        value_setz(b->a, context, "image", value_dict(b->a));
    b->in_image = true;
    b->title_depth = -1;
}

static void end_image(struct builder *b, struct frame *f UNUSED)
{
    b->in_image = false;
}

static void start_textinput(struct builder *b, struct frame *f UNUSED,
                            const struct attrs *at UNUSED)
{
    struct value *context = builder_context(b);

    if (!b->in_entry && value_getz(context, "textinput") == NULL)
        value_setz(b->a, context, "textinput", value_dict(b->a));
    b->in_textinput = true;
    b->title_depth = -1;
}

static void end_textinput(struct builder *b, struct frame *f UNUSED)
{
    b->in_textinput = false;
}

static void start_source(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct str url = attrs_get(at, "url");

    b->source = value_dict(b->a);
    if (url.len > 0)
        value_set_textz(b->a, b->source, "href", builder_resolve(b, url));
    builder_push(f, STR("source"), false);
    b->in_source = true;
    b->title_depth = -1;
}

static void end_source(struct builder *b, struct frame *f)
{
    struct str text = builder_pop(b, f);

    if (!b->in_source)
        return;
    b->in_source = false;
    if (text.len > 0)
        value_set_textz(b->a, b->source, "title", text);
    value_setz(b->a, builder_context(b), "source", b->source);
}

/* ---------------------------------------------------------------- persons */

void start_author(struct builder *b, struct frame *f, const struct attrs *at UNUSED)
{
    b->in_author = b->is_new_author = true;
    builder_push(f, STR("author"), true);
    value_push(b->a, value_list_at(b->a, builder_context(b), STR("authors")), value_dict(b->a));
}

void end_author(struct builder *b, struct frame *f)
{
    (void)builder_pop(b, f);
    b->in_author = false;
    builder_sync_person(b, "author");
}

void start_contributor(struct builder *b, struct frame *f, const struct attrs *at UNUSED)
{
    b->in_contributor = true;
    value_push(b->a, value_list_at(b->a, builder_context(b), STR("contributors")),
               value_dict(b->a));
    builder_push(f, STR("contributor"), false);
}

static void end_contributor(struct builder *b, struct frame *f UNUSED)
{
    b->in_contributor = false;
    builder_merge_person(b, STR("contributors"));
}

void end_name(struct builder *b, struct frame *f)
{
    struct str v = builder_pop(b, f);

    if (b->in_publisher || b->in_author || b->in_contributor)
        builder_person_part(b, STR("name"), v);
    else if (b->in_textinput)
        value_set_textz(b->a, builder_context(b), "name", v);
}

void end_email(struct builder *b, struct frame *f)
{
    builder_person_part(b, STR("email"), builder_pop(b, f));
}

static void end_url(struct builder *b, struct frame *f)
{
    struct str v = builder_pop(b, f);

    if (b->in_author || b->in_contributor)
        builder_person_part(b, STR("href"), v);
}

void start_publisher(struct builder *b UNUSED, struct frame *f, const struct attrs *at UNUSED)
{
    builder_push(f, STR("publisher"), true);
}

void end_publisher(struct builder *b, struct frame *f)
{
    (void)builder_pop(b, f);
    builder_sync_person(b, "publisher");
}

/* ---------------------------------------------------------------- texts */

void start_title(struct builder *b, struct frame *f, const struct attrs *at)
{
    builder_push_content(b, f, STR("title"), at, "text/plain",
                         b->in_feed || b->in_entry || b->in_source || b->in_image ||
                             b->in_textinput);
}

void end_title(struct builder *b, struct frame *f)
{
    struct str v = builder_pop(b, f);

    b->in_content = false;
    if (v.len > 0 && (b->title_depth < 0 || (ssize_t)b->depth < b->title_depth))
        b->title_depth = (ssize_t)b->depth;
}

void start_content(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct str src = attrs_get(at, "src");
    const char *type = f->name->element->type;

    b->has_content = true;
    builder_push_content(b, f, STR("content"), at, type == NULL ? "text/plain" : type, true);
    if (src.len > 0)
        b->content.src = builder_resolve(b, src);
}

/* XML that is not HTML is not meant for people. The content's value becomes the text between the
 * elements; the whole XML is kept in another member. */
static void set_xml_aside(struct builder *b, struct value *content)
{
    struct str xml = value_get_textz(content, "value");
    struct buf text = BUF_INIT(BUF_ANY);
    size_t depth = 0;

    for (size_t i = 0; i < xml.len;) {
        size_t n = xml.ptr[i] == '<' ? fragment_tag_len(str_slice(xml, i, xml.len)) : 0;

        if (n > 2) {
            if (xml.ptr[i + 1] == '/')
                depth -= depth > 0;
            else if (xml.ptr[i + n - 2] != '/')
                depth++;
        } else if (depth == 0) {
            buf_putc(&text, xml.ptr[i]);
        }
        i += n > 2 ? n : 1;
    }
    if (b->content.n_top > 0)
        value_setz(b->a, content, "xml", value_text(b->a, xml));
    value_set_textz(b->a, content, "value",
                    html_decode(b->a, str_dup(b->a, str_trim(buf_view(&text)))));
    buf_release(&text);
}

/* Do what the Universal Feed Parser does with content apart from its text. */
static void finish_content(struct builder *b, const struct frame *f)
{
    struct value *list = value_getz(builder_context(b), "content");
    struct value *last = value_at(list, value_len(list) - 1), *rest;
    struct str type = b->content.type;

    if (last == NULL || last->kind != VAL_DICT || !str_eqz(f->name->tag, "content"))
        return;
    if (builder_is_xml_content(b, f))
        set_xml_aside(b, last);
    if (b->content.has_body) { /* the body ended the content; an empty content follows it */
        rest = value_dict_for(b->a, 2);
        value_set_textz(b->a, rest, "type", type);
        value_set_textz(b->a, rest, "value", STR(""));
        value_push(b->a, list, rest);
    }
}

void end_content(struct builder *b, struct frame *f)
{
    struct value *context = builder_context(b);
    struct str type = b->content.type, v;
    bool is_text = str_eqz(type, "text/plain") || str_eqz(type, "text/html") ||
                   str_eqz(type, "application/xhtml+xml");

    v = builder_pop(b, f);
    finish_content(b, f);
    b->in_content = false;
    if (is_text && value_getz(context, "summary") == NULL)
        value_set_textz(b->a, context, "summary", v);
}

/* Publishers whose head has a content, or a summary and a description, write every text twice. In
 * such a feed the second summary of an entry is not its content. The longer one becomes the
 * summary. The other one is added to `summaries`, if it is different. */
static void unite_summaries(struct builder *b)
{
    struct value *list = value_getz(b->entry, "content"), *second = value_at(list, 0), *first;
    struct str summary = value_get_textz(b->entry, "summary");
    struct str value = value_get_textz(second, "value");
    bool is_same;

    if (value_len(list) != 1 || second->kind != VAL_DICT)
        return;
    is_same = str_eq(html_to_text(b->a, summary), html_to_text(b->a, value));
    first = value_getz(b->entry, "summary_detail");
    if (value.len > summary.len) {
        value_set_textz(b->a, b->entry, "summary", value);
        value_setz(b->a, b->entry, "summary_detail", second);
        second = first;
    }
    if (!is_same && second != NULL)
        value_push(b->a, value_list_at(b->a, b->entry, STR("summaries")), second);
    (void)value_del(b->entry, STR("content"));
}

/* When an entry has no content yet, its second summary is its content. */
static bool is_second_summary(struct builder *b)
{
    return value_getz(builder_context(b), "summary") != NULL && !b->has_content;
}

void start_summary(struct builder *b, struct frame *f, const struct attrs *at)
{
    b->summary_is_content = is_second_summary(b);
    if (b->summary_is_content) {
        b->has_content = true;
        builder_push_content(b, f, STR("content"), at, "text/plain", true);
        return;
    }
    builder_push_content(b, f, STR("summary"), at, "text/plain", true);
}

void start_description(struct builder *b, struct frame *f, const struct attrs *at)
{
    const char *type = f->name->element->type;

    b->summary_is_content = is_second_summary(b);
    if (b->summary_is_content) {
        b->has_content = true;
        builder_push_content(b, f, STR("content"), at, "text/plain", true);
        return;
    }
    builder_push_content(b, f, STR("description"), at, type == NULL ? "text/html" : type,
                         b->in_feed || b->in_entry || b->in_source || b->in_image ||
                             b->in_textinput);
}

void end_summary(struct builder *b, struct frame *f)
{
    if (b->summary_is_content) {
        b->summary_is_content = false;
        end_content(b, f);
        if (b->repeats_summaries && b->in_entry && !b->in_source)
            unite_summaries(b);
        return;
    }
    end_pop(b, f);
}

/* ---------------------------------------------------------------- dates */

void end_date(struct builder *b, struct frame *f)
{
    const char *parsed = f->name->element->type;
    struct str v = builder_pop(b, f);

    builder_set_date(b, parsed, v);
}

/* ---------------------------------------------------------------- links, ids, categories */

static void start_link(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct value *context = builder_context(b), *link = attrs_dict_href(b, at);
    struct str rel = value_get_textz(link, "rel"), href = value_get_textz(link, "href"), type;

    if (str_is_null(rel)) {
        rel = STR("alternate");
        value_set_textz(b->a, link, "rel", rel);
    }
    if (b->in_entry && !b->in_source && str_eqz(rel, "alternate")) {
        b->has_alternate = true;
        b->has_typed_alternate |= value_getz(link, "type") != NULL;
    }
    if (value_getz(link, "type") == NULL)
        value_set_textz(b->a, link, "type",
                        str_eqz(rel, "self") ? STR("application/atom+xml") : STR("text/html"));
    if (!(b->in_entry && b->in_image))
        value_push(b->a, value_list_at(b->a, context, STR("links")), link);
    if (str_is_null(href)) {
        builder_push(f, STR("link"), true);
        return;
    }
    type = value_get_textz(link, "type");
    if (str_eqz(rel, "alternate") &&
        (str_eqz(type, "text/html") || str_eqz(type, "application/xhtml+xml") ||
         str_eqz(type, "html") || str_eqz(type, "xhtml")))
        value_set_textz(b->a, context, "link", href);
}

static void start_guid(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct str v = attrs_get(at, "ispermalink");

    b->guid_is_link = str_is_null(v) || str_eqz(v, "true");
    b->id_amps = b->n_id_amps = 0;
    builder_push(f, STR("id"), true);
}

/* Keep `id` also as it was written, with "&amp;". It is used as the id if the document turns out
 * not to be well-formed. */
static void keep_written(struct builder *b, struct value *context, struct str id)
{
    struct buf written = BUF_INIT(BUF_ANY);
    struct written_id *w;

    if (b->id_amps == 0 || !str_eq(value_get_textz(context, "id"), id))
        return;
    for (size_t i = 0, n = 0; i < id.len; i++) {
        buf_putc(&written, id.ptr[i]);
        if (id.ptr[i] == '&' && n < 64 && (b->id_amps >> n++ & 1) != 0)
            buf_puts(&written, "amp;");
    }
    w = ARENA_NEW(b->a, struct written_id);
    *w = (struct written_id){context, str_dup(b->a, buf_view(&written)), b->written_ids};
    b->written_ids = w;
    buf_release(&written);
}

static void end_guid(struct builder *b, struct frame *f)
{
    struct value *context = builder_context(b);
    struct str v = builder_pop(b, f);
    bool has_link = value_getz(context, "link") != NULL;

    keep_written(b, context, v);
    if (value_getz(context, "guidislink") == NULL)
        value_setz(b->a, context, "guidislink", value_bool(b->a, b->guid_is_link && !has_link));
    if (b->guid_is_link && !has_link)
        value_set_textz(b->a, context, "link", uri_mend_references(b->a, v));
}

void start_category(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct str scheme = attrs_get(at, "scheme");

    if (str_is_null(scheme))
        scheme = attrs_get(at, "domain");
    if (str_is_null(scheme) && f->name->element->type != NULL)
        scheme = str_from(f->name->element->type);
    builder_add_tag(b, attrs_get(at, "term"), scheme, attrs_get(at, "label"));
    builder_push(f, STR("category"), true);
}

void end_category(struct builder *b, struct frame *f)
{
    struct str v = builder_pop(b, f);
    struct value *tags = value_getz(builder_context(b), "tags"), *last;

    if (v.len == 0)
        return;
    last = value_at(tags, value_len(tags) - 1);
    if (last != NULL && value_get_textz(last, "term").len == 0)
        value_set_textz(b->a, last, "term", v);
    else
        builder_add_tag(b, v, STR_NULL, STR_NULL);
}

void end_tag_list(struct builder *b, struct frame *f)
{
    struct str rest = builder_pop(b, f), term;

    while (!str_is_null(rest)) {
        term = str_trim(str_split(&rest, ','));
        if (term.len > 0)
            builder_add_tag(b, term, str_from(f->name->element->type), STR_NULL);
    }
}

static void start_enclosure(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    struct value *link = attrs_dict_href(b, at);

    value_set_textz(b->a, link, "rel", STR("enclosure"));
    value_push(b->a, value_list_at(b->a, builder_context(b), STR("links")), link);
}

static void start_cloud(struct builder *b, struct frame *f UNUSED, const struct attrs *at)
{
    value_setz(b->a, builder_context(b), "cloud", attrs_dict(b, at));
}

static void start_generator(struct builder *b, struct frame *f, const struct attrs *at)
{
    value_setz(b->a, builder_context(b), "generator_detail", attrs_dict_href(b, at));
    builder_push(f, STR("generator"), true);
}

static void end_generator(struct builder *b, struct frame *f)
{
    struct str v = builder_pop(b, f);
    struct value *detail = value_getz(builder_context(b), "generator_detail");

    if (detail != NULL && detail->kind == VAL_DICT)
        value_set_textz(b->a, detail, "name", v);
}

/* ---------------------------------------------------------------- images and the like */

static void end_size(struct builder *b, struct frame *f)
{
    int64_t n = 0;

    if (!str_to_i64(builder_pop(b, f), &n))
        n = 0;
    if (b->in_image)
        value_set(b->a, builder_context(b), str_from(f->name->element->member), value_int(b->a, n));
}

/* ---------------------------------------------------------------- hints to those who poll */

#define TTL_MAX (60 * 24 * 366) /* minutes */

static void end_ttl(struct builder *b, struct frame *f)
{
    struct str text = builder_pop(b, f);
    int64_t minutes;

    /* a number of any length is a long time */
    if (str_to_i64(str_slice(text, 0, 15), &minutes) && minutes > 0 && !b->in_entry)
        b->doc->hints.ttl_s = 60 * (minutes < TTL_MAX ? minutes : TTL_MAX);
}

static void end_hour(struct builder *b, struct frame *f)
{
    int64_t h;

    if (str_to_i64(builder_pop(b, f), &h) && h >= 0 && h <= 24)
        b->doc->hints.skip_hours |= (uint32_t)1 << (h % 24); /* RSS 0.91 writes midnight as 24 */
}

static void end_day(struct builder *b, struct frame *f)
{
    static const char days[] = "montuewedthufrisatsun";
    struct str v = builder_pop(b, f);

    for (int d = 0; d < 7; d++)
        if (str_istarts(v, str_of(days + 3 * d, 3)))
            b->doc->hints.skip_days |= (uint8_t)(1 << d);
}

/* ---------------------------------------------------------------- the table */

static const struct element rows[] = {
    {"item", start_item, end_item, NULL, NULL, 0},
    {"entry", start_item, end_item, NULL, NULL, 0},
    {"title", start_title, end_title, NULL, NULL, EL_KEEPS_AREA},
    {"link", start_link, end_pop, NULL, NULL, EL_KEEPS_AREA},
    {"description", start_description, end_summary, NULL, NULL, EL_KEEPS_AREA},
    {"pubdate", start_text, end_date, "published", "published_parsed", 0},
    {"guid", start_guid, end_guid, NULL, NULL, 0},
    {"category", start_category, end_category, NULL, NULL, 0},
    {"content", start_content, end_content, NULL, NULL, 0},
    {"summary", start_summary, end_summary, NULL, NULL, 0},
    {"id", start_guid, end_guid, NULL, NULL, 0},
    {"updated", start_text, end_date, "updated", "updated_parsed", 0},
    {"published", start_text, end_date, "published", "published_parsed", 0},
    {"author", start_author, end_author, NULL, NULL, 0},
    {"name", start_raw, end_name, "name", NULL, EL_KEEPS_AREA},
    {"email", start_raw, end_email, "email", NULL, 0},
    {"enclosure", start_enclosure, NULL, NULL, NULL, 0},
    {"comments", start_text, end_pop, "comments", NULL, 0},
    {"source", start_source, end_source, NULL, NULL, 0},
    {"abstract", start_description, end_summary, NULL, "text/plain", 0},
    {"body", start_content, end_content, NULL, "application/xhtml+xml", 0},
    {"channel", start_channel, end_feed, NULL, NULL, 0},
    {"cloud", start_cloud, NULL, NULL, NULL, 0},
    {"contributor", start_contributor, end_contributor, NULL, NULL, 0},
    {"copyright", start_construct, end_pop, "rights", "text/plain", 0},
    {"created", start_text, end_date, "created", "created_parsed", 0},
    {"day", start_raw, end_day, "day", NULL, 0},
    {"expirationdate", start_text, end_date, "expired", "expired_parsed", EL_UNWRITTEN},
    {"feed", start_feed, end_feed, NULL, NULL, 0},
    {"fullitem", start_content, end_content, NULL, "text/html", 0},
    {"generator", start_generator, end_generator, NULL, NULL, 0},
    {"height", start_raw, end_size, "height", NULL, EL_KEEPS_AREA | EL_UNWRITTEN},
    {"homepage", start_text, end_url, "href", NULL, 0},
    {"hour", start_raw, end_hour, "hour", NULL, 0},
    {"icon", start_text, end_pop, "icon", NULL, EL_UNWRITTEN},
    {"image", start_image, end_image, NULL, NULL, EL_KEEPS_AREA | EL_UNWRITTEN},
    {"info", start_construct, end_pop, "info", "text/plain", EL_UNWRITTEN},
    {"issued", start_text, end_date, "published", "published_parsed", 0},
    {"items", start_nothing, NULL, NULL, NULL, 0},
    {"keywords", start_category, end_category, NULL, NULL, 0},
    {"language", start_text, end_pop, "language", NULL, 0},
    {"lastbuilddate", start_text, end_date, "updated", "updated_parsed", 0},
    {"logo", start_text, end_pop, "logo", NULL, EL_UNWRITTEN},
    {"managingeditor", start_author, end_author, NULL, NULL, 0},
    {"modified", start_text, end_date, "updated", "updated_parsed", 0},
    {"rdf:rdf", start_rdf, NULL, NULL, NULL, EL_MAPPED},
    {"rdf:li", start_nothing, NULL, NULL, NULL, EL_MAPPED},
    {"rdf:seq", start_nothing, NULL, NULL, NULL, EL_MAPPED},
    {"rdf:bag", start_nothing, NULL, NULL, NULL, EL_MAPPED},
    {"redirect", start_redirect, end_feed, NULL, NULL, 0},
    {"rights", start_construct, end_pop, "rights", "text/plain", 0},
    {"rss", start_rss, NULL, NULL, NULL, 0},
    {"skipdays", start_nothing, NULL, NULL, NULL, 0},
    {"skiphours", start_nothing, NULL, NULL, NULL, 0},
    {"subtitle", start_construct, end_pop, "subtitle", "text/plain", 0},
    {"tags", start_raw, end_tag_list, "tags", NULL, 0},
    {"tagline", start_construct, end_pop, "subtitle", "text/plain", 0},
    {"textinput", start_textinput, end_textinput, NULL, NULL, EL_KEEPS_AREA | EL_UNWRITTEN},
    {"ttl", start_text, end_ttl, "ttl", NULL, 0},
    {"uri", start_text, end_url, "href", NULL, 0},
    {"url", start_text, end_url, "href", NULL, EL_KEEPS_AREA},
    {"webmaster", start_publisher, end_publisher, NULL, NULL, 0},
    {"width", start_raw, end_size, "width", NULL, EL_KEEPS_AREA | EL_UNWRITTEN},
};

const struct element_table elements_core = {rows, ARRAY_LEN(rows)};
