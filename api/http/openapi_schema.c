/* api/http/openapi_schema.c - see openapi_schema.h. */
#include "api/http/openapi_schema.h"

#include "base/buf.h"
#include "model/format.h"

static struct value *of_type(struct arena *a, const char *type)
{
    struct value *v = value_dict(a);

    value_set_textz(a, v, "type", str_from(type));
    return v;
}

static struct value *string_of(struct arena *a, const char *format)
{
    struct value *v = of_type(a, "string");

    value_set_textz(a, v, "format", str_from(format));
    return v;
}

static struct value *integer_from(struct arena *a, int64_t min)
{
    struct value *v = of_type(a, "integer");

    value_setz(a, v, "minimum", value_int(a, min));
    return v;
}

/* One of these texts, which have '|' between them. */
static struct value *one_of(struct arena *a, const char *values, const char *otherwise)
{
    struct value *v = of_type(a, "string"), *list = value_list(a);

    for (struct str rest = str_from(values); !str_is_null(rest);)
        value_push(a, list, value_text(a, str_split(&rest, '|')));
    value_setz(a, v, "enum", list);
    if (otherwise != NULL)
        value_set_textz(a, v, "default", str_from(otherwise));
    return v;
}

static struct value *format_schema(struct arena *a, unsigned traits)
{
    char *names = arena_alloc(a, FORMAT_NAMES_MAX);

    format_names(traits, names, FORMAT_NAMES_MAX);
    return one_of(a, names, NULL);
}

/* A number is refused below its least value only. What becomes of others is told beside: a schema
 * has no word for it. */
static struct value *count_schema(struct arena *a, const struct param_range *range)
{
    struct value *v = integer_from(a, range->min), *clamp = value_dict(a);

    if (range->missing >= range->min)
        value_setz(a, v, "default", value_int(a, range->missing));
    if (range->low > range->min)
        value_setz(a, clamp, "minimum", value_int(a, range->low));
    value_setz(a, clamp, "maximum", value_int(a, range->high));
    value_setz(a, v, "x-counts-within", clamp);
    return v;
}

static struct value *freq_schema(struct arena *a, const struct param_range *range)
{
    struct value *v = value_dict(a), *either = value_list(a), *level = integer_from(a, 0),
                 *period = integer_from(a, range->low);

    value_setz(a, level, "maximum", value_int(a, range->min));
    value_setz(a, period, "maximum", value_int(a, range->high));
    value_push(a, either, level);
    value_push(a, either, period);
    value_setz(a, v, "anyOf", either);
    return v;
}

static struct value *scalar_schema(struct arena *a, const struct parameter *row,
                                   const struct param_range *range, enum openapi_place place)
{
    struct value *v;

    switch (row->kind) {
    case PARAM_KIND_URL:
    case PARAM_KIND_URLS:
        return string_of(a, "uri");
    case PARAM_KIND_COUNT:
        return count_schema(a, range);
    case PARAM_KIND_NUMBER:
        v = integer_from(a, row->min);
        value_setz(a, v, "maximum", value_int(a, row->max));
        return v;
    case PARAM_KIND_ID:
        return integer_from(a, row->min);
    case PARAM_KIND_FREQ:
        return freq_schema(a, range);
    case PARAM_KIND_FLAG:
        return place == OPENAPI_JSON ? of_type(a, "boolean") : one_of(a, "1|0|", NULL);
    case PARAM_KIND_CHOICE:
        return one_of(a, row->values, row->otherwise);
    case PARAM_KIND_FORMAT:
        return format_schema(a, row->traits);
    case PARAM_KIND_TIME:
        return string_of(a, "date-time");
    case PARAM_KIND_TEXT:
    case PARAM_KIND_POSITION:
        break;
    }
    v = (row->flags & PARAM_SECRET) != 0 ? string_of(a, "password") : of_type(a, "string");
    if (row->max > 0)
        value_setz(a, v, "maxLength", value_int(a, row->max));
    return v;
}

static bool is_list(const struct parameter *row)
{
    return row->kind == PARAM_KIND_URLS || (row->flags & PARAM_REPEATED) != 0;
}

struct value *openapi_schema(struct arena *a, enum param_id id, const struct api_cfg *cfg,
                             enum openapi_place place)
{
    const struct parameter *row = param_row(id);
    struct param_range range = param_range(id, cfg);
    struct value *v = scalar_schema(a, row, &range, place), *list;

