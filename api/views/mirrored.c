/* api/views/mirrored.c - see mirrored.h. */
#include "api/views/mirrored.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "feed/text/json.h"
#include "feed/text/xml_out.h"
#include "storage/mirrors.h"

/* Where an entry names a file. */
struct place {
    struct value *entry, *file; /* `file` is an element of a list of `entry` */
    struct str member;          /* of `file`: its URL */
    struct str key;
    const struct mirrored *row; /* NULL: it was never to be mirrored */
};

struct places {
    struct place *list;
    size_t n, cap;
};

static void places_release(struct places *p)
{
    mem_free(p->list);
}

static void add_place(struct arena *a, struct places *p, struct value *entry, struct value *file,
                      struct str member)
{
    struct str url = value_get_text(file, member);

    if (url.len == 0)
        return;
    p->list = mem_grow(p->list, &p->cap, p->n + 1, sizeof *p->list);
    p->list[p->n++] = (struct place){entry, file, member, mirror_key(a, url), NULL};
}

static void find_places(struct arena *a, struct value *entry, struct places *p)
{
    struct value *enclosures = value_getz(entry, "enclosures"), *links = value_getz(entry, "links");
    struct value *media = value_getz(entry, "media_content");

    for (size_t i = 0; i < value_len(enclosures); i++)
        add_place(a, p, entry, value_at(enclosures, i), STR("href"));
    for (size_t i = 0; i < value_len(links); i++)
        if (str_ieqz(value_get_textz(value_at(links, i), "rel"), "enclosure"))
            add_place(a, p, entry, value_at(links, i), STR("href"));
    for (size_t i = 0; i < value_len(media); i++)
        add_place(a, p, entry, value_at(media, i), STR("url"));
}

static int by_key(const void *x, const void *y)
{
    const struct mirrored *m = x, *o = y;

    return str_cmp(m->key, o->key);
}

/* Look all of them up, at once. */
static enum rc look_up(struct reader *r, struct arena *a, struct places *p, struct err *err)
{
    struct str *keys = ARENA_ARRAY(a, struct str, p->n + 1);
    struct mirrored *rows;
    size_t n;
    enum rc rc;

    for (size_t i = 0; i < p->n; i++)
        keys[i] = p->list[i].key;
    rc = reader_mirrors(r, keys, p->n, a, &rows, &n, err);
    if (rc != RC_OK || n == 0)
        return rc;
    qsort(rows, n, sizeof *rows, by_key);
    for (size_t i = 0; i < p->n; i++)
        p->list[i].row =
            bsearch(&(struct mirrored){.key = p->list[i].key}, rows, n, sizeof *rows, by_key);
    return RC_OK;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static bool has_link(const struct value *links, const char *rel, struct str href)
{
    for (size_t i = 0; i < value_len(links); i++)
        if (str_eqz(value_get_textz(value_at(links, i), "rel"), rel) &&
            str_eq(value_get_textz(value_at(links, i), "href"), href))
            return true;
    return false;
}

static void add_via(struct arena *a, struct value *entry, struct str href)
{
    struct value *links = value_list_at(a, entry, STR("links")), *via;

    if (has_link(links, "via", href))
        return;
    via = value_dict(a);
    value_set_textz(a, via, "rel", STR("via"));
    value_set_textz(a, via, "href", href);
    value_push(a, links, via);
}

static bool is_stored(const struct place *p)
{
    return p->row != NULL && p->row->state == MIRROR_STORED;
}

static void rewrite(struct arena *a, struct str origin, const struct place *p)
{
    struct str original = value_get_text(p->file, p->member);
    bool is_media = str_eqz(p->member, "url");

    value_set_text(a, p->file, p->member, mirror_url(a, origin, p->row->sha256, original));
    value_set_text(a, p->file, is_media ? STR("filesize") : STR("length"),
                   str_printf(a, "%" PRId64, p->row->size));
    value_set_textz(a, p->file, "type", p->row->type);
    value_set_textz(a, p->file, "original", original);
    add_via(a, p->entry, original);
}

/* Foreign elements name the file in an attribute, as our own writer has written it. */
static struct str rewrite_ext(struct arena *a, struct str origin, const struct place *p,
                              struct str ext)
{
    AUTO(buf_release) struct buf old = BUF_INIT(BUF_ANY), out = BUF_INIT(BUF_ANY);
    struct str url = mirror_url(a, origin, p->row->sha256, p->row->url);
    ssize_t at;

