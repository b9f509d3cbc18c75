/* feed/lists/opml.c - reads and writes subscription lists.
 *
 * Lists are read tag by tag, without a tree. Many real lists have bare ampersands, unclosed
 * outlines or wrong encodings, and everything of interest is in attributes. xml_check() only says
 * whether the list was well-formed. */
#include "feed/lists/opml.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "feed/read/encoding.h"
#include "feed/read/xml_check.h"
#include "feed/text/html.h"
#include "feed/text/xml_out.h"

struct open_outline {
    struct str name; /* of a folder; null for a feed */
};

struct binding {
    struct str prefix;
    bool is_own; /* it is bound to OPML_NS */
};

struct opml_reader {
    struct arena *a;
    struct opml *list;
    size_t cap, includes_cap;
    struct binding bound[16]; /* those that the root and the body declare */
    size_t n_bound;
    int comment_at; /* depth of the outline whose subtree is commented out, plus 1; 0: none */
    int depth, n_folders;
    bool is_bounded; /* by LIMIT_OPML_OUTLINES */
    struct open_outline open[LIMIT_OPML_DEPTH];
};

/* Returns an attribute by its lower-case name, decoded and trimmed; null when it is missing or
 * empty. */
static struct str attr(struct arena *a, const struct html_token *t, const char *name)
{
    struct str value = str_trim(html_decode(a, html_attr_get(t, name)));

    return value.len == 0 ? STR_NULL : value;
}

/* Browsers once used feed:http://x, feed://x and feed:x for "subscribe". Returns the http(s)
 * URL. */
static struct str without_feed_scheme(struct arena *a, struct str url)
{
    while (str_istarts(url, STR("feed:"))) {
        url = str_trim(str_slice(url, 5, url.len));
        if (str_starts(url, STR("//")))
            return str_concat(a, STR("http:"), url);
    }
    return url.len == 0 ? STR_NULL : url;
}

/* Returns true when the prefix is bound to our namespace. If it is declared nowhere, the usual
 * prefix counts as ours. */
static bool is_own_prefix(const struct opml_reader *r, const struct html_token *t,
                          struct str prefix)
{
    for (size_t i = 0; i < t->n_attrs; i++)
        if (str_starts(t->attrs[i].name, STR("xmlns:")) &&
            str_eq(str_slice(t->attrs[i].name, 6, t->attrs[i].name.len), prefix))
            return str_eqz(attr(r->a, t, str_z(r->a, t->attrs[i].name)), OPML_NS);
    for (size_t i = r->n_bound; i > 0; i--)
        if (str_eq(r->bound[i - 1].prefix, prefix))
            return r->bound[i - 1].is_own;
    return str_eqz(prefix, "feedmill");
}

/* Remember the prefixes that the root or the body declares. */
static void bind_prefixes(struct opml_reader *r, const struct html_token *t)
{
    for (size_t i = 0; i < t->n_attrs && r->n_bound < ARRAY_LEN(r->bound); i++) {
        struct str name = t->attrs[i].name;

        if (str_starts(name, STR("xmlns:")))
            r->bound[r->n_bound++] =
                (struct binding){.prefix = str_slice(name, 6, name.len),
                                 .is_own = str_eqz(attr(r->a, t, str_z(r->a, name)), OPML_NS)};
    }
}

/* Returns one of our own attributes; null when it is missing or empty. */
static struct str own_attr(const struct opml_reader *r, const struct html_token *t,
                           const char *local)
{
    for (size_t i = 0; i < t->n_attrs; i++) {
        struct str rest = t->attrs[i].name, prefix = str_split(&rest, ':');

        if (str_eqz(rest, local) && is_own_prefix(r, t, prefix))
            return attr(r->a, t, str_z(r->a, t->attrs[i].name));
    }
    return STR_NULL;
}

/* Returns the names of the open folders. */
static struct str *open_folders(struct opml_reader *r, size_t *n_out)
{
    struct str *folders = ARENA_ARRAY(r->a, struct str, (size_t)r->n_folders + 1);
    size_t n = 0;

    for (int i = 0; i < r->depth; i++)
        if (!str_is_null(r->open[i].name))
            folders[n++] = r->open[i].name;
    *n_out = n;
    return folders;
}

