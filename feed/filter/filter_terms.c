/* feed/filter/filter_terms.c - the terms that a revision must have to match: never fewer revisions
 * than the judge accepts. A NULL query stands for "any revision". */
#include "feed/filter/filter_priv.h"

#include "feed/words/terms.h"

struct queries {
    const struct term_query **list;
    size_t n;
    bool has_any; /* one of them was NULL */
};

static struct queries room_for(struct arena *a, size_t n)
{
    return (struct queries){ARENA_ARRAY(a, const struct term_query *, n + 1), 0, false};
}

static void add(struct queries *qs, const struct term_query *q)
{
    if (q == NULL)
        qs->has_any = true;
    else
        qs->list[qs->n++] = q;
}

static const struct term_query *term(struct arena *a, enum term_op op, struct str text)
{
    struct term_query *q = ARENA_NEW(a, struct term_query);

    *q = (struct term_query){.op = op, .term = text};
    return q;
}

static const struct term_query *joined(struct arena *a, enum term_op op, const struct queries *qs)
{
    struct term_query *q;

    if (qs->n == 0 || (op == TERM_OR && qs->has_any))
        return NULL;
    if (qs->n == 1)
        return qs->list[0];
    q = ARENA_NEW(a, struct term_query);
    *q = (struct term_query){.op = op, .parts = qs->list, .n = qs->n};
    return q;
}

/* Of scripts without spaces the index has pairs, and the last character of each run. */
static const struct term_query *of_word(struct arena *a, const struct question *q, size_t i)
{
    const struct word *w = &q->words.list[i];
    bool is_last = i + 1 == q->words.n;

    if (!w->is_single)
        return term(a, is_last && q->is_prefix ? TERM_PREFIX : TERM_ONE, w->text);
    if (!is_last && w[1].is_joined)
        return term(a, TERM_ONE, str_concat(a, w->text, w[1].text));
    return w->is_joined ? NULL : term(a, TERM_PREFIX, w->text);
}

static const struct term_query *of_author_word(struct arena *a, const struct question *q, size_t i)
{
    bool is_prefix = q->is_prefix && i + 1 == q->words.n;

    return term(a, is_prefix ? TERM_PREFIX : TERM_ONE,
                term_of_author_word(a, q->words.list[i].text));
}

static const struct term_query *or_none(struct arena *a, const struct term_query *q,
                                        struct str none)
{
    struct queries two = room_for(a, 2);

    add(&two, q);
    add(&two, term(a, TERM_ONE, none));
    return joined(a, TERM_OR, &two);
}

static const struct term_query *of_words(struct arena *a, const struct question *q)
{
    struct queries all = room_for(a, q->words.n);
    bool is_author = q->field == FIELD_AUTHOR;
    const struct term_query *out;

    for (size_t i = 0; i < q->words.n; i++)
        add(&all, is_author ? of_author_word(a, q, i) : of_word(a, q, i));
    out = joined(a, TERM_AND, &all);
    return is_author ? or_none(a, out, term_no_author) : out;
}

static const struct term_query *of_question(struct arena *a, const struct question *q)
{
    struct queries parts;

    if (q == NULL || q->op == QUESTION_NOT)
        return NULL;
    if (q->op == QUESTION_WORDS)
        return of_words(a, q);
    parts = room_for(a, q->n);
    for (size_t i = 0; i < q->n; i++)
        add(&parts, of_question(a, q->parts[i]));
    return joined(a, q->op == QUESTION_AND ? TERM_AND : TERM_OR, &parts);
}

typedef struct str term_fn(struct arena *a, struct str value);

static const struct term_query *of_list(struct arena *a, const struct str_list *list, term_fn *make,
                                        struct str none)
{
    struct queries any = room_for(a, list->n + 1);

    for (size_t i = 0; i < list->n; i++)
        add(&any, str_eqz(list->list[i], "*") && make == term_of_lang
                      ? NULL
                      : term(a, TERM_ONE, make(a, list->list[i])));
    if (list->n > 0 && none.len > 0)
        add(&any, term(a, TERM_ONE, none));
    return joined(a, TERM_OR, &any);
}

static const struct term_query *of_has(struct arena *a, unsigned has)
{
    struct queries any = room_for(a, ENTRY_HAS_KINDS);

    for (size_t i = 0; i < ENTRY_HAS_KINDS; i++)
        if (has & (1u << i))
            add(&any, term(a, TERM_ONE, term_of_has(a, i)));
    return joined(a, TERM_OR, &any);
}

const struct term_query *filter_terms(struct arena *a, const struct own_filter *f)
{
    struct queries all = room_for(a, 5);

    add(&all, of_question(a, f->q));
    add(&all, of_list(a, &f->authors, term_of_author, term_no_author));
    add(&all, of_list(a, &f->categories, term_of_category, STR_NULL));
    add(&all, of_list(a, &f->langs, term_of_lang, term_no_lang));
    add(&all, of_has(a, f->has));
    return joined(a, TERM_AND, &all);
}
