/* server/option_checks.h - checks of options that their types and ranges (options.def) do not
 * cover. Any thread. Nothing is resolved or opened.
 */
#pragma once

#include "net/hostport.h"
#include "server/options.h"

/* Check the options, at the start and before a reload.
 * RC_INPUT: *err says where the option was set, what is wrong with it, and what would be right. */
enum rc options_check(const struct options *o, struct err *err) NODISCARD;

/* Can other machines reach this address? */
bool options_is_exposed(struct str listen);

/* If other machines can reach the address, somebody must have said which callers are let in.
 * `has_tokens`: the database has some. RC_INPUT: as above. */
enum rc options_check_exposed(const struct options *o, struct str listen, bool has_tokens,
                              struct err *err) NODISCARD;

/* Read --xmpp-server. False: it is not HOST:PORT. */
bool options_xmpp_server(const struct options *o, struct hostport *out);
