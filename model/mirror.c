/* model/mirror.c - see mirror.h. */
#include "model/mirror.h"

#include "base/ascii.h"
#include "base/compiler.h"
#include "model/paths.h"

const char *mirror_state_name(enum mirror_state state)
{
    static const char *const names[] = {"waiting", "stored", "failed", "dropped"};

    return names[(size_t)state < ARRAY_LEN(names) ? state : MIRROR_FAILED];
}

struct str mirror_key(struct arena *a, struct str url)
{
    unsigned char digest[DIGEST_SHA256_LEN];
    char *hex = arena_alloc(a, MIRROR_KEY_LEN + 1);

    digest_sha256(url, digest);
    digest_hex(digest, sizeof digest, hex);
    return str_of(hex, MIRROR_KEY_LEN);
}

bool mirror_is_digest(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!((s.ptr[i] >= '0' && s.ptr[i] <= '9') || (s.ptr[i] >= 'a' && s.ptr[i] <= 'f')))
            return false;
    return s.len == MIRROR_KEY_LEN;
}

struct str mirror_path(struct arena *a, struct str dir, struct str sha256)
{
    return str_printf(a, "%.*s/%.2s/%.*s", STR_ARG(dir), sha256.ptr, STR_ARG(sha256));
}

struct str mirror_url(struct arena *a, struct str origin, struct str sha256, struct str url)
{
    return str_printf(a, "%.*s" PATH_ENCLOSURE "/%.*s/%.*s", STR_ARG(origin), STR_ARG(sha256),
                      STR_ARG(mirror_name_encoded(a, mirror_name(a, url))));
}

bool mirror_has_type(struct str list, struct str type)
{
    type = str_trim(str_split(&type, ';'));
    while (!str_is_null(list)) {
        struct str item = str_trim(str_split(&list, ','));
        bool is_open = str_ends(item, STR("/*"));

        if (str_eqz(item, "*/*") || (item.len > 0 && str_ieq(item, type)) ||
            (is_open && str_istarts(type, str_slice(item, 0, item.len - 1))))
            return true;
    }
    return false;
}
