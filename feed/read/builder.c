/* feed/read/builder.c - the open elements (frames), their text, and the namespaces. */
#include "feed/read/builder.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/mem.h"
#include "feed/read/prefilter.h"
#include "feed/text/names.h"
#include "feed/text/sanitize_priv.h"
#include "feed/text/uri.h"

#define TEXT_MAX ((size_t)LIMIT_FETCH_BODY * 4)
#define MEMBERS_MAX 512 /* members that one dict takes from unknown elements */
#define NAMESPACES_MAX 256
#define LANGUAGE_MAX 100 /* it is repeated in every object; real ones are shorter */

/* "en_us" is meant as "en-us". */
static struct str language_tag(struct arena *a, struct str lang)
{
    char *p;

    if (str_chr(lang, '_') < 0)
        return lang;
    p = str_z(a, lang);
    for (size_t i = 0; i < lang.len; i++)
        if (p[i] == '_')
            p[i] = '-';
    return str_of(p, lang.len);
}

/* Set the language of the whole feed. */
static void set_language(struct builder *b, struct str lang)
{
    value_set_textz(b->a, b->doc->feed, "language", language_tag(b->a, lang));
}

void builder_init(struct builder *b, struct arena *a, const struct parse_input *in,
                  struct feed_doc *doc)
{
    struct str location = in->content_location;

    *b = (struct builder){.a = a, .doc = doc, .title_depth = -1};
    b->text = (struct buf)BUF_INIT(TEXT_MAX);
    b->entry_ext = (struct buf)BUF_INIT(LIMIT_ENTRY);
    b->head_ext = (struct buf)BUF_INIT(LIMIT_ENTRY);
    b->tombstone_ext = (struct buf)BUF_INIT(LIMIT_ENTRY);
    /* not cleared: each is set when it is used */
    b->frames = arena_alloc(a, sizeof *b->frames * (LIMIT_XML_DEPTH + 1));
    b->raw_html = in->raw_html;
    b->base = in->url;
    if (location.len > 0)
        location = uri_resolve(a, in->url, location);
    if (uri_is_base(location))
        b->base = location;
    b->base = str_is_null(b->base) ? STR("") : str_dup(a, str_trim(b->base));
    if (in->content_language.len > 0) {
        b->lang = str_dup(a, str_trim(in->content_language));
        set_language(b, b->lang);
    }
}

void builder_release(struct builder *b)
{
    buf_release(&b->text);
    buf_release(&b->entry_ext);
    buf_release(&b->head_ext);
    buf_release(&b->tombstone_ext);
    mem_free(b->entries);
}

/* ---------------------------------------------------------------- attributes */

static bool is_lowered(struct str key)
{
    return str_eqz(key, "rel") || str_eqz(key, "type");
}

struct value *attrs_dict(struct builder *b, const struct attrs *at)
{
    struct value *d = value_dict_for(b->a, (uint32_t)at->n + 2); /* a link gets rel and type */

    for (size_t i = 0; i < at->n; i++) {
        struct str key = at->list[i].name->attr, v = at->list[i].value;

        value_set_text(b->a, d, key, is_lowered(key) ? str_lower(b->a, v) : str_dup(b->a, v));
    }
    return d;
}

struct value *attrs_dict_href(struct builder *b, const struct attrs *at)
{
    struct value *d = attrs_dict(b, at);
    static const char *const names[] = {"url", "uri", "href"};

    for (size_t i = 0; i < 3; i++) {
        struct str href = value_get_text(d, str_from(names[i]));

        if (str_is_null(href) || (href.len == 0 && i < 2))
            continue;
        (void)value_del(d, STR("url"));
        (void)value_del(d, STR("uri"));
        value_set_textz(b->a, d, "href", builder_resolve(b, href));
        break;
    }
    return d;
}

struct str builder_resolve(struct builder *b, struct str ref)
{
    return str_dup(b->a, uri_resolve_within(b->a, b->base, ref, &b->uri_grown));
}

/* ---------------------------------------------------------------- namespaces */

