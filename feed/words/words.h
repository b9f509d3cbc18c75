/* feed/words/words.h - cuts text into words that can be compared. Pure.
 *
 * A word is a run of letters, digits and their marks (Unicode). It is folded: no difference of
 * case, of compatibility forms (`ﬁ`, `Ａ`), and of diacritics in scripts that only add them (`Café`
 * is `cafe`; the vowel signs of Indic scripts stay). Everything else divides words, so `don't` and
 * `3.14` are two words each that follow one another. Pictographs are words of one character.
 *
 * Scripts that put no spaces between words (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) are
 * cut into single characters, each of which says whether it is joined to the one before it.
 *
 * A word has no ASCII characters but [a-z0-9], and no characters for private use. Cutting a word
 * gives this word again. Bytes that are not UTF-8 divide words and do no harm.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Is this a character of a script without spaces? */
bool char_has_no_spaces(uint32_t c);

#define WORD_MAX 64 /* bytes of a folded word: of longer ones the beginning counts */

struct word {
    struct str text;
    bool is_single; /* a character of a script without spaces */
    bool is_joined; /* the one before it is such a character too, with nothing between them */
};

struct words {
    struct word *list;
    size_t n;
};

/* Cut a plain text (UTF-8). Of longer texts only the first `max` bytes count. Arena; the words may
 * borrow the text. */
struct words words_cut(struct arena *a, struct str text, size_t max);

/* A whole value, to be compared as one: without difference of case and of canonical forms, runs of
 * white space as one space, ends trimmed. Diacritics stay. Arena. */
struct str words_fold_value(struct arena *a, struct str value);
