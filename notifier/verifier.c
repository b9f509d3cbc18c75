/* notifier/verifier.c - see verifier.h. */
#include "notifier/verifier.h"

#include <inttypes.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stats.h"
#include "net/url.h"
#include "notifier/intent.h"
#include "notifier/lanes.h"
#include "notifier/watch.h"

#define AT_ONCE_HOST 8    /* turns at one host: 6 calls, 1 of them slow */
#define LOAD_MAX 256      /* intents read at once */
#define KNOWN_MAX 10000   /* intents in memory; more than one dead host can have */
#define TROUBLE_MS 1000   /* pause when there is no room, or the database fails */
#define LOOK_AGAIN_MS 500 /* pause after a look that took more than one read */
#define SWEEP_MAX_S 3600  /* longest time between checks of the leases */
#define CONNECT_MS 10000
#define CHALLENGE_BYTES 24
#define ANSWER_MAX 4096

/* The intents of one callback and topic, in the order in which they came. The first one is being
 * verified, and the others wait for it. */
struct verify;
struct pair {
    TAILQ_HEAD(, verify) list;
    struct lane lane;
    char *callback;
};

struct verify {
    struct verifier *v;
    struct arena arena;
    struct hub_intent intent;
    struct str pair_key; /* callback and topic */
    struct pair *pair;
    uint64_t call; /* the client's number of the call */
    bool is_cut;   /* the call was cancelled to make room for others, or may not go on here */
    bool is_busy;  /* it is being called, or settled */
    struct permit permit;
    char challenge[2 * CHALLENGE_BYTES + 1];
    int n_tries;
    struct intent_verdict verdict; /* of the last try, as the next two */
    enum rc call_rc;
    int status; /* 0: no answer */
    enum rc rc; /* the storer's answer */
    struct loop_timer *timer;
    TAILQ_ENTRY(verify) next, of_pair;
};
TAILQ_HEAD(verify_list, verify);

struct load {
    struct verifier *v;
    struct arena arena;
    struct hub_intent *found;
    size_t n;
    enum rc rc;
    struct err err;
};

struct sweep {
    struct verifier *v;
    enum rc rc;
    int64_t due_at;
};

struct verifier {
    struct loop *loop;
    struct http_client *client;
    const struct notifier_cfg *cfg;
    const struct owned *owned;
    struct verify_list all;
    struct map known; /* the same, by id */
    size_t n;
    struct map pairs; /* struct pair */
    struct lanes lanes;
    struct watch watch; /* by which calls are late */
    int64_t last_id;    /* all intents up to this id have been read */
    bool loading, more;
    bool is_looking, looks_again; /* with several nodes: a look is under way; another one follows */
    bool is_long;                 /* ... it has taken more than one read */
    int64_t *ended; /* intents that were settled since the read under way began: it may have them */
    size_t n_ended, cap_ended;
    bool sweeping, sweep_more;
    bool stopped;
    struct loop_timer *load_timer, *sweep_timer, *look_timer;
};

static void load_more(struct verifier *v);
static void sweep(struct verifier *v);
static void run(struct verifier *v);

/* ---- one verification ------------------------------------------------------------------------ */

static void verify_free(struct verify *f)
{
    if (f->timer != NULL)
        loop_timer_cancel(&f->timer);
    arena_release(&f->arena);
    mem_free(f);
}

static struct str key_of(const int64_t *id)
{
    return str_of((const char *)id, sizeof *id);
}

/* Add it after the others of its callback and topic. */
static void enter(struct verifier *v, struct verify *f)
{
    f->pair = map_get(&v->pairs, f->pair_key);
    if (f->pair == NULL) {
        f->pair = NEW(struct pair);
        TAILQ_INIT(&f->pair->list);
        map_put(&v->pairs, f->pair_key, f->pair);
        f->pair->callback = mem_strndup(f->intent.callback.ptr, f->intent.callback.len);
        lanes_join(&v->lanes, &f->pair->lane, str_from(f->pair->callback), false);
        lanes_wait(&v->lanes, &f->pair->lane, true);
    }
    TAILQ_INSERT_TAIL(&f->pair->list, f, of_pair);
    TAILQ_INSERT_TAIL(&v->all, f, next);
    map_put(&v->known, key_of(&f->intent.id), f);
    v->n++;
}

