/* api/http/access_log.h - a line for each request (--access-log), without secrets. */
#pragma once

#include "net/http_server.h"

struct line_file;

/* Write what is known of a request before it is freed: the first part of its line. `r` NULL: what
 * came could not be read as a request. Give the result to access_log_end() in x->note. */
char *access_log_begin(struct http_request *r, const struct http_exchange *x);

/* Complete the line and put it into the log. Frees x->note. */
void access_log_end(struct line_file *log, struct http_exchange *x);
