/* feed/lists/folders.h - the folders of an outline, as they are stored. Pure. */
#pragma once

#include "model/folders.h"

/* The names of folders, outermost first, as model/folders.h has them; null when there are none, too
 * many, or when they are too long. */
struct str folders_of(struct arena *a, const struct str *names, size_t n);
