/* api/views/forms.c - see forms.h. Sources: Simplefeed; RFC 5005 sections 2 and 4; Feed History
 * draft-00 sections 3 and 4; Atom-PMH; RFC 6721. */
#include "api/views/forms.h"

#include <inttypes.h>

#include "base/assert.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "model/paths.h"

/* The namespace of object identifiers (RFC 9562), for names that only we make. */
static const unsigned char ns_oid[16] = {0x6b, 0xa7, 0xb8, 0x12, 0x9d, 0xad, 0x11, 0xd1,
                                         0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};

struct str form_urn(struct arena *a, struct str name)
{
    char uuid[37];

    digest_uuid5(ns_oid, name, uuid);
    return str_printf(a, "urn:uuid:%s", uuid);
}

void form_own_id(struct arena *a, const struct revision *row, struct str log_id,
                 struct out_entry *out)
{
    struct out_link *about = ARENA_NEW(a, struct out_link);

    out->id = form_urn(a, str_printf(a, "%.*s\n%" PRId64, STR_ARG(log_id), row->seq));
    *about =
        (struct out_link){.rel = STR("related"), .type = STR_NULL, .href = out_entry_iri(a, out)};
    out->links = about;
    out->n_links = 1;
}

struct str form_item_id(struct arena *a, const struct revision *row, const struct feed *feed,
                        bool has_elder)
{
    struct str base = row->id_url.len > 0 ? row->id_url : feed->id_url;
    struct str id = feed_entry_iri(a, base, row->uid);

    /* an id that was made here depends on the feed's URL, so no other feed has it */
    return !has_elder || !str_eq(id, row->uid)
               ? id
               : form_urn(a, str_printf(a, "item\n%.*s\n%.*s\n%.*s", STR_ARG(base),
                                        STR_ARG(feed->access_key), STR_ARG(row->uid)));
}

int64_t form_event_us(const struct revision *row)
{
    int64_t own = row->updated_at, later;

    if (own == TIME_UNKNOWN)
        return row->at_us;
    later = own * 1000000 + row->seq;
    return later > row->at_us ? later : row->at_us;
}

static void as_current(struct arena *a UNUSED, const struct revision *row UNUSED,
                       struct str log_id UNUSED, struct out_entry *out UNUSED)
{
}

/* The first version of an entry keeps its id; every later event gets its own id. */
static void as_event(struct arena *a, const struct revision *row, struct str log_id,
                     struct out_entry *out)
{
    if (row->seq != row->first_seq)
        form_own_id(a, row, log_id, out);
    if (!revision_has_entry(row))
        out->kind = OUT_EMPTY;
}

static void as_archived(struct arena *a UNUSED, const struct revision *row,
                        struct str log_id UNUSED, struct out_entry *out)
{
    if (revision_has_entry(row))
        return;
    out->kind = OUT_TOMBSTONE;
    out->at_us = form_event_us(row);
}

static void as_metadata(struct arena *a UNUSED, const struct revision *row,
                        struct str log_id UNUSED, struct out_entry *out)
{
    out->kind = revision_has_entry(row) ? OUT_METADATA : OUT_EMPTY;
    out->at_us = row->at_us;
}

static void as_item(struct arena *a UNUSED, const struct revision *row, struct str log_id UNUSED,
                    struct out_entry *out)
{
    if (row->gone || row->kind == REV_LEFT)
        out->kind = OUT_EMPTY;
    out->changed_at = row->at_us / 1000000;
}

