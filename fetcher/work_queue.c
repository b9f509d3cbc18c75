/* fetcher/work_queue.c - see work_queue.h.
 *
 * Slots are found by feed id. Each host has a list of waiting slots per class. Each class has a
 * ring of the hosts that may start a slot of this class now. A heap has the hosts that must wait
 * for a time.
 *
 * A host is in the ring of the best class that may start. It is in the heap when it waits only for
 * its gap or its cooling. It is in neither when it is at its limit or when no slot waits for it.
 * Only place_host() decides this; it is called after every change. */
#include "fetcher/work_queue.h"

#include "base/assert.h"
#include "base/mem.h"

#define PRUNE_EVERY_MS 60000
/* A fetch stays in flight until what it brought is stored. The storer takes many at once, so without this the network
 * would stand still while documents are read and stored. */
#define IN_FLIGHT_PER_PLACE 2

TAILQ_HEAD(host_list, host);

struct work_queue {
    struct work_queue_cfg cfg;
    struct map slots; /* by feed id */
    struct hosts hosts;
    struct host_list rings[WORK_CLASSES];
    struct time_heap host_times; /* struct host */
    struct time_heap slot_times; /* struct slot: SLOT_DELAYED and SLOT_IDLE */
    TAILQ_HEAD(, slot) queued;   /* oldest first */
    size_t n_queued, n_running;
    size_t n_between; /* how many of n_running are SLOT_BETWEEN */
    size_t n_asking;  /* how many of n_running have a place */
    int64_t prune_at_ms;
    bool holds; /* sweeps and contents, until it is known which hosts rest */
    bool probes;
    int64_t probe_at_ms; /* probes: when the next one may start */
    bool wants_known;    /* probes: the last one was not of WORK_KNOWN */
    size_t n_sweeps;     /* how many of n_running started as a sweep or a content */
};

static struct str id_key(const int64_t *feed_id)
{
    return str_of((const char *)feed_id, sizeof *feed_id);
}

static enum work_class class_of(unsigned reasons)
{
    if ((reasons & REASON_BIT(REASON_READER)) != 0)
        return WORK_READER;
    if ((reasons & (REASON_BIT(REASON_PING) | REASON_BIT(REASON_HAND))) != 0)
        return WORK_PING;
    return reasons == REASON_BIT(REASON_CONTENT) ? WORK_CONTENT : WORK_SWEEP;
}

struct work_queue *work_queue_new(const struct work_queue_cfg *cfg)
{
    struct work_queue *q = NEW(struct work_queue);

    q->cfg = *cfg;
    hosts_init(&q->hosts, cfg->max_per_host, cfg->host_gap_ms, cfg->content_gap_ms);
    for (int i = 0; i < WORK_CLASSES; i++)
        TAILQ_INIT(&q->rings[i]);
    TAILQ_INIT(&q->queued);
    return q;
}

static void leave_ring(struct work_queue *q, struct host *h)
{
    if (h->ring >= 0)
        TAILQ_REMOVE(&q->rings[h->ring], h, ring_link);
    h->ring = -1;
}

static void place_host(struct work_queue *q, struct host *h, int64_t now_ms)
{
    int64_t at = INT64_MAX;
    int cls, ring = -1;

    for (cls = 0; cls < WORK_CLASSES && TAILQ_EMPTY(&h->waiting[cls]); cls++)
        ;
    if (cls < WORK_CLASSES)
        at = host_ready_ms(&q->hosts, h, (enum work_class)cls, now_ms);
    if (at == now_ms)
        ring = cls;
    if (ring != h->ring) { /* a host that stays in its ring keeps its turn */
        leave_ring(q, h);
        if (ring >= 0)
            TAILQ_INSERT_TAIL(&q->rings[ring], h, ring_link);
        h->ring = ring;
    }
    if (ring < 0 && at != INT64_MAX)
        time_heap_put(&q->host_times, &h->timer, at);
    else
        time_heap_remove(&q->host_times, &h->timer);
}

void work_queue_set(struct work_queue *q, const struct work_queue_cfg *cfg)
{
    struct work_queue_cfg old = q->cfg;

    q->cfg = *cfg;
    q->cfg.find_host = old.find_host;
    q->cfg.ctx = old.ctx;
    q->cfg.user_free = old.user_free;
    q->hosts.max_per_host = cfg->max_per_host;
    q->hosts.gap_ms = cfg->host_gap_ms;
    q->hosts.content_gap_ms = cfg->content_gap_ms;
}

