/* tests/unit/search/test_filtered.c - filtered views are what the judge says of all rows. */
#include "words.h"

#include "model/likeness.h"
#include "model/view.h"
#include "storage/iri.h"

#define FEEDS 3
#define ALL_ROWS 4000

static const char *const vocabulary[] = {"red", "reddish", "blue", "green", "odd", "rare"};

/* A number below n that depends on *seed only. */
static unsigned draw(uint32_t *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static const char *random_title(struct fixture *f, uint32_t *seed)
{
    const char *a = vocabulary[draw(seed, 5)];

    if (draw(seed, 25) == 0)
        a = "rare";
    return arena_printf(&f->arena, "%s %s", a, vocabulary[draw(seed, 5)]);
}

static void random_changes(struct fixture *f, const int64_t *feeds, uint32_t *seed)
{
    struct entry_change list[4];
    size_t n = 1 + draw(seed, 4);

    for (size_t i = 0; i < n; i++) {
        unsigned no = draw(seed, 10);
        const char *uid = arena_printf(&f->arena, no < 5 ? "urn:%u" : "own%u", no);

        list[i] = change(f, uid, random_title(f, seed),
                         draw(seed, 5) == 0 ? TIME_UNKNOWN : 1000 + draw(seed, 60));
        if (draw(seed, 7) == 0) {
            list[i].kind = REV_DELETED;
            list[i].doc = STR("");
            list[i].published_at = TIME_UNKNOWN;
        }
    }
    store_changes(f, feeds[draw(seed, FEEDS)], list, n);
}

static void random_filter(struct word_filter *w, uint32_t *seed)
{
    static const int kinds[] = {ALL_WORDS, ANY_WORD, WITHOUT_WORD, WORD_BEGINS};
    int how = kinds[draw(seed, 4)];

    word_filter_init(w, how,
                     draw(seed, 4) == 0   ? "rare"
                     : how == WORD_BEGINS ? "red"
                                          : vocabulary[draw(seed, 5)],
                     vocabulary[draw(seed, 5)]);
    if (draw(seed, 4) == 0)
        w->filter.after_at = 1000 + draw(seed, 60);
    if (draw(seed, 4) == 0)
        w->filter.before_at = 1000 + draw(seed, 60);
}

/* ---- the same without an index ----------------------------------------------------------------
 */

struct line {
    int64_t seq;
    bool has_left;
};

/* The whole log of these feeds. */
static struct revision *whole_log(struct fixture *f, const struct view *v, size_t *n)
{
    struct view all = view_of(VIEW_LOG, v->feed_ids, v->n_feeds);
    struct revision *rows;

    all.with_deleted = true;
    all.len = ALL_ROWS;
    assert_int_equal(RC_OK, reader_rows(f->reader, &all, &f->arena, &rows, n, NULL));
    assert_true(*n < ALL_ROWS);
    return rows;
}

static bool judged_at(const struct word_filter *w, const struct revision *row, int64_t date)
{
    struct arena none = ARENA_INIT;

    if (w == NULL)
        return row->kind != REV_DELETED;
    return row->kind != REV_DELETED && filter_matches(&w->filter, row, STR_NULL, date, &none);
}

static bool judged(const struct word_filter *w, const struct revision *row)
{
    return judged_at(w, row, row->sort_at);
}

/* The date that orders the view. */
static int64_t date_in(const struct view *v, const struct revision *log, size_t at)
{
    size_t first = at;

    if (v->order == VIEW_CHANGED)
        return log[at].at_us / 1000000;
    if (v->order != VIEW_RECEIVED)
        return log[at].sort_at;
    while (log[first].seq != log[at].first_seq)
        first--;
    return log[first].at_us / 1000000;
}

/* Did an earlier revision of the entry match, or in a log the one before? */
static bool told_before(const struct word_filter *w, const struct revision *log, size_t at,
                        bool only_last)
{
    for (size_t i = at; i-- > 0;) {
        if (log[i].feed_id != log[at].feed_id || !str_eq(log[i].uid, log[at].uid))
            continue;
        if (judged(w, &log[i]))
            return true;
        if (only_last)
            return false;
    }
    return false;
}

static int64_t place(const struct view *v, const struct revision *row)
{
    return order_is_by_creation(v->order) ? row->first_seq : row->seq;
}

static bool comes_before(const struct view *v, const struct revision *x, const struct revision *y)
{
    if (v->order == VIEW_NEWEST)
        return x->sort_at != y->sort_at ? x->sort_at > y->sort_at : x->seq > y->seq;
    if (v->order == VIEW_LOG_DESC || order_descends(v->order))
        return place(v, x) > place(v, y);
    return place(v, x) < place(v, y);
}

/* Entries with the same title are alike; the index finds them by its first word. */
static bool read_title(struct arena *a, const struct revision *rev, struct like_key *out)
{
    struct str rest = rev->title;

    (void)a;
    *out = (struct like_key){.text = rev->title, .term = str_split(&rest, ' ')};
    return rev->title.len > 0;
}

static const struct likeness by_title = {"title", read_title};

/* Is another one of the n rows of a view by date shown instead of kept[i]? */
static bool is_hidden(const struct view *v, const struct revision **kept, size_t n, size_t i)
{
    const struct revision *row = kept[i];

    for (size_t k = 0; k < n; k++)
        if (v->alike != NULL
                ? str_eq(kept[k]->title, row->title) && kept[k]->first_seq < row->first_seq
                : !v->with_doubles && k < i && iri_of_uid(row->uid) != 0 &&
                      str_eq(kept[k]->uid, row->uid))
            return true;
    return false;
}

/* All lines of the view, before len and skip. */
static size_t brute_force(struct fixture *f, const struct view *v, const struct word_filter *w,
                          struct line *out)
{
    bool is_log = v->order == VIEW_LOG || v->order == VIEW_LOG_DESC;
    const struct revision *kept[ALL_ROWS];
    size_t n_log, n = 0, n_lines = 0;
    struct revision *log = whole_log(f, v, &n_log);

    for (size_t i = 0; i < n_log; i++) {
        const struct revision *row = &log[i];
        bool match = judged_at(w, row, date_in(v, log, i));
        size_t at = n;

        if (place(v, row) <= v->after_seq || place(v, row) >= v->before_seq ||
            (!is_log && row->seq != row->last_seq))
            continue;
        if (!match &&
            (!v->with_deleted || order_is_by_date(v->order) || !told_before(w, log, i, is_log)))
            continue;
        for (; at > 0 && comes_before(v, row, kept[at - 1]); at--)
            kept[at] = kept[at - 1];
        kept[at] = row;
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        bool by_date = order_is_by_date(v->order);

        if (!by_date || !is_hidden(v, kept, n, i))
            out[n_lines++] = (struct line){kept[i]->seq, !by_date && kept[i]->kind != REV_DELETED &&
                                                             !judged(w, kept[i])};
    }
    return n_lines;
}

/* ---- comparing --------------------------------------------------------------------------------
 */

/* The rows of a view, judged in steps of so many. */
static enum rc rows_in_steps(struct fixture *f, const struct view *v, size_t step,
                             struct revision **rows, size_t *n, struct err *err)
{
    struct hunts *hunts = hunts_new(step);
    struct revision *found;
    enum rc rc;

    reader_by_steps(f->reader, hunts);
    while ((rc = reader_rows(f->reader, v, &f->arena, &found, n, err)) == RC_TIMEOUT)
        ;
    reader_by_steps(f->reader, NULL);
    *rows = ARENA_ARRAY(&f->arena, struct revision, *n + 1);
    if (rc == RC_OK && *n > 0)
        memcpy(*rows, found, *n * sizeof *found);
    hunts_free(&hunts);
    return rc;
}

static void compare(struct fixture *f, const struct view *v, struct word_filter *w, size_t step)
{
    struct line want[ALL_ROWS];
    size_t n_want = brute_force(f, v, w, want), n;
    size_t skip = v->skip < n_want ? v->skip : n_want;
    struct view view = *v;
    struct revision *rows;
    struct err err = ERR_INIT;

    view.filter = w != NULL ? &w->filter : NULL;
    if (step > 0 ? rows_in_steps(f, &view, step, &rows, &n, &err) != RC_OK
                 : reader_rows(f->reader, &view, &f->arena, &rows, &n, &err) != RC_OK)
        fail_msg("%s", err.text);
    n_want -= skip;
    n_want = n_want < v->len ? n_want : v->len;
    if (n != n_want)
        fail_msg("order %d, filter %d: %zu rows, not %zu", (int)v->order,
                 w != NULL ? (int)w->how : -1, n, n_want);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(want[skip + i].seq, rows[i].seq);
        assert_int_equal(want[skip + i].has_left, rows[i].kind == REV_LEFT);
    }
}

