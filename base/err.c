/* base/err.c - error texts, and the table of enum rc. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

static const struct {
    const char *name, *meaning;
} rows[] = {
#define RC(code, meaning) {#code, meaning},
#include "base/rc.def"
#undef RC
};

/* If the end of the array cut a UTF-8 sequence in two, remove its first part. */
static void mend_tail(char *text, size_t len)
{
    size_t i = len;

    while (i > 0 && len - i < 4 && ((unsigned char)text[i - 1] & 0xC0) == 0x80)
        i--;
    if (i > 0 && ((unsigned char)text[i - 1] & 0xC0) == 0xC0) {
        unsigned char lead = (unsigned char)text[i - 1];
        size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
        if (len - (i - 1) < need)
            text[i - 1] = '\0';
    }
}

enum rc err_set(struct err *err, enum rc rc, const char *fmt, ...)
{
    va_list ap;
    int n;

    ASSERT(rc != RC_OK);
    if (err == NULL)
        return rc;
    err->rc = rc;
    va_start(ap, fmt);
    n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof err->text)
        mend_tail(err->text, sizeof err->text - 1);
    return rc;
}

enum rc err_prefix(struct err *err, const char *fmt, ...)
{
    char old[sizeof err->text];
    va_list ap;
    int n, m;

    if (err == NULL)
        return RC_INTERNAL;
    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n < 0)
        n = 0;
    if ((size_t)n < sizeof err->text) {
        m = snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", old);
        n = m < 0 ? n : n + m;
    }
    if ((size_t)n >= sizeof err->text)
        mend_tail(err->text, sizeof err->text - 1);
    return err->rc;
}

const char *rc_name(enum rc rc)
{
    ASSERT((size_t)rc < ARRAY_LEN(rows));
    return rows[rc].name;
}

const char *rc_meaning(enum rc rc)
{
    ASSERT((size_t)rc < ARRAY_LEN(rows));
    return rows[rc].meaning;
}
