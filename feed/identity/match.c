/* feed/identity/match.c - pairs the entries of a document with stored ones.
 *
 * There are levels of evidence, and the strongest comes first. At each level an entry is paired
 * with a stored one only when that is the only stored one left that fits, and no other entry of the
 * document fits it, too. Doubtful cases are left to the next level. What is left in the end are new
 * entries. */
#include "feed/identity/identity.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "base/map.h"

#define FEW 3 /* with fewer entries, half of them do not prove anything */

/* ---- marks ----------------------------------------------------------------------------------- */

static int64_t mark_of(struct str s)
{
    unsigned char hash[16];
    int64_t n;

    if (s.len == 0)
        return 0;
    digest_content(s, hash);
    n = 0;
    for (size_t i = 0; i < sizeof n; i++)
        n = (int64_t)((uint64_t)n << 8 | hash[i]);
    return n == 0 ? 1 : n;
}

/* Returns the title in lower case (ASCII only), with each run of white space as one space. */
static struct str plain_title(struct arena *a, struct str title)
{
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);
    struct str s = str_trim(title);

    for (size_t i = 0; i < s.len; i++) {
        bool blank = (unsigned char)s.ptr[i] <= ' ';

        if (!blank)
            buf_putc(&b, s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] | 32) : s.ptr[i]);
        else if ((unsigned char)s.ptr[i + 1] > ' ') /* trimmed, so there is a next byte */
            buf_putc(&b, ' ');
    }
    return str_dup(a, buf_view(&b));
}

/* Hash of all the entry's texts, one after the other. */
static int64_t mark_of_body(const struct doc_entry *e)
{
    const struct value *list = value_getz(e->obj, "content");
    const struct value *more = value_getz(e->obj, "summaries");
    AUTO(buf_release) struct buf b = BUF_INIT(BUF_ANY);

    buf_str(&b, e->summary);
    for (size_t i = 0; i < value_len(list); i++) {
        buf_str(&b, value_get_textz(value_at(list, i), "value"));
        buf_str(&b, value_get_textz(value_at(list, i), "xml"));
    }
    for (size_t i = 0; i < value_len(more); i++)
        buf_str(&b, value_get_textz(value_at(more, i), "value"));
    return mark_of(buf_view(&b));
}

void identity_read_ref(struct arena *a, struct str id, struct entry_marks *out)
{
    *out = (struct entry_marks){
        .guid = mark_of(id),
        .guid_strong = mark_of(identity_ref(a, id, IDENTITY_STRONG)),
        .guid_weak = mark_of(identity_ref(a, id, IDENTITY_WEAK)),
    };
}

static void read_marks(struct arena *a, const struct doc_entry *e, struct entry_marks *m)
{
    struct str original = value_get_textz(e->obj, "feedburner_origlink");
    struct str link = original.len > 0 ? original : e->link;
    int64_t at = e->published_at != TIME_UNKNOWN ? e->published_at : e->updated_at;

    identity_read_ref(a, e->id, m);
    m->link = mark_of(identity_ref(a, link, IDENTITY_STRONG));
    m->link_weak = mark_of(identity_ref(a, link, IDENTITY_WEAK));
    m->title = mark_of(plain_title(a, e->title));
    m->at = at == TIME_UNKNOWN ? 0 : at;
    m->body = mark_of_body(e);
}

/* A derived uid has no scheme, so that it cannot be mistaken for an IRI. */
static struct str derived(struct arena *a, const char *kind, const unsigned char md[16])
{
    char hex[33];

    digest_hex(md, 16, hex);
    return str_printf(a, "%s=%s", kind, hex);
}

static void read_names(struct arena *a, const struct doc_entry *e, const struct identity_entry *it,
                       struct str names[IDENTITY_RULES])
{
    unsigned char md[16];

    names[IDENTITY_GUID] = e->id.len > 0 ? e->id : STR_NULL;
    names[IDENTITY_LINK] = e->link.len > 0 ? e->link : STR_NULL;
    if (e->title.len > 0 && it->marks.at != 0) {
        digest_content(str_printf(a, "%lld %.*s", (long long)it->marks.at, STR_ARG(e->title)), md);
        names[IDENTITY_TITLE] = derived(a, "title", md);
    }
    names[IDENTITY_HASH] = derived(a, "hash", it->essence);
}

