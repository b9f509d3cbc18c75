/* feed/opml.h - subscription lists, both ways. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define OPML_NS "urn:feedmill:opml" /* namespace of our own attributes */

/* One outline that is a feed. Strings are trimmed and decoded; null when missing or empty. */
struct opml_feed {
    struct str xml_url; /* as written; `feed:` mapped to http(s) */
    struct str html_url;
    struct str title; /* title attribute or else text */
    struct str text;
    struct str category; /* as written: "a,/b/c" */
    struct str *folders; /* names of the enclosing outlines that are no feeds, outermost first */
    size_t n_folders;
    /* our own attributes, by their names in OPML_NS, as written */
    struct str freq, sanitize;
    size_t place; /* its number among the outlines of the document, from 1 */
};

/* An outline that stands for another list: of type include, or link to something .opml. */
struct opml_include {
    struct str url; /* as written */
    struct str *folders;
    size_t n_folders;
    size_t before; /* the list's feeds come in front of feeds[before] */
    size_t place;
};

struct opml {
    struct str title;
    struct opml_feed *feeds;
    size_t n_feeds;
    struct opml_include *includes; /* callers follow them or not */
    size_t n_includes;
    size_t n_outlines; /* of any kind */
    bool bozo;         /* not well-formed XML, read all the same */
};

/* Read a list. OPML 1.0/1.1/2.0, nested, attribute names in any case, isComment="true" subtrees
 * left out, ill-formed XML mended as far as possible; doubles are kept (callers count once).
 * RC_INPUT: no OPML (says what it is instead); RC_LIMIT: over LIMIT_OPML_OUTLINES or _DEPTH. */
enum rc opml_read(struct arena *a, struct str body, struct str content_type, struct opml *out,
                  struct err *err) NODISCARD;

/* Write OPML 2.0: feeds in their order, a folder opened wherever the feed before is not in it.
 * `created_at`, `modified_at`: Unix seconds, for head (RFC 822 dates); TIME_UNKNOWN: left out. */
void opml_write(struct buf *out, const struct opml *list, int64_t created_at, int64_t modified_at);

/* Order the feeds so that each folder is opened once: by the first feed in it, folder by folder,
 * and otherwise as they are. */
void opml_group(struct arena *a, struct opml *list);
