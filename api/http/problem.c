/* api/http/problem.c - the table of problems, and the one place that writes them. */
#include "api/http/problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/stats.h"
#include "feed/text/json.h"
#include "net/url.h"

#define VALUE_SHOWN 200 /* bytes of a wrong value that are shown */
#define DETAIL_MAX 2000

static const struct {
    const char *name, *title;
    int status;
} kinds[PROBLEM_COUNT_] = {
#define PROBLEM(kind, name, status, title) [PROBLEM_##kind] = {name, title, status},
#include "api/http/problems.def"
#undef PROBLEM
};

/* Returns the text that JSON can have: the part of `s` that is valid UTF-8, at most `max` bytes. */
static struct str shown(struct str s, size_t max)
{
    size_t valid;

    if (s.len > max)
        s.len = max;
    valid = str_utf8_valid(s);
    return str_slice(s, 0, valid);
}

static struct str detail_of(struct arena *a, const char *fmt, va_list ap)
{
    char text[DETAIL_MAX];

    vsnprintf(text, sizeof(text), fmt, ap);
    return str_dup(a, shown(str_from(text), sizeof(text)));
}

bool problem_set(struct problem *p, struct arena *a, enum problem_kind kind, const char *fmt, ...)
{
    va_list ap;

    *p = (struct problem){.kind = kind};
    va_start(ap, fmt);
    p->detail = detail_of(a, fmt, ap);
    va_end(ap);
    return false;
}

bool problem_parameter(struct problem *p, struct arena *a, const char *parameter, struct str value,
                       const char *allowed, const char *fmt, ...)
{
    va_list ap;

    *p = (struct problem){
        .kind = PROBLEM_BAD_PARAMETER, .parameter = str_from(parameter), .allowed = allowed};
    if (!str_is_null(value))
        p->value = str_dup(a, shown(url_shown(a, value), VALUE_SHOWN));
    va_start(ap, fmt);
    p->detail = detail_of(a, fmt, ap);
    va_end(ap);
    if (p->value.len > 0 && str_find(p->detail, p->value) < 0)
        p->detail =
            str_printf(a, "%.*s Given was \"%.*s\".", STR_ARG(p->detail), STR_ARG(p->value));
    return false;
}

bool problem_role(struct problem *p, struct arena *a, enum access_role needed, enum access_role has)
{
    problem_set(p, a, PROBLEM_ROLE,
                "This needs the role `%s`, and the caller has the role `%s`. A token gives a role: "
                "POST /tokens and \"feedmill token add\" make one for an admin; the first one is made "
                "by \"feedmill token add --db FILE\" while the daemon is stopped, or set by --token.",
                role_name(needed), role_name(has));
    p->role = role_name(needed);
    return false;
}

void problem_of_err(struct problem *p, struct arena *a, enum rc rc, const struct err *err)
{
    const char *text = err != NULL && err->text[0] != '\0' ? err->text : rc_meaning(rc);

    switch (rc) {
    case RC_AGAIN:
        problem_set(p, a, PROBLEM_BUSY, "The database is not within reach. Try again later.");
        p->retry_after_s = 5;
        break;
    case RC_FULL:
    case RC_CLOSED:
        problem_set(p, a, PROBLEM_BUSY, "The request was not started: %s.", rc_meaning(rc));
        p->retry_after_s = 1;
        break;
    case RC_TIMEOUT:
        problem_set(p, a, PROBLEM_BUSY, "This takes a while: %s. Ask again.", text);
        p->retry_after_s = 1;
        break;
    case RC_UNAVAILABLE:
        problem_set(p, a, PROBLEM_UNAVAILABLE,
                    "%s Nothing is stored until its operator has looked after it; what is stored can still be read.",
                    stats_get(STAT_store_full_seconds) != 0
                        ? "The disk of the database is full."
                        : "The database has no room, or one of its files was deleted or replaced: the server's log says which.");
        p->retry_after_s = 60;
        break;
    case RC_INPUT:
        problem_set(p, a, PROBLEM_BAD_PARAMETER, "%s", text);
        break;
    case RC_NOT_FOUND:
        problem_set(p, a, PROBLEM_NOT_FOUND, "%s", text);
        break;
    case RC_GONE:
        problem_set(p, a, PROBLEM_HISTORY_GONE, "%s", text);
        break;
    case RC_LIMIT:
        problem_set(p, a, PROBLEM_TOO_LARGE, "%s", text);
        break;
    default:
        problem_set(p, a, PROBLEM_INTERNAL,
                    "The request failed inside the server; its log says "
                    "why. Trying again may help.");
        break;
    }
}

int problem_status(const struct problem *p)
{
    return p->status != 0 ? p->status : kinds[p->kind].status;
}

const char *problem_name(enum problem_kind kind)
{
    return kinds[kind].name;
}

const char *problem_title(enum problem_kind kind)
{
    return kinds[kind].title;
}

static void put_member(struct buf *out, const char *name, struct str value)
{
    if (str_is_null(value))
        return;
    buf_printf(out, ",\"%s\":", name);
    json_write_text(out, value);
}

void problem_write(struct buf *out, const struct problem *p)
{
    buf_printf(out, "{\"type\":\"" PROBLEM_TYPE "%s\",\"title\":\"%s\",\"status\":%d",
               kinds[p->kind].name, kinds[p->kind].title, problem_status(p));
    put_member(out, "detail", p->detail);
    if (!str_is_null(p->request))
        buf_printf(out, ",\"instance\":\"urn:feedmill:request:%.*s\"", STR_ARG(p->request));
    put_member(out, "parameter", p->parameter);
    put_member(out, "value", p->value);
    if (p->has_at)
        buf_printf(out, ",\"at\":%zu", p->at);
    if (p->allowed != NULL) {
        struct str rest = str_from(p->allowed);

        for (const char *sep = ",\"allowed\":["; !str_is_null(rest); sep = ",") {
            buf_puts(out, sep);
            json_write_text(out, str_split(&rest, '|'));
        }
        buf_putc(out, ']');
    }
    put_member(out, "role", str_from(p->role));
    put_member(out, "horizon", p->horizon);
    put_member(out, "upstream", p->upstream);
    if (p->upstream_status != 0)
        buf_printf(out, ",\"upstream-status\":%d", p->upstream_status);
    buf_puts(out, "}\n");
}
