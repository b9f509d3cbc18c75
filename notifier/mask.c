/* notifier/mask.c - see mask.h. */
#include "notifier/mask.h"

#include <string.h>

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

/* A text, and which of its bytes belong to secrets. All secrets are looked for in the text as it
 * came: what one has hidden would cut another one that it is a part of. */
struct shade {
    struct arena *arena;
    struct str text;
    bool *hidden; /* of each byte */
};

typedef ssize_t find_fn(struct str text, struct str part);

/* Hide the secret wherever `find` finds it. */
static void hide_found(struct shade *s, struct str secret, find_fn *find)
{
    size_t from = 0;
    ssize_t at;

    if (secret.len == 0 || str_find(MASK, secret) >= 0) /* it cannot be told from what masks it */
        return;
    while ((at = find(str_slice(s->text, from, s->text.len), secret)) >= 0) {
        size_t begin = from + (size_t)at, end = begin + secret.len;

        from = end;
        if (secret.len >= SECRET_MIN || is_word(s->text, begin, end))
            memset(s->hidden + begin, true, secret.len);
        else
            from = begin + 1;
    }
}

/* Hide the secret as it stands, in a text of JSON, and percent-encoded. */
static void hide(struct shade *s, struct str secret)
{
    AUTO(buf_release) struct buf json = BUF_INIT(BUF_ANY);
    struct str encoded = url_encode(s->arena, secret);

    hide_found(s, secret, str_find);
    if (str_eq(encoded, secret)) /* then JSON has nothing to encode either */
        return;
    json_write_text(&json, secret);
    hide_found(s, str_slice(buf_view(&json), 1, json.len - 1), str_find);
    hide_found(s, encoded, str_ifind); /* "%3A", "%3a" */
}

/* "user:password", as Basic authentication sends it, and the password. */
static void hide_credential(struct shade *s, struct str credential)
{
    if (str_is_null(credential))
        return;
    hide(s, base64_write(s->arena, credential));
    (void)str_split(&credential, ':');
    hide(s, credential);
}

/* The value of a field, and what is secret in it: an endpoint may repeat the token of "Bearer
 * TOKEN" alone. */
static void hide_value(struct shade *s, struct str value)
{
    struct str token = value, scheme = str_split(&token, ' ');

    hide(s, value);
    if (str_is_null(token))
        return;
    token = str_trim(token);
    if (str_ieqz(scheme, "Basic"))
        hide_credential(s, base64_read(s->arena, token));
    hide(s, token);
}

/* Returns the text with MASK in place of each run of hidden bytes. */
static struct str shaded(const struct shade *s)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);

    if (memchr(s->hidden, true, s->text.len) == NULL)
        return s->text;
    for (size_t i = 0; i < s->text.len; i++) {
        if (!s->hidden[i])
            buf_putc(&out, s->text.ptr[i]);
        else if (i == 0 || !s->hidden[i - 1])
            buf_str(&out, MASK);
    }
    return str_dup(s->arena, buf_view(&out));
}

struct str mask_secrets(struct arena *a, const struct push_job *job, struct str text)
{
    struct shade shade = {.arena = a, .text = text};
    struct hook_settings hs;

    if (text.len == 0)
        return text;
    shade.hidden = ARENA_ARRAY(a, bool, text.len);
    hide_credential(&shade, job->credential);
    if (!str_is_null(job->settings) && job->sink == &sink_webhook &&
        hook_settings_read(a, job->settings, &hs, NULL) == RC_OK) {
        for (size_t i = 0; i < hs.n_secrets; i++)
            hide(&shade, hs.secrets[i].text);
        for (size_t i = 0; i < hs.n_fields; i++)
            hide_value(&shade, hs.fields[i].value);
    }
    return shaded(&shade);
}
