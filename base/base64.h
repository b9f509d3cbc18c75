/* base/base64.h - Base64 (RFC 4648 section 4). Pure; any thread. */
#pragma once

#include "base/str.h"

/* Returns the text of these bytes, with padding. Arena. */
struct str base64_write(struct arena *a, struct str bytes);

/* Returns the bytes of a text; padding may be missing. Null: it is not Base64. Arena. */
struct str base64_read(struct arena *a, struct str text);
