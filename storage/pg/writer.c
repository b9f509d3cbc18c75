/* storage/pg/writer.c - see writer.h.
 *
 * What carries no number is written first. Then the row of the log is updated, which locks it until
 * the commit; what follows makes its numbers of that row. All of it was sent by then, so nobody
 * waits for this process under the lock. */
#include "storage/pg/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"
#include "storage/hub_feeds.h"
#include "storage/pg/load.h"
#include "storage/pg/merge_feeds.h"
#include "storage/pg/saves.h"
#include "storage/rows_past.h"
#include "storage/rows_hub.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_upstreams.h"

#define BLOCK 1000 /* ids that are drawn at once (storage/pg/schema_pg.sql) */

/* Ids of new rows: blocks that were drawn before they are needed. */
struct ids {
    const char *sql, *columns;
    int64_t *blocks; /* the first of each; used from the end */
    size_t n, cap;
    int64_t next, end; /* of the block in use */
    struct pg_answer drawn;
};

struct spare {
    int64_t *ids;
    size_t n, cap;
    struct pg_answer drawn;
};

struct pg_writer {
    struct pg_link *l;
    struct pg_params params;
    int64_t node, group_no; /* of the notice that is written next, or was written last */
    bool has_begun;
    size_t n_new; /* rows that this transaction may add: that many ids are needed */
    struct ids entry_ids, body_ids;
    struct spare spare[NEW_ROWS]; /* ids that were drawn and are not used yet */
};

/* Blocks of ids. */
static const char sql_entry_ids[] =
    "SELECT nextval('entry_blocks') FROM generate_series(1, $1) AS n";

/* Each block with whether its partition is there, and the one that comes after it. */
static const char sql_body_ids[] =
    "SELECT b.n, to_regclass('bodies_' || b.n / 10000) IS NOT NULL,"
    " to_regclass('bodies_' || (b.n + 2000) / 10000) IS NOT NULL"
    " FROM (SELECT nextval('body_blocks') AS n FROM generate_series(1, $1)) AS b";
#define BLOCKS_OF_PARTITION 10000
#define BLOCKS_AHEAD 2000 /* so long before it is needed a partition is made */

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
    " feed_bits, feed_seqs, subs, tried_subs, intents, verdicts, codes, statuses, has_hub_news)"
    " SELECT last_notice, $1, $2, " CLOCK_US ", last_seq, last_at_us, version, $4, $5,"
    " ARRAY(SELECT CASE WHEN k = 0 THEN 0 ELSE last_seq - $3 + k END"
    " FROM unnest($6) WITH ORDINALITY AS f (k, i) ORDER BY i), $7, $8, $9, $10, $11, $12, $13"
    " FROM log WHERE one";

static const char sql_find_notice[] =
    "SELECT last_seq, last_at_us, version, n FROM notices WHERE node = $1 AND group_no = $2";

static const char sql_mark[] = "INSERT INTO unnoticed (node, group_no) VALUES ($1, $2)"
                               " ON CONFLICT (node) DO UPDATE SET group_no = excluded.group_no";

static const char sql_find_mark[] =
    "SELECT group_no FROM unnoticed WHERE node = $1 AND group_no = $2";

/* Whose notice it is, so that the node itself need not look. */
static const char sql_notify[] = "SELECT pg_notify('feedmill', $1::text)::text";

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
    w->entry_ids.sql = sql_entry_ids;
    w->entry_ids.columns = "i";
    w->body_ids.sql = sql_body_ids;
    w->body_ids.columns = "ioo";
    return w;
}

void pg_writer_free(struct pg_writer **wp)
{
    if (*wp == NULL)
        return;
    pg_params_release(&(*wp)->params);
    mem_free((*wp)->entry_ids.blocks);
    mem_free((*wp)->body_ids.blocks);
    for (size_t i = 0; i < NEW_ROWS; i++)
        mem_free((*wp)->spare[i].ids);
    mem_free(*wp);
    *wp = NULL;
}

