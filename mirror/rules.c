/* mirror/rules.c - see rules.h. */
#include "mirror/rules.h"

#include <inttypes.h>
#include <string.h>

#include "base/ascii.h"
#include "net/http_fields.h"

#define FIRST_PAUSE_S 2
/* A try that brought so many bytes more was worth its request. One that ends always at the same place is not, nor is
 * one byte more each time. */
#define FURTHER_MIN 65536

/* The type without its parameters; empty: it is none. It goes into a field of our answers. */
static struct str bare_type(struct str type)
{
    int n_slashes = 0;

    type = str_trim(str_split(&type, ';'));
    for (size_t i = 0; i < type.len; i++) {
        char c = type.ptr[i];

        n_slashes += c == '/';
        if (!ascii_is_alnum(c) && (c == '\0' || strchr("/!#$&^_.+-", c) == NULL))
            return STR("");
    }
    return n_slashes == 1 && type.ptr[0] != '/' && type.ptr[type.len - 1] != '/' && type.len < 128
               ? type
               : STR("");
}

struct str mirror_type(struct str said, struct str hint)
{
    said = bare_type(said);
    hint = bare_type(hint);
    if (said.len == 0 || str_ieqz(said, "application/octet-stream") ||
        str_ieqz(said, "binary/octet-stream"))
        return hint.len > 0 ? hint : STR("application/octet-stream");
    return said;
}

struct str mirror_validator(const struct mirror_answer *answer, int64_t now_s)
{
    int64_t modified = http_date(answer->modified), date = http_date(answer->date);

    if (answer->etag.len > 2 && answer->etag.ptr[0] == '"')
        return answer->etag;
    if (date == TIME_UNKNOWN)
        date = now_s;
    return modified != TIME_UNKNOWN && modified < date ? answer->modified : STR_NULL;
}

/* "bytes 5-9/10" or "bytes *" "/10". False: it is neither. -1: not said. */
static bool read_range(struct str range, int64_t *first, int64_t *total)
{
    struct str word = str_split(&range, ' '), span, begin;

    *first = *total = -1;
    if (!str_ieqz(word, "bytes") || str_is_null(range))
        return false;
    range = str_trim(range);
    span = str_split(&range, '/');
    begin = str_split(&span, '-');
    if (!str_eqz(begin, "*") && (!str_to_i64(begin, first) || *first < 0))
        return false;
    return str_eqz(range, "*") || (str_to_i64(range, total) && *total >= 0);
}

static enum mirror_take no(struct err *err, enum rc rc, const char *why)
{
    err_set(err, rc, "%s", why);
    return TAKE_NO;
}

/* Does the answer say that it is about another file than the part? */
static bool is_other_file(const struct mirror_answer *answer, struct str validator)
{
    struct str now = str_starts(validator, STR("\"")) ? answer->etag : answer->modified;

    return now.len > 0 && validator.len > 0 && !str_eq(now, validator);
}

/* The answer to a request for the rest. */
static enum mirror_take judge_rest(const struct mirror_answer *answer,
                                   const struct mirror_part *part, int64_t *size, struct err *err)
{
    int64_t first;
    bool is_read = read_range(answer->range, &first, size);
    bool is_other = is_other_file(answer, part->validator);

    if (answer->status == 416 && is_read && *size == part->size && part->size > 0 && !is_other)
        return TAKE_DONE;
    if (answer->status == 206 && is_read && first == part->size && !is_other)
        return TAKE_REST;
    err_set(err, RC_PEER,
            "the rest of the file from byte %" PRId64 " on did not come (status %d); it is fetched "
            "from its beginning",
            part->size, answer->status);
    return TAKE_ANEW;
}

enum mirror_take mirror_judge(const struct mirror_answer *answer, const struct mirror_part *part,
                              const struct mirror_limits *limits, struct str hint, int64_t *size,
                              struct str *type, struct err *err)
{
    bool is_rest = answer->status == 206 || answer->status == 416;
    enum mirror_take take = TAKE_WHOLE;

    *size = -1;
    *type = mirror_type(is_rest && part->size > 0 ? part->type : answer->type, hint);
    if (is_rest)
        take = judge_rest(answer, part, size, err);
    else if (answer->status != 200)
        return err_set(err, RC_PEER, "the origin answered %d", answer->status), TAKE_NO;
    else if (answer->length.len > 0 && !str_to_i64(answer->length, size))
        *size = -1;
    if (take == TAKE_ANEW || take == TAKE_DONE)
        return take;
    if (answer->coding.len > 0 && !str_ieqz(answer->coding, "identity"))
        return no(err, RC_PEER, "the origin compressed the file, which was not asked for");
    if (!mirror_has_type(limits->types, *type)) {
        err_set(err, RC_UNSUPPORTED, "the type %.*s is not mirrored (--mirror-types)",
                STR_ARG(str_slice(*type, 0, 100)));
        return TAKE_NO;
    }
    if (*size > limits->max_size) {
        err_set(err, RC_LIMIT,
                "the file has %" PRId64 " bytes, more than %" PRId64 " (--mirror-size)", *size,
                limits->max_size);
        return TAKE_NO;
    }
    return take;
}

/* 2, 4, 8, ... seconds, and up to a tenth more. */
static int64_t pause_s(int n_tries, uint32_t chance)
{
    int64_t s = FIRST_PAUSE_S;

    for (int i = 1; i < n_tries && s < MIRROR_PAUSE_MAX_S; i++)
        s *= 2;
    s = s < MIRROR_PAUSE_MAX_S ? s : MIRROR_PAUSE_MAX_S;
    return s + s * (int64_t)(chance % 1000) / 10000;
}

void mirror_failed(struct mirrored *m, enum rc rc, struct str why, int64_t n_further, int64_t wait_s,
                   int64_t now_s, uint32_t chance)
{
    bool is_late = now_s - m->since_at >= MIRROR_TRY_S && m->n_tries > 0 && rc != RC_IO;
    bool is_final = rc == RC_LIMIT || rc == RC_UNSUPPORTED || is_late;
    int64_t pause;

    m->n_tries = n_further >= FURTHER_MIN ? 1 : m->n_tries < INT32_MAX ? m->n_tries + 1 : m->n_tries;
    m->error = why;
    m->state = is_final ? MIRROR_FAILED : MIRROR_WAITING;
    pause = pause_s(m->n_tries, chance);
    if (wait_s > MIRROR_REST_MAX_S)
        wait_s = MIRROR_REST_MAX_S;
    m->next_at = is_final ? TIME_UNKNOWN : now_s + (wait_s > pause ? wait_s : pause);
}
