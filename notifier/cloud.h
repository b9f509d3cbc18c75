/* notifier/cloud.h - what a handler of rssCloud is sent: that a feed has changed. Pure, any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/hub.h"

/* Append the body of a notification for `url`: a form, or a call of `procedure`. Returns its media
 * type. The protocol is not HUB_WEBSUB. */
struct str cloud_write(struct buf *body, enum hub_protocol protocol, struct str procedure,
                       struct str url);

/* What a handler's answer to a call of its procedure means. */
enum cloud_word {
    CLOUD_TRUE,  /* it has returned the boolean true, as rssCloud demands */
    CLOUD_OTHER, /* it has returned something else */
    CLOUD_FAULT,
    CLOUD_GARBAGE, /* that was not XML-RPC */
};
enum cloud_word cloud_read(struct str body);