struct pg_link *pg_writer_link(const struct pg_writer *w)
{
    return w->l;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static size_t ids_left(const struct ids *ids)
{
    return (size_t)(ids->end - ids->next) + ids->n * BLOCK;
}

/* Queue the drawing of more, if there may be too few for this transaction. */
static void want_ids(struct pg_writer *w, struct ids *ids)
{
    size_t left = ids_left(ids);

    ids->drawn = (struct pg_answer){.n = 0};
    if (left >= w->n_new)
        return;
    pg_params_reset(&w->params);
    pg_put_int(&w->params, (int64_t)((w->n_new - left + BLOCK - 1) / BLOCK));
    pg_queue(w->l, ids->sql, &w->params, ids->columns, &ids->drawn);
}

static void take_ids(struct ids *ids)
{
    ids->blocks = mem_grow(ids->blocks, &ids->cap, ids->n + ids->drawn.n, sizeof *ids->blocks);
    for (size_t i = ids->drawn.n; i-- > 0;)
        ids->blocks[ids->n++] = pg_get_int(&ids->drawn, i, 0) * BLOCK;
}

/* Make a partition of bodies, unless another node was faster. A table that is attached does not
 * make others wait, unlike one that is made as a partition. */
static enum rc make_partition(struct pg_writer *w, int64_t n, struct err *err)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);
    int64_t first = n * BLOCKS_OF_PARTITION * BLOCK;

    buf_printf(&sql,
               "DO $$ BEGIN PERFORM pg_advisory_xact_lock(1181050213, hashtext(current_schema()));"
               " IF to_regclass('bodies_%" PRId64 "') IS NULL THEN"
               " CREATE TABLE bodies_%" PRId64 " (LIKE bodies INCLUDING ALL);"
               " ALTER TABLE bodies ATTACH PARTITION bodies_%" PRId64 " FOR VALUES FROM (%" PRId64
               ") TO (%" PRId64 "); END IF; END $$%c",
               n, n, n, first, first + BLOCKS_OF_PARTITION * BLOCK, 0);
    return pg_script(w->l, sql.ptr, err);
}

/* Make the partitions of the blocks that were drawn, and those that come after them. */
static enum rc make_partitions(struct pg_writer *w, struct err *err)
{
    const struct pg_answer *a = &w->body_ids.drawn;
    int64_t from = INT64_MAX, to = -1;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < a->n; i++) {
        int64_t here = pg_get_int(a, i, 0) / BLOCKS_OF_PARTITION;
        int64_t next = (pg_get_int(a, i, 0) + BLOCKS_AHEAD) / BLOCKS_OF_PARTITION;

        if (!pg_get_bool(a, i, 1) && here < from)
            from = here;
        if (!pg_get_bool(a, i, 2) && next < from)
            from = next;
        if (next > to)
            to = next;
    }
    for (int64_t n = from; n <= to && rc == RC_OK; n++)
        rc = make_partition(w, n, err);
    return rc;
}

static int64_t next_id(struct ids *ids)
{
    if (ids->next == ids->end) {
        ids->next = ids->blocks[--ids->n];
        ids->end = ids->next + BLOCK;
    }
    return ids->next++;
}

/* Ids that answers have, one by one. */
static const char *const sql_new_ids[NEW_ROWS] = {
    [NEW_FEED] = "SELECT nextval(pg_get_serial_sequence('feeds', 'id'))"
                 " FROM generate_series(1, $1) AS n",
    [NEW_SUB] = "SELECT nextval(pg_get_serial_sequence('subscriptions', 'id'))"
                " FROM generate_series(1, $1) AS n",
    [NEW_INTENT] = "SELECT nextval(pg_get_serial_sequence('hub_intents', 'id'))"
                   " FROM generate_series(1, $1) AS n",
};

static bool needs_new_ids(const struct pg_writer *w, const struct wants *wants)
{
    for (size_t i = 0; i < NEW_ROWS; i++)
        if (wants->n_new[i] > w->spare[i].n)
            return true;
    return false;
}

static void want_new_ids(struct pg_writer *w, const struct wants *wants)
{
    for (size_t i = 0; i < NEW_ROWS; i++) {
        struct spare *s = &w->spare[i];

        s->drawn = (struct pg_answer){.n = 0};
        if (wants->n_new[i] <= s->n)
            continue;
        pg_params_reset(&w->params);
        pg_put_int(&w->params, (int64_t)(wants->n_new[i] - s->n));
        pg_queue(w->l, sql_new_ids[i], &w->params, "i", &s->drawn);
    }
}

/* The transaction has the ids now, after those that it had; it gives back what it does not use. */
static void give_new_ids(struct pg_writer *w, const struct wants *wants, struct rows *r)
{
    for (size_t i = 0; i < NEW_ROWS; i++) {
        struct spare *s = &w->spare[i];
        struct row_ids *ids = &r->ids[i];
        int64_t *drawn;

        if (wants->n_new[i] == 0)
            continue;
        drawn = ARENA_ARRAY(&r->arena, int64_t, ids->n + s->n + s->drawn.n);
        if (ids->n > 0)
            memcpy(drawn, ids->drawn, ids->n * sizeof *drawn);
        ids->drawn = drawn;
        for (size_t k = 0; k < s->n; k++)
            ids->drawn[ids->n++] = s->ids[k];
        for (size_t k = 0; k < s->drawn.n; k++)
            ids->drawn[ids->n++] = pg_get_int(&s->drawn, k, 0);
        s->n = 0;
    }
}

