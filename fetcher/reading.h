/* fetcher/reading.h - one document that a worker parses, and compares with the entries in the
 * store. Runs on a worker.
 *
 * The order: reading_begin(), reading_parse(), reading_compare(); then an outcome is made of it
 * (check.h) and handed to the storer; reading_end().
 */
#pragma once

#include "fetcher/adapt.h"
#include "fetcher/diff.h"
#include "fetcher/source.h"
#include "model/document.h"

struct reading {
    const struct parse_worker *w;
    struct job *job;
    struct arena a;         /* everything that is not in `docs` */
    struct arena docs;      /* the JSON of changed entries: it travels to the storer */
    int64_t now;            /* Unix seconds */
    unsigned char hash[16]; /* of the body */
    struct feed_doc *doc;   /* NULL until it is known to be a feed */
    struct diff diff;
    const struct entry_change *changes;
    size_t n_changes;
    struct err err;
};

void reading_begin(struct reading *r, const struct parse_worker *w, struct job *job);
void reading_end(struct reading *r);

/* Parse the job's document. `base`: its URL, for references and for the derived ids of entries.
 * Returns false when the document is not a feed. Then r->doc->bozo_why may say why; do not use
 * anything else in r->doc. */
bool reading_parse(struct reading *r, struct str base);

/* Returns true when the body is a web page, or claims to be one. */
bool reading_is_web_page(struct reading *r);

/* Compare the document with the known entries of the feed. `policy`: how entries are told apart.
 * `describes`: the entries are metadata records. `dates`: the dates of undated entries, or NULL.
 * Frees the body. RC_OK: the result is in r->changes. */
enum rc reading_compare(struct reading *r, const struct identity_policy *policy, bool describes,
                        const int64_t *dates) NODISCARD;

/* A complete feed has all its entries in one document (RFC 5005 section 2). Delete the entries that
 * the document does not show. Do not call it for a document that was cut or is not well-formed,
 * because its end may be missing. */
enum rc reading_add_absent(struct reading *r) NODISCARD;

/* Returns true when an entry is new, changed or deleted. */
bool reading_has_news(const struct reading *r);

/* Returns true when the feed had entries, and the document shows entries and none of those: some
 * may have come and gone between two fetches. `feed`: as it was before the document. */
bool reading_is_gap(const struct reading *r, const struct feed *feed);

/* Returns true when the document shows an entry whose first revision is at or before `seq`. */
bool reading_shows_known(struct reading *r, int64_t seq);

/* How many entries the document shows, how many of them are new, and their dates. */
struct sight reading_sight(struct reading *r);

/* The parts of an outcome: its entries, which take over r->docs; and the identity policy, if it has
 * changed. */
struct entry_batch reading_batch(struct reading *r);

/* What the document shows (model/shown.h); null: it shows only what is new. */
struct str reading_shown(struct reading *r);
struct new_identity reading_identity(const struct reading *r);

/* Returns the feed's row as it is now. Level, period, subscribers and readers may have changed
 * since the job began. The row is read again only if it has changed. NULL: r->err says why;
 * RC_NOT_FOUND when the feed was removed. */
const struct feed *reading_fresh(struct reading *r);

/* Read the feed's row again into job->feed, because the job has changed it. Pings that came after
 * the job began still need another fetch. False: r->err says why. */
bool reading_renew(struct reading *r);

/* End the job, because the store could not be read; r->err says why. Returns STEP_END. */
enum job_step reading_failed(struct reading *r);