static const enum view_order orders[] = {VIEW_NEWEST,       VIEW_LOG,      VIEW_LOG_DESC,
                                         VIEW_MODIFIED,     VIEW_CREATED,  VIEW_MODIFIED_DESC,
                                         VIEW_CREATED_DESC, VIEW_RECEIVED, VIEW_CHANGED};

static void compare_all(struct fixture *f, const int64_t *feeds, uint32_t *seed)
{
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        struct view v = view_of(orders[i], feeds, 1 + draw(seed, FEEDS));
        int64_t last = store_last_seq(f->store);
        struct word_filter w;

        random_filter(&w, seed);
        v.with_deleted = draw(seed, 2) == 0;
        v.len = draw(seed, 3) == 0 ? ALL_ROWS : 1 + draw(seed, 6);
        if (order_is_by_date(orders[i]) && draw(seed, 2) == 0)
            v.alike = &by_title;
        v.with_doubles = draw(seed, 3) == 0;
        if (order_is_by_date(orders[i]))
            v.skip = draw(seed, 3) == 0 ? draw(seed, 4) : 0;
        if (draw(seed, 3) == 0)
            v.after_seq = draw(seed, (unsigned)last + 1);
        if (draw(seed, 3) == 0)
            v.before_seq = 1 + draw(seed, (unsigned)last + 1);
        compare(f, &v, order_is_by_date(orders[i]) && draw(seed, 3) == 0 ? NULL : &w,
                draw(seed, 2) * (1 + draw(seed, 20)));
    }
}

