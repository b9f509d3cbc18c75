/* server/part_options.c - one function for each part, all made from options.def.
 *
 * A column of options.def says where the value of an option goes:
 *
 *   FETCHER(timeout_ms)   to the member `timeout_ms` of struct fetcher_cfg
 *   FETCHER_LIST(x)       to its members `x` and `n_x`
 *   LEVELS(i)             to the period of level i in every part that has levels
 *   HERE                  to server/ itself
 *
 * In each function, the macros of its own part assign, and those of the other parts are empty. */
#include "server/part_options.h"

#include "api/api.h"
#include "fetcher/fetcher.h"
#include "mirror/mirror.h"
#include "net/http_server.h"
#include "notifier/announcer.h"
#include "notifier/notifier.h"
#include "storage/store.h"

/* Values are int64_t, and members may be narrower. options_load() has checked that they fit. */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"

#define OPT(name, type, def, min, max, flags, to, metavar, help)                                   \
    {                                                                                              \
        const __typeof__(o->name) *value = &o->name;                                               \
        (void)value;                                                                               \
        to                                                                                         \
    }
#define PUT(member) cfg->member = *value;
#define PUT_LIST(member)                                                                           \
    cfg->member = value->items;                                                                    \
    cfg->n_##member = value->n;
#define PUT_LEVEL(level) cfg->levels.period_s[level] = *value;

#define HERE
#define ANNOUNCER(member)
#define ANNOUNCER_LIST(member)
#define API(member)
#define API_LIST(member)
#define FETCHER(member)
#define FETCHER_LIST(member)
#define HTTP(member)
#define MIRROR(member)
#define NOTIFIER(member)
#define STORE(member)
#define LEVELS(level)

#undef ANNOUNCER
#undef ANNOUNCER_LIST
#define ANNOUNCER PUT
#define ANNOUNCER_LIST PUT_LIST
void options_for_announcer(const struct options *o, struct announcer_cfg *cfg)
{
#include "server/options.def"
}
#undef ANNOUNCER
#undef ANNOUNCER_LIST
#define ANNOUNCER(member)
#define ANNOUNCER_LIST(member)

#undef API
#undef API_LIST
#undef LEVELS
#define API PUT
#define API_LIST PUT_LIST
#define LEVELS PUT_LEVEL
void options_for_api(const struct options *o, struct api_cfg *cfg)
{
#include "server/options.def"
}
#undef API
#undef API_LIST
#undef LEVELS
#define API(member)
#define API_LIST(member)
#define LEVELS(level)

#undef MIRROR
#define MIRROR PUT
void options_for_mirror(const struct options *o, struct mirror_cfg *cfg)
{
#include "server/options.def"
}
#undef MIRROR
#define MIRROR(member)

#undef FETCHER
#undef FETCHER_LIST
#undef LEVELS
#define FETCHER PUT
#define FETCHER_LIST PUT_LIST
#define LEVELS PUT_LEVEL
void options_for_fetcher(const struct options *o, struct fetcher_cfg *cfg)
{
#include "server/options.def"
}
#undef FETCHER
#undef FETCHER_LIST
#undef LEVELS
#define FETCHER(member)
#define FETCHER_LIST(member)
#define LEVELS(level)

#undef HTTP
#define HTTP PUT
void options_for_http(const struct options *o, struct http_server_cfg *cfg)
{
#include "server/options.def"
}
#undef HTTP
#define HTTP(member)

#undef NOTIFIER
#define NOTIFIER PUT
void options_for_notifier(const struct options *o, struct notifier_cfg *cfg)
{
#include "server/options.def"
}
#undef NOTIFIER
#define NOTIFIER(member)

#undef STORE
#undef LEVELS
#define STORE PUT
#define LEVELS PUT_LEVEL
void options_for_store(const struct options *o, struct store_cfg *cfg)
{
#include "server/options.def"
}
#undef STORE
#undef LEVELS
#define STORE(member)
#define LEVELS(level)
