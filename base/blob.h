/* base/blob.h - immutable bytes with a count of holders: documents that are cached and sent by
 * several threads at once. Any thread.
 */
#pragma once

#include "base/compiler.h"
#include "base/str.h"

struct blob;

/* A blob that takes over malloc'ed bytes; one that copies. The caller holds it. */
struct blob *blob_new(char *bytes, size_t len);
struct blob *blob_copy(struct str s);

/* One more holder; one less: the last one frees it. *bp becomes NULL. NULL is allowed. */
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob **bp);

/* The bytes, while the caller holds the blob. Empty for NULL. */
struct str blob_bytes(const struct blob *b);
