/* notifier/reload.h - reads subscriptions again, and brings the roster up to date with them.
 *
 * Subscriptions that were made, changed or ended are collected, and read many at a time. One read
 * is under way at a time; what is collected in the meantime is read after it. The snapshot of a
 * read has all commits that were announced before the read was requested. Belongs to the notify
 * loop's thread.
 */
#pragma once

#include "notifier/turns.h"

struct reload_read;
struct reload {
    struct turns *turns; /* borrowed, with its roster, like the store */
    struct store *store;
    int64_t *ids; /* these are read next */
    size_t n_ids, cap_ids;
    int64_t *tried; /* of these, those that are to be tried now */
    size_t n_tried, cap_tried;
    int64_t after;            /* all: those up to this id are loaded */
    bool all;                 /* all subscriptions are read next */
    bool begins_again;        /* ... from the first one on, when the read that is under way ends */
    struct reload_read *read; /* the one under way; NULL: none */
    struct loop_timer *again; /* when it fires, the read is requested again */
};

void reload_init(struct reload *l, struct turns *turns, struct store *store);

/* Call it after the loop has ended and all its messages have run. */
void reload_release(struct reload *l);

/* reload_want(): read this subscription again; reload_want_all(): all of them
 * that have no member, as at the start, and when slots are gained. reload_try(): of a
 * wanted one, nothing that came before holds it or its endpoint any more. Nothing happens before
 * reload_run(). */
void reload_want(struct reload *l, int64_t sub_id);
void reload_try(struct reload *l, int64_t sub_id);
void reload_want_all(struct reload *l);

/* Read what was collected. If a read is under way, this happens after it. */
void reload_run(struct reload *l);

/* Call it when the loop ends. */
void reload_stop(struct reload *l);
