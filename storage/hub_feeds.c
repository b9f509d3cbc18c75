/* storage/hub_feeds.c - see hub_feeds.h. */
#include "storage/hub_feeds.h"

#include <inttypes.h>

void hub_feeds_write(struct buf *out, const struct hub_intent *in)
{
    for (size_t i = 0; i < in->n_feeds; i++) {
        struct str url = in->feeds[i].url;

        buf_printf(out, "%" PRId64 " ", in->feeds[i].feed_id);
        while (!str_is_null(url))
            buf_str(out, str_split(&url, '\n')); /* URLs do not have line breaks */
        buf_putc(out, '\n');
    }
}

void hub_feeds_read(struct arena *a, struct str text, struct hub_intent *out)
{
    struct str rest = text;
    struct sub_feed *feeds;
    size_t n = 1;

    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    feeds = ARENA_ARRAY(a, struct sub_feed, n);
    while (rest.len > 0) {
        struct str line = str_split(&rest, '\n'), id = str_split(&line, ' ');
        struct sub_feed *feed = &feeds[out->n_feeds];

        *feed = (struct sub_feed){.url = line};
        if (!str_is_null(line) && str_to_i64(id, &feed->feed_id))
            out->n_feeds++;
    }
    out->feeds = feeds;
}
