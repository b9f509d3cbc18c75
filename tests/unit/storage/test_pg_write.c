/* tests/unit/storage/test_pg_write.c - operations in PostgreSQL: the same rows as in SQLite;
 * numbers in the order of commits, whoever commits; what is lost, and what is refused.
 * FEEDMILL_SEED: other random operations. FEEDMILL_ROUNDS: how many times 240 rounds of them; 2 by
 * default. */
#include "pg_server.h"
#include "tests/unit/cmocka_all.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/digest.h"
#include "fixture.h"
#include "storage/pg/group.h"
#include "storage/pg/saves.h"
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

/* Feeds with the ids from `first` to `last`. */
static void make_feeds(struct pg_link *l, int first, int last)
{
    AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);

    buf_printf(&sql,
               "INSERT INTO feeds (id, url, credential, next_reason, version, id_url) SELECT n,"
               " 'http://' || n || '.example/', '', 0, 1, 'http://' || n || '.example/'"
               " FROM generate_series(%d, %d) AS n",
               first, last);
    script_ok(l, sql.ptr);
}

/* A hub for each feed that has none, in both. */
static const char sql_hubs[] =
    "INSERT INTO upstreams (token, base_url, secret, hub, topic, feed_id, is_current, from_page,"
    " for_subs, state, n_errors) SELECT id, '', '', 'http://hub.example/', url, id, 1, 0, 0, 0, 0"
    " FROM feeds WHERE id NOT IN (SELECT feed_id FROM upstreams)";

/* ---- one node -------------------------------------------------------------------------------- */

/* What operations call in the middle of a transaction. */
struct node_db {
    struct db db;
    struct pg_writer *w;
};

static enum rc db_load(struct db *db, struct rows *r, const struct wants *w, struct err *err)
{
    return pg_writer_load(((struct node_db *)db)->w, w, r, err);
}

static enum rc db_write(struct db *db, struct txn *t, struct err *err UNUSED)
{
    pg_writer_queue_rows(((struct node_db *)db)->w, t);
    return RC_OK;
}

static enum rc db_merge(struct db *db, const struct feed *from, const struct feed *to,
                        bool with_heads, struct arena *a, struct merged_feeds *out, struct err *err)
{
    return pg_writer_merge_feeds(((struct node_db *)db)->w, from, to, with_heads, a, out, err);
}

static const struct writes node_writes = {
    .load = db_load, .write = db_write, .merge_feeds = db_merge};

struct node {
    struct server_link s;
    struct pg_writer *w;
    struct node_db db;
    struct txn t;
    size_t n_done, n_transactions, n_merges;
    int64_t last_seq;
};

static struct node node_of(struct server_link s, int64_t id)
{
    return (struct node){.s = s, .w = pg_writer_new(s.l, id), .t.levels = {{86400, 1800, 300}}};
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
    for (size_t i = 0; i < t->n_feeds; i++)
        node->n_merges += t->feeds[i].merged_into != 0;
    for (size_t i = 0; i < t->n_feeds; i++) /* all numbers are known now */
        assert_true(t->feeds[i].first_seq == 0 ||
                    (t->feeds[i].first_seq <= t->last_seq && t->last_seq < NUMBERS_HERE));
}

static void run_group(struct node *n, struct op **ops, size_t len)
{
    struct err err = ERR_INIT;

    n->db = (struct node_db){{.writes = &node_writes}, n->w};
    n->t.db = &n->db.db;
    if (pg_group_run(n->w, &n->t, ops, len, on_done, n, &err) != RC_OK)
        fail_msg("%s", err.text);
}

/* ---- random operations ----------------------------------------------------------------------- */

/* The feeds that there may be: the last ones that were made. Some of the others are still there. */
#define N_FEEDS 5
#define IS_HARVESTED(id) ((id) % N_FEEDS % 2 == 1) /* feeds of metadata records */
#define IS_STREAMED(id) ((id) % N_FEEDS == 4)      /* Smart Feeds */
static int64_t n_feeds;
#define N_UIDS 14

static uint64_t seed;

static int64_t chance(int64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)n);
}