/* What was not used is for the next transaction. An intent gets a new id each time, because they
 * are read by "what came after this id", and one that is drawn when it is stored may have come
 * between. */
static void keep_new_ids(struct pg_writer *w, struct rows *r)
{
    r->ids[NEW_INTENT].used = r->ids[NEW_INTENT].n;
    for (size_t i = 0; i < NEW_ROWS; i++) {
        struct spare *s = &w->spare[i];
        struct row_ids *ids = &r->ids[i];

        s->ids = mem_grow(s->ids, &s->cap, s->n + ids->n - ids->used, sizeof *s->ids);
        while (ids->used < ids->n)
            s->ids[s->n++] = ids->drawn[ids->used++];
    }
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

    w->n_new += wants->entries.n + wants->n_feeds; /* each entry or content may get a revision */
    if (!is_wanting && !needs_new_ids(w, wants) && ids_left(&w->entry_ids) >= w->n_new &&
        ids_left(&w->body_ids) >= w->n_new)
        return RC_OK;
    begin(w);
    pg_load_queue(&load, w->l, &w->params);
    want_new_ids(w, wants);
    want_ids(w, &w->entry_ids);
    want_ids(w, &w->body_ids);
    rc = pg_run(w->l, err);
    if (rc != RC_OK)
        return rc;
    give_new_ids(w, wants, r); /* drawn, whatever comes of the rest */
    take_ids(&w->entry_ids);
    take_ids(&w->body_ids);
    rc = pg_load_take(&load, r, err);
    return rc == RC_OK ? make_partitions(w, err) : rc;
}

/* ---- collecting what has changed ------------------------------------------------------------- */

struct collected {
    const void **rows[SAVE_KINDS];
    size_t n[SAVE_KINDS], cap[SAVE_KINDS];
    struct map lines[SAVE_KINDS]; /* of kinds of which lines are looked for, by two numbers */
};

static void add(struct collected *c, enum pg_save kind, const void *row)
{
    c->rows[kind] = mem_grow(c->rows[kind], &c->cap[kind], c->n[kind] + 1, sizeof(void *));
    c->rows[kind][c->n[kind]++] = row;
}

static void collected_release(struct collected *c)
{
    for (size_t i = 0; i < SAVE_KINDS; i++) {
        mem_free(c->rows[i]);
        map_forget(&c->lines[i]);
    }
}

/* The line with these two numbers, of zeros if it is new. */
static void *line_of(struct collected *c, struct arena *a, enum pg_save kind, int64_t x, int64_t y,
                     size_t size, bool *is_new)
{
    const int64_t numbers[] = {x, y};
    struct str key = str_of((const char *)numbers, sizeof numbers);
    void *line = map_get(&c->lines[kind], key);

    *is_new = line == NULL;
    if (line == NULL) {
        line = arena_zalloc(a, size);
        map_put(&c->lines[kind], key, line);
        add(c, kind, line);
    }
    return line;
}

static bool has_key(const int64_t *keys, size_t n, int64_t key)
{
    for (size_t i = 0; i < n; i++)
        if (keys[i] == key)
            return true;
    return false;
}

static void add_keys(struct collected *c, struct arena *a, enum pg_save kind,
                     const struct entry_row *e, const int64_t *keys, size_t n,
                     const int64_t *except, size_t n_except)
{
    for (size_t i = 0; i < n; i++) {
        struct line_key *line;

        if (has_key(except, n_except, keys[i]))
            continue;
        line = ARENA_NEW(a, struct line_key);
        *line = (struct line_key){e->feed_id, keys[i], e->id};
        add(c, kind, line);
    }
}

/* The keys under which the entry is found have changed with its marks. */
static void collect_keys(struct collected *c, struct arena *a, const struct held_entry *e)
{
    int64_t old[MARKS_KEYS], new[MARKS_KEYS];
    size_t n_old = e->had_marks ? marks_keys(&e->old_marks, old) : 0;
    size_t n_new = marks_keys(&e->row.marks, new);

    if (!e->row.has_marks || (e->had_marks && marks_same(&e->row.marks, &e->old_marks)))
        return;
    add_keys(c, a, SAVE_KEYS_GONE, &e->row, old, n_old, new, n_new);
    add_keys(c, a, SAVE_KEYS, &e->row, new, n_new, old, n_old);
}

