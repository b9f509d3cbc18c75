/* api/http/params.c - the rules of docs/api.md about parameters. */
#include "api/http/params.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/switch.h"
#include "model/feed.h"
#include "model/paths.h"
#include "net/url.h"
#include "storage/store.h"

/* Returns the row of a parameter that may be read here. */
static const struct parameter *row_of(const struct params *ps, enum param_id id)
{
    ASSERT(param_is_in(ps->listed, id)); /* else the row of the route lacks it (api/routes.def) */
    return param_row(id);
}

bool params_put(struct params *ps, struct arena *a, struct str name, struct str value,
                struct problem *p)
{
    if (ps->n == LIMIT_PARAMS)
        return problem_set(p, a, PROBLEM_TOO_LARGE, "More than %d parameters were given.",
                           LIMIT_PARAMS);
    /* Not every database can keep it. Positions are not kept, and have a problem of their own. */
    if (str_chr(value, '\0') >= 0 && !str_eqz(name, "since") && !str_eqz(name, "until"))
        return problem_parameter(p, a, str_z(a, name), STR_NULL, NULL,
                                 "The parameter `%s` has the character U+0000, which no parameter "
                                 "may have.",
                                 str_z(a, name));
    if (ps->n == ps->cap) {
        size_t cap = ps->cap == 0 ? 8 : ps->cap * 2;
        struct param *grown = ARENA_ARRAY(a, struct param, cap);

        if (ps->n > 0)
            memcpy(grown, ps->items, ps->n * sizeof(*grown));
        ps->items = grown;
        ps->cap = cap;
    }
    ps->items[ps->n++] = (struct param){name, value};
    return true;
}

bool params_add(struct params *ps, struct arena *a, struct str urlencoded, struct problem *p)
{
    struct str rest = urlencoded;

    while (!str_is_null(rest) && rest.len > 0) {
        struct str pair = str_split(&rest, '&'), name, value;
        ssize_t eq = str_chr(pair, '=');

        if (pair.len == 0)
            continue;
        name = url_decode(a, eq < 0 ? pair : str_slice(pair, 0, (size_t)eq), true);
        value = eq < 0 ? STR("") : url_decode(a, str_slice(pair, (size_t)eq + 1, pair.len), true);
        if (!params_put(ps, a, name, value, p))
            return false;
    }
    return true;
}

struct params params_like(const struct params *ps)
{
    return (struct params){.listed = ps->listed, .cfg = ps->cfg};
}

struct params params_copy(const struct params *ps, struct arena *a)
{
    struct params copy = params_like(ps);

    copy.items = ARENA_ARRAY(a, struct param, ps->n + 1);
    copy.n = copy.cap = ps->n;
    for (size_t i = 0; i < ps->n; i++)
        copy.items[i] = (struct param){str_dup(a, ps->items[i].name), str_dup(a, ps->items[i].value)};
    return copy;
}

const struct param *params_next(const struct params *ps, enum param_id id, size_t *at)
{
    row_of(ps, id);
    while (*at < ps->n) {
        const struct param *one = &ps->items[(*at)++];

        if (param_is_called(id, one->name))
            return one;
    }
    return NULL;
}

bool params_has(const struct params *ps, enum param_id id)
{
    size_t at = 0;

    return params_next(ps, id, &at) != NULL;
}

bool params_one(const struct params *ps, struct arena *a, enum param_id id, struct str *out,
                struct problem *p)
{
    const char *name = row_of(ps, id)->name;

    *out = STR_NULL;
    for (size_t i = 0; i < ps->n; i++) {
        if (!str_eqz(ps->items[i].name, name))
            continue;
        if (str_is_null(*out))
            *out = ps->items[i].value;
        else if (!str_eq(*out, ps->items[i].value))
            return problem_parameter(p, a, name, STR_NULL, NULL, /* it may be a secret */
                                     "The parameter `%s` was given more than once, with "
                                     "different values.",
                                     name);
    }
    return true;
}

