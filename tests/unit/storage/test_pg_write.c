/* tests/unit/storage/test_pg_write.c - operations in PostgreSQL: the same rows as in SQLite;
 * numbers in the order of commits, whoever commits; what is lost, and what is refused. */
#include "pg_server.h"

#include <sqlite3.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/digest.h"
#include "fixture.h"
#include "storage/pg/group.h"
#include "storage/pg/schema.h"
#include "storage/sqlite/stmt.h"

/* ---- an empty database with feeds ------------------------------------------------------------ */

static struct server_link fresh(void)
{
    struct server_link s = connected(PLAIN), super = connected(SUPER);

    script_ok(super.l, "DROP SCHEMA public CASCADE; CREATE SCHEMA public AUTHORIZATION mill");
    assert_int_equal(RC_OK, pg_schema_ready(s.l, NULL));
    link_end(&super);
    return s;
}

/* Feeds with the ids 1 to n, and a hub for each. */
static void make_feeds(struct pg_link *l, int n)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);

    buf_printf(&sql,
               "INSERT INTO feeds (id, url, credential, next_reason, version, id_url) SELECT n,"
               " 'http://' || n || '.example/', '', 0, 1, 'http://' || n || '.example/'"
               " FROM generate_series(1, %d) AS n;"
               "INSERT INTO upstreams (token, base_url, secret, hub, topic, feed_id, is_current,"
               " from_page, for_subs, state, n_errors) SELECT n, '', '', 'http://hub.example/',"
               " 'http://' || n || '.example/', n, 1, 0, 0, 0, 0 FROM generate_series(1, %d) AS n",
               n, n);
    script_ok(l, sql.ptr);
}

/* ---- one node -------------------------------------------------------------------------------- */

struct node {
    struct server_link s;
    struct pg_writer *w;
    struct txn t;
    size_t n_done, n_transactions;
    int64_t last_seq;
};

static struct node node_of(struct server_link s, int64_t id)
{
    return (struct node){.s = s, .w = pg_writer_new(s.l, id)};
}

static void node_end(struct node *n)
{
    pg_writer_free(&n->w);
    txn_release(&n->t);
    link_end(&n->s);
}

static void on_done(void *ctx, struct txn *t, struct op **ops UNUSED, size_t n)
{
    struct node *node = ctx;

    node->n_done += n;
    node->n_transactions++;
    node->last_seq = t->last_seq;
    for (size_t i = 0; i < t->n_feeds; i++) /* all numbers are known now */
        assert_true(t->feeds[i].first_seq == 0 ||
                    (t->feeds[i].first_seq <= t->last_seq && t->last_seq < NUMBERS_HERE));
}

static void run_group(struct node *n, struct op **ops, size_t len)
{
    struct err err = ERR_INIT;

    if (pg_group_run(n->w, &n->t, ops, len, on_done, n, &err) != RC_OK)
        fail_msg("%s", err.text);
}

/* ---- random operations ----------------------------------------------------------------------- */

#define N_FEEDS 5
#define HARVESTED 3 /* feed of metadata records */
#define STREAMED 4  /* Smart Feed */
#define N_UIDS 14

static uint64_t seed;

static int64_t chance(int64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)n);
}

static struct str uid_of(struct arena *a, int64_t n)
{
    if (n == 1) /* longer than a row of an index may be */
        return str_printf(a, "urn:%0*d", 9000, 7);
    return str_printf(a, n % 2 == 0 ? "http://e.example/%d" : "%d", (int)n);
}

static void set_marks(struct entry_marks *m)
{
    *m = (struct entry_marks){.guid = chance(6),
                              .guid_strong = chance(4),
                              .link = chance(6),
                              .title = 1 + chance(3),
                              .at = chance(3),
                              .body = chance(5)};
}

static struct entry_change random_change(struct arena *a, int64_t feed_id, size_t i)
{
    int text = (int)chance(4);
    struct entry_change c = {.kind = chance(5) == 0 ? REV_DELETED : REV_NEW,
                             .uid = uid_of(a, chance(N_UIDS)),
                             .title = str_printf(a, "t\xc3\xbc %d", text),
                             .link = chance(3) == 0 ? STR_NULL : STR("http://e.example/x"),
                             .summary = STR("s"),
                             .author = chance(2) == 0 ? STR_NULL : STR(""),
                             .published_at = 1000 + chance(50),
                             .updated_at = chance(2) == 0 ? TIME_UNKNOWN : 1000 + chance(100),
                             .updated_us = chance(3) * 100,
                             .volatile_only = chance(6) == 0,
                             .item_index = i};
    unsigned char old[16];

