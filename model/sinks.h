/* model/sinks.h - the names of the sinks (model/sinks.def). Pure; any thread. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

#define HOOK_SINK "webhook" /* the sink that has secrets and header fields of its own */

/* Is this the name of a sink that a request may ask for? */
bool sinks_is_offered(struct str name);

/* What a sink can tell, as bits of enum sub_event; 0: there is no such sink. */
unsigned sinks_events(struct str name);

/* The sink of a request that names none. */
struct str sinks_default(void);

/* All names that a request may ask for, with '|' between them. Arena. */
const char *sinks_offered(struct arena *a);
