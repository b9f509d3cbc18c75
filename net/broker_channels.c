/* net/broker_channels.c - see broker_channels.h. */
#include "net/broker_channels.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define CHANNELS_MAX                                                                               \
    250 /* for more exchanges, the ones that were not used for longest are closed */
#define PERSISTENT 2
#define TOPIC "topic"
#define SUBSCRIPTION "subscription"

struct broker_channel {
    amqp_channel_t number;
    char *exchange; /* not terminated */
    size_t exchange_len;
    bool declares;
    struct broker_flights flights;
    int64_t mono_used; /* ms */
    bool is_held;
    bool is_closed; /* `fault` says why; it is freed when nobody holds it */
    struct broker_fault fault;

    bool awaits_header; /* of a message that comes back; its body is of no interest */
};

static amqp_bytes_t bytes_of(struct str s)
{
    return (amqp_bytes_t){.len = s.len, .bytes = (void *)(uintptr_t)s.ptr};
}

static struct str str_of_bytes(amqp_bytes_t b)
{
    return b.len == 0 ? STR("") : str_of(b.bytes, b.len);
}

/* ---- faults -----------------------------------------------------------------------------------
 */

/* Keep what the broker said. */
static void told(struct broker_fault *fault, bool is_fatal, int code, amqp_bytes_t text)
{
    struct str s = str_slice(str_of_bytes(text), 0, BROKER_WHY - 40);

    s = str_slice(s, 0, str_utf8_valid(s));
    fault->code = code;
    fault->is_fatal = is_fatal;
    snprintf(fault->why, sizeof fault->why, "the broker says: %d %.*s", code, STR_ARG(s));
}

static void told_of_connection(amqp_connection_state_t conn, const amqp_connection_close_t *m,
                               struct broker_fault *fault)
{
    amqp_connection_close_ok_t ok = {0};

    told(fault, true, m->reply_code, m->reply_text);
    amqp_send_method(conn, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
}

static void told_of_channel(amqp_connection_state_t conn, amqp_channel_t number,
                            const amqp_channel_close_t *m, struct broker_fault *fault)
{
    amqp_channel_close_ok_t ok = {0};

    told(fault, false, m->reply_code, m->reply_text);
    amqp_send_method(conn, number, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
}

bool broker_rpc_ok(amqp_connection_state_t conn, amqp_channel_t channel, amqp_rpc_reply_t reply,
                   struct broker_fault *fault)
{
    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
        return true;
    fault->code = 0;
    fault->is_fatal = true;
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
        reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD)
        told_of_connection(conn, reply.reply.decoded, fault);
    else if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION &&
             reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD)
        told_of_channel(conn, channel, reply.reply.decoded, fault);
    else if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
             reply.library_error == AMQP_STATUS_TIMEOUT)
        snprintf(fault->why, sizeof fault->why, "the broker did not answer in time");
    else if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
        snprintf(fault->why, sizeof fault->why, "the conversation with the broker failed: %s",
                 amqp_error_string2(reply.library_error));
    else
        snprintf(fault->why, sizeof fault->why, "the broker gave an answer that does not fit");
    return false;
}

/* ---- channels ---------------------------------------------------------------------------------
 */

void broker_channels_init(struct broker_channels *cs, broker_back_fn *back, void *ctx)
{
    *cs = (struct broker_channels){.back = back, .ctx = ctx};
}

static void channel_free(struct broker_channel *ch)
{
    broker_flights_release(&ch->flights);
    mem_free(ch->exchange);
    mem_free(ch);
}

/* The channel is closed: take it out, and fail what was in flight. */
static void channel_close(struct broker_channels *cs, struct broker_channel *ch,
                          const struct broker_fault *fault)
{
    size_t i = 0;

    while (i < cs->n && cs->items[i] != ch)
        i++;
    if (i < cs->n)
        cs->items[i] = cs->items[--cs->n];
    ch->is_closed = true;
    ch->fault = *fault;
    broker_flights_fail(&ch->flights, fault->code, fault->why);
    if (!ch->is_held)
        channel_free(ch);
}

void broker_channels_fail(struct broker_channels *cs, int code, const char *why)
{
    struct broker_fault fault = {.code = code, .is_fatal = true};

    snprintf(fault.why, sizeof fault.why, "%s", why);
    while (cs->n > 0)
        channel_close(cs, cs->items[cs->n - 1], &fault);
}

