/* feed/write/write_special.c - parts that only archive documents and streams have: times to the
 * microsecond, tombstones (RFC 6721), cursors, and the kind of a feed history (RFC 5005, Feed
 * History draft-00). */
#include "feed/text/fragment.h"
#include "feed/text/xml_out.h"
#include "feed/write/writer_priv.h"

struct str out_entry_id(struct arena *a, const struct out_entry *e)
{
    return str_is_null(e->id) ? out_entry_iri(a, e) : e->id;
}

void out_time_write(struct buf *out, const char *name, int64_t at, int64_t at_us, struct str kept)
{
    char text[CLOCK_TEXT];

    if (at_us > 0)
        clock_rfc3339_us(at_us, text);
    else
        clock_rfc3339(at, text);
    xml_element_at(out, name, str_from(text), kept);
}

void out_history_write(struct buf *out, const struct out_doc *doc)
{
    if (doc->complete)
        buf_puts(out, "<fh:complete xmlns:fh=\"" NS_HISTORY "\"/>\n");
    if (doc->archive)
        buf_puts(out, "<fh:archive xmlns:fh=\"" NS_HISTORY "\"/>\n");
    if (doc->state == OUT_PLAIN)
        return;
    /* in the form of draft 0, and in that of draft 4, whose readers look for this element */
    buf_printf(out, "<fh:Stateful xmlns:fh=\"" NS_HISTORY "\">%d</fh:Stateful>\n",
               doc->state == OUT_STATEFUL);
    buf_printf(out, "<fh:incremental xmlns:fh=\"" NS_HISTORY "\">%s</fh:incremental>\n",
               doc->state == OUT_STATEFUL ? "true" : "false");
    for (size_t i = 0; i < doc->n_links; i++)
        if (str_eqz(doc->links[i].rel, "prev")) {
            buf_puts(out, "<fh:prev xmlns:fh=\"" NS_HISTORY "\">");
            xml_text(out, doc->links[i].href);
            buf_puts(out, "</fh:prev>\n");
        }
}

/* Write the publisher's own tombstone, which says by whom and why the entry was deleted, with our
 * ref and time in its tag. The tag is cut at these two values. */
static void write_own_tombstone(struct buf *out, const struct fragment_element *el, struct str ref,
                                struct str when)
{
    struct str old_ref = fragment_attr(el->tag, STR("ref"));
    struct str old_when = fragment_attr(el->tag, STR("when"));
    bool ref_first = old_ref.ptr < old_when.ptr;
    struct str first = ref_first ? old_ref : old_when, second = ref_first ? old_when : old_ref;
    const char *at = el->text.ptr, *end = el->text.ptr + el->text.len;

    buf_append(out, at, (size_t)(first.ptr - at));
    xml_attr_text(out, ref_first ? ref : when);
    at = first.ptr + first.len;
    buf_append(out, at, (size_t)(second.ptr - at));
    xml_attr_text(out, ref_first ? when : ref);
    at = second.ptr + second.len;
    buf_append(out, at, (size_t)(end - at));
    buf_putc(out, '\n');
}

static void write_tombstone(struct buf *out, struct arena *a, const struct out_entry *e)
{
    struct str ref = out_entry_id(a, e), rest = e->ext;
    struct fragment_element el;
    char when[CLOCK_TEXT];

    clock_rfc3339_us(e->at_us, when);
    while (fragment_next(&rest, &el))
        if (str_eqz(el.ns, NS_TOMBSTONES) && str_eqz(el.local, "deleted-entry") &&
            !str_is_null(fragment_attr(el.tag, STR("ref"))) &&
            !str_is_null(fragment_attr(el.tag, STR("when")))) {
            write_own_tombstone(out, &el, ref, str_from(when));
            return;
        }
    buf_puts(out, "<at:deleted-entry xmlns:at=\"" NS_TOMBSTONES "\"");
    xml_attr(out, "ref", ref);
    xml_attr(out, "when", str_from(when));
    buf_puts(out, "/>\n");
}

void out_tombstones_write(struct buf *out, const struct out_doc *doc)
{
    for (size_t i = 0; i < doc->n_entries && buf_ok(out); i++) {
        struct arena a = ARENA_INIT;

        if (doc->entries[i].kind == OUT_TOMBSTONE)
            write_tombstone(out, &a, &doc->entries[i]);
        arena_release(&a);
    }
}

void out_stream_write(struct buf *out, const struct out_stream *s)
{
    if (s->total >= 0)
        buf_printf(out, "<fo:total xmlns:fo=\"" NS_FANOUT "\">%lld</fo:total>\n",
                   (long long)s->total);
    if (!str_is_null(s->prev_cursor)) {
        buf_puts(out, "<fo:prev_cursor xmlns:fo=\"" NS_FANOUT "\">");
        xml_text(out, s->prev_cursor);
        buf_puts(out, "</fo:prev_cursor>\n");
    }
    buf_puts(out, "<fo:last_cursor xmlns:fo=\"" NS_FANOUT "\">");
    xml_text(out, s->last_cursor);
    buf_puts(out, "</fo:last_cursor>\n");
}

void out_stream_entry_write(struct buf *out, struct str id, const struct out_entry *e)
{
    buf_puts(out, "<fo:id xmlns:fo=\"" NS_FANOUT "\">");
    xml_text(out, id);
    buf_puts(out, "</fo:id>\n");
    if (e->kind == OUT_EMPTY)
        buf_puts(out, "<fo:deleted xmlns:fo=\"" NS_FANOUT "\">true</fo:deleted>\n");
}