static void collect_overlay(struct collected *c, struct arena *a, const struct held_entry *e)
{
    struct line_overlay *line;

    if (e->was_seq != 0 && e->was_seq != e->row.seq) {
        line = ARENA_NEW(a, struct line_overlay);
        line->seq = e->was_seq;
        add(c, SAVE_OVERLAYS_GONE, line);
    }
    if (e->has_new_overlay) {
        line = ARENA_NEW(a, struct line_overlay);
        *line = (struct line_overlay){e->row.seq, e->overlay_doc, e->overlay_ext};
        add(c, SAVE_OVERLAYS, line);
    }
}

static void collect_entry(struct pg_writer *w, struct collected *c, struct arena *a,
                          struct held_entry *e)
{
    if (e->row.id == 0) {
        e->row.id = next_id(&w->entry_ids);
        add(c, SAVE_NEW_ENTRIES, &e->row);
    } else {
        add(c, SAVE_ENTRIES, &e->row);
    }
    collect_keys(c, a, e);
    collect_overlay(c, a, e);
    if (e->has_new_content) {
        struct line_content *line = ARENA_NEW(a, struct line_content);

        *line = (struct line_content){e->content, e->row.id};
        add(c, e->has_content ? SAVE_CONTENTS : SAVE_CONTENTS_GONE, line);
    }
}

static void collect_revision(struct pg_writer *w, struct collected *c, struct arena *a,
                             const struct held_revision *r)
{
    struct line_revision *line = ARENA_NEW(a, struct line_revision);

    *line = (struct line_revision){r->row, r->entry->row.id, next_id(&w->body_ids)};
    add(c, SAVE_BODIES, line);
    add(c, SAVE_REVISIONS, line);
}

static void collect_feed(struct collected *c, const struct held_feed *f)
{
    if (f->is_new) {
        add(c, SAVE_NEW_FEEDS, &f->row);
        return;
    }
    if (f->saves_row)
        add(c, SAVE_FEEDS, &f->row);
    if (f->saves_identity)
        add(c, SAVE_IDENTITIES, &f->row);
    if (f->saves_head)
        add(c, SAVE_HEADS, &f->row);
    if (f->saves_urls)
        add(c, SAVE_URLS, &f->row);
    if (f->saves_count)
        add(c, SAVE_COUNTS, &f->row);
}

/* Of two heads from the same row of the log on, the later one counts. */
static void collect_heads(struct collected *c, struct arena *a, const struct rows *r)
{
    bool is_new;

    for (size_t i = 0; i < r->n_heads; i++) {
        const struct held_head *h = &r->heads[i];
        struct line_head *line =
            line_of(c, a, SAVE_HEAD_LOG, h->feed->id, h->since_seq, sizeof *line, &is_new);

        *line = (struct line_head){*h->feed, h->since_seq};
    }
}

static void collect_archives(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_archive *a = (const struct held_archive *)s->touched[i];

        if (a->was_there)
            add(c, SAVE_ARCHIVES_GONE, &a->row);
        if (a->is_there)
            add(c, SAVE_ARCHIVES, &a->row);
    }
}

static void collect_graves(struct collected *c, const struct shelf *pasts,
                           const struct shelf *graves)
{
    for (size_t i = 0; i < pasts->n_touched; i++)
        if (((const struct held_past *)pasts->touched[i])->drops_graves)
            add(c, SAVE_GRAVES_OF_FEED_GONE, pasts->touched[i]);
    for (size_t i = 0; i < graves->n_touched; i++) {
        if (((const struct held_grave *)graves->touched[i])->when_us == TIME_UNKNOWN)
            continue; /* the whole feed has none any more */
        add(c, SAVE_GRAVES_GONE, graves->touched[i]);
        add(c, SAVE_GRAVES, graves->touched[i]);
    }
}

static void collect_aliases(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_place *p = (const struct held_place *)s->touched[i];

        if (p->was_alias)
            add(c, SAVE_ALIASES_GONE, p);
        if (p->alias_of != 0)
            add(c, SAVE_ALIASES, p);
    }
}

