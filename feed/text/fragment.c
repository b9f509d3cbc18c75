/* feed/text/fragment.c - cuts fragments at their tags. */
#include "feed/text/fragment.h"

#include "base/ascii.h"

size_t fragment_tag_len(struct str s)
{
    char quote = 0;

    for (size_t i = 1; i < s.len; i++) {
        char c = s.ptr[i];
        if (quote != 0)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>')
            return i + 1;
    }
    return s.len;
}

struct str fragment_attr(struct str tag, struct str name)
{
    size_t i = 0;

    while (i < tag.len && !ascii_is_space(tag.ptr[i]))
        i++;
    while (i < tag.len) {
        struct str key;
        size_t from;
        char quote;
        while (i < tag.len && ascii_is_space(tag.ptr[i]))
            i++;
        from = i;
        while (i < tag.len && !ascii_is_space(tag.ptr[i]) && tag.ptr[i] != '=')
            i++;
        key = str_slice(tag, from, i);
        while (i < tag.len && tag.ptr[i] != '"' && tag.ptr[i] != '\'' && tag.ptr[i] != '>')
            i++;
        if (i >= tag.len || tag.ptr[i] == '>')
            return STR_NULL;
        quote = tag.ptr[i];
        from = ++i;
        while (i < tag.len && tag.ptr[i] != quote)
            i++;
        if (str_eq(key, name))
            return str_slice(tag, from, i);
        i++;
    }
    return STR_NULL;
}

/* Returns the length of the element at the beginning of `s`, including its end tag; 0 when there is
 * none. */
static size_t element_len(struct str s)
{
    size_t at = 0;
    int depth = 0;

    while (at < s.len) {
        struct str rest = str_slice(s, at, s.len);
        size_t n;
        if (rest.ptr[0] != '<') {
            ssize_t next = str_chr(rest, '<');
            if (next < 0)
                return 0;
            at += (size_t)next;
            continue;
        }
        n = fragment_tag_len(rest);
        if (n > 1 && rest.ptr[1] == '/')
            depth--;
        else if (!(n > 2 && rest.ptr[n - 2] == '/'))
            depth++;
        at += n;
        if (depth <= 0)
            return at;
    }
    return 0;
}

bool fragment_next(struct str *rest, struct fragment_element *out)
{
    ssize_t from = str_chr(*rest, '<');
    char key[6 + 64];
    size_t n = 1;
    ssize_t colon;
    struct str name;

    if (from < 0)
        return false;
    *rest = str_slice(*rest, (size_t)from, rest->len);
    out->text = str_slice(*rest, 0, element_len(*rest));
    if (out->text.len == 0) /* the fragment was cut; half an element must not be used */
        return false;
    *rest = str_slice(*rest, out->text.len, rest->len);
    out->tag = str_slice(out->text, 0, fragment_tag_len(out->text));
    while (n < out->tag.len && !ascii_is_space(out->tag.ptr[n]) &&
           strchr("/>", out->tag.ptr[n]) == NULL)
        n++;
    name = str_slice(out->tag, 1, n);
    colon = str_chr(name, ':');
    out->local = str_slice(name, (size_t)(colon + 1), name.len);
    out->ns = STR_NULL;
    if (colon < 0) {
        out->ns = fragment_attr(out->tag, STR("xmlns"));
    } else if ((size_t)colon < sizeof key - 6) {
        memcpy(key, "xmlns:", 6);
        memcpy(key + 6, name.ptr, (size_t)colon);
        out->ns = fragment_attr(out->tag, str_of(key, 6 + (size_t)colon));
    }
    if (str_is_null(out->ns))
        out->ns = STR("");
    return true;
}
