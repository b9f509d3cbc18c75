/* tests/documents/identify.c - see identify.h. */
#include "tests/documents/identify.h"

#include "base/assert.h"

/* The same entries, told that all of them are known. With many that share a mark some are not
 * looked at. */
static void see_again(struct arena *a, const struct identity_entry *list, size_t n,
                      const struct str *uids, enum identity_rule rule)
{
    struct identity_known *known = ARENA_ARRAY(a, struct identity_known, n + 1);
    size_t *who = ARENA_ARRAY(a, size_t, n + 1), *owner = ARENA_ARRAY(a, size_t, n + 1);
    size_t n_known = 0;

    for (size_t i = 0; i < n; i++) {
        ASSERT(str_is_null(uids[i]) == list[i].is_double);
        owner[i] = n_known;
        if (list[i].is_double)
            continue;
        known[n_known] =
            (struct identity_known){.uid = uids[i], .has_marks = true, .marks = list[i].marks};
        memcpy(known[n_known++].essence, list[i].essence, sizeof list[i].essence);
    }
    identity_match(list, n, known, n_known, rule, who);
    for (size_t i = 0; i < n && n_known <= IDENTITY_CANDIDATES; i++)
        ASSERT(list[i].is_double || who[i] == owner[i]);
}

void identify(struct arena *a, const struct feed_doc *doc, struct str *uids)
{
    size_t n = doc->n_entries;
    struct identity_entry *list = ARENA_ARRAY(a, struct identity_entry, n + 1);
    size_t *nobody = ARENA_ARRAY(a, size_t, n + 1);

    for (size_t i = 0; i < n; i++)
        nobody[i] = IDENTITY_NEW;
    identity_read(a, doc, list);
    for (enum identity_rule rule = IDENTITY_HASH; rule >= IDENTITY_GUID; rule--) {
        identity_find_doubles(list, n, rule);
        identity_names(a, list, n, NULL, 0, nobody, rule, 0, uids);
        see_again(a, list, n, uids, rule);
    }
}
