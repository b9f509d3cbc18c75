/* A filter has one text, the judge is the truth, and terms find all that the judge accepts. */
#include "../cmocka_all.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "feed/filter/filter.h"
#include "feed/filter/question.h"
#include "feed/text/json.h"
#include "feed/words/terms.h"

#define NOW 1700000000

static struct arena arena;

/* ---------------------------------------------------------------- the language of q */

/* VIEW-02: what is asked in other words has the same text. */
static void test_question__has_one_text(void **state UNUSED)
{
    static const struct {
        const char *q, *text;
    } rows[] = {
        {"Café", "cafe"},
        {"b a  a", "a b"},
        {"a OR b c", "a OR b c"},
        {"c b OR a", "a OR b c"},
        {"(a OR b) c", "(a OR b) c"},
        {"((a)) (b (c))", "a b c"},
        {"a OR (b OR (c))", "a OR b OR c"},
        {"-a", "-a"},
        {"-(a OR b)", "-(a OR b)"},
        {"-(-a)", "a"},
        {"\"A  Phrase\"", "\"a phrase\""},
        {"\"one\"", "one"},
        {"ex-wife", "\"ex wife\""},
        {"wor*", "wor*"},
        {"ex-wif*", "ex-wif*"},
        {"title:Word AUTHOR:\"Jane Doe\"", "author:\"jane doe\" title:word"},
        {"-title:x", "-title:x"},
        {"http://example.org", "\"http example org\""},
        {"or OR Or", "or"},
        {"OrX", "orx"},
        {"東京", "東京"},
        {"東京 tower*", "tower* 東京"},
        {"東京タワー2020", "\"東京タワー 2020\""},
        {"東*", "東"},
        {"\"東 京\"", "\"東 京\""},
        {"foo(bar)", "bar foo"},
        {"😀", "😀"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question *q;
        struct question_fault fault;

        if (!question_read(&arena, str_from(rows[i].q), &q, &fault))
            fail_msg("%s: %.*s", rows[i].q, STR_ARG(fault.why));
        if (!str_eqz(q->text, rows[i].text))
            fail_msg("%s: %.*s", rows[i].q, STR_ARG(q->text));
    }
}

/* VIEW-02: the place is a 0-based character, not a byte. */
static void test_question__says_where_it_is_wrong(void **state UNUSED)
{
    static const struct {
        const char *q;
        size_t at;
    } rows[] = {
        {"a \"b", 2},     {"é \"b", 2},    {"a (b", 2}, {"a) b", 1},    {"OR a", 0},  {"a OR", 4},
        {"a OR OR b", 5}, {"()", 1},       {"a ++", 2}, {"-", 0},       {"a - b", 2}, {"title:", 6},
        {"a w*rd", 3},    {"title: x", 6}, {"\"\"", 0}, {"(a OR b", 0}, {"東 \"", 2},
        {"title:-cafe", 6}, {"a -author:-b", 10}, {"title:(a b)", 6}, {"é TITLE:(a", 8}, {"title:-", 6},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct question *q;
        struct question_fault fault;

        if (question_read(&arena, str_from(rows[i].q), &q, &fault))
            fail_msg("%s is read as %.*s", rows[i].q, STR_ARG(q->text));
        if (fault.at != rows[i].at || fault.why.len == 0)
            fail_msg("%s: at %zu: %.*s", rows[i].q, fault.at, STR_ARG(fault.why));
    }
}

static void test_question__is_bounded(void **state UNUSED)
{
    struct str deep = STR("a"), many = STR(""), wide = STR("");
    const struct question *q;
    struct question_fault fault;

    for (int i = 0; i < QUESTION_DEPTH_MAX; i++)
        deep = str_printf(&arena, "(%.*s)", STR_ARG(deep));
    assert_true(question_read(&arena, deep, &q, &fault));
    deep = str_printf(&arena, "(%.*s)", STR_ARG(deep));
    assert_false(question_read(&arena, deep, &q, &fault));
    assert_int_equal(fault.at, QUESTION_DEPTH_MAX);
    for (int i = 0; i < QUESTION_WORDS_MAX; i++)
        many = str_printf(&arena, "%.*s w%d", STR_ARG(many), i);
    assert_true(question_read(&arena, many, &q, &fault));
    assert_false(question_read(&arena, str_concat(&arena, many, STR(" x")), &q, &fault));
    for (int i = 0; i < 500; i++)
        wide = str_concat(&arena, wide, STR("longword "));
    assert_false(question_read(&arena, wide, &q, &fault));
    assert_false(question_read(&arena, STR("a\xFF"), &q, &fault));
    assert_int_equal(fault.at, 1);
}

/* ---------------------------------------------------------------- the whole filter */

static struct str_list list(const char *one, const char *two)
{
    struct str_list l = {ARENA_ARRAY(&arena, struct str, 2), 0};

    if (one != NULL)
        l.list[l.n++] = str_from(one);
    if (two != NULL)
        l.list[l.n++] = str_from(two);
    return l;
}

static const struct filter *made(const struct filter_wish *wish, int64_t now)
{
    const struct filter *f = NULL;
    struct filter_fault fault;

    if (!filter_make(&arena, wish, now, &f, &fault))
        fail_msg("%s: %.*s", fault.name, STR_ARG(fault.why));
    return f;
}

static void test_filter__has_one_text(void **state UNUSED)
{
    struct filter_wish wish = {.q = STR("b A"),
                               .author = list("Jane  DOE", "jane doe"),
                               .category = list("World News", "art"),
                               .lang = list("de-CH", NULL),
                               .has = list("video", "Audio"),
                               .after = STR("7d"),
                               .before = STR("2024-05-01T10:00:00+02:00")};
    const struct filter *f = made(&wish, TIME_UNKNOWN), *again;

    assert_true(str_eqz(f->text, "q a b\nauthor jane doe\ncategory art\ncategory world news\n"
                                 "lang de-ch\nhas audio\nhas video\nafter 604800s\n"
                                 "before 1714550400"));
    again = filter_read(&arena, f->text);
    assert_non_null(again);
    assert_true(str_eq(again->text, f->text));
    assert_int_equal(again->after_at, INT64_MIN);
    assert_int_equal(again->before_at, 1714550400);
    assert_true(f->needs_head);
    assert_null(made(&(struct filter_wish){.q = STR(" "), .author = list("", " ")}, NOW));
}

static void test_filter__other_texts_are_not_canonical(void **state UNUSED)
{
    static const char *const texts[] = {
        "",      "q B",          "q b a", "x y",      "has audio\nq a",
        "q a\n", "lang de\nq a", "q (",   "author A", "after 7d"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (filter_read(&arena, str_from(texts[i])) != NULL)
            fail_msg("%s is read", texts[i]);
}

/* VIEW-04: an age counts from the request, in steps, so that an answer can be cached */
static void test_filter__an_age_becomes_a_time(void **state UNUSED)
{
    struct filter_wish wish = {.q = STR_NULL, .after = STR("36h")};
    const struct filter *f = made(&wish, NOW), *later = made(&wish, NOW + 1);

    assert_in_range(f->after_at, NOW - 36 * 3600 - 129, NOW - 36 * 3600);
    assert_true(str_eq(f->text, later->text));
    assert_false(str_eq(f->text, made(&wish, NOW + 200)->text));
    wish.after = STR("90s");
    assert_int_equal(made(&wish, NOW)->after_at, NOW - 90);
    wish.after = STR("1700000000");
    assert_int_equal(made(&wish, NOW)->after_at, NOW);
    wish.after = STR("2024-05-01T10:00:00 02:00"); /* a plus that was not escaped */
    assert_int_equal(made(&wish, NOW)->after_at, 1714550400);
}

static void test_filter__says_what_is_wrong(void **state UNUSED)
{
    static const char *const times[] = {"yesterday", "7",           "7x",       "-7d",
                                        "1e9",       "2024",        "2024-5-1", "01 May 2024",
                                        "d",         "99999999999w"};
    const struct filter *f = NULL;
    struct filter_fault fault;

    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct filter_wish wish = {.q = STR_NULL, .before = str_from(times[i])};

        if (strcmp(times[i], "7") == 0 || strcmp(times[i], "2024") == 0)
            continue; /* Unix seconds */
        if (filter_make(&arena, &wish, NOW, &f, &fault))
            fail_msg("%s is a time", times[i]);
        assert_string_equal(fault.name, "before");
        assert_true(str_eqz(fault.value, times[i]));
        assert_int_equal(fault.at, -1);
    }
    assert_false(
        filter_make(&arena, &(struct filter_wish){.has = list("audio", "smell")}, NOW, &f, &fault));
    assert_string_equal(fault.name, "has");
    assert_true(str_eqz(fault.value, "smell"));
    assert_false(
        filter_make(&arena, &(struct filter_wish){.lang = list("de_CH", NULL)}, NOW, &f, &fault));
    assert_string_equal(fault.name, "lang");
    assert_false(
        filter_make(&arena, &(struct filter_wish){.author = list("\x01", NULL)}, NOW, &f, &fault));
    assert_false(filter_make(&arena, &(struct filter_wish){.q = STR("é (")}, NOW, &f, &fault));
    assert_string_equal(fault.name, "q");
    assert_int_equal(fault.at, 3);
}

/* ---------------------------------------------------------------- the judge */

static const char *const entry =
    "{\"title\":\"Café opens\",\"summary\":\"<p>The new place in <b>Lower</b>town</p>\","
    "\"content\":[{\"type\":\"text/html\",\"value\":\"It is big. 東京都のカフェ\"}],"
    "\"authors\":[{\"name\":\"Jane Doe\"}],\"tags\":[{\"term\":\"World News\"}],"
    "\"language\":\"de-CH\",\"links\":[{\"rel\":\"enclosure\",\"type\":\"audio/mpeg\"}]}";

static struct revision revision(const char *doc)
{
    return (struct revision){.kind = REV_NEW, .doc = str_from(doc), .at_us = NOW * 1000000LL};
}

static bool asks(const char *doc, struct filter_wish wish, const char *head)
{
    struct revision rev = revision(doc);
    const struct filter *f = made(&wish, TIME_UNKNOWN);

    return filter_matches(f, &rev, str_from(head), NOW - 100, &arena);
}

/* VIEW-02, VIEW-13 */
static void test_judge__words(void **state UNUSED)
{
    static const struct {
        const char *q;
        bool matches;
    } rows[] = {
        {"cafe", true},
        {"CAFÉ opens", true},
        {"cafe closes", false},
        {"cafe OR closes", true},
        {"closes OR lost", false},
        {"closes OR cafe opens", true}, /* OR binds weaker */
        {"(closes OR cafe) lost", false},
        {"\"new place\"", true},
        {"\"place new\"", false},
        {"\"opens the\"", false}, /* not from one text into the other */
        {"lowertown", true},      /* markup within a word */
        {"town", false},
        {"-closes", true},
        {"-cafe", false},
        {"place -\"new place\"", false},
        {"low*", true},
        {"lower*", true},
        {"ow*", false},
        {"\"new pla*\"", false}, /* no prefix within a phrase */
        {"new-pla*", true},
        {"title:cafe", true},
        {"title:place", false},
        {"author:jane", true},
        {"author:\"jane doe\"", true},
        {"author:d*", true},
        {"jane", false},
        {"p", false},
        {"東京", true},
        {"京都", true},
        {"東都", false},
        {"都のカ", true},
        {"都", true},
        {"ェ", true},
        {"福", false},
        {"\"big 東京\"", true},
        {"cafe -(big OR lost)", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (asks(entry, (struct filter_wish){.q = str_from(rows[i].q)}, NULL) != rows[i].matches)
            fail_msg("%s: %d", rows[i].q, !rows[i].matches);
}

/* VIEW-03 */
static void test_judge__values(void **state UNUSED)
{
    static const char *const bare = "{\"title\":\"x\"}";
    static const char *const head = "{\"feed\":{\"author_detail\":{\"name\":\"The "
                                    "Feed\"},\"language\":\"fr-CA\"},\"href\":\"x\"}";

    assert_true(asks(entry, (struct filter_wish){.author = list("JANE doe", NULL)}, NULL));
    assert_false(asks(entry, (struct filter_wish){.author = list("jane", "doe")}, NULL));
    assert_true(asks(entry, (struct filter_wish){.author = list("bob", "jane doe")}, NULL));
    assert_true(asks(entry, (struct filter_wish){.category = list("WORLD news", NULL)}, NULL));
    assert_false(asks(entry, (struct filter_wish){.category = list("world", NULL)}, NULL));
    assert_true(asks(entry, (struct filter_wish){.lang = list("de", NULL)}, NULL));
    assert_true(asks(entry, (struct filter_wish){.lang = list("fr", "DE-ch")}, NULL));
    assert_false(asks(entry, (struct filter_wish){.lang = list("de-c", "fr")}, NULL));
    assert_true(asks(entry, (struct filter_wish){.lang = list("*", NULL)}, NULL));
    assert_true(asks(entry, (struct filter_wish){.has = list("video", "audio")}, NULL));
    assert_false(asks(entry, (struct filter_wish){.has = list("video", NULL)}, NULL));
    assert_false(
        asks(entry, (struct filter_wish){.has = list("audio", NULL), .q = STR("lost")}, NULL));
    /* the feed's own */
    assert_true(asks(bare, (struct filter_wish){.author = list("the feed", NULL)}, head));
    assert_true(asks(bare, (struct filter_wish){.q = STR("author:feed")}, head));
    assert_true(asks(bare, (struct filter_wish){.lang = list("fr", NULL)}, head));
    assert_false(asks(bare, (struct filter_wish){.lang = list("*", NULL)}, NULL));
    assert_false(asks(entry, (struct filter_wish){.author = list("the feed", NULL)}, head));
    assert_false(asks(entry, (struct filter_wish){.lang = list("fr", NULL)}, head));
}

/* VIEW-04 */
static void test_judge__times(void **state UNUSED)
{
    struct revision rev = revision(entry);
    struct filter_wish wish = {.after = STR("1000"), .before = STR("2000")};
    const struct filter *f = made(&wish, NOW);

    assert_false(filter_matches(f, &rev, STR_NULL, 999, &arena));
    assert_true(filter_matches(f, &rev, STR_NULL, 1000, &arena));
    assert_true(filter_matches(f, &rev, STR_NULL, 1999, &arena));
    assert_false(filter_matches(f, &rev, STR_NULL, 2000, &arena));
    wish =
        (struct filter_wish){.after = STR("1h")}; /* before this revision, whenever it is asked */
    f = made(&wish, TIME_UNKNOWN);
    assert_true(filter_matches(f, &rev, STR_NULL, NOW - 3600, &arena));
    assert_false(filter_matches(f, &rev, STR_NULL, NOW - 3601, &arena));
    rev.kind = REV_DELETED;
    rev.doc = STR("");
    assert_false(filter_matches(f, &rev, STR_NULL, NOW, &arena));
}

/* ---------------------------------------------------------------- random ones */

static uint64_t dice = 1;

static size_t roll(size_t n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(dice >> 33) % n;
}

static const char *const vocabulary[] = {"alpha", "Älpha", "beta",  "be",   "東京", "京都", "東",
                                         "gamma", "x",     "ex-be", "3.14", "カ",   "😀",    "都"};

static struct str some_word(void)
{
    return str_from(vocabulary[roll(ARRAY_LEN(vocabulary))]);
}

static struct str some_text(size_t n)
{
    struct str s = STR("");

    for (size_t i = roll(n) + 1; i > 0; i--) {
        struct str word = some_word();

        s = str_concat(&arena, s, roll(4) == 0 ? STR("") : STR(" "));
        s = str_concat(&arena, s, word);
    }
    return s;
}

static struct str some_question(int depth);

static struct str some_part(int depth)
{
    static const char *const fields[] = {"", "", "", "title:", "author:"};
    const char *field = fields[roll(ARRAY_LEN(fields))], *no = roll(4) == 0 ? "-" : "";
    bool is_group = depth > 0 && roll(3) == 0, is_phrase = roll(4) == 0;
    struct str inner = is_group ? some_question(depth - 1) : is_phrase ? some_text(3) : some_word();

    if (is_group)
        return str_printf(&arena, " %s(%.*s)", no, STR_ARG(inner));
    if (is_phrase)
        return str_printf(&arena, " %s%s\"%.*s\"", no, field, STR_ARG(inner));
    return str_printf(&arena, " %s%s%.*s%s", no, field, STR_ARG(inner), roll(4) == 0 ? "*" : "");
}

static struct str some_question(int depth)
{
    struct str s = some_part(depth);

    for (size_t i = roll(3); i > 0; i--) {
        if (roll(3) == 0)
            s = str_concat(&arena, s, STR(" OR"));
        s = str_concat(&arena, s, some_part(depth));
    }
    return s;
}

static struct str_list some_values(const char *const *from, size_t n)
{
    return roll(3) > 0 ? list(NULL, NULL)
                       : list(from[roll(n)], roll(2) == 0 ? from[roll(n)] : NULL);
}

static const char *const names[] = {"Alpha Be", "東京 be", "gamma"};
static const char *const langs[] = {"de", "de-CH", "ja", "*"};
static const char *const kinds[] = {"audio", "enclosure", "content", "image", "video"};

static struct filter_wish some_wish(void)
{
    struct filter_wish w = {.q = roll(5) > 0 ? some_question(2) : STR_NULL,
                            .author = some_values(names, ARRAY_LEN(names)),
                            .category = some_values(vocabulary, ARRAY_LEN(vocabulary)),
                            .lang = some_values(langs, ARRAY_LEN(langs)),
                            .has = some_values(kinds, ARRAY_LEN(kinds)),
                            .after = roll(8) == 0 ? STR("1h") : STR_NULL};

    return w;
}

static struct str some_entry(void)
{
    struct value *v = value_dict(&arena), *tag = value_dict(&arena), *link = value_dict(&arena);
    struct value *content = value_dict(&arena), *who = value_dict(&arena);
    struct buf out = BUF_INIT(BUF_ANY);
    struct str json;

    value_set_textz(&arena, v, "title", some_text(3));
    value_set_textz(&arena, v, "summary", some_text(6));
    value_set_textz(&arena, content, "value", some_text(9));
    value_set_textz(&arena, who, "name", str_from(names[roll(3)]));
    value_set_textz(&arena, tag, "term", some_word());
    value_set_textz(&arena, link, "rel", STR("enclosure"));
    value_set_textz(&arena, link, "type", roll(2) == 0 ? STR("audio/x") : STR("image/x"));
    if (roll(2) == 0)
        value_push(&arena, value_list_at(&arena, v, STR("content")), content);
    if (roll(2) == 0)
        value_push(&arena, value_list_at(&arena, v, STR("authors")), who);
    if (roll(2) == 0)
        value_push(&arena, value_list_at(&arena, v, STR("tags")), tag);
    if (roll(2) == 0)
        value_push(&arena, value_list_at(&arena, v, STR("links")), link);
    if (roll(2) == 0)
        value_set_textz(&arena, v, "language", str_from(langs[roll(3)]));
    json_write(&out, v);
    json = str_dup(&arena, buf_view(&out));
    buf_release(&out);
    return json;
}

static bool has_term(const struct str_list *terms, const struct term_query *q)
{
    for (size_t i = 0; i < terms->n; i++)
        if (q->op == TERM_ONE ? str_eq(terms->list[i], q->term)
                              : str_starts(terms->list[i], q->term))
            return true;
    return false;
}

/* What an index does. */
static bool finds(const struct str_list *terms, const struct term_query *q)
{
    if (q == NULL)
        return true;
    if (q->op == TERM_ONE || q->op == TERM_PREFIX)
        return has_term(terms, q);
    for (size_t i = 0; i < q->n; i++)
        if (finds(terms, q->parts[i]) == (q->op == TERM_OR))
            return q->op == TERM_OR;
    return q->op == TERM_AND;
}

static void check_terms_are_safe(const struct term_query *q)
{
    if (q == NULL)
        return;
    if (q->op == TERM_AND || q->op == TERM_OR) {
        assert_true(q->n >= 1);
        for (size_t i = 0; i < q->n; i++)
            check_terms_are_safe(q->parts[i]);
        return;
    }
    assert_true(q->term.len > 0 && q->term.len <= TERM_MAX);
    for (size_t i = 0; i < q->term.len; i++) {
        unsigned char c = (unsigned char)q->term.ptr[i];

        assert_true(c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'));
    }
}

static void check_pair(size_t *n_matches)
{
    static const char *const head = "{\"feed\":{\"author\":\"gamma\",\"language\":\"de\"}}";
    struct filter_wish wish = some_wish();
    struct str doc = some_entry();
    struct revision rev = {.kind = REV_NEW, .doc = doc, .at_us = NOW * 1000000LL};
    struct str_list terms = terms_of_revision(&arena, &rev);
    const struct filter *f = made(&wish, TIME_UNKNOWN), *again;
    bool matches;

    if (f == NULL)
        return;
    again = filter_read(&arena, f->text);
    if (again == NULL || !str_eq(again->text, f->text))
        fail_msg("not stable: %.*s", STR_ARG(f->text));
    matches = filter_matches(f, &rev, str_from(head), NOW, &arena);
    if (matches != filter_matches(again, &rev, str_from(head), NOW, &arena))
        fail_msg("read back it judges otherwise: %.*s\n%.*s", STR_ARG(f->text), STR_ARG(doc));
    if (matches && !finds(&terms, f->terms))
        fail_msg("no index would find it: %.*s\n%.*s", STR_ARG(f->text), STR_ARG(doc));
    check_terms_are_safe(f->terms);
    *n_matches += matches;
}

static void test_filter__what_the_judge_accepts_its_terms_find(void **state UNUSED)
{
    const char *rounds = getenv("FEEDMILL_ROUNDS");
    int n = 3000 * (rounds == NULL ? 1 : atoi(rounds));
    size_t n_matches = 0;

    for (int i = 0; i < n; i++) {
        struct arena_mark mark = arena_mark(&arena);

        check_pair(&n_matches);
        arena_rewind(&arena, mark);
    }
    assert_true(n_matches > (size_t)n / 20); /* otherwise it would prove little */
}

static int release(void **state UNUSED)
{
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_question__has_one_text),
        cmocka_unit_test(test_question__says_where_it_is_wrong),
        cmocka_unit_test(test_question__is_bounded),
        cmocka_unit_test(test_filter__has_one_text),
        cmocka_unit_test(test_filter__other_texts_are_not_canonical),
        cmocka_unit_test(test_filter__an_age_becomes_a_time),
        cmocka_unit_test(test_filter__says_what_is_wrong),
        cmocka_unit_test(test_judge__words),
        cmocka_unit_test(test_judge__values),
        cmocka_unit_test(test_judge__times),
        cmocka_unit_test(test_filter__what_the_judge_accepts_its_terms_find),
    };

    return cmocka_run_group_tests_name("filter", tests, NULL, release);
}
