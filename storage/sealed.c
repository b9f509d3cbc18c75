/* storage/sealed.c - see sealed.h. */
#include "storage/sealed.h"

#include "storage/records.h"

#define KIND STR("secrets of feeds")

struct str sealed_secret(struct arena *a, const struct seal_key *key, struct str secret)
{
    return seal_text(a, key, KIND, secret);
}

struct str sealed_credential(struct arena *a, const struct seal_key *key, struct str credential)
{
    if (!str_is_null(access_key_of(credential)))
        return credential;
    return seal_text(a, key, KIND, credential);
}

enum rc sealed_check_others(size_t n, struct err *err)
{
    if (n == 0)
        return RC_OK;
    return err_set(err, RC_DENIED,
                   "option key-file: this is another key than the one with which %zu secrets of feeds "
                   "are sealed in the database. Start with that key. If it is lost, start without "
                   "--key-file, remove these feeds or give their secrets anew, and then start with "
                   "the new key",
                   n);
}

enum rc sealed_open(struct arena *a, const struct seal_key *key, struct str sealed, struct str *out,
                    struct err *err)
{
    return seal_open(a, key, KIND, sealed, out, err);
}
