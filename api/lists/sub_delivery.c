/* api/lists/sub_delivery.c - see sub_delivery.h. */
#include "api/lists/sub_delivery.h"

#include "base/buf.h"
#include "model/sinks.h"

/* The names of these events, with this text between them. */
static const char *names_of(struct arena *a, unsigned events, const char *between)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    for (size_t i = 0; i < SUB_EVENT_KINDS; i++)
        if ((events & 1u << i) != 0)
            buf_printf(&out, "%s%s", out.len > 0 ? between : "", sub_event_name(i));
    return arena_printf(a, "%.*s", STR_ARG(buf_view(&out)));
}

/* Returns the bit of an event; 0: there is no such event. */
static unsigned bit_of(struct str name)
{
    for (size_t i = 0; i < SUB_EVENT_KINDS; i++)
        if (str_eqz(name, sub_event_name(i)))
            return 1u << i;
    return 0;
}

/* Add the events of one value. */
static bool add_events(struct str value, struct arena *a, struct str sink, unsigned *out,
                       struct problem *p)
{
    unsigned offered = sinks_events(sink), bit;

    for (struct str rest = value; !str_is_null(rest);) {
        struct str name = str_trim(str_split(&rest, ','));

        bit = bit_of(name);
        if (name.len > 0 && (bit & offered) == 0)
            return problem_parameter(p, a, "events", name, names_of(a, offered, "|"),
                                     "The parameter `events` has a value that %s. It is a list of "
                                     "these, separated by commas: %s.",
                                     bit == 0 ? "is not known" : "this sink cannot tell",
                                     names_of(a, offered, ", "));
        *out |= bit;
    }
    return true;
}

bool sub_events_read(const struct params *ps, struct arena *a, struct str sink, unsigned *out,
                     struct problem *p)
{
    const struct param *one;
    size_t at = 0;

    *out = 0;
    while ((one = params_next(ps, PARAM_events, &at)) != NULL)
        if (!add_events(one->value, a, sink, out, p))
            return false;
    return true;
}

bool sub_events_change(const struct params *ps, struct arena *a, struct str sink, unsigned *out,
                       struct problem *p)
{
    if (!sub_events_read(ps, a, sink, out, p))
        return false;
    if (*out != 0 || !params_has(ps, PARAM_events))
        return true;
    return problem_parameter(p, a, "events", STR_NULL, names_of(a, sinks_events(sink), "|"),
                             "The parameter `events` is empty, and a subscription must be told "
                             "something. It is a list of these: %s. To stop deliveries, pause the "
                             "subscription.",
                             names_of(a, sinks_events(sink), ", "));
}

bool sub_batch_read(const struct params *ps, struct arena *a, int *out, struct problem *p)
{
    struct str value;
    int64_t n = 0;

    *out = 0;
    if (!params_optional(ps, a, PARAM_batch, &value, p))
        return false;
    if (str_is_null(value))
        return true;
    if (!str_to_i64(value, &n) || n < 1 || n > param_max(PARAM_batch))
        return problem_parameter(p, a, "batch", value, NULL,
                                 "The parameter `batch` must be a whole number from 1 to %lld: how "
                                 "many entries a delivery may have.",
                                 (long long)param_max(PARAM_batch));
    *out = (int)n;
    return true;
}
