/* api/openapi.h - /openapi.json: the API for programs, made from the tables that route and that
 * read parameters. */
#pragma once

#include "api/http/config.h"
#include "base/buf.h"

/* Write the description for this configuration. Any thread. */
void openapi_write(struct buf *out, const struct api_cfg *cfg);
