/* feed/filter/compound.c - see compound.h. The text of a compound: a line "all N" or "any N", then
 * for each of N a line with the feeds ("any" only; numbers with commas between them) and the length
 * of the text that follows. */
#include "feed/filter/compound.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"

#define PARTS_MAX 1000
#define DEPTH_MAX 8

struct compound {
    struct filter pub; /* must be the first member */
    bool is_any;
    struct filter_part *parts; /* "all": without feeds */
    size_t n;
};

static bool has_feed(const struct filter_part *part, int64_t id)
{
    size_t low = 0, high = part->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (part->ids[mid] == id)
            return true;
        if (part->ids[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

static bool judge(const struct filter *pub, const struct revision *rev, struct str head,
                  int64_t date, struct arena *scratch)
{
    const struct compound *c = (const struct compound *)pub;

    if (!revision_has_entry(rev))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        const struct filter *f = c->parts[i].filter;
        bool fits = (!c->is_any || has_feed(&c->parts[i], rev->feed_id)) &&
                    (f == NULL || filter_matches(f, rev, head, date, scratch));

        if (fits == c->is_any)
            return fits;
    }
    return !c->is_any;
}

/* The terms of a part of "any" say nothing of its feeds: the judge does. */
static const struct term_query *terms_of(struct arena *a, const struct compound *c)
{
    const struct term_query **list = ARENA_ARRAY(a, const struct term_query *, c->n + 1);
    struct term_query *q;
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        const struct filter *f = c->parts[i].filter;

        if (f != NULL && f->terms != NULL)
            list[n++] = f->terms;
        else if (c->is_any)
            return NULL;
    }
    if (n <= 1)
        return n == 0 ? NULL : list[0];
    q = ARENA_NEW(a, struct term_query);
    *q = (struct term_query){.op = c->is_any ? TERM_OR : TERM_AND, .parts = list, .n = n};
    return q;
}

/* When all must match, the narrowest times count; when one must, the widest. */
static void set_times(struct compound *c)
{
    int64_t after = c->is_any ? INT64_MAX : INT64_MIN, before = c->is_any ? INT64_MIN : INT64_MAX;

    for (size_t i = 0; i < c->n; i++) {
        const struct filter *f = c->parts[i].filter;
        int64_t from = f == NULL ? INT64_MIN : f->after_at;
        int64_t to = f == NULL ? INT64_MAX : f->before_at;

        after = (c->is_any ? from < after : from > after) ? from : after;
        before = (c->is_any ? to > before : to < before) ? to : before;
    }
    c->pub.after_at = after;
    c->pub.before_at = before;
}

static struct str text_of(struct arena *a, const struct compound *c)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    buf_printf(&out, "%s %zu\n", c->is_any ? "any" : "all", c->n);
    for (size_t i = 0; i < c->n; i++) {
        const struct filter_part *part = &c->parts[i];
        struct str text = part->filter == NULL ? STR("") : part->filter->text;

        for (size_t k = 0; k < part->n; k++)
            buf_printf(&out, "%s%" PRId64, k > 0 ? "," : "", part->ids[k]);
        buf_printf(&out, " %zu\n%.*s", text.len, STR_ARG(text));
    }
    return str_dup(a, buf_view(&out));
}

static const struct filter *made(struct arena *a, bool is_any, struct filter_part *parts, size_t n)
{
    struct compound *c = ARENA_NEW(a, struct compound);

    *c = (struct compound){.is_any = is_any, .parts = parts, .n = n};
    for (size_t i = 0; i < n; i++)
        c->pub.needs_head = c->pub.needs_head || (parts[i].filter && parts[i].filter->needs_head);
    set_times(c);
    c->pub.text = text_of(a, c);
    c->pub.terms = terms_of(a, c);
    c->pub.judge = judge;
    return &c->pub;
}

static struct str part_text(const struct filter_part *part)
{
    return part->filter == NULL ? STR("") : part->filter->text;
}

