/* tests/unit/search/words.h - filters over the words of titles, and an index of them. */
#pragma once

#include "search/rows.h"
#include "model/filter.h"
#include "tests/unit/storage/fixture.h"

/* Does the text have the word, between spaces? */
static inline bool has_word(struct str text, struct str word)
{
    struct str rest = text;

    while (rest.len > 0)
        if (str_eq(str_split(&rest, ' '), word))
            return true;
    return false;
}

static inline void title_terms(const struct revision *rev, struct arena *scratch, struct buf *out)
{
    struct str rest = rev->title;

    (void)scratch;
    while (rest.len > 0) {
        buf_str(out, str_split(&rest, ' '));
        buf_putc(out, ' ');
    }
}

/* Entries with the words, or one of them, or without the first; within dates. */
struct word_filter {
    struct filter filter;
    struct str words[2];
    enum { ALL_WORDS, ANY_WORD, WITHOUT_WORD, WORD_BEGINS } how;
    struct term_query leaves[2], root;
    const struct term_query *parts[2];
    size_t n_judged;
};

static inline bool word_judge(const struct filter *f, const struct revision *rev, struct str head,
                              int64_t date, struct arena *scratch)
{
    struct word_filter *w = (struct word_filter *)f;
    bool first = has_word(rev->title, w->words[0]), second = has_word(rev->title, w->words[1]);
    struct str rest = rev->title;

    (void)head;
    (void)scratch;
    w->n_judged++;
    if (date < f->after_at || date >= f->before_at)
        return false;
    if (w->how == WORD_BEGINS)
        for (first = false; rest.len > 0;)
            first |= str_starts(str_split(&rest, ' '), w->words[0]);
    return w->how == ALL_WORDS      ? first && second
           : w->how == ANY_WORD     ? first || second
           : w->how == WITHOUT_WORD ? !first
                                    : first;
}

/* *w must stay where it is. */
static inline void word_filter_init(struct word_filter *w, int how, const char *a, const char *b)
{
    *w = (struct word_filter){.words = {str_from(a), str_from(b)}, .how = how};
    w->filter.after_at = INT64_MIN;
    w->filter.before_at = INT64_MAX;
    w->filter.judge = word_judge;
    for (int i = 0; i < 2; i++) {
        w->leaves[i] = (struct term_query){.op = TERM_ONE, .term = w->words[i]};
        w->parts[i] = &w->leaves[i];
    }
    if (how == WORD_BEGINS)
        w->leaves[0].op = TERM_PREFIX;
    w->root = (struct term_query){.op = how == ANY_WORD ? TERM_OR : TERM_AND,
                                  .parts = w->parts,
                                  .n = how == WORD_BEGINS ? 1 : 2};
    w->filter.terms = how == WITHOUT_WORD ? NULL : &w->root;
}

/* Add the next `max` revisions to the index. False: there are no more. */
static inline bool index_some(struct fixture *f, search_terms_fn *terms, size_t max)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    int64_t end = store_last_seq(f->store);
    struct index_place place;
    struct index_group g;
    struct answer done;

    assert_int_equal(RC_OK, reader_index_place(f->reader, &place, NULL));
    assert_int_equal(RC_OK, search_rows(f->reader, terms, place.seq, end, max, &a, &g, NULL));
    if (g.to == place.seq)
        return false;
    WRITE(done, store_index(f->store, &g, on_answer, &done));
    assert_int_equal(RC_OK, done.rc);
    return true;
}
