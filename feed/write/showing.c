/* feed/write/showing.c - see showing.h. */
#include "feed/write/showing.h"

#include "base/compiler.h"
#include "feed/text/fragment.h"
#include "feed/text/html.h"
#include "feed/text/json.h"
#include "feed/words/excerpt.h"
#include "feed/write/writer_priv.h"

/* ---- texts ---- */

/* Local names of foreign elements that hold a text of the entry, or elements with such texts. The
 * object form has them as `prefix_name`. */
static const char *const text_names[] = {"abstract", "body", "description", "encoded",
                                         "group",    "note", "subtitle",    "summary",
                                         "synopsis", "text"};

static bool is_text_name(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(text_names); i++)
        if (str_ieqz(name, text_names[i]))
            return true;
    return false;
}

/* Is this a member with a text of the entry: `summaries`, `itunes_summary`, `media_description_`? Our
 * own extensions in JSON Feed (`_prefix`) may hold one, too. */
static bool is_text_member(struct str key)
{
    ssize_t at = str_chr(key, '_');
    struct str name;

    if (str_ends(key, STR("_detail")))
        key.len -= strlen("_detail");
    while (str_ends(key, STR("_")))
        key.len--;
    if (str_eqz(key, "content") || str_eqz(key, "summaries") || is_text_name(key))
        return true;
    if (at == 0)
        return str_eqz(key, "_atom");
    name = at < 0 ? STR_NULL : str_slice(key, (size_t)at + 1, key.len);
    return is_text_name(name);
}

static struct value *plain_text(struct arena *a, struct part_text t, struct str text)
{
    struct value *v = value_dict(a);

    value_set_textz(a, v, "type", STR("text/plain"));
    if (!str_is_null(t.lang))
        value_set_textz(a, v, "language", t.lang);
    value_set_textz(a, v, "value", text);
    return v;
}

/* Content that is elsewhere stays there. */
static struct value *content_src(struct arena *a, const struct out_parts *v)
{
    struct value *c = value_dict(a);

    if (!str_is_null(v->content_type))
        value_set_textz(a, c, "type", v->content_type);
    value_set_textz(a, c, "src", v->content_src);
    return c;
}

static void put_summary(struct arena *a, struct value *out, struct part_text t, struct str text)
{
    if (str_is_null(text))
        return;
    value_set_textz(a, out, "summary", text);
    value_setz(a, out, "summary_detail", plain_text(a, t, text));
}

/* Write summary and content anew, as the writers would choose them, without markup. */
static void put_texts(struct arena *a, struct value *out, const struct out_parts *v, size_t chars)
{
    struct str content = part_plain(a, v->content), summary = part_plain(a, v->summary);
    struct value *list = NULL;

    if (str_is_null(content) && !str_is_null(v->content_xml))
        content = html_to_text(a, v->content_xml);
    content = excerpt(a, content, chars);
    if (!str_is_null(content))
        list = plain_text(a, v->content, content);
    else if (!str_is_null(v->content_src))
        list = content_src(a, v);
    if (v->is_summary_content)
        put_summary(a, out, v->content, content);
    else
        put_summary(a, out, v->summary, excerpt(a, summary, chars));
    if (list != NULL)
        value_push(a, value_list_at(a, out, STR("content")), list);
}

struct value *showing_entry(struct arena *a, const struct view *view, struct value *obj)
{
    struct value *out;
    struct out_parts v;

    if (view->content == SHOWN_FULL || obj == NULL || obj->kind != VAL_DICT)
        return obj;
    out = value_dict_for(a, (uint32_t)value_len(obj));
    for (size_t i = 0; i < value_len(obj); i++)
        if (!is_text_member(obj->members[i].key))
            value_set(a, out, obj->members[i].key, obj->members[i].val);
    if (view->content == SHOWN_NONE)
        return out;
    out_parts_read(a, obj, STR(""), STR(""), false, &v);
    put_texts(a, out, &v, view->chars);
    return out;
}

struct str showing_ext(struct arena *a, const struct view *view, struct str ext)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct fragment_element el;

    if (view->content == SHOWN_FULL || ext.len == 0)
        return ext;
    while (fragment_next(&ext, &el))
        if (!is_text_name(el.local))
            buf_str(&out, el.text);
    return str_dup(a, buf_view(&out));
}

struct str showing_document(struct arena *a, const struct view *view, struct str doc)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct value *obj;

    if (view_shows_all(view) || doc.len == 0 || json_read(a, doc, &obj, NULL) != RC_OK)
        return doc;
    obj = showing_entry(a, view, obj);
    json_write(&out, showing_members(a, obj, view->fields, NULL));
    return str_dup(a, buf_view(&out));
}

/* ---- members ---- */

bool showing_has(struct str fields, struct str name)
{
    for (struct str rest = fields; !str_is_null(rest);)
        if (str_eq(str_split(&rest, ','), name))
            return true;
    return str_is_null(fields);
}

static bool is_one_of(const char *names, struct str name)
{
    struct str rest = names != NULL ? str_from(names) : STR_NULL;

    while (!str_is_null(rest))
        if (str_eq(str_split(&rest, '|'), name))
            return true;
    return false;
}

struct value *showing_members(struct arena *a, struct value *dict, struct str fields,
                              const char *kept)
{
    struct value *out;

    if (str_is_null(fields) || dict == NULL || dict->kind != VAL_DICT)
        return dict;
    out = value_dict(a);
    for (size_t i = 0; i < value_len(dict); i++) {
        struct str key = dict->members[i].key;

        if (showing_has(fields, key) || is_one_of(kept, key))
            value_set(a, out, key, dict->members[i].val);
    }
    return out;
}

const char *showing_names(enum feed_format format)
{
    if (format == FORMAT_JSONFEED)
        return "id|url|external_url|title|content_html|content_text|summary|image|date_published|"
               "date_modified|authors|tags|language|attachments";
    if (format == FORMAT_ACTIVITIES)
        return "id|verb|published|updated|deleted|actor|title|url|object|provider";
    if (format_has(format, FORMAT_IS_JSON))
        return "id|source_id|guidislink|title|title_detail|link|links|enclosures|summary|"
               "summary_detail|summaries|content|author|author_detail|authors|contributors|"
               "published|published_parsed|updated|updated_parsed|created|created_parsed|expired|"
               "expired_parsed|tags|source|comments|language|image|rights|rights_detail|subtitle|"
               "subtitle_detail|publisher|publisher_detail|license";
    return NULL;
}

/* Members of foreign elements: `_prefix` in JSON Feed, `prefix_name` in the object form. */
bool showing_is_name(enum feed_format format, struct str name)
{
    ssize_t at = str_chr(name, '_');
    bool is_extension = format == FORMAT_JSONFEED ? at == 0 : at >= 0;

    return is_one_of(showing_names(format), name) ||
           (is_extension && format != FORMAT_ACTIVITIES && name.len > 1);
}
