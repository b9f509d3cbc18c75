/* tests/fuzz/fuzz_opml.c - any bytes as a subscription list and as a change log: what was read can
 * be written and read again. */
#include <stdint.h>

#include "base/assert.h"
#include "feed/lists/changes.h"
#include "feed/lists/opml.h"
#include "tests/fuzz/bound.h"

#define NOW 1000000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The first writing drops what no XML can hold; from then on nothing changes. */
static void check_list(struct str body)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct opml list;
    struct str last = body;
    size_t n = 0;

    for (int round = 0; round < 4; round++) {
        AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

        if (opml_read(&a, last, STR_NULL, &list, &err) != RC_OK) {
            ASSERT(round == 0 && err.text[0] != '\0');
            return;
        }
        for (size_t i = 0; i < list.n_feeds; i++)
            ASSERT(list.feeds[i].xml_url.len > 0);
        opml_write(&b, &list, NOW, NOW);
        ASSERT(str_utf8_valid(buf_view(&b)) == b.len);
        ASSERT(round == 0 || (!list.bozo && list.n_feeds <= n));
        ASSERT(round < 3 || str_eq(last, buf_view(&b)));
        last = str_dup(&a, buf_view(&b));
        n = list.n_feeds;
    }
}

static void check_changes(struct str body)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    struct change_row *rows, *again;
    size_t n, n_again;

    if (changes_read(&a, body, NOW, &rows, &n, NULL) != RC_OK)
        return;
    for (size_t i = 0; i < n; i++)
        ASSERT(rows[i].when_at <= NOW);
    changes_write(&b, rows, n, NOW);
    ASSERT(str_utf8_valid(buf_view(&b)) == b.len);
    ASSERT(changes_read(&a, buf_view(&b), NOW, &again, &n_again, NULL) == RC_OK);
    ASSERT(n_again <= n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct bound bound = bound_start(len);
    struct str body = str_of((const char *)data, len);

    check_list(body);
    check_changes(body);
    bound_check_time(&bound);
    return 0;
}