static void make_feeds(struct fixture *f, int64_t *feeds)
{
    for (int i = 0; i < FEEDS; i++)
        feeds[i] = add_feed(f, arena_printf(&f->arena, "http://%d.example/", i), NULL);
}

/* VIEW-02, VIEW-05, VIEW-06, VIEW-07, VIEW-09: whatever the index has, the view is what the judge
 * says, before len and skip; and what has left is told. */
static void test_filtered__is_what_the_judge_says(void **state)
{
    struct fixture *f = *state;
    const char *rounds = getenv("FEEDMILL_ROUNDS");
    uint32_t seed = 7;
    int64_t feeds[FEEDS];

    make_feeds(f, feeds);
    for (int i = 0; i < (rounds != NULL ? atoi(rounds) : 40); i++) {
        clock_fake_us((1000 + (int64_t)i * 60 / (rounds != NULL ? atoi(rounds) : 40)) * 1000000);
        for (unsigned k = draw(&seed, 5); k > 0; k--)
            random_changes(f, feeds, &seed);
        if (draw(&seed, 3) == 0)
            index_some(f, title_terms, 1 + draw(&seed, 20));
        compare_all(f, feeds, &seed);
        arena_release(&f->arena);
    }
    while (index_some(f, title_terms, 7))
        ;
    for (int i = 0; i < 20; i++)
        compare_all(f, feeds, &seed);
}

/* VIEW-06: very many entries with one title, among others */
static void test_filtered__many_are_alike(void **state)
{
    static const size_t known[] = {0, 300, ALL_ROWS};
    struct fixture *f = *state;
    struct entry_change list[350];
    int64_t feeds[FEEDS];

    make_feeds(f, feeds);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 350; i++)
            list[i] = change(f, arena_printf(&f->arena, "%d.%d", k, i),
                             i % 100 == 50 ? arena_printf(&f->arena, "only %d", i) : "same",
                             1000 + i * 7 % 350);
        store_changes(f, feeds[k], list, 350);
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        for (size_t n = 0; n < known[i] && index_some(f, title_terms, 50); n += 50)
            ;
        for (int order = VIEW_NEWEST; order <= VIEW_CHANGED; order++) {
            struct view v = view_of((enum view_order)order, feeds, 2);

            v.len = 10;
            v.alike = &by_title;
            if (order_is_by_date(v.order))
                compare(f, &v, NULL, i);
            v.len = 2;
            v.skip = 3;
            if (order_is_by_date(v.order))
                compare(f, &v, NULL, i);
        }
    }
}

/* ---- mirrors -----------------------------------------------------------------------------------
 */

/* What a client of a filtered stream or log has. */
struct mirror {
    enum view_order order;
    int64_t cursor;
    int64_t shown[FEEDS][10]; /* the seq of each entry; 0: it is not there */
};

static int entry_no(struct str uid)
{
    return uid.ptr[uid.len - 1] - '0';
}

