/* feed/read/prefilter_text.c - passes text and references on to the parser. */
#include "feed/read/prefilter_priv.h"

#include "base/compiler.h"
#include "base/scan.h"
#include "feed/read/encoding.h"
#include "feed/text/html.h"

/* ---------------------------------------------------------------- output */

void prefilter_flush(struct prefilter *f)
{
    struct prefilter_batch batch = {str_of(f->out, f->n), f->texts, f->n_texts};

    if (f->n > 0 || f->n_texts > 0)
        f->sink(f->ctx, &batch);
    f->n = f->n_copied = f->n_texts = 0;
}

void prefilter_put_slow(struct prefilter *f, const char *p, size_t len)
{
    while (len > 0) {
        size_t room = sizeof f->out - f->n, n = len < room ? len : room;

        memcpy(f->out + f->n, p, n);
        f->n += n;
        p += n;
        len -= n;
        if (f->n == sizeof f->out)
            prefilter_flush(f);
    }
}

/* Copy short text that is not in the document in this form. */
static void copy_text(struct prefilter *f, const char *p, size_t len)
{
    struct prefilter_text *last = NULL;
    char *to;

    if (len > sizeof f->copied - f->n_copied || f->n_texts == TEXTS_MAX)
        prefilter_flush(f);
    to = f->copied + f->n_copied;
    if (f->n_texts > 0)
        last = &f->texts[f->n_texts - 1];
    if (last == NULL || last->at != f->n_tags || last->text.ptr + last->text.len != to) {
        last = &f->texts[f->n_texts++];
        *last = (struct prefilter_text){str_of(to, 0), f->n_tags};
    }
    memcpy(to, p, len);
    f->n_copied += len;
    last->text.len += len;
}

void prefilter_put_text(struct prefilter *f, const char *p, size_t len)
{
    if (f->n_texts == TEXTS_MAX)
        prefilter_flush(f);
    if (len < TEXT_SHORT && f->n_texts > 0 && f->texts[f->n_texts - 1].at == f->n_tags)
        copy_text(f, p, len);
    else
        f->texts[f->n_texts++] = (struct prefilter_text){str_of(p, len), f->n_tags};
}

void prefilter_put_char(struct prefilter *f, uint32_t cp)
{
    char utf8[4];
    size_t n = 0;

    if (cp < 0x80) {
        utf8[n++] = (char)cp;
    } else if (cp < 0x800) {
        utf8[n++] = (char)(0xC0 | cp >> 6);
        utf8[n++] = (char)(0x80 | (cp & 63));
    } else if (cp < 0x10000) {
        utf8[n++] = (char)(0xE0 | cp >> 12);
        utf8[n++] = (char)(0x80 | (cp >> 6 & 63));
        utf8[n++] = (char)(0x80 | (cp & 63));
    } else {
        utf8[n++] = (char)(0xF0 | cp >> 18);
        utf8[n++] = (char)(0x80 | (cp >> 12 & 63));
        utf8[n++] = (char)(0x80 | (cp >> 6 & 63));
        utf8[n++] = (char)(0x80 | (cp & 63));
    }
    copy_text(f, utf8, n);
}

void prefilter_put_numeric(struct prefilter *f, uint32_t cp)
{
    char ref[16], *at = ref + sizeof ref;

    *--at = ';';
    do
        *--at = (char)('0' + cp % 10);
    while ((cp /= 10) > 0);
    *--at = '#';
    *--at = '&';
    prefilter_put(f, at, (size_t)(ref + sizeof ref - at));
}

/* ---------------------------------------------------------------- references */

static bool is_xml_char(uint32_t cp)
{
    return (cp >= 0x20 && cp < 0xD800) || (cp >= 0xE000 && cp < 0xFFFE) ||
           (cp >= 0x10000 && cp <= 0x10FFFF) || cp == '\t' || cp == '\n' || cp == '\r';
}

/* Read a reference that XML itself defines at `p`. *out: its character. Returns its length; 0:
 * there is none. */
static size_t usual_reference(const char *p, const char *end, char *out)
{
    if (end - p < 6)
        return 0;
    switch (p[1]) {
    case 'l':
        *out = '<';
        return p[2] == 't' && p[3] == ';' ? 4 : 0;
    case 'g':
        *out = '>';
        return p[2] == 't' && p[3] == ';' ? 4 : 0;
    case 'a':
        *out = '&';
        return memcmp(p + 2, "mp;", 3) == 0 ? 5 : 0;
    case 'q':
        *out = '"';
        return memcmp(p + 2, "uot;", 4) == 0 ? 6 : 0;
    default:
        return 0;
    }
}

