/* storage/pg/load.c - see load.h. */
#include "storage/pg/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "storage/hub_feeds.h"
#include "storage/pg/columns.h"
#include "storage/rows_hub.h"
#include "storage/rows_past.h"
#include "storage/rows_places.h"
#include "storage/rows_subs.h"
#include "storage/rows_upstreams.h"

#define PG_ROW struct feed_row
static const struct pg_column feed_columns[] = {FEED_FIXED(PG_COLUMN) FEED_SAVED(PG_COLUMN)
                                                    FEED_UPSTREAM(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct entry_row
static const struct pg_column entry_columns[] = {PG_COLUMN(INT, id, id) ENTRY_KEY(
    PG_COLUMN) ENTRY_FIXED(PG_COLUMN) ENTRY_SAVED(PG_COLUMN) PG_COLUMN(MARKS, marks, marks)};
#undef PG_ROW

#define PG_ROW struct revision
static const struct pg_column revision_columns[] = {REVISION(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct content_row
static const struct pg_column content_columns[] = {PG_COLUMN(INT, entry_id, entry_id)
                                                       CONTENT(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct archive_row
static const struct pg_column archive_columns[] = {ARCHIVE(PG_COLUMN)
                                                       PG_COLUMN(INT, feed_id, feed_id)};
#undef PG_ROW

#define PG_ROW struct held_sub
#define SUB_OF_ROW(kind, column, member) PG_COLUMN(kind, column, row.member)
static const struct pg_column sub_columns[] = {SUB_FIXED(SUB_OF_ROW) SUB_SAVED(
    SUB_OF_ROW) SUB_SECRETS(PG_COLUMN) PG_COLUMN(TEXT, last_error, row.last_error)};
#undef PG_ROW

#define PG_ROW struct hub_intent
static const struct pg_column intent_columns[] = {HUB_INTENT(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct hub_lease
static const struct pg_column lease_columns[] = {HUB_LEASE(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct upstream
static const struct pg_column upstream_columns[] = {UPSTREAM(PG_COLUMN)};
#undef PG_ROW

#define PG_ROW struct sub_feed
static const struct pg_column sub_feed_columns[] = {SUB_FEED(PG_COLUMN)};
#undef PG_ROW

/* What is read after the lock is as the last owner of the lock has left it. */
static const char sql_lock[] =
    "SELECT id FROM feeds WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

#define FEEDS                                                                                      \
    "SELECT " FEED_FIXED(PG_WORD_F) FEED_SAVED(PG_WORD_F)                                          \
        FEED_UPSTREAM(PG_WORD_U) "f.n_subscriptions FROM feeds f LEFT JOIN upstreams u"            \
                                 " ON u.feed_id = f.id AND u.is_current = 1 WHERE f.id = "
static const char sql_feeds[] = FEEDS "ANY($1)";
#define FEED_LETTERS FEED_FIXED(PG_LETTER) FEED_SAVED(PG_LETTER) FEED_UPSTREAM(PG_LETTER) "i"

static const char sql_heads[] = "SELECT feed_id, head, ext FROM heads WHERE feed_id = ANY($1)";

/* The documents of the past that are still to be read; a feed that is not `partial` has none, so
 * they are not looked for, unless a document leads to more ($2). */
static const char sql_pasts[] =
    "SELECT " ARCHIVE(PG_WORD_A) "a.feed_id FROM unnest($1::bigint[], $2::boolean[])"
                                 " AS w (id, leads_on) JOIN feeds f ON f.id = w.id"
                                 " JOIN archives a ON a.feed_id = f.id AND a.state IN (0, 2, 3)"
                                 " WHERE w.leads_on OR f.partial = 1";

static const char sql_archives[] =
    "SELECT " ARCHIVE(PG_WORD_A) "a.feed_id FROM unnest($1::bigint[], $2::text[]) AS w (id, url)"
                                 " JOIN archives a ON a.feed_id = w.id"
                                 " AND hashtextextended(a.url, 0) ="
                                 " hashtextextended(w.url COLLATE \"C\", 0) AND a.url = w.url";

static const char sql_counts[] =
    "SELECT w.id, (SELECT count(*) FROM archives a WHERE a.feed_id = w.id),"
    " (SELECT coalesce(max(a.place), 0) FROM archives a WHERE a.feed_id = w.id AND a.state = 1)"
    " FROM unnest($1::bigint[]) AS w (id)";

static const char sql_n_graves[] =
    "SELECT w.id, (SELECT count(*) FROM graves g WHERE g.feed_id = w.id)"
    " FROM unnest($1::bigint[]) AS w (id)";

static const char sql_graves[] =
    "SELECT g.when_us, g.feed_id, g.uid FROM unnest($1::bigint[], $2::text[]) AS w (id, uid)"
    " JOIN graves g ON g.feed_id = w.id AND hashtextextended(g.uid, 0) ="
    " hashtextextended(w.uid COLLATE \"C\", 0) AND g.uid = w.uid";

/* Each with the date with which it is shown, and its content. */
#define ENTRIES                                                                                    \
    "SELECT e.id, " ENTRY_KEY(PG_WORD_E) ENTRY_FIXED(PG_WORD_E)                                    \
        ENTRY_SAVED(PG_WORD_E) "e.marks, coalesce(r.updated_at, r.published_at, r.at_us / "        \
                               "1000000), c.entry_id, " CONTENT(PG_WORD_C) "1::bigint FROM "
#define ENTRY_PARTS " JOIN revisions r ON r.seq = e.seq LEFT JOIN contents c ON c.entry_id = e.id"
#define ENTRY_LETTERS                                                                              \
    "i" ENTRY_KEY(PG_LETTER) ENTRY_FIXED(PG_LETTER)                                                \
        ENTRY_SAVED(PG_LETTER) "bii" CONTENT(PG_LETTER) "i"

/* A uid is found by its hash, for it may be too long for an index. */
static const char sql_entries[] =
    ENTRIES "unnest($1::bigint[], $2::text[]) AS w (feed_id, uid) JOIN entries e"
            " ON e.feed_id = w.feed_id AND hashtextextended(e.uid, 0) ="
            " hashtextextended(w.uid COLLATE \"C\", 0) AND e.uid = w.uid" ENTRY_PARTS;

static const char sql_entries_by_id[] =
    ENTRIES "unnest($1::bigint[]) AS w (id) JOIN entries e ON e.id = w.id" ENTRY_PARTS;

/* The newest ones of each key ($3). */
static const char sql_entries_by_key[] = ENTRIES
    "unnest($1::bigint[], $2::bigint[]) AS w (feed_id, key) CROSS JOIN LATERAL"
    " (SELECT k.entry_id FROM entry_keys k WHERE k.feed_id = w.feed_id AND k.key = w.key"
    " ORDER BY k.entry_id DESC LIMIT $3) AS k JOIN entries e ON e.id = k.entry_id" ENTRY_PARTS;

static const char sql_newest[] = "SELECT " REVISION_FACTS(PG_WORD_R) REVISION_TEXTS(
    PG_WORD_B) "e.id FROM unnest($1::bigint[])"
               " AS w (id) JOIN entries e ON e.id = w.id JOIN revisions r ON r.seq = e.seq"
               " JOIN bodies b ON b.id = r.body";

static const char sql_lock_subs[] =
    "SELECT id FROM subscriptions WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

static const char sql_subs[] = "SELECT " SUB_FIXED(PG_WORD) SUB_SAVED(PG_WORD)
    SUB_SECRETS(PG_WORD) "last_error FROM subscriptions WHERE id = ANY($1)";
#define SUB_LETTERS SUB_FIXED(PG_LETTER) SUB_SAVED(PG_LETTER) SUB_SECRETS(PG_LETTER) "s"

static const char sql_dead[] = "SELECT sub_id, id, seq, wanted FROM dead_letters"
                               " WHERE sub_id = ANY($1) ORDER BY sub_id, id";

static const char sql_listed[] =
    "SELECT " SUB_FEED(PG_WORD) "sub_id, place FROM sub_feeds"
                                " WHERE sub_id = ANY($1) ORDER BY sub_id, place, feed_id";

/* The feeds that URLs name ($1, $2), and all those of the subscriptions $3. */
#define SAME_URL(column) "md5(" column ") = md5(w.url) AND " column " = w.url"
#define MATCHES                                                                                    \
    "unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS w (sub_id, url, i) CROSS JOIN LATERAL"    \
    " (SELECT s.feed_id FROM sub_feeds s WHERE s.sub_id = w.sub_id"                                \
    " AND hashtextextended(s.url, 0) = hashtextextended(w.url COLLATE \"C\", 0)"                   \
    " AND s.url = w.url"                                                                           \
    " UNION SELECT s.feed_id FROM feeds f JOIN sub_feeds s ON s.sub_id = w.sub_id"                 \
    " AND s.feed_id = f.id WHERE " SAME_URL(                                                       \
        "f.url") " UNION SELECT s.feed_id FROM feeds f JOIN sub_feeds s ON s.sub_id = w.sub_id"    \
                 " AND s.feed_id = f.id WHERE hashtextextended(f.page_url, 0) ="                   \
                 " hashtextextended(w.url COLLATE \"C\", 0) AND f.page_url = w.url"                \
                 " UNION SELECT s.feed_id FROM aliases a JOIN sub_feeds s ON s.sub_id = w.sub_id"  \
                 " AND s.feed_id = a.feed_id WHERE " SAME_URL("a.url") ") AS m"
#define FEEDS_OF_SUBS                                                                              \
    "SELECT feed_id FROM sub_feeds WHERE sub_id = ANY($3) UNION SELECT m.feed_id FROM " MATCHES
static const char sql_lock_more[] =
    "SELECT id FROM feeds WHERE id = ANY(ARRAY(" FEEDS_OF_SUBS " UNION SELECT unnest($4::bigint[])"
    ")) ORDER BY id FOR NO KEY UPDATE";
static const char sql_whole[] = FEEDS "ANY(ARRAY(" FEEDS_OF_SUBS "))";
static const char sql_matches[] =
    "SELECT w.i - 1, m.feed_id FROM " MATCHES " ORDER BY w.i, m.feed_id";

/* An intent is settled once. */
static const char sql_intents[] = "SELECT " HUB_INTENT(
    PG_WORD) "feeds FROM hub_intents WHERE id = ANY($1) ORDER BY id FOR UPDATE";

static const char sql_n_intents[] = "SELECT count(*) FROM hub_intents";

static const char sql_leases[] =
    "SELECT " HUB_LEASE(PG_WORD) "callback FROM hub_leases WHERE sub_id = ANY($1)";

static const char sql_hub_names[] =
    "SELECT w.i - 1, l.sub_id FROM unnest($1::bigint[], $2::text[], $3::text[])"
    " WITH ORDINALITY AS w (protocol, callback, topic, i) JOIN hub_leases l"
    " ON md5(l.callback) = md5(w.callback) AND md5(l.topic) = md5(w.topic)"
    " AND l.protocol = w.protocol AND l.callback = w.callback AND l.topic = w.topic";

static const char sql_websubs[] =
    "SELECT f.feed_id, f.sub_id FROM sub_feeds f JOIN subscriptions s ON s.id = f.sub_id"
    " WHERE f.feed_id = ANY($1) AND s.sink = '" HUB_SINK "' ORDER BY f.feed_id, f.sub_id";

static const char sql_ended[] =
    "SELECT sub_id FROM hub_leases WHERE ends_at <= $1 ORDER BY ends_at, sub_id LIMIT $2";
static const char sql_to_renew[] =
    "SELECT sub_id FROM hub_leases WHERE renew_at <= $1 ORDER BY renew_at, sub_id LIMIT $2";
static const char sql_due[] =
    "SELECT least((SELECT min(ends_at) FROM hub_leases WHERE ends_at > $1),"
    " (SELECT min(renew_at) FROM hub_leases WHERE renew_at > $1))";

/* They change only while their feed is locked, or when it is gone. */
static const char sql_upstreams[] = "SELECT " UPSTREAM(
    PG_WORD) "1::bigint FROM upstreams WHERE token = ANY($1) ORDER BY token FOR NO KEY UPDATE";

/* What a URL means under a credential, or under an access key: which feed has it as its own, as an
 * alias, as its page; and which has it and the key. */
#define ITS_PAGE                                                                                   \
    "hashtextextended(f.page_url, 0) = hashtextextended(w.url COLLATE \"C\", 0)"                   \
    " AND f.page_url = w.url"
#define SAME_CREDENTIAL(column)                                                                    \
    " AND md5(" column ") = md5(w.credential) AND " column " = w.credential"
static const char sql_names[] =
    "SELECT w.i - 1, x.kind, x.id FROM unnest($1::text[], $2::text[], $3::text[])"
    " WITH ORDINALITY AS w (url, credential, key, i) CROSS JOIN LATERAL"
    " (SELECT 1::bigint AS kind, f.id FROM feeds f WHERE " SAME_URL("f.url") SAME_CREDENTIAL(
        "f.credential") " UNION ALL SELECT 2, a.feed_id FROM aliases a"
                        " WHERE " SAME_URL("a.url") SAME_CREDENTIAL(
                            "a.credential") " UNION ALL SELECT 3, f.id FROM feeds f WHERE " ITS_PAGE
                                            " AND f.credential = w.credential"
                                            " UNION ALL (SELECT 4, k.id FROM (SELECT 1 AS o, f.id"
                                            " FROM feeds f WHERE " SAME_URL(
                                                "f.url") " AND f.access_key = w.key"
                                                         " UNION ALL SELECT 2, f.id FROM aliases a"
                                                         " JOIN feeds f ON f.id = a.feed_id"
                                                         " WHERE " SAME_URL(
                                                             "a.url") " AND f.access_key = w.key"
                                                                      " UNION ALL SELECT 3, f.id"
                                                                      " FROM feeds f "
                                                                      "WHERE " ITS_PAGE
                                                                      " AND f.access_key = w.key) k"
                                                                      " ORDER BY k.o, k.id LIMIT "
                                                                      "1))"
                                                                      " x ORDER BY w.i, x.kind,"
                                                                      " x.id";
enum { NAME_OWN = 1, NAME_ALIAS, NAME_PAGE, NAME_KEY };

static const char sql_times[] =
    "SELECT w.seq, coalesce((SELECT r.at_us FROM revisions r WHERE r.seq <= w.seq"
    " ORDER BY r.seq DESC LIMIT 1), 0) FROM unnest($1::bigint[]) AS w (seq)";

/* Whose is the URL that a feed may take, and whose is its own; and how many aliases has the feed?
 * Most requests end at the feed's own URL; then nothing has to be known. */
static const char sql_places[] =
    "SELECT f.id, p.url, f.credential, coalesce((SELECT o.id FROM feeds o WHERE"
    " md5(o.url) = md5(p.url) AND md5(o.credential) = md5(f.credential) AND o.url = p.url"
    " AND o.credential = f.credential), 0), coalesce((SELECT a.feed_id FROM aliases a WHERE"
    " md5(a.url) = md5(p.url) AND md5(a.credential) = md5(f.credential) AND a.url = p.url"
    " AND a.credential = f.credential), 0), (SELECT count(*) FROM aliases a"
    " WHERE a.feed_id = f.id) FROM unnest($1::bigint[], $2::text[]) AS w (id, url)"
    " JOIN feeds f ON f.id = w.id CROSS JOIN LATERAL (VALUES (w.url), (f.url)) AS p (url)"
    " WHERE w.url <> f.url";

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
    load->places = w->places;
    return load->n_tokens + load->n_intents + load->n_websubs + load->n_hub_names + load->n_leased +
               load->counts_intents + (load->due_at != 0) + load->n_feeds + load->n_heads +
               load->n_pasts + load->n_counts + load->n_n_graves + load->n_subs + load->n_listed + load->n_deads +
               load->n_whole + load->n_matches + load->n_names + load->n_times + load->n_ids +
               load->n_newest + load->n_keys + load->entries.n + load->archives.n + load->graves.n +
               load->places.n >
           0;
}

static void queue_ids(struct pg_link *l, struct pg_params *p, const char *sql, const int64_t *ids,
                      size_t n, const char *letters, struct pg_answer *out)
{
    if (n == 0)
        return;
    pg_params_reset(p);
    pg_put_ints(p, ids, n);
    pg_queue(l, sql, p, letters, out);
}

static void queue_rows(struct pg_link *l, struct pg_params *p, const char *sql,
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

static void queue_pasts(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *feeds, *leads_on;

    if (load->n_pasts == 0)
        return;
    pg_params_reset(p);
    feeds = pg_put_array(p, PG_INT);
    leads_on = pg_put_array(p, PG_BOOL);
    for (size_t i = 0; i < load->n_pasts; i++) {
        pg_add_int(feeds, load->pasts[i]->feed_id);
        pg_add_bool(leads_on, load->pasts[i]->leads_on);
    }
    pg_queue(l, sql_pasts, p, ARCHIVE(PG_LETTER) "i", &load->past_rows);
}

static void queue_keys(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *feeds, *keys;

    if (load->n_keys == 0)
        return;
    pg_params_reset(p);
    feeds = pg_put_array(p, PG_INT);
    keys = pg_put_array(p, PG_INT);
    for (size_t i = 0; i < load->n_keys; i++) {
        pg_add_int(feeds, load->keys[i].feed_id);
        pg_add_int(keys, load->keys[i].key);
    }
    pg_put_int(p, WANT_KEY_MOST);
    pg_queue(l, sql_entries_by_key, p, ENTRY_LETTERS, &load->key_rows);
}

/* A statement with MATCHES in it. */
static void queue_of_subs(struct pg_load *load, struct pg_link *l, struct pg_params *p,
                          const char *sql, const char *letters, struct pg_answer *out)
{
    struct pg_param *subs, *urls;

    pg_params_reset(p);
    subs = pg_put_array(p, PG_INT);
    urls = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_matches; i++) {
        pg_add_int(subs, load->matches[i].sub_id);
        pg_add_text(p, urls, load->matches[i].url);
    }
    if (sql != sql_matches)
        pg_put_ints(p, load->whole, load->n_whole);
    if (sql == sql_lock_more)
        pg_put_ints(p, load->feeds, load->n_feeds);
    pg_queue(l, sql, p, letters, out);
}

/* What belongs to a subscription does not change while it is locked, so its feeds can be locked
 * after it. */
static void queue_locks(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    queue_ids(l, p, sql_lock_subs, load->subs, load->n_subs, "i", NULL);
    if (load->n_whole + load->n_matches > 0)
        queue_of_subs(load, l, p, sql_lock_more, "i", &load->locked_rows);
    else
        queue_ids(l, p, sql_lock, load->feeds, load->n_feeds, "i", NULL);
}

static void queue_subs(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    queue_ids(l, p, sql_subs, load->subs, load->n_subs, SUB_LETTERS, &load->sub_rows);
    queue_ids(l, p, sql_dead, load->deads, load->n_deads, "iiii", &load->dead_rows);
    queue_ids(l, p, sql_listed, load->listed, load->n_listed, SUB_FEED(PG_LETTER) "ii",
              &load->listed_rows);
    if (load->n_whole + load->n_matches > 0)
        queue_of_subs(load, l, p, sql_whole, FEED_LETTERS, &load->whole_rows);
    if (load->n_matches > 0)
        queue_of_subs(load, l, p, sql_matches, "ii", &load->match_rows);
}

static void queue_names(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *urls, *credentials, *keys;

    if (load->n_names == 0)
        return;
    pg_params_reset(p);
    urls = pg_put_array(p, PG_TEXT);
    credentials = pg_put_array(p, PG_TEXT);
    keys = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_names; i++) {
        struct str credential = load->names[i].credential;

        pg_add_text(p, urls, load->names[i].url);
        pg_add_text(p, credentials, str_is_null(credential) ? STR("") : credential);
        pg_add_text(p, keys, access_key_of(credential));
    }
    pg_queue(l, sql_names, p, "iii", &load->name_rows);
}

static void queue_hub_names(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *protocols, *callbacks, *topics;

    if (load->n_hub_names == 0)
        return;
    pg_params_reset(p);
    protocols = pg_put_array(p, PG_INT);
    callbacks = pg_put_array(p, PG_TEXT);
    topics = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_hub_names; i++) {
        const struct want_hub_name *want = &load->hub_names[i];

        pg_add_int(protocols, want->protocol);
        pg_add_text(p, callbacks, str_is_null(want->callback) ? STR("") : want->callback);
        pg_add_text(p, topics, str_is_null(want->topic) ? STR("") : want->topic);
    }
    pg_queue(l, sql_hub_names, p, "ii", &load->hub_name_rows);
}

static void queue_due(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    if (load->due_at == 0)
        return;
    pg_params_reset(p);
    pg_put_int(p, load->due_at);
    pg_put_int(p, HUB_SWEEP_MAX);
    pg_queue(l, sql_ended, p, "i", &load->ended_rows);
    pg_queue(l, sql_to_renew, p, "i", &load->renew_rows);
    pg_params_reset(p);
    pg_put_int(p, load->due_at);
    pg_queue(l, sql_due, p, "i", &load->due_rows);
}

static void queue_hub(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    queue_ids(l, p, sql_intents, load->intents, load->n_intents, HUB_INTENT(PG_LETTER) "s",
              &load->intent_rows);
    if (load->counts_intents)
        pg_queue(l, sql_n_intents, NULL, "i", &load->n_intent_rows);
    queue_ids(l, p, sql_leases, load->leased, load->n_leased, HUB_LEASE(PG_LETTER) "s",
              &load->lease_rows);
    queue_hub_names(load, l, p);
    queue_ids(l, p, sql_websubs, load->websubs, load->n_websubs, "ii", &load->websub_rows);
    queue_due(load, l, p);
}

static void queue_tokens(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    struct pg_param *tokens;

    if (load->n_tokens == 0)
        return;
    pg_params_reset(p);
    tokens = pg_put_array(p, PG_TEXT);
    for (size_t i = 0; i < load->n_tokens; i++)
        pg_add_text(p, tokens, load->tokens[i]);
    pg_queue(l, sql_upstreams, p, UPSTREAM(PG_LETTER) "i", &load->token_rows);
}

void pg_load_queue(struct pg_load *load, struct pg_link *l, struct pg_params *p)
{
    queue_locks(load, l, p);
    queue_ids(l, p, sql_feeds, load->feeds, load->n_feeds, FEED_LETTERS, &load->feed_rows);
    queue_ids(l, p, sql_heads, load->heads, load->n_heads, "iss", &load->head_rows);
    queue_rows(l, p, sql_entries, &load->entries, ENTRY_LETTERS, &load->entry_rows);
    queue_ids(l, p, sql_entries_by_id, load->ids, load->n_ids, ENTRY_LETTERS, &load->id_rows);
    queue_keys(load, l, p);
    queue_ids(l, p, sql_newest, load->newest, load->n_newest,
              REVISION_FACTS(PG_LETTER) REVISION_TEXTS(PG_LETTER) "i", &load->newest_rows);
    queue_pasts(load, l, p);
    queue_rows(l, p, sql_archives, &load->archives, ARCHIVE(PG_LETTER) "i", &load->archive_rows);
    queue_ids(l, p, sql_counts, load->counts, load->n_counts, "iii", &load->count_rows);
    queue_ids(l, p, sql_n_graves, load->n_graves, load->n_n_graves, "ii", &load->n_grave_rows);
    queue_subs(load, l, p);
    queue_names(load, l, p);
    queue_hub(load, l, p);
    queue_tokens(load, l, p);
    queue_ids(l, p, sql_times, load->times, load->n_times, "ii", &load->time_rows);
    queue_rows(l, p, sql_places, &load->places, "issiii", &load->place_rows);
    queue_rows(l, p, sql_graves, &load->graves, "iis", &load->grave_rows);
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

/* Hold row i of the answer, unless the entry is held already. */
static struct held_entry *take_entry(const struct pg_answer *a, size_t i, struct rows *r)
{
    struct entry_row row = {.id = 0};
    int at = pg_get_columns(a, i, 0, PG_COLUMNS(entry_columns), &r->arena, &row);
    struct held_entry *e = rows_entry(r, row.feed_id, row.uid);

    if (e != NULL)
        return e;
    e = rows_add_entry(r, row.feed_id, row.uid);
    e->row = row;
    e->was_seq = row.seq;
    e->had_marks = row.has_marks;
    e->old_marks = row.marks;
    e->shown_at = pg_get_time(a, i, at);
    e->has_content = !pg_is_null(a, i, at + 1);
    if (e->has_content)
        pg_get_columns(a, i, at + 1, PG_COLUMNS(content_columns), &r->arena, &e->content);
    return e;
}

static void take_entries(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->entry_rows.n; i++)
        take_entry(&load->entry_rows, i, r);
    for (size_t i = 0; i < load->key_rows.n; i++)
        take_entry(&load->key_rows, i, r);
    for (size_t i = 0; i < load->entries.n; i++)
        if (rows_entry(r, load->entries.at[i].feed_id, load->entries.at[i].text) == NULL)
            rows_add_entry(r, load->entries.at[i].feed_id, load->entries.at[i].text);
}

static void take_entries_by_id(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->id_rows.n; i++) {
        int64_t id = pg_get_int(&load->id_rows, i, 0);
        struct held_entry *e = take_entry(&load->id_rows, i, r);

        if (rows_find(r, ROW_ENTRY_ID, id, STR_NULL) == NULL)
            rows_add_entry_id(r, id, e);
    }
    for (size_t i = 0; i < load->n_ids; i++)
        if (rows_find(r, ROW_ENTRY_ID, load->ids[i], STR_NULL) == NULL)
            rows_add_entry_id(r, load->ids[i], NULL);
    for (size_t i = 0; i < load->newest_rows.n; i++) {
        struct revision *newest = ARENA_NEW(&r->arena, struct revision);
        int at = pg_get_columns(&load->newest_rows, i, 0, PG_COLUMNS(revision_columns), &r->arena,
                                newest);

        rows_entry_by_id(r, pg_get_int(&load->newest_rows, i, at))->newest = newest;
    }
}

static void take_archives(const struct pg_answer *a, struct rows *r)
{
    for (size_t i = 0; i < a->n; i++) {
        struct archive_row row = {.feed_id = 0};
        struct held_archive *held;

        pg_get_columns(a, i, 0, PG_COLUMNS(archive_columns), &r->arena, &row);
        if (rows_archive(r, row.feed_id, row.url) != NULL)
            continue;
        held = rows_add_archive(r, row.feed_id, row.url);
        held->row = row;
        held->is_there = held->was_there = true;
    }
}

static bool is_missing(struct rows *r, int64_t feed_id)
{
    return rows_feed(r, feed_id)->is_missing;
}

static void take_pasts(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->n_pasts; i++) {
        const struct want_past *want = load->pasts[i];
        struct held_past *p = rows_past(r, want->feed_id);

        if (is_missing(r, want->feed_id))
            continue;
        if (p == NULL)
            p = rows_add_past(r, want->feed_id);
        p->loaded->open |= want->leads_on || rows_feed(r, want->feed_id)->row.feed.partial;
    }
    take_archives(&load->past_rows, r);
    take_archives(&load->archive_rows, r);
    for (size_t i = 0; i < load->archives.n; i++) {
        const struct want_row *want = &load->archives.at[i];

        if (!is_missing(r, want->feed_id) && rows_archive(r, want->feed_id, want->text) == NULL)
            rows_add_archive(r, want->feed_id, want->text);
    }
}

static void take_counts(const struct pg_load *load, struct rows *r)
{
    for (size_t i = 0; i < load->count_rows.n; i++) {
        struct held_past *p = rows_past(r, pg_get_int(&load->count_rows, i, 0));

        if (p == NULL)
            continue;
        p->n_archives = pg_get_int(&load->count_rows, i, 1);
        p->last_read = pg_get_int(&load->count_rows, i, 2);
        p->loaded->counts = true;
    }
    for (size_t i = 0; i < load->n_grave_rows.n; i++) {
        struct held_past *p = rows_past(r, pg_get_int(&load->n_grave_rows, i, 0));

        if (p == NULL)
            continue;
        p->n_graves = pg_get_int(&load->n_grave_rows, i, 1);
        p->loaded->n_graves = true;
    }
}

static void take_graves(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->grave_rows;

    for (size_t i = 0; i < load->graves.n; i++) {
        const struct want_row *want = &load->graves.at[i];

        if (!is_missing(r, want->feed_id) && rows_grave(r, want->feed_id, want->text) == NULL)
            rows_add_grave(r, want->feed_id, want->text);
    }
    for (size_t i = 0; i < a->n; i++)
        rows_grave(r, pg_get_int(a, i, 1), pg_get_bytes(a, i, 2))->when_us = pg_get_int(a, i, 0);
}

static void take_subs(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *rows = &load->sub_rows;

    for (size_t i = 0; i < load->n_subs; i++)
        if (rows_sub(r, load->subs[i]) == NULL)
            rows_add_sub(r, load->subs[i]);
    for (size_t i = 0; i < rows->n; i++) {
        struct held_sub *sub = rows_sub(r, pg_get_int(rows, i, 0));

        pg_get_columns(rows, i, 0, PG_COLUMNS(sub_columns), &r->arena, sub);
        sub->held.exists = sub->held.is_stored = true;
    }
}

static void take_dead(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *dead = &load->dead_rows;

    for (size_t i = 0; i < load->n_deads; i++)
        rows_sub(r, load->deads[i])->has_dead = true;
    for (size_t i = 0; i < dead->n; i++) {
        struct held_sub *sub = rows_sub(r, pg_get_int(dead, i, 0));
        struct held_dead *d = rows_add_dead(r, sub);

        d->held.exists = d->held.is_stored = true;
        d->row = (struct dead_letter){.id = pg_get_int(dead, i, 1),
                                      .sub_id = sub->row.id,
                                      .at.seq = pg_get_int(dead, i, 2),
                                      .wanted = pg_get_int(dead, i, 3) != 0};
    }
}

static void take_listed(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->listed_rows;

    for (size_t i = 0; i < load->n_listed; i++)
        rows_sub(r, load->listed[i])->has_feeds = true;
    for (size_t i = 0; i < a->n; i++) {
        struct sub_feed row = {.feed_id = 0};
        int at = pg_get_columns(a, i, 0, PG_COLUMNS(sub_feed_columns), &r->arena, &row);
        struct held_sub *sub = rows_sub(r, pg_get_int(a, i, at));
        struct held_sub_feed *feed = rows_add_sub_feed(r, sub, row.feed_id);

        feed->row = row;
        feed->place = pg_get_int(a, i, at + 1);
        feed->held.exists = feed->held.is_stored = true;
    }
}

static void take_matches(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->match_rows;
    size_t at = 0;

    for (size_t i = 0; i < load->n_matches; i++) {
        const struct want_match *want = &load->matches[i];
        struct held_match *m = rows_match(r, want->sub_id, want->url);
        size_t n = 0;

        while (at + n < a->n && pg_get_int(a, at + n, 0) == (int64_t)i)
            n++;
        if (m == NULL) {
            m = rows_add_match(r, want->sub_id, want->url);
            m->feed_ids = ARENA_ARRAY(&r->arena, int64_t, n + 1);
            for (; m->n < n; m->n++)
                m->feed_ids[m->n] = pg_get_int(a, at + m->n, 1);
        }
        at += n;
    }
}

static void take_places(const struct pg_answer *a, struct rows *r)
{
    for (size_t i = 0; i < a->n; i++) {
        int64_t feed_id = pg_get_int(a, i, 0);
        struct str url = pg_get_bytes(a, i, 1), credential = pg_get_bytes(a, i, 2);
        struct held_place *p;

        if (rows_names(r, feed_id) == NULL)
            rows_add_names(r, feed_id)->n = pg_get_int(a, i, 5);
        if (rows_place(r, url, credential) != NULL)
            continue;
        p = rows_add_place(r, url, credential);
        p->owner = pg_get_int(a, i, 3);
        p->alias_of = pg_get_int(a, i, 4);
        p->was_alias = p->alias_of != 0;
    }
}

static void take_page(struct rows *r, struct held_place *p, int64_t feed_id)
{
    int64_t *pages = ARENA_ARRAY(&r->arena, int64_t, p->n_pages + 1);

    if (p->n_pages > 0)
        memcpy(pages, p->pages, p->n_pages * sizeof *pages);
    pages[p->n_pages++] = feed_id;
    p->pages = pages;
}

static void take_name(const struct pg_answer *a, size_t i, struct held_place *p, struct rows *r)
{
    int64_t id = pg_get_int(a, i, 2);

    switch (pg_get_int(a, i, 1)) {
    case NAME_OWN:
        p->owner = id;
        break;
    case NAME_ALIAS:
        p->alias_of = id;
        p->was_alias = true;
        break;
    case NAME_PAGE:
        take_page(r, p, id);
        break;
    default:
        p->key_of = id;
    }
}

/* A place that is held for a feed that may take it does not know of pages yet. It is not changed:
 * names are loaded before anything is computed. */
static void take_names(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->name_rows;
    size_t at = 0;

    for (size_t i = 0; i < load->n_names; i++) {
        const struct want_name *want = &load->names[i];
        struct held_place *p = rows_place(r, want->url, want->credential);

        if (p == NULL)
            p = rows_add_place(r, want->url, want->credential);
        p->n_pages = 0;
        for (; at < a->n && pg_get_int(a, at, 0) == (int64_t)i; at++)
            take_name(a, at, p, r);
    }
    for (size_t i = 0; i < load->time_rows.n; i++) {
        int64_t seq = pg_get_int(&load->time_rows, i, 0);
        struct held_time *time = rows_find(r, ROW_TIME, seq, STR_NULL);

        if (time == NULL)
            time = rows_add(r, ROW_TIME, seq, STR_NULL);
        time->at_us = pg_get_int(&load->time_rows, i, 1);
    }
}

static void take_intents(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->intent_rows;

    for (size_t i = 0; i < a->n; i++) {
        struct hub_intent row = {.id = 0};
        int at = pg_get_columns(a, i, 0, PG_COLUMNS(intent_columns), &r->arena, &row);
        struct held_intent *in;

        if (rows_intent(r, row.id) != NULL)
            continue;
        hub_feeds_read(&r->arena, pg_get_str(a, i, at, &r->arena), &row);
        in = rows_add_intent(r, row.id);
        in->row = row;
        in->held.exists = in->held.is_stored = true;
    }
    for (size_t i = 0; i < load->n_intents; i++)
        if (rows_intent(r, load->intents[i]) == NULL)
            rows_add_intent(r, load->intents[i]);
    if (load->counts_intents)
        r->n_intents = pg_get_int(&load->n_intent_rows, 0, 0);
}

static void take_leases(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->lease_rows;

    for (size_t i = 0; i < load->n_leased; i++)
        if (rows_lease(r, load->leased[i]) == NULL)
            rows_add_lease(r, load->leased[i]);
    for (size_t i = 0; i < a->n; i++) {
        struct hub_lease row = {.sub_id = 0};
        int at = pg_get_columns(a, i, 0, PG_COLUMNS(lease_columns), &r->arena, &row);
        struct held_lease *lease = rows_lease(r, row.sub_id);

        lease->row = row;
        lease->callback = pg_get_str(a, i, at, &r->arena);
        lease->held.exists = lease->held.is_stored = true;
    }
}

static void take_hub_names(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->hub_name_rows;

    for (size_t i = 0; i < load->n_hub_names; i++) {
        const struct want_hub_name *want = &load->hub_names[i];

        if (rows_hub_name(r, want->protocol, want->callback, want->topic) == NULL)
            rows_add_hub_name(r, want->protocol, want->callback, want->topic);
    }
    for (size_t i = 0; i < a->n; i++) {
        const struct want_hub_name *want = &load->hub_names[pg_get_int(a, i, 0)];

        rows_hub_name(r, want->protocol, want->callback, want->topic)->sub_id = pg_get_int(a, i, 1);
    }
}

/* The numbers of a column. Arena. */
static int64_t *numbers_of(const struct pg_answer *a, size_t from, size_t n, int column,
                           struct arena *arena)
{
    int64_t *numbers = ARENA_ARRAY(arena, int64_t, n + 1);

    for (size_t i = 0; i < n; i++)
        numbers[i] = pg_get_int(a, from + i, column);
    return numbers;
}

static void take_websubs(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->websub_rows;

    for (size_t i = 0; i < load->n_websubs; i++)
        if (rows_websubs(r, load->websubs[i]) == NULL)
            rows_add_websubs(r, load->websubs[i]);
    for (size_t i = 0, n; i < a->n; i += n) {
        struct held_websubs *of = rows_websubs(r, pg_get_int(a, i, 0));

        for (n = 1; i + n < a->n && pg_get_int(a, i + n, 0) == pg_get_int(a, i, 0);)
            n++;
        of->sub_ids = numbers_of(a, i, n, 1, &r->arena);
        of->n = n;
    }
}

static void take_due(const struct pg_load *load, struct rows *r)
{
    struct hub_due *due;

    if (load->due_at == 0)
        return;
    due = ARENA_NEW(&r->arena, struct hub_due);
    *due = (struct hub_due){
        .now = load->due_at,
        .ended = numbers_of(&load->ended_rows, 0, load->ended_rows.n, 0, &r->arena),
        .n_ended = load->ended_rows.n,
        .to_renew = numbers_of(&load->renew_rows, 0, load->renew_rows.n, 0, &r->arena),
        .n_to_renew = load->renew_rows.n,
        .next_at = pg_get_time(&load->due_rows, 0, 0)};
    if (due->n_ended == HUB_SWEEP_MAX || due->n_to_renew == HUB_SWEEP_MAX)
        due->next_at = due->now; /* there may be more */
    r->hub_due = due;
}

static void take_hub(const struct pg_load *load, struct rows *r)
{
    take_intents(load, r);
    take_leases(load, r);
    take_hub_names(load, r);
    take_websubs(load, r);
    take_due(load, r);
}

static void take_upstreams(const struct pg_load *load, struct rows *r)
{
    const struct pg_answer *a = &load->token_rows;

    for (size_t i = 0; i < load->n_tokens; i++)
        if (rows_upstream(r, load->tokens[i]) == NULL)
            rows_add_upstream_row(r, load->tokens[i]);
    for (size_t i = 0; i < a->n; i++) {
        struct upstream row = {.feed_id = 0};
        struct held_upstream_row *u;

        pg_get_columns(a, i, 0, PG_COLUMNS(upstream_columns), &r->arena, &row);
        u = rows_upstream(r, row.token);
        u->row = row;
        u->held.exists = u->held.is_stored = true;
    }
}

static int compare_ids(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return (a > b) - (a < b);
}

/* The statements after the lock see what was committed meanwhile: a feed may have taken a URL that
 * was looked for. That one is not locked. */
static bool were_locked(const struct pg_load *load, struct arena *a)
{
    const struct pg_answer *locked = &load->locked_rows, *rows = &load->whole_rows;
    int64_t *ids = ARENA_ARRAY(a, int64_t, locked->n + 1);
    bool were = true;

    for (size_t i = 0; i < locked->n; i++)
        ids[i] = pg_get_int(locked, i, 0);
    qsort(ids, locked->n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < rows->n && were; i++) {
        int64_t id = pg_get_int(rows, i, 0);

        were = bsearch(&id, ids, locked->n, sizeof id, compare_ids) != NULL;
    }
    for (size_t i = 0; i < load->match_rows.n && were; i++) {
        int64_t id = pg_get_int(&load->match_rows, i, 1);

        were = bsearch(&id, ids, locked->n, sizeof id, compare_ids) != NULL;
    }
    return were;
}

enum rc pg_load_take(const struct pg_load *load, struct rows *r, struct err *err)
{
    if (load->n_whole + load->n_matches > 0 && !were_locked(load, &r->arena))
        return err_set(err, RC_AGAIN, "a feed was renamed meanwhile");
    take_feeds(load, r);
    take_heads(load, r);
    take_entries(load, r);
    take_entries_by_id(load, r);
    take_pasts(load, r);
    take_counts(load, r);
    take_graves(load, r);
    take_subs(load, r);
    take_dead(load, r);
    take_listed(load, r);
    take_matches(load, r);
    take_places(&load->place_rows, r);
    take_names(load, r);
    take_hub(load, r);
    take_upstreams(load, r);
    return RC_OK;
}
