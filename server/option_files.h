/* server/option_files.h - checks of options that name files, folders and databases. They look at the
 * machine, as this user sees it, and change nothing. Main thread, while this process has no store open.
 */
#pragma once

#include "server/options.h"

/* Could a start use what these options name? RC_INPUT: *err names the option, what is wrong with it,
 * and what would be right. */
enum rc options_check_files(const struct options *o, struct err *err) NODISCARD;
