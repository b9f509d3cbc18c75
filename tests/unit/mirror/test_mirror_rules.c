/* tests/unit/mirror/test_mirror_rules.c - which files an entry names, what an answer means, what
 * follows from a failure, and what a mirrored file is called (ENCL-01, ENCL-02). */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "mirror/files.h"
#include "mirror/rules.h"

static const struct mirror_limits limits = {1000, {"audio/*, image/png", 18}};

struct present { /* of the file */
    int64_t size;
    struct str validator;
};

/* The verdict about an answer with a type that is wanted, as a line: what to take, and the size. */
static const char *verdict(struct arena *a, struct mirror_answer head, struct present present)
{
    struct mirror_part part = {present.size, present.validator, STR("audio/mpeg")};
    static const char *const takes[] = {"whole", "rest", "done", "anew", "no"};
    struct err err = ERR_INIT;
    struct str type;
    int64_t size;
    enum mirror_take take;

    if (str_is_null(head.type))
        head.type = STR("audio/mpeg");
    take = mirror_judge(&head, &part, &limits, STR(""), &size, &type, &err);
    assert_int_equal(take == TAKE_ANEW || take == TAKE_NO, err.rc != RC_OK);
    return arena_printf(a, "%s %lld rc=%d", takes[take], (long long)size, (int)err.rc);
}

#define EXPECT(expected, head, ...)                                                                \
    assert_string_equal(expected,                                                                  \
                        verdict(&a, (struct mirror_answer)head, (struct present){__VA_ARGS__}))
#define HEAD(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void test_mirror_rules__whole_files(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const char *too_long = arena_printf(&a, "no 1001 rc=%d", RC_LIMIT);
    const char *failed = arena_printf(&a, "no -1 rc=%d", RC_PEER);
    const char *unwanted = arena_printf(&a, "no 5 rc=%d", RC_UNSUPPORTED);

    EXPECT("whole 1000 rc=0", HEAD(.status = 200, .length = STR("1000")), 0);
    EXPECT("whole -1 rc=0", HEAD(.status = 200), 0);
    EXPECT("whole 5 rc=0", HEAD(.status = 200, .length = STR("5")), 3, STR("\"v\""));
    EXPECT(too_long, HEAD(.status = 200, .length = STR("1001")), 0);
    EXPECT(failed, HEAD(.status = 404), 0);
    EXPECT(failed, HEAD(.status = 304), 3, STR("\"v\""));
    EXPECT(failed, HEAD(.status = 200, .coding = STR("gzip")), 0);
    EXPECT(unwanted, HEAD(.status = 200, .length = STR("5"), .type = STR("text/html")), 0);
    EXPECT(unwanted, HEAD(.status = 200, .length = STR("5"), .type = STR("image/pngx")), 0);
    EXPECT("whole 5 rc=0", HEAD(.status = 200, .length = STR("5"), .type = STR("IMAGE/PNG; q=1")),
           0);
}

static void test_mirror_rules__the_rest_of_a_file(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const char *anew = arena_printf(&a, "anew 9 rc=%d", RC_PEER);
    const struct str tag = STR("\"v\"");

    EXPECT("rest 9 rc=0", HEAD(.status = 206, .range = STR("bytes 3-8/9")), 3, tag);
    EXPECT("rest -1 rc=0", HEAD(.status = 206, .range = STR("bytes 3-8/*")), 3, tag);
    EXPECT("rest 9 rc=0", HEAD(.status = 206, .range = STR("bytes 3-8/9"), .etag = tag), 3, tag);
    EXPECT(anew, HEAD(.status = 206, .range = STR("bytes 4-8/9")), 3, tag);
    EXPECT(anew, HEAD(.status = 206, .range = STR("bytes 3-8/9"), .etag = STR("\"w\"")), 3, tag);
    EXPECT(anew, HEAD(.status = 416, .range = STR("bytes */9")), 10, tag);
    EXPECT("done 9 rc=0", HEAD(.status = 416, .range = STR("bytes */9")), 9, tag);
    EXPECT(arena_printf(&a, "anew -1 rc=%d", RC_PEER), HEAD(.status = 206), 3, tag);
    EXPECT(arena_printf(&a, "no 1001 rc=%d", RC_LIMIT),
           HEAD(.status = 206, .range = STR("bytes 3-1000/1001")), 3, tag);
    EXPECT("rest 9 rc=0", HEAD(.status = 206, .range = STR("bytes 3-8/9"), .modified = STR("then")),
           3, STR("then"));
    EXPECT(anew, HEAD(.status = 206, .range = STR("bytes 3-8/9"), .modified = STR("now")), 3,
           STR("then"));
}

