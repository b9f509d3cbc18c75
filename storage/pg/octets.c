/* storage/pg/octets.c - see octets.h. */
#include "storage/pg/octets.h"

#include <string.h>

#define MARK '\x01'
#define FIRST 0x100u /* the character of byte 0; all of them have two bytes in UTF-8 */

static bool is_text(struct str s)
{
    return s.len == 0 ||
           (s.ptr[0] != MARK && str_utf8_valid(s) == s.len && memchr(s.ptr, '\0', s.len) == NULL);
}

struct str pg_text_of_octets(struct str bytes, struct buf *buf)
{
    if (is_text(bytes))
        return bytes;
    buf_reset(buf);
    buf_putc(buf, MARK);
    for (size_t i = 0; i < bytes.len; i++)
        buf_utf8(buf, FIRST + (unsigned char)bytes.ptr[i]);
    return buf_view(buf);
}

struct str pg_octets_of_text(struct str text, struct buf *buf)
{
    if (text.len == 0 || text.ptr[0] != MARK)
        return text;
    buf_reset(buf);
    for (size_t i = 1; i + 1 < text.len; i += 2) {
        unsigned cp =
            ((unsigned char)text.ptr[i] & 0x1fu) << 6 | ((unsigned char)text.ptr[i + 1] & 0x3fu);

        buf_putc(buf, (char)(cp - FIRST));
    }
    return buf_view(buf);
}