/* What has happened to the hubs of feeds, one after the other, as statements of SQLite do it. */
static void collect_news(struct collected *c, struct arena *a, struct rows *r)
{
    for (size_t i = 0; i < r->n_upstreams; i++) {
        const struct held_upstream *u = &r->upstreams[i];
        bool is_new;
        struct line_upstream *line =
            line_of(c, a, SAVE_UPSTREAM_NEWS, u->feed_id, 0, sizeof *line, &is_new);

        if (is_new)
            *line = (struct line_upstream){u->feed_id, u->before.delivered_at, u->before.trust};
        if (u->delivered_at != 0)
            line->trust = TRUST_FULL;
        if (u->delivered_at != 0 || u->announced_at != 0)
            line->delivered_at = u->delivered_at != 0 ? u->delivered_at : u->announced_at;
        else if (line->trust == u->trust_was)
            line->trust = u->trust;
    }
}

/* No column of texts but two may be NULL. */
static struct upstream *line_of_upstream(struct arena *a, const struct upstream *row)
{
    struct upstream *line = ARENA_NEW(a, struct upstream);
    struct str *const texts[] = {&line->base_url, &line->secret, &line->hub, &line->topic};

    *line = *row;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (str_is_null(*texts[i]))
            *texts[i] = STR("");
    return line;
}

static void collect_upstream(struct collected *c, struct arena *a,
                             const struct held_upstream_row *u)
{
    struct upstream *line = line_of_upstream(a, &u->row), *others;

    if (u->held.changes & UPSTREAM_TAKES_CURRENT) {
        others = ARENA_NEW(a, struct upstream);
        *others = (struct upstream){.feed_id = u->row.feed_id, .is_current = false};
        add(c, SAVE_UPSTREAMS_NOT_CURRENT, others);
    }
    if (u->held.exists)
        add(c, SAVE_UPSTREAMS, line);
    else if (u->held.is_stored)
        add(c, SAVE_UPSTREAMS_GONE, line);
    if (u->held.exists && u->held.changes & UPSTREAM_WRITES_TRUST)
        add(c, SAVE_UPSTREAMS_TRUST, line);
}

static void collect_dead(struct collected *c, const struct shelf *s)
{
    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_dead *d = (const struct held_dead *)s->touched[i];

        if (!d->held.exists && d->held.is_stored)
            add(c, SAVE_DEAD_GONE, &d->row);
        else if (d->held.exists && !d->held.is_stored)
            add(c, SAVE_DEAD, &d->row);
        else if (d->held.exists)
            add(c, d->held.changes & DEAD_WRITES_REFUSAL ? SAVE_DEAD_REFUSED : SAVE_DEAD_WANTED,
                &d->row);
    }
}

/* Of lines with the same place, the later one counts. */
static void collect_notes(struct collected *c, struct arena *a, const struct shelf *s)
{
    bool is_new;

    for (size_t i = 0; i < s->n_touched; i++) {
        const struct held_note *note = (const struct held_note *)s->touched[i];
        struct line_note *line =
            line_of(c, a, SAVE_NOTES, note->sub_id, note->slot, sizeof *line, &is_new);

        *line = (struct line_note){*note->note, note->sub_id, note->slot};
    }
}

static void collect_sub(struct collected *c, const struct held_sub *sub)
{
    if (!sub->held.exists && sub->held.is_stored) {
        add(c, SAVE_NOTES_OF_SUB_GONE, &sub->row);
        add(c, SAVE_SUBS_GONE, &sub->row);
    } else if (sub->held.exists && !sub->held.is_stored) {
        add(c, SAVE_NEW_SUBS, sub);
    } else if (sub->held.exists && sub->held.changes & SUB_WRITES_TERMS) {
        add(c, SAVE_WHOLE_SUBS, sub);
    } else if (sub->held.exists) {
        add(c, SAVE_SUBS, &sub->row);
    }
}

static void collect_subs(struct collected *c, const struct rows *r)
{
    const struct shelf *subs = &r->shelves[ROW_SUB], *feeds = &r->shelves[ROW_SUB_FEED];

    for (size_t i = 0; i < subs->n_touched; i++)
        collect_sub(c, (const struct held_sub *)subs->touched[i]);
    for (size_t i = 0; i < feeds->n_touched; i++)
        if (feeds->touched[i]->exists)
            add(c, feeds->touched[i]->is_stored ? SAVE_SUB_FEEDS : SAVE_NEW_SUB_FEEDS,
                feeds->touched[i]);
        else if (feeds->touched[i]->is_stored)
            add(c, SAVE_SUB_FEEDS_GONE, feeds->touched[i]);
}

