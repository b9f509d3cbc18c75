/* storage/iri.c - see iri.h. */
#include "storage/iri.h"

#include <string.h>

#include "base/digest.h"

int64_t iri_of_uid(struct str uid)
{
    unsigned char hash[16];
    int64_t n;
    ssize_t colon = str_chr(uid, ':');

    if (colon < 2 || (size_t)colon + 1 == uid.len)
        return 0;
    for (size_t i = 0; i < uid.len; i++) {
        unsigned char c = (unsigned char)uid.ptr[i];
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        bool in_scheme =
            letter || (i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));

        if (c <= ' ' || c == '"' || c == '<' || c == '>' || (i < (size_t)colon && !in_scheme))
            return 0;
    }
    digest_content(uid, hash);
    memcpy(&n, hash, sizeof n);
    n &= INT64_MAX;
    return n == 0 ? 1 : n;
}
