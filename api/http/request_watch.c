/* api/http/request_watch.c - see request_watch.h. */
#include "api/http/request_watch.h"

#include <stdatomic.h>

#include "api/http/access_log.h"
#include "api/http/context.h"
#include "api/http/routes.h"
#include "base/histogram.h"
#include "base/line_file.h"

/* ---- the times of requests, by route and class ----------------------------------------------- */

static const char *const classes[] = {"gone", "1xx", "2xx", "3xx", "4xx", "5xx"};
#define N_CLASSES ARRAY_LEN(classes)

/* A label is 0 without a route, else 1 and the number of the route, plus this if it has waited.
 * Series are made when they are first needed; those of two rows with the same path are the same. */
#define WAITED (1 + ROUTES_)
static _Atomic(struct histogram_series *) series[2 * WAITED][N_CLASSES];

static struct histogram_series *make_series(unsigned label, unsigned class)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const char *path = label % WAITED == 0 ? "none" : route_at(label % WAITED - 1)->path;

    if (label >= WAITED)
        path = arena_printf(&a, "%s waiting", path);
    return histogram_series(HISTOGRAM_http_request_seconds, path, classes[class]);
}

static struct histogram_series *series_of(unsigned label, unsigned class)
{
    struct histogram_series *s = atomic_load_explicit(&series[label][class], memory_order_acquire);

    if (s == NULL) {
        s = make_series(label, class);
        atomic_store_explicit(&series[label][class], s, memory_order_release);
    }
    return s;
}

/* ---- the watch ------------------------------------------------------------------------------- */

static void on_answered(void *ctx, struct http_request *r, struct http_exchange *x)
{
    const struct api *a = ctx;
    const struct request *req = r == NULL ? NULL : http_request_own(r);

    x->label = req == NULL || req->route == NULL ? 0 : 1 + (unsigned)route_number(req->route);
    if (req != NULL && req->has_waited)
        x->label += WAITED;
    if (line_file_is_open(a->access_log))
        x->note = access_log_begin(r, x);
}

static void on_ended(void *ctx, struct http_exchange *x)
{
    const struct api *a = ctx;
    unsigned class = (unsigned)x->status / 100;

    histogram_add(series_of(x->label, class), x->is_stream ? x->answered_us : x->total_us);
    if (x->note != NULL)
        access_log_end(a->access_log, x);
}

struct http_watch request_watch(struct api *a)
{
    return (struct http_watch){.answered = on_answered, .ended = on_ended, .ctx = a};
}
