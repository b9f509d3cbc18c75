/* model/marks.h - the marks by which an entry is recognised when it is seen again. The structs are
 * plain data; any thread may use them.
 *
 * feed/identity/identity.h makes the marks of a document's entries and compares them. Storage keeps
 * the marks that each entry had when it was last seen. It finds entries by keys, which are made
 * from the marks (marks_keys()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* 64-bit hashes; the way in which they are computed never changes. 0: the entry does not have this
 * mark. */
struct entry_marks {
    int64_t guid;        /* of the publisher's id, byte by byte */
    int64_t guid_strong; /* of the id without parts that never distinguish entries: scheme, case of
                            the host, utm_... */
    int64_t guid_weak;   /* also without parts that hardly ever do: sid=, case of the path */
    int64_t link;        /* of the link, in the strong form */
    int64_t link_weak;
    int64_t title;
    int64_t at;   /* not a hash: Unix seconds of `published`, else of `updated` */
    int64_t body; /* of summary and content */
};

#define MARKS_KEYS 4
#define MARKS_BYTES 64

/* Write to `out` the keys under which an entry with these marks is found, and return their number.
 * Each key depends on the kind of its mark, too. */
size_t marks_keys(const struct entry_marks *m, int64_t out[MARKS_KEYS]);

/* Write and read the stored form, which is the same on all machines. marks_unpack() returns false
 * if `bytes` has the wrong length. */
void marks_pack(const struct entry_marks *m, unsigned char out[MARKS_BYTES]);
bool marks_unpack(struct str bytes, struct entry_marks *out);

/* True when two sets of marks certainly belong to the same entry, whatever the rule of their feed
 * is. This is used when two feeds turn out to be the same feed. */
bool marks_certain(const struct entry_marks *x, const struct entry_marks *y);

bool marks_same(const struct entry_marks *x, const struct entry_marks *y);

/* What is known of a stored entry when the entries of a document are compared with it. */
struct identity_known {
    struct str uid;
    bool has_marks; /* false: the entry was stored without marks */
    struct entry_marks marks;
    unsigned char essence[16];
};

#define IDENTITY_CANDIDATES 8 /* most stored entries that are compared for one key: the newest */

/* The rule by which the entries of a feed are told apart. It names the mark that is sufficient by
 * itself to recognise an entry. Rules are stored and shown by name. */
enum identity_rule {
    IDENTITY_UNSET = 0, /* no document of the feed has been seen yet */
    IDENTITY_GUID = 1,
    IDENTITY_LINK = 2,
    IDENTITY_TITLE = 3, /* title and date */
    IDENTITY_HASH = 4,  /* the whole content */
};
#define IDENTITY_RULES 5

/* "none", "guid", "link", "title", "hash". */
const char *identity_rule_name(enum identity_rule r);

/* What is stored for a feed: its rule, and the evidence that another rule would be better. */
struct identity_policy {
    enum identity_rule rule;
    int64_t since_at; /* Unix seconds; TIME_UNKNOWN */
    struct str why;   /* one sentence; null when unset */
    int n_against;    /* documents in a row in which the rule failed */
    int n_better;     /* documents in a row in which a better rule was proved */
};
