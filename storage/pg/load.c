/* storage/pg/load.c - see load.h. What is asked for; the rows of feeds; and the order of all. */
#include "storage/pg/load_priv.h"

#include "base/clock.h"
#include "storage/rows_past.h"
#include "storage/rows_hub.h"
#include "storage/rows_subs.h"
#include "storage/rows_tokens.h"
#include "storage/rows_upstreams.h"

#define PG_ROW struct feed_row
static const struct pg_column feed_columns[] = {FEED_FIXED(PG_COLUMN) FEED_SAVED(PG_COLUMN)
                                                    FEED_UPSTREAM(PG_COLUMN)};
#undef PG_ROW

static const char sql_feeds[] = FEEDS "ANY($1)";

static const char sql_heads[] = "SELECT feed_id, head, ext FROM heads WHERE feed_id = ANY($1)";

/* ---- what is asked for ----------------------------------------------------------------------- */

static void plan_feed(struct pg_load *load, const struct want_feed *want, struct rows *r)
{
    const struct held_feed *f = rows_feed(r, want->id);

    if (f != NULL && f->is_missing)
        return;
    if (f == NULL)
        load->feeds[load->n_feeds++] = want->id;
    if (want->with_head && (f == NULL || !f->has_head))
        load->heads[load->n_heads++] = want->id;
}

static void plan_past(struct pg_load *load, const struct want_past *want, struct rows *r)
{
    const struct held_past *p = rows_past(r, want->feed_id);

    if (p == NULL || !p->loaded->open)
        load->pasts[load->n_pasts++] = want;
    if (want->leads_on && (p == NULL || !p->loaded->counts))
        load->counts[load->n_counts++] = want->feed_id;
    if (want->has_graves && (p == NULL || !p->loaded->n_graves))
        load->n_graves[load->n_n_graves++] = want->feed_id;
}

/* Those of `wanted` that are not held. */
static void plan_rows(struct want_rows *out, enum row_kind kind, const struct want_rows *wanted,
                      struct rows *r)
{
    out->at = ARENA_ARRAY(&r->arena, struct want_row, wanted->n + 1);
    for (size_t i = 0; i < wanted->n; i++)
        if (rows_find(r, kind, wanted->at[i].feed_id, wanted->at[i].text) == NULL)
            out->at[out->n++] = wanted->at[i];
}

static void plan_entry(struct pg_load *load, const struct want_entry *want, struct rows *r)
{
    const struct held_entry_id *known = rows_find(r, ROW_ENTRY_ID, want->id, STR_NULL);

    if (known == NULL)
        load->ids[load->n_ids++] = want->id;
    if (want->with_revision &&
        (known == NULL || (known->entry != NULL && known->entry->newest == NULL)))
        load->newest[load->n_newest++] = want->id;
}

static void plan_sub(struct pg_load *load, const struct want_sub *want, struct rows *r)
{
    const struct held_sub *sub = rows_sub(r, want->id);

    if (sub == NULL)
        load->subs[load->n_subs++] = want->id;
    if (want->with_feeds && (sub == NULL || (sub->held.exists && !sub->has_feeds)))
        load->listed[load->n_listed++] = want->id;
    if (want->with_dead && (sub == NULL || (sub->held.exists && !sub->has_dead)))
        load->deads[load->n_deads++] = want->id;
    if (want->with_rows)
        load->whole[load->n_whole++] = want->id;
    if (want->with_lease && rows_lease(r, want->id) == NULL)
        load->leased[load->n_leased++] = want->id;
}

