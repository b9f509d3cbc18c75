/* feed/read/charsets.h - finds character encodings by their names. Pure, any thread. */
#pragma once

#include <stdint.h>

#include "base/str.h"

/* A single-byte encoding that iconv does not know. */
struct charset_table {
    const char *labels;
    uint16_t upper[128]; /* code points of the bytes 0x80 to 0xFF */
};

/* Returns the name that iconv has for the encoding `name`. Letter case, dashes, underscores and
 * similar characters do not matter. NULL: it is not in our table, but iconv may know it. */
const char *charset_iconv_name(struct str name);

/* Returns the table of an encoding that iconv does not have, or NULL. */
const struct charset_table *charset_table_find(struct str name);
