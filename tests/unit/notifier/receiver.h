/* receiver.h - an HTTP endpoint on the loopback for tests, a thread a connection.
 *
 * What it answers follows from the path of the request: /ok..., /fault..., /garbage..., /moved...
 * (302), /auth... (401 unless Basic user:secret comes), /fail<N>... (500 the first N times, then
 * 200), /down... (500 while `down` is set), /hold... (waits until receiver_release(), as every path
 * that receiver_hold() names does).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct receiver;

struct received {
    char *path, *head, *body; /* head: request line and fields */
};

/* Listen on a free port of 127.0.0.1; with `refusing`, connections are refused until
 * receiver_open(). */
struct receiver *receiver_new(bool refusing);
void receiver_open(struct receiver *r);
void receiver_free(struct receiver **rp);

/* "http://127.0.0.1:PORT" and the path; lives until the next call. */
const char *receiver_url(struct receiver *r, const char *path);

/* Wait at most ten seconds for `n` requests of the path (NULL: of all); false when fewer came. */
bool receiver_wait(struct receiver *r, const char *path, size_t n);

/* Requests of this path so far (NULL: all), and the i-th of them. */
size_t receiver_count(struct receiver *r, const char *path);
struct received receiver_get(struct receiver *r, const char *path, size_t i);

void receiver_release(struct receiver *r); /* /hold... is answered from now on */
void receiver_hold(struct receiver *r, const char *path);
void receiver_down(struct receiver *r, bool down);

/* The most requests being answered at once: at all, and of one path. The most connections. */
size_t receiver_most_at_once(struct receiver *r);
size_t receiver_most_of_a_path(struct receiver *r);
size_t receiver_most_connections(struct receiver *r);
