/* feed/read/json_feed.c - a table of members: how each is called in the object form, and how it is
 * read. Members that the format does not know are taken unchanged; extensions begin with '_'. */
#include "feed/read/json_feed.h"

#include "base/limits.h"
#include "feed/read/json_feed_priv.h"
#include "feed/read/json_mend.h"
#include "feed/text/json.h"
#include "feed/text/names.h"
#include "feed/text/uri.h"

#define MEMBERS_MAX 512 /* of one object, including unknown members */
#define TAGS_MAX 500
#define MENDED_MAX ((size_t)LIMIT_FETCH_BODY * 4)

/* `name` is the rel of the link. */
static void read_link(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str s = json_text_of(v);

    if (s.len > 0)
        (void)json_add_link(r, out, name,
                            strcmp(name, "self") == 0 ? "application/feed+json" : NULL, s);
}

static void read_icon(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct value *image = value_dict(r->a);

    json_member_uri(r, out, name, v);
    json_member_uri(r, image, "href", v);
    if (value_len(image) > 0)
        value_setz(r->a, out, "image", image);
}

static void add_author(struct json_reading *r, struct value *out, const struct value *author)
{
    static const char *const names[][2] = {{"name", "name"}, {"url", "href"}, {"avatar", "avatar"}};
    struct value *person = value_dict(r->a);

    for (size_t i = 0; i < 3; i++) {
        struct str s = value_get_text(author, str_from(names[i][0]));

        if (s.len > 0)
            value_set_text(r->a, person, str_from(names[i][1]), s);
    }
    if (value_len(person) == 0)
        return;
    value_push(r->a, value_list_at(r->a, out, STR("authors")), person);
    if (value_getz(out, "author") == NULL && value_getz(person, "name") != NULL) {
        value_set_textz(r->a, out, "author", value_get_textz(person, "name"));
        value_setz(r->a, out, "author_detail", person);
    }
}

static void read_authors(struct json_reading *r, struct value *out, const char *name UNUSED,
                         struct value *v)
{
    for (size_t i = 0; i < value_len(v) && v->kind == VAL_LIST; i++)
        add_author(r, out, value_at(v, i));
}

/* Version 1 had a single author. When both are given, the list has more information. */
static void read_author(struct json_reading *r, struct value *out, const char *name UNUSED,
                        struct value *v)
{
    if (value_getz(out, "authors") == NULL)
        add_author(r, out, v);
}

static void read_tags(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct value *tags, *tag;

    if (v->kind != VAL_LIST)
        return;
    tags = value_list_at(r->a, out, str_from(name));
    for (size_t i = 0; i < value_len(v) && i < TAGS_MAX; i++) {
        struct str s = json_text_of(value_at(v, i));

        if (s.len == 0)
            continue;
        tag = value_dict(r->a);
        value_set_textz(r->a, tag, "term", s);
        value_setz(r->a, tag, "scheme", value_null(r->a));
        value_setz(r->a, tag, "label", value_null(r->a));
        value_push(r->a, tags, tag);
    }
}

static void read_attachments(struct json_reading *r, struct value *out, const char *name UNUSED,
                             struct value *v)
{
    static const char *const names[][2] = {{"mime_type", "type"},
                                           {"title", "title"},
                                           {"size_in_bytes", "length"},
                                           {"duration_in_seconds", "duration"}};

    for (size_t i = 0; i < value_len(v) && v->kind == VAL_LIST; i++) {
        struct value *from = value_at(v, i), *link;
        struct str href = value_get_textz(from, "url");

        if (href.len == 0)
            continue;
        link = json_add_link(r, out, "enclosure", NULL, href);
        for (size_t k = 0; k < 4; k++) {
            struct value *part = value_get(from, str_from(names[k][0]));

            if (part != NULL)
                json_member_number(r, link, names[k][1], part);
        }
    }
}

static void read_hubs(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    for (size_t i = 0; i < value_len(v) && v->kind == VAL_LIST; i++) {
        struct str href = value_get_textz(value_at(v, i), "url");

        if (href.len > 0)
            (void)json_add_link(r, out, name, NULL, href);
    }
}

