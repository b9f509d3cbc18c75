/* server/cli_backup.c - "feedmill backup": the daemon gives a copy of its database, or the file of
 * one is read beside it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "server/cli.h"
#include "server/cli_out.h"
#include "storage/upkeep.h"

#define NAME "backup"

static bool show_progress(void *ctx UNUSED, int64_t n_done, int64_t n_all)
{
    if (n_all > 0)
        cli_progress("%3d %%", (int)(100 * n_done / n_all));
    return true;
}

static int refuse(const struct err *err)
{
    return err->rc == RC_INPUT ? cli_misuse(NAME, "%s", err->text)
                               : cli_fail(NAME, "%s", err->text);
}

static int copy_file(const char *db, const char *to)
{
    struct err err = ERR_INIT;
    enum rc rc;

    log_set_level(LOG_LEVEL_NONE); /* what goes wrong is told in one line */
    rc = upkeep_backup(db, to, show_progress, NULL, &err);
    if (rc == RC_UNSUPPORTED) /* this kind of database is not copied so */
        return cli_misuse(NAME, "%s", err.text);
    return rc == RC_OK ? CLI_OK : refuse(&err);
}

/* ---- a copy from the daemon ------------------------------------------------------------------ */

struct download {
    const char *part; /* the name of the file until it is whole */
    int fd;
    int64_t n_done;
};

/* What a signal that ends the program takes away; NULL: nothing. */
static const char *volatile unfinished;

static void on_signal(int number)
{
    if (unfinished != NULL)
        unlink(unfinished);
    signal(number, SIG_DFL);
    raise(number);
}

/* A signal that is ignored ends nothing: nohup is to have its way. */
static void drop_on_signals(const char *part)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;

    unfinished = part;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(numbers[i], on_signal);
}

static enum rc fail(const char *path, struct err *err)
{
    return err_set(err, RC_IO, "%s: %s", path, strerror(errno));
}

static enum rc write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);

        if (n < 0 && errno != EINTR)
            return RC_IO;
        if (n > 0)
            bytes = str_slice(bytes, (size_t)n, bytes.len);
    }
    return RC_OK;
}

/* The loop of the call. */
static enum rc on_piece(void *ctx, int64_t n_all, struct str piece, struct err *err)
{
    struct download *d = ctx;
    int64_t before = d->n_done;

    if (write_all(d->fd, piece) != RC_OK)
        return fail(d->part, err);
    d->n_done += (int64_t)piece.len;
    if (n_all > 0 && 100 * d->n_done / n_all != 100 * before / n_all)
        show_progress(NULL, d->n_done, n_all);
    return RC_OK;
}

/* Give the whole file its name. The name may have come into use meanwhile. */
static enum rc finish(struct download *d, const char *to, struct err *err)
{
    enum rc rc = upkeep_may_replace(to, err);

    if (rc == RC_OK)
        rc = upkeep_publish(d->part, d->fd, to, err);
    if (rc == RC_OK)
        unfinished = NULL;
    return rc;
}

static int download(const struct cli_server *srv, struct arena *a, const char *to)
{
    struct download d = {.part = str_printf(a, "%s.part", to).ptr, .fd = -1};
    struct err err = ERR_INIT;
    struct cli_answer answer;
    int code = CLI_OK;

    /* before the daemon makes a copy, which may take long and needs room on its disk */
    if (upkeep_may_replace(to, &err) != RC_OK || upkeep_make_part(d.part, &d.fd, &err) != RC_OK)
        return refuse(&err);
    drop_on_signals(d.part);
    if (!cli_download(srv, a, "POST", STR(PATH_BACKUP), MEDIA_SQLITE, on_piece, &d, &answer))
        code = answer.is_misuse ? cli_misuse(NAME, "%.*s", STR_ARG(answer.problem))
                                : cli_fail(NAME, "%.*s", STR_ARG(answer.problem));
    else if (finish(&d, to, &err) != RC_OK)
        code = refuse(&err);
    if (code != CLI_OK)
        unlink(d.part);
    close(d.fd);
    return code;
}

int cli_backup(int argc, char **argv)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str db = STR_NULL;
    struct cli_server srv = {0};
    const struct cli_flag flags[] = {
        {.name = "--db",
         .arg = "DB",
         .help = "Copy this database, a file, and ask no daemon; one may work on it.",
         .value = &db},
        CLI_SERVER_FLAGS(srv)};
    struct value *v = value_dict(&a);
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));

    if (code >= 0)
        return code;
    if (argc != 2)
        return cli_usage(NAME);
    if (!str_is_null(db) && !str_is_null(srv.url))
        return cli_misuse(NAME, "--db asks no daemon; give it or --server");
    code = str_is_null(db) ? download(&srv, &a, argv[1]) : copy_file(db.ptr, argv[1]);
    cli_progress_end();
    value_set_textz(&a, v, "file", str_from(argv[1]));
    if (code == CLI_OK && !str_is_null(srv.json))
        cli_print_json(v);
    return code;
}
