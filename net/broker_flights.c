/* net/broker_flights.c - see broker_flights.h. */
#include "net/broker_flights.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define CONTENT_TOO_LARGE 311
#define NO_ROUTE 312
#define PRECONDITION_FAILED 406 /* in answer to a message: it is too large (RabbitMQ) */

enum { OPEN, TAKEN, FAILED };

void broker_flights_init(struct broker_flights *f, broker_back_fn *back, void *ctx)
{
    *f = (struct broker_flights){.head_tag = 1, .back = back, .ctx = ctx};
}

void broker_flights_release(struct broker_flights *f)
{
    mem_free(f->items);
    f->items = NULL;
    f->n = f->cap = f->head = 0;
}

void broker_flights_add(struct broker_flights *f, struct broker_batch *batch, size_t i)
{
    if (f->head > 0 && f->head >= f->n) { /* so that the array does not grow for ever */
        memmove(f->items, f->items + f->head, f->n * sizeof *f->items);
        f->head = 0;
    }
    f->items = mem_grow(f->items, &f->cap, f->head + f->n + 1, sizeof *f->items);
    f->items[f->head + f->n++] = (struct broker_flight){.batch = batch, .i = i};
}

void broker_flights_return(struct broker_flights *f, struct str id, int64_t subscription)
{
    for (size_t k = f->head; k < f->head + f->n; k++) {
        struct broker_flight *one = &f->items[k];
        const struct broker_message *m;

        if (one->batch == NULL || one->is_returned)
            continue;
        m = &one->batch->messages[one->i];
        if (m->subscription == subscription && str_eq(m->id, id)) {
            one->is_returned = true;
            return;
        }
    }
}

bool broker_batch_settle(struct broker_batch *b, size_t i, bool taken, int code, const char *why)
{
    size_t n = atomic_load(&b->n_taken);

    if (b->states[i] != OPEN)
        return false;
    b->states[i] = taken ? TAKEN : FAILED;
    if (!taken && i < b->first_failed) {
        b->first_failed = i;
        b->code = code;
        snprintf(b->err, sizeof b->err, "%s", why);
    }
    while (n < b->n && b->states[n] == TAKEN)
        n++;
    atomic_store(&b->n_taken, n);
    ASSERT(b->n_open > 0);
    return --b->n_open == 0;
}

static void settle_one(struct broker_flights *f, struct broker_flight *one, bool taken)
{
    struct broker_batch *b = one->batch;
    char why[sizeof b->err] = "";
    int code = 0;

    if (b == NULL)
        return;
    one->batch = NULL;
    if (one->is_returned) {
        taken = false;
        code = NO_ROUTE;
        snprintf(why, sizeof why,
                 "the broker returned a message, because no queue gets the routing key \"%.*s\" "
                 "from this exchange",
                 STR_ARG(b->messages[one->i].key));
    } else if (!taken) {
        snprintf(why, sizeof why, "the broker refused to take a message (basic.nack)");
    }
    if (broker_batch_settle(b, one->i, taken, code, why))
        f->back(f->ctx, b);
}

/* Forget what is settled at the front. */
static void advance(struct broker_flights *f)
{
    while (f->n > 0 && f->items[f->head].batch == NULL) {
        f->head++;
        f->n--;
        f->head_tag++;
    }
    if (f->n == 0)
        f->head = 0;
}

void broker_flights_settle(struct broker_flights *f, uint64_t tag, bool multiple, bool taken)
{
    if (multiple && tag == 0)
        tag = f->head_tag + f->n - 1;
    if (tag < f->head_tag || tag - f->head_tag >= f->n)
        return;
    for (uint64_t t = multiple ? f->head_tag : tag; t <= tag; t++)
        settle_one(f, &f->items[f->head + (size_t)(t - f->head_tag)], taken);
    advance(f);
}

/* Returns the batch of the largest message; NULL: none is open. */
static struct broker_batch *largest(const struct broker_flights *f)
{
    struct broker_batch *found = NULL;
    size_t most = 0;

    for (size_t k = f->head; k < f->head + f->n; k++) {
        struct broker_batch *b = f->items[k].batch;

        if (b != NULL && (found == NULL || b->messages[f->items[k].i].body.len > most)) {
            found = b;
            most = b->messages[f->items[k].i].body.len;
        }
    }
    return found;
}

void broker_flights_fail(struct broker_flights *f, int code, const char *why)
{
    struct broker_batch *guilty = NULL;

    if (code == PRECONDITION_FAILED || code == CONTENT_TOO_LARGE)
        guilty = largest(f);
    if (guilty != NULL)
        guilty->is_too_large = true;
    for (size_t k = f->head; k < f->head + f->n; k++) {
        struct broker_batch *b = f->items[k].batch;

        f->items[k].batch = NULL;
        if (b != NULL && broker_batch_settle(b, f->items[k].i, false, code, why))
            f->back(f->ctx, b);
    }
    advance(f);
}
