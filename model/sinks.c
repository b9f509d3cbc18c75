/* model/sinks.c - the table of names. */
#include "model/sinks.h"

#include "base/compiler.h"
#include "model/feed.h"

static const struct {
    const char *name;
    bool offered;
    unsigned events;
} sinks[] = {
#define SINK(id, name, offered, events) {name, offered, events},
#include "model/sinks.def"
#undef SINK
};

bool sinks_is_offered(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (str_eqz(name, sinks[i].name))
            return sinks[i].offered;
    return false;
}

unsigned sinks_events(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (str_eqz(name, sinks[i].name))
            return sinks[i].events;
    return 0;
}

struct str sinks_default(void)
{
    size_t i = 0;

    while (!sinks[i].offered)
        i++;
    return str_from(sinks[i].name);
}

const char *sinks_offered(struct arena *a)
{
    const char *all = "";

    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (sinks[i].offered)
            all = arena_printf(a, "%s%s%s", all, *all == '\0' ? "" : "|", sinks[i].name);
    return all;
}
