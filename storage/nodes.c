/* storage/nodes.c - the thread that beats, and what others ask about it. */
#include "storage/nodes.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "storage/node_calls.h"
#include "storage/schema_version.h"

#define LISTENERS_MAX 4
#define LEAVE_MS 2000           /* wait for the database at the end */
#define CLOCKS_APART_US 2000000 /* that is worth a warning */

struct drain_order {
    struct str name;
    nodes_done_fn *done;
    void *ctx;
    struct drain_order *next;
};

/* What the last beat has shown. */
struct seen {
    struct arena arena;
    struct beat_answer answer;
    int64_t at_ms; /* monotonic */
};

struct nodes {
    const struct node_calls *calls; /* NULL: there is one node */
    char *address;
    struct arena arena; /* texts of the next one */
    struct node_facts facts;
    struct node_link *link; /* the thread's */
    bool clocks_are_apart;  /* the thread's */
    struct listener {
        nodes_change_fn *fn;
        void *ctx;
    } listeners[LISTENERS_MAX];
    size_t n_listeners;
    struct member_told told; /* the thread's */
    pthread_t thread;
    bool is_started;         /* the thread */
    _Atomic bool has_joined; /* before that, nothing is ours, or all if there is one node */
    pthread_mutex_t lock;    /* guards the rest */
    pthread_cond_t wake, ended;
    bool is_stopping, has_ended;
    struct membership m;
    nodes_followed_fn *followed; /* NULL: not known */
    void *followed_ctx;
    unsigned n_running[SLOTS];
    struct seen *seen; /* NULL: nothing yet */
    struct drain_order *orders;
};

struct nodes *nodes_new(const struct node_calls *calls, const char *address)
{
    struct nodes *n = NEW(struct nodes);
    pthread_condattr_t attr;

    n->calls = calls;
    n->address = mem_strdup(address);
    pthread_mutex_init(&n->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&n->wake, &attr);
    pthread_cond_init(&n->ended, &attr);
    pthread_condattr_destroy(&attr);
    membership_init(&n->m, NODE_LEASE_MS);
    return n;
}

/* ---- what the thread does -------------------------------------------------------------------- */

static void say(const struct nodes *n, enum member_news news)
{
    const char *name = log_quote(n->facts.name);

    switch (news) {
    case MEMBER_AS_BEFORE:
        break;
    case MEMBER_GONE:
        log_warn("storage", "lease_lost", "node=%s effect=joins_again", name);
        break;
    case MEMBER_DRAINS:
        log_info("storage", "node_drains", "node=%s", name);
        break;
    case MEMBER_REPLACED:
        log_error("storage", "node_replaced",
                  "node=%s error=\"another node has this name (--node)\" effect=works_on_nothing",
                  name);
        break;
    case MEMBER_WAITS:
        log_warn("storage", "slots_dropped",
                 "node=%s error=\"another server has taken over, and may lack the last moves of "
                 "slots\" effect=waits_for_one_lease",
                 name);
        break;
    case MEMBER_OUTDATED:
        log_error("storage", "node_outdated",
                  "node=%s error=\"a newer Feedmill has changed the schema\" "
                  "effect=works_on_nothing",
                  name);
        break;
    }
}

static void compare_clocks(struct nodes *n, int64_t now_us)
{
    int64_t ahead = clock_now_us() - now_us;
    bool are_apart = ahead > CLOCKS_APART_US || ahead < -CLOCKS_APART_US;

    if (are_apart && !n->clocks_are_apart)
        log_warn("storage", "clock_differs", "ahead_ms=%" PRId64 " of=database", ahead / 1000);
    n->clocks_are_apart = are_apart;
}

static void free_seen(struct seen *seen)
{
    if (seen != NULL)
        arena_release(&seen->arena);
    mem_free(seen);
}

