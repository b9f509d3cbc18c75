/* storage/pg/writer.c - see writer.h.
 *
 * What carries no number is written first. Then the row of the log is updated, which locks it until
 * the commit; what follows makes its numbers of that row. All of it was sent by then, so nobody
 * waits for this process under the lock. */
#include "storage/pg/writer.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "storage/pg/collect.h"
#include "storage/pg/load.h"
#include "storage/pg/forget_feed.h"
#include "storage/pg/retain.h"
#include "storage/pg/merge_feeds.h"

struct pg_writer {
    struct pg_link *l;
    struct pg_params params;
    int64_t node, group_no; /* of the notice that is written next, or was written last */
    bool has_begun;
    struct pg_ids ids;
};

#define CLOCK_US "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

/* $1 to $3: how many numbers of each kind are drawn. Gives what was there before the first. */
static const char sql_number[] =
    "UPDATE log SET last_seq = last_seq + $1, last_at_us = CASE WHEN $2 = 0 THEN last_at_us ELSE"
    " greatest(last_at_us + $2, " CLOCK_US ") END, version = CASE WHEN $3 = 0 THEN version ELSE"
    " greatest(version + $3, " CLOCK_US ") END, last_notice = last_notice + 1 WHERE one"
    " RETURNING last_seq - $1, last_at_us - $2, version - $3, last_notice";

/* $6: the first revision of each feed, counted within the transaction, which draws $3 of them; 0:
 * it has none. */
static const char sql_notice[] =
    "INSERT INTO notices (n, node, group_no, at_us, last_seq, last_at_us, version, feeds,"
    " feed_bits, feed_seqs, subs, tried_subs, intents, verdicts, codes, statuses, has_hub_news,"
    " has_view_news)"
    " SELECT last_notice, $1, $2, " CLOCK_US ", last_seq, last_at_us, version, $4, $5,"
    " ARRAY(SELECT CASE WHEN k = 0 THEN 0 ELSE last_seq - $3 + k END"
    " FROM unnest($6) WITH ORDINALITY AS f (k, i) ORDER BY i), $7, $8, $9, $10, $11, $12, $13, $14"
    " FROM log WHERE one";

static const char sql_find_notice[] =
    "SELECT last_seq, last_at_us, version, n FROM notices WHERE node = $1 AND group_no = $2";

static const char sql_mark[] = "INSERT INTO unnoticed (node, group_no) VALUES ($1, $2)"
                               " ON CONFLICT (node) DO UPDATE SET group_no = excluded.group_no";

static const char sql_find_mark[] =
    "SELECT group_no FROM unnoticed WHERE node = $1 AND group_no = $2";

/* Whose notice it is, so that the node itself need not look. */
static const char sql_notify[] = "SELECT pg_notify('feedmill', $1::text)::text";

/* Names, and what is left of each rest, in milliseconds. In one order, so that nodes do not wait
 * for each other in a circle. */
static const char sql_rest[] =
    "INSERT INTO hosts (host, cool_us, gentle_us) SELECT host, " CLOCK_US
    " + cool * 1000, " CLOCK_US
    " + gentle * 1000 FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS t (host, cool, gentle)"
    " ORDER BY host COLLATE \"C\" ON CONFLICT (host) DO UPDATE SET"
    " cool_us = greatest(hosts.cool_us, excluded.cool_us),"
    " gentle_us = greatest(hosts.gentle_us, excluded.gentle_us)";

/* As FEED_EVENTS_KEPT (storage/records.h). */
static const char sql_bound_events[] =
    "DELETE FROM feed_events WHERE seq IN (SELECT old.seq FROM unnest($1::bigint[]) AS f (id)"
    " CROSS JOIN LATERAL (SELECT e.seq FROM feed_events e WHERE e.feed_id = f.id"
    " ORDER BY e.seq DESC OFFSET $2) AS old)";

struct pg_writer *pg_writer_new(struct pg_link *l, int64_t node)
{
    struct pg_writer *w = NEW(struct pg_writer);

    w->l = l;
    w->node = node;
    pg_ids_init(&w->ids, l, &w->params);
    return w;
}

void pg_writer_free(struct pg_writer **wp)
{
    if (*wp == NULL)
        return;
    pg_params_release(&(*wp)->params);
    pg_ids_release(&(*wp)->ids);
    mem_free(*wp);
    *wp = NULL;
}

struct pg_link *pg_writer_link(const struct pg_writer *w)
{
    return w->l;
}

/* ---- loading --------------------------------------------------------------------------------- */

static void begin(struct pg_writer *w)
{
    if (!w->has_begun)
        pg_queue_begin(w->l);
    w->has_begun = true;
}

