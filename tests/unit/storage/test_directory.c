/* tests/unit/storage/test_directory.c - keys in memory: their order, their bound, and when they no
 * longer say enough; places of URLs. */
#include "base/clock.h"
#include "base/digest.h"
#include "storage/directory.h"
#include "tests/unit/cmocka_all.h"

static int setup(void **state)
{
    *state = directory_new();
    return 0;
}

static int teardown(void **state)
{
    struct directory *d = *state;

    directory_free(&d);
    return d == NULL ? 0 : -1;
}

static void put(struct directory *d, int64_t id, const char *url, const char *site)
{
    struct directory_feed f = {.brief = {.id = id, .version = id * 10},
                               .url = str_from(url),
                               .site_url = str_from(site),
                               .last_seq = id * 100,
                               .newest_at = TIME_UNKNOWN};

    directory_lock(d);
    directory_put(d, &f);
    directory_unlock(d);
}

static void key(struct directory *d, int64_t id, int64_t old_seq, int64_t sort_at, int64_t seq)
{
    struct directory_key k = {.feed_id = id, .old_seq = old_seq, .key = {sort_at, seq, 0}};

    directory_lock(d);
    directory_key(d, &k);
    directory_unlock(d);
}

/* Newest of the feed, at most `len`; -1: memory does not reach so deep. */
static int newest(struct directory *d, int64_t id, size_t len, int64_t *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct merge_range range = {0, INT64_MAX, 0, len, false, false, 0};
    struct unread_keys unread;
    size_t n;

    return directory_merge(d, &id, 1, &range, &a, out, &n, &unread) ? (int)n : -1;
}

/* Would a merge of all its entries have the feed's keys read again? */
static bool has_few_keys(struct directory *d, int64_t id)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct merge_range range = {0, INT64_MAX, 0, DIRECTORY_KEYS, false, false, 0};
    int64_t out[DIRECTORY_KEYS];
    struct unread_keys unread;
    size_t n;

    if (directory_merge(d, &id, 1, &range, &a, out, &n, &unread))
        return false;
    assert_true(unread.n == 0 || unread.feed_ids[0] == id);
    return unread.n == 1;
}

static void test_directory__keys_keep_order(void **state)
{
    struct directory *d = *state;
    int64_t out[8];

    put(d, 1, "http://a/", NULL);
    key(d, 1, 0, 50, 1);
    key(d, 1, 0, 70, 2);
    key(d, 1, 0, 60, 3);
    key(d, 1, 0, 60, 4);
    assert_int_equal(4, newest(d, 1, 8, out));
    assert_int_equal(2, out[0]);
    assert_int_equal(4, out[1]);
    assert_int_equal(3, out[2]);
    assert_int_equal(1, out[3]);
    key(d, 1, 1, 80, 5); /* the oldest entry has changed, and its date */
    key(d, 1, 4, 0, 0);  /* one is deleted */
    assert_int_equal(3, newest(d, 1, 8, out));
    assert_int_equal(5, out[0]);
    assert_int_equal(2, out[1]);
    assert_int_equal(3, out[2]);
}

static void test_directory__keys_are_bounded(void **state)
{
    struct directory *d = *state;
    int64_t out[DIRECTORY_KEYS + 8], i;

    put(d, 1, "http://a/", NULL);
    for (i = 1; i <= DIRECTORY_KEYS; i++)
        key(d, 1, 0, i, i);
    assert_int_equal(DIRECTORY_KEYS, newest(d, 1, DIRECTORY_KEYS + 1, out));
    key(d, 1, 0, 0, 900); /* older than all: no longer everything */
    assert_int_equal(-1, newest(d, 1, DIRECTORY_KEYS + 1, out));
    assert_int_equal(DIRECTORY_KEYS, newest(d, 1, DIRECTORY_KEYS, out));
    key(d, 1, 0, 5000, 901); /* newer than all: pushes one out */
    assert_int_equal(DIRECTORY_KEYS, newest(d, 1, DIRECTORY_KEYS, out));
    assert_int_equal(901, out[0]);
    assert_int_equal(2, out[DIRECTORY_KEYS - 1]);
    key(d, 1, 2, 0, 0);
    assert_int_equal(-1, newest(d, 1, DIRECTORY_KEYS, out));
    key(d, 1, 0, 1, 902); /* older than what is seen: others may lie between */
    assert_int_equal(-1, newest(d, 1, DIRECTORY_KEYS, out));
    assert_false(has_few_keys(d, 1));
    for (i = 3; i < 3 + DIRECTORY_KEYS / 2; i++)
        key(d, 1, i, 0, 0);
    assert_true(has_few_keys(d, 1));
}

