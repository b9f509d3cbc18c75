/* api/views/forms.h - the table of forms: how each protocol shows the log. Pure.
 *
 * A form decides what a revision becomes in a document, which links a page of the log has, and
 * which pages never change. Storage provides the rows, and the writers make the bytes. */
#pragma once

#include <stdbool.h>

#include "feed/write/writer.h"
#include "model/feed.h"
#include "model/view.h"

/* Returns a urn:uuid (version 5) for a name that only we make. In the arena. */
struct str form_urn(struct arena *a, struct str name);

/* Traits of forms, besides the entries that they make. */
enum form_trait {
    FORM_LINKS_UNFINISHED = 1, /* next-archive leads to the newest page, too (D11) */
    FORM_HAS_OWN_URL = 2,      /* the newest page can be asked for by its number */
    FORM_IS_INSTANCE = 4,      /* each state of a page has a URL: {page}-{rows} */
    FORM_NAMES_ITSELF = 8,     /* the entry document, too, has a link "current" to itself */
    /* a page shows only the newest of several versions of an entry */
    FORM_SHOWS_NEWEST_VERSIONS = 16,
    FORM_COUNTS_MICROSECONDS = 32, /* the date of a document has microseconds */
};

struct form_ops {
    const char *path;       /* path of its pages; NULL: the form has no pages */
    const char *entry_path; /* path of the entry document, which shows the newest page */
    /* add to an entry what only this form tells about a revision */
    void (*entry)(struct arena *a, const struct revision *row, struct str log_id,
                  struct out_entry *out);
    unsigned traits; /* enum form_trait */
};

const struct form_ops *form_ops(enum form form);

/* Find the form to which a path belongs: the path is the form's `path`, or is below it. False: it
 * belongs to no form that has pages. */
bool form_of_path(struct str path, enum form *out);
bool form_has(enum form form, enum form_trait trait);

/* Make the revision an entry of a document of this form. `feed`, texts and links must live as long
 * as the arena. `obj` is not set. `log_id` is used for ids of events. */
void form_entry(enum form form, struct arena *a, const struct revision *row,
                const struct out_feed *feed, struct str log_id, struct out_entry *out);

/* Make the entry an event with an id of its own and a link to the entry (D10). */
void form_own_id(struct arena *a, const struct revision *row, struct str log_id,
                 struct out_entry *out);

/* Returns the id of an item of a stream. Usually it is the id of the entry. If an older item of
 * another feed has the same id (has_elder), the item gets its own id, because ids are unique in a
 * stream and both items must be in it (SMART-29). `feed` is the feed of the row. */
struct str form_item_id(struct arena *a, const struct revision *row, const struct feed *feed,
                        bool has_elder);

/* Returns the time of an event of an entry, of which no two are equal: for entries are compared by dates
 * (RFC 6721 section 3). It is when it happened; or, if the publisher's own date is later, that date with
 * the number of the revision in microseconds. So what comes later is later, if the publisher does not go
 * back in time. */
int64_t form_event_us(const struct revision *row);

/* Of several versions of an entry on one page, keep only the newest, because readers that compare
 * dates could not tell them apart. Entries of two feeds with the same id are treated in the same
 * way, unless the older one has the later date. Deletions stay. `rows` are newest first; returns
 * how many are kept. */
size_t form_newest_versions(struct arena *a, struct revision *rows, size_t n);

/* The position of a page in its log. */
struct form_page {
    int64_t n, n_pages;
    size_t rows;       /* rows of the page now */
    size_t shown;      /* rows in the document, at most `rows` (is_instance) */
    bool by_entry;     /* requested by the URL of the entry document */
    bool is_page;      /* the document has exactly the page's rows, unlike most deliveries */
    bool reaches_back; /* it has all rows of the page before its last row, so that older rows are on
                          the page before */
    struct str base;   /* URL of the pages, without the number: "http://host/simple/word/" */
    struct str entry;  /* URL of the entry document */
    const char *suffix;     /* of page URLs in this format: "" or ".rss" */
    const char *media_type; /* of this format, without parameters */
};

/* Returns true when the bytes of this page never change. */
bool form_page_is_settled(enum form form, const struct form_page *page);

/* Returns true for a sealed page that must say that it is one (fh:archive, D12). */
bool form_page_is_archive(enum form form, const struct form_page *page);

/* form_page_url() returns the URL of a page. form_links() sets *out to the links of its head (at
 * most 4, in the arena), and returns their number. */
struct str form_page_url(enum form form, struct arena *a, const struct form_page *page, int64_t n,
                         size_t rows);
size_t form_links(enum form form, struct arena *a, const struct form_page *page, size_t page_size,
                  struct out_link **out);
