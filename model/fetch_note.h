/* model/fetch_note.h - what is noted of the last fetches of a feed, and the text in which a feed's row
 * keeps it. Pure; any thread. */
#pragma once

#include "base/arena.h"
#include "model/feed.h"

#define FETCH_NOTES 16 /* of one feed */

struct fetch_note {
    int64_t at;               /* when it ended, Unix seconds */
    enum fetch_reason reason; /* why it was made */
    int status;               /* HTTP; 0: no answer */
    bool ok;                  /* a document was understood, or was the same as before */
    bool is_gap;              /* it had no entry in common with the document before it */
    int64_t n_new, n_changed, n_deleted; /* revisions that it added */
    int64_t next_at;          /* when the feed was to be fetched next; TIME_UNKNOWN: not at all */
    enum fetch_reason next_reason;
};

/* Returns the text with one note more, the newest first; of more than FETCH_NOTES the oldest one is
 * left out. `text` null: there was none. Arena. */
struct str fetch_notes_add(struct arena *a, struct str text, const struct fetch_note *note);

/* Read the notes, newest first, into out[FETCH_NOTES]. Returns how many there are. What cannot be
 * read, and what is after it, is left out. */
size_t fetch_notes_read(struct str text, struct fetch_note *out);
