/* feed/write/out_document.c - what documents of all formats of XML have in common: a head, then
 * deletions, then entries. */
#include "feed/text/xml_out.h"
#include "feed/write/writer_priv.h"

void out_document_write(struct buf *out, const struct out_doc *doc,
                        const struct out_xml_format *format)
{
    const struct out_feed *feed = doc->merged || doc->n_feeds == 0 ? NULL : &doc->feeds[0];
    struct arena head = ARENA_INIT, ids = ARENA_INIT;
    struct map seen = MAP_INIT;
    struct out_parts v;

    out_parts_read(&head, feed == NULL ? NULL : feed->obj, feed == NULL ? STR("") : feed->ext,
                   feed == NULL ? doc->self_url : feed->url, true, &v);
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    buf_puts(out, format->begin);
    if (format->has_lang)
        xml_attr(out, "xml:lang", v.lang);
    buf_str(out, kept_get(v.kept, KEPT_ITSELF, 0));
    buf_puts(out, ">\n");
    format->head(&head, out, doc, feed, &v);
    out_tombstones_write(out, doc);
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        struct arena a = ARENA_INIT;
        const struct out_entry *e = &doc->entries[i];

        if (e->kind == OUT_EMPTY || e->kind == OUT_METADATA)
            format->bare_entry(&a, out, doc, e, v.lang);
        else if (e->kind == OUT_ENTRY && out_entry_is_first(&ids, &seen, doc, e))
            format->entry(&a, out, doc, e, v.lang);
        arena_release(&a);
    }
    buf_puts(out, format->end);
    map_release(&seen, NULL);
    arena_release(&ids);
    arena_release(&head);
}
