/* tests/roundtrip/respin.c - documents through the parser, the writers, and the parser again.
 *
 *     respin DIR < list
 *
 * Each line of the list names a file; the n-th leaves in DIR what was written of it, as n.atom,
 * n.rss, n.jsonfeed, n.json and, as a merge of the feed with itself under another name,
 * n.merged.atom and so on; and n.facts, one JSON object: {"first": F, "atom": F, "rss": F,
 * "jsonfeed": F}, where F says what the parser made of the file and of what was written:
 * {"version", "bozo", "feed", "ext", "entries": [{"iri", "obj", "ext"}]}. check.py compares them.
 */
#include <stdio.h>

#include <libxml/parser.h>

#include "base/compiler.h"
#include "feed/identity/complete.h"
#include "feed/read/parse.h"
#include "feed/text/json.h"
#include "feed/write/writer.h"
#include "tests/documents/identify.h"

#define URL "http://example.org/dir/feed"
#define RECEIVED ((int64_t)1000000000) /* 2001-09-09T01:46:40Z */

static const struct {
    enum feed_format format;
    const char *suffix;
} formats[] = {{FORMAT_ATOM, "atom"},
               {FORMAT_RSS, "rss"},
               {FORMAT_JSONFEED, "jsonfeed"},
               {FORMAT_JSON, "json"}};

static void die(const char *what, const char *path)
{
    (void)fprintf(stderr, "respin: %s %s\n", what, path);
    exit(1);
}

static void slurp(const char *path, struct buf *out)
{
    char block[65536];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        die("cannot read", path);
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        buf_append(out, block, n);
    (void)fclose(f);
}

static void spill(const char *dir, size_t i, const char *suffix, struct str s)
{
    char path[4096];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%zu.%s", dir, i, suffix);
    f = fopen(path, "wb");
    if (f == NULL || fwrite(s.ptr, 1, s.len, f) != s.len || fclose(f) != 0)
        die("cannot write", path);
}

/* What the daemon would store of a document. */
struct taken {
    struct feed_doc *doc;
    struct out_feed feed;
    struct out_entry *entries;
    size_t n_entries;
};

static void take(struct arena *a, struct str body, struct str url, struct taken *t)
{
    struct parse_input in = {.body = body, .url = url};
    struct str *uids;

    *t = (struct taken){.doc = feed_parse(a, &in)};
    uids = ARENA_ARRAY(a, struct str, t->doc->n_entries + 1);
    t->entries = ARENA_ARRAY(a, struct out_entry, t->doc->n_entries + 1);
    identify(a, t->doc, uids);
    t->feed = (struct out_feed){.url = url,
                                .obj = t->doc->feed,
                                .meta = feed_doc_object(a, t->doc),
                                .ext = t->doc->ext,
                                .updated_at = RECEIVED};
    for (size_t i = 0; i < t->doc->n_entries; i++) {
        const struct doc_entry *e = &t->doc->entries[i];
        struct buf json = BUF_INIT(BUF_ANY);

        if (str_is_null(uids[i]))
            continue;
        json_write(&json, entry_complete(a, e, uids[i], RECEIVED));
        t->entries[t->n_entries++] = (struct out_entry){.feed = &t->feed,
                                                        .json = str_dup(a, buf_view(&json)),
                                                        .ext = e->ext,
                                                        .uid = uids[i],
                                                        .published_at = e->published_at,
                                                        .updated_at = e->updated_at,
                                                        .received_at = RECEIVED};
        buf_release(&json);
    }
}

static struct value *facts(struct arena *a, const struct taken *t)
{
    struct value *o = value_dict(a), *list = value_list(a), *one, *obj;

    value_set_textz(a, o, "version", t->doc->version);
    value_setz(a, o, "bozo", value_bool(a, t->doc->bozo));
    if (t->doc->bozo)
        value_set_textz(a, o, "why", t->doc->bozo_why);
    value_setz(a, o, "namespaces", t->doc->namespaces);
    value_setz(a, o, "feed", t->doc->feed);
    value_set_textz(a, o, "ext", t->doc->ext);
    for (size_t i = 0; i < t->n_entries; i++) {
        const struct out_entry *e = &t->entries[i];

        one = value_dict(a);
        value_set_textz(a, one, "iri", feed_entry_iri(a, STR(URL), e->uid));
        value_set_textz(a, one, "ext", e->ext);
        if (json_read(a, e->json, &obj, NULL) != RC_OK)
            die("wrote JSON that cannot be read:", e->json.ptr);
        value_setz(a, one, "obj", obj);
        value_push(a, list, one);
    }
    value_setz(a, o, "entries", list);
    return o;
}

static void respin(const char *dir, size_t i, const char *path)
{
    struct buf body = BUF_INIT(BUF_ANY), out = BUF_INIT(BUF_ANY);
    struct arena a = ARENA_INIT;
    struct value *all = value_dict(&a);
    struct taken first, again;
    char suffix[64];

    slurp(path, &body);
    take(&a, buf_view(&body), STR(URL), &first);
    value_setz(&a, all, "first", facts(&a, &first));
    for (size_t k = 0; k < ARRAY_LEN(formats); k++) {
        struct out_link hub = {STR("hub"), STR_NULL, STR("http://me/hub")};
        struct out_doc doc = {.self_url = str_printf(&a, "http://me/feed/?url=" URL "&type=%s",
                                                     format_name(formats[k].format)),
                              .id = STR_NULL,
                              .title = STR_NULL,
                              .feeds = &first.feed,
                              .n_feeds = 1,
                              .entries = first.entries,
                              .n_entries = first.n_entries,
                              .links = &hub,
                              .n_links = 1,
                              .updated_at = RECEIVED,
                              .ttl_s = 3600,
                              .next_url = STR("http://me/next")};

        buf_reset(&out);
        feed_write(&out, formats[k].format, &doc);
        spill(dir, i, formats[k].suffix, buf_view(&out));
        if (formats[k].format != FORMAT_JSON) {
            take(&a, str_dup(&a, buf_view(&out)), STR("http://wrong.example/"), &again);
            value_set(&a, all, str_from(formats[k].suffix), facts(&a, &again));
        }
        doc.merged = true;
        doc.id = STR("urn:uuid:00000000-0000-5000-8000-000000000000");
        doc.title = STR("Merged & \"more\" < 2");
        buf_reset(&out);
        feed_write(&out, formats[k].format, &doc);
        (void)snprintf(suffix, sizeof suffix, "merged.%s", formats[k].suffix);
        spill(dir, i, suffix, buf_view(&out));
    }
    buf_reset(&out);
    json_write(&out, all);
    spill(dir, i, "facts", buf_view(&out));
    buf_release(&out);
    buf_release(&body);
    arena_release(&a);
}

int main(int argc, char **argv)
{
    char path[4096];

    if (argc != 2) {
        (void)fprintf(stderr, "usage: respin DIR < list of files\n");
        return 2;
    }
    xmlInitParser();
    for (size_t i = 0; fgets(path, sizeof path, stdin) != NULL; i++) {
        path[strcspn(path, "\n")] = '\0';
        respin(argv[1], i, path);
    }
    return 0;
}
