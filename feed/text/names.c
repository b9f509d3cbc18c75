/* feed/text/names.c - the namespaces of feeds, with the prefixes that the Universal Feed Parser
 * gives them, whatever prefix a document uses. The first row of a prefix has the URI that is
 * written. */
#include "feed/text/names.h"

#include "base/compiler.h"

static const struct ns table[] = {
    {"http://www.w3.org/2005/atom", ""},
    {"http://purl.org/rss/1.0/", ""},
    {"http://purl.org/atom/ns#", ""},
    {"http://my.netscape.com/rdf/simple/0.9/", ""},
    {"http://channel.netscape.com/rdf/simple/0.9/", ""},
    {"http://backend.userland.com/rss", ""},
    {"http://blogs.law.harvard.edu/tech/rss", ""},
    {"http://purl.org/net/rss1.1#", ""},
    {"http://example.com/newformat#", ""},
    {"http://example.com/necho", ""},
    {"http://purl.org/echo/", ""},
    {"uri/of/echo/namespace#", ""},
    {"http://purl.org/pie/", ""},
    {"http://purl.org/rss/1.0/modules/rss091#", ""},
    {NS_UNKNOWN, ""},
    {"http://webns.net/mvcb/", "admin"},
    {"http://purl.org/rss/1.0/modules/aggregation/", "ag"},
    {"http://purl.org/rss/1.0/modules/annotate/", "annotate"},
    {"http://purl.org/atompub/tombstones/1.0", "at"},
    {"http://media.tangent.org/rss/1.0/", "audio"},
    {"http://backend.userland.com/blogchannelmodule", "blogChannel"},
    {"http://web.resource.org/cc/", "cc"},
    {"http://creativecommons.org/ns#license", "cc"},
    {"http://creativecommons.org/ns#", "cc"},
    {"http://purl.org/rss/1.0/modules/company", "co"},
    {"http://purl.org/rss/1.0/modules/content/", "content"},
    {"http://my.theinfo.org/changed/1.0/rss/", "cp"},
    {"http://backend.userland.com/creativecommonsrssmodule", "creativeCommons"},
    {"http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html", "creativeCommons"},
    {"http://purl.org/dc/elements/1.1/", "dc"},
    {"http://purl.org/dc/terms/", "dcterms"},
    {"http://digg.com/docs/diggrss/", "digg"},
    {"http://purl.org/rss/1.0/modules/email/", "email"},
    {"http://purl.org/rss/1.0/modules/event/", "ev"},
    {"http://rssnamespace.org/feedburner/ext/1.0", "feedburner"},
    {"http://purl.org/syndication/history/1.0", "fh"},
    {"http://fanout.org/protocol/atom", "fo"},
    {"http://freshmeat.net/rss/fm/", "fm"},
    {"http://xmlns.com/foaf/0.1/", "foaf"},
    {"http://www.w3.org/2003/01/geo/wgs84_pos#", "geo"},
    {"http://www.georss.org/georss", "georss"},
    {"http://www.opengis.net/gml", "gml"},
    {"http://www.google.com/schemas/play-podcasts/1.0", "googleplay"},
    {"http://postneo.com/icbm/", "icbm"},
    {"http://purl.org/rss/1.0/modules/image/", "image"},
    {"http://www.itunes.com/dtds/podcast-1.0.dtd", "itunes"},
    {"http://example.com/dtds/podcast-1.0.dtd", "itunes"},
    {"http://purl.org/rss/1.0/modules/link/", "l"},
    {"http://search.yahoo.com/mrss/", "media"},
    {"http://madskills.com/public/xml/rss/module/pingback/", "pingback"},
    {"https://podcastindex.org/namespace/1.0", "podcast"},
    {"https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md", "podcast"},
    {"http://prismstandard.org/namespaces/1.2/basic/", "prism"},
    {"http://podlove.org/simple-chapters", "psc"},
    {"http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf"},
    {"http://www.w3.org/2000/01/rdf-schema#", "rdfs"},
    {"http://purl.org/rss/1.0/modules/reference/", "ref"},
    {"http://purl.org/rss/1.0/modules/richequiv/", "reqv"},
    {"http://purl.org/rss/1.0/modules/search/", "search"},
    {"http://purl.org/rss/1.0/modules/slash/", "slash"},
    {"http://schemas.xmlsoap.org/soap/envelope/", "soap"},
    {"http://purl.org/rss/1.0/modules/servicestatus/", "ss"},
    {"http://hacks.benhammersley.com/rss/streaming/", "str"},
    {"http://purl.org/rss/1.0/modules/subscription/", "sub"},
    {"http://www.w3.org/2000/svg", "svg"},
    {"http://purl.org/rss/1.0/modules/syndication/", "sy"},
    {"http://schemas.pocketsoap.com/rss/mydescmodule/", "szf"},
    {"http://purl.org/rss/1.0/modules/taxonomy/", "taxo"},
    {"http://purl.org/syndication/thread/1.0", "thr"},
    {"http://purl.org/rss/1.0/modules/threading/", "thr"},
    {"http://purl.org/rss/1.0/modules/textinput/", "ti"},
    {"http://madskills.com/public/xml/rss/module/trackback/", "trackback"},
    {"http://wellformedweb.org/commentapi/", "wfw"},
    {"http://purl.org/rss/1.0/modules/wiki/", "wiki"},
    {"http://www.w3.org/1999/xhtml", "xhtml"},
    {"http://www.w3.org/1999/xlink", "xlink"},
    {"http://www.w3.org/xml/1998/namespace", "xml"},
};

/* Returns the part that tells namespaces apart: without the scheme, because some publishers change
 * it to https, and without the slash at the end, because some forget it. */
static struct str essence(struct str uri)
{
    if (str_istarts(uri, STR("https://")))
        uri = str_slice(uri, 8, uri.len);
    else if (str_istarts(uri, STR("http://")))
        uri = str_slice(uri, 7, uri.len);
    if (str_ends(uri, STR("/")))
        uri.len--;
    return uri;
}

/* Returns true when `uri`, from essence(), is the URI of the row `z`. Letter case does not
 * matter. */
static bool is_essence_of(struct str uri, const char *z)
{
    size_t i = 0;

    if (strncmp(z, "http://", 7) == 0)
        z += 7;
    else if (strncmp(z, "https://", 8) == 0)
        z += 8;
    while (i < uri.len && z[i] != '\0' &&
           (uri.ptr[i] == z[i] ||
            (uri.ptr[i] >= 'A' && uri.ptr[i] <= 'Z' && uri.ptr[i] + ('a' - 'A') == z[i])))
        i++;
    return i == uri.len && (z[i] == '\0' || strcmp(z + i, "/") == 0);
}

const struct ns *ns_find(struct str uri)
{
    uri = essence(str_trim(uri));
    /* publishers write backend.userland.com/rss, /rss2, /RSS091 ... */
    if (str_ifind(uri, STR("backend.userland.com/rss")) >= 0)
        uri = STR("backend.userland.com/rss");
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (is_essence_of(uri, table[i].uri))
            return &table[i];
    return NULL;
}

const char *ns_uri_of_prefix(struct str prefix)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].prefix[0] != '\0' && str_ieqz(prefix, table[i].prefix))
            return table[i].uri;
    return NULL;
}

bool member_is_shaped(struct str key)
{
    static const char *const names[] = {"authors", "content", "contributors", "enclosures",
                                        "links",   "source",  "summaries",    "tags"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eqz(key, names[i]))
            return true;
    return str_ends(key, STR("_parsed")) || str_ends(key, STR("_detail"));
}
