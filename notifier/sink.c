/* notifier/sink.c - see sink.h. */
#include "notifier/sink.h"

#include "base/assert.h"
#include "base/compiler.h"

static const struct {
    const char *name;
    const struct sink *sink;
    enum carrier_id carrier;
} rows[] = {
#define SINK(id, name, carrier, offered, events, batch) {name, &sink_##id, CARRIER_##carrier},
#include "model/sinks.def"
#undef SINK
};

const struct sink *sink_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_eqz(name, rows[i].name))
            return rows[i].sink;
    return NULL;
}

enum carrier_id sink_carrier(const struct sink *sink)
{
    size_t i = 0;

    while (i + 1 < ARRAY_LEN(rows) && rows[i].sink != sink)
        i++;
    ASSERT(rows[i].sink == sink);
    return rows[i].carrier;
}
