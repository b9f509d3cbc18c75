/* server/cli_upkeep.c - "feedmill backup", "check" and "compact": care of a database file. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "server/cli.h"
#include "storage/upkeep.h"

/* Take the flag --db, and leave exactly `n` operands. -1: go on. */
static int take_db(const char *name, int *argc, char **argv, int n, struct str *db)
{
    const struct cli_flag flags[] = {
        {.name = "--db", .arg = "DB", .help = "the database, a file", .value = db}};
    int code = cli_take_flags(argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    log_set_level(LOG_LEVEL_NONE); /* what goes wrong is told in one line */
    return *argc != n + 1 || str_is_null(*db) ? cli_usage(name) : -1;
}

static int refuse(const char *name, const struct err *err)
{
    return err->rc == RC_INPUT ? cli_misuse(name, "%s", err->text)
                               : cli_fail(name, "%s", err->text);
}

/* One line that is written over, for a person who waits. */
static void show_progress(void *ctx, int64_t n_done, int64_t n_all)
{
    const bool *is_watched = ctx;

    if (*is_watched && n_all > 0)
        fprintf(stderr, "\r%3d %%%s", (int)(100 * n_done / n_all), n_done == n_all ? "\n" : "");
}

int cli_backup(int argc, char **argv)
{
    struct str db = STR_NULL;
    struct err err = ERR_INIT;
    bool is_watched = isatty(STDERR_FILENO);
    int code = take_db("backup", &argc, argv, 1, &db);

    if (code >= 0)
        return code;
    return upkeep_backup(db.ptr, argv[1], show_progress, &is_watched, &err) == RC_OK
               ? CLI_OK
               : refuse("backup", &err);
}

static void show_fault(void *ctx, struct str rule, struct str what)
{
    int *n = ctx;

    ++*n;
    printf("%.*s: not so at ", STR_ARG(rule));
    cli_print_plain(what);
    putchar('\n');
}

int cli_check(int argc, char **argv)
{
    struct str db = STR_NULL;
    struct err err = ERR_INIT;
    int n = 0, code = take_db("check", &argc, argv, 0, &db);

    if (code >= 0)
        return code;
    if (upkeep_check(db.ptr, show_fault, &n, &err) != RC_OK)
        return refuse("check", &err);
    printf("%.*s is whole, and its log keeps its rules\n", STR_ARG(db));
    return CLI_OK;
}

int cli_compact(int argc, char **argv)
{
    struct str db = STR_NULL;
    struct err err = ERR_INIT;
    int64_t before = 0, after = 0;
    int code = take_db("compact", &argc, argv, 0, &db);

    if (code >= 0)
        return code;
    if (upkeep_compact(db.ptr, &before, &after, &err) != RC_OK)
        return refuse("compact", &err);
    printf("%.*s: %" PRId64 " bytes before, %" PRId64 " now\n", STR_ARG(db), before, after);
    return CLI_OK;
}
