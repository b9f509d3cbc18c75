/* tests/unit/fetcher/test_list_plan.c - what an answer of a list changes, for random histories and
 * in single cases. */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "base/limits.h"
#include "fetcher/list_plan.h"
#include "model/folders.h"

#define FEEDS 6 /* ids 1 to FEEDS */

static uint32_t seed = 17;

static int dice_below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)n);
}

/* The subscription as the storer keeps it. */
struct world {
    struct arena a;
    struct subscription sub;
    struct sub_feed list, feeds[FEEDS];
};

static int place_of(const struct world *w, int64_t id)
{
    for (size_t i = 0; i < w->sub.n_feeds; i++)
        if (w->feeds[i].feed_id == id)
            return (int)i;
    return -1;
}

/* What storage/apply_list.c does. */
static void apply(struct world *w, const struct list_sync *s)
{
    for (size_t i = 0; i < s->n_added; i++) {
        int64_t id = s->added[i].url.ptr[0] - '0';

        assert_int_equal(-1, place_of(w, id));
        w->feeds[w->sub.n_feeds++] = (struct sub_feed){.feed_id = id,
                                                       .name = s->added[i].details.name,
                                                       .folder = s->added[i].details.folder,
                                                       .listed = LISTED_PRESENT};
    }
    for (size_t i = 0; i < s->n_changed; i++) {
        int at = place_of(w, s->changed[i].feed_id);

        assert_true(at >= 0);
        w->feeds[at].name = s->changed[i].name;
        w->feeds[at].folder = s->changed[i].folder;
        w->feeds[at].listed = s->changed[i].listed;
    }
    for (size_t i = 0; i < s->n_dropped; i++) {
        int at = place_of(w, s->dropped[i]);

        assert_true(at >= 0);
        w->feeds[at] = w->feeds[--w->sub.n_feeds];
    }
}

static void begin(struct world *w, const char *folder)
{
    *w = (struct world){.a = ARENA_INIT, .sub = {.id = 7}};
    w->list = (struct sub_feed){.listed = LISTED_LIST, .folder = str_from(folder)};
    w->sub.list = &w->list;
    w->sub.feeds = w->feeds;
}

/* An answer with these feeds, as bits; feed n has the name and the folder of `fashion`. */
static struct list_answer answer_of(struct world *w, unsigned feeds, int fashion)
{
    static const char *const folders[] = {"[\"a\"]", "[\"a\",\"b\"]", ""};
    struct list_item *items = ARENA_ARRAY(&w->a, struct list_item, FEEDS);
    struct list_answer answer = {.items = items};

    for (int n = 1; n <= FEEDS; n++) {
        if ((feeds & 1u << n) == 0)
            continue;
        items[answer.n++] = (struct list_item){
            .feed_id =
                place_of(w, n) >= 0 || n % 2 == 0 ? n : 0, /* odd ones are unknown at first */
            .ref = {.url = str_printf(&w->a, "%d", n),
                    .details = {.name = str_printf(&w->a, "%d %d", n, fashion),
                                .folder = str_from(folders[(n + fashion) % 3])}}};
    }
    return answer;
}

static size_t step(struct world *w, const struct list_answer *answer, size_t max_unknown)
{
    struct list_sync sync;
    size_t n_left = list_plan(&w->a, &w->sub, answer, max_unknown, &sync);

    assert_int_equal(7, sync.sub_id);
    apply(w, &sync);
    return n_left;
}

static unsigned set_of(const struct world *w)
{
    unsigned feeds = 0;

    for (size_t i = 0; i < w->sub.n_feeds; i++)
        feeds |= 1u << w->feeds[i].feed_id;
    return feeds;
}

/* The rule in its simplest form: what is there, what the list has named last, and in which fashion
 * each was named. */
struct model {
    unsigned there, last;
    int fashion[FEEDS + 1];
};

static void model_step(struct model *m, unsigned feeds, int fashion, bool is_cut)
{
    if (feeds == 0)
        return;
    m->there |= feeds;
    for (int n = 1; n <= FEEDS; n++)
        if (feeds & 1u << n)
            m->fashion[n] = fashion;
    if (is_cut) {
        m->last |= feeds;
        return;
    }
    if (feeds == m->last)
        m->there = feeds;
    m->last = feeds;
}

