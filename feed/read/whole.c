/* feed/read/whole.c - see whole.h. */
#include "feed/read/whole.h"

#include <string.h>

#define NAME_MAX_LEN 64 /* of a tag that is looked at; longer ones are none of those that matter */

/* The name of the tag that begins after `tag`'s '<' and '/', without its prefix. */
static struct str local_name(struct str tag)
{
    size_t n = 0, from = 0;

    while (n < tag.len && n < NAME_MAX_LEN && strchr(" \t\r\n/>", tag.ptr[n]) == NULL)
        if (tag.ptr[n++] == ':')
            from = n;
    return str_slice(tag, from, n);
}

#define DEPTH_OF_ITEM 3 /* { "items": [ { */

static enum feed_end end_of_json(struct str json)
{
    bool is_text = false;
    long depth = 0;

    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];

        if (is_text && c == '\\')
            i++;
        else if (c == '"')
            is_text = !is_text;
        else if (!is_text)
            depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    }
    return depth >= DEPTH_OF_ITEM   ? FEED_END_IN_ENTRY
           : is_text || depth > 0 ? FEED_END_BETWEEN
                                    : FEED_END_WHOLE;
}

enum feed_end feed_text_end(struct str text)
{
    text = str_trim(text);
    if (str_starts(text, STR("{")))
        return end_of_json(text);
    for (size_t at = text.len; at-- > 0;) {
        bool ends;
        struct str name;

        if (text.ptr[at] != '<')
            continue;
        ends = at + 1 < text.len && text.ptr[at + 1] == '/';
        name = local_name(str_slice(text, at + 1 + ends, text.len));
        if (str_ieqz(name, "item") || str_ieqz(name, "entry"))
            return ends ? FEED_END_BETWEEN : FEED_END_IN_ENTRY;
        if (ends && (str_ieqz(name, "rss") || str_ieqz(name, "feed") || str_ieqz(name, "rdf")))
            return FEED_END_WHOLE;
    }
    return FEED_END_BETWEEN;
}
