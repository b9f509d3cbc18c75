/* api/resources.h - the handlers of the route table (api.c), one file a resource.
 *
 * A handler is called on the call's loop with the parameters read; it replies, or holds the call.
 */
#pragma once

#include "api/call.h"

void feed_get(struct call *c); /* feed.c */
void feeds_get(struct call *c);
void opml_get(struct call *c); /* opml.c */
void sub_get(struct call *c);  /* sub_list.c */
void sub_post(struct call *c); /* sub.c */
void sub_delete(struct call *c);
void hub_post(struct call *c); /* hub.c */
void rpc_post(struct call *c); /* rpc.c */
void ping_any(struct call *c);
void websub_get(struct call *c);
void websub_post(struct call *c); /* ping.c */
void changes_get(struct call *c); /* changes.c */
void log_get(struct call *c);     /* log.c */
void simple_get(struct call *c);  /* archive.c */
void archive_get(struct call *c);
void history_get(struct call *c);
void pmh_get(struct call *c);
void item_get(struct call *c);    /* item.c */
void smart_get(struct call *c);   /* smart.c */
void demo_get(struct call *c);    /* demo.c */
void metrics_get(struct call *c); /* metrics.c */
void healthz_get(struct call *c);
