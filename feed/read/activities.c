/* feed/read/activities.c - reads collections of ActivityStreams 1.0 (JSON), as Smart Feeds have
 * them, into the object form.
 *
 * An item is either an activity whose `object` is the entry, or the entry itself. Members of the
 * object take precedence over those of the activity of posting it. */
#include "base/limits.h"
#include "feed/read/json_feed_priv.h"

#define PARTS_MAX 500 /* tags, or attachments, of one entry */

static const struct value *dict_of(const struct value *from, const char *key)
{
    const struct value *v = value_get(from, str_from(key));

    return v != NULL && v->kind == VAL_DICT ? v : NULL;
}

/* Returns a text, or an integer as text; null: it is neither. */
static struct str text_of(struct arena *a, const struct value *from, const char *key)
{
    const struct value *v = value_get(from, str_from(key));

    if (v != NULL && v->kind == VAL_INT)
        return str_printf(a, "%lld", (long long)v->i);
    return v != NULL && v->kind == VAL_TEXT ? v->s : STR_NULL;
}

/* Take the first member of the table that is given in `object` or `item`. */
static void read_first(struct json_reading *r, struct value *out, const struct value *object,
                       const struct value *item, const struct json_member *table, size_t n)
{
    const struct value *from[] = {object, item};

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < n; i++) {
            struct value *v = value_get(from[k], str_from(table[i].json));

            if (v == NULL || v->kind == VAL_NULL)
                continue;
            table[i].read(r, out, table[i].name, v);
            return;
        }
}

/* ---- parts of an entry ----------------------------------------------------------------------- */

/* Programs and feeds can post, but are not authors. */
static bool is_person(const struct value *who)
{
    struct str type = value_get_textz(who, "objectType");

    return who != NULL && !str_ieqz(type, "service") && !str_ieqz(type, "application");
}

static void read_author(struct json_reading *r, struct value *out, const struct value *who)
{
    static const struct json_member members[] = {
        {"displayName", "name", json_member_text},
        {"url", "href", json_member_uri},
    };
    struct value *person = value_dict(r->a);

    if (!is_person(who))
        return;
    json_members(r, person, who, members, ARRAY_LEN(members));
    if (value_len(person) == 0)
        return;
    value_push(r->a, value_list_at(r->a, out, STR("authors")), person);
    if (value_getz(person, "name") != NULL) {
        value_set_textz(r->a, out, "author", value_get_textz(person, "name"));
        value_setz(r->a, out, "author_detail", person);
    }
}

static void read_tags(struct json_reading *r, struct value *out, const struct value *object)
{
    const struct value *list = value_getz(object, "tags");

    for (size_t i = 0; i < value_len(list) && i < PARTS_MAX; i++) {
        struct str name = str_trim(value_get_textz(value_at(list, i), "displayName"));
        struct str id = value_get_textz(value_at(list, i), "id");
        struct value *tag = value_dict(r->a);

        if (name.len == 0)
            continue;
        value_set_textz(r->a, tag, "term", name);
        value_setz(r->a, tag, "scheme", id.len > 0 ? value_text(r->a, id) : value_null(r->a));
        value_setz(r->a, tag, "label", value_null(r->a));
        value_push(r->a, value_list_at(r->a, out, STR("tags")), tag);
    }
}

static void read_attachments(struct json_reading *r, struct value *out, const struct value *object)
{
    static const struct json_member members[] = {
        {"mimeType", "type", json_member_text},
        {"displayName", "title", json_member_text},
        {"fileSize", "length", json_member_number},
    };
    const struct value *list = value_getz(object, "attachments");

    for (size_t i = 0; i < value_len(list) && i < PARTS_MAX; i++) {
        const struct value *one = value_at(list, i);
        struct str href = value_get_textz(dict_of(one, "stream"), "url");

        if (href.len == 0)
            href = value_get_textz(one, "url");
        if (href.len > 0)
            json_members(r, json_add_link(r, out, "enclosure", NULL, href), one, members,
                         ARRAY_LEN(members));
    }
}

/* A content that is the same as the summary is dropped. */
static void read_texts(struct json_reading *r, struct value *out, const struct value *object,
                       const struct value *item)
{
    static const struct json_member summary[] = {{"summary", "summary", json_member_html}};
    static const struct json_member content[] = {{"content", "text/html", json_member_content}};
    struct str text = value_get_textz(object, "content"),
               brief = value_get_textz(object, "summary");

    read_first(r, out, object, NULL, summary, ARRAY_LEN(summary));
    if (text.len == 0 || !str_eq(text, brief))
        read_first(r, out, object, item, content, ARRAY_LEN(content));
}

