/* api/lists/sub_part.c - see sub_part.h.
 *
 * What the list is searched and sorted by is read of all subscriptions, without their feeds; whole ones are read for the part
 * alone. How far they lag takes a query of each that has news, so it is asked only when the list is sorted or filtered by it. */
#include "api/lists/sub_part.h"

#include <stdlib.h>

#include "api/lists/list_order.h"
#include "api/lists/sub_shown.h"
#include "api/views/shapes.h"
#include "api/views/sub_book.h"
#include "base/clock.h"
#include "feed/text/json.h"
#include "model/view.h"
#include "storage/pushes.h"

#define AT_ONCE 2000     /* subscriptions that are read in one turn */
#define LAGS_AT_ONCE 100 /* that are read with their feeds */
#define LATE_S 60

/* As the rows of the parameters have them. Those up to COUNTED are counted. */
enum { STATE_ANY, STATE_ACTIVE, STATE_FAILING, STATE_SUSPENDED, STATE_PAUSED, STATE_DEAD, STATE_FETCHED, STATE_WRONG, COUNTED,
       STATE_LATE = COUNTED };
enum { BY_ID, BY_ENDPOINT, BY_SINK, BY_STATE, BY_FEEDS, BY_LAG, BY_DEAD, BY_SINCE };

struct row {
    const struct sub_summary *sub;
    int64_t n_dead;
    struct sub_lag lag; /* if it is asked for */
    bool is_last;       /* it has nothing to sort by */
    struct str text;    /* by which it is sorted, or, if that is empty, */
    int64_t number;
};

struct sub_part {
    struct str q;
    int state, sort;
    bool descending;
    int64_t skip, len;
    struct str key, words; /* of its order; folded */
    int64_t edition;       /* of the subscriptions, when it began */
    bool has_begun, is_read;
    struct dead_count *dead; /* ascending by the subscription */
    size_t n_dead;
    int64_t after;    /* the last one that was read */
    struct row *rows; /* those that fit, by id */
    size_t n, cap;
    size_t n_lags; /* rows whose lag is known */
    int64_t *counts;
    struct list_order *order;
};

/* ---- which ones ------------------------------------------------------------------------------ */

static bool is_failing(const struct sub_summary *s)
{
    return s->state == SUB_ACTIVE && s->failing_since != TIME_UNKNOWN;
}

static bool is_in(int state, const struct row *row)
{
    const struct sub_summary *s = row->sub;

    switch (state) {
    case STATE_ACTIVE:
        return s->state == SUB_ACTIVE && !is_failing(s);
    case STATE_FAILING:
        return is_failing(s);
    case STATE_SUSPENDED:
        return s->state == SUB_SUSPENDED;
    case STATE_PAUSED:
        return s->state == SUB_PAUSED;
    case STATE_DEAD:
        return row->n_dead > 0;
    case STATE_FETCHED:
        return str_is_null(s->endpoint);
    case STATE_WRONG:
        return s->state == SUB_SUSPENDED || is_failing(s) || row->n_dead > 0;
    case STATE_LATE: /* it may be: leave_late() */
        return !str_is_null(s->endpoint);
    default:
        return true;
    }
}

static bool has_words(struct arena *a, struct str words, const struct sub_summary *s)
{
    return words.len == 0 ||
           list_has_words(list_folded(a, str_printf(a, "%lld %.*s %.*s", (long long)s->id, STR_ARG(s->endpoint),
                                                    STR_ARG(s->sink))),
                          words);
}

static void add_row(struct task *t, struct sub_part *part, const struct row *row)
{
    if (part->n == part->cap) {
        size_t cap = part->cap == 0 ? 64 : 2 * part->cap;
        struct row *grown = ARENA_ARRAY(&t->arena, struct row, cap);

        for (size_t i = 0; i < part->n; i++)
            grown[i] = part->rows[i];
        part->rows = grown;
        part->cap = cap;
    }
    part->rows[part->n++] = *row;
}

/* Count them, and keep those that fit. */
static void choose(struct task *t, struct sub_part *part, const struct sub_summary *subs, size_t n)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        struct row row = {.sub = &subs[i]};

        while (k < part->n_dead && part->dead[k].sub_id < subs[i].id)
            k++;
        if (!caller_has(&t->caller, subs[i].owner))
            continue;
        row.n_dead = k < part->n_dead && part->dead[k].sub_id == subs[i].id ? part->dead[k].n : 0;
        for (int state = STATE_ANY; state < COUNTED; state++)
            part->counts[state] += is_in(state, &row);
        if (is_in(part->state, &row) && has_words(&t->arena, part->words, &subs[i]))
            add_row(t, part, &row);
    }
}

/* The first part is always found anew. Those that follow are cut from the order that it had, if that is known still. */
static enum rc begin(struct task *t, struct reader *r, struct sub_part *part)
{
    part->has_begun = true;
    part->key = str_printf(&t->arena, "subscriptions %d %lld %d %d %d %d %.*s", t->caller.role, (long long)t->caller.owner,
                           t->caller.is_alone, part->state, part->sort, part->descending, STR_ARG(part->q));
    part->words = list_folded(&t->arena, str_trim(part->q));
    part->edition = sub_book_edition(t->api->subs);
    if (part->skip > 0)
        part->order = list_orders_get(t->api->list_orders, part->key, part->edition);
    part->counts = ARENA_ARRAY(&t->arena, int64_t, COUNTED);
    return part->order != NULL ? RC_OK
                               : reader_dead_counts(r, 1, INT64_MAX, &t->arena, &part->dead, &part->n_dead, &t->err);
}

