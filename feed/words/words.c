/* feed/words/words.c - the characters come from libunistring. Runs of ASCII, which are most of what
 * feeds write, do not need it. Takes linear time. */
#include "feed/words/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <unicase.h>
#include <uninorm.h>
#include <unistr.h>
#include <unictype.h>

#include "base/ascii.h"
#include "base/compiler.h"

#define SYMBOLS_FROM 0x2600 /* below are arrows, letter-like signs and parts of boxes */
#define RUN_MAX 4096        /* bytes of a run that are folded at once */

enum kind {
    KIND_OTHER,  /* divides words */
    KIND_WORD,   /* a letter or a digit */
    KIND_MARK,   /* belongs to what stands before it */
    KIND_NONE,   /* is as if it were not there */
    KIND_SINGLE, /* a character of a script without spaces */
    KIND_SYMBOL, /* a word of its own */
};

/* ---------------------------------------------------------------- characters */

static bool is_script(const uc_script_t *script, const char *const *names, size_t n)
{
    for (size_t i = 0; script != NULL && i < n; i++)
        if (strcmp(script->name, names[i]) == 0)
            return true;
    return false;
}

bool char_has_no_spaces(uint32_t c)
{
    static const char *const names[] = {"Han", "Hiragana", "Katakana", "Thai",
                                        "Lao", "Khmer",    "Myanmar"};

    if (c == 0x30FC || c == 0xFF70) /* the long vowel of Katakana, which Hiragana uses too */
        return true;
    return c >= 0xE00 && is_script(uc_script(c), names, ARRAY_LEN(names));
}

/* In these scripts marks are added to letters that are read without them, too. */
static bool has_diacritics(ucs4_t c)
{
    static const char *const names[] = {"Latin",  "Greek",  "Cyrillic", "Arabic",
                                        "Hebrew", "Syriac", "Coptic",   "Armenian"};

    return c < 0x250 || is_script(uc_script(c), names, ARRAY_LEN(names));
}

/* Joiners, soft hyphens, and what chooses between shapes of one character. */
static bool is_ignored(ucs4_t c)
{
    return c == 0xAD || (c >= 0x200B && c <= 0x200D) || (c >= 0xFE00 && c <= 0xFE0F) ||
           (c >= 0xE0100 && c <= 0xE01EF);
}

static enum kind kind_of(ucs4_t c)
{
    bool is_letter;

    if (is_ignored(c))
        return KIND_NONE;
    if (c == 0xFF9E || c == 0xFF9F) /* letters, but they only change the Katakana before them */
        return KIND_MARK;
    if (uc_is_general_category_withtable(c, UC_CATEGORY_MASK_M))
        return char_has_no_spaces(c) ? KIND_SINGLE : KIND_MARK;
    is_letter = uc_is_general_category_withtable(c, UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_N);
    if (is_letter)
        return char_has_no_spaces(c) ? KIND_SINGLE : KIND_WORD;
    if (c >= SYMBOLS_FROM && c != 0xFFFD &&
        uc_is_general_category_withtable(c, UC_CATEGORY_MASK_So))
        return KIND_SYMBOL;
    return KIND_OTHER;
}

/* ---------------------------------------------------------------- folding */

/* Move what libunistring has allocated to the arena. */
static struct str taken(struct arena *a, uint8_t *p, size_t n)
{
    struct str s = p == NULL ? STR_NULL : str_of(arena_copy(a, p, n), n);

    free(p);
    return s;
}

/* Remove diacritics, and what is neither letter, digit nor mark (compatibility forms bring
 * brackets, slashes and spaces). In place: the result is never longer. */
static size_t strip(uint8_t *p, size_t len)
{
    bool drops_marks = false;
    size_t kept = 0;

    for (size_t i = 0; i < len;) {
        ucs4_t c;
        int n = u8_mbtouc(&c, p + i, len - i);
        bool is_mark = uc_is_general_category_withtable(c, UC_CATEGORY_MASK_M);
        bool is_kept =
            is_mark ? !drops_marks && !is_ignored(c)
                    : uc_is_general_category_withtable(c, UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_N);

        if (!is_mark)
            drops_marks = has_diacritics(c);
        if (is_kept && (is_mark || c >= 0x80 || ascii_is_alnum((char)c))) {
            memmove(p + kept, p + i, (size_t)n);
            kept += (size_t)n;
        }
        i += (size_t)n;
    }
    return kept;
}

