/* model/sinks.h - the names of the sinks (model/sinks.def), and which URLs their endpoints have
 * (model/carriers.def). Pure; any thread. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

#define HOOK_SINK "webhook" /* the sink that has secrets and header fields of its own */

/* Is this the name of a sink that a request may ask for? */
bool sinks_is_offered(struct str name);

/* What a sink can tell, as bits of enum sub_event; 0: there is no such sink. */
unsigned sinks_events(struct str name);

/* Most entries in a delivery of this sink, if the subscription does not say; 0: as configured. */
int sinks_batch(struct str name);

/* The sink of a request that names none, by the scheme of its endpoint. Null: no sink has endpoints
 * with this scheme. Without an endpoint (null) it is the one of an HTTP endpoint. */
struct str sinks_default(struct str scheme);

/* Has the sink endpoints with this scheme? */
bool sinks_has_scheme(struct str name, struct str scheme);

/* The schemes of the sink's endpoints, as "http: or https:". Empty: there is no such sink. Arena.
 */
const char *sinks_schemes(struct arena *a, struct str name);

/* All names that a request may ask for, with '|' between them. Arena. */
const char *sinks_offered(struct arena *a);

/* All schemes and the names that go with each, for an error text: "http: or https: (xmlrpc,
 * webhook)". Arena. */
const char *sinks_by_scheme(struct arena *a);
