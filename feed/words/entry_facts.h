/* feed/words/entry_facts.h - what of an entry can be asked for: its texts without markup, its
 * authors, categories, languages and media. Pure.
 *
 * The index and the judge of a filter read an entry by this one function, so both see the same.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/feed.h"

/* What an entry has. Bits. */
enum entry_has {
    HAS_ENCLOSURE = 1,
    HAS_AUDIO = 2, /* these three: an enclosure or a media:content of that kind */
    HAS_VIDEO = 4,
    HAS_IMAGE = 8,
    HAS_CONTENT = 16, /* a text of its own beside the summary */
};
#define ENTRY_HAS_KINDS 5
/* "enclosure", ... of the bit 1 << i. */
extern const char *const entry_has_names[ENTRY_HAS_KINDS];
#define ENTRY_HAS_NAMES "enclosure|audio|video|image|content"

struct str_list {
    struct str *list;
    size_t n;
};

/* A text as the publisher wrote it. */
struct entry_text {
    struct str value;
    bool is_plain; /* otherwise HTML */
};

#define ENTRY_TEXT_MAX                                                                             \
    ((size_t)256 * 1024) /* bytes of the texts of an entry that are looked at                      \
                          */

struct entry_facts {
    struct entry_text title;
    struct entry_text *texts; /* summary and contents */
    size_t n_texts;
    struct str_list authors;    /* names; none: those of the feed count */
    struct str_list categories; /* terms and labels */
    struct str_list langs;      /* tags; none: that of the feed counts */
    unsigned has;               /* bits of enum entry_has */
};

/* Read a revision that is not a deletion. Its doc is parsed once; the texts are not touched yet.
 * An unreadable doc is as an empty one. Arena. */
void entry_facts_read(struct arena *a, const struct revision *rev, struct entry_facts *out);

/* The authors and languages of a feed (struct feed, `head`), in the same way; nothing else is
 * filled in. */
void head_facts_read(struct arena *a, struct str head, struct entry_facts *out);

/* Do two heads say the same of these? */
bool head_facts_same(struct arena *a, struct str head, struct str other);

/* A text without markup and references, of at most *room bytes, which are then fewer. Arena. */
struct str entry_text_plain(struct arena *a, struct entry_text text, size_t *room);