enum reference prefilter_reference(struct prefilter *f, const char *p, const char *end,
                                   uint32_t *cp_out, struct str *value_out, size_t *len_out)
{
    static const struct {
        struct str name;
        uint32_t cp;
    } xml[] = {{{"lt", 2}, '<'},
               {{"gt", 2}, '>'},
               {{"amp", 3}, '&'},
               {{"quot", 4}, '"'},
               {{"apos", 4}, '\''}};
    const char *q = p + 1;
    struct str name;
    uint32_t cp = 0;

    if (q < end && *q == '#') {
        bool is_hex = ++q < end && (*q == 'x' || *q == 'X');
        const char *from;

        q += is_hex;
        for (from = q; q < end && q - from < 10; q++) {
            int v = *q >= '0' && *q <= '9'                           ? *q - '0'
                    : is_hex && (*q | 32) >= 'a' && (*q | 32) <= 'f' ? (*q | 32) - 'a' + 10
                                                                     : -1;
            if (v < 0)
                break;
            cp = cp > 0x110000 ? cp : cp * (is_hex ? 16 : 10) + (uint32_t)v;
        }
        if (q == from || q == end || *q != ';')
            return REF_NONE;
        *len_out = (size_t)(q + 1 - p);
        *cp_out = cp;
        if (is_xml_char(cp))
            return REF_CHAR;
        mended(f, "A numeric reference names a character that XML forbids");
        return REF_NOTHING;
    }
    while (q < end && prefilter_is_name_char(*q) && q - p <= 64)
        q++;
    if (q == p + 1 || q == end || *q != ';')
        return REF_NONE;
    name = str_of(p + 1, (size_t)(q - p - 1));
    *len_out = (size_t)(q + 1 - p);
    for (size_t i = 0; i < ARRAY_LEN(xml); i++)
        if (str_eq(name, xml[i].name)) {
            *cp_out = xml[i].cp;
            return REF_CHAR;
        }
    for (size_t i = 0; i < f->n_entities; i++)
        if (str_eq(name, f->entities[i].name)) {
            *value_out = f->entities[i].value;
            f->n_expanded += value_out->len;
            if (f->n_expanded <= EXPANSION_MAX)
                return REF_VALUE;
            mended(f, "The entities of the document expand to too much text");
            return REF_NOTHING;
        }
    if ((cp = html_entity(name)) == 0)
        return REF_NONE;
    mended(f, "An HTML entity is used that XML does not know");
    *cp_out = cp;
    return REF_CHAR;
}

/* Write the value of a declared entity: characters and character references, nothing else. */
static void put_entity_value(struct prefilter *f, struct str value)
{
    for (size_t i = 0; i < value.len;) {
        uint32_t cp = 0;
        size_t n = 1;
        struct str inner;

        if (value.ptr[i] == '&' && prefilter_reference(f, value.ptr + i, value.ptr + value.len, &cp,
                                                       &inner, &n) == REF_CHAR) {
            prefilter_put_char(f, cp);
        } else {
            n = 1;
            while (i + n < value.len && value.ptr[i + n] != '&')
                n++;
            prefilter_put_text(f, value.ptr + i, n);
        }
        i += n;
    }
}

const char prefilter_written_amp[1] = {'&'};
const char prefilter_lost_text[1] = {0};

static bool is_in_id(const struct prefilter *f)
{
    struct str name = f->depth == 0 ? STR("") : f->open[f->depth - 1];

    return str_eqz(name, "id") || str_eqz(name, "guid") || str_eqz(name, "atom:id");
}

static void put_written_amp(struct prefilter *f)
{
    if (f->n_texts == TEXTS_MAX)
        prefilter_flush(f);
    f->texts[f->n_texts++] = (struct prefilter_text){str_of(prefilter_written_amp, 1), f->n_tags};
}

/* Returns true for characters that the name of an SGML entity may have. */
static bool is_entity_char(char c, bool at_start)
{
    unsigned char u = (unsigned char)c;

    return (u | 0x20u) - 'a' < 26 ||
           (!at_start && ((u >= '0' && u <= '9') || u == '-' || u == '.'));
}

/* "&b" of "?a=1&b=2" in an id; the Universal Feed Parser writes it as "&b;". Returns its length. */
static size_t unended_reference(struct prefilter *f)
{
    const char *q = f->p + 1;

    while (q < f->end && is_entity_char(*q, q == f->p + 1))
        q++;
    prefilter_put_text(f, f->p, (size_t)(q - f->p));
    if (q > f->p + 1 && q < f->end && *q != ';')
        prefilter_put_char(f, ';');
    return (size_t)(q - f->p);
}

