/* feed/read/encoding.c - iconv does the work; this file only decides which encodings to try. */
#include "feed/read/encoding.h"

#include <errno.h>
#include <iconv.h>
#include <uchardet.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "base/scan.h"
#include "feed/read/charsets.h"

#define DECODED_MAX ((size_t)LIMIT_FETCH_BODY * 4)

uint32_t c1_to_windows1252(uint32_t cp)
{
    static const uint16_t map[32] = {
        0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178,
    };

    return cp >= 0x80 && cp <= 0x9F ? map[cp - 0x80] : cp;
}

static bool is_ascii(struct str s)
{
    return scan_non_ascii(s.ptr, s.ptr + s.len) == s.ptr + s.len;
}

/* Returns the name in lower case. Bytes that cannot be in a name, nor in a message of ours, become
 * '?'. */
static struct str clean_name(struct arena *a, struct str name)
{
    char *z = arena_copy(a, name.ptr, name.len);

    for (size_t i = 0; i < name.len; i++)
        if (z[i] < ' ' || z[i] >= 0x7F)
            z[i] = '?';
    return str_lower(a, str_of(z, name.len));
}

struct str content_type_charset(struct arena *a, struct str content_type)
{
    ssize_t at = str_ifind(content_type, STR("charset"));
    struct str v;
    size_t n = 0;

    if (at < 0)
        return STR_NULL;
    v = str_trim(str_slice(content_type, (size_t)at + 7, content_type.len));
    if (!str_starts(v, STR("=")))
        return STR_NULL;
    v = str_trim(str_slice(v, 1, v.len));
    if (v.len > 0 && (v.ptr[0] == '"' || v.ptr[0] == '\''))
        v = str_slice(v, 1, v.len);
    while (n < v.len && n < 60 && strchr("\"'; \t,", v.ptr[n]) == NULL)
        n++;
    return n == 0 ? STR_NULL : clean_name(a, str_slice(v, 0, n));
}

/* Returns the encoding that the XML declaration at the beginning of `s` names, in lower case; or
 * null. */
static struct str declared_encoding(struct arena *a, struct str s)
{
    struct str decl;
    ssize_t end, at;
    size_t n = 0;
    char quote;

    s = str_trim(str_slice(s, 0, 1024));
    if (!str_starts(s, STR("<?xml")) || (end = str_find(s, STR("?>"))) < 0)
        return STR_NULL;
    decl = str_slice(s, 5, (size_t)end);
    if ((at = str_find(decl, STR("encoding"))) < 0)
        return STR_NULL;
    decl = str_trim(str_slice(decl, (size_t)at + 8, decl.len));
    if (!str_starts(decl, STR("=")))
        return STR_NULL;
    decl = str_trim(str_slice(decl, 1, decl.len));
    if (decl.len < 2 || (decl.ptr[0] != '"' && decl.ptr[0] != '\''))
        return STR_NULL;
    quote = decl.ptr[0];
    decl = str_slice(decl, 1, decl.len);
    while (n < decl.len && decl.ptr[n] != quote)
        n++;
    decl = str_trim(str_slice(decl, 0, n));
    return decl.len == 0 || decl.len > 60 ? STR_NULL : clean_name(a, decl);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-_.:+()", c) != NULL);
}

/* iconv accepts suffixes such as //IGNORE, and takes a name without letters for the locale's
 * encoding. Returns false for such names. */
static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!is_name_char(name.ptr[i]))
            return false;
    return name.len > 0;
}

static iconv_t open_iconv(struct arena *a, struct str name)
{
    const char *known = charset_iconv_name(name);
    bool is_number = true;
    iconv_t cd;
    char *z;

    if (known != NULL)
        return iconv_open("UTF-8", known);
    if (!is_name(name))
        return (iconv_t)-1;
    for (size_t i = 0; i < name.len; i++)
        is_number = is_number && name.ptr[i] >= '0' && name.ptr[i] <= '9';
    if (is_number)
        return iconv_open("UTF-8", arena_printf(a, "CP%.*s", STR_ARG(name)));
    z = str_z(a, name);
    cd = iconv_open("UTF-8", z);
    for (size_t i = 0; i < name.len && cd == (iconv_t)-1; i++)
        if (z[i] == '_')
            z[i] = '-';
    return cd != (iconv_t)-1 ? cd : iconv_open("UTF-8", z);
}

static bool is_wide(struct str name)
{
    struct str known = str_from(charset_iconv_name(name));

    return str_starts(known, STR("UTF-16")) || str_starts(known, STR("UTF-32")) ||
           str_istarts(name, STR("ucs-")) || str_istarts(name, STR("iso-10646"));
}