static int by_text(const void *x, const void *y)
{
    const struct filter_part *a = x, *b = y;
    int order = str_cmp(part_text(a), part_text(b));

    if (order != 0 || a->n == 0 || b->n == 0)
        return order;
    return a->ids[0] < b->ids[0] ? -1 : a->ids[0] > b->ids[0];
}

/* The filters of which "all" is made: those of another "all", or the filter itself. */
static size_t spread(const struct filter *f, struct filter_part *out)
{
    const struct compound *c = f->judge == judge ? (const struct compound *)f : NULL;

    if (c != NULL && !c->is_any) {
        if (out != NULL)
            memcpy(out, c->parts, c->n * sizeof *out);
        return c->n;
    }
    if (out != NULL)
        *out = (struct filter_part){.filter = f};
    return 1;
}

const struct filter *filter_both(struct arena *a, const struct filter *f, const struct filter *g)
{
    struct filter_part *parts;
    size_t n, kept = 1;

    if (f == NULL || g == NULL || str_eq(f->text, g->text))
        return f == NULL ? g : f;
    parts = ARENA_ARRAY(a, struct filter_part, spread(f, NULL) + spread(g, NULL));
    n = spread(f, parts);
    n += spread(g, parts + n);
    qsort(parts, n, sizeof *parts, by_text);
    for (size_t i = 1; i < n; i++)
        if (!str_eq(part_text(&parts[i]), part_text(&parts[kept - 1])))
            parts[kept++] = parts[i];
    return kept == 1 ? parts[0].filter : made(a, false, parts, kept);
}

const struct filter *filter_any(struct arena *a, const struct filter_part *parts, size_t n)
{
    struct filter_part *sorted = ARENA_ARRAY(a, struct filter_part, n + 1);

    memcpy(sorted, parts, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_text);
    return made(a, true, sorted, n);
}

/* ---------------------------------------------------------------- reading it back */

bool is_compound(struct str text)
{
    return str_starts(text, STR("all ")) || str_starts(text, STR("any "));
}

static bool read_ids(struct arena *a, struct str list, struct filter_part *out)
{
    size_t n = 1;
    int64_t *ids;

    for (size_t i = 0; i < list.len; i++)
        n += list.ptr[i] == ',';
    ids = ARENA_ARRAY(a, int64_t, n);
    while (list.len > 0) {
        if (!str_to_i64(str_split(&list, ','), &ids[out->n]) ||
            (out->n > 0 && ids[out->n] <= ids[out->n - 1]))
            return false;
        out->n++;
    }
    out->ids = ids;
    return true;
}

static bool read_part(struct arena *a, struct str *rest, int64_t now, int depth,
                      struct filter_part *out)
{
    struct str line = str_split(rest, '\n'), ids = str_split(&line, ' ');
    int64_t len;

    *out = (struct filter_part){.n = 0};
    if (str_is_null(*rest) || !str_to_i64(line, &len) || len < 0 || (size_t)len > rest->len ||
        !read_ids(a, ids, out))
        return false;
    if (len > 0) {
        struct str text = str_slice(*rest, 0, (size_t)len);

        out->filter = is_compound(text) ? compound_read(a, text, now, depth + 1)
                                        : filter_read_at(a, text, now);
        if (out->filter == NULL)
            return false;
    }
    *rest = str_slice(*rest, (size_t)len, rest->len);
    return true;
}

const struct filter *compound_read(struct arena *a, struct str text, int64_t now, int depth)
{
    struct str rest = text, line = str_split(&rest, '\n'), kind = str_split(&line, ' ');
    bool is_any = str_eqz(kind, "any");
    struct filter_part *parts;
    int64_t n;

    if (depth > DEPTH_MAX || !str_to_i64(line, &n) || n < 1 || n > PARTS_MAX)
        return NULL;
    parts = ARENA_ARRAY(a, struct filter_part, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        if (!read_part(a, &rest, now, depth, &parts[i]) ||
            (!is_any && parts[i].filter == NULL))
            return NULL;
    return rest.len == 0 ? made(a, is_any, parts, (size_t)n) : NULL;
}