static void forget(struct verify *f)
{
    struct verifier *v = f->v;
    struct pair *pair = f->pair;
    bool was_first = TAILQ_FIRST(&pair->list) == f;

    if (!v->stopped)
        permit_end(v->owned, &f->permit);
    if (v->loading) {
        v->ended = mem_grow(v->ended, &v->cap_ended, v->n_ended + 1, sizeof *v->ended);
        v->ended[v->n_ended++] = f->intent.id;
    }
    map_del(&v->known, key_of(&f->intent.id));
    TAILQ_REMOVE(&pair->list, f, of_pair);
    if (was_first)
        lanes_wait(&v->lanes, &pair->lane, !TAILQ_EMPTY(&pair->list));
    if (TAILQ_EMPTY(&pair->list)) {
        lanes_leave(&v->lanes, &pair->lane);
        map_del(&v->pairs, f->pair_key);
        mem_free(pair->callback);
        mem_free(pair);
    }
    TAILQ_REMOVE(&v->all, f, next);
    v->n--;
    verify_free(f);
}

/* The storer has answered. Runs on the loop. */
static void on_settled(void *ctx)
{
    struct verify *f = ctx;
    struct verifier *v = f->v;

    if (f->rc != RC_OK && f->rc != RC_NOT_FOUND && f->rc != RC_CLOSED)
        log_warn("notifier", "hub_unsettled", "intent=%" PRId64 " rc=%s", f->intent.id,
                 rc_name(f->rc));
    forget(f);
    if (v->stopped)
        return;
    load_more(v);
    run(v);
}

static void on_storer_settled(void *ctx, enum rc rc, const struct store_result *res UNUSED,
                              const struct err *err UNUSED)
{
    struct verify *f = ctx;

    f->rc = rc;
    loop_post(f->v->loop, on_settled, f);
}

static void settle(struct verify *f);

static void on_settle_again(void *ctx)
{
    struct verify *f = ctx;

    f->timer = NULL;
    settle(f);
}

static void settle(struct verify *f)
{
    struct hub_settled settled = {.intent_id = f->intent.id,
                                  .confirmed = f->verdict.confirmed,
                                  .unreached = f->verdict.unreached,
                                  .rc = f->call_rc,
                                  .status = f->status};
    enum rc rc;

    rc = store_hub_settle(f->v->cfg->store, settled, on_storer_settled, f);
    if (rc == RC_OK)
        return;
    if (rc != RC_CLOSED) /* otherwise the callback is asked again after the next start */
        f->timer = loop_timer_start(f->v->loop, TROUBLE_MS, on_settle_again, f);
}

static void on_try_again(void *ctx)
{
    struct verify *f = ctx;

    f->timer = NULL;
    lanes_wait(&f->v->lanes, &f->pair->lane, true);
    run(f->v);
}

static void tell(struct verify *f, enum rc rc, int status, const struct err *err)
{
    struct str callback = url_public(&f->arena, f->intent.callback);
    struct str why = rc == RC_OK ? STR("") : str_from(err->text);

    /* this line is the only trace of it: the subscriber got 202, and is not called */
    if (rc == RC_DENIED)
        log_info("notifier", "hub_closed",
                 "callback=%s error=%s hint=\"--allow-callback CIDR opens it\"", log_quote(callback),
                 log_quote(why));
    log_debug("notifier", "hub_verify", "mode=%s callback=%s status=%d confirmed=%d error=%s",
              intent_mode_name(f->intent.mode), log_quote(callback), status,
              (int)f->verdict.confirmed, log_quote(why));
}