/* The beat was answered. `seen` is given. */
static void take_answer(struct nodes *n, struct seen *seen)
{
    struct seen *old = seen;
    enum member_news news;
    size_t had, has;

    pthread_mutex_lock(&n->lock);
    had = membership_n_slots(&n->m);
    news = membership_told(&n->m, &seen->answer, n->facts.name, SCHEMA_VERSION, clock_steady_ms());
    has = membership_n_slots(&n->m);
    if (news != MEMBER_GONE) {
        old = n->seen;
        n->seen = seen;
        seen->at_ms = clock_steady_ms();
    }
    pthread_mutex_unlock(&n->lock);
    if (news != MEMBER_GONE)
        compare_clocks(n, seen->answer.now_us);
    free_seen(old);
    say(n, news);
    if (had != has)
        log_info("storage", "slots_changed", "slots=%zu before=%zu", has, had);
}

static void take_failure(struct nodes *n, enum rc rc, const struct err *err)
{
    pthread_mutex_lock(&n->lock);
    membership_failed(&n->m);
    pthread_mutex_unlock(&n->lock);
    if (rc != RC_CLOSED)
        log_warn("storage", "beat_failed", "error=%s effect=again", log_quote(str_from(err->text)));
}

static enum rc join(struct nodes *n, struct err *err)
{
    int64_t id, sent_ms;
    enum rc rc;

    pthread_mutex_lock(&n->lock);
    n->facts.is_draining = n->m.is_draining;
    pthread_mutex_unlock(&n->lock);
    rc = n->calls->join(n->link, &n->facts, &id, &sent_ms, err);
    if (rc != RC_OK)
        return rc;
    pthread_mutex_lock(&n->lock);
    membership_joined(&n->m, id, sent_ms);
    pthread_mutex_unlock(&n->lock);
    log_info("storage", "node_joined", "node=%s id=%" PRId64, log_quote(n->facts.name), id);
    return RC_OK;
}

static void beat(struct nodes *n)
{
    struct seen *seen = NEW(struct seen);
    struct err err = ERR_INIT;
    struct beat b;
    enum rc rc;

    pthread_mutex_lock(&n->lock);
    membership_ask(&n->m, clock_steady_ms(), n->n_running, &b);
    if (n->followed != NULL)
        b.notice = n->followed(n->followed_ctx);
    pthread_mutex_unlock(&n->lock);
    if (b.id == 0)
        rc = join(n, &err);
    else
        rc = n->calls->beat(n->link, &b, &seen->arena, &seen->answer, &err);
    if (rc != RC_OK)
        take_failure(n, rc, &err);
    if (rc == RC_OK && b.id != 0)
        take_answer(n, seen);
    else
        free_seen(seen);
}

/* Tell the listeners what has changed. */
static void tell(struct nodes *n)
{
    struct slot_set gained, lost;
    bool has_changed;

    pthread_mutex_lock(&n->lock);
    has_changed = membership_changes(&n->m, &n->told, clock_steady_ms(), &gained, &lost);
    pthread_mutex_unlock(&n->lock);
    for (size_t i = 0; i < n->n_listeners && has_changed; i++)
        n->listeners[i].fn(n->listeners[i].ctx, &gained, &lost);
}

static void end_order(struct drain_order *o, enum rc rc, const struct err *err)
{
    o->done(o->ctx, rc, err);
    mem_free((char *)o->name.ptr);
    mem_free(o);
}

static void carry_out(struct nodes *n, struct drain_order *o)
{
    struct err err = ERR_INIT;
    enum rc rc = n->calls->drain(n->link, o->name, &err);

    end_order(o, rc, &err);
}

static struct drain_order *next_order(struct nodes *n)
{
    struct drain_order *o;

    pthread_mutex_lock(&n->lock);
    o = n->orders;
    if (o != NULL)
        n->orders = o->next;
    pthread_mutex_unlock(&n->lock);
    return o;
}

/* Milliseconds until the lease ends, if somebody is to be told of that. */
static int64_t trust_left_ms(const struct nodes *n, int64_t now_ms)
{
    int64_t left = membership_left_ms(&n->m, now_ms);

    return left > 0 ? left : INT64_MAX;
}

