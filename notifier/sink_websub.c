/* notifier/sink_websub.c - content distribution (WebSub 7): the topic's document, signed.
 *
 * What the document holds is drawn elsewhere (notifier.h, the port `draw`). Any answer 2xx means
 * delivered, whatever its body, and whether that comes or not; 410 ends the subscription; a
 * redirect is a failure, for a callback that has moved is to be subscribed anew.
 */
#include "notifier/sink.h"

#include "base/digest.h"

void websub_head(struct arena *a, const struct hub_lease *lease, const struct topic_document *doc,
                 struct sink_call *call)
{
    unsigned char mac[DIGEST_MAX_LEN];
    char hex[2 * DIGEST_MAX_LEN + 1];
    size_t n;

    call->method = STR("POST");
    call->fields[0] = (struct http_field){STR("Content-Type"), str_from(doc->media_type)};
    call->fields[1] =
        (struct http_field){STR("Link"), str_printf(a, "<%.*s>; rel=\"hub\", <%.*s>; rel=\"self\"",
                                                    STR_ARG(doc->hub), STR_ARG(doc->self))};
    call->n_fields = 2;
    if (str_is_null(lease->secret))
        return;
    n = digest_hmac(lease->legacy ? DIGEST_SHA1 : DIGEST_SHA256, lease->secret,
                    sink_call_bytes(call), mac);
    digest_hex(mac, n, hex);
    call->fields[call->n_fields++] = (struct http_field){
        STR("X-Hub-Signature"), str_printf(a, "%s=%s", lease->legacy ? "sha1" : "sha256", hex)};
}

static enum sink_verdict websub_judge(struct arena *a, enum rc rc, const struct http_answer *answer,
                                      const struct err *err, struct str *why)
{
    int status = answer == NULL ? 0 : answer->status;

    if (status >= 200 && status < 300)
        return SINK_DELIVERED;
    if (rc != RC_OK) {
        *why = str_dup(a, err == NULL ? str_from(rc_meaning(rc)) : str_from(err->text));
        return SINK_FAILED;
    }
    *why = str_printf(a, "the callback answered with status %d; 2xx means delivered", status);
    return status == 410 ? SINK_GONE : SINK_FAILED;
}

const struct sink sink_websub = {.name = HUB_SINK, .judge = websub_judge};
