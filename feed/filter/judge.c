/* feed/filter/judge.c - does a revision match? The doc is parsed once, texts are cut when a word of
 * them is asked for, and the head of the feed is read when the entry does not say it itself. */
#include "feed/filter/filter_priv.h"

struct judging {
    struct arena *a;
    const struct own_filter *f;
    struct str head;
    struct entry_facts facts, head_facts;
    bool has_head_facts, has_cut_texts, has_cut_authors;
    struct words title, *texts, *authors;
    size_t n_authors;
};

/* ---------------------------------------------------------------- words */

static bool is_here(const struct question *q, const struct word *w)
{
    for (size_t i = 0; i < q->words.n; i++) {
        const struct word *wanted = &q->words.list[i];
        bool is_prefix = q->is_prefix && i + 1 == q->words.n;

        if (wanted->is_joined && !w[i].is_joined)
            return false;
        if (is_prefix ? w[i].is_single || !str_starts(w[i].text, wanted->text)
                      : !str_eq(w[i].text, wanted->text))
            return false;
    }
    return true;
}

static bool is_in(const struct question *q, const struct words *text)
{
    for (size_t i = 0; i + q->words.n <= text->n; i++)
        if (is_here(q, text->list + i))
            return true;
    return false;
}

/* All texts together have ENTRY_TEXT_MAX bytes, in the order in which terms_of_revision() reads
 * them. */
static void cut_texts(struct judging *j)
{
    size_t room = ENTRY_TEXT_MAX;

    if (j->has_cut_texts)
        return;
    j->has_cut_texts = true;
    j->title = words_cut(j->a, entry_text_plain(j->a, j->facts.title, &room), ENTRY_TEXT_MAX);
    j->texts = ARENA_ARRAY(j->a, struct words, j->facts.n_texts + 1);
    for (size_t i = 0; i < j->facts.n_texts; i++)
        j->texts[i] =
            words_cut(j->a, entry_text_plain(j->a, j->facts.texts[i], &room), ENTRY_TEXT_MAX);
}

static const struct entry_facts *head_facts(struct judging *j)
{
    if (!j->has_head_facts)
        head_facts_read(j->a, j->head, &j->head_facts);
    j->has_head_facts = true;
    return &j->head_facts;
}

static const struct str_list *authors_of(struct judging *j)
{
    return j->facts.authors.n > 0 ? &j->facts.authors : &head_facts(j)->authors;
}

static void cut_authors(struct judging *j)
{
    const struct str_list *names = authors_of(j);

    if (j->has_cut_authors)
        return;
    j->has_cut_authors = true;
    j->n_authors = names->n;
    j->authors = ARENA_ARRAY(j->a, struct words, names->n + 1);
    for (size_t i = 0; i < names->n; i++)
        j->authors[i] = words_cut(j->a, names->list[i], ENTRY_TEXT_MAX);
}

static bool is_in_one(const struct question *q, const struct words *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_in(q, &texts[i]))
            return true;
    return false;
}

static bool has_words(struct judging *j, const struct question *q)
{
    if (q->field == FIELD_AUTHOR) {
        cut_authors(j);
        return is_in_one(q, j->authors, j->n_authors);
    }
    cut_texts(j);
    return is_in(q, &j->title) ||
           (q->field == FIELD_TEXT && is_in_one(q, j->texts, j->facts.n_texts));
}

/* As deep as QUESTION_DEPTH_MAX allows. */
static bool answers(struct judging *j, const struct question *q)
{
    if (q->op == QUESTION_WORDS)
        return has_words(j, q);
    for (size_t i = 0; i < q->n; i++)
        if (answers(j, q->parts[i]) == (q->op != QUESTION_AND))
            return q->op == QUESTION_OR;
    return q->op != QUESTION_OR;
}

/* ---------------------------------------------------------------- values */

static bool is_listed(struct str value, const struct str_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(value, list->list[i]))
            return true;
    return false;
}

/* One of the values, whatever its case. */
static bool has_value(struct judging *j, const struct str_list *values,
                      const struct str_list *wanted)
{
    for (size_t i = 0; i < values->n; i++)
        if (is_listed(words_fold_value(j->a, values->list[i]), wanted))
            return true;
    return wanted->n == 0;
}

/* RFC 4647, 3.3.1. */
static bool is_of_range(struct str tag, struct str range)
{
    return str_eqz(range, "*") ||
           (str_istarts(tag, range) && (tag.len == range.len || tag.ptr[range.len] == '-'));
}

static bool has_lang(struct judging *j)
{
    const struct str_list *tags = &j->facts.langs;

    if (j->f->langs.n == 0)
        return true;
    if (tags->n == 0)
        tags = &head_facts(j)->langs;
    for (size_t i = 0; i < tags->n; i++)
        for (size_t k = 0; k < j->f->langs.n; k++)
            if (is_of_range(tags->list[i], j->f->langs.list[k]))
                return true;
    return false;
}

static bool is_in_time(const struct own_filter *f, const struct revision *rev, int64_t date)
{
    int64_t seen = rev->at_us / 1000000;

    if (f->after.kind != MOMENT_NONE &&
        date < (f->after.kind == MOMENT_AGE ? seen - f->after.s : f->after.s))
        return false;
    return f->before.kind == MOMENT_NONE ||
           date < (f->before.kind == MOMENT_AGE ? seen - f->before.s : f->before.s);
}

bool filter_judge(const struct filter *pub, const struct revision *rev, struct str head,
                  int64_t date, struct arena *scratch)
{
    const struct own_filter *f = (const struct own_filter *)pub;
    struct judging j = {.a = scratch, .f = f, .head = head};

    if (!revision_has_entry(rev) || !is_in_time(f, rev, date))
        return false;
    if (f->q == NULL && f->authors.n + f->categories.n + f->langs.n == 0 && f->has == 0)
        return true;
    entry_facts_read(scratch, rev, &j.facts);
    return (f->has == 0 || (f->has & j.facts.has) != 0) &&
           has_value(&j, &j.facts.categories, &f->categories) && has_lang(&j) &&
           (f->authors.n == 0 || has_value(&j, authors_of(&j), &f->authors)) &&
           (f->q == NULL || answers(&j, f->q));
}
