/* feed/lists/folders.c - see folders.h. */
#include "feed/lists/folders.h"

#include "base/buf.h"
#include "base/limits.h"
#include "feed/text/json.h"

struct str folders_of(struct arena *a, const struct str *names, size_t n)
{
    AUTO(buf_release) struct buf out = BUF_INIT(FOLDERS_MAX_LEN);

    if (n == 0 || n >= LIMIT_OPML_DEPTH)
        return STR_NULL;
    for (size_t i = 0; i < n; i++) {
        buf_putc(&out, i == 0 ? '[' : ',');
        json_write_text(&out, names[i]);
    }
    buf_putc(&out, ']');
    return buf_ok(&out) ? str_dup(a, buf_view(&out)) : STR_NULL;
}