/* Fold a run of characters that are not all ASCII: case and compatibility, then without marks, then
 * composed again, as Hangul and Katakana are written. */
static struct str fold_once(struct arena *a, struct str run)
{
    size_t len = 0, n;
    uint8_t *wide = u8_casefold((const uint8_t *)run.ptr, run.len, NULL, UNINORM_NFKD, NULL, &len);
    uint8_t *whole;

    if (wide == NULL)
        return STR("");
    n = strip(wide, len);
    len = 0;
    whole = u8_normalize(UNINORM_NFC, wide, n, NULL, &len);
    free(wide);
    return taken(a, whole, len);
}

static bool has_upper(struct str s)
{
    for (size_t i = 0; i < s.len;) {
        ucs4_t c;

        i += (size_t)u8_mbtouc(&c, (const uint8_t *)s.ptr + i, s.len - i);
        if (uc_tolower(c) != c)
            return true;
    }
    return false;
}

/* Letters of Latin, Greek and Cyrillic that fold to one letter, whatever stands next to them. This
 * spares most words of Europe the way through the library, which takes ten times as long. */
static bool is_plain(ucs4_t c)
{
    static const struct {
        ucs4_t from, to;
    } plain[] = {{0xC0, 0xDE},   {0xE0, 0x12F},  {0x131, 0x131},   {0x134, 0x13E},
                 {0x141, 0x148}, {0x14A, 0x17E}, {0x1A0, 0x1A1},   {0x1AF, 0x1B0},
                 {0x386, 0x38F}, {0x391, 0x3AF}, {0x3B1, 0x3C1},   {0x3C3, 0x3CE},
                 {0x400, 0x45F}, {0x490, 0x4FF}, {0x1E00, 0x1E95}, {0x1EA0, 0x1EF9}};

    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (c <= plain[i].to)
            return c >= plain[i].from;
    return false;
}

static ucs4_t fold_plain(ucs4_t c)
{
    ucs4_t parts[UC_DECOMPOSITION_MAX_LENGTH];

    c = uc_tolower(c);
    while (uc_canonical_decomposition(c, parts) > 0)
        c = parts[0];
    return c;
}

/* Fold a run of ASCII and plain letters. False: it has others. */
static bool fold_plain_run(struct arena *a, struct str run, struct str *out)
{
    char *p = arena_alloc(a, run.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < run.len;) {
        ucs4_t c = (unsigned char)run.ptr[i];

        if (c < 0x80) {
            p[len++] = ascii_lower(run.ptr[i++]);
            continue;
        }
        i += (size_t)u8_mbtouc(&c, (const uint8_t *)run.ptr + i, run.len - i);
        if (!is_plain(c))
            return false;
        /* never longer than it was: lower case and the letter below the mark are not */
        len += (size_t)u8_uctomb((uint8_t *)p + len, fold_plain(c), (ptrdiff_t)(run.len - len));
    }
    p[len] = '\0';
    *out = str_of(p, len);
    return true;
}

static struct str fold(struct arena *a, struct str run)
{
    struct str folded;

    if (fold_plain_run(a, run, &folded))
        return folded;
    folded = fold_once(a, run);
    /* the compatibility form of a few characters is in upper case */
    return has_upper(folded) ? fold_once(a, folded) : folded;
}

/* ---------------------------------------------------------------- cutting */

struct cutter {
    struct arena *a;
    struct words out;
    size_t cap;
};

static void put_word(struct cutter *c, struct word w)
{
    if (c->out.n == c->cap) {
        struct word *more = arena_alloc(c->a, sizeof *more * (c->cap = c->cap * 2 + 16));

        if (c->out.n > 0)
            memcpy(more, c->out.list, sizeof *more * c->out.n);
        c->out.list = more;
    }
    c->out.list[c->out.n++] = w;
}

static bool has_singles(struct str s)
{
    for (size_t i = 0; i < s.len;) {
        ucs4_t c;

        i += (size_t)u8_mbtouc(&c, (const uint8_t *)s.ptr + i, s.len - i);
        if (char_has_no_spaces(c))
            return true;
    }
    return false;
}

static void cut(struct cutter *c, struct str text);

