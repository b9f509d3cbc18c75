/* feed/text/utf8.c - see utf8.h. */
#include "feed/text/utf8.h"

#include "base/buf.h"

struct str utf8_of(struct arena *a, struct str s)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    size_t n = str_utf8_valid(s);

    if (n == s.len)
        return s;
    for (; s.len > 0; n = str_utf8_valid(s)) {
        buf_str(&out, str_slice(s, 0, n));
        if (n < s.len)
            buf_utf8(&out, 0xFFFD);
        s = str_slice(s, n + 1, s.len);
    }
    return str_dup(a, buf_view(&out));
}
