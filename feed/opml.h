/* feed/opml.h - subscription lists, both ways. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define OPML_NS "urn:feedmill:opml" /* namespace of our own attributes */
#define OPML_LEVEL_NONE (-2)        /* not given */

struct opml_feed {
    struct str xml_url;  /* as written, trimmed, entities decoded; `feed:` mapped to http(s) */
    struct str html_url; /* null when missing */
    struct str title;    /* title attribute or else text; null */
    struct str text;     /* null */
    struct str *folders; /* names of the enclosing outlines that are no feeds, outermost first */
    size_t n_folders;
    int level;           /* Feedmill's own attribute `freq`, both ways: 0..2, LEVEL_EXACT with
                            period_s, or OPML_LEVEL_NONE */
    int64_t period_s;
};

struct opml {
    struct str title;
    struct opml_feed *feeds;
    size_t n_feeds;
    bool bozo;           /* not well-formed XML, read all the same */
    struct str *includes; /* addresses of further lists (outlines of type include, or link to
                             .opml), as written; callers follow them or not */
    size_t n_includes;
};

/* Read a list. OPML 1.0/1.1/2.0, nested, xmlUrl in any case, isComment="true" subtrees left out,
 * ill-formed XML mended as far as possible; doubles are kept (callers count once).
 * RC_INPUT: no OPML (says what it is instead); RC_LIMIT: over LIMIT_OPML_OUTLINES or _DEPTH. */
enum rc opml_read(struct arena *a, struct str body, struct str content_type, struct opml *out,
                  struct err *err) NODISCARD;

/* Write OPML 2.0. `created_at`, `modified_at`: Unix seconds, for head (RFC 822 dates). */
void opml_write(struct buf *out, const struct opml *list, int64_t created_at, int64_t modified_at);