static const struct form_ops forms[FORM_COUNT_] = {
#define FORM(id, path, entry_path, draw, entry, traits)                                            \
    [FORM_##id] = {path, entry_path, entry, traits},
#include "model/forms.def"
#undef FORM
};

const struct form_ops *form_ops(enum form form)
{
    ASSERT(form < FORM_COUNT_);
    return &forms[form];
}

bool form_of_path(struct str path, enum form *out)
{
    for (int i = 0; i < FORM_COUNT_; i++) {
        struct str own = str_from(forms[i].path);

        if (str_is_null(own) || !str_starts(path, own) ||
            (path.len > own.len && path.ptr[own.len] != '/'))
            continue;
        *out = (enum form)i;
        return true;
    }
    return false;
}

bool form_has(enum form form, enum form_trait trait)
{
    return (form_ops(form)->traits & trait) != 0;
}

void form_entry(enum form form, struct arena *a, const struct revision *row,
                const struct out_feed *feed, struct str log_id, struct out_entry *out)
{
    *out = (struct out_entry){.kind = OUT_ENTRY,
                              .id = STR_NULL,
                              .feed = feed,
                              .json = row->doc,
                              .ext = row->ext,
                              .uid = row->uid,
                              .id_url = row->id_url,
                              .published_at = row->published_at,
                              .updated_at = row->updated_at,
                              .received_at = row->at_us / 1000000,
                              .sort_at = row->sort_at};
    form_ops(form)->entry(a, row, log_id, out);
}

static int64_t shown_at(const struct revision *row)
{
    return row->updated_at != TIME_UNKNOWN     ? row->updated_at
           : row->published_at != TIME_UNKNOWN ? row->published_at
                                               : row->at_us / 1000000;
}

static bool is_older_version(struct arena *a, const struct revision *row,
                             const struct revision *newer)
{
    if (!revision_has_entry(row) || !revision_has_entry(newer))
        return false;
    if (row->first_seq == newer->first_seq)
        return true;
    return row->feed_id != newer->feed_id && str_eq(row->uid, newer->uid) &&
           shown_at(row) <= shown_at(newer) &&
           str_eq(feed_entry_iri(a, STR(""), row->uid), row->uid);
}

size_t form_newest_versions(struct arena *a, struct revision *rows, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        bool older = false;

        for (size_t k = 0; k < kept && !older; k++)
            older = is_older_version(a, &rows[i], &rows[k]);
        if (!older)
            rows[kept++] = rows[i];
    }
    return kept;
}

bool form_page_is_settled(enum form form, const struct form_page *page)
{

    if (page->by_entry)
        return false;
    if (form_has(form, FORM_IS_INSTANCE))
        return true;
    /* unless links lead to unfinished pages, a page gets its link when the next page is sealed */
    return page->n + (form_has(form, FORM_LINKS_UNFINISHED) ? 1 : 2) < page->n_pages;
}

bool form_page_is_archive(enum form form, const struct form_page *page)
{
    return !form_has(form, FORM_IS_INSTANCE) && !page->by_entry && page->n + 1 < page->n_pages;
}

struct str form_page_url(enum form form, struct arena *a, const struct form_page *page, int64_t n,
                         size_t rows)
{
    if (form_has(form, FORM_IS_INSTANCE))
        return str_printf(a, "%.*s%" PRId64 "-%zu%s", STR_ARG(page->base), n, rows, page->suffix);
    return str_printf(a, "%.*s%" PRId64 "%s", STR_ARG(page->base), n, page->suffix);
}

size_t form_links(enum form form, struct arena *a, const struct form_page *page, size_t page_size,
                  struct out_link **out)
{
    bool archived = form_page_is_archive(form, page);
    bool has_next =
        archived && (form_has(form, FORM_LINKS_UNFINISHED) || page->n + 2 < page->n_pages);
    struct out_link *links = ARENA_ARRAY(a, struct out_link, 4);
    struct str type = str_from(page->media_type);
    size_t n = 0;

    if (form_has(form, FORM_IS_INSTANCE) && page->is_page)
        links[n++] = (struct out_link){STR("this"), type,
                                       form_page_url(form, a, page, page->n, page->shown)};
    else if (form_has(form, FORM_HAS_OWN_URL) && page->by_entry && page->is_page)
        links[n++] =
            (struct out_link){STR("via"), type, form_page_url(form, a, page, page->n, page->rows)};
    if (archived || (form_has(form, FORM_NAMES_ITSELF) && page->by_entry))
        links[n++] = (struct out_link){STR("current"), type, page->entry};
    if (page->n > 0 && page->reaches_back)
        links[n++] =
            (struct out_link){form_has(form, FORM_IS_INSTANCE) ? STR("prev") : STR("prev-archive"),
                              type, form_page_url(form, a, page, page->n - 1, page_size)};
    if (has_next)
        links[n++] = (struct out_link){STR("next-archive"), type,
                                       form_page_url(form, a, page, page->n + 1, page_size)};
    *out = links;
    return n;
}
