/* net/loop.h - one thread's event loop with a mailbox.
 *
 * The event_base has no locks: only the loop's own thread may use its events. Other threads post
 * messages, which are functions to run on the loop's thread. One thread makes the loop, stops it
 * and frees it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct event_base;
struct loop;
typedef void loop_fn(void *ctx);

/* Make a loop and start its thread, named `name`. Never fails; aborts if the kernel refuses. */
struct loop *loop_new(const char *name);

/* Run fn(ctx) on the loop's thread. Any thread; order is kept. After loop_stop() messages are
 * still accepted and are run before the thread ends, or, when it has ended, by loop_free(). */
void loop_post(struct loop *l, loop_fn *fn, void *ctx);

/* Run fn(ctx) on the loop's thread, and wait until it has returned. If the thread has ended, run
 * fn(ctx) on the calling thread. Do not call it from the loop's own thread. */
void loop_call(struct loop *l, loop_fn *fn, void *ctx);

/* Ask the thread to end after it has run the messages that were posted before, and wait until it
 * has ended. Do not call it from the loop's own thread. */
void loop_stop(struct loop *l);

/* Stop if needed, run what is left in the mailbox on the calling thread, free, clear the pointer.
 */
void loop_free(struct loop **lp);

/* The base, for the loop's own thread. */
struct event_base *loop_base(struct loop *l);

/* True on the loop's own thread. */
bool loop_is_own(const struct loop *l);

/* A pointer that belongs to the maker of the loop (the HTTP server keeps its state of this loop
 * there). Set it before other threads use the loop. It is NULL at first. */
void loop_set_owner(struct loop *l, void *owner);
void *loop_owner(const struct loop *l);

/* One-shot timer on the loop's own thread: fn(ctx) in `ms`. When the clock makes a jump
 * (clock_jumps(), also before loop_new()), the timer takes part in it. Returns a handle for
 * loop_timer_cancel(), which may be called until the function runs. Timers still pending at
 * loop_free() never run. */
struct loop_timer;
struct loop_timer *loop_timer_start(struct loop *l, int64_t ms, loop_fn *fn, void *ctx);
void loop_timer_cancel(struct loop_timer **tp);