void broker_channels_release(struct broker_channels *cs)
{
    broker_channels_fail(cs, 0, "the connection is closed");
    mem_free(cs->items);
    cs->items = NULL;
    cs->cap = 0;
}

bool broker_channel_is_closed(const struct broker_channel *ch, struct broker_fault *fault)
{
    if (ch->is_closed)
        *fault = ch->fault;
    return ch->is_closed;
}

void broker_channel_let_go(struct broker_channel *ch)
{
    ch->is_held = false;
    ch->mono_used = clock_mono_ms();
    if (ch->is_closed)
        channel_free(ch);
}

static struct broker_channel *find_number(const struct broker_channels *cs, amqp_channel_t number)
{
    for (size_t i = 0; i < cs->n; i++)
        if (cs->items[i]->number == number)
            return cs->items[i];
    return NULL;
}

static struct broker_channel *find_exchange(const struct broker_channels *cs, struct str exchange,
                                            bool declares)
{
    for (size_t i = 0; i < cs->n; i++)
        if (cs->items[i]->declares == declares &&
            str_eq(str_of(cs->items[i]->exchange, cs->items[i]->exchange_len), exchange))
            return cs->items[i];
    return NULL;
}

/* Close the channel that has nothing in flight and was not used for longest. */
static bool make_room(struct broker_channels *cs, amqp_connection_state_t conn,
                      struct broker_fault *fault)
{
    struct broker_channel *oldest = NULL;
    amqp_channel_t number;

    for (size_t i = 0; i < cs->n; i++)
        if (cs->items[i]->flights.n == 0 &&
            (oldest == NULL || cs->items[i]->mono_used < oldest->mono_used))
            oldest = cs->items[i];
    if (oldest == NULL) {
        snprintf(fault->why, sizeof fault->why, "too many exchanges of this broker are in use");
        return false;
    }
    number = oldest->number;
    channel_close(cs, oldest, fault);
    return broker_rpc_ok(conn, number, amqp_channel_close(conn, number, AMQP_REPLY_SUCCESS), fault);
}

static bool open_channel(amqp_connection_state_t conn, amqp_channel_t number, struct str exchange,
                         bool declares, struct broker_fault *fault)
{
    amqp_channel_open(conn, number);
    if (!broker_rpc_ok(conn, number, amqp_get_rpc_reply(conn), fault))
        return false;
    amqp_confirm_select(conn, number);
    if (!broker_rpc_ok(conn, number, amqp_get_rpc_reply(conn), fault))
        return false;
    amqp_exchange_declare(conn, number, bytes_of(exchange), amqp_cstring_bytes(TOPIC), !declares,
                          declares, false, false, amqp_empty_table);
    return broker_rpc_ok(conn, number, amqp_get_rpc_reply(conn), fault);
}

struct broker_channel *broker_channels_get(struct broker_channels *cs, amqp_connection_state_t conn,
                                           struct str exchange, bool declares,
                                           struct broker_fault *fault)
{
    struct broker_channel *ch = find_exchange(cs, exchange, declares);
    int most = amqp_get_channel_max(conn);
    amqp_channel_t number = 1;

    *fault = (struct broker_fault){.code = 0};
    if (ch != NULL) {
        ch->is_held = true;
        return ch;
    }
    if (most <= 0 || most > CHANNELS_MAX)
        most = CHANNELS_MAX;
    if (cs->n >= (size_t)most && !make_room(cs, conn, fault))
        return NULL;
    while (find_number(cs, number) != NULL)
        number++;
    if (!open_channel(conn, number, exchange, declares, fault))
        return NULL;
    ch = NEW(struct broker_channel);
    ch->number = number;
    ch->exchange = mem_strndup(exchange.ptr, exchange.len);
    ch->exchange_len = exchange.len;
    ch->declares = declares;
    ch->is_held = true;
    broker_flights_init(&ch->flights, cs->back, cs->ctx);
    cs->items = mem_grow(cs->items, &cs->cap, cs->n + 1, sizeof(void *));
    cs->items[cs->n++] = ch;
    return ch;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

#define HEADERS 4

static void add_text(amqp_table_t *t, const char *name, struct str value)
{
    if (str_is_null(value))
        return;
    t->entries[t->num_entries].key = amqp_cstring_bytes(name);
    t->entries[t->num_entries].value.kind = AMQP_FIELD_KIND_UTF8;
    t->entries[t->num_entries++].value.value.bytes = bytes_of(value);
}

int broker_channel_publish(struct broker_channel *ch, amqp_connection_state_t conn,
                           struct broker_batch *batch, size_t i)
{
    const struct broker_message *m = &batch->messages[i];
    amqp_table_entry_t entries[HEADERS];
    amqp_basic_properties_t p = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                  AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_TYPE_FLAG |
                  AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_HEADERS_FLAG,
        .content_type = amqp_cstring_bytes("application/json"),
        .delivery_mode = PERSISTENT,
        .message_id = bytes_of(m->id),
        .timestamp = (uint64_t)m->at_s,
        .type = bytes_of(m->type),
        .app_id = amqp_cstring_bytes("feedmill"),
        .headers = {.num_entries = 0, .entries = entries},
    };

