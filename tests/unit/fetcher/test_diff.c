/* tests/unit/fetcher/test_diff.c - a document against what is known of its feed. */
#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"
#include "feed/identity/identity.h"
#include "fetcher/diff.h"

#define RECEIVED_AT 1600000000

struct case_ctx {
    struct arena a, docs;
    struct doc_entry entries[4];
    struct doc_tombstone graves[2];
    struct feed_doc doc;
    struct known_entry known[8]; /* n_known of them */
    size_t n_known;
    struct entry_change *changes;
    size_t n;
};

static void add_entry(struct case_ctx *c, const char *id, const char *title, int64_t updated_at)
{
    struct doc_entry *e = &c->entries[c->doc.n_entries++];

    *e = (struct doc_entry){.obj = value_dict(&c->a),
                            .ext = STR(""),
                            .id = str_from(id),
                            .title = str_from(title),
                            .published_at = TIME_UNKNOWN,
                            .updated_at = updated_at};
    value_set_textz(&c->a, e->obj, "id", e->id);
    value_set_textz(&c->a, e->obj, "title", e->title);
}

static void add_grave(struct case_ctx *c, const char *ref, int64_t when_at)
{
    c->graves[c->doc.n_tombstones++] =
        (struct doc_tombstone){.ref = str_from(ref), .when_at = when_at, .ext = STR("<x/>")};
}

static void begin(struct case_ctx *c)
{
    memset(c, 0, sizeof *c);
    c->doc.entries = c->entries;
    c->doc.tombstones = c->graves;
    c->doc.feed = value_dict(&c->a);
}

/* As a worker does it; whatever is asked, all is told. */
static void diff(struct case_ctx *c)
{
    const struct identity_policy by_guid = {.rule = IDENTITY_GUID, .since_at = 1};
    struct diff_question q;
    struct diff d;

    diff_begin(&c->a, &d, &c->doc, &by_guid, RECEIVED_AT);
    while (diff_ask(&c->a, &d, &q))
        diff_learn(&c->a, &d, c->known, c->n_known);
    c->n = diff_document(&c->a, &c->docs, &d, RECEIVED_AT, &c->changes);
}

/* Make an entry known by its id alone, as one that was stored before there were marks. */
static void know(struct case_ctx *c, const char *uid, bool deleted)
{
    c->known[c->n_known] = (struct known_entry){.id = (int64_t)c->n_known + 1, .deleted = deleted};
    c->known[c->n_known++].identity.uid = str_from(uid);
}

/* Make known what the diff has just found. */
static void learn(struct case_ctx *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct entry_change *e = &c->changes[i];
        struct known_entry *k = &c->known[i];

        *k = (struct known_entry){.id = (int64_t)i + 1, .sort_at = RECEIVED_AT};
        k->identity.uid = e->uid;
        k->identity.has_marks = true;
        k->identity.marks = e->marks;
        memcpy(k->identity.essence, e->essence, 16);
        digest_content(str_concat(&c->a, e->doc, e->ext), k->doc_hash);
    }
    c->n_known = c->n;
}

/* D9: new, then the same, then changed. */
static void test_diff__new_same_changed(void **state UNUSED)
{
    struct case_ctx c;

    begin(&c);
    add_entry(&c, "a", "one", 100);
    add_entry(&c, "b", "two", 200);
    diff(&c);
    assert_int_equal(c.n, 2);
    assert_str(c.changes[0].uid, "a");
    assert_int_equal(c.changes[0].kind, REV_NEW);
    assert_str(c.changes[0].title, "one");
    assert_int_equal(c.changes[1].updated_at, 200);
    assert_true(str_find(c.changes[0].doc, STR("\"title\":\"one\"")) > 0);
    learn(&c);
    diff(&c);
    assert_int_equal(c.n, 0);

    value_set_textz(&c.a, c.entries[1].obj, "title", STR("two, edited"));
    diff(&c);
    assert_int_equal(c.n, 1);
    assert_str(c.changes[0].uid, "b");
    assert_int_equal(c.changes[0].kind, REV_CHANGED);
    assert_false(c.changes[0].volatile_only);
    arena_release(&c.a);
    arena_release(&c.docs);
}

/* D9: other bytes with the same essence are not an event, but are stored. */
static void test_diff__volatile_only(void **state UNUSED)
{
    struct case_ctx c;

    begin(&c);
    add_entry(&c, "a", "one", 100);
    value_set_textz(&c.a, c.entries[0].obj, "slash_comments", STR("3"));
    diff(&c);
    learn(&c);
    value_set_textz(&c.a, c.entries[0].obj, "slash_comments", STR("4"));
    diff(&c);
    assert_int_equal(c.n, 1);
    assert_true(c.changes[0].volatile_only);
    assert_int_equal(c.changes[0].kind, REV_CHANGED);
    arena_release(&c.a);
    arena_release(&c.docs);
}

