/* net/stanza.c - see stanza.h. */
#include "net/stanza.h"

struct str stanza_attribute(const struct stanza *s, const char *name)
{
    for (size_t i = 0; i < s->n_attributes; i++)
        if (str_eqz(s->attributes[i].name, name))
            return s->attributes[i].value;
    return STR_NULL;
}

const struct stanza *stanza_child(const struct stanza *s, const char *name, const char *ns)
{
    for (const struct stanza *c = s == NULL ? NULL : s->children; c != NULL; c = c->next)
        if (str_eqz(c->name, name) && (ns == NULL || str_eqz(c->ns, ns)))
            return c;
    return NULL;
}
