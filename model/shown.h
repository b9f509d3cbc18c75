/* model/shown.h - which entries a feed's document shows, as text (feeds.shown): 8 hex digits of a
 * hash for each uid. Two uids with the same hash only let an entry seem to be shown. Pure; any
 * thread.
 */
#pragma once

#include "base/buf.h"

/* Add a uid; may the text have this one? Null: it is not known what is shown, so it may. */
void shown_add(struct buf *shown, struct str uid);
bool shown_has(struct str shown, struct str uid);
