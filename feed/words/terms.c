/* feed/words/terms.c - see terms.h. */
#include "feed/words/terms.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/digest.h"
#include "feed/identity/identity.h"
#include "feed/words/likeness.h"

/* U+E001 and so on */
#define AUTHOR "\xEE\x80\x81"
#define AUTHOR_WORD "\xEE\x80\x82"
#define CATEGORY "\xEE\x80\x83"
#define LANG "\xEE\x80\x84"
#define HAS "\xEE\x80\x85"
#define LINK "\xEE\x80\x86"
#define TITLE "\xEE\x80\x87"

#define LANG_MAX 100 /* bytes of a language tag that are looked at */

const struct str term_no_author = {AUTHOR "none", 7}, term_no_lang = {LANG "none", 7};

struct collected {
    struct arena *a;
    struct str_list out;
    size_t cap;
};

static void put(struct collected *c, struct str term)
{
    if (term.len == 0)
        return;
    if (c->out.n == c->cap) {
        struct str *more = arena_alloc(c->a, sizeof *more * (c->cap = c->cap * 2 + 64));

        if (c->out.n > 0)
            memcpy(more, c->out.list, sizeof *more * c->out.n);
        c->out.list = more;
    }
    c->out.list[c->out.n++] = term;
}

/* ---------------------------------------------------------------- values */

static struct str hashed(struct arena *a, const char *kind, struct str value)
{
    unsigned char hash[16];
    char hex[33];

    digest_content(value, hash);
    digest_hex(hash, 8, hex);
    return str_printf(a, "%s%s", kind, hex);
}

struct str term_of_author(struct arena *a, struct str name)
{
    return hashed(a, AUTHOR, words_fold_value(a, name));
}

struct str term_of_author_word(struct arena *a, struct str word)
{
    return str_concat(a, STR(AUTHOR_WORD), word);
}

struct str term_of_category(struct arena *a, struct str category)
{
    return hashed(a, CATEGORY, words_fold_value(a, category));
}

struct str term_of_lang(struct arena *a, struct str tag)
{
    return hashed(a, LANG, str_lower(a, tag));
}

struct str term_of_has(struct arena *a, size_t kind)
{
    return str_printf(a, HAS "%s", entry_has_names[kind]);
}

struct str term_of_link(struct arena *a, struct str link)
{
    link = link_canonical(a, link);
    return link.len == 0 ? STR_NULL : hashed(a, LINK, identity_ref(a, link, IDENTITY_STRONG));
}

struct str term_of_title(struct arena *a, struct entry_text title)
{
    size_t room = ENTRY_TEXT_MAX;
    struct words w = words_cut(a, entry_text_plain(a, title, &room), ENTRY_TEXT_MAX);
    struct buf b = BUF_INIT(BUF_ANY);
    struct str term;

    for (size_t i = 0; i < w.n; i++) {
        buf_str(&b, w.list[i].text);
        buf_putc(&b, ' ');
    }
    term = w.n == 0 ? STR_NULL : hashed(a, TITLE, buf_view(&b));
    buf_release(&b);
    return term;
}

/* ---------------------------------------------------------------- of a revision */

static void put_words(struct collected *c, struct entry_text text, size_t *room)
{
    struct words w = words_cut(c->a, entry_text_plain(c->a, text, room), ENTRY_TEXT_MAX);

    for (size_t i = 0; i < w.n; i++) {
        bool has_next = i + 1 < w.n && w.list[i + 1].is_joined;

        put(c, has_next ? str_concat(c->a, w.list[i].text, w.list[i + 1].text) : w.list[i].text);
    }
}

static void put_authors(struct collected *c, const struct str_list *names)
{
    for (size_t i = 0; i < names->n; i++) {
        struct words w = words_cut(c->a, names->list[i], ENTRY_TEXT_MAX);

        put(c, term_of_author(c->a, names->list[i]));
        for (size_t k = 0; k < w.n; k++)
            put(c, term_of_author_word(c->a, w.list[k].text));
    }
    if (names->n == 0)
        put(c, term_no_author);
}

/* de-CH-1996: de, de-CH, de-CH-1996. */
static void put_langs(struct collected *c, const struct str_list *tags)
{
    for (size_t i = 0; i < tags->n; i++) {
        struct str tag = str_slice(tags->list[i], 0, LANG_MAX);

        for (size_t k = 1; k <= tag.len; k++)
            if (k == tag.len || tag.ptr[k] == '-')
                put(c, term_of_lang(c->a, str_slice(tag, 0, k)));
    }
    if (tags->n == 0)
        put(c, term_no_lang);
}

static int by_bytes(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static void sort(struct str_list *terms)
{
    size_t kept = 0;

    if (terms->n > 0)
        qsort(terms->list, terms->n, sizeof *terms->list, by_bytes);
    for (size_t i = 0; i < terms->n; i++)
        if (i == 0 || !str_eq(terms->list[i], terms->list[kept - 1]))
            terms->list[kept++] = terms->list[i];
    terms->n = kept;
}

struct str_list terms_of_revision(struct arena *a, const struct revision *rev)
{
    struct collected c = {.a = a};
    struct entry_facts facts;
    size_t room = ENTRY_TEXT_MAX;

    if (!revision_has_entry(rev))
        return c.out;
    entry_facts_read(a, rev, &facts);
    put_words(&c, facts.title, &room);
    for (size_t i = 0; i < facts.n_texts; i++)
        put_words(&c, facts.texts[i], &room);
    put_authors(&c, &facts.authors);
    for (size_t i = 0; i < facts.categories.n; i++)
        put(&c, term_of_category(a, facts.categories.list[i]));
    put_langs(&c, &facts.langs);
    for (size_t i = 0; i < ENTRY_HAS_KINDS; i++)
        if (facts.has & (1u << i))
            put(&c, term_of_has(a, i));
    put(&c, term_of_link(a, rev->link));
    put(&c, term_of_title(a, facts.title));
    sort(&c.out);
    return c.out;
}