static int64_t random_feed(void)
{
    return n_feeds - chance(N_FEEDS);
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
    c.is_metadata = IS_HARVESTED(feed_id) && chance(2) == 0;
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

/* A feed moves to and fro, has some other names, and perhaps the URL of another feed. */
static void random_urls(struct arena *a, struct feed_check *c)
{
    struct str *aliases = ARENA_ARRAY(a, struct str, 2);

    if (chance(3) == 0)
        c->url = str_printf(a, "http://%d.example/%s", (int)c->feed_id, chance(2) == 0 ? "" : "x");
    if (chance(8) == 0)
        c->url = str_printf(a, "http://%d.example/", (int)random_feed());
    if (chance(5) == 0)
        c->page_url = chance(2) == 0 ? STR("") : STR("http://page.example/");
    for (int i = 0; i < 2; i++)
        aliases[i] = str_printf(a, "http://alias.example/%d", (int)chance(3));
    c->aliases = aliases;
    c->n_aliases = chance(4) == 0 ? 1 + (size_t)chance(2) : 0;
}

static struct feed_check random_check(struct arena *a, int64_t feed_id, int64_t now)
{
    bool ok = chance(4) != 0;
    int trust = (int)chance(2);
    struct feed_check c;

    c = (struct feed_check){.feed_id = feed_id,
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
                            .trust_was = (int)chance(2),
                            .trust = trust,
                            .n_pings = chance(4)};
    if (!ok && chance(5) == 0)
        c.state = FEED_GONE;
    random_urls(a, &c);
    return c;
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
                            .metadata = IS_HARVESTED(feed_id),
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
    struct poll_outcome o = {.check = random_check(a, feed_id, now),
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

/* The subscriptions that there may be: the last ones that were made. */
#define N_SUBS 6
static int64_t n_subs;

/* Every third subscription follows a list at first. */
#define FOLLOWS(sub_id) ((sub_id) % 3 == 0)
#define N_LISTS 64
static int64_t list_of[N_LISTS];

static int64_t random_sub(void)
{
    return n_subs - chance(N_SUBS);
}

/* With new feeds and subscriptions: when an answer is lost, they get other ids. */
static bool with_new;

static struct op random_push(struct arena *a, int64_t now)
{
    size_t n = 1 + (size_t)chance(3);
    struct push_outcome *list = ARENA_ARRAY(a, struct push_outcome, n);

    for (size_t i = 0; i < n; i++) {
        int64_t seq = chance(20);

        list[i] = (struct push_outcome){.sub_id = random_sub(),
                                        .generation = chance(2),
                                        .from = {chance(2) == 0, chance(2) * 10, (int)chance(2), 0},
                                        .position = chance(3) * 10,
                                        .chain = {chance(2) * seq, seq * 1000},
                                        .fault = chance(5) == 0,
                                        .n_entries = chance(3),
                                        .failed = chance(3) == 0,
                                        .error = chance(2) == 0 ? STR("no") : STR_NULL,
                                        .next_try_at = chance(2) == 0 ? TIME_UNKNOWN : now,
                                        .refused_seq = chance(4),
                                        .n_refusals = (int)chance(3),
                                        .part_max = chance(3),
                                        .part_until = chance(3) * 7,
                                        .ended = chance(12) == 0,
                                        .is_dead = chance(3) == 0,
                                        .has_note = chance(2) == 0};
        list[i].dead = (struct dead_letter){.id = chance(3) == 0 ? 1 + chance(10) : 0,
                                            .sub_id = list[i].sub_id,
                                            .at = {seq, seq * 1000},
                                            .uid = STR("u"),
                                            .refused_at = now,
                                            .status = 400,
                                            .answer = STR("bad")};
        list[i].note = (struct delivery_note){.at_us = now * 1000000 + (int64_t)i,
                                              .n_entries = 2,
                                              .first = {1, 1000},
                                              .error = STR("e")};
    }
    return (struct op){.kind = OP_PUSH_OUTCOMES, .as.push = {list, n}};
}

/* What a subscription follows. */
#define ASKS_ALL STR("subscribe 0 all=1")

static struct op random_change_sub(struct arena *a)
{
    struct sub_change c = {.sub_id = random_sub(),
                           .has_state = chance(3) == 0,
                           .state = chance(2) == 0 ? SUB_ACTIVE : SUB_PAUSED,
                           .has_position = chance(3) == 0,
                           .position = chance(40),
                           .is_skip = chance(2) == 0,
                           .with_initial = chance(4) == 0,
                           .events = chance(3) == 0 ? 1 + (unsigned)chance(15) : 0,
                           .has_batch = chance(4) == 0,
                           .batch = (int)chance(9),
                           .level = chance(2) == 0 ? LEVEL_KEEP : (int)chance(4) - 1,
                           .period_s = chance(5) * 100};

    if (chance(4) == 0) {
        c.endpoint = str_printf(a, "http://end.example/%d", (int)chance(3));
        c.endpoint_credential = chance(2) == 0 ? STR("me:too") : STR_NULL;
    }
    if (chance(6) == 0)
        c.sink_settings = STR("{}");
    if (chance(4) == 0)
        c.name = chance(2) == 0 ? STR("") : STR("its name");
    if (chance(4) == 0)
        c.folder = chance(2) == 0 ? STR("") : STR("[\"f\"]");
    if (chance(3) == 0)
        c.asks = chance(4) == 0 ? STR("") : ASKS_ALL;
    return (struct op){.kind = OP_CHANGE_SUB, .as.change_sub = c};
}

/* What a subscription that follows all feeds has now: some that it had, some that are new. */
static struct op random_follow(struct arena *a)
{
    size_t n = (size_t)chance(4);
    struct sub_feed *feeds = ARENA_ARRAY(a, struct sub_feed, n + 1);
    int64_t id = 0;

    for (size_t i = 0; i < n; i++) {
        id += 1 + chance(n_feeds / 3 + 1); /* ascending; the last ones may not be there */
        feeds[i] = (struct sub_feed){
            .feed_id = id, .url = str_printf(a, "http://%d.example/", (int)id)};
    }
    return (struct op){.kind = OP_FOLLOW_SUB,
                       .as.follow = {.sub_id = random_sub(),
                                     .asks = chance(6) == 0 ? STR("subscribe 0 folder=x") : ASKS_ALL,
                                     .filter = chance(2) == 0 ? STR("q=x") : STR_NULL,
                                     .feeds = feeds,
                                     .n_feeds = n}};
}

/* Of a subscription feeds are named by the URL that was subscribed, by their own, by that of their
 * page, or by an alias. */
static struct op random_unsubscribe(struct arena *a)
{
    size_t n = (size_t)chance(4);
    struct str *urls = ARENA_ARRAY(a, struct str, n + 1);

    for (size_t i = 0; i < n; i++) {
        int64_t how = chance(8);

        urls[i] = how == 0   ? STR("http://page.example/")
                  : how == 1 ? str_printf(a, "http://alias.example/%d", (int)chance(3))
                  : how < 5  ? str_printf(a, "http://%d.example/", (int)random_feed())
                             : str_printf(a, "http://sub.example/%d", (int)chance(3));
    }
    return (struct op){.kind = OP_UNSUBSCRIBE,
                       .as.unsubscribe = {.sub_id = random_sub(), .urls = urls, .n = n}};
}

/* A feed by a URL that it has, or by that of another one, of a page, or by a new one. */
static struct feed_ref random_ref(struct arena *a)
{
    int64_t how = chance(8);
    struct feed_ref ref = {
        .url = how == 0   ? STR("http://page.example/")
               : how == 1 ? str_printf(a, "http://alias.example/%d", (int)chance(3))
                          : str_printf(a, "http://%d.example/%s", (int)(n_feeds + 2 - chance(8)),
                                       chance(6) == 0 ? "x" : "")};

    if (chance(6) == 0)
        ref.credential = STR("me:pw");
    if (chance(4) == 0)
        ref.details.title = STR("a title");
    if (chance(4) == 0)
        ref.details.name = STR("a name");
    return ref;
}

static struct op random_subscribe(struct arena *a)
{
    size_t n = 1 + (size_t)chance(3);
    struct feed_ref *refs = ARENA_ARRAY(a, struct feed_ref, n);
    struct sub_request req = {.endpoint = STR("http://end.example/"),
                              .endpoint_credential = chance(2) == 0 ? STR("a:b") : STR_NULL,
                              .sink = STR("xmlrpc"),
                              .feeds = refs,
                              .n_feeds = n,
                              .events = chance(2) == 0 ? 7 : 0,
                              .batch = (int)chance(3),
                              .asks = chance(2) == 0 ? ASKS_ALL : STR_NULL,
                              .from_given = chance(2) == 0,
                              .from_seq = chance(60),
                              .level = (int)chance(4) - 1,
                              .period_s = chance(8) * 60,
                              .sanitize = chance(3) == 0 ? SANITIZE_OFF : SANITIZE_KEEP};

    for (size_t i = 0; i < n; i++)
        refs[i] = random_ref(a);
    if (chance(4) == 0) { /* the first one is a list that names the others */
        req.list = refs;
        req.feeds = NULL;
        req.n_feeds = 0;
    }
    return (struct op){.kind = OP_SUBSCRIBE, .as.subscribe = req};
}

static struct list_sync random_sync(struct arena *a, int64_t sub_id)
{
    size_t n = (size_t)chance(3);
    struct feed_ref *added = ARENA_ARRAY(a, struct feed_ref, n + 1);
    struct list_change *changed = ARENA_ARRAY(a, struct list_change, n + 1);
    int64_t *dropped = ARENA_ARRAY(a, int64_t, n + 1);

    for (size_t i = 0; i < n; i++) {
        added[i] = random_ref(a);
        changed[i] = (struct list_change){random_feed(), STR("another name"), STR("[\"l\"]"),
                                          chance(2) == 0 ? LISTED_ABSENT : LISTED_PRESENT};
        dropped[i] = random_feed();
    }
    return (struct list_sync){.sub_id = sub_id,
                              .folder = STR_NULL,
                              .added = added,
                              .n_added = with_new ? n : 0,
                              .changed = changed,
                              .n_changed = n,
                              .dropped = dropped,
                              .n_dropped = (size_t)chance((int)n + 1)};
}

/* The answer of a list, mostly of one that a subscription follows. */
static struct op random_list(struct arena *a, int64_t now)
{
    int64_t sub_id = random_sub();
    int64_t feed_id = FOLLOWS(sub_id) && chance(8) != 0 ? list_of[sub_id % N_LISTS] : random_feed();
    struct list_sync *syncs = ARENA_ARRAY(a, struct list_sync, 2);
    struct list_outcome o = {.check = random_check(a, feed_id, now),
                             .has_body_hash = chance(2) == 0,
                             .body_hash = "what was read",
                             .has_news = chance(2) == 0,
                             .title = chance(3) == 0 ? STR("a list") : STR_NULL,
                             .syncs = syncs,
                             .n_syncs = 1 + (size_t)chance(2)};

    syncs[0] = random_sync(a, sub_id);
    syncs[1] = random_sync(a, random_sub());
    return (struct op){.kind = OP_LIST_OUTCOME, .as.list = o};
}

/* Callbacks and topics are few, so that requests meet leases. Each has a token of its own. */
static struct op random_hub_op(struct arena *a)
{
    static int n_tokens;
    int64_t kind = chance(5);
    bool is_websub = chance(4) != 0;
    struct sub_feed *feeds = ARENA_ARRAY(a, struct sub_feed, 2);
    struct hub_intent in = {.mode = chance(5) == 0 ? HUB_UNSUBSCRIBE : HUB_SUBSCRIBE,
                            .protocol = is_websub ? HUB_WEBSUB : CLOUD_HTTP_POST,
                            .topic = str_printf(a, "http://topic.example/%d", (int)chance(2)),
                            .callback = str_printf(a, "http://back.example/%d", (int)chance(4)),
                            .credential = chance(3) == 0 ? STR("a:b") : STR_NULL,
                            .secret = chance(2) == 0 ? STR("s") : STR_NULL,
                            .verify_token = str_printf(a, "t%d", n_tokens++),
                            .legacy = chance(5) == 0,
                            .renews = is_websub && chance(2) == 0,
                            .lease_s = 2000 + chance(20000),
                            .feeds = feeds,
                            .n_feeds = is_websub ? 1 : 2};

    if (kind == 0)
        return (struct op){.kind = OP_HUB_SWEEP};
    if (kind < 3)
        return (struct op){.kind = OP_HUB_SETTLE,
                           .as.hub_settle = {.confirmed = chance(4) != 0, .unreached = true}};
    for (size_t i = 0; i < 2; i++)
        feeds[i] = (struct sub_feed){
            .feed_id = random_feed(),
            .url = str_printf(a, "http://%d.example/", is_websub ? (int)random_feed() : (int)i)};
    return (struct op){.kind = OP_HUB_REQUEST, .as.hub_request = in};
}

/* Tokens of callers are few, so that one is used and deleted that there is; some are not there. */
static struct op random_token_op(void)
{
    struct token t = {.id = 1 + chance(6),
                      .name = STR("caller"),
                      .role = ROLE_READ,
                      .rate = chance(2) * 60,
                      .expires_at = chance(2) == 0 ? TIME_UNKNOWN : 5000,
                      .created_at = 1000,
                      .used_at = TIME_UNKNOWN,
                      .digest = STR("00")};
    int64_t kind = chance(3);

    if (kind == 0)
        return (struct op){.kind = OP_TOKEN_ADD, .as.token = t};
    t.used_at = 2000 + chance(100);
    return (struct op){.kind = kind == 1 ? OP_TOKEN_USED : OP_TOKEN_DROP, .as.token = t};
}

/* Named views are few, too, and name one another; some are somebody else's, or in use. */
static struct op random_view_op(struct arena *a)
{
    int64_t no = chance(5), other = chance(5);
    struct named_view v = {.name = str_printf(a, "v%d", (int)no),
                           .owner = chance(2),
                           .role = ROLE_SUBSCRIBE,
                           .title = chance(2) == 0 ? STR_NULL : STR("title"),
                           .query = str_printf(a, "q=%d", (int)chance(9)),
                           .uses = chance(2) == 0 ? STR_NULL : str_printf(a, "v%d", (int)other),
                           .created_at = 1000 + chance(9),
                           .changed_at = 2000};

    return (struct op){.kind = chance(3) == 0 ? OP_VIEW_DROP : OP_VIEW_PUT,
                       .as.view = {.row = v, .by_admin = chance(2) == 0}};
}

/* One of two of a feed, by its token; also of a feed that is gone. */
static struct op random_upstream_op(struct arena *a)
{
    int64_t feed_id = chance(20) == 0 ? 9999 : chance(2) == 0 ? random_feed() : 1 + chance(3);
    struct upstream u = {.token = str_printf(a, "%d-%d", (int)feed_id, (int)chance(2)),
                         .base_url = chance(4) == 0 ? STR_NULL : STR("http://me/"),
                         .secret = STR("s"),
                         .hub = STR("http://hub.example/"),
                         .topic = STR("http://t/"),
                         .feed_id = feed_id,
                         .is_current = chance(2) == 0,
                         .from_page = chance(2) == 0,
                         .state = chance(2) == 0 ? UPSTREAM_ACTIVE : UPSTREAM_ASKING,
                         .lease_end_at = chance(2) == 0 ? 5000 : TIME_UNKNOWN,
                         .next_at = TIME_UNKNOWN,
                         .ended_at = TIME_UNKNOWN,
                         .n_errors = (int)chance(3),
                         .error = chance(2) == 0 ? STR("why") : STR_NULL,
                         .procedure = chance(4) == 0 ? STR("p") : STR_NULL};

    return (struct op){.kind = chance(3) == 0 ? OP_UPSTREAM_DROP : OP_UPSTREAM_PUT,
                       .as.upstream = {.row = u}};
}

static struct op random_sub_op(struct arena *a, int64_t now)
{
    int64_t kind = chance(10);

    if (kind < 2)
        return random_change_sub(a);
    if (kind > 5)
        return random_follow(a);
    if (kind == 2)
        return random_unsubscribe(a);
    if (kind == 3)
        return random_list(a, now);
    return (struct op){.kind = chance(2) == 0 ? OP_DEAD_RETRY : OP_DEAD_DROP,
                       .as.dead = {random_sub(), chance(3)}};
}

/* Somebody subscribes to two feeds: in both databases. */
static void add_sub(sqlite3 *sq, struct pg_link *l)
{
    int64_t id = ++n_subs, one = random_feed(), other = random_feed();
    int64_t list = FOLLOWS(id) ? one : 0;
    char sql[1000];

    snprintf(sql, sizeof sql,
             "INSERT INTO subscriptions (id, endpoint, sink, position, generation, created_at, asks)"
             " VALUES (%d, 'http://end.example/', 'xmlrpc', 0, %d, 5, nullif('%s', ''));"
             " INSERT INTO sub_feeds (sub_id, feed_id, place, url, listed) SELECT %d, id, id,"
             " 'http://sub.example/' || (id %% 3), CASE WHEN id = %d THEN 3 WHEN %d > 0 THEN 1"
             " ELSE 0 END FROM feeds WHERE id IN (%d, %d);"
             " UPDATE feeds SET n_subscriptions = n_subscriptions + 1 WHERE id IN (%d, %d);"
             " UPDATE feeds SET is_list = 1 WHERE id = %d",
             (int)id, (int)(id % 2), list == 0 ? ASKS_ALL.ptr : "", (int)id, (int)list, (int)list, (int)one, (int)other, (int)one,
             (int)other, (int)list);
    list_of[id % N_LISTS] = list;
    script_ok(l, sql);
    assert_int_equal(SQLITE_OK, sqlite3_exec(sq, sql, NULL, NULL, NULL));
}

static struct op random_op(struct arena *a, int64_t now)
{
    int64_t feed_id = random_feed(), *id = ARENA_NEW(a, int64_t);

    *id = chance(30) == 0 ? 9999 : feed_id; /* which is not there */
    if (IS_HARVESTED(feed_id) && chance(2) == 0)
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
    if (chance(5) == 0)
        return random_push(a, now);
    if (with_new && chance(8) == 0)
        return random_subscribe(a);
    if (with_new && chance(5) == 0)
        return random_hub_op(a);
    if (chance(5) == 0)
        return random_upstream_op(a);
    if (with_new && chance(16) == 0)
        return chance(2) == 0 ? random_view_op(a) : random_token_op();
    if (with_new && chance(16) == 0)
        return (struct op){.kind = OP_ADD_FEED, .as.add = random_ref(a)};
    if (chance(4) == 0)
        return random_sub_op(a, now);
    if (chance(8) == 0)
        return (struct op){.kind = OP_TOUCH, .as.touch = {.ids = id, .n = 1}};
    if (chance(8) == 0)
        return (struct op){.kind = OP_PING, .as.ping = {id, 1, chance(2) == 0}};
    if (chance(4) == 0)
        return (struct op){.kind = OP_DELIVERY_OUTCOME,
                           .as.delivery = {.feed_id = *id,
                                           .received_at = now,
                                           .metadata = IS_HARVESTED(feed_id),
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
    if (IS_STREAMED(feed_id))
        return (struct op){.kind = OP_STREAM_OUTCOME,
                           .as.stream = {.check = random_check(a, *id, now),
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
    static const char sql[] = "SELECT e.id, e.seq, e.first_seq, e.feed_id FROM contents c"
                              " JOIN entries e ON e.id = c.entry_id WHERE c.state = 0"
                              " ORDER BY e.first_seq";
    struct pg_answer a;
    sqlite3_stmt *st;
    size_t i;

    pg_queue(l, sql, NULL, "iiii", &a);
    run_ok(l);
    if (a.n == 0)
        return;
    i = (size_t)chance((int64_t)a.n);
    op->as.content.entry_id = pg_get_int(&a, i, 0);
    op->as.content.seq = copy->as.content.seq = pg_get_int(&a, i, 1);
    op->as.content.feed_id = copy->as.content.feed_id = pg_get_int(&a, i, 3);
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq, "SELECT id FROM entries WHERE first_seq = ?",
                                                   -1, &st, NULL));
    sqlite3_bind_int64(st, 1, pg_get_int(&a, i, 2));
    copy->as.content.entry_id = 999999; /* if an earlier one of this group has dropped it */
    if (sqlite3_step(st) == SQLITE_ROW)
        copy->as.content.entry_id = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
}

/* The highest id of a dead letter in SQLite before a group. */
static int64_t last_dead;

/* The same for dead letters, which callers know by their ids: some of a subscription, or none. */
static void choose_dead(sqlite3 *sq, struct pg_link *l, int64_t sub_id, int64_t *theirs,
                        int64_t *ours)
{
    static const char sql[] = "SELECT id, seq FROM dead_letters WHERE sub_id = $1 ORDER BY id";
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_answer a;
    sqlite3_stmt *st;

    pg_put_int(&p, sub_id);
    pg_queue(l, sql, &p, "ii", &a);
    run_ok(l);
    if (a.n == 0 || *theirs == 0) {
        *theirs = *ours = 0;
        return;
    }
    *theirs = pg_get_int(&a, 0, 0);
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq,
                                                   "SELECT id FROM dead_letters WHERE sub_id = ?1"
                                                   " AND seq = ?2 AND id <= ?3",
                                                   -1, &st, NULL));
    sqlite3_bind_int64(st, 1, sub_id);
    sqlite3_bind_int64(st, 2, pg_get_int(&a, 0, 1));
    sqlite3_bind_int64(st, 3, last_dead);
    if (sqlite3_step(st) == SQLITE_ROW)
        *ours = sqlite3_column_int64(st, 0);
    else /* an earlier one of this group drops it */
        *theirs = *ours = 0;
    sqlite3_finalize(st);
}

/* The highest id of a request at the hub in SQLite before a group. */
static int64_t last_intent;

/* The same for requests at the hub. */
static void choose_intent(sqlite3 *sq, struct pg_link *l, int64_t *theirs, int64_t *ours)
{
    static const char sql[] = "SELECT id, verify_token FROM hub_intents"
                              " WHERE verify_token IS NOT NULL ORDER BY verify_token";
    struct pg_answer a;
    struct str token;
    sqlite3_stmt *st;
    size_t i;

    *theirs = *ours = 999999; /* there is none, or an earlier one of this group has settled it */
    pg_queue(l, sql, NULL, "is", &a);
    run_ok(l);
    if (a.n == 0)
        return;
    i = (size_t)chance((int64_t)a.n);
    token = pg_get_bytes(&a, i, 1);
    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq,
                                                   "SELECT id FROM hub_intents"
                                                   " WHERE verify_token = ? AND id <= ?",
                                                   -1, &st, NULL));
    sqlite3_bind_text(st, 1, token.ptr, (int)token.len, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, last_intent);
    if (sqlite3_step(st) == SQLITE_ROW) {
        *ours = sqlite3_column_int64(st, 0);
        *theirs = pg_get_int(&a, i, 0);
    }
    sqlite3_finalize(st);
}

static void choose_all_dead(sqlite3 *sq, struct pg_link *l, struct op *op, struct op *copy)
{
    size_t n = op->as.push.n;
    struct push_outcome *theirs = (struct push_outcome *)op->as.push.outcomes;
    struct push_outcome *ours = ARENA_ARRAY(&copy->arena, struct push_outcome, n);

    for (size_t i = 0; i < n; i++) {
        ours[i] = theirs[i];
        choose_dead(sq, l, theirs[i].sub_id, &theirs[i].dead.id, &ours[i].dead.id);
    }
    copy->as.push.outcomes = ours;
}

/* The same operation by the storer and SQLite. */
static struct answer store_op(struct fixture *f, sqlite3 *sq, struct pg_link *l, struct op *op)
{
    struct answer a = answer_init(1);
    struct op *copy = NEW(struct op);

    *copy = *op;
    if (op->kind == OP_PUSH_OUTCOMES)
        choose_all_dead(sq, l, op, copy);
    if (op->kind == OP_DEAD_RETRY || op->kind == OP_DEAD_DROP)
        choose_dead(sq, l, op->as.dead.sub_id, &op->as.dead.id, &copy->as.dead.id);
    if (op->kind == OP_HUB_SETTLE)
        choose_intent(sq, l, &op->as.hub_settle.intent_id, &copy->as.hub_settle.intent_id);
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
    if (op->kind < OP_HUB_REQUEST) /* denials get their ids later there */
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

/* Revisions that do not know the one before them. */
static const char sql_unlinked[] =
    "SELECT count(*) FROM (SELECT prev_seq, lag(seq) OVER (PARTITION BY entry_id ORDER BY seq)"
    " AS want FROM revisions) AS x WHERE prev_seq <> coalesce(want, 0)";

/* Feeds that have a revision or an entry after what they say (ETIQ-12). */
static const char sql_beyond[] =
    "SELECT count(*) FROM feeds f WHERE f.last_seq < (SELECT max(r.seq) FROM revisions r WHERE r.feed_id = f.id)"
    " OR f.last_seq < f.horizon OR coalesce(f.newest_at, -9e18) < (SELECT max(e.sort_at) FROM entries e"
    " WHERE e.feed_id = f.id AND e.deleted = 0)";

/* `texts`: has the statement, which a link knows by its address, as long as the link lives. */
static void same_table(sqlite3 *sq, struct pg_link *l, struct arena *texts, const char *table,
                       const char *from, const char *but)
{
    AUTO(buf_release) struct buf lite = BUF_INIT(BUF_ANY);
    AUTO(buf_release) struct buf pg = BUF_INIT(BUF_ANY);
    sqlite3_stmt *st;
    struct pg_answer a;
    size_t n = 0;

    make_selects(sq, table, from, but, &lite, &pg);
    pg_queue(l, arena_copy(texts, pg.ptr, pg.len), NULL, "s", &a);
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
    if (n < a.n)
        fail_msg("%s, row %zu: %.*s is too much", table, n, STR_ARG(pg_get_bytes(&a, n, 0)));
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

static void same_tables(sqlite3 *sq)
{
    struct server_link s = connected(PLAIN);
    AUTO(arena_release) struct arena texts = ARENA_INIT;
    struct pg_link *l = s.l;

    same_table(sq, l, &texts, "entries", "entries", " id ");
    same_table(sq, l, &texts, "entry_keys", "entry_keys", "");
    same_table(sq, l, &texts, "revisions", "revisions r JOIN bodies b ON b.id = r.body", " at_us ");
    assert_int_equal(0, number_of(l, sql_unlinked));
    assert_int_equal(0, number_of(l, sql_beyond));
    same_table(sq, l, &texts, "overlays", "overlays", "");
    same_table(sq, l, &texts, "contents", "contents", "");
    same_table(sq, l, &texts, "heads", "heads", "");
    same_table(sq, l, &texts, "head_log", "head_log", "");
    same_table(sq, l, &texts, "feed_events", "feed_events", " at_us ");
    same_table(sq, l, &texts, "upstreams", "upstreams", "");
    same_table(sq, l, &texts, "aliases", "aliases", "");
    same_table(sq, l, &texts, "archives", "archives", "");
    same_table(sq, l, &texts, "graves", "graves", "");
    same_table(sq, l, &texts, "subscriptions", "subscriptions", " chain_at_us ");
    same_table(sq, l, &texts, "sub_feeds", "sub_feeds", "");
    same_table(sq, l, &texts, "hub_intents", "hub_intents", " id ");
    same_table(sq, l, &texts, "hub_leases", "hub_leases", "");
    same_table(sq, l, &texts, "dead_letters", "dead_letters", " id ");
    same_table(sq, l, &texts, "deliveries", "deliveries", "");
    same_table(sq, l, &texts, "tokens", "tokens", "");
    same_table(sq, l, &texts, "views", "views", "");
    same_table(sq, l, &texts, "feeds", "feeds", " version access_key ");
    assert_int_equal(number_of(l, "SELECT count(*) FROM revisions"),
                     number_of(l, "SELECT count(*) FROM bodies"));
    same_order(sq, l, "SELECT seq FROM revisions ORDER BY at_us");
    same_order(sq, l, "SELECT id FROM feeds ORDER BY version, id");
    link_end(&s);
}

static void choose_seed(void)
{
    const char *given = getenv("FEEDMILL_SEED");

    seed = given != NULL ? strtoull(given, NULL, 10) : 20260731;
    print_message("FEEDMILL_SEED=%llu\n", (unsigned long long)seed);
}

/* A feed more, in both. */
static void add_same_feed(struct fixture *f, sqlite3 *sq, struct pg_link *l)
{
    static const char sql[] = "UPDATE feeds SET version = 1, next_fetch_at = NULL, next_reason = 0"
                              " WHERE id = (SELECT max(id) FROM feeds)";
    int id = (int)++n_feeds;

    assert_int_equal(id, add_feed(f, arena_printf(&f->arena, "http://%d.example/", id), NULL));
    assert_int_equal(SQLITE_OK, sqlite3_exec(sq, sql, NULL, NULL, NULL));
    make_feeds(l, id, id);
    assert_int_equal(SQLITE_OK, sqlite3_exec(sq, sql_hubs, NULL, NULL, NULL));
    script_ok(l, sql_hubs);
}

static sqlite3 *make_same_feeds(struct fixture *f, struct pg_link *l)
{
    sqlite3 *sq;

    choose_seed();
    assert_int_equal(SQLITE_OK, sqlite3_open(f->path, &sq));
    assert_int_equal(SQLITE_OK, sqlite3_busy_timeout(sq, 60000));
    for (n_feeds = 0; n_feeds < N_FEEDS;)
        add_same_feed(f, sq, l);
    for (n_subs = 0; n_subs < N_SUBS;)
        add_sub(sq, l);
    return sq;
}

/* ---- a network that fails -------------------------------------------------------------------- */

/* A proxy in front of the server. It cuts a connection once, where it is told to. */
struct proxy {
    int listener, server_port;
    char uri[200];
    pthread_t thread;
    pthread_mutex_t lock;
    int64_t up_left, down_left; /* bytes until it cuts; -1: it does not */
    bool swallows;              /* cut when a commit was done, before its answer */
    int64_t up, down;           /* bytes so far */
    int n_cuts;
    atomic_bool is_over;
};

static int port_of(int fd)
{
    struct sockaddr_in at;
    socklen_t len = sizeof at;

    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&at, &len));
    return ntohs(at.sin_port);
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* How many of these bytes may pass; fewer than `n`: then cut. */
static int64_t allowed(int64_t *left, int64_t n)
{
    int64_t pass = *left < 0 || *left > n ? n : *left;

    if (*left >= 0)
        *left -= pass;
    return pass;
}

/* The last bytes that the server has sent. A trip ends with 'Z' and the state of the transaction.
 */
struct tail_bytes {
    char at[6];
    bool in_transaction;
    struct buf held; /* the answers of this trip: they are lost if it ends with a commit */
};

/* The state with which a trip has ended; 0: it has not. */
static char end_of_trip(struct tail_bytes *tail, const char *bytes, size_t n)
{
    static const char ready[] = {'Z', 0, 0, 0, 5};
    size_t keep = n < sizeof tail->at ? sizeof tail->at - n : 0;

    memmove(tail->at, tail->at + sizeof tail->at - keep, keep);
    memcpy(tail->at + keep, bytes + n - (sizeof tail->at - keep), sizeof tail->at - keep);
    return memcmp(tail->at, ready, sizeof ready) == 0 ? tail->at[5] : 0;
}

/* Pass on what has come from one side. False: the connection ends. */
static bool pass_on(struct proxy *p, int from, int to, bool is_up, struct tail_bytes *tail)
{
    char bytes[65536];
    ssize_t n = recv(from, bytes, sizeof bytes, 0);
    int64_t pass;
    char state = 0;

    if (n <= 0)
        return false;
    pthread_mutex_lock(&p->lock);
    pass = allowed(is_up ? &p->up_left : &p->down_left, n);
    *(is_up ? &p->up : &p->down) += n;
    if (!is_up && p->swallows && tail->in_transaction)
        pass = 0;
    if (!is_up)
        state = end_of_trip(tail, bytes, (size_t)n);
    if (state != 0)
        tail->in_transaction = state == 'T';
    if (!is_up && p->swallows && pass == 0)
        buf_append(&tail->held, bytes, (size_t)n);
    if (pass < n && (!p->swallows || state == 'I')) {
        p->n_cuts++;
        p->up_left = p->down_left = -1;
        p->swallows = false;
        pthread_mutex_unlock(&p->lock);
        (void)!send(to, bytes, (size_t)pass, MSG_NOSIGNAL);
        return false;
    }
    pthread_mutex_unlock(&p->lock);
    if (state != 0 && tail->held.len > 0) {
        pass = send(to, tail->held.ptr, tail->held.len, MSG_NOSIGNAL);
        buf_reset(&tail->held);
        return pass > 0;
    }
    return pass == 0 || send(to, bytes, (size_t)pass, MSG_NOSIGNAL) == pass;
}

static void serve(struct proxy *p, int client)
{
    struct sockaddr_in at = loopback(p->server_port);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct tail_bytes tail = {.in_transaction = false, .held = BUF_INIT(BUF_ANY)};

    assert_int_equal(0, connect(server, (struct sockaddr *)&at, sizeof at));
    while (!atomic_load(&p->is_over)) {
        struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};

        if (poll(fds, 2, 50) <= 0)
            continue;
        if (fds[0].revents != 0 && !pass_on(p, client, server, true, &tail))
            break;
        if (fds[1].revents != 0 && !pass_on(p, server, client, false, &tail))
            break;
    }
    buf_release(&tail.held);
    close(server);
    close(client);
}

static void *proxy_main(void *arg)
{
    struct proxy *p = arg;

    while (!atomic_load(&p->is_over)) {
        struct pollfd fd = {.fd = p->listener, .events = POLLIN};

        if (poll(&fd, 1, 50) > 0)
            serve(p, accept4(p->listener, NULL, NULL, SOCK_CLOEXEC));
    }
    return NULL;
}

/* One connection at a time. */
static void proxy_start(struct proxy *p)
{
    const char *uri = getenv(PLAIN);
    char *port = strrchr(uri, ':'), *rest;
    struct sockaddr_in at = loopback(0);

    *p = (struct proxy){.lock = PTHREAD_MUTEX_INITIALIZER, .up_left = -1, .down_left = -1};
    p->server_port = (int)strtol(port + 1, &rest, 10);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(0, bind(p->listener, (struct sockaddr *)&at, sizeof at));
    assert_int_equal(0, listen(p->listener, 5));
    snprintf(p->uri, sizeof p->uri, "%.*s:%d%s", (int)(port - uri), uri, port_of(p->listener),
             rest);
    assert_int_equal(0, pthread_create(&p->thread, NULL, proxy_main, p));
}

static void proxy_stop(struct proxy *p)
{
    atomic_store(&p->is_over, true);
    pthread_join(p->thread, NULL);
    close(p->listener);
}

/* Cut when so many bytes more have gone up or come down; or when a commit was done. */
static void cut_after(struct proxy *p, int64_t up, int64_t down, bool swallows)
{
    pthread_mutex_lock(&p->lock);
    p->up_left = up;
    p->down_left = down;
    p->swallows = swallows;
    pthread_mutex_unlock(&p->lock);
}

static struct server_link connected_by(struct proxy *p)
{
    struct server_link s = link_to(p->uri, 0);
    struct err err = ERR_INIT;

    if (pg_connect(s.l, &err) != RC_OK)
        fail_msg("%s", err.text);
    return s;
}

/* ---- the same rows --------------------------------------------------------------------------- */

static int64_t number_in(sqlite3 *sq, const char *sql)
{
    sqlite3_stmt *st;
    int64_t n;

    assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(sq, sql, -1, &st, NULL));
    assert_int_equal(SQLITE_ROW, sqlite3_step(st));
    n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static const struct feed_check *check_of(const struct op *op)
{
    return op->kind == OP_POLL_OUTCOME     ? &op->as.poll.check
           : op->kind == OP_STREAM_OUTCOME ? &op->as.stream.check
                                           : NULL;
}

/* A group of random operations, by both. `p`: the network that fails while PostgreSQL has its
 * turn; NULL: none does. */
static void run_round(struct fixture *f, sqlite3 *sq, struct node *node, struct pg_link *look,
                      int64_t now, struct proxy *p)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    size_t n = 1 + (size_t)chance(8);
    struct op *ops[8];
    struct answer answers[8];
    int64_t trips = pg_trips(node->s.l);
    size_t n_transactions = node->n_transactions, n_merges = node->n_merges;
    bool has_more = false;

    clock_fake_us(now * 1000000);
    if (!with_new && chance(3) == 0)
        add_same_feed(f, sq, look);
    if (!with_new && chance(2) == 0)
        add_sub(sq, look);
    last_intent = number_in(sq, "SELECT max(id) FROM hub_intents");
    last_dead = number_in(sq, "SELECT max(id) FROM dead_letters");
    for (size_t i = 0; i < n; i++) {
        ops[i] = ARENA_NEW(&a, struct op);
        *ops[i] = random_op(&a, now);
        answers[i] = store_op(f, sq, look, ops[i]);
    }
    if (p != NULL && chance(3) == 0)
        cut_after(p, -1, -1, true);
    else if (p != NULL && chance(2) == 0)
        cut_after(p, chance(30000), -1, false);
    else if (p != NULL)
        cut_after(p, -1, chance(20000), false);
    run_group(node, ops, n);
    n_feeds = number_in(sq, "SELECT seq FROM sqlite_sequence WHERE name = 'feeds'");
    n_subs = number_in(sq, "SELECT seq FROM sqlite_sequence WHERE name = 'subscriptions'");
    for (size_t i = 0; i < n; i++) {
        /* the feeds that it names are loaded after; so are the lease that a request is about, and
         * what else ends with a feed */
        has_more |= ops[i]->kind == OP_SUBSCRIBE || ops[i]->kind == OP_LIST_OUTCOME ||
                    ops[i]->kind >= OP_HUB_REQUEST ||
                    (check_of(ops[i]) != NULL && check_of(ops[i])->state == FEED_GONE);
        same_result(ops[i], &answers[i]);
        arena_release(&ops[i]->arena);
    }
    n_transactions = node->n_transactions - n_transactions;
    trips = pg_trips(node->s.l) - trips - 2 * (int64_t)n_transactions;
    if (p == NULL) /* two feeds become one by some statements more */
        assert_in_range(trips, 0,
                        5 * (node->n_merges - n_merges) + (has_more ? 3 * n_transactions : 0));
}

