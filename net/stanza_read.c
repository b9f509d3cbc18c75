/* net/stanza_read.c - see stanza_read.h. */
#include "net/stanza_read.h"

#include <strophe.h>

#include "base/buf.h"

struct copying {
    struct arena *a;
    size_t n;
};

static void copy_attributes(struct copying *cp, xmpp_stanza_t *from, struct stanza *to)
{
    int n = xmpp_stanza_get_attribute_count(from);
    const char **list;

    if (n <= 0)
        return;
    list = ARENA_ARRAY(cp->a, const char *, 2 * (size_t)n);
    n = xmpp_stanza_get_attributes(from, list, 2 * n);
    to->attributes = ARENA_ARRAY(cp->a, struct stanza_attribute, (size_t)n / 2 + 1);
    for (int i = 0; i + 1 < n; i += 2)
        to->attributes[to->n_attributes++] = (struct stanza_attribute){
            str_dup(cp->a, str_from(list[i])), str_dup(cp->a, str_from(list[i + 1]))};
}

/* Copy an element with what is in it, within the bounds of stanza.h. */
static struct stanza *copy_stanza(struct copying *cp, xmpp_stanza_t *from, int depth)
{
    struct stanza *to = ARENA_NEW(cp->a, struct stanza), **last = &to->children;
    AUTO(buf_release) struct buf text = BUF_INIT(BUF_ANY);

    *to = (struct stanza){.name = str_dup(cp->a, str_from(xmpp_stanza_get_name(from))),
                          .ns = STR_NULL};
    if (xmpp_stanza_get_ns(from) != NULL)
        to->ns = str_dup(cp->a, str_from(xmpp_stanza_get_ns(from)));
    cp->n++;
    copy_attributes(cp, from, to);
    for (xmpp_stanza_t *in = xmpp_stanza_get_children(from); in != NULL;
         in = xmpp_stanza_get_next(in)) {
        if (xmpp_stanza_is_text(in)) {
            const char *part = xmpp_stanza_get_text_ptr(in);

            buf_puts(&text, part == NULL ? "" : part);
        } else if (depth < STANZA_DEPTH && cp->n < STANZA_ELEMENTS) {
            *last = copy_stanza(cp, in, depth + 1);
            last = &(*last)->next;
        }
    }
    to->text = str_dup(cp->a, buf_view(&text));
    return to;
}

struct stanza *stanza_read(struct arena *a, struct _xmpp_stanza_t *from)
{
    struct copying cp = {a, 0};

    return copy_stanza(&cp, from, 0);
}
