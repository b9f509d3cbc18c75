/* tests/unit/storage/test_contents.c - contents of metadata records (PMHC-09): what is asked for,
 * and what answers come to. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

/* A harvested feed with these metadata records, all of one date. */
static int64_t harvest(struct fixture *f, const char *const *uids, size_t n, const char *text)
{
    int64_t id = add_feed(f, "http://a.example/", NULL);
    struct entry_change *c = ARENA_ARRAY(&f->arena, struct entry_change, n);
    struct poll_outcome o;
    struct answer a;

    for (size_t i = 0; i < n; i++) {
        c[i] = change(f, uids[i], text, TIME_UNKNOWN);
        c[i].updated_at = text[0]; /* a later text is a later date */
        c[i].is_metadata = true;
    }
    o = outcome(id, c, n);
    o.past = (struct doc_past){
        .older = STR_NULL, .whole = true, .metadata = true, .oldest = 100, .newest = 100};
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return id;
}

static struct pending_content next(struct fixture *f, int64_t id, int64_t in_s)
{
    struct pending_content open;

    assert_int_equal(
        RC_OK, reader_pending_content(f->reader, id, clock_now_s() + in_s, &f->arena, &open, NULL));
    return open;
}

static struct answer answered(struct fixture *f, int64_t id, const struct pending_content *open,
                              enum content_answer what)
{
    struct content_outcome o = {.feed_id = id,
                                .entry_id = open->entry_id,
                                .seq = open->seq,
                                .checked_at = clock_now_s(),
                                .answer = what,
                                .form = open->form,
                                .n_forms = 2,
                                .retry_after_s = -1,
                                .doc = STR("{\"content\":1}"),
                                .ext = STR(""),
                                .summary = STR("s"),
                                .author = STR_NULL};
    struct answer a;