static void add_feed(struct opml_reader *r, const struct html_token *t, struct str url)
{
    struct arena *a = r->a;
    struct opml_feed f = {.xml_url = url,
                          .html_url = attr(a, t, "htmlurl"),
                          .title = attr(a, t, "title"),
                          .text = attr(a, t, "text"),
                          .category = attr(a, t, "category"),
                          .freq = own_attr(r, t, "freq"),
                          .sanitize = own_attr(r, t, "sanitize"),
                          .outline_no = r->list->n_outlines};

    if (str_is_null(f.title))
        f.title = f.text;
    f.folders = open_folders(r, &f.n_folders);
    r->list->feeds =
        mem_grow(r->list->feeds, &r->cap, r->list->n_feeds + 1, sizeof r->list->feeds[0]);
    r->list->feeds[r->list->n_feeds++] = f;
}

/* Returns true when the path of the URL ends like that of a list. */
static bool names_list(struct str url)
{
    struct str path = str_split(&url, '#');

    path = str_split(&path, '?');
    return path.len >= 5 && str_ieq(str_slice(path, path.len - 5, path.len), STR(".opml"));
}

static void add_include(struct opml_reader *r, const struct html_token *t)
{
    struct str type = attr(r->a, t, "type"), url = attr(r->a, t, "url");
    struct opml_include in = {
        .url = url, .before = r->list->n_feeds, .outline_no = r->list->n_outlines};

    if (str_is_null(url) ||
        !(str_ieqz(type, "include") || (str_ieqz(type, "link") && names_list(url))))
        return;
    in.folders = open_folders(r, &in.n_folders);
    r->list->includes = mem_grow(r->list->includes, &r->includes_cap, r->list->n_includes + 1,
                                 sizeof r->list->includes[0]);
    r->list->includes[r->list->n_includes++] = in;
}

static void pop(struct opml_reader *r)
{
    if (r->depth == 0)
        return;
    r->depth--;
    if (r->depth < LIMIT_OPML_DEPTH && !str_is_null(r->open[r->depth].name))
        r->n_folders--;
    if (r->comment_at > r->depth)
        r->comment_at = 0;
}

static enum rc start_outline(struct opml_reader *r, const struct html_token *t, struct err *err)
{
    struct str url = without_feed_scheme(r->a, attr(r->a, t, "xmlurl")), name;

    if (++r->list->n_outlines > LIMIT_OPML_OUTLINES && r->is_bounded)
        return err_set(err, RC_LIMIT, "more than %d outlines", LIMIT_OPML_OUTLINES);
    /* feeds do not nest, so in a broken list a feed that is still open was meant to be closed */
    while (r->list->bozo && r->depth > 0 && str_is_null(r->open[r->depth - 1].name))
        pop(r);
    if (r->depth >= LIMIT_OPML_DEPTH)
        return err_set(err, RC_LIMIT, "outlines nested deeper than %d levels", LIMIT_OPML_DEPTH);
    if (r->comment_at == 0 && str_ieqz(attr(r->a, t, "iscomment"), "true"))
        r->comment_at = r->depth + 1;
    if (r->comment_at == 0 && !str_is_null(url))
        add_feed(r, t, url);
    else if (r->comment_at == 0)
        add_include(r, t);
    name = attr(r->a, t, "title");
    if (str_is_null(name))
        name = attr(r->a, t, "text");
    if (str_is_null(name))
        name = STR("");
    r->open[r->depth++].name = str_is_null(url) ? name : STR_NULL;
    r->n_folders += str_is_null(url);
    if (t->self_closing)
        pop(r);
    return RC_OK;
}

/* For the error message: says what the text is, if it is not a list. */
static const char *kind_of(struct str text)
{
    struct str head = str_slice(text, 0, 4096);

    text = str_trim(text);
    if (text.len == 0)
        return "an empty document";
    if (str_ifind(head, STR("<html")) >= 0 || str_ifind(head, STR("<!doctype html")) >= 0)
        return "an HTML page";
    if (str_ifind(head, STR("<rss")) >= 0 || str_ifind(head, STR("<rdf:rdf")) >= 0 ||
        str_ifind(head, STR("<feed")) >= 0)
        return "a feed";
    if (text.ptr[0] == '{' || text.ptr[0] == '[')
        return "JSON";
    return text.ptr[0] == '<' ? "another kind of XML" : "plain text";
}

