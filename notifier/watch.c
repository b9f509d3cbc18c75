/* notifier/watch.c - see watch.h. */
#include "notifier/watch.h"

void watch_start(struct watch *w, int64_t mono_ms)
{
    w->looked_ms = mono_ms;
}

int64_t watch_now(const struct watch *w, int64_t mono_ms)
{
    int64_t pause_ms = mono_ms - w->looked_ms;

    if (pause_ms > WATCH_STALL_MS)
        mono_ms = w->looked_ms + WATCH_LOOK_MS;
    return mono_ms - w->stood_ms;
}

int64_t watch_look(struct watch *w, int64_t mono_ms)
{
    int64_t now_ms = watch_now(w, mono_ms);

    w->looked_ms = mono_ms;
    w->stood_ms = mono_ms - now_ms;
    return now_ms;
}
