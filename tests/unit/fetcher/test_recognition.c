/* tests/unit/fetcher/test_recognition.c - entries stay the same whatever their publisher does.
 *
 * Histories of publishers that misbehave, drawn by lot, against a model that knows which entry is
 * which. The store is a list that answers what it is asked, as the real one does. */
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"
#include "fetcher/diff.h"

#define HISTORIES 60 /* of each story; FEEDMILL_HISTORIES has another number */
#define FETCHES 30
#define MOST 200  /* entries of a history */
#define WINDOW 10 /* entries of a document */
#define START 1700000000

/* ---- dice ------------------------------------------------------------------------------------ */

static uint64_t dice;

static unsigned draw(unsigned n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

/* ---- the publisher --------------------------------------------------------------------------- */

struct truth { /* one entry, as its author sees it */
    unsigned number, edition_of_title, edition_of_body;
    bool edited; /* since it was last shown */
    bool moved;  /* its link changed while it was not shown: that is news, or is not */
};

struct publisher {
    struct truth entries[MOST];
    unsigned n, fetch;
    unsigned turn_at; /* fetch at which the story turns */
    bool dated, with_link_change;
};

struct shown {
    struct str guid, link, original; /* null: none */
    bool dated, bare;                /* bare: no title but a text */
};

typedef void story_fn(struct arena *a, const struct publisher *p, const struct truth *t,
                      struct shown *s);

static void plain(struct arena *a, const struct publisher *p, const struct truth *t,
                  struct shown *s)
{
    s->guid = str_printf(a, "urn:x:%u", t->number);
    s->link = str_printf(a, "http://h.example/%u", t->number);
    s->dated = p->dated;
}

/* Each answer comes from another server, and names entries in its own way. */
static struct str spelled(struct arena *a, unsigned number)
{
    static const char *const front[] = {"http://h.example", "https://h.example",
                                        "http://www.h.example", "https://H.Example:443"};
    static const char *const tail[] = {"", "/", "?utm_source=rss", "/?utm_medium=a&utm_campaign=b"};
    unsigned which = draw(6);
    const char *end = which == 4   ? arena_printf(a, "?PHPSESSID=%u", draw(1000000))
                      : which == 5 ? arena_printf(a, ";jsessionid=%X.a", draw(1000000))
                                   : tail[which];

    return str_printf(a, "%s/%s%u%s", front[draw(4)], draw(2) ? "caf%c3%a9-" : "caf%C3%A9-", number,
                      end);
}

static void spelling(struct arena *a, const struct publisher *p, const struct truth *t,
                     struct shown *s)
{
    s->guid = spelled(a, t->number);
    s->link = spelled(a, t->number);
    s->dated = p->dated;
}

static void uuid_case(struct arena *a, const struct publisher *p, const struct truth *t,
                      struct shown *s)
{
    plain(a, p, t, s);
    switch (draw(3)) {
    case 0:
        s->guid = str_printf(a, "urn:uuid:%08x-aaaa-bbbb-cccc-dddddddddddd", t->number);
        break;
    case 1:
        s->guid = str_printf(a, "%08X-AAAA-BBBB-CCCC-DDDDDDDDDDDD", t->number);
        break;
    default:
        s->guid = str_printf(a, "{%08X-aaaa-BBBB-cccc-DDDDDDDDDDDD}", t->number);
    }
}

static void sid_is_noise(struct arena *a, const struct publisher *p, const struct truth *t,
                         struct shown *s)
{
    s->guid = s->link =
        str_printf(a, "http://h.example/%u?sid=%u.%u", t->number, p->fetch, draw(1000000));
    s->dated = true;
}

static void sid_is_the_id(struct arena *a, const struct publisher *p, const struct truth *t,
                          struct shown *s)
{
    s->guid = s->link = str_printf(a, "http://h.example/article.pl?sid=%u", t->number);
    s->dated = p->dated;
}

static void scheme_is_the_id(struct arena *a, const struct publisher *p, const struct truth *t,
                             struct shown *s)
{
    s->guid = str_printf(a, "%s://h.example/%u", t->number % 2 ? "https" : "http", t->number / 2);
    s->link = str_printf(a, "http://h.example/l%u", t->number);
    s->dated = p->dated;
}

static void guid_of_the_moment(struct arena *a, const struct publisher *p, const struct truth *t,
                               struct shown *s)
{
    plain(a, p, t, s);
    s->guid = str_printf(a, "%u-%u-%u", p->fetch, t->number, draw(1000000));
}

static void no_guid(struct arena *a, const struct publisher *p, const struct truth *t,
                    struct shown *s)
{
    plain(a, p, t, s);
    s->guid = STR_NULL;
}

static void one_guid(struct arena *a, const struct publisher *p, const struct truth *t,
                     struct shown *s)
{
    plain(a, p, t, s);
    s->guid = STR("http://h.example/");
}

static void one_guid_one_link(struct arena *a, const struct publisher *p, const struct truth *t,
                              struct shown *s)
{
    plain(a, p, t, s);
    s->guid = draw(2) ? STR("g") : STR_NULL;
    s->link = STR("http://h.example/");
    s->dated = true;
}

static void text_alone(struct arena *a UNUSED, const struct publisher *p UNUSED,
                       const struct truth *t UNUSED, struct shown *s)
{
    s->bare = true;
}

/* Another program, on one day: other ids, and perhaps other links. */
static void migration(struct arena *a, const struct publisher *p, const struct truth *t,
                      struct shown *s)
{
    bool after = p->fetch >= p->turn_at;

    plain(a, p, t, s);
    s->dated = p->with_link_change || p->dated;
    if (!after)
        return;
    s->guid = str_printf(a, "http://h.example/?p=%u", t->number + 1000);
    if (p->with_link_change)
        s->link = str_printf(a, "https://new.example/posts/%u", t->number);
}

static void guids_appear(struct arena *a, const struct publisher *p, const struct truth *t,
                         struct shown *s)
{
    plain(a, p, t, s);
    if ((p->fetch >= p->turn_at) == p->with_link_change)
        s->guid = STR_NULL;
}

/* Good ids, then ids of the moment, for good. */
static void decay(struct arena *a, const struct publisher *p, const struct truth *t,
                  struct shown *s)
{
    (p->fetch < p->turn_at ? plain : guid_of_the_moment)(a, p, t, s);
}

static void recovery(struct arena *a, const struct publisher *p, const struct truth *t,
                     struct shown *s)
{
    (p->fetch < p->turn_at ? guid_of_the_moment : plain)(a, p, t, s);
}

/* Two entries share an id, for ever. */
static void pairs(struct arena *a, const struct publisher *p, const struct truth *t,
                  struct shown *s)
{
    plain(a, p, t, s);
    if (t->number % 5 < 2)
        s->guid = str_printf(a, "urn:pair:%u", t->number / 5);
}

static void feedburner(struct arena *a, const struct publisher *p, const struct truth *t,
                       struct shown *s)
{
    plain(a, p, t, s);
    if (p->with_link_change)
        s->guid = STR_NULL;
    if (p->fetch / 7 % 2 == 0)
        return;
    s->original = s->link;
    s->link = str_printf(a, "http://feedproxy.google.com/~r/h/~3/%x/", t->number * 77777);
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void set_text(struct arena *a, struct value *obj, const char *key, struct str s)
{
    if (!str_is_null(s))
        value_set_text(a, obj, str_from(key), s);
}

static void show(struct arena *a, const struct publisher *p, const struct truth *t, story_fn *story,
                 struct doc_entry *e)
{
    struct shown s = {.dated = false};

    story(a, p, t, &s);
    *e =
        (struct doc_entry){.obj = value_dict(a),
                           .ext = STR(""),
                           .id = s.guid,
                           .link = s.link,
                           .published_at = s.dated ? START + 60 * (int64_t)t->number : TIME_UNKNOWN,
                           .updated_at = TIME_UNKNOWN};
    if (!s.bare)
        e->title = str_printf(a, "Title %u.%u", t->number, t->edition_of_title);
    e->summary = str_printf(a, "Text %u.%u", t->number, t->edition_of_body);
    set_text(a, e->obj, "id", e->id);
    set_text(a, e->obj, "link", e->link);
    set_text(a, e->obj, "title", e->title);
    set_text(a, e->obj, "summary", e->summary);
    set_text(a, e->obj, "feedburner_origlink", s.original);
    if (s.dated)
        set_text(a, e->obj, "published", str_printf(a, "%u", t->number));
}

/* ---- the store ------------------------------------------------------------------------------- */

struct shelf {
    struct arena arena;
    struct known_entry list[MOST];
    int owner[MOST]; /* number of the true entry */
    size_t n;
    struct identity_policy policy;
};

static bool is_asked(const struct known_entry *k, const struct diff_question *q, unsigned *per_key)
{
    int64_t keys[MARKS_KEYS];
    size_t n = marks_keys(&k->identity.marks, keys);
    bool found = false;

    for (size_t i = 0; i < q->n_uids; i++)
        found |= str_eq(q->uids[i], k->identity.uid);
    for (size_t x = 0; x < n; x++)
        for (size_t i = 0; i < q->n_keys; i++)
            found |= keys[x] == q->keys[i] && ++per_key[i] <= IDENTITY_CANDIDATES;
    return found;
}

/* The newest of each key, by id, as reader_known() gives them. */
static size_t answer(const struct shelf *shelf, const struct diff_question *q,
                     struct known_entry *out)
{
    unsigned *per_key = mem_zalloc((q->n_keys + 1) * sizeof *per_key);
    struct known_entry back[MOST];
    size_t n = 0;

    for (size_t j = shelf->n; j-- > 0;)
        if (is_asked(&shelf->list[j], q, per_key))
            back[n++] = shelf->list[j];
    for (size_t j = 0; j < n; j++)
        out[j] = back[n - 1 - j];
    mem_free(per_key);
    return n;
}

static struct known_entry *find_uid(struct shelf *shelf, struct str uid)
{
    for (size_t j = 0; j < shelf->n; j++)
        if (str_eq(shelf->list[j].identity.uid, uid))
            return &shelf->list[j];
    return NULL;
}

static void store(struct shelf *shelf, const struct entry_change *c, int owner)
{
    struct known_entry *k = find_uid(shelf, c->uid);
    AUTO(buf_release) struct buf both = BUF_INIT(BUF_ANY);

    if (k == NULL) {
        assert_true(shelf->n < MOST);
        shelf->owner[shelf->n] = owner;
        k = &shelf->list[shelf->n++];
        *k = (struct known_entry){.id = (int64_t)shelf->n, .sort_at = START};
        k->identity.uid = str_dup(&shelf->arena, c->uid);
    }
    k->identity.has_marks = true;
    k->identity.marks = c->marks;
    memcpy(k->identity.essence, c->essence, 16);
    buf_str(&both, c->doc);
    buf_str(&both, c->ext);
    digest_content(buf_view(&both), k->doc_hash);
}

/* ---- a history ------------------------------------------------------------------------------- */

struct tally {
    unsigned splits, merges, echoes,
        silences; /* echo: an event without news; silence: the reverse */
};

static const struct entry_change *change_of(const struct entry_change *list, size_t n,
                                            struct str uid)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(list[i].uid, uid))
            return &list[i];
    return NULL;
}

