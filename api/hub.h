/* api/hub.h - the requests that wait for a verification (hub.verify=sync). */
#pragma once

#include "storage/store.h"

struct hub_waiters;
struct hub_waiters *hub_waiters_new(void);

/* After the last commit. */
void hub_waiters_free(struct hub_waiters **wp);

/* Tell those whose intent has been settled. The storer's thread. */
void hub_waiters_notice(struct hub_waiters *w, const struct commit_notice *notice);
