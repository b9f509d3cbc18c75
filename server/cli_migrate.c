/* server/cli_migrate.c - "feedmill migrate": moves the whole log from one database to another. */
#include <inttypes.h>
#include <stdio.h>

#include "server/cli.h"
#include "server/cli_out.h"
#include "storage/migrate.h"

struct showing {
    struct arena arena;
    struct str check, json; /* null: not asked for */
    struct value *tables;   /* a list */
};

/* Tables are told as they are done; as JSON all at the end. */
static void show_table(void *ctx, const char *table, int64_t n_rows, bool same)
{
    struct showing *s = ctx;
    struct arena *a = &s->arena;
    bool is_check = !str_is_null(s->check);
    struct value *v = value_dict(a);

    if (str_is_null(s->json) && !cli_is_terminal()) {
        const struct str cells[] = {str_from(table), str_printf(a, "%" PRId64, n_rows),
                                    str_from(!is_check ? "copied" : same ? "same" : "different")};

        cli_print_cells(a, cells, ARRAY_LEN(cells));
        return;
    }
    if (str_is_null(s->json)) {
        printf("%-14s %10" PRId64 " rows%s\n", table, n_rows,
               !is_check ? ""
               : same    ? ", the same"
                         : ", DIFFERENT");
        return;
    }
    value_set_textz(a, v, "table", str_dup(a, str_from(table)));
    value_setz(a, v, "rows", value_int(a, n_rows));
    value_setz(a, v, "same", is_check ? value_bool(a, same) : value_null(a));
    value_push(a, s->tables, v);
}

static int run(const char *from, const char *to, struct showing *s)
{
    const struct migrate_cfg cfg = {.from = from, .to = to, .check = !str_is_null(s->check)};
    struct err err = ERR_INIT;
    enum rc rc;

    s->tables = value_list(&s->arena);
    rc = migrate_run(&cfg, show_table, s, &err);
    if (!str_is_null(s->json) && value_len(s->tables) > 0)
        cli_print_json(s->tables);
    return rc == RC_OK         ? CLI_OK
           : err.rc == RC_INPUT ? cli_misuse("migrate", "%s", err.text)
                                : cli_fail("migrate", "%s", err.text);
}

int cli_migrate(int argc, char **argv)
{
    struct showing s = {.arena = ARENA_INIT, .check = STR_NULL, .json = STR_NULL};
    struct str from = STR_NULL, to = STR_NULL;
    const struct cli_flag flags[] = {
        {.name = "--from", .arg = "DB", .help = "the database that has the data", .value = &from},
        {.name = "--to", .arg = "DB", .help = "an empty database, which gets it", .value = &to},
        {.name = "--check",
         .help = "copy nothing, but compare what both have, table by table",
         .value = &s.check},
        CLI_JSON_FLAG(s.json)};
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    if (argc > 1 || str_is_null(from) || str_is_null(to))
        return cli_usage("migrate");
    code = run(from.ptr, to.ptr, &s);
    arena_release(&s.arena);
    return code;
}
