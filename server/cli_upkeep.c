/* server/cli_upkeep.c - "feedmill check" and "compact": care of a database. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/log.h"
#include "feed/filter/filter.h"
#include "server/cli.h"
#include "server/cli_out.h"
#include "storage/upkeep.h"

/* Take the flags --db and --json, and leave no operands. -1: go on. */
static int take_db(const char *name, const char *help, int *argc, char **argv, struct str *db, struct str *json)
{
    const struct cli_flag flags[] = {
        {.name = "--db", .arg = "DB", .help = help, .value = db},
        CLI_JSON_FLAG(*json)};
    int code = cli_take_flags(argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    log_set_level(LOG_LEVEL_NONE); /* what goes wrong is told in one line */
    return *argc != 1 || str_is_null(*db) ? cli_usage(name) : -1;
}

/* With such a database it cannot be done: the caller has named the wrong one. */
static int refuse(const char *name, const struct err *err)
{
    return err->rc == RC_INPUT || err->rc == RC_UNSUPPORTED ? cli_misuse(name, "%s", err->text)
                                                            : cli_fail(name, "%s", err->text);
}

/* A script is to tell a database that is damaged from one that could not be looked at. */
static int refuse_check(const struct err *err)
{
    return err->rc == RC_CONFLICT ? cli_fail("check", "%s", err->text) : cli_misuse("check", "%s", err->text);
}

struct checking {
    struct arena arena;
    struct str json;
    struct value *faults; /* a list */
};

/* What SQLite says may have several lines; a fault has one. */
static struct str one_line(struct arena *a, struct str text)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    text = str_trim(text);
    while (text.len > 0) {
        struct str line = str_trim(str_split(&text, '\n'));

        buf_printf(&out, "%s%.*s", out.len > 0 ? "; " : "", STR_ARG(line));
    }
    return str_dup(a, buf_view(&out));
}

static void show_fault(void *ctx, struct str rule, struct str text)
{
    struct checking *c = ctx;
    struct value *v = value_dict(&c->arena);
    struct str what = one_line(&c->arena, text);

    value_set_textz(&c->arena, v, "rule", str_dup(&c->arena, rule));
    value_set_textz(&c->arena, v, "at", what);
    value_push(&c->arena, c->faults, v);
    if (!str_is_null(c->json))
        return;
    printf("%.*s: not so at ", STR_ARG(rule));
    cli_print_plain(what);
    putchar('\n');
}

/* As JSON, faults are told as the others are, and together. */
static void show_all(struct checking *c, bool is_whole)
{
    struct value *v = value_dict(&c->arena);

    value_setz(&c->arena, v, "whole", value_bool(&c->arena, is_whole));
    value_setz(&c->arena, v, "faults", c->faults);
    cli_print_json(v);
}

int cli_check(int argc, char **argv)
{
    struct checking c = {.arena = ARENA_INIT, .json = STR_NULL};
    struct str db = STR_NULL;
    struct err err = ERR_INIT;
    int code = take_db("check", "the database, a file or a postgresql:// address", &argc, argv, &db, &c.json);
    enum rc rc;

    if (code >= 0)
        return code;
    c.faults = value_list(&c.arena);
    rc = upkeep_check(db.ptr, filter_read, show_fault, &c, &err);
    if (!str_is_null(c.json) && (rc == RC_OK || value_len(c.faults) > 0))
        show_all(&c, rc == RC_OK);
    else if (rc == RC_OK)
        printf("%.*s is whole, and its log keeps its rules\n", STR_ARG(upkeep_shown(&c.arena, db.ptr)));
    arena_release(&c.arena);
    return rc == RC_OK ? CLI_OK : refuse_check(&err);
}

int cli_compact(int argc, char **argv)
{
    struct str db = STR_NULL, json = STR_NULL;
    struct err err = ERR_INIT;
    int64_t before = 0, after = 0;
    int code = take_db("compact", "the database, a file", &argc, argv, &db, &json);

    if (code >= 0)
        return code;
    if (upkeep_compact(db.ptr, &before, &after, &err) != RC_OK)
        return refuse("compact", &err);
    if (!str_is_null(json))
        printf("{\"before\":%" PRId64 ",\"after\":%" PRId64 "}\n", before, after);
    else
        printf("%.*s: %" PRId64 " bytes before, %" PRId64 " now\n", STR_ARG(db), before, after);
    return CLI_OK;
}
