/* feed/write/write_jsonfeed.c - JSON Feed 1.1 (jsonfeed.org). */
#include "base/compiler.h"
#include "feed/text/html.h"
#include "feed/text/iri.h"
#include "feed/text/json.h"
#include "feed/text/names.h"
#include "feed/write/showing.h"
#include "feed/write/writer_priv.h"

#define NAMESPACES_MAX 1024 /* at most, of one document */

static void put_text(struct arena *a, struct value *dict, const char *key, struct str text)
{
    if (!str_is_null(text))
        value_set_text(a, dict, str_from(key), text);
}

static void put_url(struct arena *a, struct value *dict, const char *key, struct str href)
{
    if (iri_is_http(href))
        put_text(a, dict, key, iri_escape(a, href, true));
}

static void put_date(struct arena *a, struct value *dict, const char *key, int64_t at)
{
    char text[CLOCK_TEXT];

    clock_rfc3339(at, text);
    put_text(a, dict, key, str_dup(a, str_from(text)));
}

static void put_authors(struct arena *a, struct value *dict, const struct out_parts *v)
{
    if (v->n_authors == 0)
        return;
    for (size_t i = 0; i < v->n_authors; i++) {
        const struct part_person *p = &v->authors[i];
        struct value *author = value_dict(a);
        put_text(a, author, "name", p->name);
        if (!str_is_null(p->uri))
            put_text(a, author, "url", iri_escape(a, p->uri, true));
        else if (!str_is_null(p->email))
            put_text(a, author, "url", str_concat(a, STR("mailto:"), p->email));
        value_push(a, value_list_at(a, dict, STR("authors")), author);
    }
}

static void put_attachments(struct arena *a, struct value *dict, const struct out_parts *v)
{
    for (size_t i = 0; i < v->n_links; i++) {
        const struct part_link *l = &v->links[i];
        struct value *at;
        if (!str_eqz(l->rel, "enclosure"))
            continue;
        at = value_dict(a);
        put_text(a, at, "url", iri_escape(a, l->href, true));
        put_text(a, at, "mime_type",
                 str_is_null(l->type) ? STR("application/octet-stream") : l->type);
        put_text(a, at, "title", l->title);
        if (l->length > 0)
            value_setz(a, at, "size_in_bytes", value_int(a, l->length));
        value_push(a, value_list_at(a, dict, STR("attachments")), at);
    }
}

/* external_url is a page of another site that the entry is about. */
static void put_external(struct arena *a, struct value *dict, const struct out_parts *v)
{
    for (size_t i = 0; i < v->n_links; i++) {
        if (!str_eqz(v->links[i].rel, "related"))
            continue;
        put_url(a, dict, "external_url", v->links[i].href);
        return;
    }
}

/* Write either content_html or content_text. A summary is written only together with a content. */
static void put_body(struct arena *a, struct value *dict, const struct out_parts *v)
{
    const struct part_text *body = &v->content;

    if (str_is_null(body->value))
        body = &v->summary;
    if (str_is_null(body->value))
        put_text(a, dict, "content_text", parts_title(a, v));
    else
        put_text(a, dict, body->html ? "content_html" : "content_text", body->value);
    if (body == &v->content)
        put_text(a, dict, "summary", part_plain(a, v->summary));
}

/* ---------------------------------------------------------------- extensions (JF-10)
 *
 * An object `_prefix` has the members that XML feeds have as elements of that prefix, in the object
 * form without the prefix: `itunes_duration` is `_itunes`.`duration`. `_namespaces` of the feed
 * says what the prefixes mean. Two of them are ours: `_atom` has what Atom can say and JSON Feed
 * cannot, with texts as HTML; `_feedmill` has elements without a namespace. json_feed.c reads all
 * of this.
 */

static struct value *object_at(struct arena *a, struct value *dict, const char *key)
{
    struct value *o = value_get(dict, str_from(key));

    if (o == NULL) {
        o = value_dict(a);
        value_set(a, dict, str_from(key), o);
    }
    return o;
}