/* Read the tags of a decoded list. *found: it has an opml element or an outline. */
static enum rc read_tags(struct opml_reader *r, struct str text, bool *found, struct err *err)
{
    struct html_lexer *lx = arena_alloc(r->a, sizeof *lx);
    bool in_head = false, in_title = false;
    struct html_token t;
    enum rc rc = RC_OK;

    html_lexer_init(lx, r->a, text);
    while (rc == RC_OK && html_next(lx, &t) != HTML_END_OF_INPUT) {
        bool start = t.kind == HTML_START_TAG;
        if (t.kind == HTML_TEXT) {
            if (in_title && str_is_null(r->list->title))
                r->list->title = str_dup(r->a, str_trim(html_decode(r->a, t.text)));
        } else if (str_eqz(t.name, "outline")) {
            *found = true;
            if (start)
                rc = start_outline(r, &t, err);
            else
                pop(r);
        } else if (str_eqz(t.name, "opml") || str_eqz(t.name, "body")) {
            *found = *found || str_eqz(t.name, "opml");
            if (start)
                bind_prefixes(r, &t);
        } else if (str_eqz(t.name, "head")) {
            in_head = start && !t.self_closing;
        } else if (str_eqz(t.name, "title")) {
            in_title = in_head && start && !t.self_closing;
        }
    }
    return rc;
}

static enum rc read_list(struct arena *a, struct str body, struct str content_type, bool is_bounded,
                         struct opml *out, struct err *err)
{
    struct opml list = {.title = STR_NULL};
    struct opml_reader *r = ARENA_NEW(a, struct opml_reader);
    struct xml_verdict verdict;
    struct decoded d;
    bool found = false;
    enum rc rc;

    decode_document(a, body, content_type, &d);
    verdict = xml_check(d.text);
    list.bozo = !verdict.is_well_formed;
    r->a = a;
    r->list = &list;
    r->is_bounded = is_bounded;
    rc = verdict.is_crowded ? err_set(err, RC_LIMIT, "an element has more than %d attributes",
                                      LIMIT_XML_ATTRIBUTES)
                            : read_tags(r, str_dup(a, d.text), &found, err);
    if (rc == RC_OK && !found)
        rc = err_set(err, RC_INPUT, "not an OPML list but %s", kind_of(d.text));
    decoded_release(&d);
    if (rc == RC_OK) {
        *out = list;
        out->feeds = ARENA_ARRAY(a, struct opml_feed, list.n_feeds + 1);
        out->includes = ARENA_ARRAY(a, struct opml_include, list.n_includes + 1);
        if (list.n_feeds > 0)
            memcpy(out->feeds, list.feeds, list.n_feeds * sizeof list.feeds[0]);
        if (list.n_includes > 0)
            memcpy(out->includes, list.includes, list.n_includes * sizeof list.includes[0]);
    }
    mem_free(list.feeds);
    mem_free(list.includes);
    return rc;
}

enum rc opml_read(struct arena *a, struct str body, struct str content_type, struct opml *out,
                  struct err *err)
{
    return read_list(a, body, content_type, true, out, err);
}

enum rc opml_read_long(struct arena *a, struct str body, struct str content_type, struct opml *out,
                       struct err *err)
{
    return read_list(a, body, content_type, false, out, err);
}

static void write_feed(struct buf *out, const struct opml_feed *f)
{
    struct str title = str_is_null(f->title) ? f->text : f->title;

    if (str_is_null(title))
        title = f->xml_url;
    buf_puts(out, "<outline type=\"rss\"");
    xml_attr(out, "text", str_is_null(f->text) ? title : f->text);
    xml_attr(out, "title", title);
    xml_attr(out, "xmlUrl", f->xml_url);
    xml_attr(out, "htmlUrl", f->html_url);
    xml_attr(out, "category", f->category);
    xml_attr(out, "feedmill:freq", f->freq);
    xml_attr(out, "feedmill:sanitize", f->sanitize);
    buf_puts(out, "/>\n");
}

static size_t shared(const struct str *x, size_t n_x, const struct str *y, size_t n_y)
{
    size_t n = 0;

    while (n < n_x && n < n_y && str_eq(x[n], y[n]))
        n++;
    return n;
}

size_t opml_shared_folders(const struct opml_feed *x, const struct opml_feed *y)
{
    return x == NULL ? 0 : shared(x->folders, x->n_folders, y->folders, y->n_folders);
}

