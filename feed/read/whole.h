/* feed/read/whole.h - whether the text of a document has its end. */
#ifndef FEEDMILL_FEED_READ_WHOLE_H
#define FEEDMILL_FEED_READ_WHOLE_H

#include "base/str.h"

/* Where the text of a document ends that is not well-formed: was a transfer cut off, or is it faulty
 * elsewhere? */
enum feed_end {
    FEED_END_WHOLE = 0, /* after the end of the feed comes no entry; in JSON every brace is closed */
    FEED_END_BETWEEN,   /* before the end of the feed, outside of entries */
    FEED_END_IN_ENTRY,  /* in the last entry */
};

/* `text` is in UTF-8. */
enum feed_end feed_text_end(struct str text);

#endif
