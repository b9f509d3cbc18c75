/* bench/documents.c - see documents.h. Uses a small pseudo-random generator. */
#include "documents.h"

#include "base/clock.h"

/* date of entry 0 (Unix seconds); each later entry is an hour younger */
#define BEGINNING 1700000000

static const char *const words[] = {
    "river",       "stone",   "letter", "window", "morning",     "engine",
    "paper",       "market",  "signal", "winter", "garden",      "harbour",
    "copper",      "music",   "theory", "voyage", "caf\xc3\xa9", "na\xc3\xafve",
    "Gru\xc3\x9f", "measure", "ladder", "carbon", "orbit",       "village",
};

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void put_words(struct buf *out, unsigned *state, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            buf_putc(out, ' ');
        buf_puts(out, words[next(state) % ARRAY_LEN(words)]);
    }
}

/* Markup characters, as they are or escaped for XML or JSON text. */
struct escapes {
    const char *lt, *gt, *quote, *amp;
};
static const struct escapes plain = {"<", ">", "\"", "&amp;"};
static const struct escapes in_xml = {"&lt;", "&gt;", "&quot;", "&amp;amp;"};
static const struct escapes in_json = {"<", ">", "\\\"", "&amp;"};

/* Write HTML of about `len` bytes. */
static void put_html(struct buf *out, unsigned *state, size_t len, const struct escapes *e)
{
    size_t end = out->len + len;

    while (out->len < end) {
        buf_printf(out, "%sp%s", e->lt, e->gt);
        put_words(out, state, 20 + next(state) % 30);
        buf_printf(out, " %sa href=%shttp://example.org/%u%s%s", e->lt, e->quote, next(state),
                   e->quote, e->gt);
        put_words(out, state, 3);
        buf_printf(out, "%s/a%s %s ", e->lt, e->gt, e->amp);
        put_words(out, state, 5 + next(state) % 20);
        buf_printf(out, "%s/p%s", e->lt, e->gt);
    }
}

void documents_rss(struct buf *out, unsigned seed, unsigned first, unsigned n, size_t entry_len)
{
    char date[CLOCK_TEXT];

    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\""
               " xmlns:content=\"http://purl.org/rss/1.0/modules/content/\""
               " xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n<channel>\n"
               "<title>Feed %u</title><link>http://example.org/%u/</link>"
               "<description>A made-up feed</description><language>en</language>\n",
               seed, seed);
    for (unsigned i = 0; i < n; i++) {
        unsigned number = first - i, state = seed * 7919 + number;

        clock_rfc822(BEGINNING + (int64_t)number * 3600, date);
        buf_puts(out, "<item><title>");
        put_words(out, &state, 6);
        buf_printf(out,
                   "</title><link>http://example.org/%u/%u</link>"
                   "<guid isPermaLink=\"false\">urn:feed:%u:%u</guid><pubDate>%s</pubDate>"
                   "<dc:creator>Writer %u</dc:creator><category>one</category>"
                   "<category>two</category>\n<description>",
                   seed, number, seed, number, date, next(&state) % 10);
        put_words(out, &state, 40);
        buf_puts(out, "</description>\n<content:encoded><![CDATA[");
        put_html(out, &state, entry_len > 900 ? entry_len - 900 : 1, &plain);
        buf_puts(out, "]]></content:encoded></item>\n");
    }
    buf_puts(out, "</channel></rss>\n");
}

void documents_atom(struct buf *out, unsigned seed, unsigned first, unsigned n, size_t entry_len)
{
    char date[CLOCK_TEXT];

    clock_rfc3339(BEGINNING + (int64_t)first * 3600, date);
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
               "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Feed %u</title>"
               "<id>urn:feed:%u</id><link href=\"http://example.org/%u/\"/>"
               "<link rel=\"self\" href=\"http://example.org/%u/atom\"/><updated>%s</updated>\n",
               seed, seed, seed, seed, date);
    for (unsigned i = 0; i < n; i++) {
        unsigned number = first - i, state = seed * 7919 + number;

        clock_rfc3339(BEGINNING + (int64_t)number * 3600, date);
        buf_puts(out, "<entry><title type=\"text\">");
        put_words(out, &state, 6);
        buf_printf(out,
                   "</title><id>urn:feed:%u:%u</id><link href=\"http://example.org/%u/%u\"/>"
                   "<published>%s</published><updated>%s</updated>"
                   "<author><name>Writer %u</name></author><category term=\"one\"/>\n"
                   "<summary type=\"text\">",
                   seed, number, seed, number, date, date, next(&state) % 10);
        put_words(out, &state, 40);
        buf_puts(out, "</summary>\n<content type=\"html\">");
        put_html(out, &state, entry_len > 900 ? entry_len - 900 : 1, &in_xml);
        buf_puts(out, "</content></entry>\n");
    }
    buf_puts(out, "</feed>\n");
}

void documents_entry_json(struct buf *out, unsigned seed, unsigned number, size_t len)
{
    unsigned state = seed * 7919 + number;
    char date[CLOCK_TEXT];

    clock_rfc3339(BEGINNING + (int64_t)number * 3600, date);
    buf_printf(out, "{\"id\":\"urn:feed:%u:%u\",\"title\":\"", seed, number);
    put_words(out, &state, 6);
    buf_printf(out,
               "\",\"link\":\"http://example.org/%u/%u\",\"links\":[{\"rel\":\"alternate\","
               "\"href\":\"http://example.org/%u/%u\"}],\"published\":\"%s\",\"updated\":\"%s\","
               "\"summary\":\"",
               seed, number, seed, number, date, date);
    put_words(out, &state, 40);
    buf_puts(out, "\",\"content\":[{\"type\":\"text/html\",\"value\":\"");
    put_html(out, &state, len > 700 ? len - 700 : 1, &in_json);
    buf_puts(out, "\"}]}");
}
