/* mirror/host_rests.c - see host_rests.h. */
#include "mirror/host_rests.h"

#include <string.h>

void host_rests_add(struct host_rests *r, struct str host, int64_t until_s)
{
    size_t i = 0;

    while (i < r->n && !str_eqz(host, r->all[i].host))
        i++;
    if (host.len >= sizeof r->all[0].host || i == HOST_RESTS_MAX)
        return;
    if (i == r->n)
        r->n++;
    memcpy(r->all[i].host, host.ptr, host.len);
    r->all[i].host[host.len] = '\0';
    r->all[i].until_s = until_s;
}

bool host_rests_has(struct host_rests *r, struct str host, int64_t now_s)
{
    for (size_t i = 0; i < r->n; i++) {
        while (i < r->n && r->all[i].until_s <= now_s)
            r->all[i] = r->all[--r->n];
        if (i < r->n && str_eqz(host, r->all[i].host))
            return true;
    }
    return false;
}