/* Read the next ones. */
static enum rc read_some(struct task *t, struct reader *r, struct sub_part *part)
{
    struct sub_summary *subs;
    size_t n;
    enum rc rc = reader_subs_listed(r, part->after, AT_ONCE, &t->arena, &subs, &n, &t->err);

    if (rc != RC_OK)
        return rc;
    choose(t, part, subs, n);
    part->is_read = n < AT_ONCE;
    if (n > 0)
        part->after = subs[n - 1].id;
    return RC_OK;
}

/* ---- how far they lag ------------------------------------------------------------------------ */

static bool needs_lags(const struct sub_part *part)
{
    return part->sort == BY_LAG || part->state == STATE_LATE;
}

/* Of the next rows. One that has ended meanwhile lags no more. */
static enum rc read_lags(struct task *t, struct reader *r, struct sub_part *part)
{
    AUTO(arena_release) struct arena scratch = ARENA_INIT;
    int64_t ids[LAGS_AT_ONCE];
    struct subscription *subs;
    size_t n = 0, n_subs, at = part->n_lags;
    enum rc rc;

    for (; part->n_lags < part->n && n < LAGS_AT_ONCE; part->n_lags++)
        if (!str_is_null(part->rows[part->n_lags].sub->endpoint))
            ids[n++] = part->rows[part->n_lags].sub->id;
    rc = reader_subs(r, ids, n, &scratch, &subs, &n_subs, &t->err);
    for (size_t i = 0; rc == RC_OK && i < n_subs; i++) {
        while (part->rows[at].sub->id != subs[i].id)
            at++;
        rc = reader_lag(r, &subs[i], &part->rows[at].lag, &t->err);
        if (rc == RC_UNSUPPORTED) /* its filter cannot be read: so it says itself (sub_shown.c) */
            rc = RC_OK;
    }
    return rc;
}

/* Leave out those that are not late. */
static void leave_late(struct sub_part *part)
{
    int64_t now_us = clock_now_us();
    size_t n = 0;

    for (size_t i = 0; i < part->n; i++)
        if (shape_lag_s(&part->rows[i].lag, now_us) > LATE_S)
            part->rows[n++] = part->rows[i];
    part->n = n;
}

/* ---- in which order -------------------------------------------------------------------------- */

static void set_key(int sort, struct row *row)
{
    const struct sub_summary *s = row->sub;

    row->is_last = str_is_null(s->endpoint) && (sort == BY_ENDPOINT || sort == BY_SINK || sort == BY_LAG);
    row->text = sort == BY_ENDPOINT ? s->endpoint
                : sort == BY_SINK   ? s->sink
                : sort == BY_STATE  ? str_from(is_failing(s) ? "failing" : sub_state_name(s->state))
                                    : STR("");
    row->number = sort == BY_FEEDS   ? s->n_feeds
                  : sort == BY_LAG   ? row->lag.n
                  : sort == BY_DEAD  ? row->n_dead
                  : sort == BY_SINCE ? s->created_at
                                     : 0;
}

static int compare(const struct row *a, const struct row *b)
{
    int by_text = a->is_last ? 0 : str_cmp(a->text, b->text);

    if (by_text != 0)
        return by_text;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->sub->id < b->sub->id ? -1 : a->sub->id > b->sub->id;
}

static int compare_up(const void *x, const void *y)
{
    const struct row *a = x, *b = y;

    return a->is_last != b->is_last ? a->is_last - b->is_last : compare(a, b);
}

static int compare_down(const void *x, const void *y)
{
    const struct row *a = x, *b = y;

    return a->is_last != b->is_last ? a->is_last - b->is_last : compare(b, a);
}

