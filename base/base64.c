/* base/base64.c - see base64.h. */
#include "base/base64.h"

#include <openssl/evp.h>

#include "base/ascii.h"

struct str base64_write(struct arena *a, struct str bytes)
{
    unsigned char *out = arena_alloc(a, (bytes.len + 2) / 3 * 4 + 1);
    int n = EVP_EncodeBlock(out, (const unsigned char *)bytes.ptr, (int)bytes.len);

    return str_of((const char *)out, (size_t)n);
}

struct str base64_read(struct arena *a, struct str text)
{
    char *out = arena_alloc(a, text.len + 1);
    size_t n = 0;
    uint32_t bits = 0;
    int n_bits = 0;

    while (text.len > 0 && text.ptr[text.len - 1] == '=')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        int digit = ascii_base64(text.ptr[i]);

        if (digit < 0)
            return STR_NULL;
        bits = bits << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[n++] = (char)(bits >> n_bits & 0xff);
        }
    }
    return str_of(out, n);
}
