/* bench/documents.h - makes up feeds of about the size that sites publish. They are the same every
 * time. */
#pragma once

#include "base/buf.h"

/* Write RSS 2.0 with content:encoded in CDATA, or Atom 1.0 with escaped HTML: `n` entries of about
 * `entry_len` bytes each. Different seeds give different documents. `first` is the number of the
 * newest entry; the others count down from it. */
void documents_rss(struct buf *out, unsigned seed, unsigned first, unsigned n, size_t entry_len);
void documents_atom(struct buf *out, unsigned seed, unsigned first, unsigned n, size_t entry_len);

/* Write a stored entry: a JSON object of about `len` bytes. */
void documents_entry_json(struct buf *out, unsigned seed, unsigned number, size_t len);
