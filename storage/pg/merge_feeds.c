/* storage/pg/merge_feeds.c - see merge_feeds.h.
 *
 * Which entries both feeds have is decided here, by their marks; so it takes a trip to read them
 * and one to write. $1 is the feed that goes, $2 the one that stays. */
#include "storage/pg/merge_feeds.h"

#include "model/marks.h"
#include "storage/merged_name.h"
#include "storage/retention.h"
#include "storage/wants.h"

/* ---- what both have -------------------------------------------------------------------------- */

/* Which feeds a subscription has changes under its lock. */
static const char sql_subs[] =
    "SELECT id FROM subscriptions WHERE id IN (SELECT sub_id FROM sub_feeds WHERE feed_id = $1)"
    " ORDER BY id FOR NO KEY UPDATE";

#define PAIR                                                                                       \
    "e.id, o.id, (e.gone_at IS NOT NULL)::int::bigint, (o.gone_at IS NOT NULL)::int::bigint"

static const char sql_same_uid[] =
    "SELECT " PAIR " FROM entries e JOIN entries o ON o.feed_id = $2"
    " AND hashtextextended(o.uid, 0) = hashtextextended(e.uid, 0) AND o.uid = e.uid"
    " WHERE e.feed_id = $1 ORDER BY e.id";

/* Pairs that share a key: of each key the newest $3 of the feed that stays. */
static const char sql_same_key[] =
    "SELECT " PAIR ", e.marks, o.marks FROM entry_keys k JOIN entries e ON e.id = k.entry_id"
    " CROSS JOIN LATERAL (SELECT t.entry_id FROM entry_keys t WHERE t.feed_id = $2"
    " AND t.key = k.key ORDER BY t.entry_id DESC LIMIT $3) t JOIN entries o ON o.id = t.entry_id"
    " WHERE k.feed_id = $1 ORDER BY e.id";

static const char sql_loser[] =
    "SELECT feed_id FROM aliases WHERE md5(url) = md5($1) AND md5(credential) = md5($2)"
    " AND url = $1 AND credential = $2 AND feed_id <> ALL($3)";

static struct str credential_of(const struct feed *f)
{
    return str_is_null(f->credential) ? STR("") : f->credential;
}

static bool has_page(const struct feed *from, const struct feed *to)
{
    return from->page_url.len > 0 && !str_eq(from->page_url, to->page_url);
}

struct same {
    struct pg_answer subs, uids, pairs, loser;
};

static void queue_pair(struct pg_link *l, struct pg_params *p, const char *sql,
                       const struct feed *from, const struct feed *to, const char *columns,
                       struct pg_answer *out)
{
    pg_params_reset(p);
    pg_put_int(p, from->id);
    pg_put_int(p, to->id);
    pg_queue(l, sql, p, columns, out);
}

static void queue_look(struct pg_link *l, struct pg_params *p, const struct feed *from,
                       const struct feed *to, struct same *out)
{
    int64_t both[] = {from->id, to->id};

    out->loser = (struct pg_answer){.n = 0};
    pg_params_reset(p);
    pg_put_int(p, from->id);
    pg_queue(l, sql_subs, p, "i", &out->subs);
    queue_pair(l, p, sql_same_uid, from, to, "iiii", &out->uids);
    pg_params_reset(p);
    pg_put_int(p, from->id);
    pg_put_int(p, to->id);
    pg_put_int(p, WANT_KEY_MOST);
    pg_queue(l, sql_same_key, p, "iiiibb", &out->pairs);
    if (!has_page(from, to))
        return;
    pg_params_reset(p);
    pg_put_text(p, from->page_url);
    pg_put_text(p, credential_of(from));
    pg_put_ints(p, both, 2);
    pg_queue(l, sql_loser, p, "i", &out->loser);
}

static struct twin_pair pair_of(const struct pg_answer *rows, size_t i)
{
    return (struct twin_pair){.mine = pg_get_int(rows, i, 0),
                              .theirs = pg_get_int(rows, i, 1),
                              .mine_gone = pg_get_int(rows, i, 2) != 0,
                              .theirs_gone = pg_get_int(rows, i, 3) != 0};
}

static bool is_certain(const struct pg_answer *rows, size_t i)
{
    struct entry_marks mine, theirs;

    return marks_unpack(pg_get_bytes(rows, i, 4), &mine) &&
           marks_unpack(pg_get_bytes(rows, i, 5), &theirs) && marks_certain(&mine, &theirs);
}

/* Returns the entries that both feeds have, and in *out those that go because of it. Marks count only for an entry whose uid the
 * other feed does not have. Both answers are in the order of the entries of the feed that goes.
 * Arena. */
static struct twin_pair *choose(const struct same *s, struct arena *a, size_t *n_pairs,
                                struct twins_end *out)
{
    struct twin_pair *pairs = ARENA_ARRAY(a, struct twin_pair, s->uids.n + s->pairs.n + 1);
    size_t n = 0, k = 0;