    digest_content(c.title, c.essence);
    digest_content(str_printf(a, "t\xc3\xbc %d", (int)chance(4)), old);
    memcpy(c.old_essence, old, sizeof old);
    if (c.updated_at == TIME_UNKNOWN)
        c.updated_us = 0;
    if (c.kind == REV_DELETED) {
        c.published_at = TIME_UNKNOWN;
        c.title = c.link = c.summary = c.author = STR_NULL;
        c.doc = c.ext = STR("");
        return c;
    }
    set_marks(&c.marks);
    c.is_metadata = feed_id == HARVESTED && chance(2) == 0;
    c.doc = str_printf(a, "{\"title\":\"t %d\",\"n\":%d}", text, (int)chance(3));
    c.ext = chance(4) == 0 ? STR("<x/>") : STR("");
    return c;
}

static struct entry_batch random_batch(struct arena *a, int64_t feed_id)
{
    size_t n = (size_t)chance(7);
    struct entry_change *c = ARENA_ARRAY(a, struct entry_change, n + 1);

    for (size_t i = 0; i < n; i++)
        c[i] = random_change(a, feed_id, i);
    return (struct entry_batch){.changes = c, .n = n};
}

static struct feed_check random_check(int64_t feed_id, int64_t now)
{
    bool ok = chance(4) != 0;
    int trust = (int)chance(4);

    return (struct feed_check){.feed_id = feed_id,
                               .checked_at = now,
                               .ok = ok,
                               .status = ok ? 200 : 500,
                               .error = ok ? STR_NULL : STR("it fails"),
                               .etag = chance(2) == 0 ? STR_NULL : STR("\"e\""),
                               .last_modified = chance(3) == 0 ? STR("") : STR_NULL,
                               .state = FEED_OK,
                               .n_errors = ok ? 0 : (int)chance(5),
                               .level = chance(3) == 0 ? (int)chance(3) : LEVEL_KEEP,
                               .next_fetch_at = now + chance(1000),
                               .next_reason = REASON_PERIOD,
                               .trust_was = (int)chance(3),
                               .trust = trust,
                               .n_pings = chance(4)};
}

static struct doc_head random_head(struct arena *a)
{
    return (struct doc_head){.json = str_printf(a, "{\"n\":%d}", (int)chance(3)),
                             .ext = STR(""),
                             .title = chance(3) == 0 ? STR("T") : STR_NULL,
                             .site_url = chance(6) == 0 ? STR("http://site.example/") : STR_NULL,
                             .hints = {.ttl_s = chance(2) * 60}};
}

static struct new_identity random_identity(void)
{
    return (struct new_identity){.is_set = chance(4) == 0,
                                 .policy = {.rule = (enum identity_rule)chance(3),
                                            .since_at = TIME_UNKNOWN,
                                            .why = STR("so"),
                                            .n_better = (int)chance(3)}};
}

static struct doc_past random_past(struct arena *a, int64_t feed_id)
{
    struct doc_past past = {.older = STR_NULL,
                            .whole = chance(3) != 0,
                            .metadata = feed_id == HARVESTED,
                            .oldest = 900 + chance(100),
                            .newest = 1000 + chance(100)};
    size_t n = chance(3) == 0 ? (size_t)chance(4) : 0;
    struct past_deletion *gone = ARENA_ARRAY(a, struct past_deletion, n + 1);

    if (chance(4) == 0)
        past.older = str_printf(a, "http://e.example/past/%d", (int)chance(5));
    for (size_t i = 0; i < n; i++)
        gone[i] = (struct past_deletion){.uid = uid_of(a, chance(N_UIDS)),
                                         .when_us = (1000 + chance(100)) * 1000000};
    past.deletions = gone;
    past.n_deletions = n;
    return past;
}

static struct poll_outcome random_poll(struct arena *a, int64_t feed_id, int64_t now)
{
    struct poll_outcome o = {.check = random_check(feed_id, now),
                             .has_document = chance(4) != 0,
                             .has_body_hash = chance(2) == 0,
                             .body_hash = "sixteen letters",
                             .head = random_head(a),
                             .identity = random_identity(),
                             .entries = random_batch(a, feed_id),
                             .complete = chance(5) == 0,
                             .is_gap = chance(8) == 0,
                             .past = random_past(a, feed_id)};

