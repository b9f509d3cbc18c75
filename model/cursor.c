/* model/cursor.c - writes cursors. */
#include "model/cursor.h"

#include <inttypes.h>
#include <stdio.h>

void cursor_write(char out[CURSOR_TEXT], struct str log_id, int64_t seq, int64_t at_us)
{
    int n = (int)(log_id.len < CURSOR_LOG_DIGITS ? log_id.len : CURSOR_LOG_DIGITS);

    snprintf(out, CURSOR_TEXT, CURSOR_PREFIX "%.*s.%" PRId64 ".%" PRId64, n, log_id.ptr, seq,
             at_us);
}