bool params_optional(const struct params *ps, struct arena *a, enum param_id id, struct str *out,
                     struct problem *p)
{
    if (!params_one(ps, a, id, out, p))
        return false;
    if (str_trim(*out).len == 0)
        *out = STR_NULL;
    return true;
}

/* Returns "a, b or c" for "a|b|c". */
static const char *one_of(struct arena *a, const char *values)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str rest = str_from(values);

    while (!str_is_null(rest)) {
        struct str value = str_split(&rest, '|');
        const char *between = str_is_null(rest) ? " or " : ", ";

        buf_printf(&out, "%s%.*s", out.len == 0 ? "" : between, STR_ARG(value));
    }
    return str_z(a, buf_view(&out));
}

bool params_choice(const struct params *ps, struct arena *a, enum param_id id, int *out,
                   struct problem *p)
{
    const struct parameter *row = row_of(ps, id);
    struct str value, rest = str_from(row->values);

    *out = -1;
    if (!params_optional(ps, a, id, &value, p))
        return false;
    if (str_is_null(value) && row->otherwise == NULL)
        return true;
    if (str_is_null(value))
        value = str_from(row->otherwise);
    for (int i = 0; !str_is_null(rest); i++) {
        if (!str_eq(str_split(&rest, '|'), value))
            continue;
        *out = i;
        return true;
    }
    return problem_parameter(p, a, row->name, value, row->values, "The parameter `%s` must be %s.",
                             row->name, one_of(a, row->values));
}

bool wanted_url_read(struct arena *a, const char *name, struct str raw, struct wanted_url *out,
                     struct problem *p)
{
    struct url_parts parts;
    struct err err = ERR_INIT;

    raw = str_trim(raw);
    if (raw.len == 0)
        return problem_parameter(p, a, name, raw, NULL,
                                 "The parameter `%s` is empty; it must be an absolute http or "
                                 "https URL.",
                                 name);
    if (url_parse(a, raw, &parts, &err) != RC_OK)
        return problem_parameter(p, a, name, raw, NULL,
                                 "The parameter `%s` must be an absolute http or https URL: %s.",
                                 name, err.text);
    *out = (struct wanted_url){.url = parts.url,
                               .credential = parts.credential,
                               .shown = str_is_null(parts.credential) ? raw : url_public(a, raw)};
    if (str_utf8_valid(raw) != raw.len) /* it cannot be written into a document */
        out->shown = parts.url;
    return true;
}

bool params_url(const struct params *ps, struct arena *a, enum param_id id, struct wanted_url *out,
                struct problem *p)
{
    const char *name = param_name(id);
    struct str raw;

    if (!params_one(ps, a, id, &raw, p))
        return false;
    if (str_is_null(raw))
        return problem_parameter(p, a, name, raw, NULL,
                                 "The parameter `%s` is missing; it must be an absolute http or "
                                 "https URL.",
                                 name);
    return wanted_url_read(a, name, raw, out, p);
}

/* Returns true when a scheme and ':' follow, after white space (RFC 3986 §3.1). */
static bool scheme_follows(struct str s)
{
    size_t i = 0;

    while (i < s.len && strchr(" \t\r\n\f", s.ptr[i]) != NULL && s.ptr[i] != '\0')
        i++;
    if (i == s.len || !((s.ptr[i] | 0x20) >= 'a' && (s.ptr[i] | 0x20) <= 'z'))
        return false;
    for (; i < s.len; i++) {
        char c = s.ptr[i];

        if (c == ':')
            return true;
        if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9') && c != '+' &&
            c != '-' && c != '.')
            return false;
    }
    return false;
}

/* Take the first URL from a list. */
static struct str next_url(struct str *rest)
{
    struct str all = *rest;

    for (size_t i = 0; i < all.len; i++) {
        if (all.ptr[i] == ',' && scheme_follows(str_slice(all, i + 1, all.len))) {
            *rest = str_slice(all, i + 1, all.len);
            return str_slice(all, 0, i);
        }
    }
    *rest = STR_NULL;
    return all;
}

