/* fetcher/diff.c - see diff.h. */
#include "fetcher/diff.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/map.h"
#include "feed/identity/complete.h"
#include "feed/text/date.h"
#include "feed/text/json.h"

#define TEXT_MAX ((size_t)64 * 1024) /* bytes of one normalized text that count */

static bool has_ids(const struct feed_doc *doc)
{
    if (str_is_null(doc->cursor))
        return false;
    for (size_t i = 0; i < doc->n_entries; i++)
        if (str_is_null(doc->entries[i].id))
            return false;
    return true;
}

static void trust_ids(struct diff *d, int64_t now)
{
    d->by_id = true;
    identity_find_repeats(d->doc, d->entries);
    if (d->policy.rule == IDENTITY_GUID || d->doc->n_entries == 0)
        return;
    d->policy = (struct identity_policy){.rule = IDENTITY_GUID,
                                         .since_at = now,
                                         .why = STR("the items of a Smart Feed have unique ids")};
    d->policy_changed = true;
}

void diff_begin(struct arena *a, struct diff *d, const struct feed_doc *doc,
                const struct identity_policy *policy, int64_t now)
{
    struct identity_evidence seen;

    *d = (struct diff){.doc = doc, .policy = *policy};
    d->entries = ARENA_ARRAY(a, struct identity_entry, doc->n_entries + 1);
    d->tombstone_marks = ARENA_ARRAY(a, struct entry_marks, doc->n_tombstones + 1);
    d->known = ARENA_ARRAY(a, struct known_entry, 1);
    identity_read(a, doc, d->entries);
    for (size_t i = 0; i < doc->n_tombstones; i++)
        identity_read_ref(a, doc->tombstones[i].ref, &d->tombstone_marks[i]);
    if (has_ids(doc)) {
        trust_ids(d, now);
        return;
    }
    identity_find_doubles(d->entries, doc->n_entries, IDENTITY_GUID);
    if (policy->rule == IDENTITY_UNSET) {
        identity_observe(d->entries, doc->n_entries, NULL, NULL, &seen);
        d->policy_changed = identity_decide(a, &d->policy, &seen, now);
    }
    if (d->policy.rule != IDENTITY_GUID && d->policy.rule != IDENTITY_UNSET)
        identity_find_doubles(d->entries, doc->n_entries, d->policy.rule);
}

/* ---- what is to be asked --------------------------------------------------------------------- */

struct guid_count {
    size_t n_shown, n_known;
};

static struct guid_count *count_of(struct arena *a, struct map *counts, int64_t guid)
{
    struct str key = str_of((const char *)&guid, sizeof guid);
    struct guid_count *c = map_get(counts, key);

    if (c == NULL) {
        c = ARENA_NEW(a, struct guid_count);
        map_put(counts, key, c);
    }
    return c;
}

/* settled[i] becomes true when the id of entry i is enough to recognise it: entries are told apart
 * by ids, and the id occurs once in the document and once in the store. */
static void find_settled(struct arena *a, const struct diff *d, bool *settled)
{
    AUTO(map_forget) struct map counts = MAP_INIT;

    if (d->policy.rule != IDENTITY_GUID)
        return;
    for (size_t i = 0; i < d->doc->n_entries; i++)
        if (!d->entries[i].is_double)
            count_of(a, &counts, d->entries[i].marks.guid)->n_shown++;
    for (size_t j = 0; j < d->n_known; j++)
        if (d->known[j].identity.has_marks)
            count_of(a, &counts, d->known[j].identity.marks.guid)->n_known++;
    for (size_t i = 0; i < d->doc->n_entries; i++) {
        int64_t guid = d->entries[i].marks.guid;
        const struct guid_count *c = count_of(a, &counts, guid);

        settled[i] = guid != 0 && c->n_shown == 1 && c->n_known == 1;
    }
}

static int by_number(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    return *a < *b ? -1 : *a > *b;
}