/* Wait until there is something to do. False: we are to end. */
static bool wait_for_turn(struct nodes *n, bool *is_due)
{
    bool goes_on, was_trusted, has_lost;

    pthread_mutex_lock(&n->lock);
    was_trusted = membership_is_trusted(&n->m, clock_steady_ms());
    for (;;) {
        int64_t now_ms = clock_steady_ms(), trust = trust_left_ms(n, now_ms);
        int64_t left = membership_next_ms(&n->m, n->n_running) - now_ms;
        struct timespec until = clock_mono_after_ms(left < 0 ? 0 : left < trust ? left : trust);

        goes_on = !n->is_stopping;
        *is_due = left <= 0;
        has_lost = was_trusted && trust == INT64_MAX;
        if (!goes_on || *is_due || n->orders != NULL || has_lost)
            break;
        pthread_cond_timedwait(&n->wake, &n->lock, &until);
    }
    pthread_mutex_unlock(&n->lock);
    return goes_on;
}

static void leave(struct nodes *n)
{
    struct err err = ERR_INIT;
    enum rc rc = RC_OK;

    if (n->m.id != 0)
        rc = n->calls->leave(n->link, n->m.id, &err);
    if (rc != RC_OK)
        log_warn("storage", "leave_failed", "error=%s effect=slots_wait_for_lease",
                 log_quote(str_from(err.text)));
    pthread_mutex_lock(&n->lock);
    membership_drop(&n->m);
    n->has_ended = true;
    pthread_cond_signal(&n->ended);
    pthread_mutex_unlock(&n->lock);
}

