/* api/form.h - what the log looks like in each protocol: the one table of views. Pure.
 *
 * A form says what a revision becomes in a document and which links a page of the log carries. The
 * rows come from storage, the bytes from the writers: a protocol is what stands here.
 */
#pragma once

#include <stdbool.h>

#include "feed/writer.h"
#include "model/feed.h"
#include "model/view.h"

/* urn:uuid (version 5) of a name that only we give. In the arena. */
struct str form_urn(struct arena *a, struct str name);

/* What the pages of a form are like. */
struct form_rules {
    const char *path;      /* "/simple"; NULL: not made of pages */
    const char *entry;     /* path of the entry document, which shows the newest page */
    bool links_unfinished; /* next-archive leads to the newest page, too (D11) */
    bool has_own_url;      /* the newest page can be asked for by number */
    bool is_instance;      /* each state of a page has a URL: {n}-{rows} */
    bool names_itself;     /* the entry document has a link current, too */
};
const struct form_rules *form_rules(enum form form);

/* The revision as an entry of a document of this form. `feed`, texts and links live as long as the
 * arena. `obj` is left to the caller. `log_id`: for ids of events. */
void form_entry(enum form form, struct arena *a, const struct revision *row,
                const struct out_feed *feed, struct str log_id, struct out_entry *out);

/* Make it an event with an id of its own, which leads to the entry (D10). */
void form_own_id(struct arena *a, const struct revision *row, struct str log_id,
                 struct out_entry *out);

/* The id of an item of a stream: that of the entry, or, when an older item of another feed has the
 * same (has_elder), one of its own: ids are unique in a stream, and both items are there
 * (SMART-29). `feed` is the record that the row belongs to. */
struct str form_item_id(struct arena *a, const struct revision *row, const struct feed_record *feed,
                        bool has_elder);

/* Of several versions of an entry on one page the newest stands for all: readers that go by dates
 * could not tell them apart. So it is with entries that two feeds have under one id, unless the
 * older one has the later date. Deletions stay. `rows` newest first; returns how many are kept. */
size_t form_newest_versions(struct arena *a, struct revision *rows, size_t n);

/* Where a page stands in its log. */
struct form_page {
    int64_t n, n_pages;
    size_t rows;        /* of the page now */
    size_t shown;       /* at most rows: as many the document has (is_instance) */
    bool by_entry;      /* asked for by the entry document's URL */
    bool is_page;       /* the document has the page's rows and no others, unlike most deliveries */
    bool reaches_back;  /* it has all of them before its last one: what is before them is the page
                           before */
    struct str base;    /* URL of the pages, without the number: "http://host/simple/word/" */
    struct str entry;   /* URL of the entry document */
    const char *suffix; /* of page URLs in this format: "" or ".rss" */
    const char *media_type; /* of this format, without parameters */
};

/* Pages whose bytes never change. */
bool form_page_is_settled(enum form form, const struct form_page *page);

/* Sealed pages that say so (fh:archive, D12). */
bool form_page_is_archive(enum form form, const struct form_page *page);

/* URL of a page, and the links of the head in *out (at most 4, in the arena). */
struct str form_page_url(enum form form, struct arena *a, const struct form_page *page, int64_t n,
                         size_t rows);
size_t form_links(enum form form, struct arena *a, const struct form_page *page, size_t page_size,
                  struct out_link **out);
