/* base/assert.c - the message and the abort of a failed ASSERT, and names of threads. */
#include "base/assert.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char name_[16] = "main";

void thread_set_name(const char *name)
{
    snprintf(name_, sizeof name_, "%s", name);
    pthread_setname_np(pthread_self(), name_);
}

void assert_failed(const char *cond, const char *file, int line, const char *func)
{
    fprintf(stderr, "feedmill: %s:%d: %s: thread %s: impossible: %s\n", file, line, func, name_,
            cond);
    fflush(stderr);
    abort();
}