/* Returns the bytes of one code unit: so many are skipped where the text does not fit. */
static size_t unit_size(struct str name)
{
    if (!is_wide(name))
        return 1;
    return str_starts(str_from(charset_iconv_name(name)), STR("UTF-32")) ? 4 : 2;
}

enum strictness { STRICT, LENIENT };

/* for runs of ASCII of at least so many bytes, it is faster not to use iconv */
#define ASCII_RUN 64

/* Returns true for a single-byte encoding that contains ASCII and in which each byte is a character
 * of its own. In those of Hebrew and Vietnamese, bytes combine. */
static bool holds_ascii(struct str iconv_name)
{
    return str_starts(iconv_name, STR("ISO-8859-")) ||
           (iconv_name.len == 6 && str_starts(iconv_name, STR("CP125")) &&
            iconv_name.ptr[5] <= '4');
}

/* Append `bytes` to `out` as UTF-8. STRICT: returns false when the name is unknown or the bytes do
 * not fit. LENIENT: bytes that do not fit become U+FFFD. */
static bool convert(struct arena *a, struct str name, struct str bytes, enum strictness how,
                    struct buf *out)
{
    const struct charset_table *table = charset_table_find(name);
    struct str known = str_from(charset_iconv_name(name));
    bool is_windows = str_starts(known, STR("CP125")), has_ascii = holds_ascii(known);
    char *in = (char *)(uintptr_t)bytes.ptr;
    size_t in_left = bytes.len, unit = unit_size(name);
    iconv_t cd;
    bool ok = true;

    buf_reset(out);
    if (table != NULL) {
        for (size_t i = 0; i < bytes.len; i++) {
            unsigned char c = (unsigned char)bytes.ptr[i];

            buf_utf8(out, c < 0x80 ? c : table->upper[c - 0x80]);
        }
        return buf_ok(out);
    }
    if ((cd = open_iconv(a, name)) == (iconv_t)-1)
        return false;
    while (in_left > 0 && ok) {
        char piece[16 * 1024], *to = piece;
        size_t to_left = sizeof piece, n, behind = 0;
        int error;

        if (has_ascii) {
            size_t run = (size_t)(scan_non_ascii(in, in + in_left) - in);

            if (run >= ASCII_RUN) {
                buf_append(out, in, run);
                in += run;
                in_left -= run;
                ok = buf_ok(out);
                continue;
            }
            behind = in_left > 4 * ASCII_RUN ? in_left - 4 * ASCII_RUN : 0;
        }
        in_left -= behind;
        n = iconv(cd, &in, &in_left, &to, &to_left);
        error = errno;
        in_left += behind;
        buf_append(out, piece, (size_t)(to - piece));
        if (!buf_ok(out)) {
            ok = false;
        } else if (n == (size_t)-1 && error != E2BIG) {
            if (!is_windows && how == STRICT) {
                ok = false;
            } else {
                /* 0x81 and other unused bytes */
                buf_utf8(out, is_windows ? (unsigned char)*in : 0xFFFD);
                unit = unit < in_left ? unit : in_left;
                in += unit;
                in_left -= unit;
            }
        }
    }
    iconv_close(cd);
    /* iconv may return invalid Unicode: names such as "utf-???8" select its own tolerant decoder */
    return ok && str_utf8_valid(buf_view(out)) == out->len;
}

/* Convert UTF-8 in which some bytes are windows-1252, as template systems make it. */
static void convert_mixed(struct str s, struct buf *out)
{
    while (s.len > 0) {
        size_t n = str_utf8_valid(s);

        buf_append(out, s.ptr, n);
        if (n < s.len)
            buf_utf8(out, c1_to_windows1252((unsigned char)s.ptr[n++]));
        s = str_slice(s, n, s.len);
    }
}

/* Returns true when invalid UTF-8 is the exception. Invalid bytes next to each other count as one
 * place, because damage in one place proves only once that the text is something else. Looks at the
 * first 64 KiB of non-ASCII bytes. */
static bool is_mostly_utf8(struct str s)
{
    size_t n_good = 0, n_bad = 0, n_looks = 0, bad_end = SIZE_MAX;

    for (size_t i = 0; i < s.len && n_looks < 64 * 1024;) {
        size_t n;
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x80) {
            i++;
            continue;
        }
        n_looks++;
        n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
        if (c >= 0xC2 && i + n <= s.len && str_utf8_valid(str_of(s.ptr + i, n)) == n) {
            n_good++;
            i += n;
        } else {
            n_bad += bad_end != i;
            bad_end = ++i;
        }
    }
    return n_good >= n_bad * 4;
}

/* With fewer non-ASCII bytes than this, it is only chance which single-byte encoding seems to
 * fit. */
