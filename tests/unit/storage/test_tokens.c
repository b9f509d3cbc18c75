/* tests/unit/storage/test_tokens.c - tokens of callers, and who made a subscription (ACC-01,
 * ACC-06). */
#include "gate.h"
#include "tests/unit/cmocka_all.h"

static struct token token(const char *name, const char *digest)
{
    return (struct token){.name = str_from(name),
                          .role = ROLE_SUBSCRIBE,
                          .rate = 60,
                          .expires_at = TIME_UNKNOWN,
                          .created_at = 1000,
                          .digest = str_from(digest)};
}

static int64_t add(struct fixture *f, const struct token *t)
{
    struct answer a;

    WRITE(a, store_token_add(f->store, t, on_answer, &a));
    if (a.rc != RC_OK)
        fail_msg("add: %s", a.text);
    return a.res.id;
}

static enum rc drop(struct fixture *f, int64_t id)
{
    struct answer a;

    WRITE(a, store_token_drop(f->store, id, on_answer, &a));
    return a.rc;
}

static size_t all(struct fixture *f, struct token **out)
{
    size_t n;

    assert_int_equal(RC_OK, reader_tokens(f->reader, &f->arena, out, &n, NULL));
    return n;
}

/* ACC-01: all of it is there after a restart, and what was deleted is not */
static void test_tokens__survive_a_restart(void **state)
{
    struct fixture *f = *state;
    struct token x = token("x", "aa"), y = token("y", "bb"), *rows;
    int64_t id;

    y.expires_at = 5000;
    id = add(f, &x);
    assert_int_equal(id + 1, add(f, &y));
    assert_int_equal(RC_OK, drop(f, id));
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(1, all(f, &rows));
    assert_int_equal(id + 1, rows[0].id);
    assert_true(str_eqz(rows[0].name, "y") && str_eqz(rows[0].digest, "bb"));
    assert_int_equal(ROLE_SUBSCRIBE, rows[0].role);
    assert_true(rows[0].rate == 60 && rows[0].expires_at == 5000 && rows[0].created_at == 1000);
    assert_true(rows[0].used_at == TIME_UNKNOWN);
    assert_int_equal(id + 2, add(f, &x)); /* an id is never given again */
}

/* ACC-01: a token that does not exist cannot be deleted, twice neither */
static void test_tokens__delete_what_there_is(void **state)
{
    struct fixture *f = *state;
    struct token x = token("x", "aa"), *rows;
    int64_t id = add(f, &x);

    assert_int_equal(RC_NOT_FOUND, drop(f, id + 1));
    assert_int_equal(RC_OK, drop(f, id));
    assert_int_equal(RC_NOT_FOUND, drop(f, id));
    assert_int_equal(0, all(f, &rows));
}

/* ACC-01: the last use; an earlier one, and that of a deleted token, change nothing */
static void test_tokens__last_use(void **state)
{
    struct fixture *f = *state;
    struct token x = token("x", "aa"), *rows;
    int64_t id = add(f, &x), gone = add(f, &x);

    assert_int_equal(RC_OK, drop(f, gone));
    assert_int_equal(RC_OK, store_token_used(f->store, id, 77));
    assert_int_equal(RC_OK, store_token_used(f->store, id, 66));
    assert_int_equal(RC_OK, store_token_used(f->store, gone, 77));
    add(f, &x); /* they are written in this order */
    assert_int_equal(2, all(f, &rows));
    assert_int_equal(77, rows[0].used_at);
    assert_true(rows[1].used_at == TIME_UNKNOWN);
}

/* ACC-01: there is a bound, also for what is not made by HTTP */
static void test_tokens__are_bounded(void **state)
{
    struct fixture *f = *state;
    struct answer a = answer_init(TOKENS_MAX), last;
    struct token x = token("x", "aa"), *rows;

    for (int i = 0; i < TOKENS_MAX; i++)
        assert_int_equal(RC_OK, store_token_add(f->store, &x, on_answer, &a));
    answer_wait(&a);
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(TOKENS_MAX, all(f, &rows));
    WRITE(last, store_token_add(f->store, &x, on_answer, &last));
    assert_int_equal(RC_LIMIT, last.rc);
    assert_int_equal(RC_OK, drop(f, rows[7].id));
    add(f, &x);
    assert_int_equal(TOKENS_MAX, all(f, &rows));
}