/* ENCL-02: the type is that of the answer with the first bytes. */
static void test_mirror_rules__the_rest_has_the_type_of_the_beginning(void **state UNUSED)
{
    struct mirror_part part = {9, STR("\"v\""), STR("audio/ogg")};
    struct mirror_answer rest = {.status = 206, .range = STR("bytes 9-99/100")};
    struct mirror_answer all = {.status = 416, .range = STR("bytes */9"), .type = STR("text/html")};
    struct mirror_answer other = {.status = 200, .type = STR("audio/flac")};
    struct err err = ERR_INIT;
    struct str type;
    int64_t size;

    assert_int_equal(TAKE_REST,
                     mirror_judge(&rest, &part, &limits, STR("a/b"), &size, &type, &err));
    assert_true(str_eqz(type, "audio/ogg"));
    assert_int_equal(TAKE_DONE, mirror_judge(&all, &part, &limits, STR("a/b"), &size, &type, &err));
    assert_true(str_eqz(type, "audio/ogg"));
    assert_int_equal(TAKE_WHOLE,
                     mirror_judge(&other, &part, &limits, STR("a/b"), &size, &type, &err));
    assert_true(str_eqz(type, "audio/flac"));
}

static void test_mirror_rules__types_and_validators(void **state UNUSED)
{
    const struct str at = STR("Sun, 06 Nov 1994 08:49:37 GMT"); /* 784111777 */
    const struct str later = STR("Sun, 06 Nov 1994 08:49:38 GMT");
    struct mirror_answer strong = {.etag = STR("\"a\""), .modified = at};
    struct mirror_answer weak = {.etag = STR("W/\"a\""), .modified = at, .date = later};
    struct mirror_answer none = {.etag = STR("W/\"a\"")};
    struct mirror_answer odd = {.modified = STR("yesterday")};

    assert_true(str_eqz(mirror_type(STR("audio/mpeg; x=y"), STR("video/mp4")), "audio/mpeg"));
    assert_true(
        str_eqz(mirror_type(STR("Application/Octet-Stream"), STR("video/mp4")), "video/mp4"));
    assert_true(str_eqz(mirror_type(STR_NULL, STR("video/mp4 ;a=b")), "video/mp4"));
    assert_true(str_eqz(mirror_type(STR_NULL, STR("a/b\r\nX: y")), "application/octet-stream"));
    assert_true(str_eqz(mirror_type(STR("a/b/c"), STR("nothing")), "application/octet-stream"));
    assert_true(str_eqz(mirror_validator(&strong, 0), "\"a\""));
    assert_true(str_eq(mirror_validator(&weak, 0), at));
    weak.date = at; /* it may change once more in this second */
    assert_true(str_is_null(mirror_validator(&weak, 0)));
    weak.date = STR_NULL;
    assert_true(str_is_null(mirror_validator(&weak, 784111777)));
    assert_true(str_eq(mirror_validator(&weak, 784111778), at));
    assert_true(str_is_null(mirror_validator(&none, 784111778)));
    assert_true(str_is_null(mirror_validator(&odd, 784111778)));
}

static void test_mirror_rules__failures_are_tried_again_for_a_week(void **state UNUSED)
{
    struct mirrored m = {.since_at = 1000, .n_tries = 0};

    mirror_failed(&m, RC_PEER, STR("cut"), 0, -1, 1000, 0);
    assert_int_equal(MIRROR_WAITING, m.state);
    assert_int_equal(1002, m.next_at);
    assert_int_equal(1, m.n_tries);
    mirror_failed(&m, RC_PEER, STR("cut"), 0, -1, 1002, 0);
    assert_int_equal(1006, m.next_at);
    mirror_failed(&m, RC_PEER, STR("cut"), 0, 100, 1006, 0); /* Retry-After */
    assert_int_equal(1106, m.next_at);
    mirror_failed(&m, RC_PEER, STR("cut"), 65536, -1, 1106, 0); /* it came further: soon again */
    assert_int_equal(1108, m.next_at);
    mirror_failed(&m, RC_PEER, STR("cut"), 65535, -1, 1108, 0); /* a little */
    assert_int_equal(1112, m.next_at);
    m.n_tries = 1000;
    mirror_failed(&m, RC_DENIED, STR("guard"), 0, INT64_MAX, 2000, 999);
    assert_int_equal(2000 + MIRROR_REST_MAX_S, m.next_at);
    mirror_failed(&m, RC_DENIED, STR("guard"), 0, -1, 2000, 0);
    assert_int_equal(2000 + MIRROR_PAUSE_MAX_S, m.next_at);
    mirror_failed(&m, RC_IO, STR("our disk is full"), 0, -1, 1000 + MIRROR_TRY_S, 0);
    assert_int_equal(MIRROR_WAITING, m.state); /* ENCL-01: it is not the file's fault */
    m.n_tries = 0; /* the disk was away for a week, and it was never tried */
    mirror_failed(&m, RC_PEER, STR("cut"), 0, -1, 1000 + MIRROR_TRY_S, 0);
    assert_int_equal(MIRROR_WAITING, m.state);
    mirror_failed(&m, RC_PEER, STR("cut"), 1 << 20, -1, 1000 + MIRROR_TRY_S, 0);
    assert_int_equal(MIRROR_FAILED, m.state);
    assert_int_equal(TIME_UNKNOWN, m.next_at);
    assert_true(str_eqz(m.error, "cut"));
    m.state = MIRROR_WAITING;
    mirror_failed(&m, RC_LIMIT, STR("long"), 1 << 20, -1, 1000, 0); /* what would not change */
    assert_int_equal(MIRROR_FAILED, m.state);
}

