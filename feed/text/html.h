/* feed/text/html.h - HTML as it is found: tokens, character references, plain text. Pure.
 *
 * No tree is built and no rule of nesting applied: every byte is looked at a constant number of
 * times, whatever the input. sanitize, discover and the writers stand on this.
 */
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
    bool is_decoded;  /* not by the lexer, but by its caller */
};

#define HTML_ATTRS_MAX 128 /* further attributes of a tag are passed over */

struct html_lexer {
    struct arena *a;
    struct str in;
    size_t at;
    bool tail;        /* a tag ran into the end of the input: no later `<` can open one */
    bool no_quote[2]; /* neither ' nor " comes any more */
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

/* The character named at the beginning of `s`, which follows an ampersand, without the semicolon
 * that should end it: "copy 2007", "eacute". Only the names of Latin-1 and & < > " do without, and
 * only where no letter, digit, semicolon or `=` follows. 0: none; *len_out: the length of the name.
 */
uint32_t html_open_entity(struct str s, size_t *len_out);

/* Read `in`, which must outlive the lexer and the tokens; what is not in lower case there is
 * lowered in the arena. */
void html_lexer_init(struct html_lexer *lx, struct arena *a, struct str in);

/* The next token. Comments, declarations and processing instructions are passed over in silence;
 * a `<` that opens nothing is text. HTML_END_OF_INPUT stays so. */
enum html_kind html_next(struct html_lexer *lx, struct html_token *t);

/* After the start tag `name` of an element whose content is not markup (script, style): pass over
 * all up to and including its end tag, or to the end of the input. False: there was no end tag. */
bool html_skip_raw(struct html_lexer *lx, struct str name);

/* The value of an attribute (lower-case name), null when absent; the last one wins. */
struct str html_attr_get(const struct html_token *t, const char *name);

/* `s` with its character references decoded, as in text: itself when it holds none, else in the
 * arena. References to something that is not a character become U+FFFD. */
struct str html_decode(struct arena *a, struct str s);

/* Is it the name of an element of HTML, SVG or MathML, current or obsolete, in upper or lower case?
 */
bool html_is_element(struct str name);

/* The code point of an entity name of HTML 4 (or apos, or the likeliest of HTML 5); 0 when there is
 * no such name. */
uint32_t html_entity(struct str name);

/* The code point that a numeric reference means: Windows-1252 for 128..159, U+FFFD for what is not
 * a character. */
uint32_t html_char_ref(uint32_t value);

/* The text a reader sees: without markup, references decoded, white space runs to one space, ends
 * trimmed; block elements and br separate words. */
struct str html_to_text(struct arena *a, struct str html);