static const char sql_statements[] =
    "SELECT name, statement, cardinality(parameter_types)::bigint FROM pg_prepared_statements"
    " WHERE statement ~ '^(SELECT|INSERT|UPDATE|DELETE)' AND statement !~ '_prepared_'";

/* No kept statement of the connection walks a table; and it has all by which rows are written. */
static void check_plans(struct pg_link *l, struct arena *a)
{
    struct pg_answer statements, plan;
    const char *explains[200];
    struct str texts[200];
    size_t n;

    pg_queue(l, sql_statements, NULL, "ssi", &statements);
    run_ok(l);
    n = statements.n;
    assert_in_range(n, SAVE_KINDS, ARRAY_LEN(texts));
    for (size_t i = 0; i < n; i++) {
        AUTO(buf_release) struct buf sql = BUF_INIT(BUF_ANY);
        int64_t n_params = pg_get_int(&statements, i, 2);

        texts[i] = pg_get_str(&statements, i, 1, a);
        buf_printf(&sql, "EXPLAIN EXECUTE %.*s", STR_ARG(pg_get_bytes(&statements, i, 0)));
        for (int64_t k = 0; k < n_params; k++)
            buf_puts(&sql, k == 0 ? "(NULL" : ", NULL");
        if (n_params > 0)
            buf_puts(&sql, ")");
        explains[i] = arena_copy(a, sql.ptr, sql.len);
    }
    for (size_t i = 0; i < n; i++) {
        pg_queue(l, explains[i], NULL, "s", &plan);
        run_ok(l);
        for (size_t k = 0; k < plan.n; k++)
            if (strstr(pg_get_str(&plan, k, 0, a).ptr, "Seq Scan") != NULL)
                fail_msg("%.*s\n%.*s", STR_ARG(texts[i]), STR_ARG(pg_get_bytes(&plan, k, 0)));
    }
    for (int kind = 0; kind < SAVE_KINDS; kind++) {
        bool is_there = getenv("FEEDMILL_SEED") != NULL; /* another seed may need less */

        for (size_t i = 0; i < n; i++)
            is_there |= str_eqz(texts[i], pg_save_sql((enum pg_save)kind));
        if (!is_there)
            fail_msg("no operation needed: %s", pg_save_sql((enum pg_save)kind));
    }
}

