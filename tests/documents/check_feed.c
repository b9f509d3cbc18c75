#include "tests/documents/check_feed.h"

#include <jansson.h>
#include <libxml/parser.h>

#include "base/assert.h"
#include "feed/identity/complete.h"
#include "feed/text/fragment.h"
#include "feed/text/json.h"
#include "feed/write/writer.h"
#include "tests/documents/identify.h"
#include "tests/fuzz/bound.h"

#define URL STR("http://e.org/a/feed")
#define MEMORY_PER_BYTE 4096

/* The texts that are stored as they are: UTF-8 without U+0000, which not every database has. */
static void check_text(struct str s)
{
    ASSERT(str_utf8_valid(s) == s.len && str_chr(s, '\0') < 0);
}

/* Namespace names are mere strings to us; libxml2 wants them to be URIs. */
static bool is_xml_error(const xmlError *e)
{
    return e != NULL && e->level >= XML_ERR_ERROR && e->code != XML_WAR_NS_URI;
}

/* A fragment is whole elements, and as XML within an element of ours it is well-formed. */
static void check_fragment(struct str ext)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    struct fragment_element el;
    struct str rest = ext;
    xmlDocPtr doc;

    check_text(ext);
    if (ext.len == 0)
        return;
    while (fragment_next(&rest, &el))
        ASSERT(el.local.len > 0);
    ASSERT(str_trim(rest).len == 0);
    buf_puts(&b, "<x>");
    buf_str(&b, ext);
    buf_puts(&b, "</x>");
    xmlResetLastError();
    doc = xmlReadMemory(b.ptr, (int)b.len, NULL, "utf-8",
                        XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_HUGE);
    ASSERT(doc != NULL && !is_xml_error(xmlGetLastError()));
    xmlFreeDoc(doc);
}

/* A reader that is not ours finds JSON in it, of UTF-8, and no name twice. */
static void check_json(struct str text)
{
    json_t *root = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

    check_text(text);
    ASSERT(root != NULL);
    json_decref(root);
}

/* The object as JSON, which must give it back. */
static struct str stored(struct arena *a, const struct value *obj)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    struct value *again;

    json_write(&b, obj);
    check_json(buf_view(&b));
    if (json_read(a, buf_view(&b), &again, NULL) == RC_OK)
        ASSERT(value_equal(obj, again));
    return str_dup(a, buf_view(&b));
}

/* As XML it is well-formed to the letter: libxml2 mends nothing here. */
static void check_xml(struct str text)
{
    xmlDocPtr doc;

    xmlResetLastError();
    doc = xmlReadMemory(text.ptr, (int)text.len, NULL, NULL,
                        XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_HUGE);
    ASSERT(doc != NULL && !is_xml_error(xmlGetLastError()));
    xmlFreeDoc(doc);
}

static void check_written(struct str text, enum feed_format format, size_t n_entries)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct parse_input in = {.body = text, .url = URL};
    struct feed_doc *doc;
    struct value *v;

    ASSERT(str_utf8_valid(text) == text.len);
    if (format == FORMAT_ATOM || format == FORMAT_RSS)
        check_xml(text);
    else
        check_json(text);
    if (format == FORMAT_JSON || format == FORMAT_JSON_OBJ) {
        ASSERT(json_read(&a, text, &v, NULL) == RC_OK);
        if (format == FORMAT_JSON)
            v = value_getz(v, "entries");
        ASSERT(value_len(v) == n_entries);
        return;
    }
    doc = feed_parse(&a, &in);
    ASSERT(!doc->bozo || str_starts(doc->bozo_why, STR("xmlns"))); /* "... is not a valid URI" */
    ASSERT(doc->n_entries == n_entries);
    for (size_t i = 0; i < n_entries; i++)
        ASSERT(!str_is_null(doc->entries[i].id));
    ASSERT(str_eqz(doc->version, format == FORMAT_ATOM  ? "atom10"
                                 : format == FORMAT_RSS ? "rss20"
                                                        : "json11"));
}

static void write_all(struct arena *a, const struct feed_doc *doc, const struct str *uids,
                      bool merged)
{
    struct out_feed feed = {.url = URL, .obj = doc->feed, .ext = doc->ext, .updated_at = 86400};
    struct out_entry *list = ARENA_ARRAY(a, struct out_entry, doc->n_entries + 1);
    struct out_doc out = {.merged = merged,
                          .self_url = STR("http://me/feed?url=x&type=y"),
                          .id = merged ? STR("urn:uuid:1") : STR_NULL,
                          .title = merged ? STR("M") : STR_NULL,
                          .feeds = &feed,
                          .n_feeds = 1,
                          .entries = list,
                          .updated_at = 86400};

    for (size_t i = 0; i < doc->n_entries; i++) {
        const struct doc_entry *e = &doc->entries[i];
        struct value *obj;

        if (str_is_null(uids[i]))
            continue;
        obj = entry_complete(a, e, uids[i], 86400);
        list[out.n_entries++] = (struct out_entry){.feed = &feed,
                                                   .obj = obj,
                                                   .json = stored(a, obj),
                                                   .ext = e->ext,
                                                   .uid = uids[i],
                                                   .published_at = e->published_at,
                                                   .updated_at = e->updated_at,
                                                   .received_at = 86400};
    }
    for (enum feed_format f = FORMAT_ATOM; f <= FORMAT_JSONFEED; f++) {
        AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

        feed_write(&b, f, &out);
        check_written(buf_view(&b), f, out.n_entries);
    }
}

static void check_entry(const struct doc_entry *e, struct str uid)
{
    check_fragment(e->ext);
    check_text(uid);
    check_text(e->id);
    check_text(e->title);
    check_text(e->link);
    check_text(e->summary);
    check_text(e->author);
}

static void check_head(const struct feed_doc *doc)
{
    check_fragment(doc->ext);
    check_text(doc->bozo_why);
    check_text(doc->cursor);
    check_text(doc->prev_cursor);
    check_text(doc->moved_to);
    for (size_t i = 0; i < doc->n_tombstones; i++) {
        check_fragment(doc->tombstones[i].ext);
        check_text(doc->tombstones[i].ref);
    }
}

void check_feed(const struct parse_input *in, enum check_as as)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct bound bound = bound_start(in->body.len);
    struct feed_doc *doc;
    struct str *uids;

    (void)feed_looks_like_html(in->body);
    doc = feed_parse(&a, in);
    bound_check_memory(&bound, &a, MEMORY_PER_BYTE);
    ASSERT(doc->bozo == !str_is_null(doc->bozo_why));
    check_head(doc);
    (void)stored(&a, feed_doc_object(&a, doc));
    uids = ARENA_ARRAY(&a, struct str, doc->n_entries + 1);
    identify(&a, doc, uids);
    for (size_t i = 0; i < doc->n_entries; i++)
        check_entry(&doc->entries[i], uids[i]);
    if (as & CHECK_ALONE)
        write_all(&a, doc, uids, false);
    if (as & CHECK_MERGED)
        write_all(&a, doc, uids, true);
    bound_check_time(&bound);
}
