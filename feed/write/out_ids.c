/* feed/write/out_ids.c - the ids and times with which entries and feeds are written, in all
 * formats. */
#include "base/digest.h"
#include "feed/text/date.h"
#include "feed/text/iri.h"
#include "feed/write/writer_priv.h"

/* The namespace for names that are URLs (RFC 9562). */
static const unsigned char ns_url[16] = {0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                         0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};

/* Other rules of the id's scheme are not checked (the namespace in "urn:e1" is missing). Readers
 * compare ids, so they must get the id that was published. */
bool out_is_atom_id(struct arena *a, struct str s)
{
    return iri_is_permanent(s) && !iri_is_script(s) && str_eq(iri_escape(a, s, false), s);
}

static struct str uuid_of(struct arena *a, struct str name)
{
    char uuid[37];

    digest_uuid5(ns_url, name, uuid);
    return str_printf(a, "urn:uuid:%s", uuid);
}

struct str feed_entry_iri(struct arena *a, struct str id_url, struct str uid)
{
    if (out_is_atom_id(a, uid))
        return uid;
    /* a URL has no line end, so two different pairs never give the same name */
    return uuid_of(a, str_printf(a, "%.*s\n%.*s", STR_ARG(id_url), STR_ARG(uid)));
}

static struct str id_url_of(const struct out_feed *feed)
{
    return feed->id_url.len > 0 ? feed->id_url : feed->url;
}

struct str out_entry_iri(struct arena *a, const struct out_entry *e)
{
    return feed_entry_iri(a, e->id_url.len > 0 ? e->id_url : id_url_of(e->feed), e->uid);
}

struct str feed_iri(struct arena *a, const struct out_feed *feed)
{
    struct str id = str_trim(value_get_textz(feed->obj, "id")), base = id_url_of(feed);

    if (out_is_atom_id(a, id))
        return id;
    return uuid_of(a, str_is_null(base) ? value_get_textz(feed->obj, "link") : base);
}

struct str out_feed_name(struct arena *a UNUSED, struct str title, struct str url)
{
    struct str host = iri_host(url);

    return title.len > 0 ? title : host.len > 0 ? host : STR("unknown");
}

int64_t out_entry_updated(const struct out_entry *e)
{
    if (e->changed_at != 0)
        return e->changed_at;
    if (e->updated_at != TIME_UNKNOWN)
        return e->updated_at;
    return e->published_at != TIME_UNKNOWN ? e->published_at : e->received_at;
}

int64_t out_feed_updated(const struct out_feed *feed)
{
    int64_t at = date_of_nine(value_getz(feed->obj, "updated_parsed"));

    return at == TIME_UNKNOWN ? feed->updated_at : at;
}

bool out_entry_is_first(struct arena *a, struct map *seen, const struct out_doc *doc,
                        const struct out_entry *e)
{
    struct str iri;
    const struct out_feed *owner;

    if (!doc->merged || doc->repeats)
        return true;
    iri = out_entry_iri(a, e);
    owner = map_get(seen, iri);
    if (owner == NULL) {
        map_put(seen, iri, (void *)(uintptr_t)e->feed);
        return true;
    }
    return owner == e->feed;
}
