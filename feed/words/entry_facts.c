/* feed/words/entry_facts.c - reads the object form (docs/parsing.md) as far as it can be asked
 * for. */
#include "feed/words/entry_facts.h"

#include "base/compiler.h"
#include "feed/text/html.h"
#include "feed/text/json.h"

#define LIST_MAX 256 /* of each list of an entry */

const char *const entry_has_names[ENTRY_HAS_KINDS] = {"enclosure", "audio", "video", "image",
                                                      "content"};

/* ---------------------------------------------------------------- lists */

static void put(struct str_list *list, struct str s)
{
    s = str_trim(s);
    if (s.len > 0 && list->n < LIST_MAX)
        list->list[list->n++] = s;
}

static struct str_list new_list(struct arena *a, size_t n)
{
    n = n < LIST_MAX ? n : LIST_MAX;
    return (struct str_list){arena_alloc(a, sizeof(struct str) * (n + 1)), 0};
}

/* ---------------------------------------------------------------- parts */

/* A person without a name is known by the address of its mail, as in documents. */
static struct str name_of(struct arena *a, const struct value *person)
{
    struct str name = str_trim(value_get_textz(person, "name"));

    if (person != NULL && person->kind == VAL_TEXT)
        name = str_trim(person->s);
    return name.len > 0 ? html_to_text(a, name) : str_trim(value_get_textz(person, "email"));
}

static void read_authors(struct arena *a, const struct value *obj, struct str_list *out)
{
    const struct value *list = value_getz(obj, "authors"), *one = value_getz(obj, "author_detail");

    *out = new_list(a, value_len(list) + 1);
    for (size_t i = 0; i < value_len(list); i++)
        put(out, name_of(a, value_at(list, i)));
    if (out->n == 0)
        put(out, name_of(a, one));
    if (out->n == 0)
        put(out, html_to_text(a, value_get_textz(obj, "author")));
}

static void read_categories(struct arena *a, const struct value *obj, struct str_list *out)
{
    const struct value *tags = value_getz(obj, "tags");

    *out = new_list(a, value_len(tags) * 2);
    for (size_t i = 0; i < value_len(tags); i++) {
        put(out, value_get_textz(value_at(tags, i), "term"));
        put(out, value_get_textz(value_at(tags, i), "label"));
    }
}

static void put_lang(const struct value *detail, struct str_list *out)
{
    put(out, value_get_textz(detail, "language"));
}

/* The language of the whole entry; or else of its texts. */
static void read_langs(struct arena *a, const struct value *obj, struct str_list *out)
{
    const struct value *contents = value_getz(obj, "content");

    *out = new_list(a, value_len(contents) + 3);
    put_lang(obj, out);
    if (out->n > 0)
        return;
    put_lang(value_getz(obj, "title_detail"), out);
    put_lang(value_getz(obj, "summary_detail"), out);
    for (size_t i = 0; i < value_len(contents); i++)
        put_lang(value_at(contents, i), out);
}

/* `medium`: of media:content; null. The end of the address counts where the type is missing. */
static unsigned kind_of_file(struct str type, struct str medium, struct str url)
{
    static const struct {
        const char *type, *medium;
        unsigned bit;
    } kinds[] = {{"audio/", "audio", HAS_AUDIO},
                 {"video/", "video", HAS_VIDEO},
                 {"image/", "image", HAS_IMAGE}};
    static const struct {
        const char *end;
        unsigned bit;
    } ends[] = {{".mp3", HAS_AUDIO},  {".m4a", HAS_AUDIO}, {".ogg", HAS_AUDIO},
                {".opus", HAS_AUDIO}, {".mp4", HAS_VIDEO}, {".m4v", HAS_VIDEO},
                {".webm", HAS_VIDEO}, {".mov", HAS_VIDEO}, {".jpg", HAS_IMAGE},
                {".jpeg", HAS_IMAGE}, {".png", HAS_IMAGE}, {".gif", HAS_IMAGE},
                {".webp", HAS_IMAGE}};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_istarts(type, str_from(kinds[i].type)) || str_ieqz(medium, kinds[i].medium))
            return kinds[i].bit;
    if (type.len > 0 || medium.len > 0)
        return 0;
    url = str_split(&url, '?');
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct str end = str_from(ends[i].end);

        if (url.len > end.len && str_ieq(str_slice(url, url.len - end.len, url.len), end))
            return ends[i].bit;
    }
    return 0;
}

