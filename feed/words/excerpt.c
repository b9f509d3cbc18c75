/* feed/words/excerpt.c - see excerpt.h. */
#include "feed/words/excerpt.h"

#include <unictype.h>
#include <unigbrk.h>
#include <unistr.h>

#include "feed/words/words.h"

#define ELLIPSIS "\xE2\x80\xA6"

/* White space at which a line may end: not what is there to keep words together. */
static bool is_space(ucs4_t c)
{
    return c != 0xA0 && c != 0x2007 && c != 0x202F && uc_is_property_white_space(c);
}

/* Can an excerpt end between these two characters? */
static bool ends_between(ucs4_t before, ucs4_t c)
{
    if (is_space(c))
        return true;
    return (char_has_no_spaces(before) || char_has_no_spaces(c)) && uc_is_grapheme_break(before, c);
}

static struct str trim_end(struct str s)
{
    ucs4_t c;

    while (s.len > 0) {
        const uint8_t *start = (const uint8_t *)s.ptr;
        const uint8_t *last = u8_prev(&c, start + s.len, start);

        if (last == NULL || !is_space(c))
            break;
        s.len = (size_t)(last - start);
    }
    return s;
}

struct str excerpt(struct arena *a, struct str text, size_t max)
{
    size_t n = 0, end = 0;
    ucs4_t before = 0, c;

    for (size_t at = 0; at < text.len && max > 0; n++) {
        int len = u8_mbtouc(&c, (const uint8_t *)text.ptr + at, text.len - at);

        if (ends_between(before, c))
            end = at;
        if (n == max)
            return str_concat(a, trim_end(str_slice(text, 0, end)), STR(ELLIPSIS));
        at += (size_t)len;
        before = c;
    }
    return text;
}
