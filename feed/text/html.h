/* feed/text/html.h - reads real-world HTML: tokens, character references, plain text. Pure.
 *
 * It builds no tree and applies no rules of nesting. It takes linear time, whatever the input. The
 * sanitizer, the search for feeds and the writers use it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum html_kind { HTML_END_OF_INPUT, HTML_TEXT, HTML_START_TAG, HTML_END_TAG };

struct html_attr {
    struct str name;  /* lower case */
    struct str value; /* as written, references not decoded; null when there was no `=` */
    bool is_decoded;  /* set by the caller: the references are decoded already */
};

#define HTML_ATTRS_MAX 128 /* of one tag; any others are ignored */

struct html_lexer {
    struct arena *a;
    struct str in;
    size_t at;
    bool tail;        /* the end of the input came within a tag, so no later `<` can open a tag */
    bool no_quote[2]; /* there are no more ' or no more " in the rest */
    struct html_attr attrs[HTML_ATTRS_MAX];
};

struct html_token {
    enum html_kind kind;
    struct str text;               /* HTML_TEXT: as written, references not decoded */
    struct str name;               /* tags: lower case */
    const struct html_attr *attrs; /* start tags: until the next token */
    size_t n_attrs;
    bool self_closing;
};

/* Returns the character whose name is at the beginning of `s`, after an ampersand, when the
 * semicolon at its end is missing: "copy 2007", "eacute". This is allowed only for the names of
 * Latin-1 and for & < > ", and only if no letter, digit, semicolon or `=` follows. 0: there is
 * none. *len_out: the length of the name. */
uint32_t html_open_entity(struct str s, size_t *len_out);

/* Start to read `in`, which must live longer than the lexer and the tokens. Names that are not in
 * lower case are copied to the arena. */
void html_lexer_init(struct html_lexer *lx, struct arena *a, struct str in);

/* Read the next token. Comments, declarations and processing instructions are skipped. A `<` that
 * does not open a tag is text. After HTML_END_OF_INPUT, every call returns HTML_END_OF_INPUT. */
enum html_kind html_next(struct html_lexer *lx, struct html_token *t);

/* Returns true for elements whose content a browser takes as text, or does not show, even if it looks
 * like markup: script, style, title, ... `name` is in lower case. */
bool html_is_raw(struct str name);

/* After the start tag `name` of an element whose content is not markup (html_is_raw()): skip
 * everything up to and including its end tag. False: there was no end tag, and the input is at its
 * end. */
bool html_skip_raw(struct html_lexer *lx, struct str name);

/* Returns the value of an attribute by its lower-case name; null when it is missing. If there are
 * several, the last one counts. */
struct str html_attr_get(const struct html_token *t, const char *name);

/* Returns `s` with its character references decoded as in text. It is `s` itself when it has none;
 * otherwise it is in the arena. References to something that is not a character become U+FFFD. */
struct str html_decode(struct arena *a, struct str s);

/* Returns true for the name of an element of HTML, SVG or MathML, current or obsolete, in upper or
 * lower case. */
bool html_is_element(struct str name);

/* Returns the code point for an entity name of HTML 4, for apos, or for one of the most common
 * names of HTML 5. 0: the name is not known. */
uint32_t html_entity(struct str name);

/* Returns the code point that a numeric reference means. 128 to 159 are read as Windows-1252. What
 * is not a character becomes U+FFFD. */
uint32_t html_char_ref(uint32_t value);

/* Returns the text that a reader sees: without markup, references decoded, each run of white space
 * as one space, ends trimmed. Block elements and br separate words. In the arena. */
struct str html_to_text(struct arena *a, struct str html);