    WRITE(a, store_content_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    return a;
}

static const char *docs(struct fixture *f, int64_t id)
{
    struct view v = view_of(VIEW_NEWEST, &id, 1);
    struct revision *rows;
    struct str all = STR("");
    size_t n;

    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    for (size_t i = 0; i < n; i++)
        all = str_printf(&f->arena, "%.*s%.*s", STR_ARG(all), STR_ARG(rows[i].doc));
    return str_z(&f->arena, all);
}

static int64_t due_at(struct fixture *f, int64_t id)
{
    struct feed_brief brief;

    assert_true(store_brief(f->store, id, &brief));
    return brief.content_at;
}

/* Content is a revision; what the feed shows again does not change it. */
static void test_contents__content_is_a_revision(void **state)
{
    struct fixture *f = *state;
    static const char *const uids[] = {"x"};
    int64_t id = harvest(f, uids, 1, "1");
    struct pending_content open = next(f, id, 0);

    assert_int_equal(0, due_at(f, id));
    assert_int_equal(1, answered(f, id, &open, ANSWER_CONTENT).res.n_changed);
    assert_string_equal(docs(f, id), "{\"content\":1}");
    assert_int_equal(0, next(f, id, 0).entry_id);
    assert_true(due_at(f, id) == TIME_UNKNOWN);
    harvest(f, uids, 1, "1");
    assert_string_equal(docs(f, id), "{\"content\":1}");
    harvest(f, uids, 1, "2"); /* a new version begins without it */
    assert_string_equal(docs(f, id), "{\"id\":\"x\",\"title\":\"2\"}");
    assert_int_equal(open.entry_id, next(f, id, 0).entry_id);
}

/* An answer for a version that is not the present one is void, whatever it was. */
static void test_contents__late_answers_are_void(void **state)
{
    struct fixture *f = *state;
    static const char *const uids[] = {"x"};
    int64_t id = harvest(f, uids, 1, "1");
    struct pending_content old = next(f, id, 0), open;

    harvest(f, uids, 1, "2");
    for (int what = ANSWER_CONTENT; what <= ANSWER_OPEN; what++) {
        for (int k = 0; k < 4; k++)
            answered(f, id, &old, (enum content_answer)what);
        assert_string_equal(docs(f, id), "{\"id\":\"x\",\"title\":\"2\"}");
        assert_int_equal(0, due_at(f, id));
    }
    open = next(f, id, 0);
    assert_int_equal(0, open.form);
    answered(f, id, &open, ANSWER_CONTENT);
    answered(f, id, &open, ANSWER_CONTENT); /* the same twice */
    assert_string_equal(docs(f, id), "{\"content\":1}");
}

/* All alternates gone, twice, delete; one that is only of no use does not. */
static void test_contents__gone_twice(void **state)
{
    struct fixture *f = *state;
    static const char *const uids[] = {"x"};
    int64_t id = harvest(f, uids, 1, "1");
    struct pending_content open = next(f, id, 0);

    answered(f, id, &open, ANSWER_GONE);
    open = next(f, id, 0);
    assert_int_equal(1, open.form);
    answered(f, id, &open, ANSWER_GONE);
    assert_int_equal(0, next(f, id, 0).entry_id); /* not at once */
    open = next(f, id, 10);
    assert_int_equal(0, open.form);
    answered(f, id, &open, ANSWER_GONE);
    open = next(f, id, 10);
    assert_string_equal(docs(f, id), "{\"id\":\"x\",\"title\":\"1\"}");
    assert_int_equal(1, answered(f, id, &open, ANSWER_GONE).res.n_deleted);
    assert_string_equal(docs(f, id), "");
    harvest(f, uids, 1, "1"); /* the feed still shows it */
    assert_string_equal(docs(f, id), "");
    harvest(f, uids, 1, "2");
    open = next(f, id, 0);
    answered(f, id, &open, ANSWER_GONE);
    open = next(f, id, 0);
    answered(f, id, &open, ANSWER_OTHER);
    assert_int_equal(0, next(f, id, 1000000).entry_id);
    assert_string_equal(docs(f, id), "{\"id\":\"x\",\"title\":\"2\"}");
}

/* A feed that was not fetched for long is asked for first, and has to come. */
static void test_contents__gone_needs_the_feed(void **state)
{
    struct fixture *f = *state;
    static const char *const uids[] = {"x"};
    int64_t id, t0 = clock_now_us();
    struct pending_content open;

    id = harvest(f, uids, 1, "1");
    clock_fake_us(t0 + (int64_t)3600 * 1000000);
    open = next(f, id, 0);
    answered(f, id, &open, ANSWER_GONE);
    open = next(f, id, 0);
    assert_true(answered(f, id, &open, ANSWER_GONE).res.wants_feed);
    for (int k = 0; k < 4; k++) {
        open = next(f, id, 1000);
        answered(f, id, &open, ANSWER_GONE);
    }
    assert_string_equal(docs(f, id), "{\"id\":\"x\",\"title\":\"1\"}");
    harvest(f, uids, 1, "1");
    for (int k = 0; k < 2; k++) {
        open = next(f, id, 1000);
        answered(f, id, &open, ANSWER_GONE);
    }
    assert_string_equal(docs(f, id), "");
}

/* Failures: pauses grow, of the entry first, then of the feed; any other answer ends them. */
static void test_contents__pauses_grow(void **state)
{
    struct fixture *f = *state;
    static const char *const uids[] = {"x", "y", "z"};
    int64_t now = clock_now_s(), id, due;
    struct pending_content open;

    clock_fake_us(now * 1000000);
    id = harvest(f, uids, 3, "1");
    open = next(f, id, 0);
    answered(f, id, &open, ANSWER_OPEN);
    assert_int_equal(0, due_at(f, id)); /* the others do not wait */
    assert_true(next(f, id, 0).entry_id != open.entry_id);
    open = next(f, id, 0);
    answered(f, id, &open, ANSWER_OPEN);
    assert_int_equal(now + 2, due_at(f, id));
    open = next(f, id, 0);
    answered(f, id, &open, ANSWER_OPEN);
    assert_int_equal(now + 4, due_at(f, id));
    for (int k = 0; k < 40; k++) {
        open = next(f, id, 1000000);
        answered(f, id, &open, ANSWER_OPEN);
    }
    due = due_at(f, id);
    assert_true(due > now + 3600 && due <= now + 86400);
    fixture_close(f); /* it is all on disk */
    fixture_open(f);
    assert_int_equal(due, due_at(f, id));
    open = next(f, id, 1000000);
    answered(f, id, &open, ANSWER_CONTENT);
    assert_true(due_at(f, id) >= due && due_at(f, id) <= now + 86400);
}

/* A feed that is not fetched, or fails, has none asked for. */
static void test_contents__rest_with_their_feed(void **state)
{
    struct fixture *f = *state;
    static const char *const uids[] = {"x"};
    int64_t id = harvest(f, uids, 1, "1");
    struct poll_outcome o = outcome(id, NULL, 0);
    struct answer a;

    o.check.ok = o.has_document = false;
    o.check.state = FEED_FAILING;
    o.check.error = STR("no");
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_true(due_at(f, id) == TIME_UNKNOWN);
    o.check.ok = true;
    o.check.state = FEED_OK;
    o.check.next_fetch_at = TIME_UNKNOWN;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_true(due_at(f, id) == TIME_UNKNOWN);
    o.check.next_fetch_at = clock_now_s() + 60;
    WRITE(a, store_poll_outcome(f->store, &o, 0, on_answer, &a));
    assert_int_equal(0, due_at(f, id));
}

int main(void)
{
#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_contents__##name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        T(content_is_a_revision), T(late_answers_are_void), T(gone_twice),
        T(gone_needs_the_feed),   T(pauses_grow),           T(rest_with_their_feed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
