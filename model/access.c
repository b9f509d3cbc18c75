/* model/access.c - see access.h. */
#include "model/access.h"

#include "base/compiler.h"

static const char *const names[] = {
#define ROLE(id, name, what) name,
#include "model/roles.def"
#undef ROLE
};

const char *role_name(enum access_role role)
{
    return names[role];
}

bool role_read(struct str name, enum access_role *out)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i])) {
            *out = (enum access_role)i;
            return true;
        }
    return false;
}