bool params_urls(const struct params *ps, struct arena *a, enum param_id id,
                 struct wanted_url **out, size_t *n_out, struct problem *p)
{
    const struct parameter *row = row_of(ps, id);
    struct wanted_url *urls = NULL;
    const struct param *one;
    size_t n = 0, cap = 0, at = 0;

    while ((one = params_next(ps, id, &at)) != NULL) {
        struct str rest = one->value;

        while (!str_is_null(rest)) {
            struct str raw = next_url(&rest);

            if (n == (size_t)row->max)
                return problem_set(p, a, PROBLEM_TOO_LARGE,
                                   "More than %lld URLs were given in one request.",
                                   (long long)row->max);
            if (n == cap) {
                struct wanted_url *grown = ARENA_ARRAY(a, struct wanted_url, cap * 2 + 4);

                if (n > 0)
                    memcpy(grown, urls, n * sizeof(*urls));
                urls = grown;
                cap = cap * 2 + 4;
            }
            if (!wanted_url_read(a, row->name, raw, &urls[n], p))
                return false;
            n++;
        }
    }
    if (n == 0 && (row->flags & (PARAM_REQUIRED | PARAM_EXPECTED)) != 0)
        return problem_parameter(p, a, row->name, STR_NULL, NULL,
                                 "The parameter `%s` is missing; it must be one or more absolute "
                                 "http or https URLs, separated by commas.",
                                 row->name);
    *out = urls;
    *n_out = n;
    return true;
}

bool params_flag(const struct params *ps, struct arena *a, enum param_id id, bool *out,
                 struct problem *p)
{
    const char *name = param_name(id);
    struct str value;

    if (!params_one(ps, a, id, &value, p))
        return false;
    if (!str_is_null(value) && value.len > 0 && !str_eqz(value, "1") && !str_eqz(value, "0"))
        return problem_parameter(p, a, name, value, "1|0",
                                 "The flag `%s` must have no value, or be 1 or 0.", name);
    *out = !str_is_null(value) && !str_eqz(value, "0");
    return true;
}

/* Returns the values of `type` with these traits, separated by "|", in the arena. */
static const char *names_of_formats(struct arena *a, unsigned traits)
{
    char *names = arena_alloc(a, FORMAT_NAMES_MAX);

    format_names(traits, names, FORMAT_NAMES_MAX);
    return names;
}

bool params_obj(const struct params *ps, struct arena *a, enum feed_format *format,
                struct problem *p)
{
    bool obj = false;

    if (*format != FORMAT_JSON)
        return true;
    if (!params_flag(ps, a, PARAM_obj, &obj, p))
        return false;
    *format = obj ? FORMAT_JSON_OBJ : FORMAT_JSON;
    return true;
}

bool params_format(const struct params *ps, struct arena *a, enum param_id id,
                   enum feed_format *out, bool *given, struct problem *p)
{
    const struct parameter *row = row_of(ps, id);
    struct str type;

    if (!params_optional(ps, a, id, &type, p))
        return false;
    *given = !str_is_null(type);
    if (!*given)
        return true;
    if (!format_find(type, FORMAT_IS_OFFERED, out))
        return problem_parameter(p, a, row->name, type, names_of_formats(a, FORMAT_IS_OFFERED),
                                 "The parameter `%s` does not name a type that is offered.",
                                 row->name);
    if (format_find(type, row->traits, out))
        return row->traits != FORMAT_IS_OFFERED || params_obj(ps, a, out, p);
    problem_set(p, a, PROBLEM_NOT_ACCEPTABLE,
                "This document is not offered in the type that `%s` names.", row->name);
    p->allowed = names_of_formats(a, row->traits);
    return false;
}

/* Returns true when these are digits, and there is at least one. The number may be too large for
 * int64_t. */
static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.len > 0;
}

