/* feed/identity/complete.c - see complete.h. */
#include "feed/identity/complete.h"

#include "feed/text/uri.h"

static struct str text_at(const struct value *dict, struct str key)
{
    struct str s = value_get_text(dict, key);

    return s.len == 0 ? STR_NULL : s;
}

static void ensure_text(struct arena *a, struct value *obj, struct str key, struct str otherwise)
{
    if (str_is_null(value_get_text(obj, key)))
        value_set_text(a, obj, key, otherwise);
}

/* Returns an address that leads readers to the entry, but not its licence or the address for
 * editing it. */
static struct str any_link(struct arena *a, const struct value *obj)
{
    static const char *const fit[] = {"alternate", "related", "via", "enclosure", "self"};
    const struct value *links = value_getz(obj, "links");
    const struct value *is_link = value_getz(obj, "guidislink");
    struct str id = value_get_textz(obj, "id");

    for (size_t i = 0; i < value_len(links); i++) {
        struct str href = text_at(value_at(links, i), STR("href"));
        struct str rel = value_get_textz(value_at(links, i), "rel");

        for (size_t k = 0; k < ARRAY_LEN(fit) && !str_is_null(href); k++)
            if (str_is_null(rel) || str_ieqz(rel, fit[k]))
                return href;
    }
    if (is_link != NULL && is_link->kind == VAL_BOOL && !is_link->b)
        return STR(""); /* the publisher says that the id leads nowhere */
    if (!str_istarts(id, STR("http://")) && !str_istarts(id, STR("https://")))
        return STR("");
    return uri_mend_references(a, id); /* ampersands in an id may still be escaped */
}

static struct value *nine_numbers(struct arena *a, int64_t at)
{
    struct civil c = clock_civil(at);
    int64_t part[9] = {c.year, c.month, c.day, c.hour, c.minute, c.second, c.weekday, c.yearday, 0};
    struct value *list = value_list(a);

    for (size_t i = 0; i < ARRAY_LEN(part); i++)
        value_push(a, list, value_int(a, part[i]));
    return list;
}

static void ensure_updated(struct arena *a, struct value *obj, int64_t received_at)
{
    struct str published = text_at(obj, STR("published"));
    struct value *parsed = value_getz(obj, "published_parsed");
    char text[CLOCK_TEXT];

    if (!str_is_null(value_get_textz(obj, "updated")))
        return;
    if (!str_is_null(published)) {
        value_set_textz(a, obj, "updated", published);
    } else {
        clock_rfc3339(received_at, text);
        value_set_textz(a, obj, "updated", str_dup(a, str_from(text)));
        parsed = nine_numbers(a, received_at);
    }
    if (value_len(parsed) > 0)
        value_setz(a, obj, "updated_parsed", parsed);
}

struct value *entry_complete(struct arena *a, const struct doc_entry *e, struct str uid,
                             int64_t received_at)
{
    struct value *obj = value_dict(a);
    struct str content = text_at(value_at(value_getz(e->obj, "content"), 0), STR("value"));
    /* an empty id does not identify anything */
    struct str id = str_trim(text_at(e->obj, STR("id")));

    for (size_t i = 0; i < value_len(e->obj); i++)
        value_set(a, obj, e->obj->members[i].key, e->obj->members[i].val);
    if (!str_eq(id, uid)) {
        value_set_textz(a, obj, "id", uid);
        if (id.len > 0)
            value_set_textz(a, obj, "source_id", id);
    }
    ensure_text(a, obj, STR("title"), STR(""));
    ensure_text(a, obj, STR("link"), any_link(a, obj));
    ensure_text(a, obj, STR("summary"), str_is_null(content) ? STR("") : content);
    ensure_updated(a, obj, received_at);
    return obj;
}
