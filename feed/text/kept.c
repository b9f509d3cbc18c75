/* feed/text/kept.c - see kept.h. */
#include "feed/text/kept.h"

#include "base/compiler.h"
#include "feed/text/fragment.h"

static const char *const names[KEPT_NONE] = {
    [KEPT_ITSELF] = "itself",
    [KEPT_TITLE] = "title",
    [KEPT_ID] = "id",
    [KEPT_PUBLISHED] = "published",
    [KEPT_UPDATED] = "updated",
    [KEPT_SUMMARY] = "summary",
    [KEPT_CONTENT] = "content",
    [KEPT_RIGHTS] = "rights",
    [KEPT_GENERATOR] = "generator",
    [KEPT_LINK] = "link",
    [KEPT_TAG] = "tag",
    [KEPT_AUTHOR] = "author",
    [KEPT_CONTRIBUTOR] = "contributor",
};

const char *kept_name(enum kept_on on)
{
    return names[on];
}

void kept_open(struct buf *ext, enum kept_on on, size_t n)
{
    buf_printf(ext, "<f:in xmlns:f=\"" NS_KEPT "\" e=\"%s\" n=\"%zu\">", names[on], n);
}

void kept_close(struct buf *ext)
{
    buf_puts(ext, "</f:in>");
}

const struct kept kept_none;

static enum kept_on on_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(name, names[i]))
            return (enum kept_on)i;
    return KEPT_NONE;
}

const struct kept *kept_read(struct arena *a, struct str ext)
{
    struct fragment_element el;
    struct kept *m;

    if (str_find(ext, STR(NS_KEPT)) < 0)
        return &kept_none;
    m = ARENA_NEW(a, struct kept);
    while (m->n < KEPT_MAX && fragment_next(&ext, &el)) {
        struct str n = fragment_attr(el.tag, STR("n"));
        int64_t index;

        if (!str_eqz(el.ns, NS_KEPT) || !str_to_i64(n, &index) || index < 0)
            continue;
        m->list[m->n].on = on_of(fragment_attr(el.tag, STR("e")));
        m->list[m->n].n = (size_t)index;
        if (str_eqz(el.local, "on")) /* what follows the value of `n` */
            m->list[m->n].text =
                str_slice(el.tag, (size_t)(n.ptr - el.tag.ptr) + n.len + 1, el.tag.len - 2);
        else
            m->list[m->n].inner = str_slice(el.text, el.tag.len, el.text.len - strlen("</f:in>"));
        m->n++;
    }
    return m;
}

struct str kept_get(const struct kept *m, enum kept_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->list[i].on == on && m->list[i].n == n && !str_is_null(m->list[i].text))
            return m->list[i].text;
    return STR("");
}

static bool is_inner(const struct kept *m, size_t i, enum kept_on on, size_t n)
{
    return m->list[i].on == on && m->list[i].n == n && !str_is_null(m->list[i].inner);
}

bool kept_inner(const struct kept *m, enum kept_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (is_inner(m, i, on, n))
            return true;
    return false;
}

void kept_put_inner(struct buf *out, const struct kept *m, enum kept_on on, size_t n)
{
    for (size_t i = 0; i < m->n; i++)
        if (is_inner(m, i, on, n))
            buf_str(out, m->list[i].inner);
}