/* Take a slot out of the list that it is in. The caller must put it into another list. */
static void unlist(struct work_queue *q, struct slot *s, int64_t now_ms)
{
    switch (s->state) {
    case SLOT_WAITING:
    case SLOT_BETWEEN:
        TAILQ_REMOVE(&s->host->waiting[s->cls], s, link);
        place_host(q, s->host, now_ms);
        break;
    case SLOT_IDLE:
    case SLOT_DELAYED:
        time_heap_remove(&q->slot_times, &s->timer);
        break;
    case SLOT_RUNNING:
        break;
    }
    s->link.tqe_prev = NULL;
}

static void slot_free(struct work_queue *q, struct slot *s)
{
    map_del(&q->slots, id_key(&s->feed_id));
    if (s->on_host)
        host_end(s->host, s->request_ms);
    hosts_drop(&s->host);
    mem_free(s->content_host);
    if (s->user != NULL)
        q->cfg.user_free(s->user);
    mem_free(s);
}

void work_queue_free(struct work_queue **qp)
{
    struct work_queue *q = *qp;
    struct slot *s;
    void *it = NULL;

    if (q == NULL)
        return;
    while ((s = work_queue_next(q, &it)) != NULL)
        slot_free(q, s);
    map_release(&q->slots, NULL);
    hosts_release(&q->hosts);
    time_heap_release(&q->host_times);
    time_heap_release(&q->slot_times);
    mem_free(q);
    *qp = NULL;
}

struct slot *work_queue_find(struct work_queue *q, int64_t feed_id)
{
    return map_get(&q->slots, id_key(&feed_id));
}

static void set_host(struct work_queue *q, struct slot *s, struct str authority)
{
    struct host *host = hosts_hold(&q->hosts, authority);

    hosts_drop(&s->host);
    s->host = host;
}

static void find_host(struct work_queue *q, struct slot *s)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    bool is_content = class_of(s->reasons) == WORK_CONTENT && s->content_host != NULL;
    struct feed_host found = {.insists = false};

    if (is_content)
        found.authority = str_from(s->content_host);
    else
        found = q->cfg.find_host(q->cfg.ctx, s->feed_id, &a);
    set_host(q, s, found.authority);
    s->is_new = found.is_new;
    s->is_well = found.is_well;
    s->insists = found.insists;
}

/* Is it wanted by hand or by a ping, and not by a reader, too? Many feeds may be, and anybody may ping, so it waits for a
 * host that rests, before the sweeps. */
static bool waits_for_rest(const struct slot *s)
{
    return class_of(s->reasons) == WORK_PING;
}

/* Put a slot that is in no list into its host's list. */
static void list_slot(struct work_queue *q, struct slot *s, int64_t now_ms)
{
    if (s->host == NULL)
        find_host(q, s);
    s->cls = class_of(s->reasons);
    if (waits_for_rest(s) && (q->holds || host_is_resting(s->host, now_ms)))
        s->cls = WORK_FIRST;
    else if (s->cls == WORK_SWEEP && s->insists && !q->probes && !host_is_resting(s->host, now_ms))
        s->cls = WORK_PING;
    else if (s->cls == WORK_SWEEP && q->probes && (s->is_new || s->is_well))
        s->cls = s->is_new ? WORK_FIRST : WORK_KNOWN;
    s->state = SLOT_WAITING;
    TAILQ_INSERT_TAIL(&s->host->waiting[s->cls], s, link);
    place_host(q, s->host, now_ms);
}

static void count_out(struct work_queue *q, struct slot *s)
{
    TAILQ_REMOVE(&q->queued, s, queued_link);
    q->n_queued--;
}

/* Queue a slot that is in no list. Pings wait until ping_gap_ms after the feed's last start. */
static void enqueue(struct work_queue *q, struct slot *s, int64_t now_ms)
{
    q->n_queued++;
    s->queued_ms = now_ms;
    TAILQ_INSERT_TAIL(&q->queued, s, queued_link);
    if (class_of(s->reasons) == WORK_PING && s->started_ms != INT64_MIN &&
        s->started_ms + q->cfg.ping_gap_ms > now_ms) {
        s->state = SLOT_DELAYED;
        time_heap_put(&q->slot_times, &s->timer, s->started_ms + q->cfg.ping_gap_ms);
    } else {
        list_slot(q, s, now_ms);
    }
}

