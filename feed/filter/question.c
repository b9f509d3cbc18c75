/* feed/filter/question.c - reads by descent; parts are sorted and doubles removed, so that what
 * asks the same has the same text. */
#include "feed/filter/question.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "base/buf.h"

struct reading {
    struct arena *a;
    struct str text;
    size_t at; /* byte */
    size_t n_words, depth;
    struct question_fault *fault;
};

/* Says what is wrong at a byte of the text, unless something before it was. Returns NULL. */
static const struct question *wrong(struct reading *r, size_t at, const char *why)
{
    size_t n = 0;

    for (size_t i = 0; i < at; i++)
        n += ((unsigned char)r->text.ptr[i] & 0xC0) != 0x80;
    *r->fault = (struct question_fault){n, str_from(why)};
    return NULL;
}

/* ---------------------------------------------------------------- canonical text */

static void put_words(struct buf *out, const struct question *q)
{
    const struct words *w = &q->words;
    bool is_one = true;

    for (size_t i = 1; i < w->n; i++)
        is_one = is_one && w->list[i].is_joined;
    buf_puts(out, q->field == FIELD_TITLE ? "title:" : q->field == FIELD_AUTHOR ? "author:" : "");
    buf_puts(out, is_one || q->is_prefix ? "" : "\"");
    for (size_t i = 0; i < w->n; i++) {
        if (i > 0 && !w->list[i].is_joined)
            buf_putc(out, q->is_prefix ? '-' : ' ');
        buf_str(out, w->list[i].text);
    }
    buf_puts(out, q->is_prefix ? "*" : is_one ? "" : "\"");
}

static void put_part(struct buf *out, const struct question *part, bool needs_parentheses)
{
    buf_puts(out, needs_parentheses ? "(" : "");
    buf_str(out, part->text);
    buf_puts(out, needs_parentheses ? ")" : "");
}

static const struct question *finish(struct arena *a, struct question *q)
{
    struct buf out = BUF_INIT(BUF_ANY);

    if (q->op == QUESTION_WORDS)
        put_words(&out, q);
    if (q->op == QUESTION_NOT)
        buf_putc(&out, '-');
    for (size_t i = 0; i < q->n; i++) {
        enum question_op op = q->parts[i]->op;

        if (i > 0)
            buf_puts(&out, q->op == QUESTION_OR ? " OR " : " ");
        put_part(&out, q->parts[i],
                 (q->op == QUESTION_NOT && (op == QUESTION_AND || op == QUESTION_OR)) ||
                     (q->op == QUESTION_AND && op == QUESTION_OR));
    }
    q->text = str_dup(a, buf_view(&out));
    buf_release(&out);
    return q;
}

/* ---------------------------------------------------------------- parts */

static int by_text(const void *x, const void *y)
{
    const struct question *const *a = x, *const *b = y;

    return str_cmp((*a)->text, (*b)->text);
}

/* Put parts of the same kind in place of the part that has them. */
static size_t flatten(struct arena *a, enum question_op op, const struct question **parts, size_t n,
                      const struct question ***out)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++)
        len += parts[i]->op == op ? parts[i]->n : 1;
    *out = ARENA_ARRAY(a, const struct question *, len);
    len = 0;
    for (size_t i = 0; i < n; i++) {
        if (parts[i]->op != op) {
            (*out)[len++] = parts[i];
            continue;
        }
        memcpy(*out + len, parts[i]->parts, sizeof **out * parts[i]->n);
        len += parts[i]->n;
    }
    return len;
}

static const struct question *joined(struct arena *a, enum question_op op,
                                     const struct question **parts, size_t n)
{
    struct question *q = ARENA_NEW(a, struct question);
    size_t len = flatten(a, op, parts, n, &q->parts);

    qsort(q->parts, len, sizeof *q->parts, by_text);
    for (size_t i = 0; i < len; i++)
        if (i == 0 || !str_eq(q->parts[i]->text, q->parts[q->n - 1]->text))
            q->parts[q->n++] = q->parts[i];
    q->op = op;
    return q->n == 1 ? q->parts[0] : finish(a, q);
}

static const struct question *negated(struct arena *a, const struct question *part)
{
    struct question *q = ARENA_NEW(a, struct question);

    if (part->op == QUESTION_NOT)
        return part->parts[0];
    q->op = QUESTION_NOT;
    q->parts = ARENA_NEW(a, const struct question *);
    q->parts[0] = part;
    q->n = 1;
    return finish(a, q);
}

/* ---------------------------------------------------------------- reading */

static bool is_space(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7F;
}

static void skip_space(struct reading *r)
{
    while (r->at < r->text.len && is_space(r->text.ptr[r->at]))
        r->at++;
}

static char here(const struct reading *r)
{
    return r->at < r->text.len ? r->text.ptr[r->at] : '\0';
}

/* Is the word OR next? */
static bool is_or(const struct reading *r)
{
    struct str rest = str_slice(r->text, r->at, r->text.len);

    return str_starts(rest, STR("OR")) &&
           (rest.len == 2 || is_space(rest.ptr[2]) || rest.ptr[2] == '(' || rest.ptr[2] == ')');
}

static const struct question *of_words(struct reading *r, size_t at, enum question_field field,
                                       struct str text, bool is_prefix)
{
    struct question *q = ARENA_NEW(r->a, struct question);

    q->op = QUESTION_WORDS;
    q->field = field;
    q->words = words_cut(r->a, text, QUESTION_MAX);
    if (q->words.n == 0)
        return wrong(r, at, "There is no letter or digit to look for.");
    r->n_words += q->words.n;
    if (r->n_words > QUESTION_WORDS_MAX)
        return wrong(r, at, "There are too many words; at most 64 are looked for.");
    /* characters without spaces between them are found wherever they are */
    q->is_prefix = is_prefix && !q->words.list[q->words.n - 1].is_single;
    return finish(r->a, q);
}

