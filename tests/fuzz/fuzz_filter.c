/* tests/fuzz/fuzz_filter.c - the first line as `q`, all as the text of a filter and as that of an
 * entry: what is read has one text, reading that gives the same filter, which judges the same, and
 * the terms of an entry that it accepts would be found. */
#include <stdint.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "feed/filter/filter.h"
#include "feed/text/json.h"
#include "feed/words/terms.h"
#include "tests/fuzz/bound.h"

#define MEMORY_PER_BYTE 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool has_term(const struct str_list *terms, const struct term_query *q)
{
    for (size_t i = 0; i < terms->n; i++)
        if (q->op == TERM_ONE ? str_eq(terms->list[i], q->term)
                              : str_starts(terms->list[i], q->term))
            return true;
    return false;
}

static bool finds(const struct str_list *terms, const struct term_query *q)
{
    if (q == NULL)
        return true;
    if (q->op == TERM_ONE || q->op == TERM_PREFIX)
        return has_term(terms, q);
    for (size_t i = 0; i < q->n; i++)
        if (finds(terms, q->parts[i]) == (q->op == TERM_OR))
            return q->op == TERM_OR;
    return q->op == TERM_AND;
}

/* An entry whose summary is the input, as far as it is UTF-8. */
static struct str entry_of(struct arena *a, struct str text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct value *v = value_dict(a);

    value_set_textz(a, v, "title", str_slice(text, 0, str_utf8_valid(str_slice(text, 0, 40))));
    value_set_textz(a, v, "summary", str_slice(text, 0, str_utf8_valid(text)));
    json_write(&out, v);
    return str_dup(a, buf_view(&out));
}

static void check_filter(struct arena *a, const struct filter *f, const struct revision *rev)
{
    const struct filter *again = filter_read(a, f->text);
    struct str_list terms = terms_of_revision(a, rev);
    bool matches = filter_matches(f, rev, STR_NULL, 0, a);

    ASSERT(again != NULL && str_eq(again->text, f->text));
    ASSERT(filter_matches(again, rev, STR_NULL, 0, a) == matches);
    ASSERT(!matches || finds(&terms, f->terms));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bound bound = bound_start(len);
    struct str text = str_of((const char *)data, len), rest = text;
    struct filter_wish wish = {.q = str_split(&rest, '\n')};
    struct filter_fault fault = {.at = -1};
    struct revision rev = {.kind = REV_NEW, .doc = entry_of(&a, text)};
    const struct filter *f = NULL;

    if (!filter_make(&a, &wish, TIME_UNKNOWN, &f, &fault))
        ASSERT(fault.at >= 0 && (size_t)fault.at <= wish.q.len && fault.why.len > 0);
    else if (f != NULL)
        check_filter(&a, f, &rev);
    f = filter_read(&a, text);
    if (f != NULL) {
        ASSERT(str_eq(f->text, text));
        check_filter(&a, f, &rev);
    }
    bound_check_time(&bound);
    bound_check_memory(&bound, &a, MEMORY_PER_BYTE);
    return 0;
}
