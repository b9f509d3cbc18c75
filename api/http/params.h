/* api/http/params.h - parameters of a request, typed and checked. Pure.
 *
 * They come from the query and, for forms, from the body. Names and values are decoded first (`+`
 * is a space), so a raw URL may stand in a value as long as it has no `&`, `#`, `+` or `%` of its
 * own. Unknown names are ignored. A check that fails sets *p and returns false.
 */
#pragma once

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
    struct param *items;
    size_t n, cap;
};

#define LIMIT_PARAMS 20000 /* names in one request */

/* Add what an urlencoded string says. */
bool params_add(struct params *ps, struct arena *a, struct str urlencoded,
                struct problem *p) NODISCARD;

/* The value of a name that may be given once; null when absent. If it is given twice with the same
 * value, it counts as given once. */
bool params_one(const struct params *ps, struct arena *a, const char *name, struct str *out,
                struct problem *p) NODISCARD;

/* The same for an optional parameter: an empty value, as HTML forms send it, counts as absent. */
bool params_optional(const struct params *ps, struct arena *a, const char *name, struct str *out,
                     struct problem *p) NODISCARD;

/* A URL that a caller gave. */
struct wanted_url {
    struct str url;        /* canonical, without credential */
    struct str credential; /* null: none. SECRET */
    struct str shown;      /* as written, trimmed, without credential; canonical if no UTF-8 */
};

/* The URLs of all `url` parameters; each value is a list: it is split at a comma only where, after
 * optional white space, a scheme and ':' follow. None: a problem when `required`. Over LIMIT_URLS:
 * too-large. */
bool params_urls(const struct params *ps, struct arena *a, bool required, struct wanted_url **out,
                 size_t *n_out, struct problem *p) NODISCARD;

/* The one URL of `name`; not split. */
bool params_url(const struct params *ps, struct arena *a, const char *name, struct wanted_url *out,
                struct problem *p) NODISCARD;

/* `type`, as a format that has the trait `use`, and `obj` with FORMAT_IS_OFFERED. *given is false
 * when there is no type: then Accept decides, or the resource. 406 (not-acceptable) for a type that
 * is offered elsewhere. */
bool params_format(const struct params *ps, struct arena *a, enum format_trait use,
                   enum feed_format *out, bool *given, struct problem *p) NODISCARD;

/* `obj`: makes FORMAT_JSON the bare array of entries. Other formats are left alone. */
bool params_obj(const struct params *ps, struct arena *a, enum feed_format *format,
                struct problem *p) NODISCARD;

/* A flag: absent or 0 is false; alone, empty or 1 is true. */
bool params_flag(const struct params *ps, struct arena *a, const char *name, bool *out,
                 struct problem *p) NODISCARD;

/* A whole number of [0, max]; larger ones count as max, absent ones as `otherwise`. */
bool params_count(const struct params *ps, struct arena *a, const char *name, int64_t otherwise,
                  int64_t max, int64_t *out, struct problem *p) NODISCARD;

/* `id` of a subscription; a problem when it is absent and `required`, else 0. */
bool params_id(const struct params *ps, struct arena *a, bool required, int64_t *out,
               struct problem *p) NODISCARD;

/* What `freq` may say: 0, 1, 2 or seconds >= min_period_s, as level and period. */
bool freq_read(struct str value, int64_t min_period_s, int *level, int64_t *period_s) NODISCARD;

/* Read a switch: yes, true or 1 is on; no, false or 0 is off. */
bool switch_read(struct str value, bool *out) NODISCARD;

/* `sanitize`; absent: SANITIZE_KEEP. */
bool params_sanitize(const struct params *ps, struct arena *a, enum sanitize_setting *out,
                     struct problem *p) NODISCARD;

/* `freq`; absent: LEVEL_KEEP. */
bool params_freq(const struct params *ps, struct arena *a, int64_t min_period_s, int *level,
                 int64_t *period_s, struct problem *p) NODISCARD;

/* Parse one URL of a parameter. */
bool wanted_url_read(struct arena *a, const char *name, struct str raw, struct wanted_url *out,
                     struct problem *p) NODISCARD;
