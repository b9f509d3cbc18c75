/* storage/judge.c - see judge.h. */
#include "storage/judge.h"

#include <sys/stat.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/seal.h"
#include "storage/engine.h"
#include "storage/memcached.h"

static enum rc judge(const struct engine *engine, struct str address, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;

    return engine->judge(str_z(&a, address), err);
}

enum rc store_judge_database(struct str address, struct err *err)
{
    const struct engine *engine;

    if (address.len == 0)
        return err_set(err, RC_INPUT, "it is empty; write the path of a file, or postgresql://...");
    if (engine_of(address, &engine, err) != RC_OK) {
        if (err != NULL)
            err->rc = RC_INPUT;
        return RC_INPUT;
    }
    return judge(engine, address, err);
}

enum rc store_judge_replica(struct str address, struct str database, struct err *err)
{
    const struct engine *engine;

    if (address.len == 0 || engine_of(database, &engine, NULL) != RC_OK)
        return RC_OK; /* what is wrong with the database is said by store_judge_database() */
    if (engine->use_replica == NULL)
        return err_set(err, RC_INPUT,
                       "a database of %s (--db) has no copies for reading; leave it out, or give the "
                       "PostgreSQL database as --db",
                       engine->name);
    return judge(engine, address, err);
}

enum rc store_judge_key(struct str path, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct seal_key key;
    struct stat st;

    /* what comes out of a pipe can be read once, and is read where it is used */
    if (path.len > 0 && stat(str_z(&a, path), &st) == 0 &&
        (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
        return RC_OK;
    if (path.len == 0 || seal_key_load(str_z(&a, path), &key, err) == RC_OK)
        return RC_OK;
    if (err != NULL)
        err->rc = RC_INPUT;
    return RC_INPUT;
}

enum rc store_judge_memcached(struct str server, struct err *err)
{
    AUTO(mem_autofree) char *host = NULL;
    int port;

    return server.len == 0 ? RC_OK : far_address(server, &host, &port, err);
}
