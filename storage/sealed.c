/* storage/sealed.c - see sealed.h. */
#include "storage/sealed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "storage/records.h"

#define NAMED 5 /* feeds in a message */
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

struct str sealed_key_id(struct arena *a, const struct seal_key *key)
{
    struct str beginning = seal_beginning(a, key);

    return str_slice(beginning, 1, beginning.len);
}

static int by_number(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

enum rc sealed_check_others(int64_t *feed_ids, size_t n, struct err *err)
{
    AUTO(buf_release) struct buf named = BUF_INIT(BUF_ANY);
    size_t n_feeds = 0;

    if (n == 0)
        return RC_OK;
    qsort(feed_ids, n, sizeof *feed_ids, by_number);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && feed_ids[i] == feed_ids[i - 1])
            continue;
        if (n_feeds++ < NAMED)
            buf_printf(&named, "%s%" PRId64, named.len > 0 ? ", " : "", feed_ids[i]);
    }
    if (n_feeds > NAMED)
        buf_printf(&named, " and %zu more", n_feeds - NAMED);
    return err_set(err, RC_DENIED,
                   "option key-file: this is another key than the one with which the secrets of %zu feeds "
                   "are sealed in the database (with the ids %.*s). Start with that key. If it is lost, start "
                   "without --key-file, remove these feeds or give their secrets anew, and then start with "
                   "the new key",
                   n_feeds, STR_ARG(buf_view(&named)));
}

enum rc sealed_check_noted(struct str noted, struct str ours, struct err *err)
{
    if (str_is_null(noted) || str_eq(noted, ours))
        return RC_OK;
    return err_set(err, RC_DENIED,
                   "option key-file: this is another key than the one that this database was given before. All "
                   "daemons need the same key. To take another one while nothing is sealed, start once without "
                   "--key-file");
}

void sealed_warn_keyless(struct str noted)
{
    log_warn("storage", "key_missing", "key=%s effect=what_was_sealed_cannot_be_read option=key-file",
             log_quote(noted));
}

enum rc sealed_open(struct arena *a, const struct seal_key *key, struct str sealed, struct str *out,
                    struct err *err)
{
    return seal_open(a, key, KIND, sealed, out, err);
}
