/* fetcher/discovery.h - the source "discovery": it looks for feeds to which a web page leads.
 *
 * It begins when a poll finds a web page, or a list of feeds, instead of a feed. It also begins
 * when a feed is missing that was once found on a page; then the page is asked first. The addresses
 * that the page announces are tried in order, at most DISCOVERY_ANNOUNCED of them. When it
 * announces no feed, at most DISCOVERY_GUESSES usual addresses of feeds are tried. The first feed
 * found is stored as a poll of the feed. From then on the feed has that URL and remembers the page.
 */
#pragma once

#include "fetcher/check.h"
#include "fetcher/reading.h"

#define DISCOVERY_ANNOUNCED 3
#define DISCOVERY_GUESSES 13

/* The feed is missing (job->resp). Ask the web page on which it was found. Returns STEP_QUEUE. */
enum job_step discovery_ask_page(struct job *job);

/* The document is a web page. `may_guess`: it came from the URL at which the feed was asked for.
 * Returns STEP_QUEUE, or the result of poll_take_state() when the page leads to no address. */
enum job_step discovery_of_page(struct reading *r, bool may_guess);

/* The document is a list of feeds (an Atom service document). `hrefs` are their absolute URLs.
 * Returns the same as discovery_of_page(). */
enum job_step discovery_of_list(struct reading *r, const struct str *hrefs, size_t n);

/* ---- the walk over candidates: pure, for discovery.c and tests ------------------------------- */

/* Try these candidates, the best first. `are_guesses`: no page announces them. Returns STEP_QUEUE,
 * or STEP_UNDERSTAND when no candidate can be asked: then job->resp says why. */
enum job_step discovery_try(struct job *job, const struct str *hrefs, size_t n, bool are_guesses);

/* The candidate is not a feed: go on with the next one, or end the walk. Returns the same as
 * discovery_try(). */
enum job_step discovery_next(struct job *job);

/* The candidate is itself a list of feeds. Try these feeds in its place, as many as there is room
 * for. Returns the same as discovery_try(). */
enum job_step discovery_expand(struct job *job, const struct str *hrefs, size_t n);

/* Returns true when the usual addresses of the site may be tried. They are not tried again when the
 * last fetch found a page there that led to no feed. */
bool discovery_may_guess(const struct job *job);

/* Returns where the candidate's document was found. */
struct found_at discovery_found_at(const struct job *job);
