/* base/switch.h - the words that turn a switch on and off. Pure; any thread. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/str.h"

/* Read a switch, in any case: yes, on, true or 1; no, off, false or 0. False: `s` is something else;
 * *out is unchanged. */
bool switch_read(struct str s, bool *out) NODISCARD;
