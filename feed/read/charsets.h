/* feed/read/charsets.h - what the name of a character encoding stands for. Pure, any thread. */
#pragma once

#include <stdint.h>

#include "base/str.h"

/* A single-byte encoding that iconv does not know. */
struct charset_table {
    const char *labels;
    uint16_t upper[128]; /* what 0x80 to 0xFF stand for */
};

/* The name that iconv has for the encoding `name`. Letter case, dashes, underscores and similar
 * characters do not matter. NULL: the table lacks it; iconv may still know it. */
const char *charset_iconv_name(struct str name);

/* The table of an encoding that iconv lacks, or NULL. */
const struct charset_table *charset_table_find(struct str name);
