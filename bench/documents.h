/* bench/documents.h - feeds of about the size that sites publish, made up, the same every time. */
#pragma once

#include "base/buf.h"

/* RSS 2.0 with content:encoded in CDATA, and Atom 1.0 with escaped HTML: `n` entries of about
 * `entry_len` bytes each. `seed` makes documents differ; `first` is the number of the newest entry,
 * the others count down from it. */
void documents_rss(struct buf *out, unsigned seed, unsigned first, unsigned n, size_t entry_len);
void documents_atom(struct buf *out, unsigned seed, unsigned first, unsigned n, size_t entry_len);

/* A stored entry: the JSON object of about `len` bytes. */
void documents_entry_json(struct buf *out, unsigned seed, unsigned number, size_t len);
