/* server/cli_migrate.c - "feedmill migrate": moves the whole log from one database to another. */
#include <inttypes.h>
#include <stdio.h>

#include "server/cli.h"
#include "storage/migrate.h"

static void show_table(void *ctx, const char *table, int64_t n_rows, bool same)
{
    const bool *is_check = ctx;

    printf("%-14s %10" PRId64 " rows%s\n", table, n_rows,
           !*is_check ? ""
           : same     ? ", the same"
                      : ", DIFFERENT");
}

int cli_migrate(int argc, char **argv)
{
    struct str from = STR_NULL, to = STR_NULL, check = STR_NULL;
    const struct cli_flag flags[] = {
        {.name = "--from", .arg = "DB", .help = "the database that has the data", .value = &from},
        {.name = "--to", .arg = "DB", .help = "an empty database, which gets it", .value = &to},
        {.name = "--check",
         .help = "copy nothing, but compare what both have, table by table",
         .value = &check}};
    struct err err = ERR_INIT;
    struct migrate_cfg cfg;
    bool is_check;
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    if (argc > 1 || str_is_null(from) || str_is_null(to))
        return cli_usage("migrate");
    is_check = !str_is_null(check);
    cfg = (struct migrate_cfg){.from = from.ptr, .to = to.ptr, .check = is_check};
    if (migrate_run(&cfg, show_table, &is_check, &err) == RC_OK)
        return CLI_OK;
    return err.rc == RC_INPUT ? cli_misuse("migrate", "%s", err.text)
                              : cli_fail("migrate", "%s", err.text);
}
