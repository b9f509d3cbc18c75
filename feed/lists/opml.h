/* feed/lists/opml.h - reads and writes subscription lists (OPML). Pure. */
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
    struct str *folders; /* names of the enclosing outlines, outermost first, without those that are
                            feeds */
    size_t n_folders;
    /* our own attributes, by their names in OPML_NS, as written */
    struct str freq, sanitize;
    size_t outline_no; /* number of its outline in the document, from 1 */
};

/* An outline that includes another list: of type include, or of type link to an address that ends
 * in .opml. */
struct opml_include {
    struct str url; /* as written */
    struct str *folders;
    size_t n_folders;
    size_t before; /* the included feeds come before feeds[before] */
    size_t outline_no;
};

struct opml {
    struct str title;
    struct opml_feed *feeds;
    size_t n_feeds;
    struct opml_include *includes; /* callers follow them or not */
    size_t n_includes;
    size_t n_outlines; /* of any kind */
    bool bozo;         /* the list is not well-formed XML, but was read */
};

/* Read a list: OPML 1.0, 1.1 or 2.0, nested, with attribute names in any case. Subtrees with
 * isComment="true" are left out. Ill-formed XML is repaired as far as possible. Doubles are kept;
 * the caller must drop them. RC_INPUT: the text is not OPML (the message says what it is);
 * RC_LIMIT: over LIMIT_OPML_OUTLINES or _DEPTH. */
enum rc opml_read(struct arena *a, struct str body, struct str content_type, struct opml *out,
                  struct err *err) NODISCARD;

/* The same for a list with any number of outlines. */
enum rc opml_read_long(struct arena *a, struct str body, struct str content_type, struct opml *out,
                       struct err *err) NODISCARD;

/* In how many folders both feeds are, counted from the outermost. `x` may be NULL. */
size_t opml_shared_folders(const struct opml_feed *x, const struct opml_feed *y);

/* Write OPML 2.0, with the includes where they were. Feeds keep their order. A folder is opened wherever the previous feed is not in
 * it. `created_at` and `modified_at` are Unix seconds, written in the head as RFC 822 dates;
 * TIME_UNKNOWN: left out. */
void opml_write(struct buf *out, const struct opml *list, int64_t created_at, int64_t modified_at);

/* Order the feeds so that each folder is opened only once. Folders come in the order of their first
 * feeds; otherwise the order stays. */
void opml_group(struct arena *a, struct opml *list);
