/* notifier/mask.c - see mask.h. */
#include "notifier/mask.h"

#include "base/ascii.h"
#include "base/base64.h"
#include "base/buf.h"
#include "feed/text/hook_settings.h"
#include "feed/text/json.h"
#include "net/url.h"
#include "notifier/push_job.h"

#define SECRET_MIN 4 /* bytes; less is found in any text, so only whole words are masked */

/* A letter or digit, of any language. */
static bool is_of_word(char c)
{
    return ascii_is_alnum(c) || (unsigned char)c >= 0x80;
}

/* Does this part of the text begin and end where a word does? */
static bool is_word(struct str text, size_t from, size_t to)
{
    bool begins = from == 0 || !is_of_word(text.ptr[from]) || !is_of_word(text.ptr[from - 1]);
    bool ends = to == text.len || !is_of_word(text.ptr[to - 1]) || !is_of_word(text.ptr[to]);

    return begins && ends;
}

/* The secret as it stands. */
static struct str mask_plain(struct arena *a, struct str text, struct str secret)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    size_t kept = 0, from = 0;
    ssize_t at;

    if (secret.len == 0 || str_find(MASK, secret) >= 0) /* the text would only grow */
        return text;
    while ((at = str_find(str_slice(text, from, text.len), secret)) >= 0) {
        size_t begin = from + (size_t)at, end = begin + secret.len;

        from = end;
        if (secret.len < SECRET_MIN && !is_word(text, begin, end)) {
            from = begin + 1;
            continue;
        }
        buf_str(&out, str_slice(text, kept, begin));
        buf_str(&out, MASK);
        kept = end;
    }
    if (kept == 0)
        return text;
    buf_str(&out, str_slice(text, kept, text.len));
    return str_dup(a, buf_view(&out));
}

/* The secret as it stands, in a text of JSON, or percent-encoded. */
static struct str mask(struct arena *a, struct str text, struct str secret)
{
    AUTO(buf_release) struct buf json = BUF_INIT(BUF_ANY);
    struct str encoded = url_encode(a, secret);

    text = mask_plain(a, text, secret);
    if (str_eq(encoded, secret)) /* then JSON has nothing to encode either */
        return text;
    json_write_text(&json, secret);
    text = mask_plain(a, text, str_slice(buf_view(&json), 1, json.len - 1));
    return mask_plain(a, text, encoded);
}

/* "user:password", as Basic authentication sends it, and the password. */
static struct str mask_credential(struct arena *a, struct str text, struct str credential)
{
    if (str_is_null(credential))
        return text;
    text = mask(a, text, base64_write(a, credential));
    (void)str_split(&credential, ':');
    return mask(a, text, credential);
}

/* The value of a field, and what is secret in it: an endpoint may repeat the token of "Bearer
 * TOKEN" alone. */
static struct str mask_value(struct arena *a, struct str text, struct str value)
{
    struct str token = value, scheme = str_split(&token, ' ');

    text = mask(a, text, value);
    if (str_is_null(token))
        return text;
    token = str_trim(token);
    if (str_ieqz(scheme, "Basic"))
        text = mask_credential(a, text, base64_read(a, token));
    return mask(a, text, token);
}

struct str mask_secrets(struct arena *a, const struct push_job *job, struct str text)
{
    struct hook_settings hs;

    if (text.len == 0)
        return text;
    text = mask_credential(a, text, job->credential);
    if (str_is_null(job->settings) || job->sink != &sink_webhook ||
        hook_settings_read(a, job->settings, &hs, NULL) != RC_OK)
        return text;
    for (size_t i = 0; i < hs.n_fields; i++)
        text = mask_value(a, text, hs.fields[i].value);
    return text;
}
