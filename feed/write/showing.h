/* feed/write/showing.h - shows less of entries than they have, as a view asks (`content`, `chars` and
 * `fields`). Pure, any thread.
 *
 * It makes a smaller object form of an entry, of which each writer makes its format as usual, so a
 * document stays valid. */
#pragma once

#include "model/value.h"
#include "model/view.h"

/* Returns the entry with the texts that the view shows; `obj` itself if it shows all of them. It
 * shares members with `obj`. */
struct value *showing_entry(struct arena *a, const struct view *view, struct value *obj);

/* Returns the foreign elements that the view shows: without those that hold a text of the entry. */
struct str showing_ext(struct arena *a, const struct view *view, struct str ext);

/* Returns a stored entry (JSON) as the view shows it, with only the members that it names. */
struct str showing_document(struct arena *a, const struct view *view, struct str doc);

/* Does the list of names have this one? A null list has all. */
bool showing_has(struct str fields, struct str name);

/* Returns a dict of the members that the list names, and of those of `kept` ("id|title"; NULL: none).
 * With a null list it is `dict` itself. */
struct value *showing_members(struct arena *a, struct value *dict, struct str fields,
                              const char *kept);

/* Returns the names that `fields` may have in a format, with "|" between them; NULL: it is not JSON.
 */
const char *showing_names(enum feed_format format);

/* Can an entry have a member of this name in the format? Extensions have many names. */
bool showing_is_name(enum feed_format format, struct str name);
