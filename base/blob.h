/* base/blob.h - immutable bytes with a count of holders: documents that are cached and sent by
 * several threads at once. Any thread.
 */
#pragma once

#include "base/compiler.h"
#include "base/str.h"

struct blob;

/* Make a blob, either by taking over malloc'ed bytes or by copying bytes. The caller is its first
 * holder. */
struct blob *blob_new(char *bytes, size_t len);
struct blob *blob_copy(struct str s);

/* Add a holder; remove a holder. When the last holder is removed, the blob is freed. *bp becomes
 * NULL. NULL is allowed. */
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob **bp);

/* How much memory is held only because somebody sends it: each sender that holds the blob calls
 * begin once and end once, and adds up what they return. Begin returns the length for the first
 * sender, end for the last one, and 0 for the others: however many send one blob, it counts once.
 */
size_t blob_send_begin(struct blob *b);
size_t blob_send_end(struct blob *b);

/* The bytes, while the caller holds the blob. Empty for NULL. */
struct str blob_bytes(const struct blob *b);