    return o;
}

static struct doc_piece random_piece(struct arena *a)
{
    return (struct doc_piece){.from =
                                  chance(2) == 0 ? STR_NULL : str_printf(a, "c%d", (int)chance(2)),
                              .cursor = str_printf(a, "c%d", (int)chance(2)),
                              .more = chance(2) == 0,
                              .is_refused = chance(6) == 0};
}

static struct op random_op(struct arena *a, int64_t now)
{
    int64_t feed_id = 1 + chance(N_FEEDS), *id = ARENA_NEW(a, int64_t);

    *id = chance(30) == 0 ? 99 : feed_id; /* which is not there */
    if (chance(8) == 0)
        return (struct op){.kind = OP_TOUCH, .as.touch = {.ids = id, .n = 1}};
    if (chance(8) == 0)
        return (struct op){.kind = OP_PING, .as.ping = {id, 1, chance(2) == 0}};
    if (chance(4) == 0)
        return (struct op){.kind = OP_DELIVERY_OUTCOME,
                           .as.delivery = {.feed_id = *id,
                                           .received_at = now,
                                           .metadata = feed_id == HARVESTED,
                                           .identity = random_identity(),
                                           .entries = random_batch(a, feed_id)}};
    if (chance(6) == 0)
        return (struct op){
            .kind = OP_ARCHIVE_OUTCOME,
            .as.archive = {.feed_id = *id,
                           .url = str_printf(a, "http://e.example/past/%d", (int)chance(5)),
                           .checked_at = now,
                           .ok = chance(3) != 0,
                           .entries = random_batch(a, feed_id),
                           .past = random_past(a, feed_id)}};
    if (feed_id == HARVESTED && chance(2) == 0)
        return (struct op){.kind = OP_CONTENT_OUTCOME,
                           .as.content = {.feed_id = feed_id,
                                          .checked_at = now,
                                          .answer = (enum content_answer)chance(4),
                                          .n_forms = 1 + (int)chance(2),
                                          .doc = STR("{\"with\":1}"),
                                          .ext = STR(""),
                                          .summary = STR("its content"),
                                          .author = STR_NULL,
                                          .is_lone = chance(2) == 0}};
    if (feed_id == STREAMED)
        return (struct op){.kind = OP_STREAM_OUTCOME,
                           .as.stream = {.check = random_check(*id, now),
                                         .has_document = chance(4) != 0,
                                         .head = random_head(a),
                                         .identity = random_identity(),
                                         .entries = random_batch(a, feed_id),
                                         .piece = random_piece(a)}};
    return (struct op){.kind = OP_POLL_OUTCOME, .as.poll = random_poll(a, *id, now)};
}

/* A content is one of an entry that is in both databases; each has given it another id. */
static void choose_content(sqlite3 *sq, struct pg_link *l, struct op *op, struct op *copy)
{
    static const char sql[] = "SELECT e.id, e.seq, e.uid FROM contents c JOIN entries e"
                              " ON e.id = c.entry_id WHERE c.state = 0 ORDER BY e.uid";
    struct pg_answer a;
    sqlite3_stmt *st;
    struct str uid;
    size_t i;

    pg_queue(l, sql, NULL, "iis", &a);
    run_ok(l);
    if (a.n == 0)
        return;
    i = (size_t)chance((int64_t)a.n);
    op->as.content.entry_id = pg_get_int(&a, i, 0);
    op->as.content.seq = copy->as.content.seq = pg_get_int(&a, i, 1);
    uid = pg_get_bytes(&a, i, 2);
    assert_int_equal(
        SQLITE_OK, sqlite3_prepare_v2(sq, "SELECT id FROM entries WHERE feed_id = ?1 AND uid = ?2",
                                      -1, &st, NULL));
    sqlite3_bind_int64(st, 1, HARVESTED);
    sqlite3_bind_text(st, 2, uid.ptr, (int)uid.len, SQLITE_STATIC);
    assert_int_equal(SQLITE_ROW, sqlite3_step(st));
    copy->as.content.entry_id = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
}

/* The same operation by the storer and SQLite. */
static struct answer store_op(struct fixture *f, sqlite3 *sq, struct pg_link *l, struct op *op)
{
    struct answer a = answer_init(1);
    struct op *copy = NEW(struct op);