static void plan_subs(struct pg_load *load, const struct wants *w, struct rows *r)
{
    struct want_match *matches = ARENA_ARRAY(&r->arena, struct want_match, w->n_matches + 1);

    load->subs = ARENA_ARRAY(&r->arena, int64_t, w->subs.n + 1);
    load->listed = ARENA_ARRAY(&r->arena, int64_t, w->subs.n + 1);
    load->deads = ARENA_ARRAY(&r->arena, int64_t, w->subs.n + 1);
    load->whole = ARENA_ARRAY(&r->arena, int64_t, w->subs.n + 1);
    load->leased = ARENA_ARRAY(&r->arena, int64_t, w->subs.n + 1);
    for (size_t i = 0; i < w->subs.n; i++)
        plan_sub(load, &w->subs.at[i], r);
    for (size_t i = 0; i < w->n_matches; i++)
        if (rows_match(r, w->matches[i].sub_id, w->matches[i].url) == NULL)
            matches[load->n_matches++] = w->matches[i];
    load->matches = matches;
}

static void plan_tokens(struct pg_load *load, const struct wants *w, struct rows *r)
{
    load->tokens = ARENA_ARRAY(&r->arena, struct str, w->n_tokens + 1);
    for (size_t i = 0; i < w->n_tokens; i++)
        if (rows_upstream(r, w->tokens[i]) == NULL)
            load->tokens[load->n_tokens++] = w->tokens[i];
}

static void plan_callers(struct pg_load *load, const struct wants *w, struct rows *r)
{
    load->callers = ARENA_ARRAY(&r->arena, int64_t, w->n_callers + 1);
    for (size_t i = 0; i < w->n_callers; i++)
        if (rows_token(r, w->callers[i]) == NULL)
            load->callers[load->n_callers++] = w->callers[i];
}

bool pg_load_plan(struct pg_load *load, const struct wants *w, struct rows *r)
{
    struct arena *a = &r->arena;

    *load = (struct pg_load){.feeds = ARENA_ARRAY(a, int64_t, w->n_feeds + 1),
                             .heads = ARENA_ARRAY(a, int64_t, w->n_feeds + 1),
                             .counts = ARENA_ARRAY(a, int64_t, w->n_pasts + 1),
                             .n_graves = ARENA_ARRAY(a, int64_t, w->n_pasts + 1),
                             .ids = ARENA_ARRAY(a, int64_t, w->n_ids + 1),
                             .newest = ARENA_ARRAY(a, int64_t, w->n_ids + 1),
                             .keys = w->keys,
                             .names = w->names,
                             .n_names = w->n_names,
                             .times = w->times,
                             .n_times = w->n_times,
                             .intents = w->intents,
                             .n_intents = w->n_intents,
                             .websubs = w->websubs,
                             .n_websubs = w->n_websubs,
                             .hub_names = w->hub_names,
                             .n_hub_names = w->n_hub_names,
                             .due_at = w->hub_due ? clock_now_s() : 0,
                             .counts_intents = w->counts_intents,
                             .counts_tokens = w->counts_tokens,
                             .has_views = w->has_views,
                             .n_keys = w->n_keys,
                             .pasts = ARENA_ARRAY(a, const struct want_past *, w->n_pasts + 1)};
    for (size_t i = 0; i < w->n_feeds; i++)
        plan_feed(load, &w->feeds[i], r);
    for (size_t i = 0; i < w->n_pasts; i++)
        plan_past(load, &w->pasts[i], r);
    for (size_t i = 0; i < w->n_ids; i++)
        plan_entry(load, &w->ids[i], r);
    plan_rows(&load->entries, ROW_ENTRY, &w->entries, r);
    plan_rows(&load->archives, ROW_ARCHIVE, &w->archives, r);
    plan_rows(&load->graves, ROW_GRAVE, &w->graves, r);
    plan_subs(load, w, r);
    plan_tokens(load, w, r);
    plan_callers(load, w, r);
    load->places = w->places;
    return load->n_callers + load->n_tokens + load->n_intents + load->n_websubs +
               load->n_hub_names + load->n_leased + load->counts_intents + load->counts_tokens +
               load->has_views +
               (load->due_at != 0) + load->n_feeds + load->n_heads + load->n_pasts +
               load->n_counts + load->n_n_graves + load->n_subs + load->n_listed + load->n_deads +
               load->n_whole + load->n_matches + load->n_names + load->n_times + load->n_ids +
               load->n_newest + load->n_keys + load->entries.n + load->archives.n + load->graves.n +
               load->places.n >
           0;
}