void identity_read(struct arena *a, const struct feed_doc *doc, struct identity_entry *out)
{
    for (size_t i = 0; i < doc->n_entries; i++) {
        out[i] = (struct identity_entry){.is_double = false};
        read_marks(a, &doc->entries[i], &out[i].marks);
        identity_essence(&doc->entries[i], out[i].essence);
        read_names(a, &doc->entries[i], &out[i], out[i].names);
    }
}

void identity_find_doubles(struct identity_entry *list, size_t n, enum identity_rule rule)
{
    struct map seen = MAP_INIT;
    unsigned char key[16 + sizeof(int64_t)];

    for (size_t i = 0; i < n; i++) {
        int64_t guid = rule == IDENTITY_GUID ? list[i].marks.guid_strong : 0;

        memcpy(key, list[i].essence, 16);
        memcpy(key + 16, &guid, sizeof guid);
        list[i].is_double = map_get(&seen, str_of((char *)key, sizeof key)) != NULL;
        if (!list[i].is_double)
            map_put(&seen, str_of((char *)key, sizeof key), &list[i]);
    }
    map_release(&seen, NULL);
}

void identity_find_repeats(const struct feed_doc *doc, struct identity_entry *list)
{
    struct map seen = MAP_INIT;

    for (size_t i = doc->n_entries; i-- > 0;)
        list[i].is_double =
            doc->entries[i].id.len > 0 && map_put(&seen, doc->entries[i].id, &list[i]) != NULL;
    map_release(&seen, NULL);
}

/* ---- who shares a mark with whom ------------------------------------------------------------- */

struct keyed {
    int64_t key;
    size_t index;
};

