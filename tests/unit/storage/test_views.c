/* tests/unit/storage/test_views.c - every view agrees with the whole log: a random history of new,
 * changed, deleted and returning entries of several feeds, and random ranges of each order. */
#include "fixture.h"
#include "tests/unit/cmocka_all.h"

#define N_FEEDS 4
#define N_UIDS 25
#define ROUNDS 60

struct history {
    struct revision *log; /* all of it, deletions too */
    size_t n;
};

static uint32_t draw_state = 7;

static uint32_t draw(uint32_t below)
{
    draw_state = draw_state * 1664525 + 1013904223;
    return (draw_state >> 9) % below;
}

static void write_history(struct fixture *f, const int64_t *ids)
{
    struct entry_change c[8];
    size_t round, i, n;

    for (round = 0; round < ROUNDS; round++) {
        n = draw(8) + 1;
        for (i = 0; i < n; i++) {
            c[i] = change(f, str_printf(&f->arena, "uid %u", draw(N_UIDS)).ptr,
                          str_printf(&f->arena, "t%u", draw(3)).ptr, 1000 + draw(100));
            if (draw(4) == 0)
                c[i].kind = REV_DELETED;
        }
        store_changes(f, ids[draw(N_FEEDS)], c, n);
    }
}

static bool is_same_entry(const struct revision *x, const struct revision *y)
{
    return x->feed_id == y->feed_id && str_eq(x->uid, y->uid);
}

/* The newest revision of the i-th one's entry. */
static const struct revision *newest_of(const struct history *h, size_t i)
{
    const struct revision *r = &h->log[i];

    for (size_t k = i + 1; k < h->n; k++)
        if (is_same_entry(&h->log[k], r))
            r = &h->log[k];
    return r;
}

static bool is_first(const struct history *h, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (is_same_entry(&h->log[k], &h->log[i]))
            return false;
    return true;
}

static bool names(const struct view *v, int64_t feed_id)
{
    for (size_t i = 0; i < v->n_feeds; i++)
        if (v->feed_ids[i] == feed_id)
            return true;
    return v->all_feeds;
}

static bool by_first(enum view_order order)
{
    return order == VIEW_CREATED || order == VIEW_CREATED_DESC || order == VIEW_RECEIVED;
}

static bool descends(enum view_order order)
{
    return order == VIEW_LOG_DESC || order == VIEW_MODIFIED_DESC || order == VIEW_CREATED_DESC ||
           order == VIEW_RECEIVED || order == VIEW_CHANGED;
}

/* The row a view shows for the i-th revision of the log, or NULL. */
static const struct revision *shown_for(const struct history *h, const struct view *v, size_t i)
{
    const struct revision *r = &h->log[i], *newest = newest_of(h, i);

    if (!names(v, r->feed_id) || r->seq <= v->after_seq || r->seq >= v->before_seq)
        return NULL;
    if (v->order == VIEW_LOG || v->order == VIEW_LOG_DESC)
        return v->with_deleted || r->kind != REV_DELETED ? r : NULL;
    if (by_first(v->order) ? !is_first(h, i) : newest != r)
        return NULL;
    return newest->kind != REV_DELETED || (v->with_deleted && !order_is_by_date(v->order)) ? newest
                                                                                           : NULL;
}

static int newest_first(const void *x, const void *y)
{
    const struct revision *a = *(const struct revision *const *)x;
    const struct revision *b = *(const struct revision *const *)y;

    if (a->sort_at != b->sort_at)
        return a->sort_at > b->sort_at ? -1 : 1;
    return a->seq > b->seq ? -1 : 1;
}