    for (size_t i = 0; i < s->uids.n; i++)
        pairs[n++] = pair_of(&s->uids, i);
    for (size_t i = 0; i < s->pairs.n; i++) {
        int64_t mine = pg_get_int(&s->pairs, i, 0);

        while (k < s->uids.n && pg_get_int(&s->uids, k, 0) < mine)
            k++;
        if ((k == s->uids.n || pg_get_int(&s->uids, k, 0) != mine) && is_certain(&s->pairs, i))
            pairs[n++] = pair_of(&s->pairs, i);
    }
    retention_merge(pairs, n, a, out);
    *n_pairs = n;
    return pairs;
}

/* ---- the merge ------------------------------------------------------------------------------- */

/* What goes with entries of one feed, $2; $1: their ids. SQLite has references for some of it.
 */
static const char *const sql_drop_same[] = {
    "DELETE FROM bodies b USING revisions r WHERE r.feed_id = $2 AND r.entry_id = ANY($1)"
    " AND b.id = r.body",
    "DELETE FROM overlays o USING revisions r WHERE r.feed_id = $2 AND r.entry_id = ANY($1)"
    " AND o.seq = r.seq",
    "DELETE FROM terms t USING revisions r WHERE r.feed_id = $2 AND r.entry_id = ANY($1)"
    " AND t.seq = r.seq",
    "DELETE FROM revisions WHERE feed_id = $2 AND entry_id = ANY($1)",
    "DELETE FROM entry_keys WHERE feed_id = $2 AND entry_id = ANY($1)",
    "DELETE FROM contents WHERE entry_id = ANY($1)",
    "DELETE FROM entries WHERE id = ANY($1)",
};

static const char *const sql_move[] = {
    "UPDATE aliases SET feed_id = $2 WHERE feed_id = $1",
    "WITH moved AS (UPDATE sub_feeds s SET feed_id = $2 WHERE feed_id = $1 AND NOT EXISTS"
    " (SELECT FROM sub_feeds o WHERE o.sub_id = s.sub_id AND o.feed_id = $2) RETURNING 1)"
    " UPDATE feeds SET n_subscriptions = n_subscriptions + (SELECT count(*) FROM moved)"
    " WHERE id = $2",
    "UPDATE feed_events SET feed_id = $2 WHERE feed_id = $1",
    "INSERT INTO archives (feed_id, url, state, place, walk, try_at, failures)"
    " SELECT $2, url, state, place, walk, try_at, failures FROM archives a WHERE feed_id = $1"
    " AND NOT EXISTS (SELECT FROM archives o WHERE o.feed_id = $2"
    " AND hashtextextended(o.url, 0) = hashtextextended(a.url, 0) AND o.url = a.url)",
    "INSERT INTO graves (feed_id, uid, when_us) SELECT $2, uid, when_us FROM graves g"
    " WHERE feed_id = $1 AND NOT EXISTS (SELECT FROM graves o WHERE o.feed_id = $2"
    " AND hashtextextended(o.uid, 0) = hashtextextended(g.uid, 0) AND o.uid = g.uid)",
    "UPDATE entry_keys SET feed_id = $2 WHERE feed_id = $1",
    "UPDATE contents SET feed_id = $2 WHERE entry_id IN"
    " (SELECT id FROM entries WHERE feed_id = $1)",
    "UPDATE entries SET feed_id = $2, id_url = coalesce(id_url,"
    " (SELECT f.id_url FROM feeds f WHERE f.id = $1)) WHERE feed_id = $1",
    "UPDATE revisions SET feed_id = $2 WHERE feed_id = $1",
};

/* Of two heads from the same row of the log on, that of the feed that goes counts. */
static const char *const sql_move_heads[] = {
    "DELETE FROM head_log o USING head_log h WHERE o.feed_id = $2 AND h.feed_id = $1"
    " AND h.since_seq = o.since_seq",
    "UPDATE head_log SET feed_id = $2 WHERE feed_id = $1",
};

static const char sql_drop_subs[] = "DELETE FROM sub_feeds WHERE feed_id = $1";
static const char sql_drop_feed[] = "DELETE FROM feeds WHERE id = $1";

/* As aliases_add() of SQLite. */
static const char sql_name[] =
    "INSERT INTO aliases (url, credential, feed_id) SELECT $1, $2, $3 WHERE NOT EXISTS"
    " (SELECT FROM feeds f WHERE md5(f.url) = md5($1) AND md5(f.credential) = md5($2)"
    " AND f.url = $1 AND f.credential = $2)"
    " ON CONFLICT (md5(url), md5(credential)) DO UPDATE SET feed_id = excluded.feed_id";

