/* feed/lists/opml_parts.c - see opml_parts.h. */
#include "feed/lists/opml_parts.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "feed/lists/opml.h"

/* Most bytes of the texts of a part: six times as many when each is a quote, and still less than the
 * body of a request. */
#define PART_BYTES ((size_t)2 * 1024 * 1024)

static size_t bytes_of(const struct opml_feed *f)
{
    size_t n = f->xml_url.len + f->html_url.len + f->title.len + f->text.len + f->category.len + f->freq.len +
               f->sanitize.len;

    for (size_t i = 0; i < f->n_folders; i++)
        n += f->folders[i].len;
    return n;
}

/* From which feed on the next part is, when this one begins with feed `from`. */
static size_t end_of_part(const struct opml *all, size_t from, size_t max)
{
    size_t i = from, n = 0, bytes = 0;

    for (; i < all->n_feeds; i++) {
        const struct opml_feed *f = &all->feeds[i];
        size_t shared = i == from ? 0 : opml_shared_folders(f - 1, f);

        n += 1 + f->n_folders - shared;
        bytes += bytes_of(f);
        if (i > from && (n > max || bytes > PART_BYTES))
            break;
    }
    return i;
}

/* The includes that come before feed `to`, and were not taken yet. */
static size_t end_of_includes(const struct opml *all, size_t from, size_t to)
{
    while (from < all->n_includes && (to == all->n_feeds || all->includes[from].before < to))
        from++;
    return from;
}

/* Number the outlines as whoever reads the part does: by reading it. */
static enum rc number(struct arena *a, struct opml_part *part, const struct opml *list, struct err *err)
{
    struct opml read;
    enum rc rc = opml_read(a, part->text, STR_NULL, &read, err);

    if (rc != RC_OK)
        return rc;
    part->n_feeds = list->n_feeds;
    part->n_outlines = read.n_outlines;
    part->outline_no = ARENA_ARRAY(a, size_t, read.n_outlines + 1);
    memset(part->outline_no, 0, (read.n_outlines + 1) * sizeof part->outline_no[0]);
    for (size_t i = 0; i < read.n_feeds && i < list->n_feeds; i++)
        part->outline_no[read.feeds[i].outline_no] = list->feeds[i].outline_no;
    for (size_t i = 0; i < read.n_includes && i < list->n_includes; i++)
        part->outline_no[read.includes[i].outline_no] = list->includes[i].outline_no;
    return RC_OK;
}

static enum rc make_part(struct arena *a, struct opml *list, size_t first_feed, struct opml_part *out,
                         struct err *err)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);
    struct opml_include *includes = ARENA_ARRAY(a, struct opml_include, list->n_includes + 1);

    for (size_t i = 0; i < list->n_includes; i++) {
        includes[i] = list->includes[i];
        includes[i].before -= first_feed;
    }
    list->includes = includes;
    opml_write(&text, list, TIME_UNKNOWN, TIME_UNKNOWN);
    out->text = str_dup(a, buf_view(&text));
    return number(a, out, list, err);
}

enum rc opml_cut(struct arena *a, struct str body, size_t max, struct opml_part **out, size_t *n,
                 struct err *err)
{
    struct opml_part *parts = NULL;
    size_t cap = 0, n_parts = 0, feed = 0, include = 0;
    struct opml all;
    enum rc rc = opml_read_long(a, body, STR_NULL, &all, err);

    while (rc == RC_OK && (n_parts == 0 || feed < all.n_feeds)) {
        size_t to = end_of_part(&all, feed, max), to_include = end_of_includes(&all, include, to);
        struct opml some = {.title = all.title,
                            .feeds = all.feeds + feed,
                            .n_feeds = to - feed,
                            .includes = all.includes + include,
                            .n_includes = to_include - include};

        parts = mem_grow(parts, &cap, n_parts + 1, sizeof *parts);
        rc = make_part(a, &some, feed, &parts[n_parts++], err);
        feed = to;
        include = to_include;
    }
    if (rc == RC_OK) {
        *out = ARENA_ARRAY(a, struct opml_part, n_parts);
        memcpy(*out, parts, n_parts * sizeof *parts);
        *n = n_parts;
    }
    mem_free(parts);
    return rc;
}