static void fetch(struct publisher *p, story_fn *story, struct shelf *shelf, struct tally *tally)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct doc_entry entries[WINDOW + 2];
    struct truth *who[WINDOW + 2];
    struct feed_doc doc = {.entries = entries, .feed = value_dict(&a)};
    struct known_entry known[MOST];
    struct diff_question q;
    struct entry_change *changes;
    struct diff d;
    size_t n;

    for (unsigned k = 0; k < WINDOW && k < p->n; k++) /* the newest, in any order */
        who[doc.n_entries++] = &p->entries[p->n - 1 - k];
    if (p->n > 2 * WINDOW && draw(3) == 0) /* and one that had gone */
        who[doc.n_entries++] = &p->entries[draw(p->n - WINDOW)];
    for (size_t i = doc.n_entries; i > 1; i--) {
        size_t j = draw((unsigned)i);
        struct truth *t = who[i - 1];

        who[i - 1] = who[j];
        who[j] = t;
    }
    for (size_t i = 0; i < doc.n_entries; i++)
        show(&a, p, who[i], story, &entries[i]);
    diff_begin(&a, &d, &doc, &shelf->policy, START);
    while (diff_ask(&a, &d, &q))
        diff_learn(&a, &d, known, answer(shelf, &q, known));
    n = diff_document(&a, &a, &d, START, &changes);
    for (size_t i = 0; i < doc.n_entries; i++) {
        int number = (int)who[i]->number;
        const struct entry_change *c = change_of(changes, n, d.uids[i]);
        struct known_entry *k = find_uid(shelf, d.uids[i]);
        bool event = c != NULL && !c->volatile_only, seen = false;

        assert_false(str_is_null(d.uids[i]));
        for (size_t j = 0; j < shelf->n; j++)
            seen |= shelf->owner[j] == number;
        if (k != NULL && shelf->owner[k - shelf->list] != number)
            tally->merges++;
        else if (k == NULL && seen)
            tally->splits++;
        else if (seen && event && !who[i]->edited && !who[i]->moved)
            tally->echoes++;
        else if ((!seen || who[i]->edited) && !event)
            tally->silences++;
        if (c != NULL)
            store(shelf, c, number);
        who[i]->edited = who[i]->moved = false;
    }
    if (d.policy_changed) {
        shelf->policy = d.policy;
        shelf->policy.why = str_dup(&shelf->arena, d.policy.why);
    }
}

