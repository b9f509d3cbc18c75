/* feed/read/xml_reader.c - passes feeds to libxml2; no other file does.
 *
 * libxml2 gets only tags, which are well-formed already and have only numeric references. So its
 * code for entities never runs; it resolves namespaces and splits attributes. Text was already read
 * by the prefilter, and libxml2 would only copy it. So the text waits here until the tags before it
 * have come back.
 *
 * Each name is made once. It is looked up by its three pointers, so after its first occurrence it
 * costs only one hash. */
#include "feed/read/xml_reader.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "feed/read/prefilter.h"
#include "feed/text/kept.h"
#include "feed/text/names.h"

#define ATTRS_MAX 128
#define DECLS_MAX 128
#define NAMES_MAX 16384 /* different names of one document; all others become "x" */

struct cached_name {
    const xmlChar *local, *prefix, *uri;
    struct name *name;
};

struct known_namespace {
    const xmlChar *uri;
    const struct ns *ns;
};

struct xml_reader {
    struct builder *b;
    xmlParserCtxtPtr ctxt;
    struct cached_name *cache; /* open addressing, at most half full */
    size_t cache_cap, n_cached;
    struct name other; /* used for all names after NAMES_MAX */
    struct known_namespace namespaces[16];
    struct str root_uri;
    bool has_root;
    const char *why;                    /* first error; static or in the arena */
    size_t n_tags;                      /* tags that came back, as the prefilter counts them */
    const struct prefilter_text *texts; /* of this batch, next one first */
    size_t n_texts;
    struct prefilter_text *late; /* texts of earlier batches: their tags have not come back yet */
    size_t n_late, late_cap, next_late;
    struct attr attrs[ATTRS_MAX]; /* not cleared: these two are set before they are used */
    struct ns_decl decls[DECLS_MAX];
};

static struct str from_xml(const xmlChar *s)
{
    return str_from((const char *)s);
}

/* ---------------------------------------------------------------- names */

/* Namespaces whose elements a browser executes anywhere in an XML document: a script of a publisher
 * must not run as part of our documents. Also a namespace that XML tools act on: it would make them
 * read files of the people who read our documents. */
static bool is_executable(struct str uri)
{
    static const char *const uris[] = {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg",
                                       "http://www.w3.org/1998/Math/MathML",
                                       "http://www.w3.org/2001/XInclude"};

    for (size_t i = 0; i < ARRAY_LEN(uris); i++)
        if (str_eqz(uri, uris[i]))
            return true;
    return false;
}

/* A URI never has these characters. The namespace is written into a tag without escaping. */
static bool is_uri_text(struct str uri)
{
    for (size_t i = 0; i < uri.len; i++)
        if ((unsigned char)uri.ptr[i] <= ' ' || strchr("<>\"{}|\\^`", uri.ptr[i]) != NULL)
            return false;
    return true;
}

/* As ns_find(), but it remembers the results. The parser keeps each URI only once, so pointers can
 * be compared. */
static const struct ns *find_namespace(struct xml_reader *r, const xmlChar *uri, struct str text)
{
    struct known_namespace *known = &r->namespaces[(uintptr_t)uri / 8 % ARRAY_LEN(r->namespaces)];

    if (uri == NULL)
        return ns_find(text);
    if (known->uri != uri)
        *known = (struct known_namespace){uri, ns_find(text)};
    return known->ns;
}

/* Names that must not be kept as XML are `is_barred`. Among them are names with a second colon:
 * they would make every document with a copy of them ill-formed for parsers that know
 * namespaces. */
static struct name *make_name(struct xml_reader *r, const xmlChar *local, const xmlChar *prefix,
                              const xmlChar *uri)
{
    struct arena *a = r->b->a;
    struct name *n = ARENA_NEW(a, struct name);
    const struct ns *ns = NULL;
    struct str lower, tag_prefix = STR(""), bound;
    bool is_own;

    n->local = str_dup(a, from_xml(local));
    n->prefix = prefix == NULL ? STR("") : str_dup(a, from_xml(prefix));
    n->uri = uri == NULL ? STR_NULL : str_dup(a, from_xml(uri));
    lower = str_lower(a, n->local);
    bound = uri != NULL || n->prefix.len == 0 ? n->uri : str_from(ns_uri_of_prefix(n->prefix));
    if (!str_is_null(bound))
        ns = find_namespace(r, uri, bound);
    /* an unknown default namespace is foreign, unless it is that of the root */
    is_own = ns != NULL ? ns->prefix[0] == '\0'
                        : n->prefix.len == 0 && (uri == NULL || str_eq(n->uri, r->root_uri));
    n->is_foreign = !is_own;
    n->is_barred = str_chr(n->local, ':') >= 0 || is_executable(bound) || !is_uri_text(bound) ||
                   str_eqz(bound, NS_KEPT);
    if (ns != NULL)
        tag_prefix = str_lower(a, str_from(ns->prefix));
    else if (n->prefix.len > 0)
        tag_prefix = str_lower(a, n->prefix);
    if (tag_prefix.len > 0) {
        char *key;

        n->tag = str_concat(a, str_concat(a, tag_prefix, STR(":")), lower);
        key = str_z(a, n->tag);
        key[tag_prefix.len] = '_';
        n->key = str_of(key, n->tag.len);
    } else {
        n->tag = n->key = lower;
    }
    n->attrs_key = str_concat(a, n->key, STR("_"));
    n->attr = ns != NULL && ns->prefix[0] != '\0' ? n->tag : lower;
    if (is_own || tag_prefix.len > 0)
        n->element = element_find(n->tag);
    return n;
}