static size_t without_doubles(int64_t *list, size_t n)
{
    size_t kept = 0;

    if (n > 1)
        qsort(list, n, sizeof *list, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

static void ask_ids(struct arena *a, const struct diff *d, struct diff_question *q)
{
    size_t n = d->doc->n_entries, n_tombstones = d->doc->n_tombstones;
    int64_t keys[MARKS_KEYS];

    q->keys = ARENA_ARRAY(a, int64_t, n + n_tombstones + 1);
    q->uids = ARENA_ARRAY(a, struct str, n + n_tombstones + 1);
    for (size_t i = 0; i < n; i++) {
        if (d->policy.rule == IDENTITY_GUID && d->entries[i].marks.guid != 0 &&
            marks_keys(&d->entries[i].marks, keys) > 0)
            q->keys[q->n_keys++] = keys[0];
        if (d->by_id)
            q->uids[q->n_uids++] = d->entries[i].names[IDENTITY_GUID];
    }
    for (size_t i = 0; i < n_tombstones; i++) {
        if (str_is_null(d->doc->tombstones[i].ref))
            continue;
        q->uids[q->n_uids++] = d->doc->tombstones[i].ref;
        if (marks_keys(&d->tombstone_marks[i], keys) > 0)
            q->keys[q->n_keys++] = keys[0];
    }
}

static void ask_all(struct arena *a, const struct diff *d, struct diff_question *q)
{
    size_t n = d->doc->n_entries;
    bool *settled = ARENA_ARRAY(a, bool, n + 1);

    find_settled(a, d, settled);
    q->keys = ARENA_ARRAY(a, int64_t, n * MARKS_KEYS + 1);
    q->uids = ARENA_ARRAY(a, struct str, n * IDENTITY_RULES + 1);
    for (size_t i = 0; i < n; i++) {
        if (settled[i] || d->entries[i].is_double)
            continue;
        q->n_keys += marks_keys(&d->entries[i].marks, q->keys + q->n_keys);
        for (int r = IDENTITY_GUID; r < IDENTITY_RULES; r++)
            if (!str_is_null(d->entries[i].names[r]))
                q->uids[q->n_uids++] = d->entries[i].names[r];
    }
}

bool diff_ask(struct arena *a, struct diff *d, struct diff_question *q)
{
    *q = (struct diff_question){.n_uids = 0};
    while (d->n_asked < 2 && q->n_keys + q->n_uids == 0) {
        if (d->n_asked++ == 0)
            ask_ids(a, d, q);
        else if (!d->by_id)
            ask_all(a, d, q);
    }
    q->n_keys = without_doubles(q->keys, q->n_keys);
    return q->n_keys + q->n_uids > 0;
}

void diff_learn(struct arena *a, struct diff *d, const struct known_entry *known, size_t n)
{
    struct known_entry *all = ARENA_ARRAY(a, struct known_entry, d->n_known + n + 1);
    size_t i = 0, k = 0, kept = 0;

    while (i < d->n_known || k < n) { /* both are sorted by id */
        bool old = k == n || (i < d->n_known && d->known[i].id <= known[k].id);

        if (old && k < n && known[k].id == d->known[i].id)
            k++;
        all[kept++] = old ? d->known[i++] : known[k++];
    }
    d->known = all;
    d->n_known = kept;
}

/* ---- what has changed ------------------------------------------------------------------------ */

/* Returns at most TEXT_MAX bytes of the text, without cutting a character in two. */
static struct str bounded(struct str s)
{
    if (s.len > TEXT_MAX)
        s.len = str_utf8_valid(str_of(s.ptr, TEXT_MAX));
    return s;
}

/* Returns the entry's JSON, allocated in `docs`. */
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
    if (!buf_ok(&buf)) { /* the entry is too large, so keep only what identifies it */
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

/* Returns true when the entry is known and nothing in it has changed. */
static bool is_same(const struct doc_entry *e, const struct identity_entry *it,
                    const struct known_entry *known, bool upheaval)
{
    const struct entry_marks *was = &known->identity.marks;
    bool noisy = was->link != it->marks.link && was->link_weak == it->marks.link_weak;
    unsigned char old[16];

    if (memcmp(known->identity.essence, it->essence, sizeof it->essence) == 0)
        return true;
    if (known->identity.has_marks)
        return (upheaval || noisy) && was->title == it->marks.title && was->at == it->marks.at &&
               was->body == it->marks.body;
    identity_essence_unmarked(e, old);
    return memcmp(known->identity.essence, old, sizeof old) == 0;
}

/* Fill *c when the entry is new (`known` is NULL) or has changed. Returns false when it has not
 * changed. */
static bool compare_entry(struct arena *a, struct arena *docs, const struct doc_entry *e,
                          const struct identity_entry *it, struct str uid, int64_t received_at,
                          const struct known_entry *known, bool upheaval, bool is_metadata,
                          struct entry_change *c)
{
    struct arena_mark before = arena_mark(docs);
    unsigned char hash[16];
    bool there = known != NULL && !known->deleted;
    bool same = there && is_same(e, it, known, upheaval);
    struct str ext = str_is_null(e->ext) ? STR("") : e->ext;

    if (ext.len > LIMIT_ENTRY)
        ext = STR("");
    *c = (struct entry_change){.kind = there ? REV_CHANGED : REV_NEW, .uid = uid};
    c->volatile_only = same;
    c->is_metadata = is_metadata;
    c->marks = it->marks;
    memcpy(c->essence, it->essence, sizeof c->essence);
    /* until an undated entry changes, it keeps the time at which it came in */
    c->doc = entry_json(a, docs, entry_complete(a, e, uid, same ? known->sort_at : received_at));
    if (there) {
        memcpy(c->old_essence, known->identity.essence, sizeof c->old_essence);
        doc_hash(c->doc, ext, hash);
        if (same && memcmp(known->doc_hash, hash, sizeof hash) == 0 && known->identity.has_marks &&
            marks_same(&known->identity.marks, &it->marks)) {
            arena_rewind(docs, before);
            return false;
        }
    }
    c->ext = ext;
    c->published_at = e->published_at;
    c->updated_at = e->updated_at;
    c->updated_us = date_fraction_us(value_get_textz(e->obj, "updated"));
    c->title = bounded(e->title);
    c->link = bounded(e->link);
    c->summary = bounded(e->summary);
    c->author = bounded(e->author);
    return true;
}

/* Find the known entry of each tombstone: the one that has its id now, or else the one with its
 * uid. NULL: there is none. */
static void find_buried(const struct diff *d, const struct known_entry **dead)
{
    AUTO(map_forget) struct map by_guid = MAP_INIT, by_uid = MAP_INIT;

    for (size_t j = 0; j < d->n_known; j++) {
        struct known_entry *k = &d->known[j];
        const int64_t *guid = &k->identity.marks.guid;

        map_put(&by_uid, k->identity.uid, k);
        if (k->identity.has_marks && *guid != 0)
            map_put(&by_guid, str_of((const char *)guid, sizeof *guid), k);
    }
    for (size_t i = 0; i < d->doc->n_tombstones; i++) {
        const struct doc_tombstone *t = &d->doc->tombstones[i];
        const int64_t *guid = &d->tombstone_marks[i].guid;

        if (str_is_null(t->ref) || t->when_at == TIME_UNKNOWN)
            continue;
        dead[i] = map_get(&by_guid, str_of((const char *)guid, sizeof *guid));
        if (dead[i] == NULL)
            dead[i] = map_get(&by_uid, t->ref);
    }
}

/* Map each entry to its latest tombstone. The key is the entry's uid, or the tombstone's ref when
 * the entry is not known. */
static void index_tombstones(const struct diff *d, const struct known_entry *const *dead,
                             struct map *latest)
{
    for (size_t i = 0; i < d->doc->n_tombstones; i++) {
        struct doc_tombstone *t = &d->doc->tombstones[i], *other;
        struct str key;

        if (str_is_null(t->ref) || t->when_at == TIME_UNKNOWN)
            continue;
        key = dead[i] != NULL ? dead[i]->identity.uid : t->ref;
        other = map_get(latest, key);
        if (other == NULL || other->when_at < t->when_at ||
            (other->when_at == t->when_at && other->when_us < t->when_us))
            map_put(latest, key, t);
    }
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

/* Match the entries with the known ones, and learn from that which policy suits the feed. */
static void recognise(struct arena *a, struct diff *d, int64_t now, size_t *who,
                      struct identity_evidence *seen)
{
    struct identity_known *known = ARENA_ARRAY(a, struct identity_known, d->n_known + 1);
    enum identity_rule rule = d->policy.rule;
    size_t n = d->doc->n_entries;
    struct identity_policy before = d->policy;

    *seen = (struct identity_evidence){.n = 0};
    for (size_t j = 0; j < d->n_known; j++)
        known[j] = d->known[j].identity;
    if (d->by_id)
        identity_match_ids(d->entries, n, known, d->n_known, who);
    else
        identity_match(d->entries, n, known, d->n_known, rule, who);
    d->uids = ARENA_ARRAY(a, struct str, n + 1);
    identity_names(a, d->entries, n, known, d->n_known, who, rule, now, d->uids);
    if (d->by_id)
        return;
    identity_observe(d->entries, n, known, who, seen);
    if (d->policy_changed) /* the first document has set the policy */
        return;
    d->policy_changed = identity_decide(a, &d->policy, seen, now) ||
                        d->policy.n_against != before.n_against ||
                        d->policy.n_better != before.n_better;
}

size_t diff_document(struct arena *a, struct arena *docs, struct diff *d, int64_t received_at,
                     struct entry_change **out)
{
    AUTO(map_forget) struct map tombstones = MAP_INIT;
    const struct feed_doc *doc = d->doc;
    struct entry_change *changes =
        ARENA_ARRAY(a, struct entry_change, doc->n_entries + doc->n_tombstones + 1);
    const struct known_entry **dead =
        ARENA_ARRAY(a, const struct known_entry *, doc->n_tombstones + 1);
    size_t *who = ARENA_ARRAY(a, size_t, doc->n_entries + 1), n = 0;
    struct identity_evidence seen;
    bool upheaval;

    recognise(a, d, received_at, who, &seen);
    upheaval = identity_is_upheaval(&seen);
    find_buried(d, dead);
    index_tombstones(d, dead, &tombstones);
    for (size_t i = 0; i < doc->n_entries; i++) {
        const struct doc_entry *e = &doc->entries[i];
        const struct known_entry *known = who[i] == IDENTITY_NEW ? NULL : &d->known[who[i]];
        struct doc_tombstone *t;

        if (str_is_null(d->uids[i]))
            continue;
        /* a cut entry is not better than what is known; archive documents are read again later */
        if (e->is_cut && (d->dates != NULL || (known != NULL && !known->deleted)))
            continue;
        t = map_get(&tombstones, d->uids[i]);
        if (t != NULL && e->updated_at != TIME_UNKNOWN && e->updated_at > t->when_at) {
            map_del(&tombstones, d->uids[i]); /* the entry has come back */
            t = NULL;
        }
        if (t == NULL &&
            compare_entry(a, docs, e, &d->entries[i], d->uids[i],
                          d->dates != NULL ? d->dates[i] : received_at, known, upheaval,
                          d->metadata && e->is_metadata && e->updated_at != TIME_UNKNOWN,
                          &changes[n])) {
            changes[n].item_index = e->item_index;
            changes[n++].stands_at = d->dates != NULL ? d->dates[i] : 0;
        }
    }
    for (size_t i = 0; i < doc->n_tombstones; i++) {
        const struct doc_tombstone *t = &doc->tombstones[i];

        if (dead[i] == NULL || dead[i]->deleted || dead[i]->seq < 0 ||
            map_get(&tombstones, dead[i]->identity.uid) != t)
            continue;
        changes[n] = diff_deletion(dead[i]->identity.uid, t->when_at,
                                   str_is_null(t->ext) ? STR("") : t->ext);
        changes[n].item_index = t->item_index;
        changes[n++].updated_us = t->when_us;
    }
    *out = changes;
    return n;
}