static void track_namespace(struct builder *b, const struct ns_decl *d)
{
    struct feed_doc *doc = b->doc;
    struct str uri = d->uri, prefix = str_lower(b->a, d->prefix);
    const struct ns *ns;

    if (str_eq(uri, b->last_uri) && str_eq(d->prefix, b->last_prefix))
        return; /* for example when the content of every entry declares XHTML */
    b->last_uri = str_dup(b->a, uri);
    b->last_prefix = prefix;
    ns = ns_find(uri);
    if (doc->version.len == 0) {
        if (d->prefix.len == 0 && (str_ieqz(uri, "http://my.netscape.com/rdf/simple/0.9/") ||
                                   str_ieqz(uri, "http://channel.netscape.com/rdf/simple/0.9/")))
            doc->version = STR("rss090");
        else if (str_ieqz(uri, "http://purl.org/rss/1.0/"))
            doc->version = STR("rss10");
        else if (str_ieqz(uri, "http://purl.org/net/rss1.1#"))
            doc->version = STR("rss11");
        else if (str_ieqz(uri, "http://www.w3.org/2005/atom"))
            doc->version = STR("atom10");
    }
    if (ns != NULL)
        prefix = str_from(ns->prefix);
    if (value_len(doc->namespaces) < NAMESPACES_MAX)
        value_set_text(b->a, doc->namespaces, prefix, str_dup(b->a, uri));
}

static bool has_prefixed(const struct attrs *at)
{
    for (size_t i = 0; i < at->n; i++)
        if (at->list[i].name->prefix.len > 0)
            return true;
    return false;
}

/* ---------------------------------------------------------------- markup within content */

static bool ends_with_xml(struct str type)
{
    return str_ends(type, STR("xml"));
}

static void put_attributes(struct builder *b, const struct attrs *at)
{
    for (size_t i = 0; i < at->n; i++) {
        buf_putc(&b->text, ' ');
        buf_str(&b->text, at->list[i].name->attr);
        buf_puts(&b->text, "=\"");
        builder_put_escaped(&b->text, at->list[i].value, true);
        buf_putc(&b->text, '"');
    }
}

static struct str local_of_tag(struct str tag)
{
    ssize_t colon = str_chr(tag, ':');

    return colon < 0 ? tag : str_slice(tag, (size_t)colon + 1, tag.len);
}

static bool is_div(const struct name *n)
{
    return str_eqz(n->tag, "div") || str_eqz(n->tag, "xhtml:div");
}

/* Returns true for an element of content whose XML is kept unchanged, unless it is inside an
 * element that is copied as a whole. */
static bool is_copied_content(const struct builder *b, const struct frame *f)
{
    const struct frame *content = &b->frames[b->content.depth - 1];

    return f[-1].is_xml || (b->depth == b->content.depth + 1 && content->ext == NULL &&
                            builder_is_xml_content(b, content));
}

static void markup_start(struct builder *b, struct frame *f, const struct attrs *at,
                         const struct ns_decl *decls, size_t n_decls)
{
    struct text_construct *c = &b->content;
    struct str local = local_of_tag(f->name->tag);

    f->is_markup = true;
    if (!ends_with_xml(c->type)) {
        if (is_div(f->name)) {
            f->is_void = true; /* some publishers write text/html but wrap it in a div */
            return;
        }
        /* its type says that it is escaped, but it is not */
        c->type = STR("application/xhtml+xml");
    }
    if (!str_eqz(c->type, "application/xhtml+xml") && is_copied_content(b, f)) {
        f->is_xml = true;
        if (b->depth == c->depth + 1) {
            c->n_top++;
            builder_copy_content(b, f, at);
        }
        return;
    }
    if (b->depth == c->depth + 1 && c->n_top++ == 0 && is_div(f->name) &&
        str_trim(str_slice(buf_view(&b->text), b->frames[c->depth - 1].text_at, b->text.len)).len ==
            0)
        c->div_open_end = 1;
    f->is_void = local.len <= 8 && sanitize_listed(SANITIZE_VOID_ELEMENTS, local);
    buf_putc(&b->text, '<');
    buf_str(&b->text, local);
    if ((str_eqz(local, "svg") || str_eqz(local, "math")) && f->name->uri.len > 0) {
        buf_puts(&b->text, " xmlns=\"");
        builder_put_escaped(&b->text, f->name->uri, true);
        buf_putc(&b->text, '"');
    }
    put_attributes(b, at);
    for (size_t i = 0; i < n_decls; i++)
        if (decls[i].prefix.len > 0 && str_ieqz(decls[i].uri, "http://www.w3.org/1999/xlink"))
            buf_puts(&b->text, " xmlns:xlink=\"http://www.w3.org/1999/xlink\"");
    buf_puts(&b->text, f->is_void ? " />" : ">");
    if (c->div_open_end == 1)
        c->div_open_end = b->text.len;
}