static int by_key(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

struct index {
    struct keyed *list;
    size_t n;
};

static void index_sort(struct index *ix)
{
    if (ix->n > 1)
        qsort(ix->list, ix->n, sizeof *ix->list, by_key);
}

/* Returns the index of the first row with this key or a higher one. */
static size_t index_from(const struct index *ix, int64_t key)
{
    size_t lo = 0, hi = ix->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (ix->list[mid].key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Returns the number of rows with this key; they begin at *first. */
static size_t index_rows(const struct index *ix, int64_t key, size_t *first)
{
    *first = index_from(ix, key);
    return (key == INT64_MAX ? ix->n : index_from(ix, key + 1)) - *first;
}

/* At most so many stored entries are compared with one entry: those of each of its keys and of its
 * names. */
#define PEERS ((size_t)MARKS_KEYS * IDENTITY_CANDIDATES + IDENTITY_RULES)

struct matching {
    struct arena arena;
    const struct identity_entry *list;
    const struct identity_known *known;
    size_t n, n_known;
    enum identity_rule rule;
    size_t *who;    /* the result */
    bool *taken;    /* for each known entry: it is paired already */
    size_t **peers; /* for each entry: indexes into known, ascending */
    size_t *n_peers;
    size_t *n_claims;                                           /* of known, at this level */
    size_t *wanted;                                             /* of each entry, at this level */
    struct index guid, guid_strong, guid_weak, link, link_weak; /* of the document */
};

static struct index index_of(struct matching *m, size_t offset)
{
    struct index ix = {ARENA_ARRAY(&m->arena, struct keyed, m->n + 1), 0};

    for (size_t i = 0; i < m->n; i++) {
        int64_t key;

        memcpy(&key, (const char *)&m->list[i].marks + offset, sizeof key);
        if (key != 0 && !m->list[i].is_double)
            ix.list[ix.n++] = (struct keyed){key, i};
    }
    index_sort(&ix);
    return ix;
}

static bool is_alone(const struct index *ix, int64_t key)
{
    size_t first;

    return index_rows(ix, key, &first) == 1;
}

static void add_peer(size_t *list, size_t *n, size_t j)
{
    for (size_t k = 0; k < *n; k++)
        if (list[k] == j)
            return;
    if (*n < PEERS)
        list[(*n)++] = j;
}

static void find_peers(struct matching *m)
{
    struct index keys = {ARENA_ARRAY(&m->arena, struct keyed, m->n_known * MARKS_KEYS + 1), 0};
    struct map uids = MAP_INIT;
    int64_t key[MARKS_KEYS];

    for (size_t j = 0; j < m->n_known; j++) {
        size_t n = m->known[j].has_marks ? marks_keys(&m->known[j].marks, key) : 0;

        for (size_t k = 0; k < n; k++)
            keys.list[keys.n++] = (struct keyed){key[k], j};
        map_put(&uids, m->known[j].uid, (void *)(uintptr_t)&m->known[j]);
    }
    index_sort(&keys);
    for (size_t i = 0; i < m->n; i++) {
        size_t n = marks_keys(&m->list[i].marks, key), found[PEERS], n_found = 0, first;

        for (size_t k = 0; k < n && !m->list[i].is_double; k++) {
            size_t rows = index_rows(&keys, key[k], &first);

            for (size_t r = 0; r < rows && r < IDENTITY_CANDIDATES; r++) /* newest first */
                add_peer(found, &n_found, keys.list[first + rows - 1 - r].index);
        }
        for (int r = IDENTITY_GUID; r < IDENTITY_RULES && !m->list[i].is_double; r++) {
            const struct identity_known *k =
                str_is_null(m->list[i].names[r]) ? NULL : map_get(&uids, m->list[i].names[r]);

            if (k != NULL)
                add_peer(found, &n_found, (size_t)(k - m->known));
        }
        m->peers[i] = ARENA_ARRAY(&m->arena, size_t, n_found + 1);
        memcpy(m->peers[i], found, n_found * sizeof *found);
        m->n_peers[i] = n_found;
    }
    map_release(&uids, NULL);
}

/* ---- evidence -------------------------------------------------------------------------------- */

static bool same(int64_t x, int64_t y)
{
    return x != 0 && x == y;
}

static bool same_essence(const struct matching *m, size_t i, size_t j)
{
    return memcmp(m->list[i].essence, m->known[j].essence, 16) == 0;
}

/* Returns how many stored peers of entry i have the same mark at `offset`, including those that are
 * paired already. */
static size_t n_rivals(const struct matching *m, size_t i, size_t offset)
{
    int64_t own, other;
    size_t n = 0;

    memcpy(&own, (const char *)&m->list[i].marks + offset, sizeof own);
    for (size_t k = 0; k < m->n_peers[i]; k++) {
        const struct identity_known *peer = &m->known[m->peers[i][k]];

        memcpy(&other, (const char *)&peer->marks + offset, sizeof other);
        n += peer->has_marks && same(own, other);
    }
    return n;
}

#define MARK(field) offsetof(struct entry_marks, field)
/* Only this entry of the document has the mark, and at most one stored entry has it. */
#define IS_CLEAR(m, i, field)                                                                      \
    (is_alone(&(m)->field, (m)->list[i].marks.field) && n_rivals(m, i, MARK(field)) <= 1)

typedef bool level_fn(const struct matching *m, size_t i, size_t j);

/* Returns true when nothing has changed. The spelling of the id counts only when entries are told
 * apart by ids. */
static bool is_unchanged(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return m->known[j].has_marks && same_essence(m, i, j) &&
           (m->rule != IDENTITY_GUID || x->guid == y->guid);
}

/* The entry was stored before there were marks, so there is only its name to compare. */
static bool has_name(const struct matching *m, size_t i, size_t j, enum identity_rule r)
{
    return !m->known[j].has_marks && !str_is_null(m->list[i].names[r]) &&
           str_eq(m->list[i].names[r], m->known[j].uid);
}

static bool is_named_by_guid(const struct matching *m, size_t i, size_t j)
{
    return has_name(m, i, j, IDENTITY_GUID) && is_alone(&m->guid, m->list[i].marks.guid);
}

/* When doubles shared a guid, the first one got it as its name. This is the entry with that name
 * that has no other name. */
static bool is_named_by_shared_guid(const struct matching *m, size_t i, size_t j)
{
    return has_name(m, i, j, IDENTITY_GUID);
}

static bool is_named_by_link(const struct matching *m, size_t i, size_t j)
{
    return has_name(m, i, j, IDENTITY_LINK);
}

static bool is_named_by_content(const struct matching *m, size_t i, size_t j)
{
    return has_name(m, i, j, IDENTITY_TITLE) || has_name(m, i, j, IDENTITY_HASH);
}

static bool guid_and_all(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->guid, y->guid) && same(x->link, y->link) && same(x->title, y->title) &&
           same(x->at, y->at);
}

static bool guid_and_link(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->guid, y->guid) && same(x->link, y->link) && IS_CLEAR(m, i, link);
}

static bool guid_alone(const struct matching *m, size_t i, size_t j)
{
    return same(m->list[i].marks.guid, m->known[j].marks.guid) && IS_CLEAR(m, i, guid);
}

static bool strong_guid_and_all(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->guid_strong, y->guid_strong) && same(x->link, y->link) &&
           same(x->title, y->title) && same(x->at, y->at);
}

