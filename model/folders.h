/* model/folders.h - the folders of a feed in a subscription, as they are stored: a JSON list of
 * their names, outermost first; null for none. Pure, any thread. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define FOLDERS_MAX_LEN 4096 /* bytes of folders as they are stored */

/* `folder` within the folder `outer`. If that is too long, it is `outer`. */
struct str folders_within(struct arena *a, struct str outer, struct str folder);

/* What is left of `folder` without the folder `outer`, in which it is; what is not in it stays. */
struct str folders_without(struct arena *a, struct str outer, struct str folder);
