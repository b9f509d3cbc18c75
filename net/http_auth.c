/* net/http_auth.c - see http_auth.h. */
#include "net/http_auth.h"

#include "base/arena.h"
#include "base/digest.h"
#include "base/mem.h"

#define PLACES 4096

struct http_auth {
    uint64_t basic[PLACES]; /* by the lowest bits; 0: free */
};

struct http_auth *http_auth_new(void)
{
    return NEW(struct http_auth);
}

void http_auth_free(struct http_auth **ap)
{
    mem_free(*ap);
    *ap = NULL;
}

/* A URL has no spaces. */
static uint64_t key_of(struct str url, struct str credential)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str both = str_printf(&a, "%.*s %.*s", STR_ARG(url), STR_ARG(credential));

    return digest_seeded64(both.ptr, both.len);
}

bool http_auth_is_basic(const struct http_auth *auth, struct str url, struct str credential)
{
    uint64_t key = key_of(url, credential);

    return key != 0 && auth->basic[key % PLACES] == key;
}

void http_auth_set_basic(struct http_auth *auth, struct str url, struct str credential, bool is)
{
    uint64_t key = key_of(url, credential), *place = &auth->basic[key % PLACES];

    if (is)
        *place = key;
    else if (*place == key)
        *place = 0;
}
