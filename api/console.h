/* api/console.h - the console: a page for people, and its files, which are part of the program. */
#pragma once

#include "api/http/request.h"

/* One file, as console/embed.py makes it. */
struct console_file {
    const char *path, *media_type;
    const unsigned char *bytes, *gzip;
    size_t len, gzip_len;
};

/* Made by console/embed.py; the first one is the page itself. */
extern const struct console_file console_files[];
extern const size_t n_console_files;
extern const char console_hash[]; /* of all of them; part of their addresses */

/* Answer a request for / by a client that wants HTML. False: it is another request, or this program
 * was built without the console. The request's loop. */
bool console_serve(struct request *req);