/* ---- extensions, as write_jsonfeed.c writes them ---- */

/* Returns the texts of those members of `from` that are in `names`. */
static struct value *texts_of(struct json_reading *r, const struct value *from,
                              const char *const *names)
{
    struct value *o = value_dict(r->a);

    for (; *names != NULL; names++) {
        struct str s = str_trim(value_get_text(from, str_from(*names)));

        if (s.len > 0)
            value_set_text(r->a, o, str_from(*names), s);
    }
    return o;
}

static void read_list(struct json_reading *r, struct value *out, const char *name, struct value *v,
                      const char *const *names, const char *needed)
{
    struct value *list = value_list(r->a);

    for (size_t i = 0; i < value_len(v) && v->kind == VAL_LIST && i < TAGS_MAX; i++) {
        struct value *o = texts_of(r, value_at(v, i), names);

        if (needed == NULL ? value_len(o) > 0 : value_get(o, str_from(needed)) != NULL)
            value_push(r->a, list, o);
    }
    if (value_len(list) > 0)
        value_set(r->a, out, str_from(name), list);
}

static void read_persons(struct json_reading *r, struct value *out, const char *name,
                         struct value *v)
{
    static const char *const names[] = {"name", "email", "href", NULL};

    read_list(r, out, name, v, names, NULL);
}

static void read_categories(struct json_reading *r, struct value *out, const char *name,
                            struct value *v)
{
    static const char *const names[] = {"term", "scheme", "label", NULL};

    read_list(r, out, name, v, names, "term");
    for (size_t i = 0; i < value_len(value_get(out, str_from(name))); i++) {
        struct value *tag = value_at(value_get(out, str_from(name)), i);

        for (size_t k = 1; k < 3; k++)
            if (value_get(tag, str_from(names[k])) == NULL)
                value_set(r->a, tag, str_from(names[k]), value_null(r->a));
    }
}

/* The extension has the links of `url` and `external_url` in full. Replace the short ones, which
 * are the first of the list. */
static bool replace_link(struct value *out, const char *name, struct value *link)
{
    struct value *list = value_get(out, str_from(name));

    for (size_t i = 0; i < value_len(list) && i < 2; i++) {
        const struct value *old = value_at(list, i);

        if (!str_eq(value_get_textz(old, "rel"), value_get_textz(link, "rel")) ||
            !str_eq(value_get_textz(old, "href"), value_get_textz(link, "href")))
            continue;
        list->items[i] = link;
        return true;
    }
    return false;
}

static void read_links(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    static const char *const names[] = {"rel", "type", "hreflang", "href", "title", NULL};

    for (size_t i = 0; i < value_len(v) && v->kind == VAL_LIST && i < TAGS_MAX; i++) {
        struct value *link = texts_of(r, value_at(v, i), names), *length;

        if (value_getz(link, "rel") == NULL || value_getz(link, "href") == NULL)
            continue;
        value_set_textz(
            r->a, link, "href",
            uri_resolve_within(r->a, r->base, value_get_textz(link, "href"), &r->uri_grown));
        length = value_getz(value_at(v, i), "length");
        if (length != NULL)
            json_member_number(r, link, "length", length);
        if (!replace_link(out, name, link))
            value_push(r->a, value_list_at(r->a, out, str_from(name)), link);
    }
}

static void read_elsewhere(struct json_reading *r, struct value *out, const char *name,
                           struct value *v)
{
    struct str src = value_get_textz(v, "src"), type = str_trim(value_get_textz(v, "type"));
    struct value *d;

    if (src.len == 0)
        return;
    d = json_detail(r, "", STR(""));
    value_set_textz(r->a, d, "type", type.len == 0 ? STR("text/plain") : type);
    value_set_textz(r->a, d, "src", uri_resolve_within(r->a, r->base, src, &r->uri_grown));
    value_del(out, str_from(name)); /* it was the title, because JSON Feed requires a content */
    value_push(r->a, value_list_at(r->a, out, str_from(name)), d);
}