/* ETIQ-12: the key that goes may be the last one in memory. A newer one then takes its place; an
 * older one does not, because keys of the database may lie between. */
static void test_directory__the_only_key_in_memory_changes(void **state)
{
    struct directory *d = *state;
    const struct merge_key first = {70, 2, 0};
    int64_t out[8];

    put(d, 1, "http://a/", NULL);
    directory_lock(d);
    directory_set_keys(d, 1, &first, 1, false);
    directory_unlock(d);
    key(d, 1, 2, 70, 3);
    assert_int_equal(1, newest(d, 1, 1, out));
    assert_int_equal(3, out[0]);
    key(d, 1, 1, 80, 4); /* one that was not in memory */
    assert_int_equal(1, newest(d, 1, 1, out));
    assert_int_equal(4, out[0]);
    assert_int_equal(-1, newest(d, 1, 2, out)); /* nobody reads it: the newest one is enough */
    key(d, 1, 3, 60, 5);
    assert_int_equal(1, newest(d, 1, 1, out));
    assert_int_equal(-1, newest(d, 1, 2, out));
    key(d, 1, 4, 0, 0);
    assert_int_equal(-1, newest(d, 1, 1, out));
    assert_true(has_few_keys(d, 1));
}

/* ETIQ-12: after a start a feed has no key in memory, and the time that none is later than. Only what is later is
 * known to be the newest. */
static void test_directory__no_key_in_memory(void **state)
{
    struct directory *d = *state;
    struct directory_feed f = {.brief = {.id = 1, .version = 10}, .url = STR("http://a/"), .last_seq = 9, .newest_at = 70};
    int64_t out[8];

    directory_lock(d);
    directory_put(d, &f);
    directory_unlock(d);
    assert_true(has_few_keys(d, 1));
    key(d, 1, 3, 70, 10); /* one of the same time may have a higher seq */
    assert_int_equal(-1, newest(d, 1, 1, out));
    key(d, 1, 0, 71, 11);
    assert_int_equal(1, newest(d, 1, 1, out));
    assert_int_equal(11, out[0]);
    key(d, 1, 11, 0, 0); /* it goes, and leaves its time */
    assert_int_equal(-1, newest(d, 1, 1, out));
    key(d, 1, 0, 71, 12);
    assert_int_equal(-1, newest(d, 1, 1, out));
    f.newest_at = 80; /* of the row that was committed with the next one */
    directory_lock(d);
    directory_renew(d, &f);
    directory_unlock(d);
    key(d, 1, 0, 80, 13);
    assert_int_equal(-1, newest(d, 1, 1, out));
    key(d, 1, 0, 81, 14);
    assert_int_equal(1, newest(d, 1, 1, out));
    put(d, 2, "http://b/", NULL); /* it never had an entry: that is known */
    assert_int_equal(0, newest(d, 2, 1, out));
}

/* ETIQ-12: of feeds without keys in memory those are read whose entries may be on the page. */
static void test_directory__a_merge_names_few_feeds(void **state)
{
    enum { FEEDS = 300 };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory *d = *state;
    struct merge_range range = {0, INT64_MAX, 0, 5, false, false, 0};
    int64_t ids[FEEDS], out[5];
    struct unread_keys unread;
    size_t n;

    directory_lock(d);
    for (int64_t i = 0; i < FEEDS; i++) {
        struct directory_feed f = {.brief = {.id = ids[i] = i + 1, .version = 10},
                                   .url = str_printf(&a, "http://%d/", (int)i),
                                   .last_seq = i + 1,
                                   .newest_at = 1000 + i * 37 % FEEDS};

        directory_put(d, &f);
    }
    directory_unlock(d);
    assert_false(directory_merge(d, ids, FEEDS, &range, &a, out, &n, &unread));
    assert_int_equal(5, unread.n);
    for (size_t i = 0; i < unread.n; i++)
        assert_int_equal(FEEDS - 1 - (int)i, (unread.feed_ids[i] - 1) * 37 % FEEDS);
}

