/* feed/write/write_entry.c - writes one entry as a document, for clients that ask for the content
 * of a metadata record. */
#include "feed/text/iri.h"
#include "feed/text/json.h"
#include "feed/text/xml_out.h"
#include "feed/write/writer_priv.h"
#include "model/media_types.h"

static void write_line(struct buf *out, struct str by, struct str date)
{
    buf_puts(out, "<p>");
    xml_text(out, by);
    if (by.len > 0 && date.len > 0)
        buf_puts(out, ", ");
    xml_text(out, date);
    buf_puts(out, "</p>\n");
}

/* The content was made safe when it was stored, unless that was switched off for its feed. So the
 * answer with this page must also forbid scripts. */
static void write_page(struct buf *out, const struct out_entry *e)
{
    struct arena a = ARENA_INIT;
    struct str title, body;
    struct out_parts v;
    char date[CLOCK_TEXT];

    out_parts_read(&a, out_entry_object(&a, e), e->ext, e->feed->url, false, &v);
    title = part_plain(&a, v.title);
    if (title.len == 0)
        title = parts_title(&a, &v);
    body = part_html(&a, str_is_null(v.content.value) ? v.summary : v.content);
    clock_rfc3339(out_entry_updated(e), date);
    buf_puts(out, "<!DOCTYPE html>\n<html");
    xml_attr(out, "lang", v.lang);
    buf_puts(out, ">\n<head><meta charset=\"utf-8\"><title>");
    xml_text(out, title);
    buf_puts(out, "</title></head>\n<body>\n<h1>");
    if (iri_is_http(v.link)) {
        buf_puts(out, "<a rel=\"noreferrer noopener\"");
        xml_attr(out, "href", iri_escape(&a, v.link, true));
        buf_putc(out, '>');
        xml_text(out, title);
        buf_puts(out, "</a>");
    } else {
        xml_text(out, title);
    }
    buf_puts(out, "</h1>\n");
    write_line(out, v.n_authors > 0 ? v.authors[0].name : STR(""), str_from(date));
    buf_puts(out, "<div>\n");
    buf_str(out, body);
    buf_puts(out, "\n</div>\n</body>\n</html>\n");
    arena_release(&a);
}

static void write_object(struct buf *out, const struct out_entry *e)
{
    if (e->json.len > 0)
        buf_str(out, e->json);
    else
        json_write(out, e->obj);
    buf_putc(out, '\n');
}

static const struct {
    const char *suffix, *media_type;
    void (*write)(struct buf *out, const struct out_entry *e);
} formats[] = {
#define ENTRY_FORMAT(id, suffix, media_type, writer) [ENTRY_##id] = {suffix, media_type, writer},
#include "feed/write/entry_formats.def"
#undef ENTRY_FORMAT
};

void feed_write_entry(struct buf *out, enum entry_format format, const struct out_entry *e)
{
    formats[format].write(out, e);
}

const char *entry_format_suffix(enum entry_format format)
{
    return formats[format].suffix;
}

const char *entry_format_media_type(enum entry_format format)
{
    return formats[format].media_type;
}

struct str entry_format_bare_type(enum entry_format format)
{
    struct str type = str_from(formats[format].media_type);

    return str_split(&type, ';');
}

void feed_write_deleted(struct buf *out, const struct out_entry *e)
{
    struct out_doc doc = {.entries = e, .n_entries = 1};

    buf_puts(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    out_tombstones_write(out, &doc);
}
