/* feed/read/prefilter_priv.h - shared by the files of the prefilter: its state and its output,
 * references and text (prefilter_text.c), tags and their balance (prefilter_tags.c). */
#pragma once

#include "base/limits.h"
#include "base/str.h"
#include "feed/read/prefilter.h"

#define ATTRIBUTE_LEN_MAX (1024 * 1024)
#define NAME_LEN_MAX 256
#define NAMESPACES_MAX 512 /* in force at once */
#define NAMES_FREE 20000   /* so many names are not counted */
/* different names after these; libxml2 keeps all of them, which is slow */
#define NAMES_MAX 16384
#define NAMES_BITS ((size_t)1 << 20)
#define ENTITIES_MAX 64             /* declared by the document */
#define VAIN_FACTOR 4               /* a byte may be read in vain so often, on average */
#define EXPANSION_MAX (1024 * 1024) /* bytes of all expanded entities together */
#define TEXTS_MAX 1024              /* in one batch */
#define TEXT_SHORT 512              /* shorter text is copied instead of being passed by itself */

struct declared_entity {
    struct str name, value;
};

struct quote_cache { /* the next `quote` at or after `from` is at `at` (NULL: none) */
    const char *from, *at;
};

struct prefilter {
    const char *p, *end;
    prefilter_sink_fn *sink;
    void *ctx;
    struct prefilter_result *result;
    bool guesses, refuses_crowds;
    bool had_root;
    bool has_ended; /* the end tag of the root was read; it is written last */
    bool done;
    size_t depth;
    size_t n_namespaces; /* declared by all open elements */
    size_t misended;     /* depth of the text element that came upon another's end tag; 0: none */
    size_t n_too_deep;   /* number of open elements that do not fit on the stack and are dropped */
    uint32_t n_open_by_hash[256]; /* quick test whether a name can be open */
    bool no_comment_end, no_cdata_end, no_pi_end, no_doctype_end;
    size_t vain_left; /* so many bytes may still be read as tags that turn out not to be tags */
    struct quote_cache quotes[2];
    size_t n_entities, n_expanded;
    size_t n_names;              /* elements and attributes so far */
    unsigned char *names;        /* bitmap of the hashes of names since NAMES_FREE, or NULL */
    size_t n_bits;               /* number of bits set in it */
    size_t n_tags;               /* tags written so far, as struct prefilter_text counts them */
    size_t n, n_copied, n_texts; /* bytes and texts in the present batch */
    /* the elements after the counts are not initialised */
    struct prefilter_text texts[TEXTS_MAX];
    struct str open[LIMIT_XML_DEPTH];          /* names of open elements, in the input */
    unsigned char n_declared[LIMIT_XML_DEPTH]; /* namespaces, by each open element */
    struct declared_entity entities[ENTITIES_MAX];
    char out[PREFILTER_CHUNK];    /* tags */
    char copied[PREFILTER_CHUNK]; /* text that is not in the document in this form */
};

static inline void mended(struct prefilter *f, const char *why)
{
    if (f->result->why == NULL)
        f->result->why = why;
}

static inline bool prefilter_is_name_char(char c)
{
    unsigned char u = (unsigned char)c;

    return (u | 0x20u) - 'a' < 26 || (u >= '-' && u <= ':' && u != '/') || u == '_' || u >= 0x80;
}

static inline bool is_name_start(char c)
{
    return prefilter_is_name_char(c) && !(c >= '0' && c <= '9') && c != '-' && c != '.';
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline const char *prefilter_skip_space(const char *p, const char *end)
{
    while (p < end && is_space(*p))
        p++;
    return p;
}

enum reference { REF_NONE, REF_CHAR, REF_NOTHING, REF_VALUE };

/* Bytes that need special handling in text, in CDATA sections and in attribute values. */
enum scan_mask { TEXT = 1, CDATA = 2, VALUE = 4 };

/* ---- prefilter_text.c ---- */

void prefilter_flush(struct prefilter *f);
void prefilter_put_slow(struct prefilter *f, const char *p, size_t len);
static inline void prefilter_put(struct prefilter *f, const char *p, size_t len)
{
    if (len >= sizeof f->out - f->n) {
        prefilter_put_slow(f, p, len);
        return;
    }
    memcpy(f->out + f->n, p, len);
    f->n += len;
}
#define PUT(f, literal) prefilter_put((f), (literal), sizeof(literal) - 1)

/* Pass on text. It must be in the document or static, because it is borrowed. */
void prefilter_put_text(struct prefilter *f, const char *p, size_t len);

/* Write one decoded character, as text or as a numeric reference. */
void prefilter_put_char(struct prefilter *f, uint32_t cp);
void prefilter_put_numeric(struct prefilter *f, uint32_t cp);

/* Read the reference at `p` (an '&'): a character, nothing (a forbidden character), the value of a
 * declared entity, or no reference. *len_out: its length. */
enum reference prefilter_reference(struct prefilter *f, const char *p, const char *end,
                                   uint32_t *cp_out, struct str *value_out, size_t *len_out);
void prefilter_text_reference(struct prefilter *f);

/* prefilter_scan() returns the next byte that needs special handling (`mask`). prefilter_odd_byte()
 * handles a byte that is special in all text: a control character, a line end, a noncharacter. It
 * writes the replacement and returns the byte's length in the input. */
const char *prefilter_scan(const char *p, const char *end, enum scan_mask mask);
size_t prefilter_odd_byte(struct prefilter *f, const char *p, const char *end);
void prefilter_cdata_content(struct prefilter *f, const char *p, const char *end);

/* ---- prefilter_tags.c ---- */

const char *prefilter_find_quote(struct prefilter *f, const char *from, char quote);
void prefilter_close_one(struct prefilter *f);
void prefilter_end_tag(struct prefilter *f);
void prefilter_start_tag(struct prefilter *f);
void prefilter_stray_less_than(struct prefilter *f);
