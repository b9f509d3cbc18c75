/* api/http/params.h - parameters of a request, typed and checked. Pure.
 *
 * What may be read is listed by the route (api/routes.def), and what it may be is a row of
 * parameters.def. Reading anything else is an assertion, so nothing is read that the description
 * of the API lacks.
 *
 * They come from the query and, for forms, from the body. Names and values are decoded first (`+`
 * is a space). So a raw URL may be a value if it has no `&`, `#`, `+` or `%`. Unknown names are
 * ignored. Only the values of `since` and `until` can have U+0000. A check that fails sets *p and
 * returns false. */
#pragma once

#include "api/http/parameters.h"
#include "api/http/problem.h"
#include "base/arena.h"
#include "base/str.h"
#include "feed/write/writer.h"
#include "model/feed.h"
#include "model/view.h"

struct param {
    struct str name, value; /* value: empty when there was no '=' */
};

struct params {
    const enum param_id *listed; /* what may be read; ends with PARAM_NONE */
    const struct api_cfg *cfg;   /* for ranges that options decide */
    struct param *items;
    size_t n, cap;
};

#define LIMIT_PARAMS 20000 /* parameters in one request */

/* Add the parameters of an urlencoded string. */
bool params_add(struct params *ps, struct arena *a, struct str urlencoded,
                struct problem *p) NODISCARD;

/* Add one parameter. Borrowed. */
bool params_put(struct params *ps, struct arena *a, struct str name, struct str value,
                struct problem *p) NODISCARD;

/* Returns empty parameters, of which the same may be read. */
struct params params_like(const struct params *ps);

/* Returns a copy with its names and values in the arena. */
struct params params_copy(const struct params *ps, struct arena *a);

/* Returns the next one that is called so, from *at on, and moves *at past it; NULL: there is no
 * more. For those that may be repeated, or whose name is a pattern. */
const struct param *params_next(const struct params *ps, enum param_id id, size_t *at);

/* Is there one, even if it is empty? */
bool params_has(const struct params *ps, enum param_id id);

/* Get the value of a parameter that may be given once; null when it is missing. If it is given
 * twice with the same value, it counts as given once. */
bool params_one(const struct params *ps, struct arena *a, enum param_id id, struct str *out,
                struct problem *p) NODISCARD;

/* The same for an optional parameter: an empty value, as HTML forms send it, counts as missing. */
bool params_optional(const struct params *ps, struct arena *a, enum param_id id, struct str *out,
                     struct problem *p) NODISCARD;

/* Get one of the values of the row: its number, from 0. Missing, or empty: that of the row's
 * `otherwise`; -1 if it has none. */
bool params_choice(const struct params *ps, struct arena *a, enum param_id id, int *out,
                   struct problem *p) NODISCARD;

/* A URL that a caller gave. */
struct wanted_url {
    struct str url;        /* canonical, without credential */
    struct str credential; /* null: none. SECRET */
    struct str shown; /* as written, trimmed, without credential; canonical if it is not UTF-8 */
};

/* Get the URLs of all its values. Each value is a list. It is split at a comma only if a scheme and
 * ':' follow, after optional white space. No URL is a problem if the row says so. More than its
 * `max`: too-large. */
bool params_urls(const struct params *ps, struct arena *a, enum param_id id,
                 struct wanted_url **out, size_t *n_out, struct problem *p) NODISCARD;

/* Get the one URL of a parameter; it is not split. */
bool params_url(const struct params *ps, struct arena *a, enum param_id id, struct wanted_url *out,
                struct problem *p) NODISCARD;

/* Get a format that has a trait of the row; with FORMAT_IS_OFFERED also `obj`. *given is false
 * when there is none: then Accept decides, or the resource. A type that is only offered elsewhere
 * is a problem (406, not-acceptable). */
bool params_format(const struct params *ps, struct arena *a, enum param_id id,
                   enum feed_format *out, bool *given, struct problem *p) NODISCARD;

/* Get `obj`: it changes FORMAT_JSON to the bare array of entries. Other formats stay. */
bool params_obj(const struct params *ps, struct arena *a, enum feed_format *format,
                struct problem *p) NODISCARD;

/* Get a flag: missing or 0 is false; without value, empty or 1 is true. */
bool params_flag(const struct params *ps, struct arena *a, enum param_id id, bool *out,
                 struct problem *p) NODISCARD;

/* Get a whole number by the range of its row: a number that is too large counts as the largest. */
bool params_count(const struct params *ps, struct arena *a, enum param_id id, int64_t *out,
                  struct problem *p) NODISCARD;

/* Get the id of a subscription or a token. If it is missing, it is a problem if the row says so,
 * otherwise 0. */
bool params_id(const struct params *ps, struct arena *a, enum param_id id, int64_t *out,
               struct problem *p) NODISCARD;

/* Read what `freq` may be, as level and period: 0, 1, 2 or a number of seconds >= min_period_s. */
bool freq_read(struct str value, int64_t min_period_s, int *level, int64_t *period_s) NODISCARD;

/* Get `mirror` of a subscription; missing: false in *is_given. */
bool params_mirror(const struct params *ps, struct arena *a, bool *is_given, bool *on,
                   struct problem *p);

/* Get `sanitize`; missing: SANITIZE_KEEP. */
bool params_sanitize(const struct params *ps, struct arena *a, enum sanitize_setting *out,
                     struct problem *p) NODISCARD;

/* Get `freq`; missing: LEVEL_KEEP. */
bool params_freq(const struct params *ps, struct arena *a, int *level, int64_t *period_s,
                 struct problem *p) NODISCARD;

/* Parse one URL of a parameter. */
bool wanted_url_read(struct arena *a, const char *name, struct str raw, struct wanted_url *out,
                     struct problem *p) NODISCARD;
