/* notifier/sink.c - see sink.h. */
#include "notifier/sink.h"

#include "base/compiler.h"

static const struct sink *const sinks[] = {
#define SINK(id, name, offered, events) &sink_##id,
#include "model/sinks.def"
#undef SINK
};

static const char *const names[] = {
#define SINK(id, name, offered, events) name,
#include "model/sinks.def"
#undef SINK
};

const struct sink *sink_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (str_eqz(name, names[i]))
            return sinks[i];
    return NULL;
}