void prefilter_text_reference(struct prefilter *f)
{
    uint32_t cp = 0;
    struct str value;
    char usual;
    size_t len = usual_reference(f->p, f->end, &usual);

    if (len > 0) {
        if (usual == '&' && is_in_id(f))
            put_written_amp(f);
        else
            copy_text(f, &usual, 1);
        f->p += len;
        return;
    }
    len = 1;
    switch (prefilter_reference(f, f->p, f->end, &cp, &value, &len)) {
    case REF_NONE:
        mended(f, "An ampersand is not escaped");
        if (is_in_id(f)) {
            len = unended_reference(f);
            break;
        }
        prefilter_put_char(f, '&');
        len = 1;
        break;
    case REF_CHAR:
        /* but "&#038;" means the character itself */
        if (cp == '&' && f->p[2] != '0' && is_in_id(f))
            put_written_amp(f);
        else
            prefilter_put_char(f, cp);
        break;
    case REF_VALUE:
        put_entity_value(f, value);
        break;
    case REF_NOTHING:
        break;
    }
    f->p += len;
}

/* ---------------------------------------------------------------- text */

static const unsigned char special[256] = {
    [0] = 7,  [1] = 7,  [2] = 7,  [3] = 7,   [4] = 7,   [5] = 7,   [6] = 7,    [7] = 7,  [8] = 7,
    [11] = 7, [12] = 7, [13] = 3, [14] = 7,  [15] = 7,  [16] = 7,  [17] = 7,   [18] = 7, [19] = 7,
    [20] = 7, [21] = 7, [22] = 7, [23] = 7,  [24] = 7,  [25] = 7,  [26] = 7,   [27] = 7, [28] = 7,
    [29] = 7, [30] = 7, [31] = 7, ['<'] = 5, ['&'] = 5, [']'] = 1, [0xEF] = 7,
};

/* The same for vectors. They may stop at a few more bytes; the table then decides. */
#define IS_ODD(v) (((v) < 0x20) & ((v) != '\n') & ((v) != '\t'))
SCAN_DEFINE(scan_cdata, IS_ODD(v) | (v == 0xEF), special[c] & CDATA)
SCAN_DEFINE(scan_value, IS_ODD(v) | (v == 0xEF) | (v == '<') | (v == '&'), special[c] & VALUE)
SCAN_DEFINE(scan_text, IS_ODD(v) | (v == 0xEF) | (v == '<') | (v == '&') | (v == ']'),
            special[c] & TEXT)

static bool is_noncharacter(const char *p, const char *end)
{
    return end - p >= 3 && (unsigned char)p[1] == 0xBF && (unsigned char)p[2] >= 0xBE;
}

const char *prefilter_scan(const char *p, const char *end, enum scan_mask mask)
{
    while (p < end) {
        p = mask == TEXT    ? scan_text(p, end)
            : mask == CDATA ? scan_cdata(p, end)
                            : scan_value(p, end);
        if (p == end)
            break;
        if ((unsigned char)*p == 0xEF && !is_noncharacter(p, end))
            p += end - p < 3 ? end - p : 3;
        else if (special[(unsigned char)*p] & mask)
            break;
        else
            p++;
    }
    return p;
}

size_t prefilter_odd_byte(struct prefilter *f, const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;

    if (c == '\r') {
        if (p + 1 == end || p[1] != '\n')
            prefilter_put_text(f, "\n", 1);
        return 1;
    }
    if (c == 0xEF) { /* U+FFFE and U+FFFF */
        mended(f, "There are characters that XML forbids");
        return 3;
    }
    mended(f, "There are control characters that XML forbids");
    return 1;
}

/* In a CDATA section of an id, an '&' counts as written "&amp;". */
static const char *put_id_text(struct prefilter *f, const char *p, const char *end)
{
    const char *amp;

    while ((amp = memchr(p, '&', (size_t)(end - p))) != NULL) {
        if (amp > p)
            prefilter_put_text(f, p, (size_t)(amp - p));
        put_written_amp(f);
        p = amp + 1;
    }
    return p;
}

void prefilter_cdata_content(struct prefilter *f, const char *p, const char *end)
{
    bool is_id = is_in_id(f);

    while (p < end) {
        const char *q = prefilter_scan(p, end, CDATA);

        if (is_id)
            p = put_id_text(f, p, q);
        if (q > p)
            prefilter_put_text(f, p, (size_t)(q - p));
        p = q;
        if (p < end)
            p += prefilter_odd_byte(f, p, end);
    }
}
