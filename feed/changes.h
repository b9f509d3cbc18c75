/* feed/changes.h - the change log of a ping server (weblogUpdates, "changes.xml"), both ways. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct change_row {
    struct str name, url, rss_url; /* rss_url: null unless the row names its feed */
    int64_t when_at;               /* Unix seconds: `updated` less `when` */
};

/* Read a change log; `now` stands for a missing or unreadable `updated`. RC_INPUT when it is none.
 */
enum rc changes_read(struct arena *a, struct str body, int64_t now, struct change_row **out,
                     size_t *n_out, struct err *err) NODISCARD;

/* Write version 2, newest first as given; `when` counts back from `updated_at`. */
void changes_write(struct buf *out, const struct change_row *rows, size_t n, int64_t updated_at);
