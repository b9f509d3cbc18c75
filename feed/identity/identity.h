/* feed/identity/identity.h - decides which stored entry an entry of a document is, and whether it
 * has changed. Pure, any thread.
 *
 * An entry has marks (model/marks.h), by which it is recognised. identity_match() pairs the entries
 * of a document with the stored entries that share a mark. It starts with the strongest evidence
 * and pairs each entry at most once. The feed's policy says which mark is enough on its own.
 * identity_decide() changes the policy according to what the documents show. docs/parsing.md,
 * "Identity", explains the rules.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "model/document.h"
#include "model/marks.h"

/* ---- marks ----------------------------------------------------------------------------------- */

enum identity_depth { IDENTITY_STRONG, IDENTITY_WEAK };

/* An id or link without the parts that do not distinguish entries. Web addresses lose the scheme,
 * "www.", the default port, the trailing slash, differences in the spelling of escapes, session
 * ids, and the parameters of trackers. With IDENTITY_WEAK they also lose what is meaningless on
 * most sites but not on all (sid=, t=, the case of letters). UUIDs lose their wrapping and their
 * case. Any other text stays as it is. */
struct str identity_ref(struct arena *a, struct str raw, enum identity_depth depth);

/* An entry of a document, as identity_match() needs it. A double repeats an earlier or later entry
 * of the document, and is left out. */
struct identity_entry {
    struct entry_marks marks;
    unsigned char essence[16];
    struct str names[IDENTITY_RULES]; /* its uid by each rule; null where the rule does not apply */
    bool is_double;
};

/* Read the marks, essences and names of a document's entries, in the order of the document. `out`
 * has room for doc->n_entries. */
void identity_read(struct arena *a, const struct feed_doc *doc, struct identity_entry *out);

/* The marks of an entry of which only the id is known (a tombstone). */
void identity_read_ref(struct arena *a, struct str id, struct entry_marks *out);

/* Mark the doubles. An entry is a double if an earlier entry has the same essence and the same guid
 * in its strong form. Unless `rule` is IDENTITY_GUID, the guids may differ. */
void identity_find_doubles(struct identity_entry *list, size_t n, enum identity_rule rule);

/* Of the entries that share an id, mark all but the last as doubles. For feeds in which equal ids
 * always mean the same entry. */
void identity_find_repeats(const struct feed_doc *doc, struct identity_entry *list);

/* Hash of an entry's essence: its whole object form and its foreign elements, without its id,
 * without volatile members (comment counts, scores: the table in identity.c), and, in values that
 * are web addresses, without the parts that identity_ref() removes. The order of keys does not
 * matter. */
void identity_essence(const struct doc_entry *e, unsigned char out[16]);

/* The same hash as before entries had marks: it includes the id, and web addresses as they are. */
void identity_essence_unmarked(const struct doc_entry *e, unsigned char out[16]);

/* ---- recognising ----------------------------------------------------------------------------- */

/* Sets who[i] to the index in `known` of the entry that list[i] is, or to IDENTITY_NEW if it is a
 * new entry. Time and memory are proportional to the number of entries plus the number of known
 * entries that share a mark with them. For each mark at most IDENTITY_CANDIDATES known entries are
 * compared. */
#define IDENTITY_NEW SIZE_MAX
void identity_match(const struct identity_entry *list, size_t n, const struct identity_known *known,
                    size_t n_known, enum identity_rule rule, size_t *who);

/* The same for a feed in which an entry never changes its id (a Smart Feed): only ids are compared.
 */
void identity_match_ids(const struct identity_entry *list, size_t n,
                        const struct identity_known *known, size_t n_known, size_t *who);

/* Sets uids[i] to the stored uid if the entry was recognised, and to null if it is a double.
 * Otherwise it is a name that no other entry of the document and no entry in `known` has. `salt`
 * (Unix seconds) makes names different that would otherwise be equal. Arena strings. */
void identity_names(struct arena *a, const struct identity_entry *list, size_t n,
                    const struct identity_known *known, size_t n_known, const size_t *who,
                    enum identity_rule rule, int64_t salt, struct str *uids);

/* ---- the policy ------------------------------------------------------------------------------ */

/* What a document shows about one mark: numbers of entries. */
struct identity_sample {
    size_t n_have;   /* entries that have the mark */
    size_t n_shared; /* those that share its value with another entry */
    size_t n_kept;   /* recognised entries whose mark is unchanged */
    size_t n_moved;  /* recognised entries whose mark has changed */
};

struct identity_evidence {
    size_t n;        /* entries, without doubles */
    size_t n_reused; /* entries with a known guid in which all else is new */
    size_t n_matched;
    struct identity_sample marks[IDENTITY_RULES]; /* by rule; guid, link and title count */
};

/* Count what a document shows about each mark. `who` is from identity_match(); NULL: no entries are
 * stored yet. */
void identity_observe(const struct identity_entry *list, size_t n,
                      const struct identity_known *known, const size_t *who,
                      struct identity_evidence *out);

/* True when most entries came with another id or link. Then the publisher has changed how it makes
 * them, and the entries are still the same. */
bool identity_is_upheaval(const struct identity_evidence *e);

#define IDENTITY_STRIKES 3 /* a rule is given up after so many documents in a row against it */
#define IDENTITY_PROOFS 10 /* a better rule is taken after so many documents in a row for it */

/* Update the policy after a document that differs from the one before it. The first document sets
 * the rule at once. Returns true when the rule has changed; then p->why is an arena string. */
bool identity_decide(struct arena *a, struct identity_policy *p,
                     const struct identity_evidence *seen, int64_t now);
