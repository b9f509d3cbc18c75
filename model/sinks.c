/* model/sinks.c - the tables of names and schemes. */
#include "model/sinks.h"

#include "base/compiler.h"
#include "model/feed.h"

enum carrier {
#define CARRIER(id, schemes, read) CARRIER_##id,
#include "model/carriers.def"
#undef CARRIER
    CARRIERS_
};

static const char *const schemes[] = {
#define CARRIER(id, schemes, read) schemes,
#include "model/carriers.def"
#undef CARRIER
};

static const struct row {
    const char *name;
    enum carrier carrier;
    bool offered;
    unsigned events;
    int batch;
} sinks[] = {
#define SINK(id, name, carrier, offered, events, batch)                                            \
    {name, CARRIER_##carrier, offered, events, batch},
#include "model/sinks.def"
#undef SINK
};

static const struct row *find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (str_eqz(name, sinks[i].name))
            return &sinks[i];
    return NULL;
}

static bool carrier_has_scheme(enum carrier carrier, struct str scheme)
{
    struct str rest = str_from(schemes[carrier]);

    while (!str_is_null(rest))
        if (str_eq(str_split(&rest, ' '), scheme))
            return true;
    return false;
}

bool sinks_is_offered(struct str name)
{
    const struct row *row = find(name);

    return row != NULL && row->offered;
}

unsigned sinks_events(struct str name)
{
    const struct row *row = find(name);

    return row == NULL ? 0 : row->events;
}

int sinks_batch(struct str name)
{
    const struct row *row = find(name);

    return row == NULL ? 0 : row->batch;
}

struct str sinks_default(struct str scheme)
{
    if (str_is_null(scheme))
        scheme = STR("http");
    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (sinks[i].offered && carrier_has_scheme(sinks[i].carrier, scheme))
            return str_from(sinks[i].name);
    return STR_NULL;
}

bool sinks_has_scheme(struct str name, struct str scheme)
{
    const struct row *row = find(name);

    return row != NULL && carrier_has_scheme(row->carrier, scheme);
}

static const char *schemes_of(struct arena *a, enum carrier carrier)
{
    struct str rest = str_from(schemes[carrier]), one;
    const char *all = "";

    while (!str_is_null(rest)) {
        one = str_split(&rest, ' ');
        all = arena_printf(a, "%s%s%.*s:", all, *all == '\0' ? "" : " or ", STR_ARG(one));
    }
    return all;
}

const char *sinks_schemes(struct arena *a, struct str name)
{
    const struct row *row = find(name);

    return row == NULL ? "" : schemes_of(a, row->carrier);
}

/* The names that are offered, of one carrier or of all of them (CARRIERS_). */
static const char *names_of(struct arena *a, enum carrier carrier, const char *between)
{
    const char *all = "";

    for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
        if (sinks[i].offered && (carrier == CARRIERS_ || sinks[i].carrier == carrier))
            all = arena_printf(a, "%s%s%s", all, *all == '\0' ? "" : between, sinks[i].name);
    return all;
}

const char *sinks_offered(struct arena *a)
{
    return names_of(a, CARRIERS_, "|");
}

const char *sinks_by_scheme(struct arena *a)
{
    const char *all = "", *names;

    for (enum carrier c = 0; c < CARRIERS_; c++) {
        names = names_of(a, c, ", ");
        if (*names != '\0')
            all = arena_printf(a, "%s%s%s (%s)", all, *all == '\0' ? "" : ", ", schemes_of(a, c),
                               names);
    }
    return all;
}
