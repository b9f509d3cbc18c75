/* feed/identity.h - which entry is this, and has it changed? Pure, any thread.
 *
 * An entry has marks (model/marks.h): what it may be recognised by. identity_match() pairs the
 * entries of a document with the stored ones that share a mark, strongest evidence first, each at
 * most once; which mark counts alone is the feed's policy, which identity_decide() keeps by what
 * the documents show. docs/parsing.md, "Identity", has the rules in words.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/document.h"
#include "model/marks.h"

/* ---- marks ----------------------------------------------------------------------------------- */

enum identity_depth { IDENTITY_STRONG, IDENTITY_WEAK };

/* An id or link less what does not tell entries apart. Web addresses lose scheme, "www.", default
 * port, trailing slash, the spelling of escapes, session ids and the parameters of trackers; weak,
 * also what is noise on most sites only (sid=, t=, the case of letters). UUIDs lose their wrapping
 * and case. Any other text stays as it is. */
struct str identity_ref(struct arena *a, struct str raw, enum identity_depth depth);

/* A double tells nothing new: it is left out. */
struct identity_entry {
    struct entry_marks marks;
    unsigned char essence[16];
    struct str names[IDENTITY_RULES]; /* its uid by each rule; null where the rule does not apply */
    bool is_double;
};

/* What the document says of its entries, in its order. `out` has room for doc->n_entries. */
void identity_read(struct arena *a, const struct feed_doc *doc, struct identity_entry *out);

/* The marks of an entry of which nothing but its id is told (a tombstone). */
void identity_read_ref(struct arena *a, struct str id, struct entry_marks *out);

/* Mark the doubles: an entry with the essence of one before it, and the same guid in its strong
 * form (any guid, unless `rule` is IDENTITY_GUID). */
void identity_find_doubles(struct identity_entry *list, size_t n, enum identity_rule rule);

/* Mark as doubles all but the last of the entries that share an id, where one id is one entry. */
void identity_find_repeats(const struct feed_doc *doc, struct identity_entry *list);

/* Hash of an entry's essence: its whole object form and foreign elements, less its id, what is
 * volatile (comment counts, scores: the table in identity.c), and what identity_ref() takes off a
 * value that is a web address. Key order does not matter. */
void identity_essence(const struct doc_entry *e, unsigned char out[16]);

/* The same as it was while entries had no marks: with ids and web addresses as they are. */
void identity_essence_unmarked(const struct doc_entry *e, unsigned char out[16]);

/* ---- recognising ----------------------------------------------------------------------------- */

/* who[i]: which of `known` is list[i]; IDENTITY_NEW: none. Needs memory and time in proportion to
 * the number of entries and the known ones that share a mark with each; of those more than
 * IDENTITY_CANDIDATES a key are not looked at. */
#define IDENTITY_NEW SIZE_MAX
void identity_match(const struct identity_entry *list, size_t n, const struct identity_known *known,
                    size_t n_known, enum identity_rule rule, size_t *who);

/* The same for a feed that gives each entry an id for ever (a Smart Feed): by ids alone. */
void identity_match_ids(const struct identity_entry *list, size_t n,
                        const struct identity_known *known, size_t n_known, size_t *who);

/* uids[i]: the stored one of an entry that was recognised, else a name that no other entry of the
 * document and none of `known` has; null for doubles. `salt` sets names apart that would be equal:
 * Unix seconds. Arena strings. */
void identity_names(struct arena *a, const struct identity_entry *list, size_t n,
                    const struct identity_known *known, size_t n_known, const size_t *who,
                    enum identity_rule rule, int64_t salt, struct str *uids);

/* ---- the policy ------------------------------------------------------------------------------ */

/* One mark over a document. */
struct identity_sample {
    size_t n_have;   /* entries that have it */
    size_t n_shared; /* of those: another one has the same */
    size_t n_kept;   /* recognised ones: it is what it was */
    size_t n_moved;  /* recognised ones: it is another */
};

struct identity_evidence {
    size_t n;        /* entries, without doubles */
    size_t n_reused; /* old guid, all else new */
    size_t n_matched;
    struct identity_sample marks[IDENTITY_RULES]; /* by rule; guid, link and title count */
};

/* `who` may be NULL: nothing is stored yet. */
void identity_observe(const struct identity_entry *list, size_t n,
                      const struct identity_known *known, const size_t *who,
                      struct identity_evidence *out);

/* True when most entries came with another id or link: their publisher has changed, and not they.
 */
bool identity_is_upheaval(const struct identity_evidence *e);

#define IDENTITY_STRIKES 3 /* documents in a row against a rule until it is given up */
#define IDENTITY_PROOFS 10 /* documents in a row for a better rule until it is taken */

/* Draw the conclusion of a document that differed from the one before. True when the rule changed;
 * p->why is then an arena string. The first document sets it at once. */
bool identity_decide(struct arena *a, struct identity_policy *p,
                     const struct identity_evidence *seen, int64_t now);
