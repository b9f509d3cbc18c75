/* api/xmpp/xmpp_service.h - what the requests by XMPP share. */
#pragma once

#include <pthread.h>
#include <sys/queue.h>

#include "api/xmpp/xmpp_request.h"

struct xmpp_change;
struct xmpp_gathering;
struct xmpp_read;

struct xmpp_service {
    struct api *api;
    struct component *component; /* borrowed */

    pthread_mutex_t lock;                                /* guards the rest */
    size_t n_requests;                                   /* that are not answered */
    TAILQ_HEAD(xmpp_gatherings, xmpp_gathering) waiting; /* xmpp_feeds.c */
    size_t n_waiting;
    TAILQ_HEAD(xmpp_reads, xmpp_read) reads; /* that wait for a reader */
    size_t n_reading;
    TAILQ_HEAD(xmpp_changes, xmpp_change) changes; /* xmpp_subs.c: the first one is under way */
};
