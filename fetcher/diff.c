/* fetcher/diff.c - see diff.h. */
#include "fetcher/diff.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/map.h"
#include "feed/complete.h"
#include "feed/identity.h"
#include "feed/json.h"

#define TEXT_MAX ((size_t)64 * 1024) /* one normalized text; the document has the whole */

size_t diff_uids(struct arena *a, const struct feed_doc *doc, struct str **out)
{
    struct str *uids = ARENA_ARRAY(a, struct str, doc->n_entries + doc->n_tombstones + 1);

    identity_uids(a, doc, uids);
    for (size_t i = 0; i < doc->n_tombstones; i++)
        uids[doc->n_entries + i] = doc->tombstones[i].ref;
    *out = uids;
    return doc->n_entries + doc->n_tombstones;
}

/* At most TEXT_MAX bytes, cut between characters. */
static struct str bounded(struct str s)
{
    if (s.len > TEXT_MAX)
        s.len = str_utf8_valid(str_of(s.ptr, TEXT_MAX));
    return s;
}

/* The JSON, in `docs`. */
static struct str entry_json(struct arena *a, struct arena *docs, const struct value *obj)
{
    static const char *const bulky[] = {"content", "summary", "summary_detail", "description"};
    AUTO(buf_release) struct buf buf = BUF_INIT(LIMIT_ENTRY);
    struct value *less;

    json_write(&buf, obj);
    if (!buf_ok(&buf)) {
        less = value_copy(a, obj);
        for (size_t i = 0; i < ARRAY_LEN(bulky) && !buf_ok(&buf); i++) {
            value_del(less, str_from(bulky[i]));
            buf_reset(&buf);
            json_write(&buf, less);
        }
    }
    if (!buf_ok(&buf)) { /* something we have no name for is huge: what identifies it stays */
        static const char *const kept[] = {"id", "title", "link", "published", "updated"};

        less = value_dict(a);
        for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
            struct str text = value_get_text(obj, str_from(kept[i]));

            if (!str_is_null(text))
                value_set_text(a, less, str_from(kept[i]), bounded(text));
        }
        buf_reset(&buf);
        json_write(&buf, less);
    }
    return str_dup(docs, buf_view(&buf));
}

static void doc_hash(struct str doc, struct str ext, unsigned char out[16])
{
    AUTO(buf_release) struct buf both = BUF_INIT(BUF_ANY);

    buf_str(&both, doc);
    buf_str(&both, ext);
    digest_content(buf_view(&both), out);
}

/* Fill *c when the entry is new or differs from what is known; false when it does not. */
static bool compare_entry(struct arena *a, struct arena *docs, const struct doc_entry *e,
                          struct str uid, int64_t received_at, const struct known_entry *known,
                          struct entry_change *c)
{
    struct arena_mark before = arena_mark(docs);
    unsigned char hash[16];
    bool same;
    struct str ext = str_is_null(e->ext) ? STR("") : e->ext;

    if (ext.len > LIMIT_ENTRY)
        ext = STR("");
    *c = (struct entry_change){.kind = REV_NEW, .uid = uid};
    identity_essence(e, c->essence);
    same = known->known && !known->deleted &&
           memcmp(known->essence, c->essence, sizeof c->essence) == 0;
    /* an undated entry keeps the time it came in until it changes */
    c->doc = entry_json(a, docs, entry_complete(a, e, uid, same ? known->sort_at : received_at));
    if (known->known && !known->deleted) {
        doc_hash(c->doc, ext, hash);
        c->kind = REV_CHANGED;
        c->volatile_only = same;
        if (c->volatile_only && memcmp(known->doc_hash, hash, sizeof hash) == 0) {
            arena_rewind(docs, before);
            return false;
        }
    }
    c->ext = ext;
    c->published_at = e->published_at;
    c->updated_at = e->updated_at;
    c->title = bounded(e->title);
    c->link = bounded(e->link);
    c->summary = bounded(e->summary);
    c->author = bounded(e->author);
    return true;
}

/* The latest tombstone of each ref, by ref. */
static void index_tombstones(const struct feed_doc *doc, struct map *latest)
{
    for (size_t i = 0; i < doc->n_tombstones; i++) {
        struct doc_tombstone *t = &doc->tombstones[i], *other;

        if (str_is_null(t->ref) || t->when_at == TIME_UNKNOWN)
            continue;
        other = map_get(latest, t->ref);
        if (other == NULL || other->when_at < t->when_at)
            map_put(latest, t->ref, t);
    }
}

static void map_forget(struct map *m)
{
    map_release(m, NULL);
}

struct entry_change diff_deletion(struct str uid, int64_t when_at, struct str ext)
{
    return (struct entry_change){
        .kind = REV_DELETED,
        .uid = uid,
        .published_at = TIME_UNKNOWN,
        .updated_at = when_at,
        .doc = STR(""),
        .ext = ext,
    };
}

size_t diff_document(struct arena *a, struct arena *docs, const struct feed_doc *doc,
                     const struct str *uids, const struct known_entry *known, int64_t received_at,
                     struct entry_change **out)
{
    AUTO(map_forget) struct map graves = MAP_INIT;
    struct entry_change *changes =
        ARENA_ARRAY(a, struct entry_change, doc->n_entries + doc->n_tombstones + 1);
    size_t n = 0;

    index_tombstones(doc, &graves);
    for (size_t i = 0; i < doc->n_entries; i++) {
        const struct doc_entry *e = &doc->entries[i];
        struct doc_tombstone *t;

        if (str_is_null(uids[i]))
            continue;
        t = map_get(&graves, uids[i]);
        if (t != NULL && e->updated_at != TIME_UNKNOWN && e->updated_at > t->when_at) {
            map_del(&graves, uids[i]); /* it rose again */
            t = NULL;
        }
        if (t == NULL && compare_entry(a, docs, e, uids[i], received_at, &known[i], &changes[n]))
            n++;
    }
    for (size_t i = 0; i < doc->n_tombstones; i++) {
        const struct doc_tombstone *t = &doc->tombstones[i];
        const struct known_entry *k = &known[doc->n_entries + i];

        if (str_is_null(t->ref) || map_get(&graves, t->ref) != t || !k->known || k->deleted)
            continue;
        changes[n++] = diff_deletion(t->ref, t->when_at, str_is_null(t->ext) ? STR("") : t->ext);
    }
    *out = changes;
    return n;
}
