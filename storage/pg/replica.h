/* storage/pg/replica.h - reading from a copy of the database, when that is new enough.
 *
 * A server may keep copies of a database up to date (streaming replication). They are a little
 * late. What is read beside the directory must not be older than it: a document without the newest
 * rows would be kept under their version. So the first trip of a snapshot also asks how far the
 * copy is. If it lacks a notice that the directory may know, nothing of the answer is used, and the
 * same statements go to the server itself. A copy that is late or away is then left alone for a
 * while.
 *
 * Belongs to the thread of its reader.
 */
#pragma once

#include "storage/engine.h"
#include "storage/pg/link.h"
#include "storage/pg/statements.h"

struct pg_replica;

/* Connect to the copy. If it is not within reach, that is tried again later.
 * RC_INPUT: as pg_uri_read(). RC_CONFLICT: what is there is another log. */
enum rc pg_replica_new(const struct replica_cfg *cfg, struct pg_replica **out,
                       struct err *err) NODISCARD;
void pg_replica_free(struct pg_replica **rp);

/* Is it worth asking now? */
bool pg_replica_is_ready(struct pg_replica *r);

/* Is a snapshot of it open? Then only it can go on with that. */
bool pg_replica_is_open(const struct pg_replica *r);

/* As pg_queue(). *p gets other parameters in exchange, which are empty. */
void pg_replica_ask(struct pg_replica *r, enum pg_statement_id id, struct pg_params *p,
                    struct pg_answer *out);

/* Send what was asked, in one round trip. `stays`: the snapshot stays open, up to pg_replica_end().
 * RC_AGAIN: it is not new enough, or is lost; no snapshot is open. If none was before,
 * pg_replica_give_back() gives the statements one by one, up to false. *p gets their parameters. */
enum rc pg_replica_hear(struct pg_replica *r, bool stays, struct err *err) NODISCARD;
bool pg_replica_give_back(struct pg_replica *r, enum pg_statement_id *id, struct pg_params *p,
                          struct pg_answer **out);
void pg_replica_end(struct pg_replica *r);