static void check(struct fixture *f, const struct history *h, const struct view *v)
{
    const struct revision **wanted = ARENA_ARRAY(&f->arena, const struct revision *, h->n + 1);
    size_t n_wanted = 0, n, i, from = order_is_by_date(v->order) ? v->skip : 0;
    struct revision *rows;

    for (i = 0; i < h->n; i++) {
        size_t at = descends(v->order) ? h->n - 1 - i : i;
        const struct revision *r = shown_for(h, v, at);

        if (r != NULL)
            wanted[n_wanted++] = r;
    }
    if (v->order == VIEW_NEWEST && n_wanted > 1)
        qsort(wanted, n_wanted, sizeof *wanted, newest_first);
    n_wanted = n_wanted > from ? n_wanted - from : 0;
    if (n_wanted > v->len)
        n_wanted = v->len;
    assert_int_equal(RC_OK, reader_rows(f->reader, v, &f->arena, &rows, &n, NULL));
    assert_int_equal(n_wanted, n);
    for (i = 0; i < n; i++) {
        assert_int_equal(wanted[from + i]->seq, rows[i].seq);
        assert_true(str_eq(wanted[from + i]->uid, rows[i].uid));
    }
}

static struct view draw_view(enum view_order order, const struct history *h, int64_t *ids)
{
    struct view v = view_of(order, ids, draw(N_FEEDS) + 1);

    v.all_feeds = draw(4) == 0;
    v.with_deleted = draw(2) == 0;
    v.len = draw(3) == 0 ? 1000 : draw(20);
    v.skip = order_is_by_date(order) ? draw(30) : 0;
    if (draw(2) == 0)
        v.after_seq = draw((uint32_t)h->n);
    if (draw(2) == 0)
        v.before_seq = draw((uint32_t)h->n + 2);
    return v;
}

static void test_views__agree_with_the_log(void **state)
{
    static const enum view_order orders[] = {VIEW_NEWEST,       VIEW_LOG,      VIEW_LOG_DESC,
                                             VIEW_MODIFIED,     VIEW_CREATED,  VIEW_MODIFIED_DESC,
                                             VIEW_CREATED_DESC, VIEW_RECEIVED, VIEW_CHANGED};
    struct fixture *f = *state;
    int64_t ids[N_FEEDS];
    struct history h;
    struct view all = view_of(VIEW_LOG, NULL, 0);
    size_t i, k;

    for (i = 0; i < N_FEEDS; i++)
        ids[i] = add_feed(f, str_printf(&f->arena, "http://%zu.example/", i).ptr, NULL);
    write_history(f, ids);
    all.all_feeds = all.with_deleted = true;
    all.len = 100000;
    assert_int_equal(RC_OK, reader_rows(f->reader, &all, &f->arena, &h.log, &h.n, NULL));
    assert_true(h.n > 150);
    assert_int_equal(h.n, store_last_seq(f->store));
    for (i = 0; i < 300; i++) {
        for (k = 0; k < ARRAY_LEN(orders); k++) {
            struct view v = draw_view(orders[k], &h, ids);

            check(f, &h, &v);
        }
        if (i % 100 == 99) { /* keys that are loaded at start are the same */
            fixture_close(f);
            fixture_open(f);
        }
    }
}

/* ARCH-05: pages of the log, counted while it grows, are its fixed cuts; what is sealed stays. */
static void test_views__pages_are_cuts_of_the_log(void **state)
{
    struct fixture *f = *state;
    int64_t ids[N_FEEDS];
    struct view all = view_of(VIEW_LOG, ids, 0);
    struct page_set set = {.ids = ids, .n_ids = N_FEEDS, .size = 5};
    struct log_page p, at;
    struct revision *log;
    size_t round, i, k, n, size, n_ids;

    for (i = 0; i < N_FEEDS; i++)
        ids[i] = add_feed(f, str_printf(&f->arena, "http://%zu.example/", i).ptr, NULL);
    assert_int_equal(RC_NOT_FOUND, reader_page(f->reader, &set, -1, &p, NULL));
    assert_int_equal(RC_NOT_FOUND, reader_page(f->reader, &set, 0, &p, NULL));
    for (round = 0; round < 3; round++) {
        write_history(f, ids);
        for (k = 0; k < 20; k++) {
            size = draw(60) + 1;
            n_ids = draw(N_FEEDS) + 1;
            set = (struct page_set){.ids = ids, .n_ids = n_ids, .size = size};
            all.n_feeds = n_ids;
            all.with_deleted = true;
            all.len = 100000;
            assert_int_equal(RC_OK, reader_rows(f->reader, &all, &f->arena, &log, &n, NULL));
            for (i = 0; i < n; i += size) {
                size_t rows = n - i < size ? n - i : size;

                assert_int_equal(RC_OK,
                                 reader_page(f->reader, &set, (int64_t)(i / size), &p, NULL));
                assert_int_equal((n + size - 1) / size, p.n_pages);
                assert_int_equal(rows, p.n_rows);
                assert_int_equal(log[i].seq, p.first_seq);
                assert_int_equal(log[i + rows - 1].seq, p.last_seq);
                assert_int_equal(i / size, p.n);
            }
            assert_int_equal(RC_OK, reader_page(f->reader, &set, -1, &at, NULL));
            assert_int_equal(p.n, at.n);
            assert_int_equal(RC_NOT_FOUND, reader_page(f->reader, &set, p.n + 1, &at, NULL));
        }
    }
}

