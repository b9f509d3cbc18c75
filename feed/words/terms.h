/* feed/words/terms.h - the terms of a revision, by which an index finds it. Pure.
 *
 * Terms of words are the words of title, summary and contents (words.h); of scripts without spaces
 * they are pairs of characters that follow one another, and the last character of each run. Terms
 * of other kinds begin with a character for private use, which no word has. All consist of [a-z0-9]
 * and characters beyond ASCII.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "feed/words/entry_facts.h"
#include "feed/words/words.h"
#include "model/feed.h"

#define TERM_MAX (WORD_MAX * 2 + 8) /* bytes */

/* Raise it when a revision gets other terms than before: then indexes are made anew. */
#define TERMS_CUT 1

/* All terms of a revision, ascending (str_cmp()), without doubles; none of a deletion. Its doc must
 * be there. Arena; most of what it takes there is not needed afterwards. */
struct str_list terms_of_revision(struct arena *a, const struct revision *rev);

/* The terms of values, as terms_of_revision() has them. */
struct str term_of_author(struct arena *a, struct str name); /* whole, whatever its case */
struct str term_of_author_word(struct arena *a, struct str word);
struct str term_of_category(struct arena *a, struct str category);
struct str term_of_lang(struct arena *a, struct str tag); /* whole subtags from the first on */
struct str term_of_has(struct arena *a, size_t kind);     /* index in entry_has_names */
/* Of a canonical address (likeness.h) without scheme, `www.`, fragment and the parameters of trackers, and of the words
 * of a title. Null: there is none, or it has no words. */
struct str term_of_link(struct arena *a, struct str link);
struct str term_of_title(struct arena *a, struct entry_text title);
/* Of entries that name no author, and of those that name no language: their feed's counts. */
extern const struct str term_no_author, term_no_lang;