static void add_entries(struct publisher *p, unsigned n)
{
    for (unsigned k = 0; k < n && p->n < MOST; k++, p->n++)
        p->entries[p->n] = (struct truth){.number = p->n};
}

enum edits { NO_EDITS, EDITS };

static enum identity_rule run(story_fn *story, enum edits edits, uint64_t seed, struct tally *tally)
{
    struct publisher p = {.n = 0};
    struct shelf shelf = {.arena = ARENA_INIT, .policy = {.rule = IDENTITY_UNSET}};

    dice = seed * 2654435761u + 12345;
    draw(2);
    p.dated = draw(2);
    p.with_link_change = draw(2);
    p.turn_at = 3 + draw(10);
    add_entries(&p, 5 + draw(WINDOW - 4)); /* so that each was new once */
    for (p.fetch = 0; p.fetch < FETCHES; p.fetch++) {
        for (unsigned k = 0; story == migration && p.fetch == p.turn_at && k + WINDOW < p.n; k++)
            p.entries[k].moved = p.with_link_change;
        fetch(&p, story, &shelf, tally);
        add_entries(&p, draw(3));
        if (edits == EDITS && draw(2) && p.fetch + 1 != p.turn_at) {
            struct truth *t = &p.entries[p.n - 1 - draw(p.n < WINDOW ? p.n : WINDOW)];
            bool title = draw(2);

            t->edition_of_title += title;
            t->edition_of_body += !title;
            t->edited = true;
        }
    }
    arena_release(&shelf.arena);
    return shelf.policy.rule;
}