static void on_answer(void *ctx, enum rc rc, struct http_answer *answer, const struct err *err)
{
    struct verify *f = ctx;
    struct verifier *v = f->v;
    struct arena *arena = answer == NULL ? NULL : answer->arena;
    int status = answer == NULL ? 0 : answer->status;
    bool is_cut = f->is_cut && rc == RC_CLOSED;
    int64_t pause_ms;

    lanes_done(&v->lanes, &f->pair->lane,
               is_cut        ? LANES_CUT
               : rc == RC_OK ? LANES_ANSWERED
                             : LANES_FAILED,
               watch_now(&v->watch, clock_mono_ms()));
    f->verdict = intent_judge(&f->intent, rc, status, answer == NULL ? STR_NULL : answer->body,
                              str_from(f->challenge));
    f->call_rc = rc;
    f->status = status;
    tell(f, rc, status, err);
    arena_free(&arena);
    if (v->stopped)
        return; /* the intent stays in the database and is tried again after the next start */
    pause_ms = is_cut ? 0 : intent_pause_ms(&f->intent, f->verdict, ++f->n_tries);
    if (pause_ms >= 0) {
        f->is_busy = false;
        permit_end(v->owned, &f->permit);
    }
    if (is_cut) { /* it is called again with more time */
        lanes_wait(&v->lanes, &f->pair->lane, true);
        run(v);
        return;
    }
    if (pause_ms >= 0) {
        f->timer = loop_timer_start(v->loop, pause_ms, on_try_again, f);
    } else {
        stats_inc(f->verdict.confirmed           ? STAT_hub_confirmed_total
                  : f->intent.mode == HUB_DENIED ? STAT_hub_denied_total
                                                 : STAT_hub_refused_total);
        settle(f);
    }
    run(v);
}

static void call(struct verify *f)
{
    struct intent_call asked;
    struct http_field field;
    unsigned char random[CHALLENGE_BYTES];
    int64_t timeout_ms = f->v->cfg->timeout_ms;
    struct http_call call = {.credential = f->intent.credential,
                             .user_agent = str_from(f->v->cfg->user_agent),
                             .max_redirects = 0,
                             .max_body = ANSWER_MAX,
                             .max_header = LIMIT_FETCH_HEADER,
                             .timeout_ms = timeout_ms,
                             .connect_timeout_ms =
                                 timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS};

    /* each try has its own challenge, so that no answer can be used twice */
    digest_random(random, sizeof random);
    digest_hex(random, sizeof random, f->challenge);
    asked = intent_call(&f->arena, &f->intent, str_from(f->challenge));
    field = (struct http_field){STR("Content-Type"), asked.media_type};
    call.method = asked.method;
    if (f->intent.protocol != HUB_WEBSUB) /* an answer that nobody reads may be long */
        call.max_body = LIMIT_PUSH_ANSWER;
    call.url = asked.url;
    call.body = asked.body;
    call.fields = &field;
    call.n_fields = str_is_null(asked.body) ? 0 : 1;
    f->is_cut = false;
    f->is_busy = true;
    f->call = http_client_start(f->v->client, &call, on_answer, f);
}

/* Returns the verification of this lane that is under way. */
static struct verify *first_of(struct lane *lane)
{
    return TAILQ_FIRST(&CONTAINER_OF(lane, struct pair, lane)->list);
}

/* Cut off the calls that may not go on here. */
static void cut_lost(struct verifier *v)
{
    bool is_gap = owned_is_gap(v->owned, v->watch.looked_ms);
    struct lane *lane;

    TAILQ_FOREACH (lane, &v->lanes.busy, next) {
        struct verify *f = first_of(lane);

        if (f->is_cut || (!is_gap && permit_is_good(v->owned, &f->permit)))
            continue;
        f->is_cut = true;
        http_client_cancel(v->client, f->call);
    }
}

/* Cut calls that take too long, so that others get a turn. */
static void on_look(void *ctx)
{
    struct verifier *v = ctx;
    struct lane *lane;
    int64_t now_ms;

    v->look_timer = NULL;
    cut_lost(v);
    now_ms = watch_look(&v->watch, clock_mono_ms());
    while ((lane = lanes_look(&v->lanes, now_ms)) != NULL) {
        first_of(lane)->is_cut = true;
        http_client_cancel(v->client, first_of(lane)->call);
    }
    run(v);
}

static void run(struct verifier *v)
{
    struct lane *lane;
    struct verify *f;
    int64_t wait_ms;

    if (v->look_timer == NULL)
        watch_start(&v->watch, clock_mono_ms());
    while ((lane = lanes_next(&v->lanes)) != NULL) {
        f = first_of(lane);
        if (!permit_get(v->owned, f->intent.callback, &f->permit, &wait_ms)) {
            lanes_done(&v->lanes, lane, LANES_UNCALLED, watch_now(&v->watch, clock_mono_ms()));
            f->timer = loop_timer_start(v->loop, wait_ms, on_try_again, f);
            continue;
        }
        call(f);
        lanes_called(lane, watch_now(&v->watch, clock_mono_ms()));
    }
    if (v->look_timer == NULL && v->lanes.count.busy > 0)
        v->look_timer = loop_timer_start(v->loop, WATCH_LOOK_MS, on_look, v);
}