static void read_source(struct json_reading *r, struct value *out, const char *name,
                        struct value *v);

static const struct json_member atom_members[] = {
    {"title", "title", json_member_html},
    {"summary", "summary", json_member_html},
    {"rights", "rights", json_member_html},
    {"subtitle", "subtitle", json_member_html},
    {"authors", "authors", read_persons},
    {"contributors", "contributors", read_persons},
    {"links", "links", read_links},
    {"tags", "tags", read_categories},
    {"comments", "comments", json_member_uri},
    {"content", "content", read_elsewhere},
    {"source", "source", read_source},
};

static const struct json_member source_members[] = {
    {"title", "title", json_member_plain},   {"id", "id", json_member_id},
    {"href", "href", json_member_uri},       {"link", "link", json_member_uri},
    {"rights", "rights", json_member_plain}, {"updated", "updated", json_member_date},
    {"authors", "authors", read_persons},    {"tags", "tags", read_tags},
};

static void read_source(struct json_reading *r, struct value *out, const char *name,
                        struct value *v)
{
    struct value *source = value_dict(r->a);

    json_members(r, source, v, source_members, ARRAY_LEN(source_members));
    if (value_len(source) > 0)
        value_set(r->a, out, str_from(name), source);
}

/* Members whose texts the writers take for HTML or for addresses. Only checked values may have
 * these names. */
static bool is_guarded(struct str key)
{
    static const char *const names[] = {"rights",    "subtitle",    "tagline", "info",
                                        "copyright", "description", "summary", "title",
                                        "source",    "generator"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(key, names[i]))
            return true;
    return member_is_shaped(key);
}

/* Take the members of an object `_prefix` as `prefix_name`. Members of `_feedmill` get no
 * prefix. */
static void spread(struct json_reading *r, struct value *out, struct str prefix,
                   const struct value *from)
{
    bool has_prefix = !str_eqz(prefix, "feedmill");

    for (uint32_t i = 0; i < value_len(from) && value_len(out) < MEMBERS_MAX; i++) {
        struct str key = from->members[i].key;
        struct value *v = from->members[i].val;

        if (has_prefix)
            key = str_printf(r->a, "%.*s_%.*s", STR_ARG(prefix), STR_ARG(key));
        if (is_guarded(key) || value_get(out, key) != NULL)
            continue;
        if (str_eqz(key, "created") || str_eqz(key, "expired"))
            json_member_date(r, out, str_z(r->a, key), v);
        else
            value_set(r->a, out, key, v);
    }
}

/* If this is an object `_prefix` whose prefix the document explains, read it and return true. */
static bool read_extension(struct json_reading *r, struct value *out, struct str key,
                           const struct value *v)
{
    struct str prefix = str_slice(key, 1, key.len);

    if (key.len < 2 || key.ptr[0] != '_' || v->kind != VAL_DICT ||
        value_get_text(r->namespaces, prefix).len == 0)
        return false;
    if (str_eqz(prefix, "atom"))
        json_members(r, out, v, atom_members, ARRAY_LEN(atom_members));
    else
        spread(r, out, prefix, v);
    return true;
}

static void read_nothing(struct json_reading *r UNUSED, struct value *out UNUSED,
                         const char *name UNUSED, struct value *v UNUSED)
{
}

/* They are read in this order, so the list of authors comes before the single author. */
static const struct json_member feed_members[] = {
    {"title", "title", json_member_plain},
    {"home_page_url", "link", json_member_page},
    {"feed_url", "self", read_link},
    {"next_url", "next", read_link},
    {"description", "subtitle", json_member_plain},
    {"language", "language", json_member_text},
    {"authors", NULL, read_authors},
    {"author", NULL, read_author},
    {"icon", "logo", read_icon},
    {"favicon", "icon", json_member_uri},
    {"hubs", "hub", read_hubs},
    {"version", NULL, read_nothing},
    {"items", NULL, read_nothing},
    {"_namespaces", NULL, read_nothing},
};

