/* tests/unit/storage/test_pushes.c - what became of deliveries: the chain, the delivery log, dead
 * letters, events of feeds, lag. */
#include <inttypes.h>
#include <sqlite3.h>

#include "fixture.h"
#include "storage/pushes.h"
#include "tests/unit/cmocka_all.h"

static int64_t subscribe(struct fixture *f, unsigned events)
{
    struct feed_ref ref = {.url = STR("http://a.example/f")};
    struct sub_request req = {.endpoint = STR("http://sink.example/"),
                              .sink = STR("xmlrpc"),
                              .sink_settings = STR("{\"secret\":\"s\"}"),
                              .events = events,
                              .batch = 7,
                              .feeds = &ref,
                              .n_feeds = 1,
                              .level = LEVEL_KEEP};
    struct answer a;

    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a.res.id;
}

static struct subscription *sub_at(struct fixture *f, int64_t id)
{
    struct subscription *sub;

    assert_int_equal(RC_OK, reader_sub(f->reader, id, &f->arena, &sub, NULL));
    return sub;
}

static struct push_next next_of(struct fixture *f, int64_t id)
{
    struct push_next next;

    assert_int_equal(RC_OK,
                     reader_next_push(f->reader, sub_at(f, id), 100, &f->arena, &next, NULL));
    return next;
}

/* The kinds of the events that the subscription gets, one after the other, with "e" for entries. */
static const char *told(struct fixture *f, int64_t id)
{
    const char *text = "";

    for (;;) {
        struct push_next next = next_of(f, id);
        struct push_outcome o = {
            .sub_id = id, .generation = sub_at(f, id)->generation, .next_try_at = TIME_UNKNOWN};
        const char *what = "e";
        struct answer a;

        if (next.feed_id == 0)
            return text;
        o.position = next.event.seq;
        if (next.n > 0)
            o.position = next.revisions[next.n - 1].seq;
        else
            what = feed_event_name(next.event.kind);
        text = arena_printf(&f->arena, "%s%s%s", text, *text == '\0' ? "" : " ", what);
        WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    }
}

static int64_t the_feed(struct fixture *f)
{
    return sub_at(f, 1)->feeds[0].feed_id;
}