/* Put the rows in order, and keep that for the parts that follow. */
static void make_order(struct task *t, struct sub_part *part)
{
    struct list_order *o = list_order_new(part->key, part->edition);
    int64_t *counts;

    if (part->state == STATE_LATE)
        leave_late(part);
    for (size_t i = 0; i < part->n; i++)
        set_key(part->sort, &part->rows[i]);
    if (part->n > 0)
        qsort(part->rows, part->n, sizeof *part->rows, part->descending ? compare_down : compare_up);
    o->ids = ARENA_ARRAY(&o->arena, int64_t, part->n + 1);
    for (o->n = 0; o->n < part->n; o->n++)
        o->ids[o->n] = part->rows[o->n].sub->id;
    counts = ARENA_ARRAY(&o->arena, int64_t, COUNTED);
    for (int state = STATE_ANY; state < COUNTED; state++)
        counts[state] = part->counts[state];
    o->counts = counts;
    if (part->n > (size_t)part->len)
        list_orders_keep(t->api->list_orders, o);
    part->order = o;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static int by_id(const void *key, const void *sub)
{
    int64_t id = *(const int64_t *)key, other = ((const struct subscription *)sub)->id;

    return (id > other) - (id < other);
}

/* The subscriptions of the part, as they are now and in its order, without those that have ended meanwhile. */
static enum rc read_part(struct task *t, struct reader *r, const struct sub_part *part, struct value *out)
{
    const struct list_order *o = part->order;
    size_t skip = (size_t)part->skip < o->n ? (size_t)part->skip : o->n, n_subs;
    size_t n = o->n - skip < (size_t)part->len ? o->n - skip : (size_t)part->len;
    int64_t *ids = ARENA_ARRAY(&t->arena, int64_t, n + 1);
    struct value *list = value_list(&t->arena);
    struct subscription *subs;
    enum rc rc;

    for (size_t i = 0; i < n; i++)
        ids[i] = o->ids[skip + i];
    rc = reader_subs(r, ids, view_ids_sort(ids, n), &t->arena, &subs, &n_subs, &t->err);
    if (rc == RC_OK && n_subs > 0)
        rc = subs_shown(t, r, subs, n_subs, true, list, &t->err);
    for (size_t i = skip; i < skip + n && rc == RC_OK && n_subs > 0; i++) {
        const struct subscription *sub = bsearch(&o->ids[i], subs, n_subs, sizeof *subs, by_id);

        if (sub != NULL)
            value_push(&t->arena, out, value_at(list, (size_t)(sub - subs)));
    }
    return rc;
}

static struct value *shape_counts(struct arena *a, const int64_t *counts)
{
    static const char *const names[COUNTED] = {"any", "active", "failing", "suspended", "paused", "dead", "fetched", "wrong"};
    struct value *v = value_dict(a);

    for (int state = STATE_ANY; state < COUNTED; state++)
        value_set(a, v, str_from(names[state]), value_int(a, counts[state]));
    return v;
}

static enum rc finish(struct task *t, struct reader *r, struct sub_part *part, struct buf *out)
{
    struct arena *a = &t->arena;
    struct value *v = value_dict(a), *subs = value_list(a);
    enum rc rc;

    if (part->order == NULL)
        make_order(t, part);
    rc = read_part(t, r, part, subs);
    if (rc != RC_OK)
        return rc;
    value_setz(a, v, "total", value_int(a, (int64_t)part->order->n));
    value_setz(a, v, "counts", shape_counts(a, part->order->counts));
    value_setz(a, v, "subscriptions", subs);
    value_setz(a, v, "feeds", value_list(a)); /* as in the whole list */
    value_setz(a, v, "last_seq", value_int(a, store_last_seq(t->api->store)));
    json_write(out, v);
    buf_putc(out, '\n');
    return RC_OK;
}

enum task_step sub_part_step(struct task *t, struct reader *r, struct sub_part *part, struct buf *out)
{
    t->rc = part->has_begun ? RC_OK : begin(t, r, part);
    if (t->rc != RC_OK)
        return TASK_ENDS;
    if (part->order == NULL && !part->is_read)
        t->rc = read_some(t, r, part);
    else if (part->order == NULL && needs_lags(part) && part->n_lags < part->n)
        t->rc = read_lags(t, r, part);
    if (t->rc != RC_OK)
        return TASK_ENDS;
    if (part->order == NULL && (!part->is_read || (needs_lags(part) && part->n_lags < part->n))) {
        t->rc = RC_TIMEOUT; /* unless there is another turn in time */
        return TASK_YIELDS;
    }
    t->rc = finish(t, r, part, out);
    return TASK_ENDS;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

bool sub_part_read(const struct params *ps, struct arena *a, struct sub_part **out, struct problem *p)
{
    static const enum param_id asking[] = {PARAM_subs_q, PARAM_subs_state, PARAM_subs_sort, PARAM_descending, PARAM_skip,
                                           PARAM_subs_len};
    struct sub_part part = {.n = 0};
    bool is_asked = false;

    for (size_t i = 0; i < ARRAY_LEN(asking); i++)
        is_asked = is_asked || params_has(ps, asking[i]);
    *out = NULL;
    if (!is_asked)
        return true;
    *out = ARENA_NEW(a, struct sub_part);
    if (!params_optional(ps, a, PARAM_subs_q, &part.q, p) || !params_choice(ps, a, PARAM_subs_state, &part.state, p) ||
        !params_choice(ps, a, PARAM_subs_sort, &part.sort, p) ||
        !params_flag(ps, a, PARAM_descending, &part.descending, p) || !params_count(ps, a, PARAM_skip, &part.skip, p) ||
        !params_count(ps, a, PARAM_subs_len, &part.len, p))
        return false;
    **out = part;
    return true;
}

struct sub_part *sub_part_copy(struct task *t, const struct sub_part *part)
{
    struct sub_part *copy = ARENA_NEW(&t->arena, struct sub_part);

    *copy = *part;
    copy->q = str_dup(&t->arena, part->q);
    return copy;
}

void sub_part_release(struct sub_part *part)
{
    if (part != NULL)
        list_order_unref(&part->order);
}