static unsigned media_of(const struct value *obj)
{
    const struct value *links = value_getz(obj, "links"), *media = value_getz(obj, "media_content");
    const struct value *enclosures = value_getz(obj, "enclosures");
    unsigned has = 0;

    for (size_t i = 0; i < value_len(links); i++) {
        const struct value *v = value_at(links, i);

        if (str_ieqz(value_get_textz(v, "rel"), "enclosure"))
            has |= HAS_ENCLOSURE |
                   kind_of_file(value_get_textz(v, "type"), STR_NULL, value_get_textz(v, "href"));
    }
    for (size_t i = 0; i < value_len(enclosures); i++) {
        const struct value *v = value_at(enclosures, i);

        has |= HAS_ENCLOSURE |
               kind_of_file(value_get_textz(v, "type"), STR_NULL, value_get_textz(v, "href"));
    }
    for (size_t i = 0; i < value_len(media); i++) {
        const struct value *v = value_at(media, i);

        has |= kind_of_file(value_get_textz(v, "type"), value_get_textz(v, "medium"),
                            value_get_textz(v, "url"));
    }
    return has;
}

/* ---------------------------------------------------------------- texts */

static bool is_html(struct str type)
{
    return type.len == 0 || str_ieqz(type, "text/html") || str_ieqz(type, "html") ||
           str_ieqz(type, "application/xhtml+xml") || str_ieqz(type, "xhtml");
}

static bool is_text(struct str type)
{
    return is_html(type) || str_istarts(type, STR("text/")) || str_ieqz(type, "text");
}

static void put_text(struct entry_facts *out, struct str value, struct str type)
{
    value = str_trim(value);
    if (value.len > 0 && out->n_texts < LIST_MAX)
        out->texts[out->n_texts++] = (struct entry_text){value, !is_html(type)};
}

static struct str type_of(const struct value *obj, struct str detail)
{
    return value_get_textz(value_get(obj, detail), "type");
}

static void read_texts(struct arena *a, const struct value *obj, struct entry_facts *out)
{
    const struct value *contents = value_getz(obj, "content"), *more = value_getz(obj, "summaries");
    struct str summary = str_trim(value_get_textz(obj, "summary"));

    out->texts = arena_alloc(a, sizeof *out->texts * LIST_MAX);
    put_text(out, summary, type_of(obj, STR("summary_detail")));
    for (size_t i = 0; i < value_len(more); i++)
        put_text(out, value_get_textz(value_at(more, i), "value"),
                 value_get_textz(value_at(more, i), "type"));
    for (size_t i = 0; i < value_len(contents); i++) {
        const struct value *v = value_at(contents, i);
        struct str text = str_trim(value_get_textz(v, "value")), type = value_get_textz(v, "type");

        if (text.len == 0 || !is_text(type))
            continue;
        out->has |= HAS_CONTENT;
        if (!str_eq(text, summary)) /* often the one is made of the other */
            put_text(out, text, type);
    }
}

void entry_facts_read(struct arena *a, const struct revision *rev, struct entry_facts *out)
{
    struct value *obj = NULL;

    *out = (struct entry_facts){.has = 0};
    if (rev->doc.len == 0 || json_read(a, rev->doc, &obj, NULL) != RC_OK)
        obj = NULL;
    out->title = (struct entry_text){str_trim(value_get_textz(obj, "title")),
                                     !is_html(type_of(obj, STR("title_detail")))};
    out->has = media_of(obj);
    read_texts(a, obj, out);
    read_authors(a, obj, &out->authors);
    read_categories(a, obj, &out->categories);
    read_langs(a, obj, &out->langs);
}

void head_facts_read(struct arena *a, struct str head, struct entry_facts *out)
{
    struct value *obj = NULL;

    *out = (struct entry_facts){.has = 0};
    if (head.len == 0 || json_read(a, head, &obj, NULL) != RC_OK)
        return;
    obj = value_getz(obj, "feed");
    read_authors(a, obj, &out->authors);
    read_langs(a, obj, &out->langs);
}

static bool is_same(const struct str_list *x, const struct str_list *y)
{
    bool same = x->n == y->n;

    for (size_t i = 0; i < x->n && same; i++)
        same = str_eq(x->list[i], y->list[i]);
    return same;
}

bool head_facts_same(struct arena *a, struct str head, struct str other)
{
    struct entry_facts x, y;

    head_facts_read(a, head, &x);
    head_facts_read(a, other, &y);
    return is_same(&x.authors, &y.authors) && is_same(&x.langs, &y.langs);
}

struct str entry_text_plain(struct arena *a, struct entry_text text, size_t *room)
{
    struct str s =
        text.is_plain ? text.value : html_to_text(a, str_beginning(text.value, *room * 4));

    s = str_beginning(s, *room);
    *room -= s.len;
    return s;
}
