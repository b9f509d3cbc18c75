/* notifier/sink.c - the table of push protocols. */
#include "notifier/sink.h"

static const struct sink *const sinks[] = {&sink_xmlrpc, &sink_websub};

const struct sink *sink_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (str_eqz(name, sinks[i]->name))
            return sinks[i];
    return NULL;
}
