/* api/http/parameters.c - the table of parameters.def. */
#include "model/named_view.h"
#include "api/http/parameters.h"

#include <string.h>

#include "api/http/config.h"
#include "base/assert.h"
#include "base/limits.h"
#include "model/fetch_secrets.h"
#include "feed/filter/filter.h"
#include "feed/filter/question.h"
#include "model/access.h"
#include "model/feed.h"
#include "model/hub.h"

#define TEXT(max_, example_) .kind = PARAM_KIND_TEXT, .max = (max_), .example = (example_)
#define URL(example_) .kind = PARAM_KIND_URL, .example = (example_)
#define URLS(max_, example_) .kind = PARAM_KIND_URLS, .max = (max_), .example = (example_)
#define COUNT(min_, max_, missing_)                                                                \
    .kind = PARAM_KIND_COUNT, .min = (min_), .max = (max_), .missing = (missing_)
#define OPTION_COUNT(min_, low_, high_, missing_)                                                  \
    .kind = PARAM_KIND_COUNT, .min = (min_), .max = INT32_MAX,                                     \
    .low_at = offsetof(struct api_cfg, low_), .high_at = offsetof(struct api_cfg, high_),          \
    .missing_at = offsetof(struct api_cfg, missing_)
#define NUMBER(min_, max_, example_)                                                               \
    .kind = PARAM_KIND_NUMBER, .min = (min_), .max = (max_), .number = (example_)
#define ID .kind = PARAM_KIND_ID, .min = 1, .max = INT64_MAX
#define FREQ(level_, low_, max_)                                                                   \
    .kind = PARAM_KIND_FREQ, .min = (level_), .max = (max_),                                       \
    .low_at = offsetof(struct api_cfg, low_)
#define FLAG .kind = PARAM_KIND_FLAG
#define CHOICE(values_) .kind = PARAM_KIND_CHOICE, .values = (values_)
#define CHOICE_OR(values_, otherwise_)                                                             \
    .kind = PARAM_KIND_CHOICE, .values = (values_), .otherwise = (otherwise_)
#define FORMATS(traits_) .kind = PARAM_KIND_FORMAT, .traits = (traits_)
#define POSITION(example_) .kind = PARAM_KIND_POSITION, .example = (example_)
#define TIME .kind = PARAM_KIND_TIME

static const struct parameter rows[PARAM_COUNT_] = {
#define PARAM(id_, name_, kind_, flags_, text_)                                                    \
    [PARAM_##id_] = {.name = (name_), kind_, .flags = (flags_), .text = (text_)},
#include "api/http/parameters.def"
#undef PARAM
};

const struct parameter *param_row(enum param_id id)
{
    ASSERT(id > PARAM_NONE && id < PARAM_COUNT_);
    return &rows[id];
}

const char *param_name(enum param_id id)
{
    return param_row(id)->name;
}

int64_t param_max(enum param_id id)
{
    return param_row(id)->max;
}

bool param_is_in(const enum param_id *list, enum param_id id)
{
    for (; list != NULL && *list != PARAM_NONE; list++)
        if (*list == id)
            return true;
    return false;
}

bool param_is_called(enum param_id id, struct str name)
{
    const struct parameter *row = param_row(id);
    size_t tail = (row->flags & PARAM_NAMED) != 0      ? strlen("NAME")
                  : (row->flags & PARAM_NUMBERED) != 0 ? strlen("N")
                                                       : 0;
    struct str prefix = str_of(row->name, strlen(row->name) - tail), rest;
    int64_t n;

    if (tail == 0 || !str_starts(name, prefix))
        return str_eq(name, prefix);
    rest = str_slice(name, prefix.len, name.len);
    return (row->flags & PARAM_NUMBERED) == 0 || rest.len == 0 || (str_to_i64(rest, &n) && n >= 0);
}

/* Returns the member of `cfg` at this offset; `fixed` if there is none. */
static int64_t option(const struct api_cfg *cfg, size_t at, int64_t fixed)
{
    int64_t value;

    if (at == 0)
        return fixed;
    ASSERT(cfg != NULL);
    memcpy(&value, (const char *)cfg + at, sizeof value);
    return value;
}

struct param_range param_range(enum param_id id, const struct api_cfg *cfg)
{
    const struct parameter *row = param_row(id);
    struct param_range r = {.min = row->min,
                            .low = option(cfg, row->low_at, row->min),
                            .high = option(cfg, row->high_at, row->max),
                            .missing = option(cfg, row->missing_at, row->missing)};

    if (row->missing_at != 0 && r.missing > r.high)
        r.missing = r.high;
    if (row->missing_at != 0 && r.missing < r.low)
        r.missing = r.low;
    return r;
}