    buf_puts(&old, "=\"");
    xml_attr_text(&old, p->row->url);
    buf_putc(&old, '"');
    if (str_find(ext, buf_view(&old)) < 0)
        return ext;
    while ((at = str_find(ext, buf_view(&old))) >= 0) {
        buf_str(&out, str_slice(ext, 0, (size_t)at));
        buf_printf(&out, "=\"%.*s\"", STR_ARG(url));
        ext = str_slice(ext, (size_t)at + old.len, ext.len);
    }
    buf_str(&out, ext);
    return str_dup(a, buf_view(&out));
}

enum rc mirrored_rows(struct reader *r, struct arena *a, struct str origin, struct revision *rows,
                      size_t n, struct err *err)
{
    AUTO(places_release) struct places p = {.n = 0};
    struct value **entries = ARENA_ARRAY(a, struct value *, n + 1);
    enum rc rc;

    if (str_is_null(origin))
        return RC_OK;
    for (size_t i = 0; i < n; i++)
        if (rows[i].doc.len > 0 && json_read(a, rows[i].doc, &entries[i], NULL) == RC_OK)
            find_places(a, entries[i], &p);
    rc = look_up(r, a, &p, err);
    for (size_t i = 0, k = 0; i < n && rc == RC_OK; i++) {
        AUTO(buf_release) struct buf doc = BUF_INIT(BUF_ANY);
        bool is_changed = false;

        for (; k < p.n && p.list[k].entry == entries[i]; k++) {
            if (!is_stored(&p.list[k]))
                continue;
            rewrite(a, origin, &p.list[k]);
            rows[i].ext = rewrite_ext(a, origin, &p.list[k], rows[i].ext);
            is_changed = true;
        }
        if (!is_changed)
            continue;
        json_write(&doc, entries[i]);
        rows[i].doc = str_dup(a, buf_view(&doc));
    }
    return rc;
}

/* ---- states ---------------------------------------------------------------------------------- */

static struct value *text_or_null(struct arena *a, struct str s)
{
    return str_is_null(s) ? value_null(a) : value_text(a, s);
}

static struct value *state_of(struct arena *a, const struct mirrored *m)
{
    struct value *v = value_dict(a);
    bool is_known = !str_is_null(m->sha256);

    value_set_textz(a, v, "state", str_from(mirror_state_name(m->state)));
    value_setz(a, v, "error", text_or_null(a, m->error));
    value_setz(a, v, "sha256", text_or_null(a, m->sha256));
    value_setz(a, v, "size", is_known ? value_int(a, m->size) : value_null(a));
    return v;
}

enum rc mirrored_item(struct reader *r, struct arena *a, struct str origin, struct value *obj,
                      struct str *ext, struct err *err)
{
    AUTO(places_release) struct places p = {.n = 0};
    enum rc rc;

    find_places(a, obj, &p);
    rc = look_up(r, a, &p, err);
    for (size_t i = 0; i < p.n && rc == RC_OK; i++) {
        if (p.list[i].row == NULL)
            continue;
        value_setz(a, p.list[i].file, "mirror", state_of(a, p.list[i].row));
        if (value_getz(obj, "mirror") == NULL)
            value_setz(a, obj, "mirror", state_of(a, p.list[i].row));
        if (!str_is_null(origin) && is_stored(&p.list[i])) {
            rewrite(a, origin, &p.list[i]);
            *ext = rewrite_ext(a, origin, &p.list[i], *ext);
        }
    }
    return rc;
}
