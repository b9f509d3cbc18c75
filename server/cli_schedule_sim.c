/* server/cli_schedule_sim.c - "feedmill schedule-sim": drives the decision of fetcher/adapt.h with
 * fetches that somebody else makes up.
 *
 * Each line of standard input is a fetch, and gives a line. The lines of a batch are written when
 * an empty line ends it, so that a program may write a whole batch before it reads.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "feed/text/date.h"
#include "feed/text/json.h"
#include "fetcher/adapt.h"
#include "fetcher/budget.h"
#include "server/cli.h"

#define NAME "schedule-sim"
#define BATCH_MAX ((size_t)1 << 30)
#define LINE_BYTES ((size_t)16 << 20)
#define FEEDS_MAX 10000000
#define BUDGET_MAX 1000000000000
#define AT_MAX 253402300799.0 /* the end of the year 9999 */

struct sim_feed {
    struct pace pace;
    need_class class;
};

struct sim {
    struct budget budget;
    struct map feeds;
    struct buf out;
    struct arena arena; /* of one line */
    int64_t n_lines;
    const char *wrong; /* what is wrong with the line */
    bool is_lost;      /* answers could not be written */
};

/* ---- a line ---------------------------------------------------------------------------------- */

static bool read_time(const struct value *v, int64_t *out)
{
    if (v == NULL)
        return false;
    if (v->kind == VAL_TEXT)
        return date_parse(v->s, out);
    if (v->kind == VAL_REAL && fabs(v->d) <= AT_MAX) {
        *out = (int64_t)floor(v->d);
        return true;
    }
    if (v->kind == VAL_INT && v->i >= (int64_t)-AT_MAX && v->i <= (int64_t)AT_MAX) {
        *out = v->i;
        return true;
    }
    return false;
}

static bool read_count(const struct value *v, int64_t *out)
{
    if (v == NULL || v->kind == VAL_NULL) {
        *out = 0;
        return true;
    }
    *out = v->kind == VAL_INT                               ? v->i
           : v->kind == VAL_REAL && v->d >= 0 && v->d < 1e9 ? (int64_t)v->d
                                                            : -1;
    return *out >= 0 && *out <= 1000000000;
}

/* Entries without a date have null, or nothing. */
static void read_dates(struct sim *sim, const struct value *list, struct sight *s)
{
    size_t n = value_len(list);
    int64_t *dates = ARENA_ARRAY(&sim->arena, int64_t, n > 0 ? n : 1);

    s->dates = dates;
    if (list != NULL && list->kind != VAL_NULL && list->kind != VAL_LIST)
        sim->wrong = "dates is not a list of times";
    for (size_t i = 0; i < n && sim->wrong == NULL; i++) {
        const struct value *v = value_at(list, i);

        if (v->kind == VAL_NULL)
            continue;
        if (!read_time(v, &dates[s->n_dates++]))
            sim->wrong = arena_printf(&sim->arena,
                                      "dates[%zu] is neither seconds nor a date of RFC 3339, nor "
                                      "null for an entry without a date",
                                      i);
    }
}

static bool read_sight(struct sim *sim, const struct value *v, struct sight *s)
{
    if (!read_time(value_getz(v, "at"), &s->at))
        sim->wrong = "at is neither seconds nor a date of RFC 3339";
    else if (!read_count(value_getz(v, "new"), &s->n_new))
        sim->wrong = "new is not a number of entries";
    else if (!read_count(value_getz(v, "shown"), &s->n_shown))
        sim->wrong = "shown is not a number of entries";
    else
        read_dates(sim, value_getz(v, "dates"), s);
    return sim->wrong == NULL;
}

/* Is it what a fetch of this feed can be, after those before? */
static bool is_possible(struct sim *sim, const struct sim_feed *f, const struct sight *s)
{
    char at[CLOCK_TEXT], seen[CLOCK_TEXT];

    if (s->n_new > s->n_shown)
        sim->wrong = arena_printf(&sim->arena,
                                  "new is %" PRId64 " and shown is %" PRId64
                                  ": new entries are among those shown, so new is at most shown",
                                  s->n_new, s->n_shown);
    if (f->pace.seen_at != TIME_UNKNOWN && s->at < f->pace.seen_at) {
        clock_rfc3339(s->at, at);
        clock_rfc3339(f->pace.seen_at, seen);
        sim->wrong = arena_printf(&sim->arena,
                                  "at is %s, before the last fetch of this feed (%s): the fetches "
                                  "of a feed stand in the order of their times",
                                  at, seen);
    }
    return sim->wrong == NULL;
}

static struct sim_feed *feed_of(struct sim *sim, const struct value *name)
{
    struct str key = name == NULL             ? STR_NULL
                     : name->kind == VAL_TEXT ? str_printf(&sim->arena, "\"%.*s", STR_ARG(name->s))
                     : name->kind == VAL_INT  ? str_printf(&sim->arena, "%" PRId64, name->i)
                                              : STR_NULL;
    struct sim_feed *f;

    if (str_is_null(key)) {
        sim->wrong = "feed is neither text nor a whole number";
        return NULL;
    }
    f = map_get(&sim->feeds, key);
    if (f != NULL)
        return f;
    if (map_count(&sim->feeds) >= FEEDS_MAX) {
        sim->wrong = "there are more than 10000000 feeds";
        return NULL;
    }
    f = NEW(struct sim_feed);
    f->pace = PACE_INIT;
    map_put(&sim->feeds, key, f);
    return f;
}

/* ---- the decision ---------------------------------------------------------------------------- */