static void markup_end(struct builder *b, struct frame *f)
{
    struct text_construct *c = &b->content;
    size_t at = b->text.len;

    if (f->is_void)
        return;
    if (f->is_xml) {
        c->has_body = c->has_body ||
                      (b->depth == c->depth + 1 && str_eqz(local_of_tag(f->name->tag), "body"));
        return;
    }
    c->has_body =
        c->has_body || (b->depth == c->depth + 1 && str_eqz(local_of_tag(f->name->tag), "body"));
    buf_puts(&b->text, "</");
    buf_str(&b->text, local_of_tag(f->name->tag));
    buf_putc(&b->text, '>');
    if (b->depth == c->depth + 1 && c->div_open_end > 0 && c->div_close_end == 0) {
        c->div_close_at = at;
        c->div_close_end = b->text.len;
    }
}

/* ---------------------------------------------------------------- elements */

static void unknown_start(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct value *context = builder_context(b);

    if (value_len(context) >= MEMBERS_MAX || member_is_shaped(f->name->key))
        return;
    builder_push(f, f->name->key, true);
    if (at->n > 0) {
        f->attributes = attrs_dict(b, at);
        value_set(b->a, context, f->name->attrs_key, f->attributes);
    }
}

/* When an unknown element has only attributes, and no text, they become its member. */
static void unknown_end(struct builder *b, struct frame *f)
{
    struct value *context = builder_context(b), *stored;

    (void)builder_pop(b, f);
    stored = f->attributes == NULL ? NULL : value_get(context, f->name->key);
    if (stored != NULL && stored->kind == VAL_TEXT && stored->s.len == 0)
        value_set(b->a, context, f->name->key, f->attributes);
}

void builder_start(struct builder *b, const struct name *name, const struct attrs *at,
                   const struct ns_decl *decls, size_t n_decls)
{
    struct frame *f;
    struct str s;

    ASSERT(b->depth <= LIMIT_XML_DEPTH); /* the prefilter allows one less */
    f = &b->frames[b->depth++];
    *f = (struct frame){.name = name, .text_at = b->text.len, .base = b->base, .lang = b->lang};
    for (size_t i = 0; i < n_decls; i++)
        track_namespace(b, &decls[i]);
    builder_choose_ext(b, f, at);
    if (at->n > 0) {
        s = attrs_get(at, "xml:base");
        if (str_is_null(s))
            s = attrs_get(at, "base");
        if (s.len > 0)
            s = uri_resolve_within(b->a, b->base, s, &b->uri_grown);
        /* a base against which nothing can be resolved is ignored; the next outer one is used */
        if (s.len > 0 && s.len <= LIMIT_BASE && (uri_is_base(s) || !uri_is_absolute(s)))
            b->base = str_dup(b->a, s);
        s = attrs_get(at, "xml:lang");
        if (str_is_null(s))
            s = attrs_get(at, "lang");
        if (!str_is_null(s)) {
            b->lang = s.len == 0 || s.len > LANGUAGE_MAX ? STR_NULL : str_dup(b->a, s);
            if (!str_is_null(b->lang) && b->depth == 1)
                set_language(b, b->lang);
        }
    }
    if (b->in_content) {
        markup_start(b, f, at, decls, n_decls);
        return;
    }
    if (b->depth > 1 && f[-1].is_opaque) {
        f->is_opaque = true;
        return;
    }
    if (name->element == NULL || !(name->element->flags & EL_KEEPS_AREA)) {
        if (!name->is_foreign) {
            b->in_textinput = false; /* some publishers do not close them */
            b->in_image = false;
        }
    }
    if (name->element == NULL) {
        unknown_start(b, f, at);
    } else if (at->n == 0 || !has_prefixed(at)) {
        name->element->start(b, f, at);
    } else {
        size_t n_tags = value_len(value_getz(builder_context(b), "tags"));

        name->element->start(b, f, at);
        builder_keep_attributes(b, f, at, n_tags);
    }
}

bool builder_is_xml_content(const struct builder *b, const struct frame *f)
{
    return str_eqz(f->name->tag, "content") && ends_with_xml(b->content.type) &&
           !str_eqz(b->content.type, "application/xhtml+xml");
}

/* Remember how each '&' of an id was written. */
static void note_amps(struct builder *b, const char *p, size_t len)
{
    const char *end = p + len;

    if (p == prefilter_written_amp && b->n_id_amps < 64)
        b->id_amps |= (uint64_t)1 << b->n_id_amps;
    while (p < end && (p = memchr(p, '&', (size_t)(end - p))) != NULL) {
        b->n_id_amps++;
        p++;
    }
}