static bool strong_guid_and_one(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->guid_strong, y->guid_strong) &&
           (same(x->link, y->link) || same(x->title, y->title) || same(x->at, y->at)) &&
           IS_CLEAR(m, i, guid_strong);
}

static bool weak_guid_and_more(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->guid_weak, y->guid_weak) && IS_CLEAR(m, i, guid_weak) &&
           (same(x->at, y->at) ||
            (same(x->title, y->title) && x->at == y->at && x->body == y->body));
}

/* Returns true when the link alone decides about these two: the rule is by link, or one of them has
 * no id. */
static bool is_by_link(const struct matching *m, size_t i, size_t j)
{
    return m->rule == IDENTITY_LINK || (m->rule == IDENTITY_GUID && (m->list[i].marks.guid == 0 ||
                                                                     m->known[j].marks.guid == 0));
}

static bool link_and_all(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return is_by_link(m, i, j) && same(x->link, y->link) && same(x->title, y->title) &&
           same(x->at, y->at);
}

static bool link_alone(const struct matching *m, size_t i, size_t j)
{
    return is_by_link(m, i, j) && same(m->list[i].marks.link, m->known[j].marks.link) &&
           IS_CLEAR(m, i, link);
}

static bool weak_link_and_more(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return is_by_link(m, i, j) && same(x->link_weak, y->link_weak) && IS_CLEAR(m, i, link_weak) &&
           (same(x->at, y->at) ||
            (same(x->title, y->title) && x->at == y->at && x->body == y->body));
}

static bool title_and_date(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;
    bool by_title = m->rule >= IDENTITY_TITLE || (x->guid == 0 && x->link == 0) ||
                    (y->guid == 0 && y->link == 0);

    return by_title && same(x->title, y->title) && same(x->at, y->at);
}

/* Returns true when only the id differs. Id and link may both differ if the entry has a date and a
 * text. */
static bool all_but_address(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;
    bool dated = x->at != 0, link = same(x->link, y->link);

    return same(x->title, y->title) && x->at == y->at && x->body == y->body &&
           ((link && (dated || IS_CLEAR(m, i, link))) || (dated && x->body != 0));
}

/* For documents in which nearly everything that the feed's rule trusts is new at once. One or two
 * entries without date and link are not decided here: "Build failed" may come twice. */
static bool burst_same_content(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks;

    return m->known[j].has_marks && same_essence(m, i, j) &&
           (m->n >= FEW || x->at != 0 || x->link != 0);
}

static bool burst_link_and_date(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->link, y->link) && (same(x->at, y->at) || (same(x->title, y->title) &&
                                                             x->at == y->at && x->body == y->body));
}

static bool burst_title_and_date(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->title, y->title) && same(x->at, y->at);
}

static bool burst_link_and_title(const struct matching *m, size_t i, size_t j)
{
    const struct entry_marks *x = &m->list[i].marks, *y = &m->known[j].marks;

    return same(x->link, y->link) && same(x->title, y->title) && IS_CLEAR(m, i, link);
}

