/* tests/documents/test_mutants.c - every fixture damaged in many ways (OBJ-08, OBJ-12): cut at each
 * eighth, wrongly labelled, with bytes turned over.
 *
 * The test functions have no assertion of their own, because nobody knows what a damaged document
 * should become. What they claim is checked by try(), for each of the thousands of documents:
 * - nothing crashes or reads what is not its own: the sanitizers, with a copy of just its size;
 * - it ends: alarm(), and the bounds of time and memory in check_feed();
 * - what leaves is valid UTF-8, well-formed XML and strict JSON: check_feed(), and for pages, lists
 *   and change logs the assertions in try().
 * set_up() fails when there are too few fixtures, so the loops are not empty.
 *
 * The damage depends on the name of the fixture alone, so a failure comes again. What is being
 * tried is written to standard error when the program dies. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include <cmocka.h>

#include "base/mem.h"
#include "feed/lists/changes.h"
#include "feed/lists/discover.h"
#include "feed/lists/opml.h"
#include "tests/documents/check_feed.h"
#include "tests/documents/fixture.h"

#define FLIPPED_VARIANTS 4

static struct arena all = ARENA_INIT;
static struct fixture *list;
static size_t n_fixtures;

static char trying[300]; /* for the handlers: what is being tried */

static void say_it(void)
{
    (void)!write(2, trying, strlen(trying));
}

static void on_end(int sig)
{
    say_it();
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

static int set_up(void **state UNUSED)
{
    n_fixtures = fixtures_read(&all, getenv("FEEDMILL_FIXTURES"), &list);
    (void)signal(SIGABRT, on_end);
    (void)signal(SIGSEGV, on_end);
    (void)signal(SIGALRM, on_end);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(say_it);
#endif
    assert_true(n_fixtures > 100);
    return 0;
}

static int tear_down(void **state UNUSED)
{
    fixtures_free(list, n_fixtures);
    arena_release(&all);
    return 0;
}

/* `body` is given over: memory of just its size. */
static void try(const struct fixture *f, const char *how, size_t which, struct str body,
                const char *content_type)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    /* writing is what takes long: damage of each kind is written in both ways, but not each piece */
    enum check_as as = which % 2 == 0 ? CHECK_ALONE : CHECK_MERGED;
    struct parse_input in = f->input;
    struct discovery found;
    struct change_row *rows;
    struct opml opml;
    size_t n;

    (void)snprintf(trying, sizeof trying, "\n%.*s, %s %zu\n", STR_ARG(f->name), how, which);
    (void)alarm(120);
    in.body = body;
    if (content_type != NULL)
        in.content_type = str_from(content_type);
    switch (f->kind) {
    case FIXTURE_FEED:
        check_feed(&in, as);
        break;
    case FIXTURE_PAGE:
        discover_page(&a, body, in.url, in.content_type, &found);
        for (size_t i = 0; i < found.n_feeds; i++)
            assert_int_equal(str_utf8_valid(found.feeds[i].href), found.feeds[i].href.len);
        for (size_t i = 0; i < found.n_guesses; i++)
            assert_int_equal(str_utf8_valid(found.guesses[i].href), found.guesses[i].href.len);
        check_feed(&in, as);
        break;
    case FIXTURE_LIST:
        if (opml_read(&a, body, in.content_type, &opml, NULL) == RC_OK) {
            AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
            struct opml again;

            opml_write(&b, &opml, 0, 0);
            assert_int_equal(opml_read(&a, buf_view(&b), STR_NULL, &again, NULL), RC_OK);
            assert_false(again.bozo);
            assert_true(again.n_feeds <= opml.n_feeds);
        }
        break;
    case FIXTURE_CHANGES:
        if (changes_read(&a, body, 1100000000, &rows, &n, NULL) == RC_OK) {
            AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

            changes_write(&b, rows, n, 1100000000);
            assert_int_equal(changes_read(&a, buf_view(&b), 1100000000, &rows, &n, NULL), RC_OK);
        }
        break;
    }
    (void)alarm(0);
    mem_free((char *)(uintptr_t)body.ptr);
}

static struct str copy(struct str s)
{
    char *p = mem_alloc(s.len > 0 ? s.len : 1);

    memcpy(p, s.ptr, s.len);
    return str_of(p, s.len);
}