    if (!is_list(row))
        return v;
    list = of_type(a, "array");
    value_setz(a, list, "items", v);
    if (row->kind == PARAM_KIND_URLS)
        value_setz(a, list, "maxItems", value_int(a, row->max));
    return list;
}

static struct str first_of(const char *values)
{
    struct str rest = str_from(values);

    return str_split(&rest, '|');
}

static struct value *scalar_example(struct arena *a, const struct parameter *row,
                                    enum openapi_place place)
{
    switch (row->kind) {
    case PARAM_KIND_COUNT:
        return value_int(a, row->missing >= row->min && row->missing_at == 0 && row->missing > 0
                                ? row->missing
                                : row->min);
    case PARAM_KIND_NUMBER:
        return value_int(a, row->number);
    case PARAM_KIND_ID:
    case PARAM_KIND_FREQ:
        return value_int(a, row->min);
    case PARAM_KIND_FLAG:
        return place == OPENAPI_JSON ? value_bool(a, true) : value_text(a, STR("1"));
    case PARAM_KIND_CHOICE:
        return value_text(a, first_of(row->values));
    case PARAM_KIND_FORMAT: {
        char *names = arena_alloc(a, FORMAT_NAMES_MAX);

        format_names(row->traits, names, FORMAT_NAMES_MAX);
        return value_text(a, first_of(names));
    }
    case PARAM_KIND_TIME:
        return value_text(a, STR("2090-01-31T12:00:00Z"));
    default:
        return value_text(a, str_from(row->example));
    }
}

struct value *openapi_example(struct arena *a, enum param_id id, enum openapi_place place)
{
    const struct parameter *row = param_row(id);
    struct value *v = scalar_example(a, row, place), *list;

    if (!is_list(row))
        return v;
    list = value_list(a);
    value_push(a, list, v);
    return list;
}

struct str openapi_text(struct arena *a, enum param_id id, const struct api_cfg *cfg)
{
    const struct parameter *row = param_row(id);
    struct param_range range = param_range(id, cfg);

    if (row->kind != PARAM_KIND_COUNT)
        return str_from(row->text);
    if (range.low > range.min)
        return str_printf(a, "%s A number below %lld counts as that, a number above %lld as that.",
                          row->text, (long long)range.low, (long long)range.high);
    return str_printf(a, "%s A number above %lld counts as that.", row->text,
                      (long long)range.high);
}

struct str openapi_name(struct arena *a, enum param_id id)
{
    const struct parameter *row = param_row(id);
    struct str name = str_from(row->name);

    if ((row->flags & PARAM_NUMBERED) != 0)
        name = str_printf(a, "%.*s1", (int)(name.len - strlen("N")), name.ptr);
    return name;
}

/* Returns the pattern of the names of a parameter: a regular expression. */
static struct str pattern_of(struct arena *a, const struct parameter *row)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    bool is_numbered = (row->flags & PARAM_NUMBERED) != 0;
    size_t n = strlen(row->name) - strlen(is_numbered ? "N" : "NAME");

    buf_putc(&out, '^');
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, "%s%c", row->name[i] == '.' ? "\\" : "", row->name[i]);
    buf_puts(&out, is_numbered ? "[0-9]*$" : "");
    return str_dup(a, buf_view(&out));
}

struct value *openapi_object(struct arena *a, const enum param_id *ids, const struct api_cfg *cfg,
                             enum openapi_place place)
{
    struct value *v = of_type(a, "object"), *properties = value_dict(a), *patterns = value_dict(a),
                 *required = value_list(a);

    for (; *ids != PARAM_NONE; ids++) {
        const struct parameter *row = param_row(*ids);
        struct value *schema = openapi_schema(a, *ids, cfg, place);
        bool is_pattern = (row->flags & (PARAM_NAMED | PARAM_NUMBERED)) != 0;

        value_set_textz(a, schema, "description", openapi_text(a, *ids, cfg));
        if (is_pattern)
            value_set(a, patterns, pattern_of(a, row), schema);
        else
            value_set(a, properties, str_from(row->name), schema);
        if (!is_pattern && (row->flags & PARAM_REQUIRED) != 0)
            value_push(a, required, value_text(a, str_from(row->name)));
    }
    value_setz(a, v, "properties", properties);
    if (value_len(patterns) > 0)
        value_setz(a, v, "patternProperties", patterns);
    if (value_len(required) > 0)
        value_setz(a, v, "required", required);
    return v;
}
