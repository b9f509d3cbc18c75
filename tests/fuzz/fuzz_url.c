/* tests/fuzz/fuzz_url.c - any bytes as a URL: what is accepted is canonical, and stays so. */
#include <stdint.h>

#include "base/assert.h"
#include "base/limits.h"
#include "net/url.h"
#include "tests/fuzz/bound.h"

#define MEMORY_PER_BYTE 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What a canonical URL may be made of, with each %XX complete. */
static void check_url(struct str url)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.ptr[i];

        ASSERT(c > ' ' && c < 0x7f && strchr("\"<>\\^`{|}#", c) == NULL);
    }
    ASSERT(url.len > 0 && url.len <= LIMIT_URL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bound bound = bound_start(len);
    struct str raw = str_of((const char *)data, len), ref, s;
    struct url_parts p, again;
    ssize_t cut = str_chr(raw, '\n');

    ref = cut < 0 ? raw : str_slice(raw, (size_t)cut + 1, len);
    (void)url_resolve(&a, raw, ref);
    s = url_public(&a, raw);
    ASSERT(str_chr(s, '\n') < 0);
    s = url_encode(&a, raw);
    ASSERT(str_eq(url_decode(&a, s, false), raw));
    (void)url_decode(&a, raw, true);
    bound_check_memory(&bound, &a, MEMORY_PER_BYTE);
    bound_check_time(&bound);
    if (url_parse(&a, raw, &p, NULL) != RC_OK)
        return 0;
    check_url(p.url);
    ASSERT(p.host.len > 0 && p.port > 0 && p.port < 65536);
    ASSERT(url_parse(&a, p.url, &again, NULL) == RC_OK);
    ASSERT(str_eq(p.url, again.url) && str_eq(p.host, again.host) && p.port == again.port);
    ASSERT(str_is_null(again.credential));
    /* what is canonical already is read in a shorter way, but not what has a fragment */
    if (p.url.len < LIMIT_URL) {
        ASSERT(url_parse(&a, str_concat(&a, p.url, STR("#")), &again, NULL) == RC_OK);
        ASSERT(str_eq(p.url, again.url) && str_eq(p.host, again.host) && p.port == again.port);
    }
    ASSERT(str_eq(url_public(&a, p.url), p.url));
    s = url_resolve(&a, p.url, ref); /* what a redirect would do */
    if (url_parse(&a, s, &again, NULL) == RC_OK)
        check_url(again.url);
    s = url_authority(&a, p.url);
    ASSERT(str_eq(s, str_printf(&a, "%.*s:%d", STR_ARG(p.host), p.port)));
    return 0;
}
