/* api/hub/hub.h - requests that wait for their verification (hub.verify=sync). */
#pragma once

#include "storage/store.h"

struct hub_waiters;
struct hub_waiters *hub_waiters_new(void);

/* Free it. Call it after the last commit. */
void hub_waiters_free(struct hub_waiters **wp);

/* Answer the waiting requests whose intents have been settled. Runs on the storer's thread. */
void hub_waiters_notice(struct hub_waiters *w, const struct commit_notice *notice);
