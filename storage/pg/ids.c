/* storage/pg/ids.c - see ids.h. */
#include "storage/pg/ids.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK 1000 /* ids that are drawn at once (storage/pg/schema_pg.sql) */

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

void pg_ids_init(struct pg_ids *all, struct pg_link *l, struct pg_params *params)
{
    *all = (struct pg_ids){.l = l, .params = params};
    all->entries.sql = sql_entry_ids;
    all->entries.columns = "i";
    all->bodies.sql = sql_body_ids;
    all->bodies.columns = "ioo";
}

void pg_ids_release(struct pg_ids *all)
{
    mem_free(all->entries.blocks);
    mem_free(all->bodies.blocks);
    for (size_t i = 0; i < NEW_ROWS; i++)
        mem_free(all->spare[i].ids);
}

static size_t ids_left(const struct id_blocks *ids)
{
    return (size_t)(ids->end - ids->next) + ids->n * BLOCK;
}

/* Queue the drawing of more, if there may be too few for this transaction. */
static void want_ids(struct pg_ids *all, struct id_blocks *ids)
{
    size_t left = ids_left(ids);

    ids->drawn = (struct pg_answer){.n = 0};
    if (left >= all->n_new)
        return;
    pg_params_reset(all->params);
    pg_put_int(all->params, (int64_t)((all->n_new - left + BLOCK - 1) / BLOCK));
    pg_queue(all->l, ids->sql, all->params, ids->columns, &ids->drawn);
}

static void take_ids(struct id_blocks *ids)
{
    ids->blocks = mem_grow(ids->blocks, &ids->cap, ids->n + ids->drawn.n, sizeof *ids->blocks);
    for (size_t i = ids->drawn.n; i-- > 0;)
        ids->blocks[ids->n++] = pg_get_int(&ids->drawn, i, 0) * BLOCK;
}

/* Make a partition of bodies, unless another node was faster. A table that is attached does not
 * make others wait, unlike one that is made as a partition. */
static enum rc make_partition(struct pg_ids *all, int64_t n, struct err *err)
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
    return pg_script(all->l, sql.ptr, err);
}

/* Make the partitions of the blocks that were drawn, and those that come after them. */
enum rc pg_ids_make_room(struct pg_ids *all, struct err *err)
{
    const struct pg_answer *a = &all->bodies.drawn;
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
        rc = make_partition(all, n, err);
    return rc;
}

static int64_t next_id(struct id_blocks *ids)
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
    [NEW_TOKEN] = "SELECT nextval(pg_get_serial_sequence('tokens', 'id'))"
                  " FROM generate_series(1, $1) AS n",
};

static bool needs_new_ids(const struct pg_ids *all, const struct wants *wants)
{
    for (size_t i = 0; i < NEW_ROWS; i++)
        if (wants->n_new[i] > all->spare[i].n)
            return true;
    return false;
}

static void want_new_ids(struct pg_ids *all, const struct wants *wants)
{
    for (size_t i = 0; i < NEW_ROWS; i++) {
        struct spare_ids *s = &all->spare[i];

        s->drawn = (struct pg_answer){.n = 0};
        if (wants->n_new[i] <= s->n)
            continue;
        pg_params_reset(all->params);
        pg_put_int(all->params, (int64_t)(wants->n_new[i] - s->n));
        pg_queue(all->l, sql_new_ids[i], all->params, "i", &s->drawn);
    }
}

/* The transaction has the ids now, after those that it had; it gives back what it does not use. */
static void give_new_ids(struct pg_ids *all, const struct wants *wants, struct rows *r)
{
    for (size_t i = 0; i < NEW_ROWS; i++) {
        struct spare_ids *s = &all->spare[i];
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
void pg_ids_keep(struct pg_ids *all, struct rows *r)
{
    r->ids[NEW_INTENT].used = r->ids[NEW_INTENT].n;
    for (size_t i = 0; i < NEW_ROWS; i++) {
        struct spare_ids *s = &all->spare[i];
        struct row_ids *ids = &r->ids[i];

        s->ids = mem_grow(s->ids, &s->cap, s->n + ids->n - ids->used, sizeof *s->ids);
        while (ids->used < ids->n)
            s->ids[s->n++] = ids->drawn[ids->used++];
    }
}

bool pg_ids_are_short(const struct pg_ids *all, const struct wants *wants)
{
    return needs_new_ids(all, wants) || ids_left(&all->entries) < all->n_new ||
           ids_left(&all->bodies) < all->n_new;
}

void pg_ids_queue(struct pg_ids *all, const struct wants *wants)
{
    want_new_ids(all, wants);
    want_ids(all, &all->entries);
    want_ids(all, &all->bodies);
}

void pg_ids_take(struct pg_ids *all, const struct wants *wants, struct rows *r)
{
    give_new_ids(all, wants, r);
    take_ids(&all->entries);
    take_ids(&all->bodies);
}

int64_t pg_ids_entry(struct pg_ids *all)
{
    return next_id(&all->entries);
}

int64_t pg_ids_body(struct pg_ids *all)
{
    return next_id(&all->bodies);
}
