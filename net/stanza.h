/* net/stanza.h - an XMPP stanza, or an element in it, as a tree. Pure; any thread.
 *
 * A tree lives in the arena in which it was made. What somebody sends may be of any shape, so trees
 * are cut: at STANZA_DEPTH, and after STANZA_ELEMENTS. What the protocols here need is far smaller.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define STANZA_DEPTH 16
#define STANZA_ELEMENTS 256

struct stanza_attribute {
    struct str name, value;
};

struct stanza {
    struct str name;
    struct str ns; /* the namespace that is in force; null: none */
    struct stanza_attribute *attributes;
    size_t n_attributes;
    struct str text; /* its own characters, without those of its children */
    struct stanza *children, *next;
};

/* Returns the value of an attribute; null: it is missing. */
struct str stanza_attribute(const struct stanza *s, const char *name);

/* Returns the first child with this name and namespace (NULL: any); NULL: there is none. `s` may be
 * NULL. */
const struct stanza *stanza_child(const struct stanza *s, const char *name, const char *ns);