static size_t name_slot(const struct xml_reader *r, const xmlChar *local, const xmlChar *prefix,
                        const xmlChar *uri)
{
    uint64_t h = (uint64_t)(uintptr_t)local * 0x9E3779B97F4A7C15u ^
                 (uint64_t)(uintptr_t)prefix * 0xC2B2AE3D27D4EB4Fu ^
                 (uint64_t)(uintptr_t)uri * 0x165667B19E3779F9u;
    size_t i = (size_t)(h >> 32) & (r->cache_cap - 1);

    while (r->cache[i].local != NULL &&
           (r->cache[i].local != local || r->cache[i].prefix != prefix || r->cache[i].uri != uri))
        i = (i + 1) & (r->cache_cap - 1);
    return i;
}

static void grow_cache(struct xml_reader *r)
{
    struct cached_name *old = r->cache;
    size_t n = r->cache_cap;

    r->cache_cap = n == 0 ? 128 : n * 2;
    r->cache = mem_zalloc(r->cache_cap * sizeof *r->cache);
    for (size_t i = 0; i < n; i++)
        if (old[i].local != NULL)
            r->cache[name_slot(r, old[i].local, old[i].prefix, old[i].uri)] = old[i];
    mem_free(old);
}

static const struct name *find_name(struct xml_reader *r, const xmlChar *local,
                                    const xmlChar *prefix, const xmlChar *uri)
{
    size_t i = name_slot(r, local, prefix, uri);

    if (r->cache[i].local == NULL) {
        if (r->n_cached == NAMES_MAX) {
            if (r->why == NULL)
                r->why = "There are too many different names";
            return &r->other;
        }
        if (++r->n_cached * 2 > r->cache_cap) {
            grow_cache(r);
            i = name_slot(r, local, prefix, uri);
        }
        r->cache[i] = (struct cached_name){local, prefix, uri, make_name(r, local, prefix, uri)};
    }
    return r->cache[i].name;
}

/* ---------------------------------------------------------------- text */

/* Give the builder the texts whose tags have come. */
static void put_texts(struct xml_reader *r)
{
    for (; r->next_late < r->n_late && r->late[r->next_late].at <= r->n_tags; r->next_late++)
        builder_text(r->b, r->late[r->next_late].text.ptr, r->late[r->next_late].text.len);
    if (r->next_late < r->n_late)
        return;
    for (; r->n_texts > 0 && r->texts->at <= r->n_tags; r->texts++, r->n_texts--)
        builder_text(r->b, r->texts->text.ptr, r->texts->text.len);
}

/* The batch ends, but the parser has not returned all its tags: keep a copy of the remaining
 * texts. */
static void keep_texts(struct xml_reader *r)
{
    if (r->next_late == r->n_late)
        r->next_late = r->n_late = 0;
    r->late = mem_grow(r->late, &r->late_cap, r->n_late + r->n_texts, sizeof *r->late);
    for (; r->n_texts > 0; r->texts++, r->n_texts--) {
        struct str text = r->texts->text;

        if (text.ptr != prefilter_written_amp && text.ptr != prefilter_lost_text)
            text = str_dup(r->b->a, text);
        r->late[r->n_late++] = (struct prefilter_text){text, r->texts->at};
    }
}

/* ---------------------------------------------------------------- callbacks */

/* libxml2 leaves "&#38;" for each '&' of an attribute value. It expects a second parse, which users
 * of SAX do not make. */
static struct str attribute_value(struct xml_reader *r, const xmlChar *from, const xmlChar *to)
{
    struct str v = {(const char *)from, (size_t)(to - from)};
    char *out;
    size_t n = 0;