static const struct json_member item_members[] = {
    {"id", "id", json_member_id},
    {"title", "title", json_member_plain},
    {"url", "link", json_member_page},
    {"external_url", "related", read_link},
    {"summary", "summary", json_member_plain},
    {"content_html", "text/html", json_member_content},
    {"content_text", "text/plain", json_member_content},
    {"date_published", "published", json_member_date},
    {"date_modified", "updated", json_member_date},
    {"authors", NULL, read_authors},
    {"author", NULL, read_author},
    {"tags", "tags", read_tags},
    {"language", "language", json_member_text},
    {"image", "image", json_member_uri},
    {"banner_image", "banner_image", json_member_uri},
    {"attachments", NULL, read_attachments},
};

static bool is_known(const struct json_member *table, size_t n, struct str key)
{
    for (size_t i = 0; i < n; i++)
        if (str_eqz(key, table[i].json))
            return true;
    return false;
}

static struct value *read_object(struct json_reading *r, const struct value *from,
                                 const struct json_member *table, size_t n)
{
    struct value *out = value_dict(r->a);

    json_members(r, out, from, table, n);
    for (size_t i = 0; i < value_len(from) && value_len(out) < MEMBERS_MAX; i++) {
        struct str key = from->members[i].key;
        struct value *v = from->members[i].val;

        if (!read_extension(r, out, key, v) && !is_known(table, n, key) && !is_guarded(key) &&
            value_get(out, key) == NULL)
            value_set(r->a, out, key, v);
    }
    return out;
}

/* Repair the JSON and read it again. */
static bool read_mended(struct arena *a, struct str text, struct value **root)
{
    AUTO(buf_release) struct buf mended = BUF_INIT(MENDED_MAX);

    json_mend(&mended, text);
    return buf_ok(&mended) && json_read(a, buf_view(&mended), root, NULL) == RC_OK;
}

void json_feed_read(struct arena *a, struct str text, struct str base, bool raw_html,
                    struct feed_doc *doc)
{
    struct json_reading r = {
        .a = a, .base = str_is_null(base) ? STR("") : base, .raw_html = raw_html};
    struct err err = ERR_INIT;
    struct value *root, *items;
    struct str version;
    size_t n;

    if (json_read(a, text, &root, &err) != RC_OK) {
        doc->bozo = true;
        doc->bozo_why = str_printf(a, "It is %s", err.text);
        if (!read_mended(a, text, &root))
            return;
    }
    version = value_get_textz(root, "version");
    items = value_getz(root, "items");
    r.lang = value_get_textz(root, "language");
    if (activities_read(&r, root, doc))
        return;
    if (str_find(version, STR("jsonfeed.org/version/")) < 0) {
        doc->bozo = true;
        doc->bozo_why = STR("It is JSON, but not a JSON Feed: the version is missing");
        return;
    }
    if (!doc->bozo && (items == NULL || items->kind != VAL_LIST)) {
        doc->bozo = true;
        doc->bozo_why = STR("The items are missing");
    }
    doc->family = FAMILY_JSON;
    doc->version = str_ends(version, STR("/1.1")) ? STR("json11") : STR("json1");
    r.namespaces = value_getz(root, "_namespaces");
    for (uint32_t i = 0; i < value_len(r.namespaces); i++)
        if (r.namespaces->members[i].val->kind == VAL_TEXT)
            value_set(a, doc->namespaces, r.namespaces->members[i].key,
                      r.namespaces->members[i].val);
    doc->feed = read_object(&r, root, feed_members, ARRAY_LEN(feed_members));
    n = items != NULL && items->kind == VAL_LIST ? value_len(items) : 0;
    if (n > LIMIT_FEED_ENTRIES) {
        doc->n_cut = n - LIMIT_FEED_ENTRIES;
        n = LIMIT_FEED_ENTRIES;
    }
    doc->entries = ARENA_ARRAY(a, struct doc_entry, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct value *item = value_at(items, i);

        if (item->kind != VAL_DICT || value_len(item) == 0)
            continue;
        doc->entries[doc->n_entries++] = (struct doc_entry){
            .obj = read_object(&r, item, item_members, ARRAY_LEN(item_members)), .ext = STR("")};
    }
}
