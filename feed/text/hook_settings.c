/* feed/text/hook_settings.c - see hook_settings.h. */
#include "feed/text/hook_settings.h"

#include "base/ascii.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "feed/text/json.h"

#define PREFIX STR("whsec_")
#define KEY_MIN 24
#define KEY_MAX 64
#define KEY_MADE 32

static bool read_secret(struct arena *a, const struct value *v, struct hook_settings *out)
{
    struct hook_secret *secret = &out->secrets[out->n_secrets];

    if (out->n_secrets == HOOK_SECRETS_MAX)
        return false;
    secret->text = value_get_text(v, STR("text"));
    secret->ends_at = value_get_int(v, STR("ends_at"), TIME_UNKNOWN);
    out->n_secrets++;
    secret->key = hook_secret_key(a, secret->text);
    return !str_is_null(secret->key);
}

static bool read_field(const struct value *v, struct hook_settings *out)
{
    struct str name = value_get_text(v, STR("name")), value = value_get_text(v, STR("value"));

    return hook_name_fault(name) == NULL && hook_value_fault(value) == NULL &&
           hook_field_set(out, name, value);
}

enum rc hook_settings_read(struct arena *a, struct str json, struct hook_settings *out,
                           struct err *err)
{
    struct hook_settings hs = {.n_secrets = 0};
    const struct value *secrets, *fields;
    struct value *v;
    bool ok = json_read(a, json, &v, NULL) == RC_OK && v->kind == VAL_DICT;

    secrets = ok ? value_get(v, STR("secrets")) : NULL;
    fields = ok ? value_get(v, STR("fields")) : NULL;
    for (size_t i = 0; ok && i < value_len(secrets); i++)
        ok = read_secret(a, value_at(secrets, i), &hs);
    for (size_t i = 0; ok && i < value_len(fields); i++)
        ok = read_field(value_at(fields, i), &hs);
    if (!ok || hs.n_secrets == 0) /* the cause would show what is secret */
        return err_set(err, RC_INPUT, "the stored settings of the webhook cannot be read");
    *out = hs;
    return RC_OK;
}

struct str hook_settings_write(struct arena *a, const struct hook_settings *hs)
{
    AUTO(buf_release) struct buf out = BUF_INIT(BUF_ANY);
    struct value *v = value_dict(a), *secrets = value_list(a), *fields = value_list(a);

    for (size_t i = 0; i < hs->n_secrets; i++) {
        struct value *one = value_dict(a);

        value_set_text(a, one, STR("text"), hs->secrets[i].text);
        if (hs->secrets[i].ends_at != TIME_UNKNOWN)
            value_set(a, one, STR("ends_at"), value_int(a, hs->secrets[i].ends_at));
        value_push(a, secrets, one);
    }
    for (size_t i = 0; i < hs->n_fields; i++) {
        struct value *one = value_dict(a);

        value_set_text(a, one, STR("name"), hs->fields[i].name);
        value_set_text(a, one, STR("value"), hs->fields[i].value);
        value_push(a, fields, one);
    }
    value_set(a, v, STR("secrets"), secrets);
    value_set(a, v, STR("fields"), fields);
    json_write(&out, v);
    return str_dup(a, buf_view(&out));
}

struct str hook_secret_make(struct arena *a)
{
    char key[KEY_MADE];

    digest_random(key, sizeof key);
    return str_concat(a, PREFIX, base64_write(a, str_of(key, sizeof key)));
}

struct str hook_secret_key(struct arena *a, struct str secret)
{
    struct str text = str_slice(secret, PREFIX.len, secret.len), key;

    if (!str_starts(secret, PREFIX) || text.len > KEY_MAX * 2)
        return STR_NULL;
    key = base64_read(a, text);
    /* some libraries of receivers do not read other ways of writing the same bytes */
    if (key.len < KEY_MIN || key.len > KEY_MAX || !str_eq(base64_write(a, key), text))
        return STR_NULL;
    return key;
}

void hook_secret_set(struct hook_settings *hs, struct str secret, int64_t now)
{
    struct hook_settings old = *hs;

    if (old.n_secrets > 0 && str_eq(old.secrets[0].text, secret))
        return;
    hs->n_secrets = 0;
    hs->secrets[hs->n_secrets++] = (struct hook_secret){secret, TIME_UNKNOWN, STR_NULL};
    for (size_t i = 0; i < hook_secrets_at(&old, now) && hs->n_secrets < HOOK_SECRETS_MAX; i++) {
        struct hook_secret *one = &old.secrets[i];

        if (str_eq(one->text, secret))
            continue;
        if (one->ends_at == TIME_UNKNOWN)
            one->ends_at = now + HOOK_ROTATION_S;
        hs->secrets[hs->n_secrets++] = *one;
    }
}

/* They end in the order in which they came, so those that sign stand in front. */
size_t hook_secrets_at(const struct hook_settings *hs, int64_t now)
{
    size_t n = 0;

    while (n < hs->n_secrets &&
           (hs->secrets[n].ends_at == TIME_UNKNOWN || hs->secrets[n].ends_at > now))
        n++;
    return n;
}

/* tchar of RFC 9110 section 5.6.2 */
static bool is_token_char(char c)
{
    return ascii_is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

const char *hook_name_fault(struct str name)
{
    static const char *const taken[] = {
        "Host",  "Connection", "Keep-Alive",       "Transfer-Encoding",
        "TE",    "Trailer",    "Proxy-Connection", "Upgrade",
        "Expect"};
    static const char *const families[] = {"Content-", "webhook-"};

    if (name.len == 0 || name.len > HOOK_NAME_MAX)
        return "must have a name of 1 to 128 bytes";
    for (size_t i = 0; i < name.len; i++)
        if (!is_token_char(name.ptr[i]))
            return "must have a name of letters, digits and !#$%&'*+-.^_`|~ only";
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (str_ieqz(name, taken[i]))
            return "belongs to HTTP, so it cannot be set";
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (str_istarts(name, str_from(families[i])))
            return "belongs to the delivery itself, so it cannot be set";
    return NULL;
}

const char *hook_value_fault(struct str value)
{
    if (value.len > HOOK_VALUE_MAX)
        return "is longer than 4096 bytes";
    if (str_utf8_valid(value) != value.len)
        return "is not UTF-8";
    for (size_t i = 0; i < value.len; i++)
        if (((unsigned char)value.ptr[i] < ' ' && value.ptr[i] != '\t') || value.ptr[i] == 0x7f)
            return "has a control character";
    return NULL;
}

bool hook_field_set(struct hook_settings *hs, struct str name, struct str value)
{
    size_t i = 0;

    while (i < hs->n_fields && !str_ieq(hs->fields[i].name, name))
        i++;
    if (value.len == 0) {
        if (i < hs->n_fields) {
            hs->n_fields--;
            memmove(&hs->fields[i], &hs->fields[i + 1], (hs->n_fields - i) * sizeof hs->fields[0]);
        }
        return true;
    }
    if (i == HOOK_FIELDS_MAX)
        return false;
    hs->fields[i] = (struct hook_field){name, value};
    if (i == hs->n_fields)
        hs->n_fields++;
    return true;
}