static void follow(struct fixture *f, struct mirror *m, const int64_t *feeds,
                   const struct word_filter *w, size_t len)
{
    struct view v = view_of(m->order, feeds, FEEDS);
    int64_t end = store_last_seq(f->store);
    struct revision *rows;
    size_t n;

    v.after_seq = m->cursor;
    v.with_deleted = true;
    v.filter = &w->filter;
    v.len = len;
    assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
    for (size_t i = 0; i < n; i++) {
        const struct revision *row = &rows[i];
        bool is_there = revision_has_entry(row);

        for (int k = 0; k < FEEDS; k++)
            if (feeds[k] == row->feed_id)
                m->shown[k][entry_no(row->uid)] = is_there ? row->seq : 0;
    }
    m->cursor = n == len ? rows[n - 1].seq : end;
}

static void check_mirror(struct fixture *f, const struct mirror *m, const int64_t *feeds,
                         struct word_filter *w)
{
    struct view v = view_of(VIEW_MODIFIED, feeds, FEEDS);
    struct line want[ALL_ROWS];
    size_t n_shown = 0, n = brute_force(f, &v, w, want);

    for (int i = 0; i < FEEDS * 10; i++) {
        int64_t seq = m->shown[i / 10][i % 10];
        bool is_wanted = seq == 0;

        for (size_t k = 0; k < n; k++)
            is_wanted |= want[k].seq == seq;
        assert_true(is_wanted);
        n_shown += seq != 0;
    }
    assert_int_equal(n, n_shown);
}

/* VIEW-09 */
static void test_filtered__a_mirror_equals_the_view(void **state)
{
    struct fixture *f = *state;
    struct mirror mirrors[] = {{.order = VIEW_LOG}, {.order = VIEW_MODIFIED}};
    struct word_filter w;
    uint32_t seed = 11;
    int64_t feeds[FEEDS];

    make_feeds(f, feeds);
    word_filter_init(&w, ANY_WORD, "odd", "rare");
    for (int i = 0; i < 60; i++) {
        random_changes(f, feeds, &seed);
        if (draw(&seed, 4) == 0)
            index_some(f, title_terms, 1 + draw(&seed, 9));
        for (size_t k = 0; k < ARRAY_LEN(mirrors); k++)
            if (draw(&seed, 3) == 0)
                follow(f, &mirrors[k], feeds, &w, 1 + draw(&seed, 4));
    }
    for (size_t k = 0; k < ARRAY_LEN(mirrors); k++) {
        while (mirrors[k].cursor < store_last_seq(f->store))
            follow(f, &mirrors[k], feeds, &w, 3);
        check_mirror(f, &mirrors[k], feeds, &w);
    }
}

/* ---- pages -------------------------------------------------------------------------------------
 */

/* Find a page, however many calls it takes. */
static enum rc find_page(struct fixture *f, const struct page_set *set, int64_t n,
                         struct log_page *out)
{
    enum rc rc;

    while ((rc = reader_page(f->reader, set, n, out, NULL)) == RC_TIMEOUT)
        ;
    return rc;
}

static void compare_pages(struct fixture *f, const int64_t *feeds, struct word_filter *w,
                          size_t size)
{
    struct view v = view_of(VIEW_LOG, feeds, FEEDS);
    struct page_set set = {.ids = feeds, .n_ids = FEEDS, .size = size, .filter = &w->filter};
    struct line want[ALL_ROWS];
    struct log_page page;
    size_t n;

    v.with_deleted = true;
    n = brute_force(f, &v, w, want);
    for (size_t at = 0; at < n; at += size) {
        size_t rows = n - at < size ? n - at : size;

        assert_int_equal(RC_OK, find_page(f, &set, (int64_t)(at / size), &page));
        assert_int_equal(at / size, page.n);
        assert_int_equal(want[at].seq, page.first_seq);
        assert_int_equal(want[at + rows - 1].seq, page.last_seq);
        assert_int_equal(rows, page.n_rows);
    }
    assert_int_equal(n == 0 ? RC_NOT_FOUND : RC_OK, find_page(f, &set, -1, &page));
    if (n > 0)
        assert_int_equal((n + size - 1) / size, page.n_pages);
    assert_int_equal(RC_NOT_FOUND, find_page(f, &set, (int64_t)((n + size - 1) / size), &page));
}

/* D54: the pages of a filtered log are fixed cuts of what the filter shows of it, whatever the
 * index has, and however much has been counted before. */
