/* feed/write/out_source.c - reads the source that the publisher gave for an entry. */
#include "feed/text/date.h"
#include "feed/text/iri.h"
#include "feed/text/uri.h"
#include "feed/write/writer_priv.h"

/* Returns the URL of the feed from which the entry was taken: RSS's url, or Atom's self link. */
static struct str source_url(struct arena *a, const struct value *source, struct str base)
{
    const struct value *links = value_getz(source, "links");
    struct str url = value_get_textz(source, "href");

    if (url.len == 0)
        url = value_get_textz(source, "url");
    for (size_t i = 0; i < value_len(links) && url.len == 0; i++)
        if (str_eqz(value_get_textz(value_at(links, i), "rel"), "self"))
            url = value_get_textz(value_at(links, i), "href");
    url = url.len == 0 ? url : iri_escape(a, uri_resolve(a, base, url), false);
    return iri_is_http(url) && iri_is_permanent(url) ? url : STR_NULL;
}

bool out_source_read(struct arena *a, const struct value *obj, struct str base,
                     struct out_feed *feed, struct out_parts *out)
{
    struct value *source = value_getz(obj, "source");
    struct str id;

    if (source == NULL || source->kind != VAL_DICT)
        return false;
    out_parts_read(a, source, STR(""), base, true, out);
    *feed = (struct out_feed){.url = source_url(a, source, base),
                              .obj = source,
                              .updated_at = date_of_nine(value_getz(source, "updated_parsed"))};
    id = str_trim(value_get_textz(source, "id"));
    if (str_is_null(feed->url) && str_is_null(out->link) && !out_is_atom_id(a, id))
        return false; /* nothing tells which feed it is */
    if (str_is_null(out->title.value))
        out->title.value =
            out_feed_name(a, STR_NULL, str_is_null(feed->url) ? out->link : feed->url);
    return true;
}