static int n_rounds(void)
{
    const char *given = getenv("FEEDMILL_ROUNDS");

    return 240 * (given != NULL ? atoi(given) : 2);
}

static void test_write__the_same_rows_as_in_sqlite(void **state)
{
    struct fixture *f = *state;
    struct server_link look = fresh();
    struct node node = node_of(connected(PLAIN), 1);
    sqlite3 *sq = make_same_feeds(f, look.l);
    int64_t now = 1700000000;

    with_new = true;
    script_ok(look.l, "SELECT setval(pg_get_serial_sequence('feeds', 'id'), max(id)) FROM feeds");
    script_ok(look.l, "SELECT setval(pg_get_serial_sequence('subscriptions', 'id'), max(id))"
                      " FROM subscriptions");
    clock_fake_us(now * 1000000);
    for (int round = 1; round <= n_rounds(); round++) {
        now += 1 + chance(4000);
        run_round(f, sq, &node, look.l, now, NULL);
        if (round % 10 == 0)
            same_tables(sq);
    }
    clock_fake_us(0);
    print_message("%zu merges\n", node.n_merges);
    check_plans(node.s.l, &f->arena);
    sqlite3_close(sq);
    node_end(&node);
    link_end(&look);
}

/* A connection that is cut anywhere: everything is stored once, whether the answer to the commit
 * came or not. */
