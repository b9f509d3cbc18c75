/* feed/read/mend.c - repairs characters that were encoded wrongly, and trims texts. */
#include "base/scan.h"
#include "feed/read/builder.h"
#include "feed/read/encoding.h"

/* Returns the length of the white space character at the beginning of `s`; 0: there is none.
 * No-break spaces and the like count as white space. */
static size_t space_len(struct str s)
{
    static const char *const wide[] = {"\xC2\xA0", "\xC2\x85", "\xE3\x80\x80", NULL};
    unsigned char c = s.len > 0 ? (unsigned char)s.ptr[0] : 'x';

    if (c == ' ' || (c >= 9 && c <= 13))
        return 1;
    for (size_t i = 0; c >= 0x80 && wide[i] != NULL; i++)
        if (str_starts(s, str_from(wide[i])))
            return strlen(wide[i]);
    if (s.len >= 3 && memcmp(s.ptr, "\xE2\x80", 2) == 0 &&
        ((unsigned char)s.ptr[2] <= 0x8A || (unsigned char)s.ptr[2] == 0xA8 ||
         (unsigned char)s.ptr[2] == 0xA9))
        return 3;
    return 0;
}

static struct str trim(struct str s)
{
    size_t n;

    while ((n = space_len(s)) > 0)
        s = str_slice(s, n, s.len);
    for (;;) {
        s = str_trim(s);
        n = 0;
        for (size_t back = 2; back <= 3 && n == 0 && s.len >= back; back++)
            if ((unsigned char)s.ptr[s.len - back] >= 0xC2 &&
                space_len(str_slice(s, s.len - back, s.len)) == back)
                n = back;
        if (n == 0)
            return s;
        s = str_slice(s, 0, s.len - n);
    }
}

enum doubled { DOUBLED_NO, DOUBLED_MAYBE, DOUBLED_SURELY };

/* Finds out whether the bytes are UTF-8 that was taken for Latin-1 and encoded once more. A single
 * letter with a sign after it ("CAF\u00C9\u2014") can look so by chance. Texts that are really
 * doubled have Latin letters, quotes, or whole words of it. */
static enum doubled is_doubled(struct str bytes)
{
    size_t n_rare = 0;
    bool is_usual = false;

    if (str_utf8_valid(bytes) < bytes.len)
        return DOUBLED_NO;
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];

        if (c < 0xC2)
            continue;
        if (c <= 0xC3 || c >= 0xE0)
            is_usual = true;
        else
            n_rare++;
    }
    return is_usual || n_rare >= 3 ? DOUBLED_SURELY : DOUBLED_MAYBE;
}

/* Count this text for the whole document, and decide whether to repair it. A text that is only
 * perhaps doubled is repaired if other texts certainly are, and none is certainly not. For that,
 * parse.c reads the document a second time. */
static bool mends_doubled(struct builder *b, enum doubled found)
{
    size_t *count[] = {&b->doubling.n_no, &b->doubling.n_may, &b->doubling.n_sure};

    if (b->doubling.is_half && found == DOUBLED_NO)
        /* it is incomplete: it cannot be repaired, but it does not speak against doubling */
        found = DOUBLED_MAYBE;
    ++*count[found];
    if (b->doubling.is_half) {
        b->doubling.is_half = false;
        return found == DOUBLED_SURELY;
    }
    return found == DOUBLED_SURELY || (found == DOUBLED_MAYBE && b->doubling.is_sure);
}

SCAN_DEFINE(scan_c2, v == 0xC2, c == 0xC2)

struct str builder_mend_c1(struct builder *b, struct str s)
{
    const char *end = s.ptr + s.len, *c1 = scan_c2(s.ptr, end);
    struct buf out;

    while (end - c1 >= 2 && (unsigned char)c1[1] >= 0xA0)
        c1 = scan_c2(c1 + 2, end);
    if (end - c1 < 2)
        return s;
    out = (struct buf)BUF_INIT(BUF_ANY);
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c == 0xC2 && i + 1 < s.len && (unsigned char)s.ptr[i + 1] < 0xA0)
            buf_utf8(&out, c1_to_windows1252((unsigned char)s.ptr[++i]));
        else
            buf_putc(&out, s.ptr[i]);
    }
    s = str_dup(b->a, buf_view(&out));
    buf_release(&out);
    return s;
}

/* Returns the bytes that the Latin-1 characters of `s` stand for, in the arena; null: `s` has other
 * characters. */
static struct str latin1_bytes(struct arena *a, struct str s)
{
    char *bytes;
    size_t n = 0;

    if (scan_beyond_latin1(s.ptr, s.ptr + s.len) < s.ptr + s.len)
        return STR_NULL;
    bytes = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c >= 0x80)
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)s.ptr[++i] & 63));
        bytes[n++] = (char)c;
    }
    return str_of(bytes, n);
}

struct str builder_mend_characters(struct builder *b, struct str s)
{
    const char *end = s.ptr + s.len, *first = scan_non_ascii(s.ptr, end);
    struct arena_mark before = arena_mark(b->a);
    enum doubled found = DOUBLED_NO;
    struct str bytes = STR_NULL;

    if (first == end)
        return s;
    /* one doubled character is two Latin-1 characters, so four bytes */
    if (end - first >= 4 && (unsigned char)first[2] >= 0x80)
        bytes = latin1_bytes(b->a, s);
    if (!str_is_null(bytes))
        found = is_doubled(bytes);
    if (mends_doubled(b, found))
        return bytes;
    arena_rewind(b->a, before);
    return builder_mend_c1(b, s);
}

/* A doubled "\xC3\xA0" at the end of a text ends in a no-break space. This space belongs to the
 * text if the rest of the text, or of the document, is doubled. */
static struct str with_doubled_end(struct builder *b, struct str trimmed, const char *end)
{
    struct arena_mark before = arena_mark(b->a);
    struct str bytes;
    bool is_sure = b->doubling.is_sure;

    if (end - (trimmed.ptr + trimmed.len) < 2 || !str_ends(trimmed, STR("\xC3\x83")) ||
        memcmp(trimmed.ptr + trimmed.len, "\xC2\xA0", 2) != 0)
        return trimmed;
    bytes = latin1_bytes(b->a, str_slice(trimmed, 0, trimmed.len - 2));
    is_sure =
        is_sure || (!str_is_null(bytes) &&
                    scan_non_ascii(bytes.ptr, bytes.ptr + bytes.len) < bytes.ptr + bytes.len &&
                    is_doubled(bytes) == DOUBLED_SURELY);
    arena_rewind(b->a, before);
    if (is_sure)
        return str_of(trimmed.ptr, trimmed.len + 2);
    b->doubling.is_half = true;
    return trimmed;
}

struct str builder_trim(struct builder *b, struct str s)
{
    return with_doubled_end(b, trim(s), s.ptr + s.len);
}