/* ACC-06: a subscription says who made it, and a change of it by others does not */
static void test_tokens__owner_of_a_subscription(void **state)
{
    struct fixture *f = *state;
    struct feed_ref ref = {.url = STR("http://a.example/"), .shown_url = STR("http://a.example/")};
    struct sub_request req = {
        .sink = STR("xmlrpc"), .feeds = &ref, .n_feeds = 1, .level = LEVEL_KEEP, .owner = 42};
    struct sub_change paused = {.has_state = true, .state = SUB_PAUSED, .level = LEVEL_KEEP};
    struct subscription *sub;
    struct answer a;

    WRITE(a, store_subscribe(f->store, &req, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    paused.sub_id = a.res.id;
    WRITE(a, store_change_sub(f->store, &paused, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(RC_OK, reader_sub(f->reader, paused.sub_id, &f->arena, &sub, NULL));
    assert_int_equal(42, sub->owner);
    assert_int_equal(SUB_PAUSED, sub->state);
}

/* The request of a subscriber for a callback, and its confirmation. Returns whether it counted. */
static bool ask_hub(struct fixture *f, enum hub_mode mode, int64_t owner, bool by_admin)
{
    struct sub_feed feed = {.feed_id = 1, .url = STR("http://a.example/")};
    struct hub_intent in = {.mode = mode,
                            .topic = STR("http://me/feed?url=http://a.example/"),
                            .callback = STR("http://callback.example/"),
                            .lease_s = 1000,
                            .feeds = &feed,
                            .n_feeds = mode == HUB_SUBSCRIBE,
                            .owner = owner,
                            .by_admin = by_admin};
    struct hub_settled settled = {.confirmed = true};
    struct subscription *subs;
    struct answer a;
    size_t before, after;

    assert_int_equal(RC_OK, reader_subs(f->reader, NULL, 0, &f->arena, &subs, &before, NULL));
    WRITE(a, store_hub_request(f->store, &in, on_answer, &a));
    if (a.rc == RC_CONFLICT) /* it is refused at once, not only after the confirmation */
        return false;
    assert_int_equal(RC_OK, a.rc);
    settled.intent_id = a.res.id;
    WRITE(a, store_hub_settle(f->store, settled, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_int_equal(RC_OK, reader_subs(f->reader, NULL, 0, &f->arena, &subs, &after, NULL));
    return before != after;
}

/* ACC-06: what one has subscribed at the hub, another one does not end; an admin does */
static void test_tokens__owner_of_a_lease(void **state)
{
    struct fixture *f = *state;
    struct token x = token("x", "aa"), y = token("y", "bb");
    int64_t mine = add(f, &x), other = add(f, &y);

    assert_int_equal(1, add_feed(f, "http://a.example/", NULL));
    assert_true(ask_hub(f, HUB_SUBSCRIBE, mine, false));
    assert_false(ask_hub(f, HUB_UNSUBSCRIBE, other, false));
    assert_false(ask_hub(f, HUB_UNSUBSCRIBE, OWNER_ANONYMOUS, false));
    assert_true(ask_hub(f, HUB_UNSUBSCRIBE, mine, false));
    assert_true(ask_hub(f, HUB_SUBSCRIBE, mine, false));
    assert_true(ask_hub(f, HUB_UNSUBSCRIBE, OWNER_OPTION, true));
    assert_true(ask_hub(f, HUB_SUBSCRIBE, mine, false));
    assert_int_equal(RC_OK, drop(f, mine)); /* now whoever has the callback may */
    assert_true(ask_hub(f, HUB_UNSUBSCRIBE, other, false));
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_tokens__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(survive_a_restart), T(delete_what_there_is),    T(last_use),
        T(are_bounded),       T(owner_of_a_subscription), T(owner_of_a_lease),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
