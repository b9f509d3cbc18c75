/* feed/read/whole.c - see whole.h. */
#include "feed/read/whole.h"

#include "feed/read/sniff.h"

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
    return depth >= DEPTH_OF_ITEM ? FEED_END_IN_ENTRY
           : is_text || depth > 0 ? FEED_END_BETWEEN
                                  : FEED_END_WHOLE;
}

enum feed_end feed_text_end(struct str text)
{
    size_t after; /* where the tag after this one begins: no name reaches so far, or each byte would be read often */

    text = str_trim(text);
    if (str_starts(text, STR("{")))
        return end_of_json(text);
    after = text.len;
    for (size_t at = text.len; at-- > 0;) {
        bool ends;
        struct str name;

        if (text.ptr[at] != '<')
            continue;
        ends = at + 1 < text.len && text.ptr[at + 1] == '/';
        name = sniff_tag_name(str_slice(text, at + ends, after));
        after = at;
        if (str_ieqz(name, "item") || str_ieqz(name, "entry"))
            return ends ? FEED_END_BETWEEN : FEED_END_IN_ENTRY;
        if (ends && (str_ieqz(name, "rss") || str_ieqz(name, "feed") || str_ieqz(name, "rdf")))
            return FEED_END_WHOLE;
    }
    return FEED_END_BETWEEN;
}