enum rc pg_writer_load(struct pg_writer *w, const struct wants *wants, struct rows *r,
                       struct err *err)
{
    struct pg_load load;
    bool is_wanting = pg_load_plan(&load, wants, r);
    enum rc rc;

    w->ids.n_new +=
        wants->entries.n + wants->n_feeds; /* each entry or content may get a revision */
    if (!is_wanting && !pg_ids_are_short(&w->ids, wants))
        return RC_OK;
    begin(w);
    pg_load_queue(&load, w->l, &w->params);
    pg_ids_queue(&w->ids, wants);
    rc = pg_run(w->l, err);
    if (rc != RC_OK)
        return rc;
    pg_ids_take(&w->ids, wants, r); /* drawn, whatever comes of the rest */
    rc = pg_load_take(&load, r, err);
    return rc == RC_OK ? pg_ids_make_room(&w->ids, err) : rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The first number that is not drawn yet, of each kind. */
static void numbers_of(const struct txn *t, int64_t out[3])
{
    out[0] = t->last_seq;
    out[1] = t->last_at_us;
    out[2] = t->version;
}

static void queue_saves(struct pg_writer *w, const struct txn *t, const struct collected *c,
                        size_t from, size_t to)
{
    int64_t numbers[3];

    numbers_of(t, numbers);
    for (size_t i = from; i < to; i++) {
        if (c->n[i] == 0)
            continue;
        pg_params_reset(&w->params);
        pg_save_put(&w->params, (enum pg_save)i, numbers, c->rows[i], c->n[i]);
        pg_queue(w->l, pg_save_sql((enum pg_save)i), &w->params, "", NULL);
    }
}

static void queue_numbers(struct pg_writer *w, const struct txn *t, struct pg_answer *out)
{
    int64_t numbers[3];

    numbers_of(t, numbers);
    pg_params_reset(&w->params);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        pg_put_int(&w->params, numbers[i] - NUMBERS_HERE);
    pg_queue(w->l, sql_number, &w->params, "iiii", out);
}

static void queue_rests(struct pg_writer *w, const struct shelf *s)
{
    struct pg_param *names, *cool, *gentle;
    int64_t now_ms = clock_mono_ms();

    if (s->n_touched == 0)
        return;
    pg_params_reset(&w->params);
    names = pg_put_array(&w->params, PG_TEXT);
    cool = pg_put_array(&w->params, PG_INT);
    gentle = pg_put_array(&w->params, PG_INT);
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_host *h = (const struct held_host *)s->touched[i];

        pg_add_text(&w->params, names, h->name);
        pg_add_int(cool, h->cool_until_ms - now_ms);
        pg_add_int(gentle, h->gentle_until_ms - now_ms);
    }
    pg_queue(w->l, sql_rest, &w->params, "", NULL);
}

static const char sql_drop_feeds[] = "DELETE FROM feeds WHERE id = ANY($1)";

static void queue_bound(struct pg_writer *w, const struct rows *r)
{
    struct pg_param *feeds;

    if (r->n_events == 0)
        return;
    pg_params_reset(&w->params);
    feeds = pg_put_array(&w->params, PG_INT);
    for (size_t i = 0; i < r->n_events; i++)
        pg_add_int(feeds, r->events[i].feed_id);
    pg_put_int(&w->params, FEED_EVENTS_KEPT);
    pg_queue(w->l, sql_bound_events, &w->params, "", NULL);
}

/* What others are told of a feed; 0: nothing. */
static int64_t bits_of(const struct txn_feed *f)
{
    int64_t bits = 0;

    bits |= f->is_new ? NOTICE_NEW : 0;
    bits |= f->is_pinged ? NOTICE_PINGED : 0;
    bits |= f->first_seq != 0 ? NOTICE_NEWS : 0;
    bits |= f->has_event ? NOTICE_EVENT : 0;
    bits |= f->reload_keys ? NOTICE_KEYS : 0;
    bits |= f->is_wanted ? NOTICE_WANTED : 0;
    bits |= f->has_time ? NOTICE_ROW : 0;
    bits |= f->is_read || (f->row != NULL && f->row->feed.version >= NUMBERS_HERE) ? NOTICE_ROW : 0;
    if (f->merged_into != 0)
        bits |= f->merged_into * 256 | NOTICE_MERGED;
    else if (f->is_answered)
        bits |= ((int64_t)f->answer + 1) * NOTICE_ANSWER;
    return f->is_by_hand ? bits | NOTICE_BY_HAND : bits;
}