static void test_write__the_same_rows_over_a_network_that_fails(void **state)
{
    struct fixture *f = *state;
    struct server_link look = fresh();
    struct proxy p;
    struct node node;
    sqlite3 *sq = make_same_feeds(f, look.l);
    int64_t now = 1700000000;

    proxy_start(&p);
    node = node_of(connected_by(&p), 1);
    with_new = false;
    for (int round = 1; round <= 40; round++) {
        now += 1 + chance(4000);
        run_round(f, sq, &node, look.l, now, &p);
        if (round % 10 == 0)
            same_tables(sq);
    }
    clock_fake_us(0);
    print_message("%d cuts\n", p.n_cuts);
    assert_true(p.n_cuts > 10);
    node_end(&node);
    proxy_stop(&p);
    sqlite3_close(sq);
    link_end(&look);
}

/* ---- several writers ------------------------------------------------------------------------- */

#define N_WRITERS 3
#define N_GROUPS 30
#define N_ENTRIES 10
#define N_SHARED 4 /* feeds of which all of them write */

struct writer {
    int64_t id;
    pthread_t thread;
    int64_t trips;
    atomic_bool has_failed;
};

/* A document of entries that nobody else has, and of one that all have. */
static void make_poll(struct op *op, struct arena *a, int64_t feed_id, int64_t writer, int group)
{
    struct entry_change *c = ARENA_ARRAY(a, struct entry_change, N_ENTRIES);

    for (int i = 0; i < N_ENTRIES; i++) {
        c[i] = (struct entry_change){
            .uid = i == 0 ? STR("all") : str_printf(a, "%d-%d-%d", (int)writer, group, i),
            .title = str_printf(a, "%d of %d", group, (int)writer),
            .published_at = 1000 + group,
            .updated_at = 1000 + group,
            .link = STR_NULL,
            .summary = STR_NULL,
            .author = STR_NULL,
            .doc = STR("{}"),
            .ext = STR("")};
        digest_content(c[i].title, c[i].essence);
    }
    *op = (struct op){.kind = OP_POLL_OUTCOME,
                      .as.poll = {.check = {.feed_id = feed_id,
                                            .checked_at = 1000 + group,
                                            .ok = true,
                                            .state = FEED_OK,
                                            .level = LEVEL_KEEP,
                                            .next_fetch_at = 2000},
                                  .has_document = true,
                                  .head = {.json = STR("{}"), .ext = STR(""), .title = STR("T")},
                                  .entries = {.changes = c, .n = N_ENTRIES}}};
}