static void check(struct fixture *f, struct poll_outcome *o)
{
    struct answer a;

    WRITE(a, store_poll_outcome(f->store, o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

static void poll_fails(struct fixture *f, int n_errors, int64_t at)
{
    struct poll_outcome o = {.check = {.feed_id = the_feed(f),
                                       .checked_at = at,
                                       .error = STR("refused"),
                                       .state = FEED_FAILING,
                                       .level = LEVEL_KEEP,
                                       .n_errors = n_errors,
                                       .next_fetch_at = at + 60}};

    check(f, &o);
}

static void succeed(struct fixture *f, int64_t at)
{
    struct poll_outcome o = outcome(the_feed(f), NULL, 0);

    o.check.checked_at = at;
    check(f, &o);
}

/* DELIV-10: where a delivery ended is kept, whatever is set meanwhile */
static void test_pushes__chain(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct log_mark start = sub_at(f, id)->chain;
    struct push_outcome o = {
        .sub_id = id, .position = 9, .chain = {9, 900}, .next_try_at = TIME_UNKNOWN};
    struct answer a;

    assert_int_equal(SUB_EVENTS_DEFAULT, sub_at(f, id)->events);
    assert_int_equal(7, sub_at(f, id)->batch);
    assert_int_equal(0, start.seq);
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(9, sub_at(f, id)->chain.seq);
    assert_int_equal(900, sub_at(f, id)->chain.at_us);
    WRITE(a, store_resume(f->store, id, 3, on_answer, &a)); /* replay */
    assert_int_equal(9, sub_at(f, id)->chain.seq);
    assert_int_equal(3, sub_at(f, id)->position);
    o.position = 12;
    o.chain = (struct log_mark){12, 1200};
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a)); /* it was in flight */
    assert_int_equal(12, sub_at(f, id)->chain.seq);
    assert_int_equal(3, sub_at(f, id)->position);
    o.chain.seq = o.position = 0;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(12, sub_at(f, id)->chain.seq);
}

/* Add revisions as copies of the last one, of which the directory learns nothing: commits of other
 * nodes, before they were followed. */
static void commit_elsewhere(struct fixture *f, const char *sql)
{
    sqlite3 *sq;

    assert_int_equal(SQLITE_OK, sqlite3_open_v2(f->path, &sq, SQLITE_OPEN_READWRITE, NULL));
    assert_int_equal(SQLITE_OK,
                     sqlite3_exec(sq,
                                  "CREATE TEMP TABLE t AS SELECT * FROM revisions WHERE seq ="
                                  " (SELECT min(seq) FROM revisions)",
                                  NULL, NULL, NULL));
    if (sqlite3_exec(sq, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(sq));
    sqlite3_close(sq);
}

/* DELIV-01: nothing is delivered before all that comes earlier, and the directory alone says which
 * feeds have news. */
static void test_pushes__what_is_not_announced_waits(void **state)
{
    struct fixture *f = *state;
    struct feed_ref refs[] = {{.url = STR("http://a.example/f")},
                              {.url = STR("http://b.example/f")}};
    struct sub_request req = {.endpoint = STR("http://sink.example/"),
                              .sink = STR("xmlrpc"),
                              .events = SUB_NEW,
                              .feeds = refs,
                              .n_feeds = 2,
                              .level = LEVEL_KEEP};
    struct entry_change entry = change(f, "u", "one", 1);
    struct push_run run;
    int64_t first, second, last;
    struct answer a;

    ONLY_ON_SQLITE();
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    first = sub_at(f, 1)->feeds[0].feed_id;
    second = sub_at(f, 1)->feeds[1].feed_id;
    succeed(f, 1);
    store_changes(f, first, &entry, 1);
    assert_string_equal("e", told(f, 1));
    entry = change(f, "u", "two", 2); /* this is not wanted, so the feed has no news for it */
    store_changes(f, first, &entry, 1);
    last = store_last_seq(f->store);
    commit_elsewhere(f, arena_printf(&f->arena,
                                     "UPDATE t SET seq = %" PRId64 ", feed_id = %" PRId64
                                     ", batch = %" PRId64 "; INSERT INTO revisions SELECT * FROM t;"
                                     "UPDATE t SET seq = %" PRId64 ", feed_id = %" PRId64
                                     ", batch = %" PRId64 "; INSERT INTO revisions SELECT * FROM t",
                                     last + 2, second, last + 2, last + 5, first, last + 5));
    assert_int_equal(0, next_of(f, 1).n);
    assert_int_equal(last, next_of(f, 1).skip_to);
    assert_int_equal(RC_OK,
                     reader_push_run(f->reader, sub_at(f, 1), 100, 1000000, &f->arena, &run, NULL));
    assert_int_equal(0, run.n);
    assert_int_equal(last, run.skip_to);
}

/* DELIV-06 VIEW-18 */
static void test_pushes__changes(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, SUB_NEW | SUB_DELETED);
    struct sub_change c = {.sub_id = id,
                           .has_state = true,
                           .state = SUB_PAUSED,
                           .events = SUB_FEED,
                           .has_batch = true,
                           .batch = 3,
                           .endpoint = STR("http://other.example/"),
                           .endpoint_credential = STR("n:w"),
                           .sink_settings = STR("{}"),
                           .name = STR("Name"),
                           .folder = STR("[\"F\"]"),
                           .level = LEVEL_EXACT,
                           .period_s = 120};
    struct push_outcome o = {.sub_id = id, .next_try_at = TIME_UNKNOWN, .state = SUB_ACTIVE};
    struct str text;
    struct answer a;

    assert_int_equal(RC_OK, reader_sink_settings(f->reader, id, &f->arena, &text, NULL));
    assert_true(str_eqz(text, "{\"secret\":\"s\"}"));
    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(SUB_PAUSED, sub_at(f, id)->state);
    assert_int_equal(SUB_FEED, sub_at(f, id)->events);
    assert_int_equal(3, sub_at(f, id)->batch);
    assert_true(str_eqz(sub_at(f, id)->endpoint, "http://other.example/"));
    assert_true(str_eqz(sub_at(f, id)->feeds[0].name, "Name"));
    assert_true(str_eqz(sub_at(f, id)->feeds[0].folder, "[\"F\"]"));
    assert_true(str_eqz(endpoint_credential(f, id), "n:w"));
    assert_int_equal(RC_OK, reader_sink_settings(f->reader, id, &f->arena, &text, NULL));
    assert_true(str_eqz(text, "{}"));
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a)); /* of a call in flight */
    assert_int_equal(SUB_PAUSED, sub_at(f, id)->state);
    c = (struct sub_change){.sub_id = id, .folder = STR(""), .level = LEVEL_KEEP};
    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    assert_int_equal(SUB_PAUSED, sub_at(f, id)->state);
    assert_true(str_eqz(sub_at(f, id)->feeds[0].name, "Name"));
    assert_true(str_is_null(sub_at(f, id)->feeds[0].folder));
    c.sub_id = 99;
    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    assert_int_equal(RC_NOT_FOUND, a.rc);
}