static bool fill(struct directory *d, struct directory_feed as, const struct key_run *run)
{
    return directory_fill_keys(d, &as, run, 1) == 1;
}

/* ETIQ-12: what was read for merges does not stay for ever. Feeds lose all but their newest key in turn. */
static void test_directory__kept_keys_are_bounded(void **state)
{
    struct directory *d = *state;
    struct key_run run = {.n = DIRECTORY_KEYS};
    const int64_t ids[] = {1, 300, 600, 900};
    int64_t out[DIRECTORY_KEYS];

    for (int i = 0; i < DIRECTORY_KEYS; i++)
        run.keys[i] = (struct merge_key){1000 - i, 100 - i, 0};
    directory_bound_keys(d, 3 * DIRECTORY_KEYS + 1);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct directory_feed as = {.brief = {.id = ids[i], .version = ids[i] * 10}, .last_seq = ids[i] * 100};

        put(d, ids[i], "http://a/", NULL);
        assert_true(fill(d, as, &run));
        assert_int_equal(DIRECTORY_KEYS, newest(d, ids[i], DIRECTORY_KEYS, out));
    }
    assert_int_equal(-1, newest(d, 1, 2, out));
    assert_int_equal(1, newest(d, 1, 1, out));
    assert_int_equal(100, out[0]);
    assert_true(has_few_keys(d, 1));
    assert_int_equal(DIRECTORY_KEYS, newest(d, 900, DIRECTORY_KEYS, out));
    key(d, 1, 0, 2000, 200);
    assert_int_equal(1, newest(d, 1, 1, out));
    assert_int_equal(200, out[0]);
}

/* ETIQ-12: keys that were read in another state of the feed are not taken. */
static void test_directory__keys_are_filled_in_for_one_state(void **state)
{
    struct directory *d = *state;
    struct key_run run = {.n = 2, .complete = true, .keys = {{70, 2, 0}, {50, 1, 0}}};
    struct directory_feed same = {.brief = {.id = 1, .version = 10}, .last_seq = 100};
    struct directory_feed f;
    int64_t out[8], changes;

    put(d, 1, "http://a/", NULL);
    directory_lock(d);
    directory_set_keys(d, 1, run.keys, 1, false);
    directory_unlock(d);
    changes = directory_changes(d);
    assert_int_equal(1, newest(d, 1, 1, out));
    assert_int_equal(-1, newest(d, 1, 2, out));
    assert_true(has_few_keys(d, 1));
    f = same;
    f.brief.version++;
    assert_false(fill(d, f, &run));
    f = same;
    f.last_seq--;
    assert_false(fill(d, f, &run));
    f = same;
    f.horizon = 5;
    assert_false(fill(d, f, &run));
    f = same;
    f.brief.id = 2;
    assert_false(fill(d, f, &run));
    assert_int_equal(-1, newest(d, 1, 2, out));
    assert_true(fill(d, same, &run));
    assert_int_equal(2, newest(d, 1, 8, out));
    assert_int_equal(1, out[1]);
    assert_int_equal(changes, directory_changes(d)); /* the feeds are as they were */
}

/* A view of what is newer than all of a feed needs none of its keys. */
static void test_directory__feeds_without_news_are_left_out(void **state)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory *d = *state;
    struct merge_range range = {100, INT64_MAX, 0, 4, false, false, 0};
    struct unread_keys unread;
    int64_t id = 1, out[4];
    size_t n = 9;

    put(d, 1, "http://a/", NULL); /* its last revision is 100 */
    directory_lock(d);
    directory_forget_keys(d, 1, 1000);
    directory_unlock(d);
    assert_true(directory_merge(d, &id, 1, &range, &a, out, &n, &unread));
    assert_int_equal(0, n);
    range.after_seq = 99;
    assert_false(directory_merge(d, &id, 1, &range, &a, out, &n, &unread));
    assert_int_equal(1, unread.n);
}

