/* notifier/intent.c - see intent.h. */
#include "notifier/intent.h"

#include <inttypes.h>

#include "net/url.h"
#include "notifier/cloud.h"

#define TRIES 3           /* tries to call a callback that cannot be reached */
#define TRY_AGAIN_MS 2000 /* before the second try; four times as long before the third */

const char *intent_mode_name(enum hub_mode mode)
{
    static const char *const names[] = {"subscribe", "unsubscribe", "denied"};

    return names[mode];
}

static void put(struct arena *a, struct buf *url, const char *name, struct str value)
{
    struct str text = buf_view(url);

    if (str_chr(text, '?') < 0)
        buf_putc(url, '?');
    else if (!str_ends(text, STR("?")))
        buf_putc(url, '&');
    buf_printf(url, "%s=%.*s", name, STR_ARG(url_encode(a, value)));
}

void intent_url(struct buf *url, struct arena *a, const struct hub_intent *in, struct str challenge)
{
    buf_str(url, in->callback);
    put(a, url, "hub.mode", str_from(intent_mode_name(in->mode)));
    put(a, url, "hub.topic", in->topic);
    if (in->mode == HUB_DENIED)
        put(a, url, "hub.reason", in->reason);
    else
        put(a, url, "hub.challenge", challenge);
    if (in->mode == HUB_SUBSCRIBE)
        put(a, url, "hub.lease_seconds", str_printf(a, "%" PRId64, in->lease_s));
    if (!str_is_null(in->verify_token))
        put(a, url, "hub.verify_token", in->verify_token);
}

/* Is the handler sent a notification as a test, instead of a challenge? */
static bool is_test(const struct hub_intent *in)
{
    return in->protocol == CLOUD_XML_RPC || (in->protocol == CLOUD_HTTP_POST && in->at_caller);
}

struct intent_call intent_call(struct arena *a, const struct hub_intent *in, struct str challenge)
{
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);
    struct intent_call call = {
        .method = STR("GET"), .url = in->callback, .body = STR_NULL, .media_type = STR_NULL};

    if (is_test(in)) {
        call.method = STR("POST");
        call.media_type = cloud_write(&text, in->protocol, in->procedure, in->topic);
        call.body = str_dup(a, buf_view(&text));
        return call;
    }
    if (in->protocol == HUB_WEBSUB) {
        intent_url(&text, a, in, challenge);
    } else {
        buf_str(&text, in->callback);
        put(a, &text, "url", in->topic);
        put(a, &text, "challenge", challenge);
    }
    call.url = str_dup(a, buf_view(&text));
    return call;
}

static bool is_confirmation(const struct hub_intent *in, struct str body, struct str challenge)
{
    enum cloud_word word;

    if (in->protocol == HUB_WEBSUB)
        return str_eq(body, challenge);
    if (in->protocol == CLOUD_HTTP_POST)
        return in->at_caller || str_eq(str_trim(body), challenge);
    word = cloud_read(body);
    return word == CLOUD_TRUE || (in->at_caller && word == CLOUD_OTHER);
}

struct intent_verdict intent_judge(const struct hub_intent *in, enum rc rc, int status,
                                   struct str body, struct str challenge)
{
    bool is_2xx = rc == RC_OK && status >= 200 && status < 300;
    /* a body that is too long, or a forbidden address, will be the same the next time */
    bool is_final = rc == RC_LIMIT || rc == RC_DENIED;

    return (struct intent_verdict){.confirmed = is_2xx && is_confirmation(in, body, challenge),
                                   .unreached = !is_final && (rc != RC_OK || status >= 500)};
}

int64_t intent_pause_ms(const struct hub_intent *in, struct intent_verdict v, int n_tries)
{
    if (!v.unreached || n_tries >= TRIES || in->waits)
        return -1;
    return n_tries == 1 ? TRY_AGAIN_MS : 4 * TRY_AGAIN_MS;
}
