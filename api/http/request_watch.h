/* api/http/request_watch.h - what is told of requests when they end: their times, for /metrics. */
#pragma once

#include "net/http_server.h"

struct api;

/* The watch of the HTTP server whose requests the API handles. */
struct http_watch request_watch(struct api *a);
