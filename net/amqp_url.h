/* net/amqp_url.h - URLs of endpoints at a message broker, and routing keys. Pure; any thread.
 *
 *   amqp[s]://user:password@host[:port]/vhost?exchange=E[&key=K][&declare=topic]
 *
 * Values are percent-encoded, and `+` is a blank. Without a vhost it is "/", without a key it is
 * AMQP_KEY_DEFAULT, and without a user it is the broker's usual one.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct url_parts;

#define AMQP_KEY_DEFAULT "feed.{feed}.{kind}"
#define AMQP_USER_DEFAULT "guest" /* its password is the same */
#define AMQP_NAME_MAX 255         /* bytes of a short string: of exchanges, keys, vhosts */

struct amqp_url {    /* arena strings, decoded */
    struct str host; /* lower case, punycode; IPv6 in brackets */
    int port;
    bool is_tls;
    struct str vhost;
    struct str exchange;
    struct str key; /* may have {feed} and {kind} in it */
    bool declares;  /* make the exchange: a durable one of type topic */
};

/* Read such a URL; a credential in it is left out. RC_INPUT: it cannot be used, and *err says why
 * without repeating a password. */
enum rc amqp_url_read(struct arena *a, struct str raw, struct amqp_url *out,
                      struct err *err) NODISCARD;

/* The same as url_parse() (net/url.h): canonical form and credential, for the table of carriers. */
enum rc amqp_url_parse(struct arena *a, struct str raw, struct url_parts *out,
                       struct err *err) NODISCARD;

/* The routing key of a message: `key` with the number of the feed and the kind filled in. Arena. */
struct str amqp_key_fill(struct arena *a, struct str key, int64_t feed_id, struct str kind);
