/* base/switch.c - see switch.h. */
#include "base/switch.h"

bool switch_read(struct str s, bool *out)
{
    static const char *const words[][2] = {{"no", "yes"}, {"off", "on"}, {"false", "true"}, {"0", "1"}};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (int on = 0; on < 2; on++)
            if (str_ieqz(s, words[i][on])) {
                *out = on != 0;
                return true;
            }
    return false;
}
