/* base/age.c - see age.h. */
#include "base/age.h"

#include "base/ascii.h"
#include "base/compiler.h"

bool age_read(struct str text, int64_t *s)
{
    static const struct {
        char unit;
        int64_t s;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    int64_t n;

    if (text.len < 2 || !ascii_is_digit(text.ptr[0]) ||
        !str_to_i64(str_slice(text, 0, text.len - 1), &n))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (units[i].unit == text.ptr[text.len - 1] && n <= AGE_MAX / units[i].s) {
            *s = n * units[i].s;
            return true;
        }
    return false;
}
