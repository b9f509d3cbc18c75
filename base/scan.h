/* base/scan.h - the next byte of a kind, sixteen at once. Pure, any thread.
 *
 * Each function returns the first byte of [p, end) that it looks for, or `end`. The code uses
 * vector types of the compiler, which become the vector instructions of each machine.
 */
#pragma once

#include <stdint.h>
#include <string.h>

typedef unsigned char scan_bytes __attribute__((vector_size(16)));

static inline scan_bytes scan_load(const char *p)
{
    scan_bytes v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* Index of the first byte of `hit` that is not 0; 16: all bytes are 0. */
static inline size_t scan_first(scan_bytes hit)
{
    uint64_t half[2];

    memcpy(half, &hit, sizeof half);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (half[0] != 0)
        return (size_t)__builtin_ctzll(half[0]) / 8;
    return half[1] != 0 ? 8 + (size_t)__builtin_ctzll(half[1]) / 8 : 16;
#else
    if (half[0] != 0)
        return (size_t)__builtin_clzll(half[0]) / 8;
    return half[1] != 0 ? 8 + (size_t)__builtin_clzll(half[1]) / 8 : 16;
#endif
}

/* Define `static inline const char *name(const char *p, const char *end)`. `vector`: which bytes of
 * the scan_bytes `v` hit; `scalar`: whether the unsigned char `c` does. When fewer bytes than a
 * vector are left, they are read together with the bytes before them. */
#define SCAN_DEFINE(name, vector, scalar)                                                          \
    static inline const char *name(const char *p, const char *end)                                 \
    {                                                                                              \
        if (end - p >= 16) {                                                                       \
            for (;; p += 16) {                                                                     \
                scan_bytes v;                                                                      \
                size_t at;                                                                         \
                if (end - p < 16) {                                                                \
                    if (p == end)                                                                  \
                        return end;                                                                \
                    p = end - 16;                                                                  \
                }                                                                                  \
                v = scan_load(p);                                                                  \
                at = scan_first((scan_bytes)(vector));                                             \
                if (at < 16)                                                                       \
                    return p + at;                                                                 \
            }                                                                                      \
        }                                                                                          \
        for (; p < end; p++) {                                                                     \
            unsigned char c = (unsigned char)*p;                                                   \
            if (scalar)                                                                            \
                return p;                                                                          \
        }                                                                                          \
        return end;                                                                                \
    }

SCAN_DEFINE(scan_non_ascii_near, v >= 0x80, c >= 0x80)

/* The same, for texts that rarely have such a byte: reads four vectors at once. */
static inline const char *scan_non_ascii(const char *p, const char *end)
{
    for (; end - p >= 64; p += 64) {
        scan_bytes all = scan_load(p) | scan_load(p + 16) | scan_load(p + 32) | scan_load(p + 48);

        if (scan_first((scan_bytes)(all >= 0x80)) < 16)
            break;
    }
    return scan_non_ascii_near(p, end);
}

/* What UTF-8 has in front of characters beyond U+00FF. */
SCAN_DEFINE(scan_beyond_latin1, v > 0xC3, c > 0xC3)
