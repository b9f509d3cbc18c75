/* base/visible.c - see visible.h. */
#include "base/visible.h"

#include "base/buf.h"
#include "base/mem.h"

/* Unicode 16, general category Cf, ascending. */
static const struct {
    uint32_t first, last;
} formats[] = {
    {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},
    {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},     {0x180E, 0x180E},
    {0x200B, 0x200F},   {0x202A, 0x202E},   {0x2060, 0x2064},   {0x2066, 0x206F},
    {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD},
    {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0001, 0xE0001},
    {0xE0020, 0xE007F},
};

static bool is_format(uint32_t cp)
{
    for (size_t i = 0; i < ARRAY_LEN(formats) && cp >= formats[i].first; i++)
        if (cp <= formats[i].last)
            return true;
    return false;
}

/* Also U+2028 and U+2029, which end lines. */
static bool is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x2028 || cp == 0x2029;
}

bool visible_is(uint32_t cp)
{
    return !is_control(cp) && !is_format(cp);
}

size_t visible_next(struct str s, uint32_t *cp)
{
    unsigned char c = (unsigned char)s.ptr[0];
    size_t len = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;

    *cp = c;
    if (len == 1)
        return 1;
    if (len > s.len || str_utf8_valid(str_slice(s, 0, len)) != len) {
        *cp = 0xFFFD;
        return 1;
    }
    *cp = c & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        *cp = *cp << 6 | ((unsigned char)s.ptr[i] & 0x3Fu);
    return len;
}

/* Is it ASCII that is seen? Most texts are. */
static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 || (unsigned char)s.ptr[i] >= 0x7F)
            return false;
    return true;
}

struct str visible(struct arena *a, struct str text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    if (is_plain(text))
        return text;
    while (text.len > 0) {
        uint32_t cp;
        size_t n = visible_next(text, &cp);
        bool is_bad = cp == 0xFFFD && n == 1;

        if (is_bad || is_control(cp))
            buf_putc(&out, ' ');
        else if (!is_format(cp))
            buf_append(&out, text.ptr, n);
        text = str_slice(text, n, text.len);
    }
    return str_dup(a, buf_view(&out));
}
