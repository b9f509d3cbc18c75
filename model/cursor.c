/* model/cursor.c - writes cursors. */
#include "model/cursor.h"

#include <string.h>

#include "base/digits.h"

void cursor_write(char out[CURSOR_TEXT], struct str log_id, int64_t seq, int64_t at_us)
{
    cursor_write_in(out, log_id, STR_NULL, seq, at_us);
}

void cursor_write_in(char out[CURSOR_TEXT], struct str log_id, struct str edition, int64_t seq,
                     int64_t at_us)
{
    cursor_write_over(out, log_id, edition, seq, 0, at_us);
}

void cursor_write_over(char out[CURSOR_TEXT], struct str log_id, struct str edition, int64_t seq,
                       int64_t floor, int64_t at_us)
{
    struct str log = str_slice(log_id, 0, CURSOR_LOG_DIGITS);
    char *p = out;

    memcpy(p, CURSOR_PREFIX, strlen(CURSOR_PREFIX));
    p += strlen(CURSOR_PREFIX);
    if (log.len > 0)
        memcpy(p, log.ptr, log.len);
    p += log.len;
    *p++ = '.';
    p += digits_write(p, seq);
    if (floor > seq) {
        *p++ = '-';
        p += digits_write(p, floor);
    }
    *p++ = '.';
    p += digits_write(p, at_us);
    if (edition.len > 0 && edition.len <= CURSOR_EDITION_LEN) {
        *p++ = '.';
        memcpy(p, edition.ptr, edition.len);
        p += edition.len;
    }
    *p = '\0';
}