/* DELIV-07: what the endpoint before it did is not charged to the present one */
static void test_pushes__another_endpoint(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct sub_change c = {
        .sub_id = id, .endpoint = STR("http://other.example/"), .level = LEVEL_KEEP};
    struct push_outcome o = {.sub_id = id,
                             .endpoint = STR("http://sink.example/"),
                             .failed = true,
                             .error = STR("gone"),
                             .next_try_at = 99,
                             .state = SUB_SUSPENDED};
    struct answer a;

    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a)); /* it was in flight */
    assert_int_equal(SUB_ACTIVE, sub_at(f, id)->state);
    assert_int_equal(0, sub_at(f, id)->n_failures);
    assert_int_equal(TIME_UNKNOWN, sub_at(f, id)->next_try_at);
    o.endpoint = c.endpoint;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(SUB_SUSPENDED, sub_at(f, id)->state);
    assert_int_equal(1, sub_at(f, id)->n_failures);
}

/* What the last write said about its only outcome. */
static enum push_fate fate;

static void keep_fate(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    if (rc == RC_OK)
        fate = res->fates[0];
    on_answer(ctx, rc, res, err);
}

static void push(struct fixture *f, const struct push_outcome *o)
{
    struct answer a;

    WRITE(a, store_push_outcomes(f->store, o, 1, keep_fate, &a));
    assert_int_equal(RC_OK, a.rc);
}

/* NODE-05 NODE-06: a node that was away comes back with the outcome of an old call. The position
 * stays where another node has moved it, and nothing is counted; the log of deliveries has it. */
static void test_pushes__a_stale_node(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome o = {.sub_id = id,
                             .endpoint = STR("http://sink.example/"),
                             .from = {.is_known = true},
                             .position = 9,
                             .chain = {9, 900},
                             .n_entries = 1,
                             .next_try_at = TIME_UNKNOWN,
                             .has_note = true};
    struct delivery_note *notes;
    struct dead_letter *dead;
    size_t n;

    push(f, &o);
    assert_int_equal(PUSH_WRITTEN, fate);
    o.position = 5; /* it has begun where the other one has */
    o.chain = (struct log_mark){5, 500};
    push(f, &o);
    assert_int_equal(PUSH_STALE, fate);
    assert_int_equal(9, sub_at(f, id)->position);
    assert_int_equal(9, sub_at(f, id)->chain.seq);
    assert_int_equal(1, sub_at(f, id)->n_delivered);
    o = (struct push_outcome){.sub_id = id,
                              .endpoint = STR("http://sink.example/"),
                              .from = {.is_known = true},
                              .failed = true,
                              .error = STR("gone"),
                              .ended = true,
                              .next_try_at = 99,
                              .state = SUB_SUSPENDED,
                              .is_dead = true,
                              .dead = {.at = {5, 1}, .uid = STR(""), .answer = STR("")}};
    push(f, &o);
    assert_int_equal(PUSH_STALE, fate);
    assert_int_equal(SUB_ACTIVE, sub_at(f, id)->state);
    assert_int_equal(0, sub_at(f, id)->n_failures);
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, id, &f->arena, &dead, &n, NULL));
    assert_int_equal(0, n);
    assert_int_equal(RC_OK, reader_deliveries(f->reader, id, 10, &f->arena, &notes, &n, NULL));
    assert_int_equal(2, n);
}

/* NODE-06: of two failures of the same try, one counts; an acknowledgement always does. */
static void test_pushes__a_stale_failure(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome o = {.sub_id = id,
                             .endpoint = STR("http://sink.example/"),
                             .from = {.is_known = true},
                             .failed = true,
                             .error = STR("no"),
                             .next_try_at = 99};

    push(f, &o);
    push(f, &o);
    assert_int_equal(PUSH_STALE, fate);
    assert_int_equal(1, sub_at(f, id)->n_failures);
    o.failed = false;
    o.position = 3;
    o.n_entries = 1;
    push(f, &o);
    assert_int_equal(PUSH_WRITTEN, fate);
    assert_int_equal(3, sub_at(f, id)->position);
    assert_int_equal(0, sub_at(f, id)->n_failures);
}

