/* model/folders.c - see folders.h. Both are texts that this program has written, without spaces, so
 * one begins with the other if it is in it. */
#include "model/folders.h"

#include <string.h>

static bool is_none(struct str folder)
{
    return folder.len <= 2;
}

struct str folders_within(struct arena *a, struct str outer, struct str folder)
{
    if (is_none(outer) || is_none(folder))
        return is_none(outer) ? (is_none(folder) ? STR_NULL : folder) : outer;
    if (outer.len + folder.len - 1 > FOLDERS_MAX_LEN)
        return outer;
    return str_printf(a, "%.*s,%.*s", (int)outer.len - 1, outer.ptr, (int)folder.len - 1,
                      folder.ptr + 1);
}

struct str folders_without(struct arena *a, struct str outer, struct str folder)
{
    size_t n = outer.len - 1; /* without its bracket */

    if (is_none(folder))
        return STR_NULL;
    if (is_none(outer) || folder.len < outer.len || memcmp(folder.ptr, outer.ptr, n) != 0)
        return folder;
    if (folder.ptr[n] == ']')
        return STR_NULL;
    return folder.ptr[n] == ','
               ? str_printf(a, "[%.*s", (int)(folder.len - n - 1), folder.ptr + n + 1)
               : folder;
}