/* Polls without news and outcomes of deliveries are told to nobody. The notes are folded. */
static bool needs_notice(const struct txn *t)
{
    bool needs = t->n_subs > 0 || t->n_settled > 0 || t->has_hub_news || t->has_view_news ||
                 t->last_seq != NUMBERS_HERE || t->version != NUMBERS_HERE;

    for (size_t i = 0; i < t->n_feeds && !needs; i++)
        needs = bits_of(&t->feeds[i]) != 0;
    return needs;
}

/* Of a transaction without a notice: would it matter if it were carried out twice? The row of a
 * feed says how it is after a request. Other rows count something. */
static bool needs_mark(const struct txn *t)
{
    size_t n = 0;

    for (size_t i = 0; i < ROW_KINDS; i++)
        n += i == ROW_FEED ? 0 : t->rows.shelves[i].n_touched;
    return n > 0;
}

static void put_feeds(struct pg_params *p, const struct txn *t)
{
    struct pg_param *ids = pg_put_array(p, PG_INT), *bits = pg_put_array(p, PG_INT);
    struct pg_param *firsts = pg_put_array(p, PG_INT);

    for (size_t i = 0; i < t->n_feeds; i++) {
        const struct txn_feed *f = &t->feeds[i];

        if (bits_of(f) == 0)
            continue;
        pg_add_int(ids, f->id);
        pg_add_int(bits, bits_of(f));
        pg_add_int(firsts, f->first_seq == 0 ? 0 : f->first_seq - NUMBERS_HERE);
    }
}

static void put_settled(struct pg_params *p, const struct txn *t)
{
    struct pg_param *intents = pg_put_array(p, PG_INT), *verdicts = pg_put_array(p, PG_INT);
    struct pg_param *codes = pg_put_array(p, PG_INT), *statuses = pg_put_array(p, PG_INT);

    for (size_t i = 0; i < t->n_settled; i++) {
        const struct hub_settled *s = &t->settled[i];

        pg_add_int(intents, s->intent_id);
        pg_add_int(verdicts,
                   (s->confirmed ? VERDICT_CONFIRMED : 0) | (s->unreached ? VERDICT_UNREACHED : 0));
        pg_add_int(codes, s->rc);
        pg_add_int(statuses, s->status);
    }
}

static void queue_notice(struct pg_writer *w, const struct txn *t)
{
    struct pg_params *p = &w->params;

    pg_params_reset(p);
    pg_put_int(p, w->node);
    pg_put_int(p, w->group_no);
    pg_put_int(p, t->last_seq - NUMBERS_HERE);
    put_feeds(p, t);
    pg_put_ints(p, t->subs, t->n_subs);
    pg_put_ints(p, t->tried_subs, t->n_tried_subs);
    put_settled(p, t);
    pg_put_bool(p, t->has_hub_news);
    pg_put_bool(p, t->has_view_news);
    pg_queue(w->l, sql_notice, p, "", NULL);
    pg_params_reset(p);
    pg_put_int(p, w->node);
    pg_queue(w->l, sql_notify, p, "s", NULL);
}

/* The parameters of a statement about this group. */
static void put_group(struct pg_writer *w)
{
    pg_params_reset(&w->params);
    pg_put_int(&w->params, w->node);
    pg_put_int(&w->params, w->group_no);
}

static void set_base(struct txn_base *base, const int64_t before[3], int64_t notice)
{
    *base = (struct txn_base){before[0] - NUMBERS_HERE, before[1] - NUMBERS_HERE,
                              before[2] - NUMBERS_HERE, notice};
}

static void queue_all(struct pg_writer *w, struct txn *t, struct pg_answer *number)
{
    struct collected c = {.n = {0}};
    bool has_notice = needs_notice(t), has_mark = needs_mark(t);

    collect_rows(&w->ids, &c, &t->rows.arena, &t->rows);
    begin(w);
    queue_saves(w, t, &c, 0, SAVE_NUMBERED);
    queue_rests(w, &t->rows.shelves[ROW_HOST]);
    if (has_notice)
        queue_numbers(w, t, number);
    queue_saves(w, t, &c, SAVE_NUMBERED, SAVE_KINDS);
    queue_bound(w, &t->rows);
    if (has_notice) {
        w->group_no++;
        queue_notice(w, t);
    } else if (has_mark) {
        w->group_no++;
        put_group(w);
        pg_queue(w->l, sql_mark, &w->params, "", NULL);
    }
    collected_release(&c);
}

void pg_writer_queue_rows(struct pg_writer *w, struct txn *t)
{
    struct collected c = {.n = {0}};

    ASSERT(t->last_seq == NUMBERS_HERE && t->version == NUMBERS_HERE);
    collect_rows(&w->ids, &c, &t->rows.arena, &t->rows);
    begin(w);
    queue_saves(w, t, &c, 0, SAVE_KINDS);
    queue_rests(w, &t->rows.shelves[ROW_HOST]);
    collected_release(&c);
    pg_ids_keep(&w->ids, &t->rows);
    rows_written(&t->rows);
}