static bool burst_link(const struct matching *m, size_t i, size_t j)
{
    return same(m->list[i].marks.link, m->known[j].marks.link) && IS_CLEAR(m, i, link);
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* Pair the entries that fit: only pairs without a rival; or, with `first_come`, each entry with the
 * first stored one that is left. */
static void run_level(struct matching *m, level_fn *fits, bool first_come)
{
    for (size_t j = 0; j < m->n_known; j++)
        m->n_claims[j] = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t n = 0;

        m->wanted[i] = IDENTITY_NEW;
        for (size_t k = 0; k < m->n_peers[i] && m->who[i] == IDENTITY_NEW; k++) {
            size_t j = m->peers[i][k];

            if (m->taken[j] || !fits(m, i, j))
                continue;
            m->wanted[i] = j;
            n++;
            if (first_come) {
                m->who[i] = j;
                m->taken[j] = true;
            }
        }
        if (n != 1)
            m->wanted[i] = IDENTITY_NEW;
        else
            m->n_claims[m->wanted[i]]++;
    }
    for (size_t i = 0; i < m->n && !first_come; i++) {
        if (m->wanted[i] == IDENTITY_NEW || m->n_claims[m->wanted[i]] != 1)
            continue;
        m->who[i] = m->wanted[i];
        m->taken[m->who[i]] = true;
    }
}

static void run_levels(struct matching *m, level_fn *const *fits, size_t n)
{
    for (size_t k = 0; k < n; k++)
        run_level(m, fits[k], false);
}

static level_fn *const guid_levels[] = {
    guid_and_all,        guid_and_link,       guid_alone,
    strong_guid_and_all, strong_guid_and_one, weak_guid_and_more,
};
static level_fn *const other_levels[] = {
    link_and_all,
    link_alone,
    weak_link_and_more,
    title_and_date,
};

/* Count the entries that have the mark that the rule trusts, and how many of them were
 * recognised. */
static size_t count_trusted(const struct matching *m, size_t *n_found)
{
    size_t n = 0;

    *n_found = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct entry_marks *x = &m->list[i].marks;

        if (m->list[i].is_double || (m->rule == IDENTITY_GUID ? x->guid : x->link) == 0)
            continue;
        n++;
        *n_found += m->who[i] != IDENTITY_NEW;
    }
    return n;
}

/* A publisher may give all its entries other ids or links at once, because of another program, or
 * because each answer starts a new session. This shows when no id or link of the document is known
 * any more, but the rest of the entries is. */
static void match_rest(struct matching *m)
{
    size_t n_found, n = count_trusted(m, &n_found);
    size_t *before = ARENA_ARRAY(&m->arena, size_t, m->n + 1);
    bool burst = n > 0 && n_found * 4 <= n;

    run_level(m, all_but_address, false);
    if (!burst || m->rule > IDENTITY_LINK)
        return;
    run_level(m, burst_same_content, false);
    run_level(m, burst_link_and_date, false);
    run_level(m, burst_title_and_date, false);
    if (n < FEW)
        return;
    memcpy(before, m->who, m->n * sizeof *before);
    run_level(m, burst_link_and_title, false);
    n = count_trusted(m, &n_found);
    if (n_found * 2 >= n) {
        run_level(m, burst_link, false);
        return;
    }
    /* the document has new entries, and some old links are used again by chance */
    memcpy(m->who, before, m->n * sizeof *before);
}

void identity_match(const struct identity_entry *list, size_t n, const struct identity_known *known,
                    size_t n_known, enum identity_rule rule, size_t *who)
{
    struct matching m = {.arena = ARENA_INIT,
                         .list = list,
                         .known = known,
                         .n = n,
                         .n_known = n_known,
                         .rule = rule,
                         .who = who};

    for (size_t i = 0; i < n; i++)
        who[i] = IDENTITY_NEW;
    m.taken = ARENA_ARRAY(&m.arena, bool, n_known + 1);
    m.n_claims = ARENA_ARRAY(&m.arena, size_t, n_known + 1);
    m.wanted = ARENA_ARRAY(&m.arena, size_t, n + 1);
    m.peers = ARENA_ARRAY(&m.arena, size_t *, n + 1);
    m.n_peers = ARENA_ARRAY(&m.arena, size_t, n + 1);
    m.guid = index_of(&m, MARK(guid));
    m.guid_strong = index_of(&m, MARK(guid_strong));
    m.guid_weak = index_of(&m, MARK(guid_weak));
    m.link = index_of(&m, MARK(link));
    m.link_weak = index_of(&m, MARK(link_weak));
    find_peers(&m);
    run_level(&m, is_unchanged, true);
    run_level(&m, is_named_by_guid, true);
    if (rule == IDENTITY_GUID)
        run_levels(&m, guid_levels, ARRAY_LEN(guid_levels));
    run_level(&m, is_named_by_link, true);
    run_level(&m, is_named_by_content, true);
    run_level(&m, is_named_by_shared_guid, false);
    run_levels(&m, other_levels, ARRAY_LEN(other_levels));
    match_rest(&m);
    arena_release(&m.arena);
}