#define STATISTICS_MIN 16

static bool is_little_to_go_by(struct str body)
{
    size_t n = 0;

    for (size_t i = 0; i < body.len && n < STATISTICS_MIN; i++)
        n += (unsigned char)body.ptr[i] >= 0x80;
    return n < STATISTICS_MIN;
}

/* The names by which feeds know them, instead of those of their supersets. */
static const char *const guessed[][2] = {
    {"uhc", "EUC-KR"}, {"gb18030", "GB2312"}, {"big5", "Big5"}};

static struct str guess(struct arena *a, struct str body)
{
    uchardet_t ud = uchardet_new();
    struct str name = STR_NULL;

    if (uchardet_handle_data(ud, body.ptr, body.len < 65536 ? body.len : 65536) == 0) {
        uchardet_data_end(ud);
        name = str_lower(a, str_from(uchardet_get_charset(ud)));
    }
    uchardet_delete(ud);
    for (size_t i = 0; i < ARRAY_LEN(guessed); i++)
        if (str_eqz(name, guessed[i][0]))
            name = str_from(guessed[i][1]);
    return name.len == 0 ? STR_NULL : name;
}

struct bom {
    const char *bytes;
    size_t len, skip;
    const char *encoding;
};

/* Byte order marks (UTF-32 comes before UTF-16, because its mark begins with that of UTF-16), and
 * "<?xm" in EBCDIC. */
static const struct bom boms[] = {
    {"\x00\x00\xFE\xFF", 4, 4, "utf-32be"}, {"\xFF\xFE\x00\x00", 4, 4, "utf-32le"},
    {"\xFE\xFF", 2, 2, "utf-16be"},         {"\xFF\xFE", 2, 2, "utf-16le"},
    {"\xEF\xBB\xBF", 3, 3, "utf-8"},        {"\x4C\x6F\xA7\x94", 4, 0, "ibm037"},
};

/* Returns the wide encoding of a document that does not name one. A feed begins with a bracket, a
 * brace or white space, which has its zero bytes on one side. */
static struct str unmarked_wide(struct str body)
{
    size_t first = 0;

    while (first < 4 && first < body.len && body.ptr[first] == '\0')
        first++;
    if (body.len < 4 || first == 4 || strchr("<{ \t\r\n", body.ptr[first]) == NULL)
        return STR_NULL;
    if (first == 3)
        return STR("utf-32be");
    if (first == 1 && body.ptr[2] == '\0')
        return STR("utf-16be");
    if (first == 0 && body.ptr[1] == '\0')
        return body.ptr[2] == '\0' && body.ptr[3] == '\0' ? STR("utf-32le") : STR("utf-16le");
    return STR_NULL;
}

static bool is_utf8_name(struct str name)
{
    return str_eqz(name, "utf-8") || str_eqz(name, "utf8") || str_eqz(name, "u8");
}

static bool is_ascii_name(struct str name)
{
    return str_eqz(name, "us-ascii") || str_eqz(name, "ascii");
}

/* Returns true when the label `by` is possible for a document whose zero bytes show that it is
 * `wide`. */
static bool fits_zeros(struct str by, struct str wide)
{
    struct str known = str_from(charset_iconv_name(by));
    struct str seen = str_from(charset_iconv_name(wide));

    /* a label without byte order says only the size of a unit */
    return str_starts(seen, known) && known.len >= 6;
}

/* The default of servers that nobody has configured. */
static bool is_latin_name(struct str name)
{
    struct str known = str_from(charset_iconv_name(name));

    return is_ascii_name(name) || str_eqz(known, "ISO-8859-1") || str_eqz(known, "CP1252");
}

/* Decode the body as `name`. True: `text` (and maybe `owned`) is set. */
static bool try_encoding(struct arena *a, struct str name, struct str body, struct decoded *out)
{
    if (str_is_null(name))
        return false;
    if (is_utf8_name(name) || is_ascii_name(name)) {
        if (is_ascii_name(name) ? !is_ascii(body) : str_utf8_valid(body) < body.len)
            return false;
        out->text = body;
    } else {
        if (!convert(a, name, body, STRICT, &out->owned))
            return false;
        out->text = buf_view(&out->owned);
    }
    /* gb2312 is decoded as its superset */
    out->encoding = str_eqz(name, "gb2312") ? STR("gb18030") : name;
    return true;
}

/* The same, but bytes that do not fit become U+FFFD: for a text that was cut within a character,
 * for example. */
static bool force_encoding(struct arena *a, struct str name, struct str body, struct decoded *out)
{
    if (!convert(a, name, body, LENIENT, &out->owned))
        return false;
    out->text = buf_view(&out->owned);
    out->encoding = name;
    return true;
}