void pg_load_ids(struct pg_link *l, struct pg_params *p, const char *sql, const int64_t *ids,
                 size_t n, const char *letters, struct pg_answer *out)
{
    if (n == 0)
        return;
    pg_params_reset(p);
    pg_put_ints(p, ids, n);
    pg_queue(l, sql, p, letters, out);
}

void pg_load_rows(struct pg_link *l, struct pg_params *p, const char *sql,
                  const struct want_rows *rows, const char *letters, struct pg_answer *out)
{
    struct pg_param *feeds, *texts;

    if (rows->n == 0)
        return;
    pg_params_reset(p);
    feeds = pg_put_array(p, PG_INT);
    texts = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < rows->n; i++) {
        pg_add_int(feeds, rows->at[i].feed_id);
        pg_add_text(p, texts, str_is_null(rows->at[i].text) ? STR("") : rows->at[i].text);
    }
    pg_queue(l, sql, p, letters, out);
}

void pg_load_queue(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    pg_queue_views(load, l); /* no other lock is held while this one is waited for */
    pg_queue_locks(load, l, p);
    pg_load_ids(l, p, sql_feeds, load->feeds, load->n_feeds, FEED_LETTERS, &load->feed_rows);
    pg_load_ids(l, p, sql_heads, load->heads, load->n_heads, "iss", &load->head_rows);
    pg_queue_entries(load, l, p);
    pg_queue_past(load, l, p);
    pg_queue_subs(load, l, p);
    pg_queue_places(load, l, p);
    pg_queue_hub(load, l, p);
    pg_queue_callers(load, l, p);
}

/* ---- what has come --------------------------------------------------------------------------- */

/* Hold feeds that are not held yet. */
static void take_feed_rows(const struct pg_answer *a, struct rows *r)
{
    for (size_t i = 0; i < a->n; i++) {
        struct held_feed *f;
        int at;

        if (rows_feed(r, pg_get_int(a, i, 0)) != NULL)
            continue;
        f = rows_add_feed(r, pg_get_int(a, i, 0));
        f->row = (struct feed_row){.feed.upstream.is_current = true};
        at = pg_get_columns(a, i, 0, PG_COLUMNS(feed_columns), &r->arena, &f->row);
        f->row.feed.n_subscriptions = (int)pg_get_int(a, i, at);
    }
}

static void take_feeds(const struct pg_load *load, struct rows *r)
{
    take_feed_rows(&load->feed_rows, r);
    take_feed_rows(&load->whole_rows, r);
    for (size_t i = 0; i < load->n_feeds; i++)
        if (rows_feed(r, load->feeds[i]) == NULL)
            rows_add_feed(r, load->feeds[i])->is_missing = true;
}

static void take_heads(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->head_rows;

    for (size_t i = 0; i < load->n_heads; i++)
        rows_feed(r, load->heads[i])->has_head = true;
    for (size_t i = 0; i < a->n; i++) {
        struct held_feed *f = rows_feed(r, pg_get_int(a, i, 0));

        f->row.feed.head = pg_get_str(a, i, 1, &r->arena);
        f->row.feed.ext = pg_get_str(a, i, 2, &r->arena);
    }
}

enum rc pg_load_take(const struct pg_load *load, struct rows *r, struct err *err)
{
    if (load->n_whole + load->n_matches > 0 && !pg_were_locked(load, &r->arena))
        return err_set(err, RC_AGAIN, "a feed was renamed meanwhile");
    take_feeds(load, r);
    take_heads(load, r);
    pg_take_entries(load, r);
    pg_take_past(load, r);
    pg_take_subs(load, r);
    pg_take_places(load, r);
    pg_take_hub(load, r);
    pg_take_callers(load, r);
    pg_take_views(load, r);
    return RC_OK;
}