    add_text(&p.headers, "prev_cursor", m->prev_cursor);
    add_text(&p.headers, "cursor", m->cursor);
    add_text(&p.headers, "feed_url", m->feed_url);
    entries[p.headers.num_entries].key = amqp_cstring_bytes(SUBSCRIPTION);
    entries[p.headers.num_entries].value.kind = AMQP_FIELD_KIND_I64;
    entries[p.headers.num_entries++].value.value.i64 = m->subscription;
    broker_flights_add(&ch->flights, batch, i);
    return amqp_basic_publish(conn, ch->number, bytes_of(batch->exchange), bytes_of(m->key), true,
                              false, &p, bytes_of(m->body));
}

/* ---- frames -----------------------------------------------------------------------------------
 */

/* The number of the subscription in the headers; 0: there is none. */
static int64_t subscription_of(const amqp_basic_properties_t *p)
{
    if ((p->_flags & AMQP_BASIC_HEADERS_FLAG) == 0)
        return 0;
    for (int i = 0; i < p->headers.num_entries; i++) {
        const amqp_table_entry_t *e = &p->headers.entries[i];

        if (str_eqz(str_of_bytes(e->key), SUBSCRIPTION) && e->value.kind == AMQP_FIELD_KIND_I64)
            return e->value.value.i64;
    }
    return 0;
}

static void take_header(struct broker_channel *ch, const amqp_frame_t *frame)
{
    const amqp_basic_properties_t *p = frame->payload.properties.decoded;

    if (!ch->awaits_header)
        return;
    ch->awaits_header = false;
    if (frame->payload.properties.class_id == AMQP_BASIC_CLASS &&
        (p->_flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0)
        broker_flights_return(&ch->flights, str_of_bytes(p->message_id), subscription_of(p));
}

static void take_method(struct broker_channels *cs, struct broker_channel *ch,
                        amqp_connection_state_t conn, const amqp_method_t *method)
{
    struct broker_fault fault = {.code = 0};

    if (method->id == AMQP_BASIC_ACK_METHOD) {
        const amqp_basic_ack_t *m = method->decoded;

        broker_flights_settle(&ch->flights, m->delivery_tag, m->multiple, true);
    } else if (method->id == AMQP_BASIC_NACK_METHOD) {
        const amqp_basic_nack_t *m = method->decoded;

        broker_flights_settle(&ch->flights, m->delivery_tag, m->multiple, false);
    } else if (method->id == AMQP_BASIC_RETURN_METHOD) {
        ch->awaits_header = true;
    } else if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
        told_of_channel(conn, ch->number, method->decoded, &fault);
        channel_close(cs, ch, &fault);
    }
}

bool broker_channels_frame(struct broker_channels *cs, amqp_connection_state_t conn,
                           const amqp_frame_t *frame, struct broker_fault *fault)
{
    struct broker_channel *ch;

    if (frame->channel == 0) {
        if (frame->frame_type != AMQP_FRAME_METHOD ||
            frame->payload.method.id != AMQP_CONNECTION_CLOSE_METHOD)
            return true;
        told_of_connection(conn, frame->payload.method.decoded, fault);
        return false;
    }
    ch = find_number(cs, frame->channel);
    if (ch == NULL)
        return true;
    if (frame->frame_type == AMQP_FRAME_METHOD)
        take_method(cs, ch, conn, &frame->payload.method);
    else if (frame->frame_type == AMQP_FRAME_HEADER)
        take_header(ch, frame);
    return true;
}
