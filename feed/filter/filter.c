/* feed/filter/filter.c - see filter.h. */
#include "feed/filter/filter_priv.h"
#include "feed/filter/compound.h"

#include <stdlib.h>

#include "base/age.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/clock.h"
#include "feed/text/date.h"

#define LANG_RANGE_MAX 100 /* terms_of_revision() looks at so many bytes of a tag */

struct making {
    struct arena *a;
    struct own_filter *f;
    int64_t now;
    struct filter_fault *fault;
};

static bool wrong(struct making *m, const char *name, struct str value, const char *why)
{
    *m->fault = (struct filter_fault){name, value, -1, str_from(why)};
    return false;
}

/* ---------------------------------------------------------------- times */

/* 2024-05-01, 2024-05-01T10:00:00Z, ...+02:00. A plus that was decoded as a space is meant. */
static bool read_date(struct arena *a, struct str s, int64_t *at)
{
    static const char shape[] = "0000-00-00T00:00:00";
    char *copy = str_z(a, s);

    for (size_t i = 0; i < s.len && i < sizeof shape - 1; i++) {
        bool fits = shape[i] == '0'   ? ascii_is_digit(copy[i])
                    : shape[i] == 'T' ? ascii_lower(copy[i]) == 't' || copy[i] == ' '
                                      : copy[i] == shape[i];
        if (!fits)
            return false;
    }
    if (s.len != 10 && s.len < sizeof shape)
        return false;
    if (s.len > 6 && copy[s.len - 6] == ' ' && copy[s.len - 3] == ':')
        copy[s.len - 6] = '+';
    return date_parse(str_of(copy, s.len), at);
}

static int64_t rounded(int64_t at, int64_t step)
{
    step = step < 1 ? 1 : step;
    return at - (at % step + step) % step;
}

static bool read_moment(struct making *m, const char *name, struct str value, struct moment *out)
{
    struct str s = str_trim(value);
    int64_t n;

    if (s.len == 0)
        return true;
    if (str_to_i64(s, &n) || read_date(m->a, s, &n)) {
        *out = (struct moment){MOMENT_AT, n};
        return true;
    }
    if (!age_read(s, &n))
        return wrong(m, name, value,
                     "It must be a time (RFC 3339, or Unix seconds) or an age as 90s, 30m, 36h, 7d "
                     "or 2w.");
    *out = m->now == TIME_UNKNOWN ? (struct moment){MOMENT_AGE, n}
                                  : (struct moment){MOMENT_AT, rounded(m->now - n, n / 1000)};
    return true;
}

/* ---------------------------------------------------------------- lists */

static int by_bytes(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static void sort(struct str_list *list)
{
    size_t kept = 0;

    if (list->n > 0)
        qsort(list->list, list->n, sizeof *list->list, by_bytes);
    for (size_t i = 0; i < list->n; i++)
        if (i == 0 || !str_eq(list->list[i], list->list[kept - 1]))
            list->list[kept++] = list->list[i];
    list->n = kept;
}

/* Put one value, which is not empty, to the filter. NULL, or what is wrong. */
typedef const char *put_fn(struct making *m, struct str value);

static const char *put_folded(struct making *m, struct str value, struct str_list *list)
{
    struct str folded = words_fold_value(m->a, value);

    if (folded.len == 0 || folded.len > FILTER_VALUE_MAX)
        return "It must have 1 to 1000 bytes.";
    list->list[list->n++] = folded;
    return NULL;
}

static const char *put_author(struct making *m, struct str value)
{
    return put_folded(m, value, &m->f->authors);
}

static const char *put_category(struct making *m, struct str value)
{
    return put_folded(m, value, &m->f->categories);
}

/* A basic language range (RFC 4647, 2.1). */
static bool is_range(struct str s)
{
    size_t n = 0;

    if (str_eqz(s, "*") || s.len > LANG_RANGE_MAX)
        return s.len == 1;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '-' ? n == 0 : !ascii_is_alnum(s.ptr[i]) || n == 8)
            return false;
        n = s.ptr[i] == '-' ? 0 : n + 1;
    }
    return n > 0 && ascii_is_alpha(s.ptr[0]);
}

static const char *put_lang(struct making *m, struct str value)
{
    if (!is_range(value))
        return "It must be a language range as `de`, `de-CH` or `*` (RFC 4647).";
    m->f->langs.list[m->f->langs.n++] = str_lower(m->a, value);
    return NULL;
}

static const char *put_has(struct making *m, struct str value)
{
    for (size_t i = 0; i < ENTRY_HAS_KINDS; i++)
        if (str_ieqz(value, entry_has_names[i])) {
            m->f->has |= 1u << i;
            return NULL;
        }
    return "It must be enclosure, audio, video, image or content.";
}

static bool put_list(struct making *m, const char *name, const struct str_list *values,
                     struct str_list *room, put_fn *put)
{
    if (values->n > FILTER_VALUES_MAX)
        return wrong(m, name, STR_NULL, "There are too many values; at most 100 are allowed.");
    if (room != NULL)
        room->list = ARENA_ARRAY(m->a, struct str, values->n + 1);
    for (size_t i = 0; i < values->n; i++) {
        struct str value = str_trim(values->list[i]);
        const char *why;

        if (value.len == 0)
            continue;
        if (value.len > FILTER_VALUE_MAX)
            return wrong(m, name, STR_NULL, "A value is too long; at most 1000 bytes are allowed.");
        if (str_utf8_valid(value) < value.len)
            return wrong(m, name, STR_NULL, "It is not UTF-8.");
        why = put(m, value);
        if (why != NULL)
            return wrong(m, name, value, why);
    }
    if (room != NULL)
        sort(room);
    return true;
}