static void *write_groups(void *arg)
{
    struct writer *me = arg;
    struct node node = node_of(connected(PLAIN), me->id);
    int64_t trips = pg_trips(node.s.l);

    for (int group = 0; group < N_GROUPS; group++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct op op[3], *ops[3];

        for (int i = 0; i < 3; i++) { /* not in the order of their ids */
            make_poll(&op[i], &a, 1 + (group * 7 + i * (int)me->id) % N_SHARED, me->id,
                      group * 3 + i);
            ops[i] = &op[i];
        }
        if (pg_group_run(node.w, &node.t, ops, 3, on_done, &node, NULL) != RC_OK)
            break;
        for (int i = 0; i < 3; i++) {
            if (op[i].rc != RC_OK)
                atomic_store(&me->has_failed, true);
            arena_release(&op[i].arena);
        }
    }
    me->trips = pg_trips(node.s.l) - trips;
    node_end(&node);
    return NULL;
}

/* Read all rows that were added since, while others write: what was seen stays the beginning. */
static int64_t read_on(struct pg_link *l, int64_t seen)
{
    static const char sql[] = "SELECT r.seq, r.at_us, l.last_seq FROM revisions r, log l"
                              " WHERE r.seq > $1 ORDER BY r.seq";
    AUTO(pg_params_release) struct pg_params p = {.n = 0};
    struct pg_answer a;

    pg_put_int(&p, seen);
    pg_queue(l, sql, &p, "iii", &a);
    run_ok(l);
    for (size_t i = 0; i < a.n; i++) {
        assert_int_equal(++seen, pg_get_int(&a, i, 0));
        assert_true(i == 0 || pg_get_int(&a, i, 1) > pg_get_int(&a, i - 1, 1));
    }
    assert_true(a.n == 0 || pg_get_int(&a, 0, 2) == seen); /* in the same snapshot */
    return seen;
}

