/* mirror/folder.h - what lies in the folder of the mirror: partial files, and files by their
 * digest. What has another name than the mirror gives is left alone. All calls wait for the disk.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct folder_file {
    struct str name; /* of a partial file: its key; of others: the digest */
    int64_t size;
    int64_t written_us; /* when it was written last */
};

/* The partial files, those that were written long ago first. A tag that has lost its file counts as
 * an empty one. Arena. */
void folder_partials(struct str dir, struct arena *a, struct folder_file **out, size_t *n);

/* The files whose digests begin with this byte, in any order. Arena. */
void folder_files(struct str dir, unsigned char first, struct arena *a, struct folder_file **out,
                  size_t *n);

/* Delete a partial file with its tag. False: somebody is writing to it. */
bool folder_drop_partial(struct str dir, struct str key);

/* Is the folder there? *is_broken: as at the last look; the log and the counters tell when that changes. */
bool folder_watch(struct str dir, bool *is_broken);
