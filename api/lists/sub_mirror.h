/* api/lists/sub_mirror.h - the parameter `mirror`: are copies of the files of new entries kept? */
#pragma once

#include "api/http/params.h"
#include "api/http/task.h"

/* Get it, as in struct sub_request: entries that come from now on count. False with *p: it is
 * wrong, or this server keeps no copies. Reader thread. */
bool sub_mirror_read(struct task *t, const struct params *ps, int64_t *out,
                     struct problem *p) NODISCARD;
