/* feed/lists/changes.h - reads and writes the change log of a ping server (weblogUpdates,
 * "changes.xml"). Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct change_row {
    struct str name, url, rss_url; /* rss_url: null unless the row names its feed */
    int64_t when_at;               /* Unix seconds: `updated` minus `when` */
};

/* Read a change log. `now` is used when `updated` is missing or unreadable. RC_INPUT: the text is
 * not a change log. */
enum rc changes_read(struct arena *a, struct str body, int64_t now, struct change_row **out,
                     size_t *n_out, struct err *err) NODISCARD;

/* Write a change log, version 2, with the rows in the given order (newest first). `when` is the
 * number of seconds before `updated_at`. */
void changes_write(struct buf *out, const struct change_row *rows, size_t n, int64_t updated_at);