/* A call that names many rows answers for each what a call that names only this row does. */
static void test_views__a_set_is_answered_row_by_row(void **state)
{
    struct fixture *f = *state;
    int64_t ids[N_FEEDS], at_us[2], n_all, n_one, sum = 0, n_deleted, first, newest;
    struct view all = view_of(VIEW_MODIFIED, ids, N_FEEDS);
    struct feed *sources, *one;
    struct revision *rows;
    size_t n, n_one_feed, n_elders = 0;
    bool *elders, elder;
    int64_t *created;

    for (size_t i = 0; i < N_FEEDS; i++)
        ids[i] = add_feed(f, str_printf(&f->arena, "http://%zu.example/", i).ptr, NULL);
    write_history(f, ids);
    all.with_deleted = true;
    all.len = 100000;
    assert_int_equal(RC_OK, reader_rows(f->reader, &all, &f->arena, &rows, &n, NULL));
    elders = ARENA_ARRAY(&f->arena, bool, n);
    created = ARENA_ARRAY(&f->arena, int64_t, n);
    assert_int_equal(RC_OK, reader_elders(f->reader, ids, N_FEEDS, rows, n, elders, NULL));
    assert_int_equal(RC_OK, reader_created(f->reader, rows, n, created, NULL));
    assert_int_equal(RC_OK, reader_sources(f->reader, rows, n, &f->arena, &sources, NULL));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(RC_OK, reader_elders(f->reader, ids, N_FEEDS, &rows[i], 1, &elder, NULL));
        assert_int_equal(elder, elders[i]);
        n_elders += elder;
        assert_int_equal(RC_OK, reader_created(f->reader, &rows[i], 1, at_us, NULL));
        assert_int_equal(at_us[0], created[i]);
        assert_int_equal(RC_OK, reader_feeds_at(f->reader, &rows[i].feed_id, 1, rows[i].seq,
                                                &f->arena, &one, &n_one_feed, NULL));
        assert_int_equal(one->id, sources[i].id);
        assert_true(str_eq(one->url, sources[i].url));
        assert_int_equal(RC_OK, reader_oldest_of_uid(f->reader, ids, N_FEEDS, rows[i].uid, &first,
                                                     &newest, NULL));
        assert_true(elder ? first < rows[i].first_seq : first == rows[i].first_seq);
    }
    assert_true(n_elders > 0 && n_elders < n);
    assert_int_equal(RC_OK, reader_changed_since(f->reader, ids, N_FEEDS, rows[n / 2].seq, &n_all,
                                                 &n_deleted, NULL));
    for (size_t i = 0; i < N_FEEDS; i++) {
        assert_int_equal(RC_OK, reader_changed_since(f->reader, &ids[i], 1, rows[n / 2].seq, &n_one,
                                                     &n_deleted, NULL));
        sum += n_one;
    }
    assert_int_equal(n_all, sum);
    assert_int_equal(n_all, n - n / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_views__agree_with_the_log, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_views__pages_are_cuts_of_the_log, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_views__a_set_is_answered_row_by_row, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
