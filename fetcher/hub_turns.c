/* fetcher/hub_turns.c - hosts while calls to them are in flight or wait. */
#include "fetcher/hub_turns.h"

#include "base/arena.h"
#include "base/mem.h"
#include "net/url.h"

struct hub_host {
    struct arena arena; /* of the name */
    struct str name;
    int n_calls;
    bool is_silent; /* the last call got no answer */
    TAILQ_HEAD(, hub_turn) waiting;
};

static struct hub_host *host_of(struct hub_turns *t, struct str hub)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str name = url_authority(&a, hub);
    struct hub_host *host = map_get(&t->hosts, name);

    if (host != NULL)
        return host;
    host = NEW(struct hub_host);
    host->name = str_dup(&host->arena, name);
    TAILQ_INIT(&host->waiting);
    map_put(&t->hosts, host->name, host);
    return host;
}

static void host_free(void *p)
{
    struct hub_host *host = p;

    arena_release(&host->arena);
    mem_free(host);
}

static void drop_unused(struct hub_turns *t, struct hub_host *host)
{
    if (host->n_calls > 0 || !TAILQ_EMPTY(&host->waiting))
        return;
    map_del(&t->hosts, host->name);
    host_free(host);
}

void hub_turns_release(struct hub_turns *t)
{
    map_release(&t->hosts, host_free);
}

void hub_turns_wait(struct hub_turns *t, struct hub_turn *turn, struct str hub)
{
    if (turn->host != NULL)
        return;
    turn->host = host_of(t, hub);
    TAILQ_INSERT_TAIL(&turn->host->waiting, turn, waiting);
}

void hub_turns_leave(struct hub_turns *t, struct hub_turn *turn)
{
    struct hub_host *host = turn->host;

    if (host == NULL)
        return;
    TAILQ_REMOVE(&host->waiting, turn, waiting);
    turn->host = NULL;
    drop_unused(t, host);
}

struct hub_turn *hub_turns_next(struct hub_turns *t)
{
    void *it = NULL, *value;
    struct str key;

    while (t->n_calls < HUB_CALLS_MAX && map_next(&t->hosts, &it, &key, &value)) {
        struct hub_host *host = value;
        struct hub_turn *turn = TAILQ_FIRST(&host->waiting);

        if (turn == NULL || host->n_calls >= (host->is_silent ? 1 : HUB_CALLS_HOST))
            continue;
        TAILQ_REMOVE(&host->waiting, turn, waiting);
        turn->host = NULL;
        host->n_calls++;
        t->n_calls++;
        return turn;
    }
    return NULL;
}

void hub_turns_done(struct hub_turns *t, struct str hub, bool answered)
{
    struct hub_host *host = host_of(t, hub);

    t->n_calls--;
    host->n_calls--;
    host->is_silent = !answered;
    drop_unused(t, host);
}