/* ---------------------------------------------------------------- canonical text */

static void put_line(struct buf *out, const char *name, struct str value)
{
    if (out->len > 0)
        buf_putc(out, '\n');
    buf_printf(out, "%s %.*s", name, STR_ARG(value));
}

static void put_lines(struct buf *out, const char *name, const struct str_list *values)
{
    for (size_t i = 0; i < values->n; i++)
        put_line(out, name, values->list[i]);
}

static void put_moment(struct buf *out, struct arena *a, const char *name, struct moment t)
{
    if (t.kind != MOMENT_NONE)
        put_line(out, name,
                 str_printf(a, "%lld%s", (long long)t.s, t.kind == MOMENT_AGE ? "s" : ""));
}

static struct str text_of(struct arena *a, const struct own_filter *f)
{
    struct buf out = BUF_INIT(BUF_ANY);
    struct str text;

    if (f->q != NULL)
        put_line(&out, "q", f->q->text);
    put_lines(&out, "author", &f->authors);
    put_lines(&out, "category", &f->categories);
    put_lines(&out, "lang", &f->langs);
    for (size_t i = 0; i < ENTRY_HAS_KINDS; i++)
        if (f->has & (1u << i))
            put_line(&out, "has", str_from(entry_has_names[i]));
    put_moment(&out, a, "after", f->after);
    put_moment(&out, a, "before", f->before);
    text = str_dup(a, buf_view(&out));
    buf_release(&out);
    return text;
}

/* ---------------------------------------------------------------- the whole */

static bool asks_author(const struct question *q)
{
    bool asks = q != NULL && q->op == QUESTION_WORDS && q->field == FIELD_AUTHOR;

    for (size_t i = 0; q != NULL && i < q->n && !asks; i++)
        asks = asks_author(q->parts[i]);
    return asks;
}

static bool read_q(struct making *m, struct str q)
{
    struct question_fault fault;

    if (str_trim(q).len == 0)
        return true;
    if (question_read(m->a, q, &m->f->q, &fault))
        return true;
    *m->fault = (struct filter_fault){"q", q, (ssize_t)fault.at, fault.why};
    return false;
}

static bool read_wish(struct making *m, const struct filter_wish *wish)
{
    struct own_filter *f = m->f;

    return read_q(m, wish->q) && put_list(m, "author", &wish->author, &f->authors, put_author) &&
           put_list(m, "category", &wish->category, &f->categories, put_category) &&
           put_list(m, "lang", &wish->lang, &f->langs, put_lang) &&
           put_list(m, "has", &wish->has, NULL, put_has) &&
           read_moment(m, "after", wish->after, &f->after) &&
           read_moment(m, "before", wish->before, &f->before);
}

bool filter_make(struct arena *a, const struct filter_wish *wish, int64_t now,
                 const struct filter **out, struct filter_fault *fault)
{
    struct own_filter *f = ARENA_NEW(a, struct own_filter);
    struct making m = {a, f, now, fault};

    if (!read_wish(&m, wish))
        return false;
    f->pub.text = text_of(a, f);
    f->pub.judge = filter_judge;
    f->pub.terms = filter_terms(a, f);
    f->pub.after_at = f->after.kind == MOMENT_AT ? f->after.s : INT64_MIN;
    f->pub.before_at = f->before.kind == MOMENT_AT ? f->before.s : INT64_MAX;
    f->pub.needs_head = f->authors.n > 0 || f->langs.n > 0 || asks_author(f->q);
    *out = f->pub.text.len > 0 ? &f->pub : NULL;
    return true;
}

/* ---------------------------------------------------------------- reading it back */

static struct str_list *list_of(struct filter_wish *wish, struct str name)
{
    return str_eqz(name, "author")     ? &wish->author
           : str_eqz(name, "category") ? &wish->category
           : str_eqz(name, "lang")     ? &wish->lang
           : str_eqz(name, "has")      ? &wish->has
                                       : NULL;
}

static struct str *one_of(struct filter_wish *wish, struct str name)
{
    return str_eqz(name, "q")        ? &wish->q
           : str_eqz(name, "after")  ? &wish->after
           : str_eqz(name, "before") ? &wish->before
                                     : NULL;
}

static bool read_line(struct arena *a, struct filter_wish *wish, struct str line)
{
    struct str name = str_split(&line, ' ');
    struct str_list *list = list_of(wish, name);
    struct str *one = one_of(wish, name);

    if (list == NULL && one == NULL)
        return false;
    if (one != NULL) {
        *one = line;
        return true;
    }
    if (list->n == FILTER_VALUES_MAX)
        return false;
    if (list->list == NULL)
        list->list = ARENA_ARRAY(a, struct str, FILTER_VALUES_MAX);
    list->list[list->n++] = line;
    return true;
}

bool filter_wish_read(struct arena *a, struct str text, struct filter_wish *out)
{
    struct str rest = text;

    *out = (struct filter_wish){.q = STR_NULL};
    while (!str_is_null(rest))
        if (!read_line(a, out, str_split(&rest, '\n')))
            return false;
    return true;
}

const struct filter *filter_read_at(struct arena *a, struct str text, int64_t now)
{
    struct filter_wish wish;
    struct filter_fault fault;
    const struct filter *f = NULL;

    if (is_compound(text))
        return compound_read(a, text, now, 0);
    if (!filter_wish_read(a, text, &wish) || !filter_make(a, &wish, now, &f, &fault))
        return NULL;
    return f;
}

const struct filter *filter_read(struct arena *a, struct str text)
{
    const struct filter *f = filter_read_at(a, text, TIME_UNKNOWN);

    return f != NULL && str_eq(f->text, text) ? f : NULL;
}
