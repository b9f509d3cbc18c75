/* feed/write/log_object.c - see log_object.h. */
#include "feed/write/log_object.h"

#include <inttypes.h>

#include "base/clock.h"
#include "feed/text/json.h"
#include "model/cursor.h"

void log_object_write(struct buf *out, const struct revision *rev, struct str url,
                      struct str log_id)
{
    log_object_write_in(out, rev, url, log_id, STR_NULL, 0);
}

void log_object_write_in(struct buf *out, const struct revision *rev, struct str url,
                         struct str log_id, struct str edition, int64_t floor)
{
    char cursor[CURSOR_TEXT], at[CLOCK_TEXT];

    cursor_write_over(cursor, log_id, edition, rev->seq, floor, rev->at_us);
    clock_rfc3339_us(rev->at_us, at);
    buf_printf(out,
               "{\"seq\":%" PRId64 ",\"cursor\":\"%s\",\"at\":\"%s\",\"kind\":\"%s\","
               "\"initial\":%s,\"feed\":%" PRId64 ",\"url\":",
               rev->seq, cursor, at, revision_kind_name(rev->kind), rev->initial ? "true" : "false",
               rev->feed_id);
    if (str_is_null(url))
        buf_puts(out, "null");
    else
        json_write_text(out, url);
    buf_puts(out, ",\"uid\":");
    json_write_text(out, rev->uid);
    if (rev->doc.len > 0) {
        buf_puts(out, ",\"entry\":");
        buf_str(out, rev->doc);
    }
    buf_putc(out, '}');
}