    if (v.len < 5 || memchr(v.ptr, '&', v.len) == NULL)
        return v;
    out = arena_alloc(r->b->a, v.len);
    for (size_t i = 0; i < v.len; i++) {
        out[n++] = v.ptr[i];
        if (v.ptr[i] == '&' && v.len - i >= 5 && memcmp(v.ptr + i, "&#38;", 5) == 0)
            i += 4;
    }
    return str_of(out, n);
}

static void on_start(void *ctx, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri,
                     int n_namespaces, const xmlChar **namespaces, int n_attributes,
                     int n_defaulted UNUSED, const xmlChar **attributes)
{
    struct xml_reader *r = ctx;
    struct attrs at = {r->attrs, 0};
    size_t n_decls = 0;

    put_texts(r);
    r->n_tags++;
    if (!r->has_root) {
        r->has_root = true;
        r->root_uri = uri == NULL ? STR_NULL : str_dup(r->b->a, from_xml(uri));
    }
    for (int i = 0; i < n_namespaces && n_decls < DECLS_MAX; i++) {
        const xmlChar *p = namespaces[2 * i], *u = namespaces[2 * i + 1];

        if (u != NULL && u[0] != '\0')
            r->decls[n_decls++] = (struct ns_decl){p == NULL ? STR("") : from_xml(p), from_xml(u)};
    }
    for (int i = 0; i < n_attributes && at.n < ATTRS_MAX; i++, attributes += 5)
        r->attrs[at.n++] =
            (struct attr){find_name(r, attributes[0], attributes[1], attributes[2]),
                          builder_mend_c1(r->b, attribute_value(r, attributes[3], attributes[4]))};
    builder_start(r->b, find_name(r, local, prefix, uri), &at, r->decls, n_decls);
}

static void on_end(void *ctx, const xmlChar *local UNUSED, const xmlChar *prefix UNUSED,
                   const xmlChar *uri UNUSED)
{
    struct xml_reader *r = ctx;

    put_texts(r);
    r->n_tags++;
    builder_end(r->b);
}

static void on_error(void *ctx, xmlErrorPtr error)
{
    struct xml_reader *r = ctx;
    struct str text = str_trim(str_from(error->message));

    if (error->level < XML_ERR_ERROR || r->why != NULL)
        return;
    r->why = arena_printf(r->b->a, "%.*s", (int)(text.len < 300 ? text.len : 300), text.ptr);
}

static void on_batch(void *ctx, const struct prefilter_batch *batch)
{
    struct xml_reader *r = ctx;

    r->texts = batch->texts;
    r->n_texts = batch->n_texts;
    if (batch->tags.len > 0)
        (void)xmlParseChunk(r->ctxt, batch->tags.ptr, (int)batch->tags.len, 0);
    put_texts(r);
    if (r->n_texts > 0)
        keep_texts(r);
}

const char *xml_read(struct builder *b, struct str text, bool guesses, bool *crossed)
{
    xmlSAXHandler sax = {
        .initialized = XML_SAX2_MAGIC,
        .startElementNs = on_start,
        .endElementNs = on_end,
        .serror = on_error,
    };
    struct xml_reader *r = mem_alloc(sizeof *r);
    struct prefilter_result mended;
    const char *why;

    memset(r, 0, offsetof(struct xml_reader, attrs));
    r->b = b;
    r->other = (struct name){.prefix = STR(""),
                             .local = STR("x"),
                             .tag = STR("x"),
                             .key = STR("x"),
                             .attrs_key = STR("x_"),
                             .attr = STR("x")};
    grow_cache(r);
    r->ctxt = xmlCreatePushParserCtxt(&sax, r, NULL, 0, NULL);
    if (r->ctxt == NULL)
        abort(); /* only when there is no memory */
    (void)xmlCtxtUseOptions(r->ctxt, XML_PARSE_RECOVER | XML_PARSE_NONET | XML_PARSE_IGNORE_ENC);
    prefilter(text, guesses ? PREFILTER_GUESSES : PREFILTER_PLAIN, on_batch, r, &mended);
    *crossed = mended.is_crossed;
    b->is_over = true;
    (void)xmlParseChunk(r->ctxt, NULL, 0, 1);
    put_texts(r);
    builder_finish(b);
    if (mended.is_netscape && str_starts(b->doc->version, STR("rss091")))
        b->doc->version = STR("rss091n");
    why = mended.why != NULL ? mended.why : r->why;
    xmlFreeParserCtxt(r->ctxt);
    mem_free(r->cache);
    mem_free(r->late);
    mem_free(r);
    return why;
}