static void test_directory__unknown_feeds(void **state)
{
    struct directory *d = *state;
    struct feed_brief b;
    int64_t ids[] = {0, -5, 7, INT64_MAX}, out[4];

    assert_false(directory_brief(d, 7, &b));
    assert_int_equal(0, directory_version(d, ids, 4));
    assert_int_equal(0, newest(d, 7, 4, out));
    key(d, 7, 0, 1, 1); /* of a feed that has gone meanwhile */
    directory_lock(d);
    directory_remove(d, 7);
    directory_unlock(d);
    assert_int_equal(0, directory_touch(d, ids, 4, 100, 50, out));
}

static void test_directory__version_is_the_highest(void **state)
{
    struct directory *d = *state;
    int64_t ids[] = {3, 1, 2}, *all;
    AUTO(arena_release) struct arena a = ARENA_INIT;

    put(d, 1, "http://a/", NULL);
    put(d, 3, "http://c/", NULL);
    assert_int_equal(30, directory_version(d, ids, 3));
    assert_int_equal(10, directory_version(d, ids + 1, 2));
    assert_int_equal(2, directory_ids(d, &a, &all));
    assert_int_equal(1, all[0]);
    assert_int_equal(3, all[1]);
}

static void test_directory__newest_feeds_come_first(void **state)
{
    struct directory *d = *state;
    int64_t ids[] = {1, 2, 3, 4, 9}, out[8] = {0};
    struct feed_brief briefs[5];

    for (int64_t id = 1; id <= 4; id++)
        put(d, id, "http://a/", NULL);
    assert_int_equal(2, directory_newest(d, ids, 5, 2, out));
    assert_int_equal(4, out[0]);
    assert_int_equal(3, out[1]);
    assert_int_equal(0, out[2]);
    ids[0] = 4; /* descending */
    ids[3] = 1;
    assert_int_equal(4, directory_newest(d, ids, 5, 8, out));
    assert_int_equal(4, out[0]);
    assert_int_equal(3, out[1]);
    assert_int_equal(1, out[3]);
    assert_int_equal(4, directory_briefs(d, ids, 5, briefs));
    assert_int_equal(4, briefs[0].id);
    assert_int_equal(1, briefs[3].id);
    assert_int_equal(10, briefs[3].version);
}

static void test_directory__feeds_with_news(void **state)
{
    struct directory *d = *state;
    const struct sub_feed feeds[] = {
        {.feed_id = 1}, {.feed_id = 5}, {.feed_id = 3}, {.feed_id = 2}};
    size_t out[4], n;

    put(d, 1, "http://a/", NULL);
    put(d, 2, "http://b/", NULL);
    put(d, 3, "http://c/", NULL);
    assert_false(directory_with_news(d, feeds, 4, 199, out, &n)); /* one of them is gone */
    assert_int_equal(2, n);
    assert_int_equal(2, out[0]);
    assert_int_equal(3, out[1]);
    directory_with_news(d, feeds, 4, 200, out, &n);
    assert_int_equal(1, n);
    assert_true(directory_with_news(d, feeds + 2, 2, 300, out, &n));
    assert_int_equal(0, n);
}