void decode_document(struct arena *a, struct str body, struct str content_type, struct decoded *out)
{
    struct str http = content_type_charset(a, content_type), bom = STR_NULL, xml, by = STR_NULL;
    bool has_mark = false, is_text;

    *out = (struct decoded){STR(""), STR("utf-8"), STR_NULL, BUF_INIT(DECODED_MAX)};
    for (size_t i = 0; i < ARRAY_LEN(boms) && str_is_null(bom); i++) {
        if (!str_starts(body, str_of(boms[i].bytes, boms[i].len)))
            continue;
        bom = str_from(boms[i].encoding);
        has_mark = boms[i].skip > 0;
        body = str_slice(body, boms[i].skip, body.len);
    }
    if (has_mark)
        out->encoding = bom; /* also when the body is empty */
    if (body.len == 0)
        return;
    if (str_is_null(bom))
        bom = unmarked_wide(body);
    xml = declared_encoding(a, body);
    if (!str_is_null(bom) && !str_eqz(bom, "utf-8")) {
        struct buf head = BUF_INIT(64 * 1024);

        if (convert(a, bom, str_slice(body, 0, 1024), LENIENT, &head))
            xml = declared_encoding(a, buf_view(&head));
        buf_release(&head);
        if (str_is_null(xml) || is_wide(xml))
            xml = bom;
    } else if (!str_is_null(xml) && is_wide(xml)) {
        /* the declaration can be read as ASCII, so the encoding cannot be a wide one */
        out->why = str_printf(a, "The XML declaration says %.*s, but that is wrong", STR_ARG(xml));
        xml = STR_NULL;
    }
    /* RFC 7303: a byte order mark takes precedence over the charset parameter, and that over the
     * declaration. A document of a text type without charset is decoded as ASCII only if it is pure
     * ASCII. */
    is_text = str_istarts(str_trim(content_type), STR("text/"));
    if (has_mark && try_encoding(a, bom, body, out)) {
        if (!str_is_null(xml) && !str_eq(xml, bom) && !is_utf8_name(xml))
            out->why = str_printf(a, "The XML declaration says %.*s, the byte order mark %.*s",
                                  STR_ARG(xml), STR_ARG(bom));
        return;
    }
    if (has_mark && is_wide(bom) && force_encoding(a, bom, body, out)) {
        out->why = str_printf(a, "Some bytes are not valid in %.*s", STR_ARG(bom));
        return;
    }
    if (is_latin_name(http) && (str_is_null(xml) || is_utf8_name(xml)) && !is_ascii(body) &&
        try_encoding(a, STR("utf-8"), body, out)) {
        /* the server says this of all its files; and only UTF-8 is valid as UTF-8 */
        out->why = str_printf(a, "The Content-Type says %.*s, but it is utf-8", STR_ARG(http));
        return;
    }
    if (!str_is_null(http)) {
        by = http;
    } else if (is_text && is_ascii(body) && (str_is_null(bom) || str_eqz(bom, "utf-8")) &&
               try_encoding(a, STR("us-ascii"), body, out)) {
        return;
    } else {
        by = str_is_null(xml) ? STR("utf-8") : xml;
    }
    if (is_wide(bom) && try_encoding(a, bom, body, out)) {
        if (fits_zeros(by, bom))
            out->encoding = by; /* it may leave out the byte order */
        else
            out->why = str_printf(a, "The declared encoding is %.*s, but the document is %.*s",
                                  STR_ARG(by), STR_ARG(bom));
        return;
    }
    if (try_encoding(a, by, body, out))
        return;
    out->why = str_printf(a, "The declared encoding %.*s does not fit the bytes", STR_ARG(by));
    if (try_encoding(a, xml, body, out) || try_encoding(a, bom, body, out) ||
        (!str_is_null(bom) && is_wide(bom) && force_encoding(a, bom, body, out)) ||
        try_encoding(a, STR("utf-8"), body, out))
        return;
    if (is_mostly_utf8(body)) {
        buf_reset(&out->owned);
        convert_mixed(body, &out->owned);
        out->text = buf_view(&out->owned);
        out->encoding = STR("utf-8");
    } else if ((str_is_null(xml) || is_utf8_name(xml) || is_ascii_name(xml) ||
                !force_encoding(a, xml, body, out)) &&
               !(is_little_to_go_by(body) && try_encoding(a, STR("windows-1252"), body, out)) &&
               !try_encoding(a, guess(a, body), body, out)) {
        (void)force_encoding(a, STR("windows-1252"), body, out);
    }
}

void decoded_release(struct decoded *d)
{
    buf_release(&d->owned);
}
