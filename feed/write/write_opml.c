/* feed/write/write_opml.c - the feeds of a document as an OPML list. Its entries are left out. */
#include "feed/lists/opml.h"
#include "feed/write/writer_priv.h"

static struct opml_feed outline_of(struct arena *a, const struct out_feed *feed)
{
    struct out_parts v;

    out_parts_read(a, feed->obj, STR(""), feed->url, true, &v);
    return (struct opml_feed){.xml_url = feed->url,
                              .html_url = v.link,
                              .title = out_feed_name(a, part_plain(a, v.title), feed->url)};
}

void write_opml(struct buf *out, const struct out_doc *doc)
{
    struct arena a = ARENA_INIT;
    struct opml list = {.title = doc->title, .n_feeds = doc->n_feeds};

    list.feeds = ARENA_ARRAY(&a, struct opml_feed, doc->n_feeds + 1);
    for (size_t i = 0; i < doc->n_feeds; i++)
        list.feeds[i] = outline_of(&a, &doc->feeds[i]);
    if (str_is_null(list.title) && doc->n_feeds == 1)
        list.title = list.feeds[0].title;
    opml_write(out, &list, TIME_UNKNOWN, doc->updated_at);
    arena_release(&a);
}
