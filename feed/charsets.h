/* feed/charsets.h - what the name of a character encoding stands for. Pure, any thread. */
#pragma once

#include <stdint.h>

#include "base/str.h"

/* An encoding of single bytes that iconv does not know. */
struct charset_table {
    const char *labels;
    uint16_t upper[128]; /* what 0x80 to 0xFF stand for */
};

/* The name by which iconv knows what `name` means. Letter case, dashes, underscores and the like do
 * not matter. NULL when the table lacks it; iconv may know it all the same. */
const char *charset_iconv_name(struct str name);

/* The table of an encoding that iconv lacks, or NULL. */
const struct charset_table *charset_table_find(struct str name);