static struct value *person_of(struct arena *a, const struct part_person *p)
{
    struct value *o = value_dict(a);

    put_text(a, o, "name", p->name);
    put_text(a, o, "email", p->email);
    put_text(a, o, "href", p->uri);
    return o;
}

static void put_persons(struct arena *a, struct value *dict, const char *key,
                        const struct part_person *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        value_push(a, value_list_at(a, dict, str_from(key)), person_of(a, &list[i]));
}

/* Returns true when the link has only a relation and a URL. */
static bool is_bare(const struct part_link *l)
{
    return str_is_null(l->title) && str_is_null(l->hreflang) && l->length < 0 &&
           (str_is_null(l->type) || str_eqz(l->type, "text/html"));
}

static void put_links(struct arena *a, struct value *item, const struct out_parts *v)
{
    bool related = false;

    for (size_t i = 0; i < v->n_links; i++) {
        const struct part_link *l = &v->links[i];
        struct value *o;
        bool first = !related && str_eqz(l->rel, "related");
        related = related || first;
        if (str_eqz(l->rel, "enclosure") || (first && iri_is_http(l->href) && is_bare(l)) ||
            (str_eqz(l->rel, "replies") && str_eq(l->href, v->comments)) ||
            (str_eqz(l->rel, "alternate") && str_eq(l->href, v->link) && iri_is_http(l->href) &&
             is_bare(l)))
            continue; /* JSON Feed has a member for it */
        o = value_dict(a);
        put_text(a, o, "rel", l->rel);
        put_text(a, o, "href", l->href);
        put_text(a, o, "type", l->type);
        put_text(a, o, "hreflang", l->hreflang);
        put_text(a, o, "title", l->title);
        if (l->length >= 0)
            value_setz(a, o, "length", value_int(a, l->length));
        value_push(a, value_list_at(a, object_at(a, item, "_atom"), STR("links")), o);
    }
}

static void put_categories(struct arena *a, struct value *item, const struct out_parts *v)
{
    bool any = false;

    for (size_t i = 0; i < v->n_tags; i++)
        any = any || !str_is_null(v->tags[i].domain) || !str_is_null(v->tags[i].label);
    for (size_t i = 0; any && i < v->n_tags; i++) {
        struct value *o = value_dict(a);
        put_text(a, o, "term", v->tags[i].term);
        put_text(a, o, "scheme", v->tags[i].domain);
        put_text(a, o, "label", v->tags[i].label);
        value_push(a, value_list_at(a, object_at(a, item, "_atom"), STR("tags")), o);
    }
}

/* Write a text as HTML when JSON Feed gets only its words. */
static void put_html(struct arena *a, struct value *item, const char *key, struct part_text t,
                     bool always)
{
    if (!str_is_null(t.value) && (always || t.html))
        put_text(a, object_at(a, item, "_atom"), key, part_html(a, t));
}

static struct str source_id(const struct value *source)
{
    struct str id = str_trim(value_get_textz(source, "id"));

    return id.len == 0 ? STR_NULL : id;
}

static void put_source(struct arena *a, struct value *item, const struct value *obj,
                       const struct out_entry *e)
{
    struct out_feed own;
    struct out_parts v;
    struct value *o;

    if (!out_source_read(a, obj, e->feed->url, &own, &v))
        return;
    o = value_dict(a);
    put_text(a, o, "title", part_plain(a, v.title));
    put_text(a, o, "id", source_id(own.obj));
    put_text(a, o, "href", own.url);
    put_text(a, o, "link", v.link);
    put_text(a, o, "rights", part_plain(a, v.rights));
    if (own.updated_at != TIME_UNKNOWN)
        put_date(a, o, "updated", own.updated_at);
    put_persons(a, o, "authors", v.authors, v.n_authors);
    for (size_t i = 0; i < v.n_tags; i++)
        value_push(a, value_list_at(a, o, STR("tags")), value_text(a, v.tags[i].term));
    value_setz(a, object_at(a, item, "_atom"), "source", o);
}

