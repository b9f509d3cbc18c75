/* mirror/files.c - see files.h. */
#include "mirror/files.h"

#include "feed/text/json.h"
#include "model/value.h"

static bool is_known(const struct entry_file *files, size_t n, struct str url)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(files[i].url, url))
            return true;
    return false;
}

static void put(struct entry_file *out, size_t *n, struct str url, struct str type)
{
    bool is_http = str_istarts(url, STR("http://")) || str_istarts(url, STR("https://"));

    if (is_http && *n < ENTRY_FILES_MAX && !is_known(out, *n, url))
        out[(*n)++] = (struct entry_file){url, type};
}

/* `member` has the URL of each element of the list. */
static void put_list(struct entry_file *out, size_t *n, const struct value *list, struct str member)
{
    for (size_t i = 0; i < value_len(list); i++)
        put(out, n, value_get_text(value_at(list, i), member),
            value_get_textz(value_at(list, i), "type"));
}

size_t entry_files(struct arena *a, struct str doc, struct entry_file out[ENTRY_FILES_MAX])
{
    const struct value *links;
    struct value *obj = NULL;
    size_t n = 0;

    if (doc.len == 0 || json_read(a, doc, &obj, NULL) != RC_OK)
        return 0;
    put_list(out, &n, value_getz(obj, "enclosures"), STR("href"));
    links = value_getz(obj, "links");
    for (size_t i = 0; i < value_len(links); i++) {
        const struct value *link = value_at(links, i);

        if (str_ieqz(value_get_textz(link, "rel"), "enclosure"))
            put(out, &n, value_get_textz(link, "href"), value_get_textz(link, "type"));
    }
    put_list(out, &n, value_getz(obj, "media_content"), STR("url"));
    return n;
}