void builder_restore_ids(struct builder *b)
{
    for (struct written_id *w = b->written_ids; w != NULL; w = w->next)
        value_set_textz(b->a, w->obj, "id", w->id);
}

void builder_text(struct builder *b, const char *p, size_t len)
{
    struct frame *f;

    if (b->depth == 0)
        return;
    f = &b->frames[b->depth - 1];
    if (p == prefilter_lost_text) {
        f->collects = false;
        return;
    }
    if (f->ext != NULL)
        builder_put_escaped(f->ext, builder_mend_c1(b, str_of(p, len)), false);
    if (f->is_xml)
        return;
    if (f->is_markup) {
        if (str_eqz(b->content.type, "application/xhtml+xml") || ends_with_xml(b->content.type))
            builder_put_escaped(&b->text, str_of(p, len), false);
        else
            buf_append(&b->text, p, len);
    } else if (f->collects) {
        if (f->is_content &&
            (str_eqz(b->content.type, "application/xhtml+xml") || builder_is_xml_content(b, f)))
            builder_put_escaped(&b->text, str_of(p, len), false);
        else
            buf_append(&b->text, p, len);
        if (str_eqz(f->member, "id"))
            note_amps(b, p, len);
    }
}

void builder_end(struct builder *b)
{
    struct frame *f = &b->frames[b->depth - 1];

    if (f->is_markup)
        markup_end(b, f);
    else if (b->depth > 1 && f[-1].is_opaque)
        ; /* part of an element that is copied as a whole */
    else if (f->name->element == NULL)
        unknown_end(b, f);
    else if (f->name->element->end != NULL)
        f->name->element->end(b, f);
    if (f->ext != NULL)
        builder_copy_end(b, f);
    if (!f->is_markup)
        buf_cut(&b->text, f->text_at);
    b->base = f->base;
    b->lang = f->lang;
    b->depth--;
}

void builder_finish(struct builder *b)
{
    while (b->depth > 0) {
        struct frame *f = &b->frames[b->depth - 1];

        if (f->is_container) {
            builder_end(b);
            continue;
        }
        if (f->ext != NULL)
            builder_copy_end(b, f);
        if (f->is_content)
            b->in_content = false;
        b->depth--;
    }
    b->doc->entries =
        (void *)arena_copy(b->a, b->entries, b->doc->n_entries * sizeof b->entries[0]);
}

void builder_push(struct frame *f, struct str member, bool stores)
{
    f->member = member;
    f->collects = true;
    f->stores = stores;
}

struct str builder_raw(const struct builder *b, const struct frame *f)
{
    return str_slice(buf_view(&b->text), f->text_at, b->text.len);
}

struct value *builder_context(struct builder *b)
{
    struct value *v = NULL;

    if (b->in_source)
        return b->source;
    if (b->in_image)
        v = value_getz(b->doc->feed, "image");
    else if (b->in_textinput)
        v = value_getz(b->doc->feed, "textinput");
    if (v != NULL && v->kind == VAL_DICT)
        return v;
    return b->in_entry ? b->entry : b->doc->feed;
}

static const struct element_table *const tables[] = {&elements_core, &elements_ext, &elements_media,
                                                     &elements_geo};

#define ROWS_MAX 1024
#define SLOTS 2048 /* a power of two */

/* All tables as one hash table with open addressing. It is made once, and is the same in every
 * process. */
static const struct element *slots[SLOTS];
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

/* Returns the slot of the row of `tag`, or the free slot where it belongs. */
static size_t find_slot(struct str tag)
{
    uint32_t h = 2166136261u;
    size_t slot;

    for (size_t i = 0; i < tag.len; i++)
        h = (h ^ (unsigned char)tag.ptr[i]) * 16777619u;
    slot = (h ^ h >> 15) % SLOTS;
    while (slots[slot] != NULL && !str_eqz(tag, slots[slot]->tag))
        slot = (slot + 1) % SLOTS;
    return slot;
}

static void make_slots(void)
{
    size_t n_rows = 0;

    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            size_t slot = find_slot(str_from(tables[t]->rows[i].tag));

            ASSERT(++n_rows <= ROWS_MAX);
            if (slots[slot] == NULL) /* the first row of a tag is used */
                slots[slot] = &tables[t]->rows[i];
        }
}

const struct element *element_find(struct str tag)
{
    (void)pthread_once(&slots_once, make_slots);
    return slots[find_slot(tag)];
}