static void put_atom(struct arena *a, struct value *item, const struct value *obj,
                     const struct out_entry *e, const struct out_parts *v)
{
    struct value *o;
    bool email = false;

    put_html(a, item, "title", v->title, false);
    if (value_getz(item, "summary") != NULL)
        put_html(a, item, "summary", v->summary, false);
    put_html(a, item, "rights", v->rights, true);
    put_html(a, item, "subtitle", v->subtitle, true);
    for (size_t i = 0; i < v->n_authors; i++)
        email = email || !str_is_null(v->authors[i].email);
    if (email)
        put_persons(a, object_at(a, item, "_atom"), "authors", v->authors, v->n_authors);
    if (v->n_contributors > 0)
        put_persons(a, object_at(a, item, "_atom"), "contributors", v->contributors,
                    v->n_contributors);
    put_links(a, item, v);
    put_categories(a, item, v);
    if (!str_is_null(v->comments))
        put_text(a, object_at(a, item, "_atom"), "comments", v->comments);
    if (str_is_null(v->content.value) && !str_is_null(v->content_src)) {
        o = object_at(a, object_at(a, item, "_atom"), "content");
        put_text(a, o, "src", v->content_src);
        put_text(a, o, "type", v->content_type);
    }
    put_source(a, item, obj, e);
}

/* Members that out_parts_read() uses, and members derived from them. */
static bool is_read(struct str key)
{
    static const char *const names[] = {
        "source_id",  "id",      "guidislink", "title",  "link",     "links",
        "enclosures", "summary", "content",    "author", "authors",  "contributors",
        "published",  "updated", "tags",       "source", "comments", "language",
        "image",      "rights",  "subtitle",   "href",   "summaries"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(key, names[i]))
            return true;
    return str_ends(key, STR("_parsed")) || str_ends(key, STR("_detail"));
}

static void put_extensions(struct arena *a, struct value *item, const struct value *obj,
                           const struct value *namespaces)
{
    for (uint32_t i = 0; i < value_len(obj); i++) {
        struct str key = obj->members[i].key, prefix;
        ssize_t at = str_chr(key, '_');
        const char *name = "_feedmill";
        if (is_read(key))
            continue;
        if (at == 0) { /* an extension, which is written unchanged */
            if (obj->members[i].val->kind == VAL_DICT)
                value_set(a, item, key, obj->members[i].val);
            continue;
        }
        prefix = at < 0 ? STR_NULL : str_slice(key, 0, (size_t)at);
        if (at > 0 && (size_t)at + 1 < key.len && !str_eqz(prefix, "atom") &&
            !str_eqz(prefix, "feedmill") && value_get_text(namespaces, prefix).len > 0) {
            name = str_printf(a, "_%.*s", STR_ARG(prefix)).ptr;
            key = str_slice(key, (size_t)at + 1, key.len);
        }
        value_set(a, object_at(a, item, name), key, obj->members[i].val);
    }
}

/* Collect the prefixes of all feeds in the document. If they differ, the last one counts. */
static struct value *namespaces_of(struct arena *a, const struct out_doc *doc)
{
    struct value *all = value_dict(a);

    for (size_t i = 0; i < doc->n_feeds; i++) {
        const struct value *own = value_getz(doc->feeds[i].meta, "namespaces");
        for (uint32_t k = 0; k < value_len(own) && value_len(all) < NAMESPACES_MAX; k++)
            if (own->members[k].key.len > 0 && own->members[k].val->kind == VAL_TEXT)
                value_set(a, all, own->members[k].key, own->members[k].val);
    }
    value_set_textz(a, all, "atom", STR(NS_ATOM));
    value_set_textz(a, all, "feedmill", STR(NS_UNKNOWN));
    return all;
}