static void replay(struct fixture *f, int64_t id)
{
    struct sub_change c = {.sub_id = id, .has_position = true, .position = 0, .level = LEVEL_KEEP};
    struct answer a;

    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

/* HOOK-02 NODE-06: after a replay, what was in flight is the delivery before the next one. If another node has gone
 * on since, it is not: the next delivery names the end of what that node has delivered, and its retry has
 * the id of the first try. */
static void test_pushes__a_stale_node_after_a_replay(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome late = {.sub_id = id,
                                .endpoint = STR("http://sink.example/"),
                                .from = {.is_known = true},
                                .position = 9,
                                .chain = {9, 900},
                                .n_entries = 1,
                                .next_try_at = TIME_UNKNOWN};
    struct push_outcome next = late;

    replay(f, id);
    push(f, &late); /* it was in flight */
    assert_int_equal(PUSH_WRITTEN, fate);
    assert_int_equal(9, sub_at(f, id)->chain.seq);
    assert_int_equal(0, sub_at(f, id)->position);

    late.from.chain_seq = 9;
    late.generation = 1;
    late.chain = (struct log_mark){12, 1200};
    replay(f, id);
    next.from.chain_seq = 9;
    next.generation = 2;
    next.failed = true; /* the first try of another node */
    next.position = next.n_entries = 0;
    next.chain = (struct log_mark){0, 0};
    next.next_try_at = 99;
    push(f, &next);
    push(f, &late);
    assert_int_equal(PUSH_STALE, fate);
    assert_int_equal(9, sub_at(f, id)->chain.seq);
    assert_int_equal(1, sub_at(f, id)->n_failures);
    assert_int_equal(99, sub_at(f, id)->next_try_at);

    next.from.n_failures = 1;
    next.failed = false;
    next.position = 4;
    next.n_entries = 1;
    next.chain = (struct log_mark){4, 400};
    push(f, &next);
    assert_int_equal(PUSH_WRITTEN, fate);
    push(f, &late);
    assert_int_equal(PUSH_STALE, fate);
    assert_int_equal(4, sub_at(f, id)->chain.seq);
    assert_int_equal(2, sub_at(f, id)->n_delivered);
}

/* AMQP-03: what was taken ends a row of failures, and the rest begins a new one */
static void test_pushes__some_were_taken(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome o = {
        .sub_id = id, .failed = true, .error = STR("no"), .next_try_at = 99, .state = SUB_ACTIVE};
    struct answer a;

    for (int i = 1; i <= 3; i++) {
        WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
        assert_int_equal(i, sub_at(f, id)->n_failures);
    }
    o.position = 7;
    o.chain = (struct log_mark){7, 70};
    o.n_entries = 2;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(1, sub_at(f, id)->n_failures);
    assert_int_equal(7, sub_at(f, id)->position);
    assert_int_equal(7, sub_at(f, id)->chain.seq);
    assert_int_equal(2, sub_at(f, id)->n_delivered);
}

/* DELIV-04: the last hundred, newest first */
static void test_pushes__delivery_log(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct delivery_note *notes;
    struct answer a;
    size_t n;

    for (int i = 1; i <= DELIVERIES_KEPT + 5; i++) {
        struct push_outcome o = {.sub_id = id,
                                 .next_try_at = TIME_UNKNOWN,
                                 .has_note = true,
                                 .note = {.at_us = i,
                                          .n_try = 2,
                                          .n_entries = 3,
                                          .first = {4, 5},
                                          .last = {6, 7},
                                          .status = 503,
                                          .ms = 8,
                                          .verdict = DELIVERY_RETRY,
                                          .error = STR("no")}};

        WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    }
    assert_int_equal(RC_OK, reader_deliveries(f->reader, id, 1000, &f->arena, &notes, &n, NULL));
    assert_int_equal(DELIVERIES_KEPT, n);
    assert_int_equal(DELIVERIES_KEPT + 5, notes[0].at_us);
    assert_int_equal(6, notes[n - 1].at_us);
    assert_int_equal(2, notes[0].n_try);
    assert_int_equal(3, notes[0].n_entries);
    assert_int_equal(5, notes[0].first.at_us);
    assert_int_equal(6, notes[0].last.seq);
    assert_int_equal(503, notes[0].status);
    assert_int_equal(DELIVERY_RETRY, notes[0].verdict);
    assert_true(str_eqz(notes[0].error, "no"));
    assert_int_equal(RC_OK, reader_deliveries(f->reader, id, 2, &f->arena, &notes, &n, NULL));
    assert_int_equal(2, n);
}

/* DELIV-08: in a held snapshot many subscriptions see the same state, and what they have in common
 * is read once */
static void test_pushes__held_snapshot(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0), other = subscribe(f, SUB_DELETED);
    struct entry_change c[] = {change(f, "1", "one", 100), change(f, "2", "two", 100)};
    struct subscription *sub = sub_at(f, id);
    struct push_next first, second, third;
    bool is_drained;

    succeed(f, 1000);
    store_changes(f, the_feed(f), c, 1);
    assert_int_equal(RC_OK, reader_hold(f->reader, NULL));
    assert_int_equal(RC_OK, reader_next_push(f->reader, sub, 100, &f->arena, &first, NULL));
    assert_int_equal(1, first.n);
    store_changes(f, the_feed(f), c + 1, 1); /* after the snapshot */
    assert_int_equal(RC_OK, reader_next_push(f->reader, sub, 100, &f->arena, &second, NULL));
    assert_ptr_equal(first.revisions, second.revisions);
    assert_int_equal(RC_OK, reader_next_push(f->reader, sub_at(f, other), 100, &f->arena, &third,
                                             NULL)); /* it wants other events */
    assert_int_equal(0, third.feed_id);
    assert_int_equal(first.revisions[0].seq, third.skip_to); /* not over what the snapshot lacks */
    assert_int_equal(RC_OK,
                     reader_is_drained(f->reader, sub, first.revisions[0].seq, &is_drained, NULL));
    assert_true(is_drained);
    reader_let_go(f->reader);
    assert_int_equal(RC_OK, reader_is_drained(f->reader, sub, third.skip_to, &is_drained, NULL));
    assert_false(is_drained);
    assert_int_equal(RC_OK, reader_hold(f->reader, NULL));
    sub->position = third.skip_to;
    assert_int_equal(RC_OK, reader_next_push(f->reader, sub, 100, &f->arena, &second, NULL));
    assert_int_equal(1, second.n);
    assert_true(str_eqz(second.revisions[0].title, "two"));
    reader_let_go(f->reader);
}

