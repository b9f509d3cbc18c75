/* server/option_checks.h - what options may say, as far as their types (options.def) do not tell.
 * Any thread; nothing is resolved or opened.
 */
#pragma once

#include "server/options.h"

/* Check the options, at the start and before a reload. `listen`: the address in use.
 * RC_INPUT: *err names the option, what is wrong with it, and what would be right. */
enum rc options_check(const struct options *o, struct str listen, struct err *err) NODISCARD;