/* Return the slot of a feed; it is made if it does not exist. */
static struct slot *slot_of(struct work_queue *q, int64_t feed_id)
{
    struct slot *s = work_queue_find(q, feed_id);

    if (s != NULL)
        return s;
    s = NEW(struct slot);
    s->feed_id = feed_id;
    s->started_ms = INT64_MIN;
    map_put(&q->slots, id_key(&feed_id), s);
    return s;
}

struct slot *work_queue_want(struct work_queue *q, int64_t feed_id, enum fetch_reason reason,
                             int64_t now_ms)
{
    struct slot *s = slot_of(q, feed_id);
    enum work_class cls = class_of(REASON_BIT(reason));

    switch (s->state) {
    case SLOT_RUNNING:
    case SLOT_BETWEEN:
        /* The fetch in flight also serves a reader and a sweep, unless it fetches the content of a
         * metadata record. It does not serve a ping or one by hand, because it may have started
         * before the news was there; and it does not fetch contents. */
        if (cls == WORK_PING || reason == REASON_CONTENT ||
            s->reasons == REASON_BIT(REASON_CONTENT))
            s->again |= REASON_BIT(reason);
        break;
    case SLOT_IDLE:
        unlist(q, s, now_ms);
        s->reasons = REASON_BIT(reason);
        enqueue(q, s, now_ms);
        break;
    case SLOT_DELAYED:
        s->reasons |= REASON_BIT(reason);
        if (cls == WORK_READER) {
            unlist(q, s, now_ms);
            list_slot(q, s, now_ms);
        }
        break;
    case SLOT_WAITING:
        s->reasons |= REASON_BIT(reason);
        if (cls < s->cls) {
            unlist(q, s, now_ms);
            list_slot(q, s, now_ms);
        }
        break;
    }
    return s;
}

struct slot *work_queue_want_content(struct work_queue *q, int64_t feed_id, struct str authority,
                                     int64_t now_ms)
{
    struct slot *s = slot_of(q, feed_id);

    mem_free(s->content_host);
    s->content_host = mem_strndup(authority.ptr, authority.len);
    return work_queue_want(q, feed_id, REASON_CONTENT, now_ms);
}

void work_queue_drop(struct work_queue *q, struct slot *s, int64_t now_ms)
{
    ASSERT(s->state != SLOT_RUNNING && s->state != SLOT_BETWEEN);
    if (s->state != SLOT_IDLE)
        count_out(q, s);
    unlist(q, s, now_ms);
    slot_free(q, s);
}

void work_queue_tick(struct work_queue *q, int64_t now_ms)
{
    struct time_node *node;

    while ((node = time_heap_first(&q->slot_times)) != NULL && node->at <= now_ms) {
        struct slot *s = CONTAINER_OF(node, struct slot, timer);

        time_heap_remove(&q->slot_times, node);
        if (s->state == SLOT_IDLE)
            slot_free(q, s);
        else
            list_slot(q, s, now_ms);
    }
    while ((node = time_heap_first(&q->host_times)) != NULL && node->at <= now_ms)
        place_host(q, CONTAINER_OF(node, struct host, timer), now_ms);
    if (now_ms >= q->prune_at_ms) {
        hosts_prune(&q->hosts, now_ms);
        q->prune_at_ms = now_ms + PRUNE_EVERY_MS;
    }
}

static bool may_ask(const struct work_queue *q)
{
    return q->n_asking < (size_t)q->cfg.max_asking;
}

static bool has_place(const struct work_queue *q)
{
    return may_ask(q) && q->n_running < (size_t)q->cfg.max_asking * IN_FLIGHT_PER_PLACE;
}

/* Returns the first slot of a class that may start. A slot that is in flight already has its place.
 */
static struct slot *first_startable(struct work_queue *q, int cls)
{
    struct host *h = TAILQ_FIRST(&q->rings[cls]);

    if (has_place(q))
        return h == NULL ? NULL : TAILQ_FIRST(&h->waiting[cls]);
    if (!may_ask(q))
        return NULL;
    if ((cls != WORK_READER && cls != WORK_CONTENT) || q->n_between == 0) /* those of slots that go on */
        return NULL;
    for (; h != NULL; h = TAILQ_NEXT(h, ring_link)) {
        struct slot *s = TAILQ_FIRST(&h->waiting[cls]); /* slots that go on are before the others */

        if (s->state == SLOT_BETWEEN)
            return s;
    }
    return NULL;
}