    *copy = *op;
    if (op->kind == OP_CONTENT_OUTCOME)
        choose_content(sq, l, op, copy);
    copy->done = on_answer;
    copy->ctx = &a;
    assert_int_equal(RC_OK, storer_push(f->store->storer, copy, -1));
    answer_wait(&a);
    return a;
}

static void same_result(const struct op *op, const struct answer *a)
{
    const struct store_result *x = &op->result, *y = &a->res;

    assert_int_equal(op->rc, a->rc);
    assert_int_equal(x->id, y->id);
    assert_int_equal(x->n_new, y->n_new);
    assert_int_equal(x->n_changed, y->n_changed);
    assert_int_equal(x->n_deleted, y->n_deleted);
    assert_int_equal(x->last_seq, y->last_seq);
    assert_int_equal(x->is_overtaken, y->is_overtaken);
    assert_int_equal(x->wants_feed, y->wants_feed);
    assert_string_equal(op->err.text, a->rc == RC_OK ? "" : a->text);
}

/* ---- comparing tables ------------------------------------------------------------------------ */

/* All rows of a table as lines, from both: columns of the schema, but those that follow a clock or
 * are drawn by each database. An entry is named by its feed and uid. */
static void make_selects(sqlite3 *sq, const char *table, const char *from, const char *but,
                         struct buf *lite, struct buf *pg)
{
    char sql[100];
    sqlite3_stmt *st;
    int n = 0;

    snprintf(sql, sizeof sql, "SELECT name, type FROM pragma_table_info('%s')", table);
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq, sql, -1, &st, NULL));
    buf_puts(lite, "SELECT ");
    buf_puts(pg, "SELECT ");
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(st, 0);
        const char *type = (const char *)sqlite3_column_text(st, 1);
        char word[80];

        snprintf(word, sizeof word, " %s ", name);
        if (strstr(but, word) != NULL)
            continue;
        buf_printf(lite, "%s", n == 0 ? "" : " || '|' || ");
        buf_printf(pg, "%s", n++ == 0 ? "" : " || '|' || ");
        if (strcmp(name, "entry_id") == 0) {
            buf_puts(lite, "(SELECT o.feed_id || o.uid FROM entries o WHERE o.id = entry_id)");
            buf_puts(pg, "(SELECT o.feed_id || o.uid FROM entries o WHERE o.id = entry_id)");
        } else if (strcmp(type, "BLOB") == 0) {
            buf_printf(lite, "iif(%s IS NULL, 'NULL', lower(hex(%s)))", name, name);
            buf_printf(pg, "coalesce(encode(%s, 'hex'), 'NULL')", name);
        } else if (strcmp(type, "TEXT") == 0) {
            buf_printf(lite, "iif(%s IS NULL, 'NULL', '<' || %s || '>')", name, name);
            buf_printf(pg, "coalesce('<' || %s || '>', 'NULL')", name);
        } else {
            buf_printf(lite, "coalesce(%s, 'NULL')", name);
            buf_printf(pg, "coalesce(%s::text, 'NULL')", name);
        }
    }
    sqlite3_finalize(st);
    buf_printf(lite, " AS line FROM %s ORDER BY line", table);
    buf_printf(pg, " COLLATE \"C\" AS line FROM %s ORDER BY line", from);
}

static void same_table(sqlite3 *sq, struct pg_link *l, const char *table, const char *from,
                       const char *but)
{
    AUTO(buf_release) struct buf lite = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf pg = BUF_INIT(BUF_ANY);
    sqlite3_stmt *st;
    struct pg_answer a;
    size_t n = 0;

    make_selects(sq, table, from, but, &lite, &pg);
    pg_queue(l, pg.ptr, NULL, "s", &a);
    run_ok(l);
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq, lite.ptr, -1, &st, NULL));
    while (sqlite3_step(st) == SQLITE_ROW) {
        struct str mine = str_from((const char *)sqlite3_column_text(st, 0));
        struct str theirs = n < a.n ? pg_get_bytes(&a, n, 0) : STR("(no more rows)");

        if (!str_eq(mine, theirs))
            fail_msg("%s, row %zu of %zu:\n%.*s\n%.*s", table, n, a.n, STR_ARG(mine),
                     STR_ARG(theirs));
        n++;
    }
    sqlite3_finalize(st);
    assert_int_equal(n, a.n);
}