static void *nodes_main(void *arg)
{
    struct nodes *n = arg;
    struct drain_order *o;
    bool is_due;

    thread_set_name("nodes");
    while (wait_for_turn(n, &is_due)) {
        tell(n);    /* a lease that has ended is told before a beat, which may take long */
        if (is_due) /* before an order, which may have to wait */
            beat(n);
        tell(n);
        o = next_order(n);
        if (o != NULL)
            carry_out(n, o);
    }
    leave(n);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

void nodes_listen(struct nodes *n, nodes_change_fn *fn, void *ctx)
{
    ASSERT(!n->is_started && n->n_listeners < LISTENERS_MAX);
    n->listeners[n->n_listeners++] = (struct listener){fn, ctx};
}

void nodes_set_followed(struct nodes *n, nodes_followed_fn *fn, void *ctx)
{
    pthread_mutex_lock(&n->lock);
    n->followed = fn;
    n->followed_ctx = ctx;
    pthread_mutex_unlock(&n->lock);
}

unsigned nodes_slot(struct str authority)
{
    return slot_of(authority);
}

enum rc nodes_join(struct nodes *n, const struct nodes_cfg *cfg, struct err *err)
{
    enum rc rc;

    ASSERT(!n->is_started && cfg->lease_ms > 0);
    n->facts = (struct node_facts){.name = str_dup(&n->arena, cfg->name),
                                   .address = str_dup(&n->arena, cfg->address),
                                   .program = str_dup(&n->arena, cfg->program),
                                   .base_url = str_dup(&n->arena, cfg->base_url),
                                   .archive_size = cfg->archive_size,
                                   .roles = str_dup(&n->arena, cfg->roles),
                                   .lease_ms = cfg->lease_ms};
    membership_init(&n->m, cfg->lease_ms);
    if (n->calls == NULL)
        return RC_OK;
    rc = n->calls->open(n->address, cfg->lease_ms * 2 / 3, &n->link, err);
    if (rc == RC_OK)
        rc = join(n, err);
    if (rc != RC_OK)
        return rc;
    n->has_joined = true;
    beat(n); /* takes the slots that are free */
    tell(n);
    n->is_started = pthread_create(&n->thread, NULL, nodes_main, n) == 0;
    return n->is_started ? RC_OK : err_set(err, RC_IO, "cannot start the thread of the node");
}

static void end_thread(struct nodes *n)
{
    struct timespec until = clock_mono_after_ms(LEAVE_MS);

    pthread_mutex_lock(&n->lock);
    n->is_stopping = true;
    pthread_cond_signal(&n->wake);
    while (!n->has_ended)
        if (pthread_cond_timedwait(&n->ended, &n->lock, &until) != 0)
            break;
    pthread_mutex_unlock(&n->lock);
    n->calls->stop(n->link);
    pthread_join(n->thread, NULL);
}

void nodes_free(struct nodes **np)
{
    struct nodes *n = *np;
    struct drain_order *o;

    if (n == NULL)
        return;
    if (n->is_started)
        end_thread(n);
    while ((o = next_order(n)) != NULL)
        end_order(o, RC_CLOSED, &(struct err)ERR_INIT);
    if (n->link != NULL)
        n->calls->close(&n->link);
    free_seen(n->seen);
    pthread_cond_destroy(&n->wake);
    pthread_cond_destroy(&n->ended);
    pthread_mutex_destroy(&n->lock);
    arena_release(&n->arena);
    mem_free(n->address);
    mem_free(n);
    *np = NULL;
}

/* ---- is this mine? --------------------------------------------------------------------------- */

/* Before this node has joined. The commits of others are told already, and what they ask for is not
 * this node's work yet. */
static bool is_all_ours(const struct nodes *n)
{
    return n->calls == NULL;
}

static bool claim(struct nodes *n, struct str authority, struct node_claim *out, bool begins)
{
    unsigned slot = slot_of(authority);
    const struct member_slot *s;

    if (out != NULL)
        *out = (struct node_claim){.slot = slot};
    if (!n->has_joined)
        return is_all_ours(n);
    pthread_mutex_lock(&n->lock);
    s = membership_slot(&n->m, slot, clock_steady_ms());
    if (s != NULL && out != NULL)
        *out =
            (struct node_claim){slot, s->fence, s->taken_ms + clock_ahead_us() / 1000, s->was_left};
    if (s != NULL && begins)
        n->n_running[slot]++;
    pthread_mutex_unlock(&n->lock);
    return s != NULL;
}

bool nodes_leads_by(struct nodes *n, int64_t *fence)
{
    const struct member_slot *s;

    *fence = 0;
    if (!n->has_joined)
        return is_all_ours(n);
    pthread_mutex_lock(&n->lock);
    s = membership_slot(&n->m, LEADERS_SLOT, clock_steady_ms());
    if (s != NULL)
        *fence = s->fence;
    pthread_mutex_unlock(&n->lock);
    return s != NULL;
}

bool nodes_leads(struct nodes *n)
{
    int64_t fence;

    return nodes_leads_by(n, &fence);
}

bool nodes_owns(struct nodes *n, struct str authority, struct node_claim *out)
{
    return claim(n, authority, out, false);
}

bool nodes_begin(struct nodes *n, struct str authority, struct node_claim *out)
{
    return claim(n, authority, out, true);
}

void nodes_end(struct nodes *n, const struct node_claim *claim)
{
    if (!n->has_joined)
        return;
    pthread_mutex_lock(&n->lock);
    ASSERT(n->n_running[claim->slot] > 0);
    if (--n->n_running[claim->slot] == 0 && n->m.slots[claim->slot].step == SLOT_DRAIN)
        pthread_cond_signal(&n->wake);
    pthread_mutex_unlock(&n->lock);
}

bool nodes_may_go_on(struct nodes *n, const struct node_claim *claim)
{
    bool may;

    if (!n->has_joined)
        return true;
    pthread_mutex_lock(&n->lock);
    may = membership_may_go_on(&n->m, claim->slot, claim->fence, clock_steady_ms());
    pthread_mutex_unlock(&n->lock);
    return may;
}

bool nodes_is_gap(struct nodes *n, int64_t last_ms)
{
    return n->has_joined && membership_is_gap(&n->m, last_ms, clock_mono_ms());
}

/* ---- who is there? --------------------------------------------------------------------------- */

static size_t slots_of(const struct beat_answer *a, int64_t id)
{
    size_t n = 0;

    for (size_t i = 0; i < SLOTS; i++)
        n += a->slots[i].owner == id;
    return n;
}

static struct node_shown shown_of(const struct seen *seen, size_t i, int64_t now_ms,
                                  struct arena *a)
{
    const struct beat_answer *answer = &seen->answer;
    const struct node_row *row = &answer->nodes[i];
    int64_t age_ms = (answer->now_us - row->beat_us) / 1000 + now_ms - seen->at_ms;

    return (struct node_shown){.name = str_dup(a, row->name),
                               .address = str_dup(a, row->address),
                               .program = str_dup(a, row->program),
                               .n_slots = slots_of(answer, row->id),
                               .beat_age_ms = age_ms < 0 ? 0 : age_ms,
                               .behind = answer->last_notice - row->notice,
                               .is_draining = row->is_draining};
}

static struct node_shown ourselves(const struct nodes *n, struct arena *a)
{
    return (struct node_shown){.name = str_dup(a, n->facts.name),
                               .address = str_dup(a, n->facts.address),
                               .program = str_dup(a, n->facts.program),
                               .n_slots = n->has_joined ? 0 : SLOTS};
}

size_t nodes_list(struct nodes *n, struct arena *a, struct node_shown **out)
{
    size_t len = 1;

    pthread_mutex_lock(&n->lock);
    if (n->seen != NULL)
        len = n->seen->answer.n;
    *out = ARENA_ARRAY(a, struct node_shown, len + 1);
    if (n->seen == NULL)
        (*out)[0] = ourselves(n, a);
    for (size_t i = 0; n->seen != NULL && i < len; i++)
        (*out)[i] = shown_of(n->seen, i, clock_steady_ms(), a);
    pthread_mutex_unlock(&n->lock);
    return len;
}

static int64_t behind_of(const struct seen *seen, int64_t id)
{
    for (size_t i = 0; seen != NULL && i < seen->answer.n; i++)
        if (seen->answer.nodes[i].id == id)
            return seen->answer.last_notice - seen->answer.nodes[i].notice;
    return 0;
}

void nodes_status(struct nodes *n, struct nodes_status *out)
{
    int64_t now_ms = clock_steady_ms();

    *out =
        (struct nodes_status){.is_trusted = true, .n_slots = SLOTS, .lease_left_ms = NODE_LEASE_MS};
    if (!n->has_joined)
        return;
    pthread_mutex_lock(&n->lock);
    *out = (struct nodes_status){.is_trusted = membership_is_trusted(&n->m, now_ms),
                                 .n_slots = membership_n_slots(&n->m),
                                 .lease_left_ms = membership_left_ms(&n->m, now_ms),
                                 .beat_age_ms = now_ms - n->m.sent_ms,
                                 .behind = behind_of(n->seen, n->m.id)};
    pthread_mutex_unlock(&n->lock);
}

void nodes_drain(struct nodes *n, struct str name, nodes_done_fn *done, void *ctx)
{
    struct drain_order *o, **last;
    struct err err = ERR_INIT;

    if (!n->has_joined) {
        err_set(&err, RC_NOT_FOUND,
                "The database is a file, so this daemon is the only one, and there is no node to drain.");
        done(ctx, RC_NOT_FOUND, &err);
        return;
    }
    o = NEW(struct drain_order);
    *o = (struct drain_order){str_from(mem_strndup(name.ptr, name.len)), done, ctx, NULL};
    pthread_mutex_lock(&n->lock);
    for (last = &n->orders; *last != NULL; last = &(*last)->next)
        ;
    *last = o;
    pthread_cond_signal(&n->wake);
    pthread_mutex_unlock(&n->lock);
}
