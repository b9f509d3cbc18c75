/* storage/mirrors.h - files that entries name (enclosures, media), as far as they are mirrored:
 * what became of each, and how far the log was looked through for them. The files themselves are
 * not here (mirror/).
 *
 * Which files are wanted follows from the log, so whoever looks for them has a position there,
 * which moves in one transaction with what was found.
 */
#pragma once

#include "model/mirror.h"
#include "storage/store.h"

/* A row of `mirrors`. */
struct mirrored {
    struct str key; /* mirror_key() of the URL */
    struct str url; /* as the entry has it */
    enum mirror_state state;
    struct str sha256; /* of the file, hexadecimal; null: it was never stored */
    int64_t size;
    struct str type;  /* of the file; before it was stored, what the entry says; may be empty */
    struct str error; /* of the last try; null: there is none */
    int n_tries;      /* failures in a row */
    int64_t since_at; /* when it was first wanted */
    int64_t next_at;  /* TIME_UNKNOWN: it is not tried again */
    int64_t used_us;  /* when the file was stored or last served, microseconds */
};

/* The rows with these keys, in any order. Arena. */
enum rc reader_mirrors(struct reader *r, const struct str *keys, size_t n, struct arena *a,
                       struct mirrored **out, size_t *n_out, struct err *err) NODISCARD;

/* The rows of a list after its first `skip`, at most `max`. Arena. */
enum mirror_list {
    MIRRORS_DUE,    /* those that are to be tried by `until`, by next_at */
    MIRRORS_OLDEST, /* those that are stored, the least recently used first; `until`: microseconds
                     */
};
enum rc reader_mirror_list(struct reader *r, enum mirror_list list, int64_t until, size_t skip,
                           size_t max, struct arena *a, struct mirrored **out, size_t *n_out,
                           struct err *err) NODISCARD;

/* A row of the file with this digest: one that is stored if there is any, or else one that waits.
 * RC_NOT_FOUND. Arena. */
enum rc reader_mirror_file(struct reader *r, struct str sha256, struct arena *a,
                           struct mirrored *out, struct err *err) NODISCARD;

/* *seq: up to where the log was looked through; -1: it never was. *bytes: of all stored files, each
 * once. */
enum rc reader_mirror_place(struct reader *r, int64_t *seq, int64_t *bytes,
                            struct err *err) NODISCARD;

/* The documents of the revisions in (after, to] whose files are wanted: of feeds that are mirrored,
 * of entries that came since then, and not deletions. Of entries that were there when the feed was
 * first fetched, MIRROR_FIRST count, the newest ones. Others of entries that have named such a file are
 * there, too: they may not name it any more. In the order of the log. Arena. */
#define MIRROR_FIRST 10
struct mirror_entry {
    int64_t id;
    bool is_wanted;
    struct str doc;
};
enum rc reader_mirror_entries(struct reader *r, int64_t after, int64_t to, struct arena *a,
                              struct mirror_entry **out, size_t *n_out, struct err *err) NODISCARD;

/* Does a feed that is mirrored name the file with this key, in an entry that counts? Of several, one
 * without secrets comes first. Arena. */
struct mirror_wish {
    bool is_wanted;     /* it is, or nobody knows who has named it (is_named) */
    struct str secrets; /* of that feed, as store_unseal() takes them; null: none */
};
enum rc reader_mirror_wish(struct reader *r, struct str key, struct arena *a, struct mirror_wish *out,
                           struct err *err) NODISCARD;

/* The rows whose keys follow `after`, at most `max`, in the order of the keys. Arena. */
struct mirror_look {
    struct mirrored row; /* of what it says, key, state, sha256 and size */
    bool is_named;       /* by an entry that is there */
    bool is_wanted;      /* as above; of rows that wait, else true */
};
enum rc reader_mirror_looks(struct reader *r, struct str after, size_t max, struct arena *a,
                            struct mirror_look **out, size_t *n_out, struct err *err) NODISCARD;

/* An entry names a file, or, with a null key, none of those of before. */
struct mirror_name {
    int64_t entry_id;
    struct str key;
};

/* A file was served. */
struct mirror_use {
    struct str sha256;
    int64_t at_us;
};

/* What is stored together. All zero: nothing. */
struct mirror_change {
    int64_t fence; /* by which its node leads (nodes_leads_by()). RC_CONFLICT: another one leads. 0: any node may
                      store this, or there is only one */
    bool moves; /* the place in the log; RC_CONFLICT: it is not at `from` */
    int64_t from, to;
    const struct mirrored *added; /* that are wanted: key, url, type, since_at, next_at. One that
                                     waits or is stored stays as it is */
    size_t n_added;
    const struct mirror_name *names; /* in place of all names that these entries have; rows of `mirrors` are there */
    size_t n_names;
    const struct str *unwanted; /* keys of rows that wait and end, because nobody wants the files any more. Their
                                   error then is MIRROR_UNWANTED_WHY */
    size_t n_unwanted;
    const struct str *unnamed; /* keys of rows that are deleted, unless an entry names their files */
    size_t n_unnamed;
    const struct mirrored *outcome; /* replaces all of the row with this key but url and since_at;
                                       of a stored one, used_us is that of its file. NULL: none */
    struct str dropped;             /* digest of a file that is dropped; null: none. Its error then
                                       is MIRROR_DROPPED_WHY */
    struct str lost; /* digest of a file that is not there any more; null: none. All its rows wait again,
                        from lost_at (seconds) */
    int64_t lost_at;
    const struct mirror_use *used; /* files that were served */
    size_t n_used;
};
#define MIRROR_UNWANTED_WHY "no feed with mirror=yes wants it any more"
#define MIRROR_DROPPED_WHY "the space was needed for other files (--mirror-total)"
enum rc store_mirror(struct store *s, const struct mirror_change *change, store_done_fn *done,
                     void *ctx) NODISCARD;

/* A number that is another one when what reader_mirrors() gives may have changed. With several
 * nodes, what others have stored is noticed within MIRROR_LAG_S. Any thread. */
#define MIRROR_LAG_S 30
int64_t store_mirror_edition(struct store *s);

/* ---- the folder of the files ------------------------------------------------------------------
 * These calls wait for the disk. Any thread. */

/* Is it the mirror's? A disk that is not mounted leaves an empty folder, without the one of partial files. */
bool mirror_folder_is_there(struct str dir);

/* Open the file with this digest and size. */
enum mirror_file_state {
    MIRROR_FILE_HERE,   /* *fd has it; else *fd is -1 */
    MIRROR_FILE_LOST,   /* somebody has deleted it, or put something else in its place */
    MIRROR_FILE_BROKEN, /* nobody knows: the disk fails, or the folder is not the mirror's; errno says why */
};
enum mirror_file_state mirror_file_open(struct str dir, struct str sha256, int64_t size, int *fd);
enum mirror_file_state mirror_file_look(struct str dir, struct str sha256, int64_t size);