static void test_filtered__pages_are_cuts(void **state)
{
    struct fixture *f = *state;
    struct word_filter w[3];
    uint32_t seed = 23;
    int64_t feeds[FEEDS];

    make_feeds(f, feeds);
    word_filter_init(&w[0], ANY_WORD, "odd", "rare");
    word_filter_init(&w[1], WITHOUT_WORD, "red", "blue");
    word_filter_init(&w[2], ALL_WORDS, "rare", "green");
    for (size_t k = 0; k < ARRAY_LEN(w); k++)
        w[k].filter.text = str_printf(&f->arena, "filter %zu", k);
    for (int i = 0; i < 60; i++) {
        random_changes(f, feeds, &seed);
        if (draw(&seed, 3) == 0)
            index_some(f, title_terms, 1 + draw(&seed, 20));
        if (draw(&seed, 3) == 0)
            compare_pages(f, feeds, &w[draw(&seed, 3)], 1 + draw(&seed, 2) * 4);
    }
}

/* Anybody can ask with any filter: what was counted for them is forgotten in the end, what was
 * counted without one stays, and a page is found again. */
static void test_filtered__many_filters_are_forgotten(void **state)
{
    struct fixture *f = *state;
    struct page_set set = {.n_ids = FEEDS, .size = 2};
    struct word_filter w;
    struct log_page page;
    uint32_t seed = 3;
    int64_t feeds[FEEDS];
    char text[32];

    make_feeds(f, feeds);
    for (int i = 0; i < 10; i++)
        random_changes(f, feeds, &seed);
    set.ids = feeds;
    word_filter_init(&w, WITHOUT_WORD, "nothing", "at all");
    set.filter = &w.filter;
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "filter %d", i % 600);
        w.filter.text = str_from(text);
        w.n_judged = 0;
        assert_int_equal(RC_OK, find_page(f, &set, -1, &page));
        assert_true(w.n_judged > 0); /* it was not known, or not any more */
        w.n_judged = 0;
        assert_int_equal(RC_OK, find_page(f, &set, 0, &page));
        assert_int_equal(0, w.n_judged);
    }
}

/* ---- cost -------------------------------------------------------------------------------------
 */

static void store_many(struct fixture *f, int64_t feed, int n, int every)
{
    struct entry_change *list = ARENA_ARRAY(&f->arena, struct entry_change, (size_t)n);

    for (int i = 0; i < n; i++)
        list[i] = change(f, arena_printf(&f->arena, "own-%d", i),
                         arena_printf(&f->arena, "%s nr%d", i % every == 0 ? "rare" : "blue", i),
                         1000 + i);
    store_changes(f, feed, list, (size_t)n);
    while (index_some(f, title_terms, 512))
        ;
}

/* VIEW-12: what does not match is not looked at, wherever it stands. */
static void test_filtered__judges_few(void **state)
{
    struct fixture *f = *state;
    struct word_filter w;
    struct revision *rows;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct view whole = view_of(VIEW_NEWEST, &feed, 1);
    size_t n;

    store_many(f, feed, 3000, 300);
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        struct view v = view_of(orders[i], &feed, 1);

        word_filter_init(&w, WORD_BEGINS, "rare", "x");
        v.len = 5;
        v.filter = &w.filter;
        assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
        assert_int_equal(5, n);
        assert_true(w.n_judged <= 16);
        word_filter_init(&w, WORD_BEGINS, "blue", "x");
        assert_int_equal(RC_OK, reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL));
        assert_int_equal(5, n);
        assert_true(w.n_judged <= 16);
    }
    word_filter_init(&w, WITHOUT_WORD, "absent", "x"); /* dates alone */
    w.filter.before_at = 1010;
    whole.filter = &w.filter;
    whole.len = 5;
    assert_int_equal(RC_OK, reader_rows(f->reader, &whole, &f->arena, &rows, &n, NULL));
    assert_int_equal(5, n);
    assert_int_equal(1009, rows[0].sort_at);
    assert_true(w.n_judged <= 16);
}

/* VIEW-12: a reading in steps judges so many at a time, and nothing twice; so does what is alike.
 */
static void test_filtered__steps_are_short(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct view v = view_of(VIEW_NEWEST, &feed, 1);
    struct hunts *hunts = hunts_new(100);
    struct word_filter w;
    struct revision *rows;
    size_t n, n_steps = 0, before = 0;
    enum rc rc;

    store_many(f, feed, 3000, 3000);
    word_filter_init(&w, WITHOUT_WORD, "blue", "x");
    v.filter = &w.filter;
    v.len = 5;
    reader_by_steps(f->reader, hunts);
    while ((rc = reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL)) == RC_TIMEOUT) {
        assert_true(w.n_judged > before && w.n_judged < before + 200);
        before = w.n_judged;
        n_steps++;
    }
    assert_int_equal(RC_OK, rc);
    assert_int_equal(1, n);
    assert_int_equal(3000, w.n_judged);
    assert_true(n_steps > 10);
    reader_by_steps(f->reader, NULL);
    hunts_free(&hunts);
}

