/* tests/documents/fixture.h - the documents under tests/fixtures and what is to be found in them.
 *
 * NAME.EXT is a document; NAME.want.json beside it says what it shows:
 *   claim   one sentence
 *   input   optional: url, content_type, content_location, content_language it comes with
 *   want    path -> value, equal to the last digit and in number; "entries/0/title", "entries/#" is
 * a length; the paths are those of what `feedmill parse`, `discover` or `opml` prints, and: "ids"
 * (identities of the entries), "hints", "tombstones", "complete", "archive", "exts" absent  paths
 * that must lead nowhere
 */
#pragma once

#include "feed/read/parse.h"

enum fixture_kind { FIXTURE_FEED, FIXTURE_PAGE, FIXTURE_LIST, FIXTURE_CHANGES };

struct fixture {
    enum fixture_kind kind;
    struct str name; /* below tests/fixtures, without its endings: "feeds/rss/guid-is-permalink" */
    struct str body; /* in memory of just that size, so that a read past its end is seen */
    struct value *golden;     /* NULL: there is none */
    struct parse_input input; /* body and the address it came from, at least */
};

/* All of them, in order of their names, in the arena but for the bodies, which fixtures_free()
 * frees. `root` is the folder tests/fixtures. Exits when that cannot be read. */
size_t fixtures_read(struct arena *a, const char *root, struct fixture **out);
void fixtures_free(struct fixture *list, size_t n);
