/* tests/unit/search/test_indexer.c - the thread that fills the index of words. */
#include "words.h"

#include "search/indexer.h"

/* The words in the index for one word, in ascending order, as a line. */
static const char *found(struct fixture *f, const char *word)
{
    struct word_filter w;
    int64_t seqs[300];
    char *text = arena_printf(&f->arena, "%s", "");
    size_t n;

    word_filter_init(&w, WORD_BEGINS, word, "x");
    assert_int_equal(RC_OK,
                     f->reader->db->reads->terms_find(f->reader->db, w.filter.terms, 0, INT64_MAX,
                                                      ARRAY_LEN(seqs), &f->arena, seqs, &n, NULL));
    for (int64_t seq = 1; seq <= store_last_seq(f->store); seq++)
        for (size_t i = 0; i < n; i++)
            if (seqs[i] == seq)
                text = arena_printf(&f->arena, "%s%lld ", text, (long long)seq);
    return text;
}

static void wait_until_filled(struct fixture *f)
{
    struct index_place place;

    do {
        assert_int_equal(RC_OK, reader_index_place(f->reader, &place, NULL));
    } while (place.seq < store_last_seq(f->store) && usleep(1000) == 0);
}

static void edit(struct fixture *f, int64_t feed, const char *text)
{
    struct entry_change c = change(f, "e", text, 1000);

    store_changes(f, feed, &c, 1);
}

static struct indexer *start(struct fixture *f)
{
    struct indexer *x = indexer_new(&(struct indexer_cfg){.store = f->store, .terms = title_terms});

    assert_int_equal(RC_OK, indexer_start(x, NULL));
    return x;
}

static void restart(struct fixture *f, struct indexer **x)
{
    indexer_stop(*x);
    fixture_close(f);
    indexer_free(x);
    fixture_open(f);
}

static void end(struct fixture *f, struct indexer **x)
{
    restart(f, x);
    assert_null(*x);
}

/* VIEW-09, VIEW-12: it follows the log, and each revision is found by the words of all before it.
 */
static void test_indexer__follows_the_log(void **state)
{
    struct fixture *f = *state;
    struct indexer *x = indexer_new(&(struct indexer_cfg){.store = f->store, .terms = title_terms});
    int64_t feed = add_feed(f, "http://a.example/", NULL);

    edit(f, feed, "red");
    assert_int_equal(RC_OK, indexer_start(x, NULL)); /* what was there before is taken in */
    wait_until_filled(f);
    edit(f, feed, "blue sky");
    edit(f, feed, "green");
    wait_until_filled(f);
    assert_string_equal("1 2 3 ", found(f, "red"));
    assert_string_equal("2 3 ", found(f, "sky"));
    assert_string_equal("3 ", found(f, "green"));
    assert_string_equal("", found(f, "e"));
    indexer_stop(x);
    edit(f, feed, "odd");
    assert_string_equal("", found(f, "odd"));
    restart(f, &x); /* the next one goes on where it stood */
    x = start(f);
    wait_until_filled(f);
    assert_string_equal("4 ", found(f, "odd"));
    assert_string_equal("1 2 3 4 ", found(f, "red"));
    end(f, &x);
}

