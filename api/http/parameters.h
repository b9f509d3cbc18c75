/* api/http/parameters.h - what parameters there are, and what their values may be. Pure; any
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct api_cfg;

enum param_id {
    PARAM_NONE, /* ends a list */
#define PARAM(id, name, kind, flags, text) PARAM_##id,
#include "api/http/parameters.def"
#undef PARAM
    PARAM_COUNT_
};

enum param_kind {
    PARAM_KIND_TEXT, /* at most `max` bytes; 0: no bound of its own */
    PARAM_KIND_URL,
    PARAM_KIND_URLS,     /* at most `max` in all values */
    PARAM_KIND_COUNT,    /* see param_range() */
    PARAM_KIND_NUMBER,   /* whole, from `min` to `max`; refused outside */
    PARAM_KIND_ID,       /* whole, from 1 */
    PARAM_KIND_FREQ,     /* up to `min` a level, else a period in seconds up to `max` */
    PARAM_KIND_FLAG,     /* 1, 0, or empty, which means 1 */
    PARAM_KIND_CHOICE,   /* one of `values` */
    PARAM_KIND_FORMAT,   /* the name of a format with one of `traits` */
    PARAM_KIND_POSITION, /* docs/api.md, "Positions" */
    PARAM_KIND_TIME,     /* RFC 3339 */
};

enum param_flags {
    PARAM_REQUIRED = 1,  /* a missing one is a problem */
    PARAM_EXPECTED = 2,  /* a missing one is a problem when it is read, which depends on others */
    PARAM_REPEATED = 4,  /* each value counts */
    PARAM_NAMED = 8,     /* "prefix.NAME": any name may follow the prefix */
    PARAM_NUMBERED = 16, /* "prefixN": a number follows the prefix, or nothing */
    PARAM_SECRET = 32,   /* no answer repeats its value */
};

/* A row of parameters.def. */
struct parameter {
    const char *name;
    enum param_kind kind;
    int64_t min, max, missing;
    size_t low_at, high_at, missing_at; /* of members of struct api_cfg; 0: none */
    const char *values;                 /* with '|' between them */
    const char *otherwise;              /* what a missing one counts as; NULL: nothing */
    unsigned traits;                    /* enum format_trait */
    const char *example;                /* of a text, a URL or a position */
    int64_t number;                     /* an example of a number */
    unsigned flags;
    const char *text;
};

/* Returns the row of a parameter. */
const struct parameter *param_row(enum param_id id);

/* Returns the name of a parameter; the most that it may be. */
const char *param_name(enum param_id id);
int64_t param_max(enum param_id id);

/* Does this list, which ends with PARAM_NONE, have the parameter? */
bool param_is_in(const enum param_id *list, enum param_id id);

/* Is this a name of the parameter? A pattern has many. */
bool param_is_called(enum param_id id, struct str name);

/* What a number may be: a smaller one than `min` is refused; one outside [low, high] counts as the
 * nearest of them; a missing one counts as `missing`. */
struct param_range {
    int64_t min, low, high, missing;
};

/* Returns the range of a number. `cfg` may be NULL if it does not depend on options. */
struct param_range param_range(enum param_id id, const struct api_cfg *cfg);