/* ---- intents --------------------------------------------------------------------------------- */

static struct verify *verify_new(struct verifier *v, const struct hub_intent *in)
{
    struct verify *f = NEW(struct verify);

    f->v = v;
    f->intent = *in;
    f->intent.topic = str_dup(&f->arena, in->topic);
    f->intent.callback = str_dup(&f->arena, in->callback);
    f->intent.credential =
        str_is_null(in->credential) ? STR_NULL : str_dup(&f->arena, in->credential);
    f->intent.verify_token =
        str_is_null(in->verify_token) ? STR_NULL : str_dup(&f->arena, in->verify_token);
    f->intent.procedure = str_is_null(in->procedure) ? STR_NULL : str_dup(&f->arena, in->procedure);
    f->intent.reason = str_is_null(in->reason) ? STR("") : str_dup(&f->arena, in->reason);
    f->intent.secret = STR_NULL; /* only the storer needs it */
    f->intent.feeds = NULL;
    f->pair_key = str_printf(&f->arena, "%.*s\n%.*s", STR_ARG(in->callback), STR_ARG(in->topic));
    return f;
}

static void on_load_again(void *ctx)
{
    struct verifier *v = ctx;

    v->load_timer = NULL;
    load_more(v);
}

/* Is this intent to be verified, and here? */
static bool is_wanted(const struct verifier *v, const struct hub_intent *in)
{
    for (size_t i = 0; i < v->n_ended; i++)
        if (v->ended[i] == in->id)
            return false;
    return map_get(&v->known, key_of(&in->id)) == NULL &&
           owned_has(v->owned, owned_slot(v->owned, in->callback));
}

/* With several nodes: look at all intents, from the first one on. */
static void look(struct verifier *v)
{
    v->looks_again = v->is_looking;
    if (v->is_looking)
        return;
    v->is_looking = true;
    v->is_long = false;
    v->last_id = 0;
}

/* The last intent was seen. */
static void look_ends(struct verifier *v)
{
    v->is_looking = false;
    if (!v->looks_again)
        return;
    if (v->is_long && v->load_timer == NULL)
        v->load_timer = loop_timer_start(v->loop, LOOK_AGAIN_MS, on_load_again, v);
    v->more = true;
    look(v);
}

static void on_loaded(void *ctx)
{
    struct load *l = ctx;
    struct verifier *v = l->v;

    v->loading = false;
    for (size_t i = 0; i < l->n && !v->stopped && l->rc == RC_OK; i++) {
        v->last_id = l->found[i].id;
        if (is_wanted(v, &l->found[i]))
            enter(v, verify_new(v, &l->found[i]));
    }
    v->n_ended = 0;
    if (l->rc == RC_OK && l->n == LOAD_MAX)
        v->more = v->is_long = true; /* there may be more intents */
    else if (l->rc == RC_OK && v->is_looking && !v->stopped)
        look_ends(v);
    if (l->rc != RC_OK && !v->stopped) {
        log_warn("notifier", "hub_unread", "error=%s effect=again",
                 log_quote(str_from(l->err.text)));
        v->more = true;
        if (v->load_timer == NULL)
            v->load_timer = loop_timer_start(v->loop, TROUBLE_MS, on_load_again, v);
    } else if (!v->stopped) {
        load_more(v);
        run(v);
    }
    arena_release(&l->arena);
    mem_free(l);
}

/* On a reader thread. */
static void load(void *ctx, struct reader *r)
{
    struct load *l = ctx;

    l->rc = reader_hub_intents(r, l->v->last_id, LOAD_MAX, &l->arena, &l->found, &l->n, &l->err);
    loop_post(l->v->loop, on_loaded, l);
}

