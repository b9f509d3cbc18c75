/* notifier/mask.c - see mask.h. */
#include "notifier/mask.h"

#include "base/base64.h"
#include "base/buf.h"
#include "feed/text/hook_settings.h"
#include "notifier/push_job.h"

#define SECRET_MIN 4 /* bytes; less is found in any text */

static struct str mask(struct arena *a, struct str text, struct str secret)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct str rest = text;
    ssize_t at;

    if (secret.len < SECRET_MIN)
        return text;
    while ((at = str_find(rest, secret)) >= 0) {
        buf_str(&out, str_slice(rest, 0, (size_t)at));
        buf_str(&out, MASK);
        rest = str_slice(rest, (size_t)at + secret.len, rest.len);
    }
    if (rest.len == text.len)
        return text;
    buf_str(&out, rest);
    return str_dup(a, buf_view(&out));
}

struct str mask_secrets(struct arena *a, const struct push_job *job, struct str text)
{
    struct str password = job->credential;
    struct hook_settings hs;

    if (text.len == 0)
        return text;
    if (!str_is_null(password)) {
        text = mask(a, text, base64_write(a, password)); /* as Basic authentication sends it */
        (void)str_split(&password, ':');
        text = mask(a, text, password);
    }
    if (str_is_null(job->settings) || job->sink != &sink_webhook ||
        hook_settings_read(a, job->settings, &hs, NULL) != RC_OK)
        return text;
    for (size_t i = 0; i < hs.n_fields; i++)
        text = mask(a, text, hs.fields[i].value);
    return text;
}