static void read_dates(struct json_reading *r, struct value *out, const struct value *object,
                       const struct value *item, bool deleted)
{
    static const struct json_member published[] = {{"published", "published", json_member_date}};
    static const struct json_member updated[] = {{"updated", "updated", json_member_date}};
    bool has_own = value_getz(object, "published") != NULL || value_getz(object, "updated") != NULL;

    if (deleted) { /* the time of the deletion; the object does not have it */
        read_first(r, out, item, object, updated, ARRAY_LEN(updated));
        return;
    }
    read_first(r, out, object, has_own ? NULL : item, published, ARRAY_LEN(published));
    read_first(r, out, object, has_own ? NULL : item, updated, ARRAY_LEN(updated));
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Smart Feeds do not define the value of this mark, so any value that means yes is accepted. */
static bool is_deleted(const struct value *item)
{
    const struct value *v = value_getz(item, "deleted");

    if (v == NULL || v->kind == VAL_NULL)
        return str_ieqz(value_get_textz(item, "verb"), "delete");
    if (v->kind == VAL_BOOL)
        return v->b;
    if (v->kind == VAL_INT)
        return v->i != 0;
    return v->kind != VAL_TEXT || (v->s.len > 0 && !str_ieqz(v->s, "false"));
}

static struct value *read_item(struct json_reading *r, const struct value *item)
{
    static const struct json_member ids[] = {{"id", "id", json_member_id}};
    static const struct json_member titles[] = {
        {"displayName", "title", json_member_plain},
        {"title", "title", json_member_html},
    };
    static const struct json_member links[] = {{"url", "link", json_member_page}};
    const struct value *object = dict_of(item, "object"), *image = dict_of(object, "image");
    struct value *out = value_dict(r->a);
    bool deleted = is_deleted(item);
    struct str url = value_get_textz(image, "url");

    read_first(r, out, item, object, ids, ARRAY_LEN(ids)); /* the item's id is unique */
    read_dates(r, out, object, item, deleted);
    if (deleted) {
        value_set_textz(r->a, out, "fo_deleted", STR("true"));
        return out;
    }
    read_first(r, out, object, item, titles, ARRAY_LEN(titles));
    read_first(r, out, object, item, links, ARRAY_LEN(links));
    read_texts(r, out, object, item);
    read_author(r, out,
                dict_of(object, "author") != NULL ? dict_of(object, "author")
                                                  : dict_of(item, "actor"));
    read_tags(r, out, object);
    read_attachments(r, out, object);
    if (url.len > 0)
        json_member_uri(r, out, "image", value_getz(image, "url"));
    return out;
}

/* ---- the collection -------------------------------------------------------------------------- */

/* `name` is the rel of the link. */
static void read_link(struct json_reading *r, struct value *out, const char *name, struct value *v)
{
    struct str href = v->kind == VAL_TEXT ? str_trim(v->s) : STR_NULL;

    if (href.len > 0)
        (void)json_add_link(r, out, name, NULL, href);
}

static void read_head(struct json_reading *r, const struct value *root, const struct value *items,
                      struct feed_doc *doc)
{
    static const struct json_member members[] = {
        {"url", "self", read_link},
        {"next", "next", read_link},
        {"language", "language", json_member_text},
    };
    static const struct json_member titles[] = {
        {"displayName", "title", json_member_plain},
        {"title", "title", json_member_html},
    };
    static const char *const facts[][2] = {{"last_cursor", "fo_last_cursor"},
                                           {"prev_cursor", "fo_prev_cursor"},
                                           {"totalItems", "fo_total"}};

    json_members(r, doc->feed, root, members, ARRAY_LEN(members));
    /* a collection has no name, so take that of the feed to which its items belong */
    read_first(r, doc->feed, root, dict_of(value_at(items, 0), "provider"), titles,
               ARRAY_LEN(titles));
    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        struct str text = text_of(r->a, root, facts[i][0]);

        if (!str_is_null(text))
            value_set_text(r->a, doc->feed, str_from(facts[i][1]), text);
    }
}

bool activities_read(struct json_reading *r, const struct value *root, struct feed_doc *doc)
{
    const struct value *items = value_getz(root, "items");
    bool has_items = items != NULL && items->kind == VAL_LIST;
    size_t n = has_items ? value_len(items) : 0;

    if (str_is_null(text_of(r->a, root, "last_cursor")) &&
        !(has_items && str_is_null(value_get_textz(root, "version")) &&
          !str_is_null(text_of(r->a, root, "totalItems"))))
        return false;
    doc->family = FAMILY_JSON;
    doc->version = STR("as1");
    doc->feed = value_dict(r->a);
    read_head(r, root, items, doc);
    if (n > LIMIT_FEED_ENTRIES) {
        doc->n_cut = n - LIMIT_FEED_ENTRIES;
        n = LIMIT_FEED_ENTRIES;
    }
    doc->entries = ARENA_ARRAY(r->a, struct doc_entry, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct value *item = value_at(items, i);

        if (item->kind == VAL_DICT && value_len(item) > 0)
            doc->entries[doc->n_entries++] =
                (struct doc_entry){.obj = read_item(r, item), .ext = STR("")};
    }
    return true;
}