/* VIEW-06: what the index does not know is read in steps, too. */
static void test_filtered__alikes_are_read_in_steps(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct view v = view_of(VIEW_NEWEST, &feed, 1);
    struct hunts *hunts = hunts_new(100);
    struct entry_change list[3000];
    struct revision *rows;
    size_t n, n_steps = 0;
    enum rc rc;

    for (int i = 0; i < 3000; i++)
        list[i] = change(f, arena_printf(&f->arena, "own-%d", i), "same", 1000 + i);
    store_changes(f, feed, list, 3000);
    v.alike = &by_title;
    v.len = 5;
    reader_by_steps(f->reader, hunts);
    while ((rc = reader_rows(f->reader, &v, &f->arena, &rows, &n, NULL)) == RC_TIMEOUT)
        n_steps++;
    assert_int_equal(RC_OK, rc);
    assert_int_equal(1, n);
    assert_int_equal(1000, rows[0].sort_at);
    assert_true(n_steps >= 3000 / 1024 + 3000 / 200);
    reader_by_steps(f->reader, NULL);
    hunts_free(&hunts);
}

/* The first count of a rare word looks at what the index finds, in parts; the next only at what is
 * new. */
static void test_filtered__counts_few(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL);
    struct page_set set = {.ids = &feed, .n_ids = 1, .size = 3};
    struct log_page page;
    struct word_filter w;
    size_t n_calls = 1;

    store_many(f, feed, 3000, 300);
    word_filter_init(&w, WORD_BEGINS, "rare", "x");
    w.filter.text = STR("a rare word");
    set.filter = &w.filter;
    assert_int_equal(RC_OK, reader_page(f->reader, &set, -1, &page, NULL));
    assert_int_equal(3, page.n);
    assert_true(w.n_judged <= 16);
    w.n_judged = 0;
    assert_int_equal(RC_OK, reader_page(f->reader, &set, -1, &page, NULL));
    assert_int_equal(0, w.n_judged);
    word_filter_init(&w, WITHOUT_WORD, "rare", "x");
    w.filter.text = STR("no rare word");
    for (; reader_page(f->reader, &set, -1, &page, NULL) == RC_TIMEOUT; n_calls++)
        assert_true(w.n_judged < n_calls * 1200);
    assert_true(n_calls > 2);
    assert_int_equal(2990 / 3, page.n);
}

/* NODE-01, VIEW-09: another node empties the index while a snapshot is held. It has the words that
 * belong to the place that it has. */
static void test_filtered__a_snapshot_keeps_its_index(void **state)
{
    struct fixture *f = *state;
    int64_t feed = add_feed(f, "http://a.example/", NULL), seqs[2];
    struct entry_change c = change(f, "e", "red", 1000);
    const struct reads *reads = f->reader->db->reads;
    struct index_group anew = {.anew = true};
    struct index_place place;
    struct word_filter w;
    struct answer done;
    size_t n;

    store_changes(f, feed, &c, 1);
    while (index_some(f, title_terms, 10))
        ;
    word_filter_init(&w, WORD_BEGINS, "red", "");
    assert_int_equal(RC_OK, reads->snapshot(f->reader->db, NULL));
    assert_int_equal(RC_OK, reader_index_place(f->reader, &place, NULL));
    WRITE(done, store_index(f->store, &anew, on_answer, &done));
    assert_int_equal(RC_OK, done.rc);
    assert_int_equal(RC_OK, reads->terms_find(f->reader->db, w.filter.terms, 0, place.seq + 1,
                                              ARRAY_LEN(seqs), &f->arena, seqs, &n, NULL));
    reads->snapshot_end(f->reader->db);
    assert_int_equal(store_last_seq(f->store), place.seq);
    assert_int_equal(1, n);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_filtered__##name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(is_what_the_judge_says),
                                       T(many_are_alike),
                                       T(a_mirror_equals_the_view),
                                       T(judges_few),
                                       T(steps_are_short),
                                       T(alikes_are_read_in_steps),
                                       T(pages_are_cuts),
                                       T(many_filters_are_forgotten),
                                       T(counts_few),
                                       T(a_snapshot_keeps_its_index)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