static void test_mutants__cut_at_every_eighth(void **state UNUSED)
{
    for (size_t i = 0; i < n_fixtures; i++)
        for (size_t k = 0; k < 8; k++)
            try(&list[i], "eighths", k, copy(str_slice(list[i].body, 0, list[i].body.len * k / 8)),
                NULL);
}

static void test_mutants__wrong_content_type(void **state UNUSED)
{
    static const char *const types[] = {"text/xml; charset=utf-16",
                                        "application/xml; charset=us-ascii",
                                        "application/rss+xml; charset=koi8-r",
                                        "text/html; charset=utf-32le",
                                        "application/json; charset=shift_jis",
                                        "image/png"};

    for (size_t i = 0; i < n_fixtures; i++)
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
            try(&list[i], "content type", k, copy(list[i].body), types[k]);
}

/* A declaration that says something else, in place of the one that is there. */
static void test_mutants__wrong_declaration(void **state UNUSED)
{
    static const char *const names[] = {"utf-16", "iso-8859-1", "iso-2022-jp", "gb18030"};

    for (size_t i = 0; i < n_fixtures; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
            struct str body = list[i].body;
            ssize_t end = str_find(str_slice(body, 0, 200), STR("?>"));

            buf_printf(&b, "<?xml version=\"1.0\" encoding=\"%s\"?>", names[k]);
            buf_str(&b, end < 0 ? body : str_slice(body, (size_t)end + 2, body.len));
            try(&list[i], "declaration", k, copy(buf_view(&b)), NULL);
        }
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* One byte in eighty is another one: any, or one that means something to a parser. */
static void test_mutants__bytes_turned_over(void **state UNUSED)
{
    static const char signs[] = "<>&\"'/=;#![]-?:{}\n\0\xFF\xC3\x80";

    for (size_t i = 0; i < n_fixtures; i++)
        for (size_t k = 0; k < FLIPPED_VARIANTS; k++) {
            struct str body = copy(list[i].body);
            uint64_t seed = 88172645463325252ULL + k;

            for (size_t c = 0; c < list[i].name.len; c++)
                seed = seed * 31 + (unsigned char)list[i].name.ptr[c];
            for (size_t n = body.len / 80 + 1; n > 0 && body.len > 0; n--) {
                char *p = (char *)(uintptr_t)body.ptr + next_random(&seed) % body.len;
                uint64_t r = next_random(&seed);

                *p = (char)(k % 2 == 0 ? signs[r % (sizeof signs - 1)] : (char)r);
            }
            try(&list[i], "turned over", k, body, NULL);
        }
}

/* U+0000 in texts, as a byte and as words that mean it; what stands around them stays whole. */
static void test_mutants__zeros_in_texts(void **state UNUSED)
{
    static const struct str zeros[] = {{"\0", 1}, {"&#0;", 4}, {"&amp;#0;", 8}, {"\\u0000", 6}};

    for (size_t i = 0; i < n_fixtures; i++)
        for (size_t k = 0; k < ARRAY_LEN(zeros); k++) {
            AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
            struct str body = list[i].body;

            for (size_t at = 0; at < body.len; at++) {
                char before = at == 0 ? ' ' : body.ptr[at - 1];

                if (before >= 'a' && before <= 'z' && (body.ptr[at] == ' ' || body.ptr[at] == '<'))
                    buf_str(&b, zeros[k]);
                buf_putc(&b, body.ptr[at]);
            }
            try(&list[i], "zeros in texts", k, copy(buf_view(&b)), NULL);
        }
}

/* Two halves of different documents: states that the one leaves, the other meets. */
static void test_mutants__halves_of_two(void **state UNUSED)
{
    for (size_t i = 0; i < n_fixtures; i++)
        for (size_t k = 1; k <= 2; k++) {
            AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
            struct str other = list[(i + 37 * k) % n_fixtures].body;

            buf_str(&b, str_slice(list[i].body, 0, list[i].body.len / 2));
            buf_str(&b, str_slice(other, other.len / 2, other.len));
            try(&list[i], "spliced", k, copy(buf_view(&b)), NULL);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutants__cut_at_every_eighth),
        cmocka_unit_test(test_mutants__wrong_content_type),
        cmocka_unit_test(test_mutants__wrong_declaration),
        cmocka_unit_test(test_mutants__bytes_turned_over),
        cmocka_unit_test(test_mutants__halves_of_two),
        cmocka_unit_test(test_mutants__zeros_in_texts),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