static void put_run(struct cutter *c, struct str run)
{
    struct str s = fold(c->a, str_beginning(run, RUN_MAX));

    if (has_singles(s)) { /* there are numbers whose compatibility form is Han */
        cut(c, s);
        return;
    }
    s = str_beginning(s, WORD_MAX);
    if (s.len > 0)
        put_word(c, (struct word){.text = s});
}

static void put_singles(struct cutter *c, struct str run, bool is_joined)
{
    struct str s = fold(c->a, run);

    for (size_t i = 0; i < s.len;) {
        ucs4_t cp;
        int n = u8_mbtouc(&cp, (const uint8_t *)s.ptr + i, s.len - i);

        put_word(c, (struct word){str_slice(s, i, i + (size_t)n), true, is_joined});
        is_joined = true;
        i += (size_t)n;
    }
}

static size_t ascii_end(struct str text, size_t at)
{
    while (at < text.len && ascii_is_alnum(text.ptr[at]))
        at++;
    return at;
}

static enum kind next(struct str text, size_t at, size_t *end)
{
    ucs4_t c = (unsigned char)text.ptr[at];

    *end = at + 1;
    if (c < 0x80)
        return ascii_is_alnum((char)c) ? KIND_WORD : KIND_OTHER;
    *end = at + (size_t)u8_mbtouc(&c, (const uint8_t *)text.ptr + at, text.len - at);
    return c == 0xFFFD ? KIND_OTHER : kind_of(c);
}

/* Returns the end of the run of `kind` that begins at `at`. */
static size_t run_end(struct str text, size_t at, enum kind kind)
{
    size_t end;

    for (size_t i = at; i < text.len; i = end) {
        enum kind k = next(text, i, &end);

        if (k != kind && k != KIND_MARK && k != KIND_NONE)
            return i;
    }
    return text.len;
}

static size_t cut_singles(struct cutter *c, struct str text, size_t at)
{
    size_t end = run_end(text, at, KIND_SINGLE);
    struct str run = str_slice(text, at, end);
    bool is_joined = false;

    while (run.len > 0) { /* in pieces, so that a long text needs little memory at a time */
        struct str piece = str_beginning(run, RUN_MAX);

        put_singles(c, piece, is_joined);
        is_joined = true;
        run = str_slice(run, piece.len, run.len);
    }
    return end;
}

/* Cut what begins at `at`, and return where it ends. */
static size_t cut_one(struct cutter *c, struct str text, size_t at)
{
    size_t end = ascii_end(text, at), after;
    enum kind kind;

    /* what is not ASCII may be a mark, or the rest of the word */
    if (end > at && (end == text.len || (unsigned char)text.ptr[end] < 0x80)) {
        struct str word = str_beginning(str_slice(text, at, end), WORD_MAX);

        put_word(c, (struct word){.text = str_lower(c->a, word)});
        return end;
    }
    kind = next(text, at, &after);
    if (kind == KIND_SINGLE)
        return cut_singles(c, text, at);
    if (kind == KIND_WORD) {
        end = run_end(text, at, KIND_WORD);
        put_run(c, str_slice(text, at, end));
        return end;
    }
    if (kind == KIND_SYMBOL)
        put_word(c, (struct word){.text = str_slice(text, at, after)});
    return after;
}

static void cut(struct cutter *c, struct str text)
{
    for (size_t at = 0; at < text.len;)
        at = cut_one(c, text, at);
}

struct words words_cut(struct arena *a, struct str text, size_t max)
{
    struct cutter c = {.a = a};

    cut(&c, str_beginning(text, max));
    return c.out;
}

/* ---------------------------------------------------------------- values */

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7F;
}

static struct str squeezed(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        if (!is_blank(s.ptr[i]))
            p[n++] = s.ptr[i];
        else if (n > 0 && p[n - 1] != ' ')
            p[n++] = ' ';
    n -= n > 0 && p[n - 1] == ' ';
    p[n] = '\0';
    return str_of(p, n);
}

static bool is_ascii(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] >= 0x80)
            return false;
    return true;
}

struct str words_fold_value(struct arena *a, struct str value)
{
    struct str s = squeezed(a, value);
    size_t len = 0;
    uint8_t *folded;

    if (is_ascii(s))
        return str_lower(a, s);
    if (str_utf8_valid(s) < s.len)
        return s;
    folded = u8_casefold((const uint8_t *)s.ptr, s.len, NULL, UNINORM_NFC, NULL, &len);
    return folded == NULL ? s : taken(a, folded, len);
}
