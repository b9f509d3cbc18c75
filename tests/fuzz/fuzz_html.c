/* tests/fuzz/fuzz_html.c - any bytes as HTML: made safe, searched for feeds, read as text.
 *
 * What was made safe must look safe to the tokenizer, and stay as it is when made safe again. */
#include <stdint.h>

#include "base/assert.h"
#include "base/buf.h"
#include "feed/discover.h"
#include "feed/html.h"
#include "feed/sanitize.h"

#define URL STR("http://e.org/a/page")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_safe(struct arena *a, struct str safe)
{
    struct html_lexer *lx = arena_alloc(a, sizeof *lx);
    struct html_token t;

    html_lexer_init(lx, a, safe);
    while (html_next(lx, &t) != HTML_END_OF_INPUT) {
        if (t.kind != HTML_START_TAG)
            continue;
        ASSERT(!str_eqz(t.name, "script") && !str_eqz(t.name, "style") &&
               !str_eqz(t.name, "iframe") && !str_eqz(t.name, "object"));
        for (size_t i = 0; i < t.n_attrs; i++) {
            struct str value = html_decode(a, t.attrs[i].value, true);

            ASSERT(!str_istarts(t.attrs[i].name, STR("on")));
            ASSERT(!str_istarts(value, STR("javascript:")) || str_eqz(t.attrs[i].name, "title") ||
                   str_eqz(t.attrs[i].name, "alt"));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf valid = BUF_INIT(BUF_ANY);
    struct str raw = str_of((const char *)data, len), html, safe, text;
    struct discovered_feed *feeds;
    size_t n = discover_feeds(&a, raw, URL, STR_NULL, &feeds);

    for (size_t i = 0; i < n; i++)
        ASSERT(feeds[i].href.len > 0 && str_utf8_valid(feeds[i].href) == feeds[i].href.len);
    while (raw.len > 0) { /* the sanitizer is given text that was decoded */
        size_t good = str_utf8_valid(raw);

        buf_str(&valid, str_slice(raw, 0, good));
        raw = str_slice(raw, good + 1, raw.len);
    }
    html = buf_view(&valid);
    safe = sanitize_html(&a, html, URL);
    ASSERT(str_utf8_valid(safe) == safe.len);
    check_safe(&a, safe);
    text = html_to_text(&a, html);
    ASSERT(str_utf8_valid(text) == text.len);
    return 0;
}