/* Is a probe under way? One that waits for its next host is not: it must be able to go on. */
static bool has_probe(const struct work_queue *q)
{
    return q->n_sweeps > q->n_between;
}

/* When the next probe may start, if it is of this class. */
static int64_t probe_at_ms(const struct work_queue *q, int cls)
{
    bool is_soon = cls == WORK_FIRST || (cls == WORK_KNOWN && q->wants_known);

    return is_soon ? q->probe_at_ms - PROBE_GAP_MS + NEW_PROBE_GAP_MS : q->probe_at_ms;
}

/* May a slot of this class start now? */
static bool is_open(const struct work_queue *q, int cls, int64_t now_ms)
{
    if (cls < WORK_KNOWN)
        return true;
    if (cls == WORK_KNOWN && q->probes && !q->wants_known && !TAILQ_EMPTY(&q->rings[WORK_SWEEP]))
        return false; /* it is the turn of the others */
    return !q->holds && (!q->probes || (!has_probe(q) && now_ms >= probe_at_ms(q, cls)));
}

static bool is_sweep(const struct slot *s)
{
    return class_of(s->reasons) >= WORK_SWEEP;
}

struct slot *work_queue_take(struct work_queue *q, int64_t now_ms)
{
    struct slot *s = NULL;

    work_queue_tick(q, now_ms);
    for (int cls = 0; cls < WORK_CLASSES && s == NULL; cls++)
        if (is_open(q, cls, now_ms))
            s = first_startable(q, cls);
    if (s == NULL)
        return NULL;
    TAILQ_REMOVE(&s->host->waiting[s->cls], s, link);
    s->link.tqe_prev = NULL;
    if (s->state == SLOT_WAITING) {
        count_out(q, s);
        q->n_running++;
        q->n_sweeps += is_sweep(s);
        if (is_sweep(s))
            q->wants_known = s->cls != WORK_KNOWN;
        s->started_ms = now_ms;
        s->again = 0;
    } else {
        q->n_between--;
    }
    s->state = SLOT_RUNNING;
    s->on_host = true;
    s->has_place = true;
    q->n_asking++;
    s->request_ms = now_ms;
    host_start(&q->hosts, s->host, s->cls, now_ms);
    leave_ring(q, s->host); /* it goes to the end of the ring, so hosts take turns */
    place_host(q, s->host, now_ms);
    return s;
}

/* The time of the next probe. INT64_MAX: no time will start one. */
static int64_t next_probe_ms(const struct work_queue *q)
{
    int64_t at = INT64_MAX;

    if (!q->probes || q->holds || !has_place(q) || has_probe(q))
        return at;
    for (int cls = WORK_KNOWN; cls < WORK_CLASSES; cls++)
        if (!TAILQ_EMPTY(&q->rings[cls]) && probe_at_ms(q, cls) < at)
            at = probe_at_ms(q, cls);
    return at;
}

int64_t work_queue_wait_ms(struct work_queue *q, int64_t now_ms)
{
    struct time_node *slot = time_heap_first(&q->slot_times);
    struct time_node *host = time_heap_first(&q->host_times);
    int64_t at = INT64_MAX;

    if (slot != NULL)
        at = slot->at;
    if (host != NULL && host->at < at)
        at = host->at;
    if (next_probe_ms(q) < at)
        at = next_probe_ms(q);
    if (at == INT64_MAX)
        return -1;
    return at > now_ms ? at - now_ms : 0;
}

void work_queue_leave_host(struct work_queue *q, struct slot *s, int64_t now_ms)
{
    if (!s->on_host)
        return;
    s->on_host = false;
    host_end(s->host, s->request_ms);
    place_host(q, s->host, now_ms);
}

void work_queue_give_place(struct work_queue *q, struct slot *s)
{
    q->n_asking -= s->has_place;
    s->has_place = false;
}

void work_queue_go_on(struct work_queue *q, struct slot *s, struct str authority, int64_t now_ms)
{
    ASSERT(s->state == SLOT_RUNNING);
    work_queue_leave_host(q, s, now_ms);
    work_queue_give_place(q, s);
    set_host(q, s, authority);
    s->state = SLOT_BETWEEN;
    q->n_between++;
    s->cls = s->reasons == REASON_BIT(REASON_CONTENT) ? WORK_CONTENT : WORK_READER;
    TAILQ_INSERT_HEAD(&s->host->waiting[s->cls], s, link);
    place_host(q, s->host, now_ms);
}