/* ETIQ-02: what feeds need is counted as they come, change and go. */
static void test_directory__needs_are_counted(void **state)
{
    static const uint16_t classes[][3] = {{5, 5, 9}, {5, 0, 9}, {4096, 1, 9}};
    struct directory *d = *state, *fresh = directory_new();
    uint32_t counts[NEED_CLASSES];

    directory_lock(d);
    for (size_t round = 0; round < ARRAY_LEN(classes); round++)
        for (int64_t id = 1; id <= 3; id++)
            directory_put(d, &(struct directory_feed){
                                 .brief = {.id = id, .need_class = classes[round][id - 1]},
                                 .url = id == 1   ? STR("http://a/")
                                        : id == 2 ? STR("http://b/")
                                                  : STR("http://c/")});
    directory_remove(d, 3);
    directory_unlock(d);
    directory_needs(d, counts);
    assert_int_equal(2, directory_n_needs(d));
    assert_int_equal(1, counts[4096]);
    assert_int_equal(1, counts[1]);
    assert_int_equal(0, counts[5] + counts[9]);
    directory_replace(d, fresh);
    directory_needs(d, counts);
    assert_int_equal(0, directory_n_needs(d));
    assert_int_equal(0, counts[4096]);
    directory_free(&fresh);
}

static void test_directory__places_come_and_go(void **state)
{
    struct directory *d = *state;
    struct feed_brief b;
    int64_t ids[4];

    put(d, 1, "http://a/", "http://site/");
    put(d, 2, "http://b/", "http://site/");
    put(d, 3, "http://c/", "http://c/"); /* two roles of one feed count once */
    assert_int_equal(2, directory_find_any(d, STR("http://site/"), ids, 4));
    assert_int_equal(1, directory_find_any(d, STR("http://c/"), ids, 4));
    assert_false(directory_find(d, STR("http://site/"), STR_NULL, &b));
    put(d, 1, "http://moved/", "http://site/");
    assert_false(directory_find(d, STR("http://a/"), STR_NULL, &b));
    assert_true(directory_find(d, STR("http://moved/"), STR_NULL, &b));
    directory_lock(d);
    directory_remove(d, 1);
    directory_unlock(d);
    assert_false(directory_find(d, STR("http://moved/"), STR_NULL, &b));
    assert_int_equal(1, directory_find_any(d, STR("http://site/"), ids, 4));
    assert_int_equal(2, ids[0]);
}

static void put_named(struct directory *d, int64_t id, const char *url, const char *alias,
                      const char *page, const char *credential)
{
    struct str old = str_from(alias);
    struct directory_feed f = {.brief = {.id = id, .version = 1},
                               .url = str_from(url),
                               .page_url = str_from(page),
                               .site_url = STR("http://site/"),
                               .credential = str_from(credential),
                               .aliases = &old,
                               .n_aliases = alias != NULL};

    directory_lock(d);
    directory_put(d, &f);
    directory_unlock(d);
}

/* ETIQ-05 CLI-03: the best of what an address may mean comes first, and a site means no feed. */
static void test_directory__named_feeds_come_in_order(void **state)
{
    struct directory *d = *state;
    int64_t ids[4];

    put_named(d, 1, "http://b/", NULL, "http://a/", NULL);
    put_named(d, 2, "http://c/", "http://a/", NULL, NULL);
    put_named(d, 3, "http://a/", NULL, NULL, "u:p");
    put_named(d, 4, "http://a/", NULL, NULL, NULL);
    assert_int_equal(4, directory_find_named(d, STR("http://a/"), ids, 4));
    assert_int_equal(3, ids[0]);
    assert_int_equal(4, ids[1]);
    assert_int_equal(2, ids[2]);
    assert_int_equal(1, ids[3]);
    assert_int_equal(2, directory_find_named(d, STR("http://a/"), ids, 2));
    assert_int_equal(3, ids[0]);
    assert_int_equal(4, ids[1]);
    assert_int_equal(0, directory_find_named(d, STR("http://site/"), ids, 4));
}