/* The folders that are open in what was written. */
struct place {
    const struct str *folders;
    size_t n;
};

static void go_to(struct buf *out, struct place *at, const struct str *folders, size_t n)
{
    size_t both = shared(at->folders, at->n, folders, n);

    for (size_t i = at->n; i > both; i--)
        buf_puts(out, "</outline>\n");
    for (size_t i = both; i < n; i++) {
        buf_puts(out, "<outline");
        xml_attr(out, "text", folders[i]);
        buf_puts(out, ">\n");
    }
    *at = (struct place){folders, n};
}

static void write_include(struct buf *out, struct place *at, const struct opml_include *in)
{
    go_to(out, at, in->folders, in->n_folders);
    buf_puts(out, "<outline type=\"include\"");
    xml_attr(out, "text", in->url);
    xml_attr(out, "url", in->url);
    buf_puts(out, "/>\n");
}

static void write_head_date(struct buf *out, const char *name, int64_t at)
{
    char text[CLOCK_TEXT];

    if (at == TIME_UNKNOWN)
        return;
    clock_rfc822(at, text);
    xml_element(out, name, str_from(text));
}

void opml_write(struct buf *out, const struct opml *list, int64_t created_at, int64_t modified_at)
{
    struct place at = {NULL, 0};
    size_t k = 0;

    buf_puts(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                  "<opml version=\"2.0\" xmlns:feedmill=\"" OPML_NS "\">\n<head>\n");
    xml_element(out, "title", str_is_null(list->title) ? STR("Feeds") : list->title);
    write_head_date(out, "dateCreated", created_at);
    write_head_date(out, "dateModified", modified_at);
    buf_puts(out, "</head>\n<body>\n");
    for (size_t i = 0; i < list->n_feeds; i++) {
        const struct opml_feed *f = &list->feeds[i];

        for (; k < list->n_includes && list->includes[k].before <= i; k++)
            write_include(out, &at, &list->includes[k]);
        go_to(out, &at, f->folders, f->n_folders);
        write_feed(out, f);
    }
    for (; k < list->n_includes; k++)
        write_include(out, &at, &list->includes[k]);
    go_to(out, &at, NULL, 0);
    buf_puts(out, "</body>\n</opml>\n");
}

/* ---- order ---- */

struct grouped {
    const struct opml_feed *feed;
    size_t *keys; /* n_folders + 1 indexes: of the first feed in each of its folders, and its own */
};

static int by_keys(const void *x, const void *y)
{
    const struct grouped *a = x, *b = y;

    for (size_t i = 0; i <= a->feed->n_folders && i <= b->feed->n_folders; i++)
        if (a->keys[i] != b->keys[i])
            return a->keys[i] < b->keys[i] ? -1 : 1;
    return 0; /* never happens for two feeds: the last index of each is its own */
}

void opml_group(struct arena *a, struct opml *list)
{
    struct grouped *all = ARENA_ARRAY(a, struct grouped, list->n_feeds + 1);
    struct opml_feed *feeds = ARENA_ARRAY(a, struct opml_feed, list->n_feeds + 1);
    struct map first = MAP_INIT; /* for each path of folders: the keys of its first feed */

    for (size_t i = 0; i < list->n_feeds; i++) {
        const struct opml_feed *f = &list->feeds[i];
        AUTO(buf_release) struct buf path = BUF_INIT(BUF_ANY);

        all[i].feed = f;
        all[i].keys = ARENA_ARRAY(a, size_t, f->n_folders + 1);
        for (size_t k = 0; k < f->n_folders; k++) {
            size_t *known;

            buf_printf(&path, "%zu:", f->folders[k].len);
            buf_str(&path, f->folders[k]);
            all[i].keys[k] = i;
            known = map_get(&first, buf_view(&path));
            if (known == NULL)
                map_put(&first, buf_view(&path), &all[i].keys[k]);
            else
                all[i].keys[k] = *known;
        }
        all[i].keys[f->n_folders] = i;
    }
    map_release(&first, NULL);
    if (list->n_feeds > 1)
        qsort(all, list->n_feeds, sizeof *all, by_keys);
    for (size_t i = 0; i < list->n_feeds; i++)
        feeds[i] = *all[i].feed;
    list->feeds = feeds;
}
