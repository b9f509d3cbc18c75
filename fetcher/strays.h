/* fetcher/strays.h - forgets what never was a feed. A reader may name any URL, and each becomes a
 * record; those that led to no feed within STRAY_S, and that nobody has subscribed, are deleted.
 * Each node looks at those whose hosts are its own. On the fetch loop. */
#pragma once

#include "fetcher/fetcher_priv.h"

#define STRAY_S 3600

/* Begin to look for them, and end that. */
void strays_start(struct fetcher *f);
void strays_stop(struct fetcher *f);