/* Subscribe with several feeds, which have numbers in another order than they are named. */
static int64_t subscribe_to_several(struct fixture *f)
{
    struct feed_ref refs[] = {{.url = STR("http://c.example/f")},
                              {.url = STR("http://a.example/f")},
                              {.url = STR("http://b.example/f")}};
    struct sub_request req = {.endpoint = STR("http://several.example/"),
                              .sink = STR("xmlrpc"),
                              .feeds = refs,
                              .n_feeds = ARRAY_LEN(refs),
                              .level = LEVEL_KEEP};
    struct answer a;

    (void)add_feed(f, "http://b.example/f", NULL);
    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a.res.id;
}

/* What is read for deliveries is what is read otherwise: each subscription has its feeds, in the
 * order in which they were named. */
static void test_pushes__read_for_deliveries(void **state)
{
    struct fixture *f = *state;
    int64_t ids[] = {subscribe(f, 0), subscribe_to_several(f), 1000, subscribe(f, SUB_DELETED)};
    struct push_sub subs[ARRAY_LEN(ids)];

    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        subs[i] = (struct push_sub){.id = ids[i], .arena = &f->arena};
    assert_int_equal(RC_OK, reader_push_subs(f->reader, subs, ARRAY_LEN(subs), NULL));
    assert_null(subs[2].sub);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        const struct subscription *sub = i == 2 ? NULL : sub_at(f, ids[i]);

        if (sub == NULL)
            continue;
        assert_int_equal(sub->n_feeds, subs[i].sub->n_feeds);
        assert_int_equal(sub->events, subs[i].sub->events);
        for (size_t k = 0; k < sub->n_feeds; k++) {
            assert_int_equal(sub->feeds[k].feed_id, subs[i].sub->feeds[k].feed_id);
            assert_true(str_eq(sub->feeds[k].url, subs[i].sub->feeds[k].url));
        }
    }
    assert_int_equal(3, subs[1].sub->n_feeds);
    assert_true(str_eqz(subs[1].sub->feeds[0].url, "http://c.example/f"));
}

/* DELIV-05 */
static void test_pushes__dead_letters(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct entry_change c = change(f, "1", "one", 100);
    struct push_outcome o = {.sub_id = id, .next_try_at = TIME_UNKNOWN, .is_dead = true};
    struct dead_letter *dead;
    struct push_next next;
    struct answer a;
    size_t n;

    succeed(f, 1000);
    store_changes(f, the_feed(f), &c, 1);
    next = next_of(f, id);
    assert_int_equal(1, next.n);
    o.dead = (struct dead_letter){.sub_id = id,
                                  .at = {next.revisions[0].seq, next.revisions[0].at_us},
                                  .uid = next.revisions[0].uid,
                                  .refused_at = 5,
                                  .status = 422,
                                  .answer = STR("why")};
    o.position = next.revisions[0].seq;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(0, next_of(f, id).feed_id);
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, id, &f->arena, &dead, &n, NULL));
    assert_int_equal(1, n);
    assert_int_equal(422, dead[0].status);
    assert_true(str_eqz(dead[0].answer, "why"));
    WRITE(a, store_dead_retry(f->store, id, dead[0].id + 1, on_answer, &a));
    assert_int_equal(RC_NOT_FOUND, a.rc);
    WRITE(a, store_dead_retry(f->store, id, 0, on_answer, &a));
    next = next_of(f, id);
    assert_non_null(next.dead);
    assert_int_equal(1, next.n);
    o.dead.id = next.dead->id; /* refused again: it stays, and is not wanted */
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_null(next_of(f, id).dead);
    WRITE(a, store_dead_retry(f->store, id, o.dead.id, on_answer, &a));
    o.is_dead = false;
    o.failed = true; /* the endpoint is down: it is still wanted */
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_non_null(next_of(f, id).dead);
    o.failed = false; /* delivered */
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, id, &f->arena, &dead, &n, NULL));
    assert_int_equal(0, n);
    WRITE(a, store_dead_drop(f->store, id, 0, on_answer, &a)); /* all of none */
    assert_int_equal(RC_OK, a.rc);
    WRITE(a, store_dead_drop(f->store, 99, 0, on_answer, &a));
    assert_int_equal(RC_NOT_FOUND, a.rc);
}

