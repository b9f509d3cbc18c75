/* server/option_checks.h - checks of options that their types and ranges (options.def) do not
 * cover. Any thread. Nothing is resolved or opened.
 */
#pragma once

#include "net/hostport.h"
#include "server/options.h"

/* Check the options, at the start and before a reload. `listen`: the address in use.
 * RC_INPUT: *err names the option, what is wrong with it, and what would be right. */
enum rc options_check(const struct options *o, struct str listen, struct err *err) NODISCARD;

/* Read --xmpp-server. False: it is not HOST:PORT. */
bool options_xmpp_server(const struct options *o, struct hostport *out);
