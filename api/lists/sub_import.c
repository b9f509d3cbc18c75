/* api/lists/sub_import.c - see sub_import.h. */
#include "api/lists/sub_import.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/switch.h"
#include "feed/lists/folders.h"
#include "feed/text/json.h"
#include "net/url.h"

#define NAME_MAX_LEN ((size_t)64 * 1024) /* bytes of a name or title; the rest is cut off */

struct taking {
    struct arena *a;
    struct sub_import *im;
    const struct listed_feed *at;
};

static void note(struct taking *t, const char *setting, struct str why)
{
    struct sub_import *im = t->im;
    const struct list_node *node = t->at->node;

    if (im->n_problems++ >= IMPORT_NOTES)
        return;
    im->notes[im->n_problems - 1] =
        (struct import_note){.list = node->depth == 0 ? STR_NULL : url_public(t->a, node->url.url),
                             .outline = t->at->feed->outline_no,
                             .url = url_public(t->a, t->at->feed->xml_url),
                             .setting = setting,
                             .why = why};
}

static struct str cut(struct str s)
{
    if (s.len > NAME_MAX_LEN)
        s.len = str_utf8_valid(str_of(s.ptr, NAME_MAX_LEN));
    return s;
}

/* Read the names of the feed. If the list has two different names, one is the title and the other
 * is the subscriber's own name. */
static void take_names(struct taking *t, struct feed_details *details)
{
    const struct opml_feed *f = t->at->feed;
    struct url_parts parts;

    if (!str_is_null(f->text) && !str_eq(f->text, f->title))
        details->name = cut(f->text);
    if (!str_eq(f->title, f->xml_url)) /* some programs write the URL when there is no title */
        details->title = cut(f->title);
    if (url_parse(t->a, f->html_url, &parts, NULL) == RC_OK)
        details->site_url = parts.url;
    details->folder = folders_of(t->a, t->at->folders, t->at->n_folders);
    if (str_is_null(details->folder) && t->at->n_folders > 0)
        note(t, "folder",
             str_printf(t->a, "it has more than %d folders, or their names are too long",
                        LIMIT_OPML_DEPTH - 1));
    if (f->category.len <= FOLDERS_MAX_LEN)
        details->category = f->category;
    else
        note(t, "category", str_printf(t->a, "it has more than %d bytes", FOLDERS_MAX_LEN));
}

static void take_settings(struct taking *t, int64_t min_period_s, struct feed_details *details)
{
    const struct opml_feed *f = t->at->feed;
    bool on = true;

    if (!str_is_null(f->freq)) {
        details->has_level = freq_read(f->freq, min_period_s, &details->level, &details->period_s);
        if (!details->has_level)
            note(t, "freq",
                 str_printf(t->a,
                            "\"%.*s\" is neither a level (0, 1, 2) nor a period of at "
                            "least %lld seconds",
                            STR_ARG(cut(f->freq)), (long long)min_period_s));
    }
    if (str_is_null(f->sanitize))
        return;
    if (switch_read(f->sanitize, &on))
        details->sanitize = on ? SANITIZE_ON : SANITIZE_OFF;
    else
        note(t, "sanitize",
             str_printf(t->a, "\"%.*s\" is neither yes nor no", STR_ARG(cut(f->sanitize))));
}

static void take_outline(struct taking *t, struct map *seen, int64_t min_period_s)
{
    struct sub_import *im = t->im;
    struct wanted_url url;
    struct feed_ref *ref = &im->refs[im->n_refs];
    struct problem p;
    struct str key;

    if (!wanted_url_read(t->a, "xmlUrl", t->at->feed->xml_url, &url, &p)) {
        im->n_left_out++;
        note(t, NULL, STR("xmlUrl is not an absolute http or https address"));
        return;
    }
    key = str_printf(t->a, "%.*s %.*s", STR_ARG(url.url), STR_ARG(url.credential));
    if (map_put(seen, key, im) != NULL) {
        im->n_doubles++;
        return;
    }
    *ref = (struct feed_ref){.url = url.url, .credential = url.credential, .shown_url = url.shown};
    take_names(t, &ref->details);
    if (t->at->node->depth == 0)
        take_settings(t, min_period_s, &ref->details);
    im->n_refs++;
}

void sub_import_take(struct arena *a, const struct list_tree *tree, int64_t min_period_s,
                     struct sub_import *out)
{
    struct taking t = {.a = a, .im = out};
    struct list_contents all = list_tree_contents(a, tree);
    struct map seen = MAP_INIT;

    *out = (struct sub_import){.refs = ARENA_ARRAY(a, struct feed_ref, all.n_feeds + 1),
                               .notes = ARENA_ARRAY(a, struct import_note, IMPORT_NOTES)};
    for (size_t i = 0; i < all.n_feeds; i++) {
        t.at = &all.feeds[i];
        take_outline(&t, &seen, min_period_s);
    }
    map_release(&seen, NULL);
    for (size_t i = 0; i < all.n_failures; i++)
        if (out->n_problems++ < IMPORT_NOTES)
            out->notes[out->n_problems - 1] = (struct import_note){
                .list = all.failures[i]->url.shown, .why = all.failures[i]->why};
}

static void write_note(struct buf *out, const struct import_note *n)
{
    buf_puts(out, "{");
    if (!str_is_null(n->list)) {
        buf_puts(out, "\"list\":");
        json_write_text(out, n->list);
        buf_puts(out, ",");
    }
    if (n->outline > 0) {
        buf_printf(out, "\"outline\":%zu,\"url\":", n->outline);
        json_write_text(out, n->url);
        buf_puts(out, ",");
    }
    if (n->setting != NULL)
        buf_printf(out, "\"setting\":\"%s\",", n->setting);
    buf_puts(out, "\"detail\":");
    json_write_text(out, n->why);
    buf_puts(out, "}");
}

void sub_import_write(struct buf *out, const struct sub_import *im)
{
    buf_printf(out, ",\"doubles\":%zu,\"left_out\":%zu,\"problem_count\":%zu,\"problems\":[",
               im->n_doubles, im->n_left_out, im->n_problems);
    for (size_t i = 0; i < im->n_problems && i < IMPORT_NOTES; i++) {
        if (i > 0)
            buf_putc(out, ',');
        write_note(out, &im->notes[i]);
    }
    buf_putc(out, ']');
}
