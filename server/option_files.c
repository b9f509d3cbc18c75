/* server/option_files.c - see option_files.h. */
#include "server/option_files.h"

#include <errno.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/http_server.h"
#include "storage/judge.h"

/* Can a file be made in the folder where this path would be? It is not made: it would be that of the
 * user who checks. */
static bool could_be_made(struct arena *a, struct str path)
{
    return access(dirname(str_z(a, path)), W_OK | X_OK) == 0;
}

static enum rc refuse(struct str path, const char *what, int why, struct err *err)
{
    return err_set(err, RC_INPUT, "%s \"%.*s\": %s", what, STR_ARG(path), strerror(why));
}

/* A file to which lines are added, or that is made. */
static enum rc check_log(struct arena *a, struct str path, struct err *err)
{
    struct stat st;
    int why;

    if (path.len == 0 || str_eqz(path, "-"))
        return RC_OK;
    if (stat(str_z(a, path), &st) == 0) {
        why = S_ISDIR(st.st_mode) ? EISDIR : access(str_z(a, path), W_OK) != 0 ? errno : 0;
        return why == 0 ? RC_OK : refuse(path, "cannot open", why, err);
    }
    why = errno;
    if (why == ENOENT && could_be_made(a, path))
        return RC_OK;
    return refuse(path, "cannot open", why == ENOENT ? errno : why, err);
}

/* A folder that must be there, with these rights (R_OK, W_OK, X_OK). */
static enum rc check_folder(struct arena *a, struct str path, int mode, struct err *err)
{
    struct stat st;

    if (stat(str_z(a, path), &st) != 0 || access(str_z(a, path), mode) != 0)
        return refuse(path, "cannot use the folder", errno, err);
    return S_ISDIR(st.st_mode) ? RC_OK : refuse(path, "cannot use the folder", ENOTDIR, err);
}

/* The folder of the mirror is made, and one in it, but not those above. */
static enum rc check_mirror(struct arena *a, struct str path, struct err *err)
{
    struct str partial = str_printf(a, "%.*s/partial", STR_ARG(path));

    if (path.len == 0 || (access(str_z(a, path), F_OK) != 0 && errno == ENOENT && could_be_made(a, path)))
        return RC_OK;
    if (check_folder(a, path, W_OK | X_OK, err) != RC_OK)
        return RC_INPUT;
    return access(str_z(a, partial), F_OK) == 0 ? check_folder(a, partial, W_OK | X_OK, err) : RC_OK;
}

enum rc options_check_files(const struct options *o, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    if (http_server_judge(o->listen, err) != RC_OK)
        return options_blame(o, "listen", o->listen, err);
    if (check_log(&a, o->access_log, err) != RC_OK)
        return options_blame(o, "access-log", o->access_log, err);
    if (store_judge_database(o->db, err) != RC_OK)
        return options_blame(o, "db", o->db, err);
    if (store_judge_replica(o->db_replica, o->db, err) != RC_OK)
        return options_blame(o, "db-replica", o->db_replica, err);
    if (store_judge_key(o->key_file, err) != RC_OK)
        return options_blame(o, "key-file", o->key_file, err);
    if (store_judge_memcached(o->memcached, err) != RC_OK)
        return options_blame(o, "memcached", o->memcached, err);
    if (check_mirror(&a, o->mirror, err) != RC_OK)
        return options_blame(o, "mirror", o->mirror, err);
    if (o->demo_dir.len > 0 && check_folder(&a, o->demo_dir, R_OK | X_OK, err) != RC_OK)
        return options_blame(o, "demo-dir", o->demo_dir, err);
    return RC_OK;
}