static const struct question *read_phrase(struct reading *r, enum question_field field)
{
    size_t from = r->at + 1;
    ssize_t len = str_chr(str_slice(r->text, from, r->text.len), '"');

    if (len < 0)
        return wrong(r, r->at, "The quotation mark has no partner.");
    r->at = from + (size_t)len + 1;
    return of_words(r, from - 1, field, str_slice(r->text, from, from + (size_t)len), false);
}

static size_t word_end(const struct reading *r)
{
    size_t i = r->at;

    while (i < r->text.len && !is_space(r->text.ptr[i]) && strchr("\"()", r->text.ptr[i]) == NULL)
        i++;
    return i;
}

static const struct question *read_word(struct reading *r, enum question_field field)
{
    size_t from = r->at, end = word_end(r);
    struct str word = str_slice(r->text, from, end);
    bool is_prefix = str_ends(word, STR("*"));
    ssize_t star;

    if (word.len == 0)
        return wrong(r, from, "A word or a phrase is missing.");
    word = str_slice(word, 0, word.len - is_prefix);
    star = str_chr(word, '*');
    if (star >= 0)
        return wrong(r, from + (size_t)star, "`*` may stand only at the end of a word.");
    r->at = end;
    return of_words(r, from, field, word, is_prefix);
}

static enum question_field read_field(struct reading *r)
{
    struct str rest = str_slice(r->text, r->at, r->text.len);

    if (str_istarts(rest, STR("title:"))) {
        r->at += 6;
        return FIELD_TITLE;
    }
    if (str_istarts(rest, STR("author:"))) {
        r->at += 7;
        return FIELD_AUTHOR;
    }
    return FIELD_TEXT;
}

/* What may seem to mean all that follows a field: read as a word, it would find the opposite. */
static const struct question *read_of_field(struct reading *r, enum question_field field)
{
    if (field != FIELD_TEXT && here(r) == '-')
        return wrong(r, r->at, "`-` stands before the name of a field: -title:word, "
                               "-author:word.");
    if (field != FIELD_TEXT && here(r) == '(')
        return wrong(r, r->at, "Parentheses cannot follow the name of a field. Each word has it: "
                               "(title:a title:b), (title:a OR title:b).");
    return here(r) == '"' ? read_phrase(r, field) : read_word(r, field);
}

static const struct question *read_any(struct reading *r);

static const struct question *read_group(struct reading *r)
{
    size_t from = r->at++;
    const struct question *q;

    if (++r->depth > QUESTION_DEPTH_MAX)
        return wrong(r, from,
                     "The parentheses are too deep; at most 16 may stand within one another.");
    q = read_any(r);
    if (q == NULL)
        return NULL;
    if (here(r) != ')')
        return wrong(r, from, "The parenthesis is not closed.");
    r->at++;
    r->depth--;
    return q;
}

static const struct question *read_one(struct reading *r)
{
    size_t from = r->at;
    bool is_not = here(r) == '-';
    const struct question *q;

    r->at += is_not;
    if (is_not && (r->at == r->text.len || is_space(here(r)) || here(r) == ')'))
        return wrong(r, from, "What is to be left out must follow the `-`.");
    q = here(r) == '(' ? read_group(r) : read_of_field(r, read_field(r));
    return q == NULL || !is_not ? q : negated(r->a, q);
}

struct parts {
    const struct question **list;
    size_t n, cap;
};

static void add(struct arena *a, struct parts *p, const struct question *q)
{
    if (p->n == p->cap) {
        const struct question **more =
            ARENA_ARRAY(a, const struct question *, p->cap = p->cap * 2 + 4);

        if (p->n > 0)
            memcpy(more, p->list, sizeof *more * p->n);
        p->list = more;
    }
    p->list[p->n++] = q;
}

static const struct question *read_all(struct reading *r)
{
    struct parts parts = {NULL, 0, 0};

    for (skip_space(r); r->at < r->text.len && here(r) != ')' && !is_or(r); skip_space(r)) {
        const struct question *q = read_one(r);

        if (q == NULL)
            return NULL;
        add(r->a, &parts, q);
    }
    if (parts.n == 0)
        return wrong(r, r->at,
                     is_or(r) ? "There is nothing before `OR`." : "A word or a phrase is missing.");
    return joined(r->a, QUESTION_AND, parts.list, parts.n);
}

static const struct question *read_any(struct reading *r)
{
    struct parts parts = {NULL, 0, 0};

    for (;;) {
        const struct question *q = read_all(r);

        if (q == NULL)
            return NULL;
        add(r->a, &parts, q);
        if (!is_or(r))
            return joined(r->a, QUESTION_OR, parts.list, parts.n);
        r->at += 2;
    }
}

bool question_read(struct arena *a, struct str text, const struct question **out,
                   struct question_fault *fault)
{
    struct reading r = {.a = a, .text = text, .fault = fault};
    size_t valid = str_utf8_valid(text);
    const struct question *q = NULL;

    if (valid < text.len)
        (void)wrong(&r, valid, "It is not UTF-8.");
    else if (text.len > QUESTION_MAX)
        (void)wrong(&r, QUESTION_MAX, "It is too long; at most 4096 bytes are allowed.");
    else
        q = read_any(&r);
    if (q != NULL && r.at < text.len)
        q = wrong(&r, r.at, "This parenthesis closes nothing.");
    /* compatibility forms of a few characters are long */
    if (q != NULL && q->text.len > QUESTION_MAX)
        q = wrong(&r, text.len, "It is too long; at most 4096 bytes are allowed.");
    if (q != NULL)
        *out = q;
    return q != NULL;
}