/* DELIV-05: an entry has one dead letter, and none when a replay has delivered it. */
static void test_pushes__dead_letters_and_replay(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome o = {
        .sub_id = id,
        .next_try_at = TIME_UNKNOWN,
        .is_dead = true,
        .position = 5,
        .chain = {5, 1},
        .has_note = true,
        .note = {.first = {5, 1}, .last = {5, 1}, .error = STR_NULL},
        .dead = {.sub_id = id, .at = {5, 1}, .uid = STR("u"), .answer = STR("a")}};
    struct dead_letter *dead;
    struct answer a;
    size_t n;

    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    WRITE(a, store_resume(f->store, id, 0, on_answer, &a));
    o.generation = sub_at(f, id)->generation;
    o.dead.answer = STR("b");
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, id, &f->arena, &dead, &n, NULL));
    assert_int_equal(1, n);
    assert_true(str_eqz(dead[0].answer, "b"));
    o.is_dead = false;
    o.dead = (struct dead_letter){.id = 0};
    o.note.first.seq = o.chain.seq = 6; /* another entry is delivered */
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, id, &f->arena, &dead, &n, NULL));
    assert_int_equal(1, n);
    o.note.first.seq = 4;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, id, &f->arena, &dead, &n, NULL));
    assert_int_equal(0, n);
}

/* HOOK-02: how small the parts of what was refused are is on disk, up to its end, or a replay. */
static void test_pushes__parts_of_what_was_refused(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome o = {
        .sub_id = id, .next_try_at = TIME_UNKNOWN, .part_max = 4, .part_until = 9};
    struct answer a;

    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(4, sub_at(f, id)->part_max);
    assert_int_equal(9, sub_at(f, id)->part_until);
    o = (struct push_outcome){.sub_id = id, .next_try_at = TIME_UNKNOWN, .failed = true};
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(4, sub_at(f, id)->part_max);
    o = (struct push_outcome){
        .sub_id = id, .next_try_at = TIME_UNKNOWN, .position = 7, .part_max = 8};
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(8, sub_at(f, id)->part_max);
    o.position = 9;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(0, sub_at(f, id)->part_max);
    o.part_until = 20;
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    assert_int_equal(8, sub_at(f, id)->part_max);
    WRITE(a, store_resume(f->store, id, 0, on_answer, &a));
    assert_int_equal(0, sub_at(f, id)->part_max);
    assert_int_equal(0, sub_at(f, id)->part_until);
}

/* DELIV-01 DELIV-06: what was delivered while the skip was on its way is not delivered again. */
static void test_pushes__a_skip_never_goes_back(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome o = {
        .sub_id = id, .position = 9, .chain = {9, 900}, .next_try_at = TIME_UNKNOWN};
    struct sub_change c = {
        .sub_id = id, .has_position = true, .position = 7, .is_skip = true, .level = LEVEL_KEEP};
    struct answer a;

    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(9, sub_at(f, id)->position);
    c.position = 11;
    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    assert_int_equal(11, sub_at(f, id)->position);
    c.is_skip = false;
    c.position = 2;
    WRITE(a, store_change_sub(f->store, &c, on_answer, &a));
    assert_int_equal(2, sub_at(f, id)->position);
}

