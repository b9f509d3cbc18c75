/* mirror/files.h - which files an entry names. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define ENTRY_FILES_MAX 32 /* of one entry; the rest is left out */

struct entry_file {
    struct str url;  /* http or https, as the entry has it */
    struct str type; /* media type that the entry says; may be empty */
};

/* The enclosures and media of an entry (its doc), each URL once, at most ENTRY_FILES_MAX. The
 * strings are in the arena or in the doc. */
size_t entry_files(struct arena *a, struct str doc, struct entry_file out[ENTRY_FILES_MAX]);
