/* notifier/hook_cache.h - the settings of webhooks as they were read last: reading them as JSON for
 * each delivery takes as long as signing it.
 *
 * Bounded; the settings of a subscription replace those of another one in the same slot. All of it
 * is SECRET. Any thread.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "feed/text/hook_settings.h"

struct hook_cache;

/* Never fails. */
struct hook_cache *hook_cache_new(void);
void hook_cache_free(struct hook_cache **cp);

/* The same as hook_settings_read(), for the stored settings of this subscription. No cache: NULL.
 */
enum rc hook_cache_read(struct hook_cache *c, int64_t sub_id, struct arena *a, struct str json,
                        struct hook_settings *out, struct err *err) NODISCARD;