static void compare(struct world *w, const struct model *m)
{
    static const char *const folders[] = {"[\"o\",\"a\"]", "[\"o\",\"a\",\"b\"]", "[\"o\"]"};

    assert_int_equal(m->there, set_of(w));
    for (size_t i = 0; i < w->sub.n_feeds; i++) {
        const struct sub_feed *f = &w->feeds[i];
        int n = (int)f->feed_id;

        assert_true(str_eq(f->name, str_printf(&w->a, "%d %d", n, m->fashion[n])));
        assert_true(str_eqz(f->folder, folders[(n + m->fashion[n]) % 3]));
        assert_int_equal(m->last & 1u << n ? LISTED_PRESENT : LISTED_ABSENT, f->listed);
    }
}

/* VIEW-17 */
static void test_list_plan__random_histories(void **state UNUSED)
{
    for (int round = 0; round < 400; round++) {
        struct model m = {.there = 0};
        unsigned feeds = 0;
        int fashion = 0;
        bool confirms = false; /* the last answer can be confirmed by a 304 */
        struct world w;

        begin(&w, "[\"o\"]");
        for (int i = 0; i < 30; i++) {
            int what = dice_below(10);
            struct list_answer answer;

            if (what >= 4 && what < 7) /* else the list is as it was */
                feeds = (unsigned)dice_below(1 << FEEDS) << 1;
            fashion = dice_below(5) == 0 ? dice_below(3) : fashion;
            if (what == 0 && confirms) {
                answer = (struct list_answer){.is_same = true};
                step(&w, &answer, SIZE_MAX);
                m.there = m.last;
            } else {
                answer = answer_of(&w, feeds, fashion);
                answer.is_cut = what == 1;
                step(&w, &answer, SIZE_MAX);
                model_step(&m, feeds, fashion, answer.is_cut);
                confirms = feeds != 0 && !answer.is_cut;
            }
            compare(&w, &m);
        }
        arena_release(&w.a);
    }
}

static void test_list_plan__what_is_unknown_is_bounded(void **state UNUSED)
{
    struct list_answer answer;
    struct world w;

    begin(&w, "");
    answer = answer_of(&w, 0x7e, 0); /* 1, 3 and 5 are unknown */
    assert_int_equal(2, step(&w, &answer, 1));
    assert_int_equal(0x56, set_of(&w)); /* 1, 2, 4, 6 */
    answer = answer_of(&w, 0x7e, 0);
    assert_int_equal(0, step(&w, &answer, 2));
    assert_int_equal(0x7e, set_of(&w));
    arena_release(&w.a);
}

/* A list that names others each time does not let its subscription grow for ever. */
static void test_list_plan__a_subscription_is_bounded(void **state UNUSED)
{
    struct arena a = ARENA_INIT;
    struct sub_feed *feeds = ARENA_ARRAY(&a, struct sub_feed, LIST_FEEDS_MAX);
    struct subscription sub = {.id = 7, .feeds = feeds, .n_feeds = LIST_FEEDS_MAX - 1};
    struct list_item items[] = {{.feed_id = 1000001}, {.feed_id = 1000002}};
    struct list_answer answer = {.items = items, .n = 2};
    struct list_sync sync;

    for (size_t i = 0; i < sub.n_feeds; i++)
        feeds[i] = (struct sub_feed){.feed_id = (int64_t)i + 1, .listed = LISTED_ABSENT};
    assert_int_equal(1, list_plan(&a, &sub, &answer, SIZE_MAX, &sync));
    assert_int_equal(1, sync.n_added);
    assert_int_equal(0, sync.n_dropped);
    arena_release(&a);
}

static void test_list_plan__folders_within_folders(void **state UNUSED)
{
    static const struct {
        const char *outer, *folder, *within;
    } rows[] = {
        {"", "", ""},
        {"", "[\"a\"]", "[\"a\"]"},
        {"[\"a\"]", "", "[\"a\"]"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"a\",\"b\",\"c\",\"d\"]"},
        {"[\"a\"]", "[\"ab\"]", "[\"a\",\"ab\"]"},
    };
    struct arena a = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str outer = str_from(rows[i].outer), folder = str_from(rows[i].folder);
        struct str within = folders_within(&a, outer, folder);

        assert_true(str_eqz(within, rows[i].within));
        assert_true(str_eq(folders_without(&a, outer, within), folder));
    }
    /* what is not in it stays */
    assert_true(str_eqz(folders_without(&a, STR("[\"a\"]"), STR("[\"ab\"]")), "[\"ab\"]"));
    assert_true(
        str_eqz(folders_without(&a, STR("[\"a\"]"), STR("[\"b\",\"a\"]")), "[\"b\",\"a\"]"));
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_plan__random_histories),
        cmocka_unit_test(test_list_plan__what_is_unknown_is_bounded),
        cmocka_unit_test(test_list_plan__a_subscription_is_bounded),
        cmocka_unit_test(test_list_plan__folders_within_folders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