/* A feed that is renewed keeps its aliases, whatever becomes of its other URLs. */
static void test_directory__renewed_feeds_keep_their_aliases(void **state)
{
    struct directory *d = *state;
    struct str alias = STR("http://old.example/");
    struct directory_feed f = {.brief = {.id = 3, .version = 1},
                               .url = STR("http://a.example/"),
                               .site_url = STR("http://site.example/1"),
                               .aliases = &alias,
                               .n_aliases = 1,
                               .last_seq = 7};
    int64_t id = 3, found = 0;

    directory_lock(d);
    directory_put(d, &f);
    f.brief.version = 2;
    f.site_url = STR("http://site.example/2");
    f.aliases = NULL;
    f.n_aliases = 0;
    f.last_seq = 8;
    directory_renew(d, &f);
    directory_unlock(d);
    assert_int_equal(2, directory_version(d, &id, 1));
    assert_int_equal(8, directory_seq_of(d, &id, 1));
    assert_int_equal(1, directory_find_any(d, alias, &found, 1));
    assert_int_equal(1, directory_find_any(d, f.site_url, &found, 1));
    assert_int_equal(0, directory_find_any(d, STR("http://site.example/1"), &found, 1));
}

enum { FEEDS = 300, URLS = 400, ALIASES = 20 };

/* What a feed of the random test has; NULL: nothing. */
struct has {
    const char *url, *site, *aliases[ALIASES];
};

static bool means(const struct has *h, const char *url)
{
    bool is = h->url == url || h->site == url;

    for (size_t i = 0; i < ALIASES; i++)
        is = is || h->aliases[i] == url;
    return h->url != NULL && is;
}

static const char *any(const char *const *urls, unsigned *x)
{
    *x = *x * 1103515245u + 12345u;
    return urls[(*x >> 10) % URLS];
}

static void put_random(struct directory *d, int64_t id, struct has *h, const char *const *urls,
                       unsigned *x)
{
    struct str aliases[ALIASES];
    size_t n = *x % 16 == 0 ? ALIASES : *x % 4; /* many are found in another way */
    struct directory_feed f = {.brief = {.id = id}, .aliases = aliases, .n_aliases = n};

    *h = (struct has){any(urls, x), any(urls, x), {NULL}};
    for (size_t i = 0; i < f.n_aliases; i++)
        aliases[i] = str_from(h->aliases[i] = any(urls, x));
    f.url = str_from(h->url);
    f.site_url = str_from(h->site);
    directory_put(d, &f);
}

/* ETIQ-12: names are packed and chained. After any changes a URL finds what a look at all feeds
 * finds. */
static void test_directory__every_url_finds_its_feeds(void **state)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    static struct has has[FEEDS + 1];
    struct directory *d = *state;
    const char *urls[URLS];
    char digits[URLS + 1] = "";
    int64_t found[FEEDS];
    unsigned x = 3;

    memset(digits, '7', URLS);
    for (int i = 0; i < URLS; i++) /* some begin others */
        urls[i] = arena_printf(&a, "http://%s.example/%.*s", i % 20 ? "a" : "host", i, digits);
    for (int round = 0; round < 3000; round++) {
        int64_t id;

        x = x * 1103515245u + 12345u;
        id = 1 + (x >> 10) % FEEDS;
        directory_lock(d);
        if (x % 3 == 0) {
            directory_remove(d, id);
            has[id] = (struct has){.url = NULL};
        } else {
            put_random(d, id, &has[id], urls, &x);
        }
        directory_unlock(d);
        if (round % 40 != 0)
            continue;
        for (int i = 0; i < URLS; i++) {
            size_t n = directory_find_any(d, str_from(urls[i]), found, FEEDS), n_all = 0;

            for (int64_t k = 1; k <= FEEDS; k++)
                n_all += means(&has[k], urls[i]);
            assert_int_equal(n, n_all);
            for (size_t k = 0; k < n; k++)
                assert_true(means(&has[found[k]], urls[i]));
        }
    }
    for (int64_t id = 1; id <= FEEDS; id++)
        if (has[id].url != NULL)
            assert_true(str_eqz(directory_url(d, id, &a), has[id].url));
}

