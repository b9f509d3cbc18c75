/* api/views/mirrored.h - what is known of the mirrored files of entries: their URLs in a view with
 * `mirror`, and their states at /item. Runs on reader threads.
 *
 * It changes what is shown of an entry, never what is stored: rows, their order and cursors stay.
 * In the object form a mirrored file has the URL, length and type of the mirror, and its own URL as
 * `original`; the entry gets a link `via` to it.
 */
#pragma once

#include "base/arena.h"
#include "model/feed.h"
#include "model/value.h"
#include "storage/store.h"

/* Let these rows name the mirror's files, at the origin "http://host:port"; null: nothing is done.
 * New texts are in the arena. */
enum rc mirrored_rows(struct reader *r, struct arena *a, struct str origin, struct revision *rows,
                      size_t n, struct err *err) NODISCARD;

/* Give each file of this entry a member `mirror` with its state, and so the entry, with that of its
 * first file that has one. With an origin do also as above. *ext: its foreign elements. */
enum rc mirrored_item(struct reader *r, struct arena *a, struct str origin, struct value *obj,
                      struct str *ext, struct err *err) NODISCARD;