static void expect(const char *name, story_fn *story, enum edits edits,
                   enum identity_rule in_the_end)
{
    const char *given = getenv("FEEDMILL_HISTORIES");
    unsigned n = given != NULL ? (unsigned)atoi(given) : HISTORIES;
    struct tally tally = {0};

    for (unsigned seed = 1; seed <= n; seed++) {
        enum identity_rule rule = run(story, edits, seed, &tally);

        if (tally.splits + tally.merges + tally.echoes + tally.silences > 0)
            fail_msg("%s, history %u: %u splits, %u merges, %u echoes, %u silences", name, seed,
                     tally.splits, tally.merges, tally.echoes, tally.silences);
        if (in_the_end != IDENTITY_UNSET)
            assert_string_equal(identity_rule_name(in_the_end), identity_rule_name(rule));
    }
}

#define STORY(name, edits, rule)                                                                   \
    static void test_recognition__##name(void **state)                                             \
    {                                                                                              \
        (void)state;                                                                               \
        expect(#name, name, edits, rule);                                                          \
    }

STORY(plain, EDITS, IDENTITY_GUID)
STORY(spelling, EDITS, IDENTITY_GUID)
STORY(uuid_case, EDITS, IDENTITY_GUID)
STORY(sid_is_noise, EDITS, IDENTITY_GUID)
STORY(sid_is_the_id, EDITS, IDENTITY_GUID)
STORY(scheme_is_the_id, EDITS, IDENTITY_GUID)
STORY(guid_of_the_moment, EDITS, IDENTITY_LINK)
STORY(no_guid, EDITS, IDENTITY_LINK)
STORY(one_guid, EDITS, IDENTITY_LINK)
STORY(one_guid_one_link, NO_EDITS, IDENTITY_TITLE)
STORY(text_alone, NO_EDITS, IDENTITY_HASH)
STORY(migration, EDITS, IDENTITY_GUID)
STORY(guids_appear, EDITS, IDENTITY_UNSET)
STORY(decay, EDITS, IDENTITY_LINK)
STORY(recovery, EDITS, IDENTITY_GUID)
STORY(pairs, EDITS, IDENTITY_UNSET)
STORY(feedburner, EDITS, IDENTITY_UNSET)

int main(void)
{
#define T(name) cmocka_unit_test(test_recognition__##name)
    const struct CMUnitTest tests[] = {
        T(plain),
        T(spelling),
        T(uuid_case),
        T(sid_is_noise),
        T(sid_is_the_id),
        T(scheme_is_the_id),
        T(guid_of_the_moment),
        T(no_guid),
        T(one_guid),
        T(one_guid_one_link),
        T(text_alone),
        T(migration),
        T(guids_appear),
        T(decay),
        T(recovery),
        T(pairs),
        T(feedburner),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