/* ETIQ-12: when the time grew with the square, this took half a minute. */
static void test_directory__thousands_of_aliases_cost_little(void **state)
{
    enum { MANY = 30000 };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory *d = *state;
    struct str *aliases = ARENA_ARRAY(&a, struct str, MANY);
    struct directory_feed f = {.brief = {.id = 1}, .url = STR("http://a/"), .aliases = aliases, .n_aliases = MANY};
    int64_t from = clock_mono_ms(), found;

    for (int i = 0; i < MANY; i++)
        aliases[i] = str_printf(&a, "http://a/%d", i);
    for (int i = 0; i < 2; i++, f.n_aliases /= 2) {
        directory_lock(d);
        directory_put(d, &f);
        directory_unlock(d);
    }
    assert_true(clock_mono_ms() - from < 10000);
    assert_int_equal(1, directory_find_any(d, aliases[MANY / 2 - 1], &found, 1));
    assert_int_equal(0, directory_find_any(d, aliases[MANY / 2], &found, 1));
}

/* The credential and the access key open a feed, and nothing else does. */
static void test_directory__secrets_stay_with_the_feed(void **state)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct directory *d = *state;
    struct directory_feed f = {.brief = {.id = 9, .is_private = true},
                               .url = STR("http://a.example/"),
                               .page_url = STR("http://a.example/page"),
                               .credential = STR("u:http://a.example/"),
                               .access_key = STR("fm-k")};
    struct str given_at;
    struct feed_brief b;

    directory_lock(d);
    directory_put(d, &f);
    f.credential = f.access_key = STR_NULL; /* they stay */
    f.brief.last_status = 200;
    directory_put(d, &f);
    directory_unlock(d);
    assert_false(directory_find(d, f.url, STR_NULL, &b));
    assert_false(directory_find(d, f.url, STR("u:x"), &b));
    assert_false(directory_find(d, STR("u:http://a.example/"), STR_NULL, &b));
    assert_true(directory_find(d, f.page_url, STR("u:http://a.example/"), &b));
    assert_int_equal(200, b.last_status);
    assert_true(directory_find(d, f.url, STR("fm-k:"), &b));
    assert_true(str_eqz(directory_access_key(d, 9, &a), "fm-k"));
    assert_true(str_eqz(directory_credential(d, 9, &a, &given_at), "u:http://a.example/"));
    assert_true(str_eqz(given_at, "http://a.example/page"));
}

static void put_horizon(struct directory *d, int64_t id, int64_t horizon)
{
    struct directory_feed f = {
        .brief = {.id = id, .version = id}, .url = STR("http://h/"), .horizon = horizon};

    directory_lock(d);
    directory_put(d, &f);
    directory_unlock(d);
}

static void test_directory__horizons(void **state)
{
    struct directory *d = *state;
    const int64_t ids[] = {1, 1000, 7};

    put_horizon(d, 1, 0);
    put_horizon(d, 1000, 0);
    assert_int_equal(0, directory_horizon(d, NULL, 0, true));
    put_horizon(d, 1, 5);
    put_horizon(d, 1000, 9);
    assert_int_equal(5, directory_horizon(d, ids, 1, false));
    assert_int_equal(9, directory_horizon(d, ids, 3, false)); /* there is no feed 7 */
    assert_int_equal(9, directory_horizon(d, NULL, 0, true));
    directory_lock(d);
    directory_remove(d, 1000);
    directory_unlock(d);
    assert_int_equal(5, directory_horizon(d, NULL, 0, true));
    put_horizon(d, 1000, 0);
    assert_int_equal(0, directory_horizon(d, ids + 1, 1, false));
    put_horizon(d, 1, 0);
    assert_int_equal(0, directory_horizon(d, NULL, 0, true));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_directory__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(keys_keep_order),
        T(keys_are_bounded),
        T(the_only_key_in_memory_changes),
        T(no_key_in_memory),
        T(a_merge_names_few_feeds),
        T(kept_keys_are_bounded),
        T(keys_are_filled_in_for_one_state),
        T(feeds_without_news_are_left_out),
        T(unknown_feeds),
        T(version_is_the_highest),
        T(newest_feeds_come_first),
        T(feeds_with_news),
        T(needs_are_counted),
        T(places_come_and_go),
        T(named_feeds_come_in_order),
        T(renewed_feeds_keep_their_aliases),
        T(every_url_finds_its_feeds),
        T(thousands_of_aliases_cost_little),
        T(secrets_stay_with_the_feed),
        T(horizons),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