static void collect_intent(struct collected *c, struct arena *a, const struct held_intent *in)
{
    AUTO(buf_release) struct buf feeds = BUF_INIT(BUF_ANY);
    struct line_intent *line;

    if (!in->held.exists && !in->held.is_stored)
        return;
    line = ARENA_NEW(a, struct line_intent);
    line->row = in->row;
    if (!in->held.exists) {
        add(c, SAVE_INTENTS_GONE, line);
        return;
    }
    hub_feeds_write(&feeds, &in->row);
    line->feeds = str_dup(a, buf_view(&feeds));
    if (str_is_null(line->row.topic)) /* of a registration at the cloud */
        line->row.topic = STR("");
    add(c, in->row.id == 0 ? SAVE_UNNAMED_INTENTS : SAVE_INTENTS, line);
}

/* The lease of a subscription that has ended went with it. */
static void collect_hub(struct collected *c, struct arena *a, const struct rows *r)
{
    const struct shelf *intents = &r->shelves[ROW_INTENT], *leases = &r->shelves[ROW_LEASE];

    for (size_t i = 0; i < intents->n_touched; i++)
        collect_intent(c, a, (const struct held_intent *)intents->touched[i]);
    for (size_t i = 0; i < leases->n_touched; i++)
        if (leases->touched[i]->exists)
            add(c, SAVE_LEASES, leases->touched[i]);
}

static void collect(struct pg_writer *w, struct collected *c, struct arena *a, struct rows *r)
{
    const struct shelf *entries = &r->shelves[ROW_ENTRY], *feeds = &r->shelves[ROW_FEED];
    const struct shelf *upstreams = &r->shelves[ROW_UPSTREAM];

    for (size_t i = 0; i < entries->n_touched; i++)
        collect_entry(w, c, a, (struct held_entry *)entries->touched[i]);
    for (size_t i = 0; i < r->n_revisions; i++)
        collect_revision(w, c, a, &r->revisions[i]);
    for (size_t i = 0; i < feeds->n_touched; i++)
        collect_feed(c, (const struct held_feed *)feeds->touched[i]);
    collect_heads(c, a, r);
    for (size_t i = 0; i < r->n_events; i++)
        add(c, SAVE_EVENTS, &r->events[i]);
    collect_news(c, a, r);
    for (size_t i = 0; i < upstreams->n_touched; i++)
        collect_upstream(c, a, (const struct held_upstream_row *)upstreams->touched[i]);
    collect_aliases(c, &r->shelves[ROW_PLACE]);
    collect_archives(c, &r->shelves[ROW_ARCHIVE]);
    collect_graves(c, &r->shelves[ROW_PAST], &r->shelves[ROW_GRAVE]);
    collect_subs(c, r);
    collect_dead(c, &r->shelves[ROW_DEAD]);
    collect_notes(c, a, &r->shelves[ROW_NOTE]);
    collect_hub(c, a, r);
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
    return bits;
}

/* Polls without news and outcomes of deliveries are told to nobody. The notes are folded. */
static bool needs_notice(const struct txn *t)
{
    bool needs = t->n_subs > 0 || t->n_settled > 0 || t->has_hub_news ||
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

    collect(w, &c, &t->rows.arena, &t->rows);
    begin(w);
    queue_saves(w, t, &c, 0, SAVE_NUMBERED);
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
    collect(w, &c, &t->rows.arena, &t->rows);
    begin(w);
    queue_saves(w, t, &c, 0, SAVE_KINDS);
    collected_release(&c);
    keep_new_ids(w, &t->rows);
    rows_written(&t->rows);
}

enum rc pg_writer_merge_feeds(struct pg_writer *w, const struct feed *from, const struct feed *to,
                              bool with_heads, struct arena *a, struct merged_feeds *out,
                              struct err *err)
{
    return pg_merge_feeds(w->l, &w->params, from, to, with_heads, a, out, err);
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
    keep_new_ids(w, &t->rows);
    rc = pg_commit(w->l, err);
    if (rc != RC_OK)
        return rc;
    for (int i = 0; i < 3; i++)
        before[i] = number.n == 0 ? NUMBERS_HERE : pg_get_int(&number, 0, i);
    set_base(base, before, number.n == 0 ? 0 : pg_get_int(&number, 0, 3));
    w->has_begun = false;
    w->n_new = 0;
    return RC_OK;
}

void pg_writer_rollback(struct pg_writer *w)
{
    pg_rollback(w->l);
    w->has_begun = false;
    w->n_new = 0;
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
