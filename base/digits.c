/* base/digits.c - see digits.h. */
#include "base/digits.h"

#include <string.h>

size_t digits_write(char *out, int64_t n)
{
    char text[DIGITS_MAX], *p = text + sizeof text;
    uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

    do {
        *--p = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (n < 0)
        *--p = '-';
    memcpy(out, p, (size_t)(text + sizeof text - p));
    return (size_t)(text + sizeof text - p);
}

char *digits_pad(char *out, size_t width, unsigned n)
{
    for (size_t i = width; i > 0; i--) {
        out[i - 1] = (char)('0' + n % 10);
        n /= 10;
    }
    return out + width;
}