static struct value *item_of(struct arena *a, const struct out_doc *doc, const struct out_entry *e,
                             const struct value *namespaces)
{
    struct value *item = value_dict(a), *origin;
    const struct value *obj = out_entry_object(a, e);
    struct out_parts v;

    out_parts_read(a, obj, STR(""), e->feed->url, false, &v);
    put_text(a, item, "id", out_entry_id(a, e)); /* unique in the document */
    put_url(a, item, "url", v.link);
    put_external(a, item, &v);
    put_text(a, item, "title", part_plain(a, v.title));
    put_body(a, item, &v);
    put_url(a, item, "image", v.image);
    put_date(a, item, "date_published",
             e->published_at != TIME_UNKNOWN ? e->published_at : out_entry_updated(e));
    if (e->updated_at != TIME_UNKNOWN)
        put_date(a, item, "date_modified", e->updated_at);
    put_authors(a, item, &v);
    for (size_t i = 0; i < v.n_tags; i++)
        value_push(a, value_list_at(a, item, STR("tags")), value_text(a, v.tags[i].term));
    put_text(a, item, "language", v.lang);
    put_attachments(a, item, &v);
    put_atom(a, item, obj, e, &v);
    put_extensions(a, item, obj, namespaces);
    if (doc->merged) {
        out_parts_read(a, e->feed->obj, STR(""), e->feed->url, true, &v);
        origin = value_dict(a);
        put_text(a, origin, "title", out_feed_name(a, part_plain(a, v.title), e->feed->url));
        put_url(a, origin, "home_page_url", v.link);
        put_url(a, origin, "feed_url", e->feed->url);
        value_setz(a, item, "_source", origin);
    }
    return item;
}

static struct value *head_of(struct arena *a, const struct out_doc *doc,
                             const struct out_feed *feed, struct value *namespaces)
{
    struct value *head = value_dict(a), *hub;
    struct str url = feed != NULL ? feed->url : doc->self_url;
    struct out_parts v;

    out_parts_read(a, feed == NULL ? NULL : feed->obj, STR(""), url, true, &v);
    value_set_textz(a, head, "version", STR("https://jsonfeed.org/version/1.1"));
    put_text(a, head, "title",
             !str_is_null(doc->title) ? doc->title : out_feed_name(a, part_plain(a, v.title), url));
    put_url(a, head, "home_page_url", v.link);
    put_url(a, head, "feed_url", doc->self_url);
    put_text(a, head, "description", part_plain(a, v.summary));
    if (!str_eq(doc->next_url, doc->self_url))
        put_url(a, head, "next_url", doc->next_url);
    put_url(a, head, "icon", v.image);
    put_url(a, head, "favicon", v.icon);
    put_authors(a, head, &v);
    put_text(a, head, "language", v.lang);
    for (size_t i = 0; i < doc->n_links; i++) {
        if (!str_eqz(doc->links[i].rel, "hub"))
            continue;
        hub = value_dict(a);
        value_set_textz(a, hub, "type", STR("WebSub"));
        value_set_textz(a, hub, "url", doc->links[i].href);
        value_push(a, value_list_at(a, head, STR("hubs")), hub);
    }
    value_setz(a, head, "_namespaces", namespaces);
    return head;
}

void write_jsonfeed(struct buf *out, const struct out_doc *doc)
{
    const struct out_feed *feed = doc->merged || doc->n_feeds == 0 ? NULL : &doc->feeds[0];
    struct arena head = ARENA_INIT, ids = ARENA_INIT;
    struct map seen = MAP_INIT;
    struct value *namespaces;
    bool comma = false;

    namespaces = namespaces_of(&head, doc);
    json_write(out, head_of(&head, doc, feed, namespaces));
    if (out->len > 0 && buf_ok(out))
        out->len--; /* the items go inside the closing brace */
    buf_puts(out, ",\"items\":[");
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        struct arena a = ARENA_INIT;
        if (out_entry_is_first(&ids, &seen, doc, &doc->entries[i])) {
            buf_puts(out, comma ? ",\n" : "\n");
            json_write(out, showing_members(&a, item_of(&a, doc, &doc->entries[i], namespaces),
                                            doc->fields, "id|content_html|content_text"));
            comma = true;
        }
        arena_release(&a);
    }
    buf_puts(out, "]}\n");
    map_release(&seen, NULL);
    arena_release(&ids);
    arena_release(&head);
}
