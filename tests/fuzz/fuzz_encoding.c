/* tests/fuzz/fuzz_encoding.c - any bytes under any label: what they are read as is valid UTF-8, not
 * longer than characters can be, and is itself read as it stands.
 *
 * An input may begin with its label: "charset=NAME" and a line end. Without one it is tried under
 * none and under each of a few that are often wrong. */
#include <stdint.h>

#include "base/assert.h"
#include "base/mem.h"
#include "feed/read/encoding.h"
#include "tests/fuzz/bound.h"

#define MEMORY_PER_BYTE 64
#define CHARACTER_MAX 16 /* bytes of UTF-8 that one byte becomes: TSCII has ligatures of three */
#define BOM STR("\xEF\xBB\xBF")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A name may stand in a message or an attribute. What a publisher wrote is in lower case; what was
 * guessed is spelled as is usual. */
static void check_name(struct str name)
{
    ASSERT(name.len > 0 && name.len <= 60);
    for (size_t i = 0; i < name.len; i++)
        ASSERT(name.ptr[i] >= ' ' && name.ptr[i] < 0x7f);
}

static void check_label(struct arena *a, struct str body, struct str label)
{
    struct str type =
        str_is_null(label) ? STR_NULL : str_printf(a, "application/xml; %.*s", STR_ARG(label));
    struct str name = content_type_charset(a, type);
    struct decoded d, again;

    if (!str_is_null(name)) {
        check_name(name);
        ASSERT(str_eq(name, str_lower(a, name)));
    }
    decode_document(a, body, type, &d);
    ASSERT(str_utf8_valid(d.text) == d.text.len);
    ASSERT(d.text.len <= body.len * CHARACTER_MAX);
    check_name(d.encoding);
    if (str_is_null(d.why) && str_eqz(d.encoding, "utf-8"))
        ASSERT(str_eq(d.text, str_starts(body, BOM) ? str_slice(body, 3, body.len) : body));
    if (!str_is_null(d.why))
        ASSERT(d.why.len > 0 && str_utf8_valid(d.why) == d.why.len);
    /* zeros say that an encoding is wide, whatever the label */
    if (!str_starts(d.text, BOM) && str_chr(d.text, '\0') < 0) {
        decode_document(a, d.text, STR("text/xml; charset=utf-8"), &again);
        ASSERT(str_eq(again.text, d.text));
        decoded_release(&again);
    }
    decoded_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const labels[] = {
        "charset=utf-8",         "charset=us-ascii", "charset=iso-8859-1",   "charset=utf-16",
        "charset=\"shift_jis\"", "charset=gb2312",   "charset=windows-1251", "charset=no-such"};
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bound bound = bound_start(len);
    /* a copy, so that a read past its end is seen */
    char *copy = memcpy(mem_alloc(len + 1), data, len);
    struct str body = str_of(copy, len);

    if (str_starts(body, STR("charset="))) {
        struct str label = str_split(&body, '\n');

        check_label(&a, str_is_null(body) ? STR("") : body, str_slice(label, 0, 200));
    } else {
        check_label(&a, body, STR_NULL);
        for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
            check_label(&a, body, str_from(labels[i]));
    }
    mem_free(copy);
    bound_check_time(&bound);
    bound_check_memory(&bound, &a, MEMORY_PER_BYTE);
    return 0;
}
