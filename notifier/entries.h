/* notifier/entries.h - the parts of entries_draw() (sink.h), for sinks whose draw() is their own
 * and sends entries, too. Run on reader threads.
 */
#pragma once

#include "notifier/sink.h"
#include "storage/pushes.h"

/* Find what comes next. PUSH_READY: it is in *next, and *push says what is delivered, with what the
 * sink wants by its `entries`. PUSH_NOTHING, PUSH_SKIP, PUSH_UNREAD: as of a draw(). */
enum push_found entries_seek(struct push_job *job, struct reader *r, struct push_next *next,
                             struct sink_push *push);

/* Deliver only the first `n` of the revisions. */
void entries_cut(struct sink_push *push, size_t n);

/* What is delivered without anything new, as a test. */
struct sink_push entries_none(const struct push_job *job);

/* Note in the job what is delivered: entries, positions, whether anything follows. */
void entries_note(struct push_job *job, struct reader *r, const struct push_next *next,
                  const struct sink_push *push);