void identity_match_ids(const struct identity_entry *list, size_t n,
                        const struct identity_known *known, size_t n_known, size_t *who)
{
    struct map by_uid = MAP_INIT, by_guid = MAP_INIT;

    for (size_t j = 0; j < n_known; j++) {
        const int64_t *guid = &known[j].marks.guid;

        map_put(&by_uid, known[j].uid, (void *)(uintptr_t)&known[j]);
        if (known[j].has_marks && *guid != 0)
            map_put(&by_guid, str_of((const char *)guid, sizeof *guid),
                    (void *)(uintptr_t)&known[j]);
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t *guid = &list[i].marks.guid;
        const struct identity_known *k = NULL;

        who[i] = IDENTITY_NEW;
        if (list[i].is_double || *guid == 0)
            continue;
        k = map_get(&by_uid, list[i].names[IDENTITY_GUID]);
        if (k == NULL)
            k = map_get(&by_guid, str_of((const char *)guid, sizeof *guid));
        if (k == NULL)
            continue;
        who[i] = (size_t)(k - known);
        (void)map_del(&by_uid, k->uid);
        (void)map_del(&by_guid, str_of((const char *)&k->marks.guid, sizeof k->marks.guid));
    }
    map_release(&by_uid, NULL);
    map_release(&by_guid, NULL);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the name to try first. An id that no other entry of the document has is used whatever the
 * rule is, because the publisher uses it. Otherwise the rule decides. */
static enum identity_rule first_name(const struct identity_entry *list, size_t i,
                                     const struct map *guids, enum identity_rule rule)
{
    struct str id = list[i].names[IDENTITY_GUID];

    if (str_is_null(id) || map_get(guids, id) != &list[i])
        return rule;
    return IDENTITY_GUID;
}

void identity_names(struct arena *a, const struct identity_entry *list, size_t n,
                    const struct identity_known *known, size_t n_known, const size_t *who,
                    enum identity_rule rule, int64_t salt, struct str *uids)
{
    struct map used = MAP_INIT, guids = MAP_INIT; /* guids: those that only one entry has */

    for (size_t j = 0; j < n_known; j++)
        map_put(&used, known[j].uid, &used);
    for (size_t i = 0; i < n; i++) {
        struct str id = list[i].names[IDENTITY_GUID];

        if (!list[i].is_double && !str_is_null(id))
            map_put(&guids, id, map_get(&guids, id) == NULL ? (void *)(uintptr_t)&list[i] : &guids);
    }
    for (size_t i = 0; i < n; i++) {
        uids[i] = STR_NULL;
        if (list[i].is_double)
            continue;
        if (who[i] != IDENTITY_NEW)
            uids[i] = known[who[i]].uid;
        for (int r = first_name(list, i, &guids, rule); str_is_null(uids[i]) && r < IDENTITY_RULES;
             r = r < (int)rule ? (int)rule : r + 1)
            if (!str_is_null(list[i].names[r]) && map_get(&used, list[i].names[r]) == NULL)
                uids[i] = str_dup(a, list[i].names[r]);
        if (str_is_null(uids[i])) /* even its content is the same as that of another entry */
            uids[i] = str_printf(a, "%.*s.%lld.%zu", STR_ARG(list[i].names[IDENTITY_HASH]),
                                 (long long)salt, i);
        map_put(&used, uids[i], &used);
    }
    map_release(&used, NULL);
    map_release(&guids, NULL);
}
