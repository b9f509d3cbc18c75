/* feed/filter/question.h - the language of `q`: which words an entry must have. Pure.
 *
 *     any     = all *("OR" all)
 *     all     = 1*(["-"] one)                       ; all of them, but none of those with "-"
 *     one     = "(" any ")" / [field] (phrase / word)
 *     field   = "title:" / "author:"                ; otherwise title, summary and contents
 *     phrase  = DQUOTE words DQUOTE                 ; that follow one another
 *     word    = characters without space, DQUOTE and parentheses ["*"]   ; "*": and what begins so
 *
 * A word that is cut into several (`ex-wife`) is a phrase.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"
#include "base/str.h"
#include "feed/words/words.h"

#define QUESTION_MAX 4096 /* bytes */
#define QUESTION_WORDS_MAX 64
#define QUESTION_DEPTH_MAX 16 /* parentheses within parentheses */

enum question_field { FIELD_TEXT, FIELD_TITLE, FIELD_AUTHOR };

struct question {
    enum question_op {
        QUESTION_WORDS, /* these words, one after the other */
        QUESTION_NOT,   /* not parts[0] */
        QUESTION_AND,   /* all of parts[n] */
        QUESTION_OR,    /* one of parts[n] */
    } op;
    enum question_field field;
    struct words words;
    bool is_prefix; /* the last word is the beginning of one */
    const struct question **parts;
    size_t n;
    struct str text; /* canonical: reading it makes the same question */
};

/* Where and why a text cannot be read. */
struct question_fault {
    size_t at; /* 0-based character */
    struct str why;
};

/* Read a question. False: *fault says what is wrong. Arena. */
bool question_read(struct arena *a, struct str text, const struct question **out,
                   struct question_fault *fault) NODISCARD;