static void load_more(struct verifier *v)
{
    struct load *l;

    if (!v->more || v->loading || v->n + LOAD_MAX > KNOWN_MAX || v->load_timer != NULL)
        return;
    l = NEW(struct load);
    l->v = v;
    v->loading = true;
    v->more = false;
    if (store_read(v->cfg->store, load, l) == RC_OK)
        return;
    mem_free(l);
    v->loading = false;
    v->more = true;
    v->load_timer = loop_timer_start(v->loop, TROUBLE_MS, on_load_again, v);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static void on_sweep_timer(void *ctx)
{
    struct verifier *v = ctx;

    v->sweep_timer = NULL;
    sweep(v);
}

static void on_swept(void *ctx)
{
    struct sweep *s = ctx;
    struct verifier *v = s->v;
    int64_t wait_s = SWEEP_MAX_S;

    v->sweeping = false;
    if (s->rc != RC_OK)
        wait_s = 1;
    else if (s->due_at != TIME_UNKNOWN && s->due_at - clock_now_s() < wait_s)
        wait_s = s->due_at - clock_now_s();
    if (!v->stopped && v->sweep_more)
        sweep(v);
    else if (!v->stopped)
        v->sweep_timer =
            loop_timer_start(v->loop, wait_s > 0 ? wait_s * 1000 : 20, on_sweep_timer, v);
    mem_free(s);
}

static void on_storer_swept(void *ctx, enum rc rc, const struct store_result *res,
                            const struct err *err UNUSED)
{
    struct sweep *s = ctx;

    s->rc = rc;
    s->due_at = rc == RC_OK ? res->id : TIME_UNKNOWN;
    loop_post(s->v->loop, on_swept, s);
}

static void sweep(struct verifier *v)
{
    struct sweep *s;

    if (v->sweep_timer != NULL)
        loop_timer_cancel(&v->sweep_timer);
    v->sweep_timer = NULL;
    v->sweep_more = v->sweeping;
    if (v->sweeping || !owned_has(v->owned, SWEEPER_SLOT))
        return;
    s = NEW(struct sweep);
    s->v = v;
    v->sweeping = true;
    if (store_hub_sweep(v->cfg->store, on_storer_swept, s) == RC_OK)
        return;
    mem_free(s);
    v->sweeping = false;
    v->sweep_timer = loop_timer_start(v->loop, TROUBLE_MS, on_sweep_timer, v);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

struct verifier *verifier_new(struct loop *loop, struct http_client *client,
                              const struct notifier_cfg *cfg, const struct owned *owned)
{
    struct verifier *v = NEW(struct verifier);

    v->loop = loop;
    v->client = client;
    v->cfg = cfg;
    v->owned = owned;
    v->known = (struct map)MAP_INIT;
    lanes_init(&v->lanes, VERIFIER_CALLS_MAX);
    v->lanes.max_host = AT_ONCE_HOST;
    TAILQ_INIT(&v->all);
    return v;
}

void verifier_wake(struct verifier *v)
{
    if (v->stopped)
        return;
    v->more = true;
    if (v->owned->is_shared)
        look(v);
    load_more(v);
    sweep(v);
}

void verifier_lost(struct verifier *v, const struct slot_set *lost)
{
    struct verify *f = TAILQ_FIRST(&v->all), *next;

    for (; f != NULL; f = next) {
        next = TAILQ_NEXT(f, next);
        if (!f->is_busy && slot_set_has(lost, owned_slot(v->owned, f->intent.callback)))
            forget(f);
    }
}

void verifier_stop(struct verifier *v)
{
    struct verify *f;

    v->stopped = true;
    TAILQ_FOREACH (f, &v->all, next)
        if (f->timer != NULL)
            loop_timer_cancel(&f->timer);
    if (v->load_timer != NULL)
        loop_timer_cancel(&v->load_timer);
    if (v->sweep_timer != NULL)
        loop_timer_cancel(&v->sweep_timer);
    if (v->look_timer != NULL)
        loop_timer_cancel(&v->look_timer);
}

void verifier_free(struct verifier **vp)
{
    struct verifier *v = *vp;
    struct verify *f;

    *vp = NULL;
    if (v == NULL)
        return;
    while ((f = TAILQ_FIRST(&v->all)) != NULL)
        forget(f);
    map_release(&v->pairs, NULL);
    map_release(&v->known, NULL);
    mem_free(v->ended);
    lanes_release(&v->lanes);
    mem_free(v);
}
