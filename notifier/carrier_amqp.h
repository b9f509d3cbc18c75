/* notifier/carrier_amqp.h - what a sink that delivers by AMQP gives its carrier. */
#pragma once

#include "net/amqp_url.h"
#include "net/brokers.h"

/* The bytes of the load are the bodies of the messages, one after the other. */
struct amqp_load {
    struct amqp_url to;
    const struct broker_message *messages; /* without their bodies */
    const size_t *ends;                    /* of each body, in the bytes */
    size_t n;
};