enum rc pg_writer_merge_feeds(struct pg_writer *w, const struct feed *from, const struct feed *to,
                              bool with_heads, struct arena *a, struct merged_feeds *out,
                              struct err *err)
{
    return pg_merge_feeds(w->l, &w->params, from, to, with_heads, a, out, err);
}

enum rc pg_writer_forget_feed(struct pg_writer *w, int64_t id, struct arena *a, int64_t **subs,
                              size_t *n_subs, struct err *err)
{
    return pg_forget_feed(w->l, &w->params, id, a, subs, n_subs, err);
}

enum rc pg_writer_old_revisions(struct pg_writer *w, int64_t feed_id, int64_t after, int64_t limit,
                                size_t max, struct arena *a, struct old_revisions *out,
                                struct err *err)
{
    return pg_old_revisions(w->l, &w->params, feed_id, after, limit, max, a, out, err);
}

enum rc pg_writer_take_revisions(struct pg_writer *w, int64_t feed_id, const struct taken *what,
                                 int64_t now, struct err *err)
{
    return pg_take_revisions(w->l, &w->params, feed_id, what, now, err);
}

enum rc pg_writer_gone_entries(struct pg_writer *w, int64_t feed_id, const struct gone_entry *after,
                               int64_t before, size_t max, struct arena *a, struct gone_entry **out,
                               size_t *n, struct err *err)
{
    return pg_gone_entries(w->l, &w->params, feed_id, after, before, max, a, out, n, err);
}

enum rc pg_writer_end_entries(struct pg_writer *w, int64_t feed_id, const struct ended *what,
                              int64_t now, struct err *err)
{
    return pg_end_entries(w->l, &w->params, feed_id, what, now, err);
}

/* What refers to them goes with them. */
void pg_writer_drop_feeds(struct pg_writer *w, const int64_t *ids, size_t n)
{
    pg_params_reset(&w->params);
    pg_put_ints(&w->params, ids, n);
    pg_queue(w->l, sql_drop_feeds, &w->params, "", NULL);
}

enum rc pg_writer_commit(struct pg_writer *w, struct txn *t, struct txn_base *base, struct err *err)
{
    struct pg_answer number = {.n = 0};
    int64_t before[3];
    enum rc rc;

    txn_fold(t);
    if (!w->has_begun && !rows_is_dirty(&t->rows) && !needs_notice(t))
        return RC_OK;
    queue_all(w, t, &number);
    pg_ids_keep(&w->ids, &t->rows);
    rc = pg_commit(w->l, err);
    if (rc != RC_OK)
        return rc;
    for (int i = 0; i < 3; i++)
        before[i] = number.n == 0 ? NUMBERS_HERE : pg_get_int(&number, 0, i);
    set_base(base, before, number.n == 0 ? 0 : pg_get_int(&number, 0, 3));
    w->has_begun = false;
    w->ids.n_new = 0;
    return RC_OK;
}

void pg_writer_rollback(struct pg_writer *w)
{
    pg_rollback(w->l);
    w->has_begun = false;
    w->ids.n_new = 0;
}

/* Was a transaction without a notice done? It has drawn no numbers. */
static enum rc find_mark(struct pg_writer *w, const struct txn *t, bool *out, struct txn_base *base,
                         struct err *err)
{
    struct pg_answer a;
    enum rc rc;

    put_group(w);
    pg_queue(w->l, sql_find_mark, &w->params, "i", &a);
    rc = pg_run(w->l, err);
    *out = rc == RC_OK && needs_mark(t) && a.n == 1;
    *base = (struct txn_base){.seq = 0};
    return rc;
}

enum rc pg_writer_was_committed(struct pg_writer *w, const struct txn *t, bool *out,
                                struct txn_base *base, struct err *err)
{
    struct pg_answer a;
    int64_t before[3], numbers[3];
    enum rc rc;

    if (!needs_notice(t))
        return find_mark(w, t, out, base, err);
    numbers_of(t, numbers);
    put_group(w);
    pg_queue(w->l, sql_find_notice, &w->params, "iiii", &a);
    rc = pg_run(w->l, err);
    if (rc != RC_OK)
        return rc;
    *out = a.n == 1;
    for (int i = 0; i < 3 && *out; i++)
        before[i] = pg_get_int(&a, 0, i) - (numbers[i] - NUMBERS_HERE);
    if (*out)
        set_base(base, before, pg_get_int(&a, 0, 3));
    return RC_OK;
}
