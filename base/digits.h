/* base/digits.h - writes numbers as decimal digits, for texts of which each delivery has several:
 * printf() took longer for these than everything else in them.
 *
 * Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGITS_MAX 20 /* bytes of the longest number, with its sign */

/* Write the number, without a final zero. Returns how many bytes that are. */
size_t digits_write(char *out, int64_t n);

/* Write the last `width` digits of the number, without a final zero. Returns what follows them. */
char *digits_pad(char *out, size_t width, unsigned n);