/* Of two who fill it, one is refused, and nothing is there twice or missing. */
static void test_indexer__two_at_once(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct index_row rows[] = {{1, STR("red")}, {2, STR("red")}};
    struct index_group g = {.from = 0, .to = 1, .rows = rows, .n = 1};
    struct index_group late = {.from = 0, .to = 2, .rows = rows, .n = 2};
    struct index_place place;
    struct answer a;

    edit(f, feed, "x");
    edit(f, feed, "y");
    WRITE(a, store_index(f->store, &g, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    WRITE(a, store_index(f->store, &late, on_answer, &a));
    assert_int_equal(RC_CONFLICT, a.rc);
    assert_string_equal("1 ", found(f, "red"));
    assert_int_equal(RC_OK, reader_index_place(f->reader, &place, NULL));
    assert_int_equal(1, place.seq);
    assert_int_equal(1, place.n_rows);
    g = (struct index_group){.from = 1, .to = 2, .rows = rows + 1, .n = 1};
    WRITE(a, store_index(f->store, &g, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_string_equal("1 2 ", found(f, "red"));
}

/* An index can be made anew. */
static void test_indexer__begins_anew(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct index_group anew = {.anew = true};
    struct indexer *x = start(f);
    struct answer a;

    edit(f, feed, "red");
    wait_until_filled(f);
    indexer_stop(x);
    WRITE(a, store_index(f->store, &anew, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_string_equal("", found(f, "red"));
    restart(f, &x);
    x = start(f);
    wait_until_filled(f);
    assert_string_equal("1 ", found(f, "red"));
    end(f, &x);
}

/* KEEP-03: a large index is emptied in steps. Whoever ends between two of them leaves one that has
 * nothing, and that the next one empties before it adds to it. */
static void test_indexer__is_emptied_in_steps(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct index_group anew = {.anew = true};
    struct indexer *x = start(f);
    struct index_place place;
    struct entry_change c;
    struct answer a;
    bool is_stale;

    for (int i = 0; i < 300; i++) {
        char *title = arena_alloc(&f->arena, 4000), *end = title;

        for (int k = 0; k < 400; k++)
            end += sprintf(end, "w%dx%d ", i, k);
        c = change(f, arena_printf(&f->arena, "e%d", i), title, 1000);
        store_changes(f, feed, &c, 1);
    }
    edit(f, feed, "red");
    wait_until_filled(f);
    indexer_stop(x);
    WRITE(a, store_index(f->store, &anew, on_answer, &a));
    assert_int_equal(RC_OK, a.rc);
    assert_string_equal("", found(f, "red"));
    assert_int_equal(RC_OK, reader_index_place(f->reader, &place, NULL));
    assert_int_equal(0, place.seq);
    assert_int_equal(RC_OK, reader_index_is_stale(f->reader, 0, &is_stale, NULL));
    assert_int_equal(!on_postgresql(), is_stale); /* there is more to empty */
    restart(f, &x);
    x = start(f);
    wait_until_filled(f);
    assert_string_equal("301 ", found(f, "red"));
    end(f, &x);
}

static void other_terms(const struct revision *rev UNUSED, struct arena *scratch UNUSED,
                        struct buf *out)
{
    buf_puts(out, "other ");
}

/* An index whose terms were cut by other rules is made anew; one of the same rules is not. */
static void test_indexer__of_another_cut(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct indexer *x = start(f);

    edit(f, feed, "red");
    wait_until_filled(f);
    assert_string_equal("1 ", found(f, "red"));
    restart(f, &x);
    x = indexer_new(&(struct indexer_cfg){.store = f->store, .terms = other_terms, .cut = 7});
    assert_int_equal(RC_OK, indexer_start(x, NULL));
    while (strcmp("1 ", found(f, "other")) != 0)
        usleep(1000);
    assert_string_equal("", found(f, "red"));
    restart(f, &x);
    x = indexer_new(&(struct indexer_cfg){.store = f->store, .terms = title_terms, .cut = 7});
    assert_int_equal(RC_OK, indexer_start(x, NULL));
    edit(f, feed, "blue");
    wait_until_filled(f);
    assert_string_equal("1 ", found(f, "other"));
    assert_string_equal("2 ", found(f, "red"));
    end(f, &x);
}

/* A row that is too long, or has too many revisions before it, is a candidate for every filter. */
static void test_indexer__too_much_is_found_by_all(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    char *word = arena_zalloc(&f->arena, 3001);
    struct indexer *x;

    memset(word, 'w', 3000);
    edit(f, feed, word);
    for (int i = 0; i < 70; i++)
        edit(f, feed, arena_printf(&f->arena, "n%d", i));
    x = start(f);
    wait_until_filled(f);
    assert_string_equal("1 ", strtok(arena_printf(&f->arena, "%.2s", found(f, "nothing")), "x"));
    assert_non_null(strstr(found(f, "nothing"), "71 "));
    end(f, &x);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_indexer__##name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(follows_the_log), T(two_at_once), T(begins_anew),
                                       T(is_emptied_in_steps),
                                       T(of_another_cut), T(too_much_is_found_by_all)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
