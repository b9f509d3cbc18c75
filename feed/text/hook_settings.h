/* feed/text/hook_settings.h - what a webhook subscription has of its own: secrets that sign its
 * deliveries, and header fields that go with them. Stored as JSON.
 *
 * Everything here is SECRET, also the values of the fields: none of it may stand in a log, an
 * error, a list or an answer; only the answer that makes a secret tells it. A secret is "whsec_"
 * and Base64 of 24 to 64 bytes (Standard Webhooks). Pure, but for hook_secret_make(); any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define HOOK_SECRETS_MAX 4          /* that sign at the same time */
#define HOOK_ROTATION_S (24 * 3600) /* so long a secret signs after a new one has come */
#define HOOK_FIELDS_MAX 8
#define HOOK_NAME_MAX 128   /* bytes of a field's name */
#define HOOK_VALUE_MAX 4096 /* bytes of a field's value */

struct hook_settings {
    struct hook_secret {
        struct str text;
        int64_t ends_at; /* it signs before this time; TIME_UNKNOWN: it is the present one */
        struct str key;  /* hook_secret_key(), set by hook_settings_read() */
    } secrets[HOOK_SECRETS_MAX]; /* the newest first */
    size_t n_secrets;
    struct hook_field {
        struct str name, value;
    } fields[HOOK_FIELDS_MAX];
    size_t n_fields;
};

/* Read stored settings. RC_INPUT: they are not what hook_settings_write() writes, or have no
 * secret. Strings: arena. */
enum rc hook_settings_read(struct arena *a, struct str json, struct hook_settings *out,
                           struct err *err) NODISCARD;

/* Returns the settings as JSON. Arena. */
struct str hook_settings_write(struct arena *a, const struct hook_settings *hs);

/* Returns a new secret. Arena. */
struct str hook_secret_make(struct arena *a);

/* Returns the bytes with which a secret signs. Null: it is not a secret. Arena. */
struct str hook_secret_key(struct arena *a, struct str secret);

/* Sign with this secret from now on. The one before it signs, too, for HOOK_ROTATION_S. The string
 * is borrowed. `now`: Unix seconds. */
void hook_secret_set(struct hook_settings *hs, struct str secret, int64_t now);

/* Returns the secrets that sign at this time: their number. They are the first ones. */
size_t hook_secrets_at(const struct hook_settings *hs, int64_t now);

/* Can a subscriber's own field have this name or value? Returns NULL, or says what is wrong, as the
 * end of the sentence "it ...". Names that HTTP or Standard Webhooks need are taken. */
const char *hook_name_fault(struct str name);
const char *hook_value_fault(struct str value);

/* Set a field, or remove it when the value is empty. The strings are borrowed. False: there are
 * HOOK_FIELDS_MAX others. */
bool hook_field_set(struct hook_settings *hs, struct str name, struct str value) NODISCARD;
