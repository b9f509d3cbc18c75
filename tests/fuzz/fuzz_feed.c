/* tests/fuzz/fuzz_feed.c - any bytes as a feed: read, identified, stored as text, written in every
 * format and read again.
 *
 * What leaves must be well-formed and hold the same entries, whatever came in; and it must not cost
 * more than its length allows. */
#include <stdint.h>

#include "tests/documents/check_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct parse_input in = {.body = str_of((const char *)data, len),
                             .url = STR("http://e.org/a/feed")};

    check_feed(&in, CHECK_BOTH);
    return 0;
}