/* Make a dead letter of what has this seq, and have it delivered again. */
static void want_dead(struct fixture *f, int64_t id, int64_t seq)
{
    struct push_outcome o = {.sub_id = id,
                             .next_try_at = TIME_UNKNOWN,
                             .is_dead = true,
                             .dead = {.sub_id = id, .at = {seq, 1}, .uid = STR("")}};
    struct answer a;

    o.dead.answer = STR("");
    WRITE(a, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    WRITE(a, store_dead_retry(f->store, id, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
}

/* The same as next_of(), in a snapshot that is held for it and for another subscription, which has
 * no dead letters. */
static struct push_next held_next_of(struct fixture *f, int64_t id, int64_t other)
{
    struct push_sub subs[] = {{.id = other, .arena = &f->arena}, {.id = id, .arena = &f->arena}};
    struct push_next next, none;

    assert_int_equal(RC_OK, reader_hold(f->reader, NULL));
    assert_int_equal(RC_OK, reader_push_subs(f->reader, subs, ARRAY_LEN(subs), NULL));
    assert_false(subs[0].wants_dead);
    assert_true(subs[1].wants_dead);
    assert_int_equal(RC_OK, reader_next_push(f->reader, subs[0].sub, 100, &f->arena, &none, NULL));
    assert_null(none.dead);
    assert_int_equal(RC_OK, reader_next_push(f->reader, subs[1].sub, 100, &f->arena, &next, NULL));
    reader_let_go(f->reader);
    return next;
}

/* DELIV-05 DELIV-03: an event is delivered again like an entry, and what does not exist any more
 * does not hold up the others */
static void test_pushes__dead_events(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, SUB_NEW | SUB_FEED);
    struct push_next next;
    struct push_outcome delivered = {.sub_id = id, .next_try_at = TIME_UNKNOWN};
    struct answer a;
    int64_t seq;

    succeed(f, 1000);
    for (int i = 1; i <= 3; i++)
        poll_fails(f, i, 1000 + i);
    seq = next_of(f, id).event.seq;
    assert_string_equal("broken", told(f, id));
    want_dead(f, id, seq + 1000); /* of a feed that was removed */
    want_dead(f, id, seq);
    next = next_of(f, id);
    assert_non_null(next.dead);
    next = held_next_of(f, id, subscribe(f, SUB_NEW));
    assert_non_null(next.dead);
    assert_int_equal(seq, next.event.seq);
    assert_int_equal(the_feed(f), next.feed_id);
    assert_true(str_eqz(next.shown_url, "http://a.example/f"));
    assert_int_equal(0, next.n);
    delivered.dead.id = next.dead->id;
    WRITE(a, store_push_outcomes(f->store, &delivered, 1, on_answer, &a));
    next = next_of(f, id);
    assert_null(next.dead);
    assert_int_equal(0, next.feed_id);
}

/* DELIV-05: the oldest are dropped */
static void test_pushes__dead_letters_are_bounded(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, 0);
    struct push_outcome o = {.sub_id = id,
                             .next_try_at = TIME_UNKNOWN,
                             .is_dead = true,
                             .dead = {.sub_id = id, .uid = STR("u"), .answer = STR("")}};
    struct answer a = answer_init(DEAD_LETTERS_KEPT + 2);
    struct dead_letter *dead;
    size_t n;

    for (int i = 0; i < DEAD_LETTERS_KEPT + 2; i++) {
        o.dead.at.seq = i;
        assert_int_equal(RC_OK, store_push_outcomes(f->store, &o, 1, on_answer, &a));
    }
    answer_wait(&a);
    assert_int_equal(RC_OK, reader_dead_letters(f->reader, id, &f->arena, &dead, &n, NULL));
    assert_int_equal(DEAD_LETTERS_KEPT, n);
    assert_int_equal(2, dead[0].at.seq);
}

/* DELIV-03: each once, in order with the entries */
static void test_pushes__feed_events(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, SUB_NEW | SUB_FEED), entries = subscribe(f, SUB_NEW);
    struct entry_change one = change(f, "1", "one", 100), two = change(f, "2", "two", 200);
    struct poll_outcome o;

    succeed(f, 1000);
    poll_fails(f, 1, 1060);
    poll_fails(f, 2, 1120);
    assert_string_equal("", told(f, id));
    poll_fails(f, 3, 1180);
    poll_fails(f, 4, 1240);
    store_changes(f, the_feed(f), &one, 1);
    o = outcome(the_feed(f), &two, 1);
    o.check.url = STR("http://moved.example/");
    o.is_gap = true;
    check(f, &o);
    o = (struct poll_outcome){.check = {.feed_id = the_feed(f),
                                        .checked_at = 2000,
                                        .error = STR("gone"),
                                        .state = FEED_GONE,
                                        .level = LEVEL_KEEP,
                                        .next_fetch_at = TIME_UNKNOWN}};
    check(f, &o);
    check(f, &o);
    assert_string_equal("broken recovered e moved gap e gone", told(f, id));
    assert_string_equal("e e", told(f, entries));
}