static bool is_over(struct pg_link *l, const struct writer *writers)
{
    for (int i = 0; i < N_WRITERS; i++)
        assert_false(atomic_load(&writers[i].has_failed));
    return number_of(l, "SELECT count(*) FROM notices") == N_WRITERS * N_GROUPS;
}

static void test_write__numbers_are_in_the_order_of_commits(void **state UNUSED)
{
    struct server_link s = fresh();
    struct writer writers[N_WRITERS];
    int64_t seen = 0;

    make_feeds(s.l, 1, N_SHARED);
    script_ok(s.l, "SELECT setval('body_blocks', 7999)"); /* the next partition is made soon */
    for (int i = 0; i < N_WRITERS; i++) {
        writers[i] = (struct writer){.id = i + 1};
        assert_int_equal(0, pthread_create(&writers[i].thread, NULL, write_groups, &writers[i]));
    }
    while (!is_over(s.l, writers))
        seen = read_on(s.l, seen);
    seen = read_on(s.l, seen);
    for (int i = 0; i < N_WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_in_range(writers[i].trips, 2 * N_GROUPS, 2 * N_GROUPS + 2);
    }
    assert_int_equal(2, number_of(s.l, "SELECT count(*) FROM pg_inherits"
                                       " WHERE inhparent = 'bodies'::regclass"));
    assert_int_equal(seen, number_of(s.l, "SELECT last_seq FROM log"));
    assert_int_equal(N_WRITERS * N_GROUPS, number_of(s.l, "SELECT max(n) FROM notices"));
    /* each entry once, also the one that all of them have written */
    assert_int_equal(N_SHARED + N_WRITERS * N_GROUPS * 3 * (N_ENTRIES - 1),
                     number_of(s.l, "SELECT count(*) FROM entries"));
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM (SELECT FROM entries"
                                       " GROUP BY feed_id, uid HAVING count(*) > 1) x"));
    /* what the rows say of each other */
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM entries e LEFT JOIN revisions r"
                                       " ON r.seq = e.seq WHERE r.entry_id IS DISTINCT FROM e.id"));
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM revisions r LEFT JOIN bodies b"
                                       " ON b.id = r.body WHERE b.id IS NULL"));
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM revisions r JOIN revisions b"
                                       " ON b.seq = r.batch WHERE b.feed_id <> r.feed_id"));
    assert_int_equal(0, number_of(s.l, sql_unlinked));
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM feeds f WHERE n_entries <> (SELECT"
                                       " count(*) FROM entries e WHERE e.feed_id = f.id)"));
    link_end(&s);
}

/* ---- the same row by several ---------------------------------------------------------------- */

#define N_NEW 12 /* feeds to which all of them subscribe */

struct maker {
    int64_t node, ids[N_NEW];
    pthread_t thread;
    enum rc rc;
};

static void *make_same(void *arg)
{
    struct maker *me = arg;
    struct node node = node_of(connected(PLAIN), me->node);

    for (int i = 0; i < N_NEW; i++) {
        AUTO(arena_release) struct arena a = ARENA_INIT;
        struct feed_ref ref = {.url = str_printf(&a, "http://new.example/%d", i)};
        struct op op[2] = {{.kind = OP_ADD_FEED, .as.add = ref},
                           {.kind = OP_SUBSCRIBE,
                            .as.subscribe = {.sink = STR("xmlrpc"),
                                             .endpoint = STR("http://end.example/"),
                                             .feeds = &ref,
                                             .n_feeds = 1,
                                             .level = LEVEL_KEEP}}};
        struct op *ops[] = {&op[0], &op[1]};

        run_group(&node, ops, 2);
        me->rc = me->rc == RC_OK ? op[0].rc : me->rc;
        me->rc = me->rc == RC_OK ? op[1].rc : me->rc;
        me->ids[i] = op[0].result.id;
        arena_release(&op[0].arena);
        arena_release(&op[1].arena);
    }
    node_end(&node);
    return NULL;
}

/* Who comes second finds the row of the first one. */
static void test_write__the_same_feed_is_made_once(void **state UNUSED)
{
    struct server_link s = fresh();
    struct maker makers[N_WRITERS];

    for (int i = 0; i < N_WRITERS; i++) {
        makers[i] = (struct maker){.node = i + 1};
        assert_int_equal(0, pthread_create(&makers[i].thread, NULL, make_same, &makers[i]));
    }
    for (int i = 0; i < N_WRITERS; i++) {
        pthread_join(makers[i].thread, NULL);
        assert_int_equal(RC_OK, makers[i].rc);
    }
    for (int i = 0; i < N_NEW; i++) {
        assert_int_equal(makers[0].ids[i], makers[1].ids[i]);
        assert_int_equal(makers[0].ids[i], makers[2].ids[i]);
    }
    assert_int_equal(N_NEW, number_of(s.l, "SELECT count(*) FROM feeds"));
    assert_int_equal(N_WRITERS * N_NEW, number_of(s.l, "SELECT count(*) FROM subscriptions"));
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM feeds f WHERE n_subscriptions <>"
                                       " (SELECT count(*) FROM sub_feeds WHERE feed_id = f.id)"));
    link_end(&s);
}

/* A feed moves to a URL. */
static struct op moves_to(int64_t feed_id, const char *url)
{
    return (struct op){.kind = OP_POLL_OUTCOME,
                       .as.poll.check = {.feed_id = feed_id,
                                         .checked_at = 1000,
                                         .ok = true,
                                         .state = FEED_OK,
                                         .level = LEVEL_KEEP,
                                         .url = str_from(url),
                                         .next_fetch_at = 2000}};
}

