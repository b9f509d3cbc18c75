/* model/marks.h - by what an entry is recognised when it is seen again. Plain data. Any thread.
 *
 * feed/identity.h makes them of a document's entries and compares them; storage keeps those of each
 * entry's last sight and finds entries by the keys.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Stable 64-bit hashes; 0: the entry lacks it. */
struct entry_marks {
    int64_t guid;        /* the publisher's id to the byte */
    int64_t guid_strong; /* less what never tells entries apart: scheme, host case, utm_... */
    int64_t guid_weak;   /* less what hardly ever does: sid=, the case of a path */
    int64_t link;        /* the link, in the strong form */
    int64_t link_weak;
    int64_t title;
    int64_t at;   /* no hash: published, else updated, Unix seconds */
    int64_t body; /* summary and content */
};

#define MARKS_KEYS 4
#define MARKS_BYTES 64

/* Keys under which an entry with these marks is found; returns their number. The kind of a mark is
 * part of its key. */
size_t marks_keys(const struct entry_marks *m, int64_t out[MARKS_KEYS]);

/* The stored form, the same on all machines. Unpacking is false for another length. */
void marks_pack(const struct entry_marks *m, unsigned char out[MARKS_BYTES]);
bool marks_unpack(struct str bytes, struct entry_marks *out);

/* True for entries that are one without doubt, whatever their feed's rule: for records that turn
 * out to be the same feed. */
bool marks_certain(const struct entry_marks *x, const struct entry_marks *y);

bool marks_same(const struct entry_marks *x, const struct entry_marks *y);

/* A stored entry, as one that is seen again is compared with it. */
struct identity_known {
    struct str uid;
    bool has_marks; /* false: stored before there were any */
    struct entry_marks marks;
    unsigned char essence[16];
};

#define IDENTITY_CANDIDATES 8 /* stored entries that are looked at for one key, the newest */

/* The rule by which the entries of a feed are told apart: which mark is trusted alone. Stored and
 * shown by name. */
enum identity_rule {
    IDENTITY_UNSET = 0, /* no document was seen yet */
    IDENTITY_GUID = 1,
    IDENTITY_LINK = 2,
    IDENTITY_TITLE = 3, /* title and date */
    IDENTITY_HASH = 4,  /* the whole content */
};
#define IDENTITY_RULES 5

/* "none", "guid", "link", "title", "hash". */
const char *identity_rule_name(enum identity_rule r);

/* What is kept of a feed: the rule, and the evidence that it should be another one. */
struct identity_policy {
    enum identity_rule rule;
    int64_t since_at; /* Unix seconds; TIME_UNKNOWN */
    struct str why;   /* one sentence; null when unset */
    int n_against;    /* documents in a row in which the rule failed */
    int n_better;     /* documents in a row in which a better rule was proved */
};
