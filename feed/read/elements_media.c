/* feed/read/elements_media.c - Media RSS: lists and dicts of attributes, together with the
 * element's text. */
#include "feed/read/builder.h"

/* Add a dict of attributes to the list named after the element. */
static void start_in_list(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct value *list = value_list_at(b->a, builder_context(b), f->name->key);

    value_push(b->a, list, attrs_dict(b, at));
    builder_push(f, f->name->key, false);
}

/* Make the dict of attributes named after the element. Only the first element counts. */
static void start_in_dict(struct builder *b, struct frame *f, const struct attrs *at)
{
    struct value *context = builder_context(b);

    if (value_get(context, f->name->key) == NULL)
        value_set(b->a, context, f->name->key, attrs_dict(b, at));
    builder_push(f, f->name->key, false);
}

static struct value *dict_of(struct builder *b, const struct frame *f)
{
    struct value *v = value_get(builder_context(b), f->name->key);

    return v != NULL && v->kind == VAL_LIST ? value_at(v, value_len(v) - 1) : v;
}

/* Put the text into the dict, as the member that the row names. */
static void end_with_text(struct builder *b, struct frame *f)
{
    struct value *dict = dict_of(b, f);
    struct str text = builder_pop(b, f), key = str_from(f->name->element->member);

    if (dict != NULL && dict->kind == VAL_DICT && text.len > 0 && value_get(dict, key) == NULL)
        value_set_text(b->a, dict, key, text);
}

/* The countries become a list. */
static void end_restriction(struct builder *b, struct frame *f)
{
    struct value *dict = dict_of(b, f), *list = value_list(b->a);
    struct str rest = builder_pop(b, f), word;

    if (dict == NULL || dict->kind != VAL_DICT || rest.len == 0)
        return;
    while (!str_is_null(rest)) {
        word = str_trim(str_split(&rest, ' '));
        if (word.len > 0)
            value_push(b->a, list, value_text(b->a, str_lower(b->a, word)));
    }
    value_setz(b->a, dict, "content", list);
}

static void start_keywords(struct builder *b UNUSED, struct frame *f, const struct attrs *at UNUSED)
{
    builder_push(f, f->name->key, false);
}

/* This title is that of the picture. A title of the entry itself takes precedence, wherever it
 * is. */
static void end_media_title(struct builder *b, struct frame *f)
{
    ssize_t title_depth = b->title_depth;

    end_title(b, f);
    b->title_depth = title_depth;
}

static const struct element rows[] = {
    {"media:category", start_category, end_category, NULL,
     "http://search.yahoo.com/mrss/category_schema", 0},
    {"media:content", start_in_list, NULL, NULL, NULL, 0},
    {"media:credit", start_in_list, end_with_text, "content", NULL, 0},
    {"media:description", start_description, end_summary, NULL, NULL, 0},
    {"media:keywords", start_keywords, end_tag_list, "media_keywords", NULL, 0},
    {"media:license", start_in_dict, end_with_text, "content", NULL, 0},
    {"media:player", start_in_dict, end_with_text, "content", NULL, 0},
    {"media:rating", start_in_dict, end_with_text, "content", NULL, 0},
    {"media:restriction", start_in_dict, end_restriction, NULL, NULL, 0},
    {"media:starrating", start_in_dict, NULL, NULL, NULL, 0},
    {"media:statistics", start_in_dict, NULL, NULL, NULL, 0},
    {"media:thumbnail", start_in_list, end_with_text, "url", NULL, 0},
    {"media:title", start_title, end_media_title, NULL, NULL, 0},
};

const struct element_table elements_media = {rows, ARRAY_LEN(rows)};
