/* model/shown.c - see shown.h. */
#include "model/shown.h"

#include <string.h>

#include "base/digest.h"

#define HASH_TEXT 8

static void hash_text(struct str uid, char out[HASH_TEXT + 1])
{
    unsigned char hash[16];

    digest_content(uid, hash);
    digest_hex(hash, HASH_TEXT / 2, out);
}

void shown_add(struct buf *shown, struct str uid)
{
    char text[HASH_TEXT + 1];

    hash_text(uid, text);
    buf_puts(shown, text);
}

bool shown_has(struct str shown, struct str uid)
{
    char text[HASH_TEXT + 1];

    if (str_is_null(shown))
        return true;
    hash_text(uid, text);
    for (size_t i = 0; i + HASH_TEXT <= shown.len; i += HASH_TEXT)
        if (memcmp(shown.ptr + i, text, HASH_TEXT) == 0)
            return true;
    return false;
}