bool params_count(const struct params *ps, struct arena *a, enum param_id id, int64_t *out,
                  struct problem *p)
{
    struct param_range range = param_range(id, ps->cfg);
    const char *name = param_name(id);
    struct str value;
    int64_t n;

    if (!params_optional(ps, a, id, &value, p))
        return false;
    if (str_is_null(value))
        n = range.missing;
    else if (!is_digits(value) || (str_to_i64(value, &n) && n < range.min))
        return problem_parameter(p, a, name, value, NULL,
                                 "The parameter `%s` must be a whole number, at least %lld; "
                                 "larger numbers than %lld count as that.",
                                 name, (long long)range.min, (long long)range.high);
    else if (!str_to_i64(value, &n) || n > range.high)
        n = range.high;
    else if (n < range.low)
        n = range.low;
    *out = n;
    return true;
}

bool params_id(const struct params *ps, struct arena *a, enum param_id id, int64_t *out,
               struct problem *p)
{
    const struct parameter *row = row_of(ps, id);
    struct str value;

    if (!params_one(ps, a, id, &value, p))
        return false;
    *out = 0;
    if (str_is_null(value)) {
        if ((row->flags & (PARAM_REQUIRED | PARAM_EXPECTED)) != 0)
            return problem_parameter(
                p, a, row->name, value, NULL,
                "The parameter `id` is missing; it is the number that POST " PATH_SUB " answered.");
        return true;
    }
    if (!is_digits(value) || !str_to_i64(value, out) || *out == 0)
        return problem_parameter(p, a, row->name, value, NULL,
                                 "The parameter `id` must be a number returned by POST " PATH_SUB
                                 ".");
    return true;
}

bool freq_read(struct str value, int64_t min_period_s, int *level, int64_t *period_s)
{
    int64_t n;

    if (!is_digits(value) || !str_to_i64(value, &n) || (n > 2 && n < min_period_s) ||
        n > param_max(PARAM_freq))
        return false;
    *level = n <= 2 ? (int)n : LEVEL_EXACT;
    *period_s = n <= 2 ? 0 : n;
    return true;
}

bool params_freq(const struct params *ps, struct arena *a, int *level, int64_t *period_s,
                 struct problem *p)
{
    struct param_range range;
    struct str value;

    if (!params_optional(ps, a, PARAM_freq, &value, p))
        return false;
    range = param_range(PARAM_freq, ps->cfg);
    *level = LEVEL_KEEP;
    *period_s = 0;
    if (!str_is_null(value) && !freq_read(value, range.low, level, period_s))
        return problem_parameter(p, a, param_name(PARAM_freq), value, NULL,
                                 "The parameter `freq` must be a level (0 daily, 1 half-hourly, 2 "
                                 "every five minutes) or a period of %lld to %lld seconds.",
                                 (long long)range.low, (long long)range.high);
    return true;
}

bool params_mirror(const struct params *ps, struct arena *a, bool *is_given, bool *on,
                   struct problem *p)
{
    struct str value;

    if (!params_optional(ps, a, PARAM_mirror, &value, p))
        return false;
    *is_given = !str_is_null(value);
    *on = false;
    if (!*is_given || switch_read(value, on))
        return true;
    return problem_parameter(p, a, "mirror", value, "yes|no",
                             "The parameter `mirror` must be yes (copies of the files of new "
                             "entries are kept here) or no.");
}

bool params_sanitize(const struct params *ps, struct arena *a, enum sanitize_setting *out,
                     struct problem *p)
{
    struct str value;
    bool on = true;

    if (!params_optional(ps, a, PARAM_sanitize, &value, p))
        return false;
    *out = SANITIZE_KEEP;
    if (str_is_null(value))
        return true;
    if (!switch_read(value, &on))
        return problem_parameter(p, a, "sanitize", value, "yes|no",
                                 "The parameter `sanitize` must be yes (HTML is made safe when it "
                                 "comes in) or no (it is kept as the publisher wrote it).");
    *out = on ? SANITIZE_ON : SANITIZE_OFF;
    return true;
}