void work_queue_end(struct work_queue *q, struct slot *s, int64_t now_ms)
{
    ASSERT(s->state == SLOT_RUNNING || s->state == SLOT_BETWEEN);
    if (s->state == SLOT_BETWEEN) {
        unlist(q, s, now_ms);
        q->n_between--;
    }
    work_queue_leave_host(q, s, now_ms);
    work_queue_give_place(q, s);
    hosts_drop(&s->host); /* the feed may have another host next time */
    q->n_running--;
    q->n_sweeps -= is_sweep(s);
    if (q->probes && q->n_sweeps == 0 && is_sweep(s))
        q->probe_at_ms = now_ms + PROBE_GAP_MS;
    s->state = SLOT_IDLE;
    s->reasons = s->again;
    s->again = 0;
    if (s->reasons != 0)
        enqueue(q, s, now_ms);
    else
        time_heap_put(&q->slot_times, &s->timer, now_ms + q->cfg.remember_ms);
}

/* The host rests now: what insists waits like others from now on, and so do pings and fetches by hand. */
static void calm(struct work_queue *q, struct host *h, int64_t now_ms)
{
    struct slot *s = TAILQ_FIRST(&h->waiting[WORK_PING]), *next;

    for (; s != NULL; s = next) {
        next = TAILQ_NEXT(s, link);
        TAILQ_REMOVE(&h->waiting[WORK_PING], s, link);
        s->cls = waits_for_rest(s) ? WORK_FIRST : WORK_SWEEP;
        TAILQ_INSERT_TAIL(&h->waiting[s->cls], s, link);
    }
    place_host(q, h, now_ms);
}

bool work_queue_cool(struct work_queue *q, struct str authority, int64_t wait_ms, int64_t now_ms,
                     struct host_rest *out)
{
    struct host *h = hosts_hold(&q->hosts, authority);
    bool is_news = host_cool(h, wait_ms, now_ms);

    if (is_news) {
        calm(q, h, now_ms);
        *out = (struct host_rest){.host = authority,
                                  .cool_ms = h->cool_until_ms - now_ms,
                                  .gentle_ms = h->gentle_until_ms - now_ms};
    }
    hosts_drop(&h);
    return is_news;
}

int64_t work_queue_rest_ms(const struct work_queue *q, struct str authority, int64_t now_ms)
{
    const struct host *h = map_get(&q->hosts.table, authority);

    return h != NULL && h->cool_until_ms > now_ms ? h->cool_until_ms - now_ms : 0;
}

void work_queue_rest(struct work_queue *q, const struct host_rest *rest, int64_t now_ms)
{
    struct host *h = hosts_hold(&q->hosts, rest->host);

    host_rest(h, rest, now_ms);
    if (host_is_resting(h, now_ms)) /* it is told of for a day after that was over, too */
        calm(q, h, now_ms);
    hosts_drop(&h);
}

void work_queue_hold(struct work_queue *q, bool holds)
{
    q->holds = holds;
}

void work_queue_probe(struct work_queue *q, bool probes, int64_t now_ms)
{
    struct slot *s;

    q->probes = q->wants_known = probes;
    q->probe_at_ms = now_ms + PROBE_GAP_MS;
    TAILQ_FOREACH (s, &q->queued, queued_link) { /* the classes of sweeps depend on it */
        if (s->state != SLOT_WAITING || class_of(s->reasons) != WORK_SWEEP)
            continue;
        unlist(q, s, now_ms);
        list_slot(q, s, now_ms);
    }
}

struct slot *work_queue_next(struct work_queue *q, void **it)
{
    struct str key;
    void *value;

    return map_next(&q->slots, it, &key, &value) ? value : NULL;
}

size_t work_queue_queued(const struct work_queue *q)
{
    return q->n_queued;
}

int64_t work_queue_oldest_ms(const struct work_queue *q)
{
    const struct slot *s = TAILQ_FIRST(&q->queued);

    return s == NULL ? 0 : s->queued_ms;
}

size_t work_queue_at_work(const struct work_queue *q)
{
    return q->n_running - q->n_between;
}

bool work_queue_is_saturated(const struct work_queue *q)
{
    int cls = 0;

    while (cls < WORK_CLASSES && TAILQ_EMPTY(&q->rings[cls]))
        cls++;
    return cls < WORK_CLASSES && !q->holds && (!q->probes || cls < WORK_KNOWN);
}