/* The order in which numbers that follow a clock were given. */
static void same_order(sqlite3 *sq, struct pg_link *l, const char *sql)
{
    sqlite3_stmt *st;
    struct pg_answer a;
    size_t n = 0;

    pg_queue(l, sql, NULL, "i", &a);
    run_ok(l);
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq, sql, -1, &st, NULL));
    for (; sqlite3_step(st) == SQLITE_ROW; n++)
        assert_int_equal(sqlite3_column_int64(st, 0), pg_get_int(&a, n, 0));
    sqlite3_finalize(st);
    assert_int_equal(n, a.n);
}

static void same_tables(sqlite3 *sq, struct pg_link *l)
{
    same_table(sq, l, "entries", "entries", " id ");
    same_table(sq, l, "entry_keys", "entry_keys", "");
    same_table(sq, l, "revisions", "revisions r JOIN bodies b ON b.id = r.body", " at_us ");
    same_table(sq, l, "overlays", "overlays", "");
    same_table(sq, l, "contents", "contents", "");
    same_table(sq, l, "heads", "heads", "");
    same_table(sq, l, "head_log", "head_log", "");
    same_table(sq, l, "feed_events", "feed_events", " at_us ");
    same_table(sq, l, "upstreams", "upstreams", "");
    same_table(sq, l, "archives", "archives", "");
    same_table(sq, l, "graves", "graves", "");
    same_table(sq, l, "feeds", "feeds", " version ");
    same_order(sq, l, "SELECT seq FROM revisions ORDER BY at_us");
    same_order(sq, l, "SELECT id FROM feeds ORDER BY version, id");
}

/* What the fixture's feeds are in SQLite. */
static sqlite3 *make_same_feeds(struct fixture *f, struct pg_link *l)
{
    sqlite3 *sq;

    for (int i = 1; i <= N_FEEDS; i++)
        assert_int_equal(i, add_feed(f, arena_printf(&f->arena, "http://%d.example/", i), NULL));
    assert_int_equal(SQLITE_OK, sqlite3_open(f->path, &sq));
    assert_int_equal(SQLITE_OK, sqlite3_busy_timeout(sq, 60000));
    make_feeds(l, N_FEEDS);
    assert_int_equal(
        SQLITE_OK,
        sqlite3_exec(sq,
                     "UPDATE feeds SET version = 1, next_fetch_at = NULL, next_reason = 0;"
                     "INSERT INTO upstreams (token, base_url, secret, hub, topic, feed_id,"
                     " is_current, from_page, for_subs, state, n_errors) SELECT id, '', '',"
                     " 'http://hub.example/', url, id, 1, 0, 0, 0, 0 FROM feeds",
                     NULL, NULL, NULL));
    return sq;
}

static void print_seed(void)
{
    const char *given = getenv("FEEDMILL_SEED");

    seed = given != NULL ? strtoull(given, NULL, 10) : 20260731;
    print_message("FEEDMILL_SEED=%llu\n", (unsigned long long)seed);
}

static void test_write__the_same_rows_as_in_sqlite(void **state)
{
    struct fixture *f = *state;
    struct node node = node_of(fresh(), 1);
    sqlite3 *sq = make_same_feeds(f, node.s.l);
    int64_t now = 1700000000;

    print_seed();
    for (int round = 0; round < 60; round++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        size_t n = 1 + (size_t)chance(8);
        struct op *ops[8];
        struct answer answers[8];
        int64_t trips;

        now += 1 + chance(4000);
        clock_fake_us(now * 1000000);
        for (size_t i = 0; i < n; i++) {
            ops[i] = ARENA_NEW(&a, struct op);
            *ops[i] = random_op(&a, now);
            answers[i] = store_op(f, sq, node.s.l, ops[i]);
        }
        trips = pg_trips(node.s.l);
        run_group(&node, ops, n);
        assert_int_equal(2, pg_trips(node.s.l) - trips);
        for (size_t i = 0; i < n; i++) {
            same_result(ops[i], &answers[i]);
            arena_release(&ops[i]->arena);
        }
        if (round % 10 == 9)
            same_tables(sq, node.s.l);
    }
    sqlite3_close(sq);
    clock_fake_us(0);
    node_end(&node);
}

#define T(name) cmocka_unit_test(test_write__##name)
#define WITH_STORE(name)                                                                           \
    cmocka_unit_test_setup_teardown(test_write__##name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(the_same_rows_as_in_sqlite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
