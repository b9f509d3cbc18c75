/* tests/unit/storage/gate.h - several operations in one transaction. The test gives wait_at_gate()
 * to store_listen(). */
#pragma once

#include "fixture.h"

#include <stdatomic.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool at_gate;

static inline void wait_at_gate(void *ctx UNUSED, const struct commit_notice *notice UNUSED)
{
    atomic_store(&at_gate, true);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

/* Let the storer wait after a commit. What is pushed until open_gate() is one transaction. */
static inline void close_gate(struct fixture *f, struct answer *a)
{
    struct feed_ref ref = {.url = STR("http://gate.example/")};
    struct feed_brief b;

    for (int i = 1; store_find_feed(f->store, ref.url, STR_NULL, &b);
         i++) /* only a new one is told */
        ref.url = str_printf(&f->arena, "http://gate%d.example/", i);
    atomic_store(&at_gate, false);
    pthread_mutex_lock(&gate);
    *a = answer_init(1);
    assert_int_equal(RC_OK, store_add_feed(f->store, &ref, on_answer, a));
    while (!atomic_load(&at_gate))
        usleep(1000);
}

static inline void open_gate(struct answer *a)
{
    pthread_mutex_unlock(&gate);
    answer_wait(a);
}
