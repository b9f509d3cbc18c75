/* net/host_turns.c - the queues of hosts. A host is in the map while calls to it run or wait. */
#include "net/host_turns.h"

#include "base/arena.h"
#include "base/mem.h"
#include "net/url.h"

struct turn_host {
    struct arena arena; /* of the name */
    struct str name;
    int n_calls;
    bool is_silent; /* the last call got no answer */
    TAILQ_HEAD(, host_turn) waiting;
};

static struct turn_host *host_of(struct host_turns *t, struct str url)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str name = url_authority(&a, url);
    struct turn_host *host = map_get(&t->hosts, name);

    if (host != NULL)
        return host;
    host = NEW(struct turn_host);
    host->name = str_dup(&host->arena, name);
    TAILQ_INIT(&host->waiting);
    map_put(&t->hosts, host->name, host);
    return host;
}

static void host_free(void *p)
{
    struct turn_host *host = p;

    arena_release(&host->arena);
    mem_free(host);
}

static void drop_unused(struct host_turns *t, struct turn_host *host)
{
    if (host->n_calls > 0 || !TAILQ_EMPTY(&host->waiting))
        return;
    map_del(&t->hosts, host->name);
    host_free(host);
}

void host_turns_release(struct host_turns *t)
{
    map_release(&t->hosts, host_free);
}

void host_turns_wait(struct host_turns *t, struct host_turn *turn, struct str url)
{
    if (turn->host != NULL)
        return;
    turn->host = host_of(t, url);
    TAILQ_INSERT_TAIL(&turn->host->waiting, turn, waiting);
}

void host_turns_leave(struct host_turns *t, struct host_turn *turn)
{
    struct turn_host *host = turn->host;

    if (host == NULL)
        return;
    TAILQ_REMOVE(&host->waiting, turn, waiting);
    turn->host = NULL;
    drop_unused(t, host);
}

struct host_turn *host_turns_next(struct host_turns *t)
{
    void *it = NULL, *value;
    struct str key;

    while (t->n_calls < t->max && map_next(&t->hosts, &it, &key, &value)) {
        struct turn_host *host = value;
        struct host_turn *turn = TAILQ_FIRST(&host->waiting);

        if (turn == NULL || host->n_calls >= (host->is_silent ? 1 : t->max_host))
            continue;
        TAILQ_REMOVE(&host->waiting, turn, waiting);
        turn->host = NULL;
        host->n_calls++;
        t->n_calls++;
        return turn;
    }
    return NULL;
}

void host_turns_done(struct host_turns *t, struct str url, bool answered)
{
    struct turn_host *host = host_of(t, url);

    t->n_calls--;
    host->n_calls--;
    host->is_silent = !answered;
    drop_unused(t, host);
}