static void test_mirror_rules__files_of_an_entry(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(buf_release) struct buf many = BUF_INIT(BUF_ANY);
    struct entry_file files[ENTRY_FILES_MAX];
    struct str doc = STR("{\"enclosures\":[{\"href\":\"http://a/1\",\"type\":\"audio/mpeg\"},"
                         "{\"href\":\"ftp://a/2\"},{\"href\":7},{\"href\":\"http://a/1\"}],"
                         "\"links\":[{\"rel\":\"alternate\",\"href\":\"http://a/3\"},"
                         "{\"rel\":\"enclosure\",\"href\":\"https://a/4\"}],"
                         "\"media_content\":[{\"url\":\"http://a/5\",\"type\":\"video/mp4\"}]}");

    assert_int_equal(3, entry_files(&a, doc, files));
    assert_true(str_eqz(files[0].url, "http://a/1") && str_eqz(files[0].type, "audio/mpeg"));
    assert_true(str_eqz(files[1].url, "https://a/4") && files[1].type.len == 0);
    assert_true(str_eqz(files[2].url, "http://a/5") && str_eqz(files[2].type, "video/mp4"));
    assert_int_equal(0, entry_files(&a, STR("{"), files));
    assert_int_equal(0, entry_files(&a, STR(""), files));
    buf_puts(&many, "{\"media_content\":[");
    for (int i = 0; i < ENTRY_FILES_MAX + 5; i++)
        buf_printf(&many, "%s{\"url\":\"http://a/%d\"}", i > 0 ? "," : "", i);
    buf_puts(&many, "]}");
    assert_int_equal(ENTRY_FILES_MAX, entry_files(&a, buf_view(&many), files));
}

static void test_mirror_rules__names(void **state UNUSED)
{
    static const char *const names[][2] = {
        {"http://a/b/Episode 1.mp3?x=/y#z", "Episode 1.mp3"},
        {"http://a/%2e%2e%2f", "_._"},
        {"http://a/.htaccess", "_htaccess"},
        {"http://a/", "file"},
        {"http://a", "file"},
        {"", "file"},
        {"http://a/x\"\r\ny", "x___y"},
        {"http://a/x%22%5c%0d%00%7f;%25%zy", "x________zy"},
        {"http://a/%C3%84rger%20%28live%29.mp3", "\xc3\x84rger (live).mp3"},
        {"http://a/\xc3\x84.mp3", "\xc3\x84.mp3"},
        {"http://a/%C4rger.mp3", "_rger.mp3"},            /* not UTF-8 */
        {"http://a/a%E2%80%AE3pm.exe", "a_3pm.exe"},      /* it would look like a.exe.mp3 */
        {"http://a/a%C2%85%E2%81%A6b", "a__b"},
    };
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct str digest = mirror_key(&a, STR("x")), name;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(names[i][1], str_z(&a, mirror_name(&a, str_from(names[i][0]))));
    assert_string_equal("%C3%84%20%28%27.mp3", str_z(&a, mirror_name_encoded(&a, STR("\xc3\x84 ('.mp3"))));
    name = mirror_name(&a, str_printf(&a, "http://a/\xc3\x84%0115d.mp3", 1)); /* 121 bytes: half a character goes, too */
    assert_int_equal(119, name.len);
    assert_true(str_starts(name, STR("000")));
    assert_true(mirror_is_digest(digest));
    assert_false(mirror_is_digest(STR("ab")));
    assert_false(mirror_is_digest(str_printf(&a, "%.63s/", digest.ptr)));
    assert_string_equal(arena_printf(&a, "/m/2d/%s", str_z(&a, digest)),
                        str_z(&a, mirror_path(&a, STR("/m"), digest)));
    assert_string_equal(arena_printf(&a, "http://o/enclosure/%s/e.mp3", str_z(&a, digest)),
                        str_z(&a, mirror_url(&a, STR("http://o"), digest, STR("http://a/e.mp3"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mirror_rules__whole_files),
        cmocka_unit_test(test_mirror_rules__the_rest_of_a_file),
        cmocka_unit_test(test_mirror_rules__the_rest_has_the_type_of_the_beginning),
        cmocka_unit_test(test_mirror_rules__types_and_validators),
        cmocka_unit_test(test_mirror_rules__failures_are_tried_again_for_a_week),
        cmocka_unit_test(test_mirror_rules__files_of_an_entry),
        cmocka_unit_test(test_mirror_rules__names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