/* DELIV-03: or after six hours */
static void test_pushes__broken_for_long(void **state)
{
    struct fixture *f = *state;
    int64_t id = subscribe(f, SUB_FEED);

    succeed(f, 1000);
    poll_fails(f, 1, 1000 + 6 * 3600 - 1);
    assert_string_equal("", told(f, id));
    poll_fails(f, 2, 1000 + 6 * 3600);
    assert_string_equal("broken", told(f, id));
}

/* DELIV-02 */
static void test_pushes__only_what_is_wanted(void **state)
{
    struct fixture *f = *state;
    int64_t all = subscribe(f, SUB_NEW | SUB_CHANGED | SUB_DELETED);
    int64_t deleted = subscribe(f, SUB_DELETED), fresh = subscribe(f, SUB_NEW);
    struct entry_change one = change(f, "1", "one", 100), edit = change(f, "1", "uno", 100);
    struct entry_change gone = {
        .kind = REV_DELETED, .uid = STR("1"), .doc = STR(""), .updated_at = TIME_UNKNOWN};
    struct sub_lag lag;

    succeed(f, 1000);
    store_changes(f, the_feed(f), &one, 1);
    edit.kind = REV_CHANGED;
    store_changes(f, the_feed(f), &edit, 1);
    store_changes(f, the_feed(f), &gone, 1);
    assert_int_equal(RC_OK, reader_lag(f->reader, sub_at(f, all), &lag, NULL));
    assert_int_equal(3, lag.n); /* DELIV-12 */
    assert_true(lag.first_at_us > 0);
    assert_int_equal(RC_OK, reader_lag(f->reader, sub_at(f, deleted), &lag, NULL));
    assert_int_equal(1, lag.n);
    assert_int_equal(REV_DELETED, next_of(f, deleted).revisions[0].kind);
    assert_string_equal("e e e", told(f, all));
    assert_string_equal("e", told(f, deleted));
    assert_string_equal("e", told(f, fresh));
    assert_int_equal(RC_OK, reader_lag(f->reader, sub_at(f, all), &lag, NULL));
    assert_int_equal(0, lag.n);
    assert_int_equal(0, lag.first_at_us);
}

/* What makes a subscription by XMPP one: its endpoint and its settings. XMPP-17 */
static void test_pushes__found_by_its_endpoint(void **state)
{
    static const char *const endpoints[] = {"xmpp:a@b", "xmpp:a@b/one", "xmpp:a@b.example",
                                            "xmpp:a@b/two", "xmpp:a%@b"};
    struct fixture *f = *state;
    struct feed_ref ref = {.url = STR("http://a.example/f")};
    int64_t id, n;

    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        struct sub_request req = {.endpoint = str_from(endpoints[i]),
                                  .sink = STR("xmpp"),
                                  .sink_settings = STR("{\"node\":\"x\"}"),
                                  .feeds = &ref,
                                  .n_feeds = 1,
                                  .level = LEVEL_KEEP};
        struct answer a;

        WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
        assert_int_equal(RC_OK, a.rc);
    }
    assert_int_equal(RC_OK,
                     reader_find_sub(f->reader, STR("xmpp"), STR("xmpp:a@b/one"),
                                     STR("{\"node\":\"x\"}"), STR("xmpp:a@b"), &id, &n, NULL));
    assert_int_equal(2, id);
    assert_int_equal(3, n);
    assert_int_equal(RC_OK,
                     reader_find_sub(f->reader, STR("xmpp"), STR("xmpp:a@b/one"),
                                     STR("{\"node\":\"y\"}"), STR("xmpp:a@b"), &id, &n, NULL));
    assert_int_equal(0, id);
    assert_int_equal(3, n);
    assert_int_equal(RC_OK,
                     reader_find_sub(f->reader, STR("xmlrpc"), STR("xmpp:a@b/one"),
                                     STR("{\"node\":\"x\"}"), STR("xmpp:a@b"), &id, &n, NULL));
    assert_int_equal(0, id);
    assert_int_equal(0, n);
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_pushes__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(chain),
        T(what_is_not_announced_waits),
        T(changes),
        T(delivery_log),
        T(dead_letters),
        T(feed_events),
        T(dead_letters_are_bounded),
        T(dead_letters_and_replay),
        T(parts_of_what_was_refused),
        T(a_skip_never_goes_back),
        T(broken_for_long),
        T(only_what_is_wanted),
        T(dead_events),
        T(another_endpoint),
        T(a_stale_node),
        T(a_stale_failure),
        T(a_stale_node_after_a_replay),
        T(some_were_taken),
        T(held_snapshot),
        T(read_for_deliveries),
        T(found_by_its_endpoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