static void decide(struct sim *sim, struct sim_feed *f, const struct sight *s)
{
    int64_t was = f->pace.seen_at;
    need_class now;
    struct need need;

    adapt_learn(&f->pace, s);
    need = adapt_need(&f->pace);
    now = budget_class(&need);
    budget_fetched(&sim->budget, f->class, was != TIME_UNKNOWN ? s->at - was : 0);
    budget_move(&sim->budget, f->class, now);
    f->class = now;
    adapt_decide(&f->pace, budget_price(&sim->budget));
}

/* The next time in the form in which the time of the fetch was given. */
static void write_next(struct buf *out, const struct value *at, int64_t next)
{
    char text[CLOCK_TEXT];

    clock_rfc3339(next, text);
    if (at->kind == VAL_TEXT)
        buf_printf(out, "\"%s\"", text);
    else
        buf_printf(out, "%" PRId64, next);
}

static void write_answer(struct sim *sim, const struct value *v, const struct sight *s,
                         const struct pace *p)
{
    struct buf *out = &sim->out;

    buf_puts(out, "{\"feed\":");
    json_write(out, value_getz(v, "feed"));
    buf_puts(out, ",\"next\":");
    write_next(out, value_getz(v, "at"), s->at + p->period_s);
    buf_printf(out, ",\"period\":%" PRId64 ",\"rate\":%.4f,\"why\":", p->period_s, pace_rate(p));
    json_write_text(out, pace_words(&sim->arena, p));
    buf_puts(out, "}\n");
}

static bool take_fetch(struct sim *sim, struct str line, struct err *err)
{
    struct sight s = {.at = 0};
    struct sim_feed *f;
    struct value *v;

    if (json_read(&sim->arena, line, &v, err) != RC_OK) {
        sim->wrong = err->text;
        return false;
    }
    f = feed_of(sim, value_getz(v, "feed"));
    if (f == NULL || !read_sight(sim, v, &s) || !is_possible(sim, f, &s))
        return false;
    decide(sim, f, &s);
    write_answer(sim, v, &s, &f->pace);
    if (!buf_ok(&sim->out))
        sim->wrong = "the batch is too large; end it by an empty line sooner";
    return sim->wrong == NULL;
}

/* ---- all lines ------------------------------------------------------------------------------- */

static bool flush_batch(struct sim *sim)
{
    struct str all = buf_view(&sim->out);
    sim->is_lost |= fwrite(all.ptr, 1, all.len, stdout) != all.len || fflush(stdout) != 0;
    buf_reset(&sim->out);
    return !sim->is_lost;
}

/* False: the line is wrong, or nobody reads the answers. */
static bool take_line(struct sim *sim, struct str line, struct err *err)
{
    struct arena_mark mark = arena_mark(&sim->arena);
    bool ok;

    line = str_trim(line);
    sim->n_lines++;
    ok = line.len == 0 ? flush_batch(sim) : take_fetch(sim, line, err);
    if (ok)
        arena_rewind(&sim->arena, mark);
    return ok;
}

/* Read a line of at most LINE_BYTES. False: there is none, or it is longer. */
static bool next_line(struct sim *sim, struct buf *line)
{
    int c;

    buf_reset(line);
    while ((c = getc_unlocked(stdin)) != EOF && c != '\n' && buf_ok(line))
        buf_putc(line, (char)c);
    if (!buf_ok(line)) {
        sim->n_lines++;
        sim->wrong = "the line is too long; one fetch takes at most 16 MiB";
    }
    return buf_ok(line) && (c == '\n' || line->len > 0);
}

static int run(struct sim *sim)
{
    AUTO(buf_release) struct buf line = BUF_INIT(LINE_BYTES);
    struct err err = ERR_INIT;

    while (next_line(sim, &line) && take_line(sim, buf_view(&line), &err))
        continue;
    flush_batch(sim);
    if (sim->wrong != NULL)
        return cli_misuse(NAME, "line %" PRId64 ": %s", sim->n_lines, sim->wrong);
    if (!sim->is_lost && !ferror(stdin))
        return CLI_OK;
    return cli_fail(NAME, sim->is_lost ? "the answers could not be written"
                                       : "the input could not be read");
}

static bool read_flag(const char *flag, struct str text, int64_t most, int64_t *out)
{
    if (!str_is_null(text) && str_to_i64(text, out) && *out >= 1 && *out <= most)
        return true;
    cli_misuse(NAME, "%s is a whole number from 1 to %" PRId64, flag, most);
    return false;
}

int cli_schedule_sim(int argc, char **argv)
{
    struct str budget = STR_NULL, feeds = STR_NULL, json = STR_NULL; /* it prints nothing else */
    const struct cli_flag flags[] = {
        {"--budget", "N", "So many fetches a day in all.", &budget, NULL, 0, NULL},
        {"--feeds", "M", "So many feeds share them.", &feeds, NULL, 0, NULL},
        CLI_JSON_FLAG(json),
    };
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));
    struct sim *sim;
    int64_t n, m;

    if (code >= 0)
        return code;
    if (argc > 1)
        return cli_usage(NAME);
    if (!read_flag("--budget", budget, BUDGET_MAX, &n) ||
        !read_flag("--feeds", feeds, FEEDS_MAX, &m))
        return CLI_USAGE;
    sim = NEW(struct sim);
    *sim = (struct sim){.feeds = MAP_INIT, .out = BUF_INIT(BATCH_MAX), .arena = ARENA_INIT};
    budget_init(&sim->budget, (double)n, m);
    code = run(sim);
    map_release(&sim->feeds, mem_free);
    buf_release(&sim->out);
    arena_release(&sim->arena);
    mem_free(sim);
    return code;
}