/* TOMB-01, TOMB-05, TOMB-06. */
static void test_diff__tombstones(void **state UNUSED)
{
    static const struct {
        bool known, deleted;
        int64_t entry_updated_at; /* 0: the entry is not in the document */
        int64_t when_at;
        bool dies;
    } rows[] = {
        {true, false, 0, 500, true},    {true, false, 400, 500, true},
        {true, false, 600, 500, false}, {true, true, 0, 500, false},
        {false, false, 0, 500, false},  {true, false, 0, TIME_UNKNOWN, false},
        {true, true, 400, 500, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct case_ctx c;
        size_t n_dead = 0;

        begin(&c);
        if (rows[i].entry_updated_at != 0)
            add_entry(&c, "a", "one", rows[i].entry_updated_at);
        add_grave(&c, "a", rows[i].when_at);
        if (rows[i].known)
            know(&c, "a", rows[i].deleted);
        diff(&c);
        for (size_t k = 0; k < c.n; k++) {
            if (c.changes[k].kind != REV_DELETED)
                continue;
            n_dead++;
            assert_str(c.changes[k].uid, "a");
            assert_str(c.changes[k].ext, "<x/>");
            assert_int_equal(c.changes[k].updated_at, 500);
        }
        assert_int_equal(n_dead, rows[i].dies);
        if (rows[i].dies || rows[i].deleted)
            assert_int_equal(c.n, n_dead); /* the entry beside it is not news */
        arena_release(&c.a);
        arena_release(&c.docs);
    }
}

/* KEEP-04: the deletion of what retention has taken is not news, however often its publisher shows it. */
static void test_diff__tombstone_of_what_is_gone(void **state UNUSED)
{
    struct case_ctx c;

    begin(&c);
    add_grave(&c, "a", 500);
    know(&c, "a", false);
    c.known[0].first_seq = c.known[0].seq = -1;
    diff(&c);
    assert_int_equal(0, c.n);
    arena_release(&c.a);
    arena_release(&c.docs);
}

/* TOMB-03: the same ref twice is one deletion, at the later time. */
static void test_diff__latest_tombstone_counts(void **state UNUSED)
{
    struct case_ctx c;

    begin(&c);
    add_grave(&c, "a", 500);
    add_grave(&c, "a", 700);
    know(&c, "a", false);
    diff(&c);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.changes[0].updated_at, 700);
    arena_release(&c.a);
    arena_release(&c.docs);
}

/* An entry that was deleted and stands in the document again is new. */
static void test_diff__deleted_entry_rises(void **state UNUSED)
{
    struct case_ctx c;

    begin(&c);
    add_entry(&c, "a", "one", 100);
    know(&c, "a", true);
    diff(&c);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.changes[0].kind, REV_NEW);
    arena_release(&c.a);
    arena_release(&c.docs);
}

/* Over the limit the content goes, the entry stays; normalized texts are cut between characters. */
static void test_diff__huge_entries_keep_their_identity(void **state UNUSED)
{
    size_t len = LIMIT_ENTRY + 10;
    char *big = mem_alloc(len);
    struct case_ctx c;
    struct value *list;

    memset(big, 'x', len);
    for (size_t i = 0; i + 1 < 80000; i += 2)
        memcpy(big + i + 1, "\xC3\xA9", 2);
    begin(&c);
    add_entry(&c, "a", "one", 100);
    list = value_list_at(&c.a, c.entries[0].obj, STR("content"));
    value_push(&c.a, list, value_text(&c.a, str_of(big + 80000, len - 80000)));
    value_push(&c.a, list, value_text(&c.a, str_of(big + 80000, len - 80000)));
    c.entries[0].summary = str_of(big, 80000);
    add_entry(&c, "b", "two", 100);
    value_set_textz(&c.a, c.entries[1].obj, "odd", str_of(big + 80001, len - 80001));
    value_set_textz(&c.a, c.entries[1].obj, "odder", str_of(big + 80001, len - 80001));
    diff(&c);
    assert_int_equal(c.n, 2);
    assert_str(c.changes[0].doc, "{\"id\":\"a\",\"title\":\"one\",\"link\":\"\",\"summary\":\"\","
                                 "\"updated\":\"2020-09-13T12:26:40Z\","
                                 "\"updated_parsed\":[2020,9,13,12,26,40,6,257,0]}");
    assert_int_equal(c.changes[0].summary.len, 65535);
    assert_int_equal(str_utf8_valid(c.changes[0].summary), 65535);
    assert_str(c.changes[1].doc, "{\"id\":\"b\",\"title\":\"two\",\"link\":\"\","
                                 "\"updated\":\"2020-09-13T12:26:40Z\"}");
    arena_release(&c.a);
    arena_release(&c.docs);
    mem_free(big);
}

/* In a Smart Feed another id is another entry, however alike they are, and an id is one entry. */
static void test_diff__ids_alone_count_in_a_stream(void **state UNUSED)
{
    struct case_ctx c;

    begin(&c);
    c.doc.cursor = STR("c1");
    add_entry(&c, "http://a/?id=1&utm_source=x", "same", 100);
    add_entry(&c, "http://a/?id=1&utm_source=y", "same", 100);
    diff(&c);
    assert_int_equal(c.n, 2);
    assert_str(c.changes[1].uid, "http://a/?id=1&utm_source=y");
    learn(&c);
    diff(&c);
    assert_int_equal(c.n, 0);
    c.doc.n_entries = 0;
    add_entry(&c, "http://a/?id=1&utm_source=z", "same", 100);
    add_entry(&c, "http://a/?id=1&utm_source=y", "same", 200);
    add_entry(&c, "http://a/?id=1&utm_source=y", "later", 200);
    diff(&c);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.changes[0].kind, REV_NEW);
    assert_str(c.changes[0].uid, "http://a/?id=1&utm_source=z");
    assert_int_equal(c.changes[1].kind, REV_CHANGED);
    assert_str(c.changes[1].uid, "http://a/?id=1&utm_source=y");
    assert_str(c.changes[1].title, "later");
    arena_release(&c.a);
    arena_release(&c.docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__ids_alone_count_in_a_stream),
        cmocka_unit_test(test_diff__new_same_changed),
        cmocka_unit_test(test_diff__volatile_only),
        cmocka_unit_test(test_diff__tombstones),
        cmocka_unit_test(test_diff__latest_tombstone_counts),
        cmocka_unit_test(test_diff__tombstone_of_what_is_gone),
        cmocka_unit_test(test_diff__deleted_entry_rises),
        cmocka_unit_test(test_diff__huge_entries_keep_their_identity),
    };

    digest_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
