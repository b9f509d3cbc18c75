/* tests/fuzz/fuzz_metadata.c - any bytes as the content of a metadata record: an entry that takes
 * it is one that can be stored and read again, and one that does not is as it was. */
#include <stdint.h>

#include "base/assert.h"
#include "base/mem.h"
#include "feed/lists/metadata.h"
#include "feed/text/json.h"
#include "tests/fuzz/bound.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(struct str body, const char *type, bool raw_html)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct value *entry = value_dict(&a), *back;
    struct parse_input in = {.body = body,
                             .url = STR("http://h.example/x/y"),
                             .content_type = STR_NULL,
                             .content_location = STR_NULL,
                             .content_language = STR_NULL,
                             .raw_html = raw_html};
    struct str ext = STR("");

    value_set_textz(&a, entry, "id", STR("urn:x"));
    if (!metadata_read(&a, &in, str_from(type), entry, &ext)) {
        ASSERT(value_len(entry) == 1 && ext.len == 0);
        return;
    }
    ASSERT(str_eqz(value_get_textz(entry, "id"), "urn:x"));
    json_write(&out, entry);
    ASSERT(str_utf8_valid(buf_view(&out)) == out.len);
    ASSERT(json_read(&a, buf_view(&out), &back, NULL) == RC_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const types[] = {"application/atom+xml", "text/html", "text/plain",
                                        "application/rdf+xml", "application/json"};
    struct bound bound = bound_start(len);
    /* a copy, so that a read past its end is seen */
    char *copy = memcpy(mem_alloc(len + 1), data, len);

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        check(str_of(copy, len), types[i], i % 2 == 1 && len % 2 == 1);
    mem_free(copy);
    bound_check_time(&bound);
    return 0;
}