static const char sql_counts[] =
    "SELECT (SELECT count(*) FROM entries WHERE feed_id = $1 AND deleted = 0),"
    " (SELECT count(*) FROM entries e WHERE e.feed_id = $1 AND e.gone_at IS NULL), n_subscriptions"
    " FROM feeds WHERE id = $1";

static void queue_drops(struct pg_link *l, struct pg_params *p, const struct feed *feed,
                        const int64_t *same, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(sql_drop_same) && n > 0; i++) {
        pg_params_reset(p);
        pg_put_ints(p, same, n);
        pg_put_int(p, feed->id); /* not all of them need it */
        pg_queue(l, sql_drop_same[i], p, "", NULL);
    }
}

/* One of each pair goes; the files that it names are those of the other one, too. */
static void queue_names(struct pg_link *l, struct pg_params *p, const struct twin_pair *pairs,
                        size_t n, struct arena *a)
{
    static const char sql[] =
        "INSERT INTO mirror_names (entry_id, key)"
        " SELECT e.other, n.key FROM unnest($1::bigint[], $2::bigint[]) AS e (id, other)"
        " JOIN mirror_names n ON n.entry_id = e.id ON CONFLICT DO NOTHING";
    int64_t *mine = ARENA_ARRAY(a, int64_t, n + 1), *theirs = ARENA_ARRAY(a, int64_t, n + 1);

    for (size_t i = 0; i < n; i++) {
        mine[i] = pairs[i].mine;
        theirs[i] = pairs[i].theirs;
    }
    for (int way = 0; way < 2 && n > 0; way++) {
        pg_params_reset(p);
        pg_put_ints(p, way == 0 ? mine : theirs, n);
        pg_put_ints(p, way == 0 ? theirs : mine, n);
        pg_queue(l, sql, p, "", NULL);
    }
}

static void queue_id(struct pg_link *l, struct pg_params *p, const char *sql, int64_t id,
                     const char *columns, struct pg_answer *out)
{
    pg_params_reset(p);
    pg_put_int(p, id);
    pg_queue(l, sql, p, columns, out);
}

static void queue_name(struct pg_link *l, struct pg_params *p, struct str url,
                       const struct feed *from, int64_t to)
{
    pg_params_reset(p);
    pg_put_text(p, url);
    pg_put_text(p, credential_of(from));
    pg_put_int(p, to);
    pg_queue(l, sql_name, p, "", NULL);
}

static void queue_merge(struct pg_link *l, struct pg_params *p, const struct feed *from,
                        const struct feed *to, bool with_heads, struct arena *a,
                        struct pg_answer *counts)
{
    for (size_t i = 0; i < ARRAY_LEN(sql_move); i++)
        queue_pair(l, p, sql_move[i], from, to, "", NULL);
    for (size_t i = 0; i < ARRAY_LEN(sql_move_heads) && with_heads; i++)
        queue_pair(l, p, sql_move_heads[i], from, to, "", NULL);
    queue_id(l, p, sql_drop_subs, from->id, "", NULL);
    queue_id(l, p, sql_drop_feed, from->id, "", NULL);
    queue_name(l, p, from->url, from, to->id);
    queue_name(l, p, merged_name(a, from->id), from, to->id);
    if (has_page(from, to))
        queue_name(l, p, from->page_url, from, to->id);
    queue_id(l, p, sql_counts, to->id, "iii", counts);
}

enum rc pg_merge_feeds(struct pg_link *l, struct pg_params *p, const struct feed *from,
                       const struct feed *to, bool with_heads, struct arena *a,
                       struct merged_feeds *out, struct err *err)
{
    struct same same;
    struct pg_answer counts;
    struct twin_pair *pairs;
    struct twins_end end;
    size_t n_pairs;
    enum rc rc;

    queue_look(l, p, from, to, &same);
    rc = pg_run(l, err);
    if (rc != RC_OK)
        return rc;
    *out = (struct merged_feeds){.subs = ARENA_ARRAY(a, int64_t, same.subs.n + 1)};
    for (; out->n_subs < same.subs.n; out->n_subs++)
        out->subs[out->n_subs] = pg_get_int(&same.subs, out->n_subs, 0);
    out->loser = same.loser.n == 0 ? 0 : pg_get_int(&same.loser, 0, 0);
    pairs = choose(&same, a, &n_pairs, &end);
    queue_names(l, p, pairs, n_pairs, a);
    queue_drops(l, p, from, end.mine, end.n_mine);
    queue_drops(l, p, to, end.theirs, end.n_theirs);
    queue_merge(l, p, from, to, with_heads, a, &counts);
    rc = pg_run(l, err);
    if (rc != RC_OK)
        return rc;
    out->n_entries = pg_get_int(&counts, 0, 0);
    out->n_items = pg_get_int(&counts, 0, 1);
    out->n_subscriptions = (int)pg_get_int(&counts, 0, 2);
    return RC_OK;
}