static const char sql_count_left[] =
    "CREATE TABLE lefts (id bigint); CREATE FUNCTION note_left() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN INSERT INTO lefts VALUES (NEW.id); RETURN NEW; END$$;"
    " CREATE TRIGGER left_url BEFORE UPDATE ON feeds FOR EACH ROW WHEN (NEW.url LIKE 'moves:%')"
    " EXECUTE FUNCTION note_left()";

/* NODE-01: of feeds that move together, only those whose URL another one gets leave it first. */
static void test_write__who_moves_aside(void **state UNUSED)
{
    struct server_link s = fresh();
    struct node node = node_of(connected(PLAIN), 1);
    struct op ops[] = {moves_to(1, "http://1.new.example/"), moves_to(2, "http://2.new.example/"),
                       moves_to(3, "http://3.new.example/")};
    struct op *all[] = {&ops[0], &ops[1], &ops[2]};

    make_feeds(s.l, 1, 3);
    script_ok(s.l, sql_count_left);
    run_group(&node, all, ARRAY_LEN(all));
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        assert_int_equal(RC_OK, ops[i].rc);
        arena_release(&ops[i].arena);
    }
    assert_int_equal(3, number_of(s.l, "SELECT count(*) FROM feeds WHERE url LIKE '%.new.%'"));
    assert_int_equal(0, number_of(s.l, "SELECT count(*) FROM lefts"));
    node_end(&node);
    link_end(&s);
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* A group that one of two nodes carries out: a named view, and a feed. */
struct group {
    int64_t node;
    struct op ops[2];
    pthread_t thread;
};

static void *run_pair(void *arg)
{
    struct group *g = arg;
    struct node node = node_of(connected(PLAIN), g->node);
    struct op *ops[] = {&g->ops[0], &g->ops[1]};

    run_group(&node, ops, 2);
    node_end(&node);
    return NULL;
}

static void start_pair(struct group *g)
{
    assert_int_equal(0, pthread_create(&g->thread, NULL, run_pair, g));
}

static void end_pair(struct group *g)
{
    pthread_join(g->thread, NULL);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(RC_OK, g->ops[i].rc);
        arena_release(&g->ops[i].arena);
    }
}

static struct op view_op(const char *name)
{
    return (struct op){
        .kind = OP_VIEW_PUT,
        .as.view.row = {.name = str_from(name), .query = STR("q=a"), .created_at = 1}};
}

/* A view and a feed in one transaction, of two nodes. One names the feed by its id; the other finds
 * it by its URL, so it is locked later. Whoever waits for the views has no feed: else each would
 * wait for the other. */
static void test_write__views_are_locked_before_feeds(void **state UNUSED)
{
    static const char sql_waiting[] = "SELECT (count(*) = %d)::int::bigint FROM pg_stat_activity"
                                      " WHERE wait_event_type = 'Lock'";
    struct server_link look = fresh(), holder = connected(PLAIN);
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct feed_ref ref = {.url = STR("http://1.example/")};
    struct group by_id = {.node = 1}, by_url = {.node = 2};
    int64_t n_for_views;

    make_feeds(look.l, 1, 1);
    by_id.ops[0] = view_op("one");
    make_poll(&by_id.ops[1], &a, 1, 1, 1);
    by_url.ops[0] = view_op("two");
    by_url.ops[1] = (struct op){.kind = OP_SUBSCRIBE,
                                .as.subscribe = {.sink = STR("xmlrpc"),
                                                 .endpoint = STR("http://end.example/"),
                                                 .feeds = &ref,
                                                 .n_feeds = 1,
                                                 .level = LEVEL_KEEP}};
    script_ok(holder.l, "SET idle_in_transaction_session_timeout = 0; BEGIN;"
                        " SELECT FROM feeds FOR UPDATE");
    start_pair(&by_id);
    wait_for(look.l, arena_printf(&a, sql_waiting, 1));
    start_pair(&by_url);
    wait_for(look.l, arena_printf(&a, sql_waiting, 2));
    n_for_views = number_of(look.l, "SELECT count(*) FROM pg_locks WHERE NOT granted"
                                    " AND relation = 'views'::regclass");
    script_ok(holder.l, "COMMIT");
    end_pair(&by_id);
    end_pair(&by_url);
    assert_int_equal(1, n_for_views);
    assert_int_equal(2, number_of(look.l, "SELECT count(*) FROM views"));
    link_end(&holder);
    link_end(&look);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Of operations that the database refuses together, only the bad one fails. */
static void refuse(struct op *bad, struct str title)
{
    struct node node = node_of(fresh(), 1);
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct op good[2], *ops[] = {&good[0], bad, &good[1]};

    make_feeds(node.s.l, 1, 3);
    script_ok(node.s.l, "ALTER TABLE bodies ADD CONSTRAINT no_bad CHECK (title <> 'bad')");
    make_poll(&good[0], &a, 1, 1, 1);
    make_poll(bad, &a, 2, 1, 2);
    make_poll(&good[1], &a, 3, 1, 3);
    ((struct entry_change *)bad->as.poll.entries.changes)[1].title = title;
    run_group(&node, ops, 3);
    assert_int_equal(RC_OK, good[0].rc);
    assert_int_equal(RC_IO, bad->rc);
    assert_int_equal(0, bad->result.n_new);
    assert_int_equal(RC_OK, good[1].rc);
    assert_int_equal(N_ENTRIES, good[1].result.n_new);
    assert_int_equal(2 * N_ENTRIES, good[1].result.last_seq);
    assert_int_equal(2, number_of(node.s.l, "SELECT count(*) FROM notices"));
    assert_int_equal(0, number_of(node.s.l, "SELECT count(*) FROM entries WHERE feed_id = 2"));
    for (size_t i = 0; i < 3; i++)
        arena_release(&ops[i]->arena);
    node_end(&node);
}

static void test_write__a_bad_operation_fails_alone(void **state UNUSED)
{
    struct op bad;

    refuse(&bad, STR("bad"));
    assert_non_null(strstr(bad.err.text, "no_bad"));
    refuse(&bad, str_of("a\0b", 3)); /* never sent */
    assert_non_null(strstr(bad.err.text, "U+0000"));
}

/* The answer to a commit is lost. The numbers of what was stored come from its notice. */
static void test_write__a_commit_without_an_answer_is_looked_for(void **state UNUSED)
{
    struct server_link look = fresh();
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct op op, *ops[] = {&op};
    struct proxy p;
    struct node node;

    make_feeds(look.l, 1, 1);
    proxy_start(&p);
    node = node_of(connected_by(&p), 1);
    for (int group = 1; group <= 3; group++) {
        cut_after(&p, -1, -1, group > 1);
        make_poll(&op, &a, 1, 1, group);
        run_group(&node, ops, 1);
        assert_int_equal(RC_OK, op.rc);
        assert_int_equal(group == 1 ? 0 : 1, op.result.n_changed);
        assert_int_equal(group * N_ENTRIES, op.result.last_seq);
        assert_int_equal(group * N_ENTRIES, node.last_seq);
        arena_release(&op.arena);
    }
    assert_int_equal(2, p.n_cuts);
    assert_int_equal(3, number_of(look.l, "SELECT count(*) FROM notices"));
    assert_int_equal(3 * N_ENTRIES, number_of(look.l, "SELECT last_seq FROM log"));
    node_end(&node);
    proxy_stop(&p);
    link_end(&look);
}

#define T(name) cmocka_unit_test(test_write__##name)
#define WITH_STORE(name)                                                                           \
    cmocka_unit_test_setup_teardown(test_write__##name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(the_same_rows_as_in_sqlite),
        WITH_STORE(the_same_rows_over_a_network_that_fails),
        T(numbers_are_in_the_order_of_commits),
        T(the_same_feed_is_made_once),
        T(who_moves_aside),
        T(views_are_locked_before_feeds),
        T(a_bad_operation_fails_alone),
        T(a_commit_without_an_answer_is_looked_for),
    };

    digest_init();
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
