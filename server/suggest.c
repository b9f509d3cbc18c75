/* server/suggest.c - the distance between two words (optimal string alignment). */
#include "server/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 31 /* longer words get no suggestion */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

static bool is_same(char x, char y)
{
    return tolower((unsigned char)x) == tolower((unsigned char)y);
}

static unsigned distance(const char *x, size_t n, const char *y, size_t m)
{
    unsigned rows[WORD_MAX + 1][WORD_MAX + 1];

    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            if (i == 0 || k == 0) {
                rows[i][k] = (unsigned)(i + k);
                continue;
            }
            rows[i][k] = min3(rows[i - 1][k] + 1, rows[i][k - 1] + 1,
                              rows[i - 1][k - 1] + !is_same(x[i - 1], y[k - 1]));
            if (i > 1 && k > 1 && is_same(x[i - 1], y[k - 2]) && is_same(x[i - 2], y[k - 1]) &&
                rows[i - 2][k - 2] + 1 < rows[i][k])
                rows[i][k] = rows[i - 2][k - 2] + 1;
        }
    return rows[n][m];
}

void suggest_consider(struct suggestion *s, const char *candidate)
{
    size_t n = strlen(s->typed), m = strlen(candidate);
    size_t letters = n - strspn(s->typed, "-");
    unsigned d, max = letters < 5 ? 1 : 2;

    if (n > WORD_MAX || m > WORD_MAX)
        return;
    if (letters >= 3 && m > n && strncasecmp(s->typed, candidate, n) == 0)
        d = 1; /* it is the beginning of it */
    else
        d = distance(s->typed, n, candidate, m);
    if (d <= max && (s->best == NULL || d < s->distance)) {
        s->best = candidate;
        s->distance = d;
    }
}
