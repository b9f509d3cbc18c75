/* tests/unit/base/test_seal.c - secrets on the disk. ETIQ-08. */
#include <stdio.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/seal.h"
#include "tests/unit/cmocka_all.h"

#define DIGITS "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1F"
#define OTHER "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static struct seal_key make_key(struct str digits)
{
    struct seal_key key;

    assert_int_equal(seal_key_read(digits, &key, NULL), RC_OK);
    return key;
}

static void test_seal__key(void **state UNUSED)
{
    static const char *const wrong[] = {
        "", "00", DIGITS "0", DIGITS DIGITS,
        "x00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00 102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    };
    struct seal_key key = make_key(STR(" " DIGITS "\r\n")), other = make_key(STR(OTHER));

    assert_int_equal(key.bytes[1], 1);
    assert_int_equal(key.bytes[31], 0x1F);
    assert_memory_not_equal(key.id, other.id, SEAL_ID_LEN);
    assert_memory_not_equal(key.id, key.bytes, SEAL_ID_LEN);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(seal_key_read(str_from(wrong[i]), &key, &err), RC_INPUT);
        assert_non_null(strstr(err.text, "64 hexadecimal digits"));
        assert_null(strstr(err.text, "0102030405"));
    }
}

/* The 32 bytes of one key, as each program writes them. */
static void test_seal__key_in_all_spellings(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct seal_key digits = make_key(STR(DIGITS)), key;
    struct str raw = str_of((const char *)digits.bytes, SEAL_KEY_LEN), coded = base64_write(&a, raw);
    const struct str right[] = {raw, coded, str_printf(&a, "\n%.*s\n", STR_ARG(coded))};
    const struct str wrong[] = {
        str_concat(&a, raw, STR("\n")),
        str_slice(raw, 0, 31),
        str_concat(&a, raw, raw),
        str_slice(coded, 0, 43),
        str_concat(&a, coded, STR("AAAA")),
        str_slice(STR(DIGITS), 0, 32),
        STR("a sentence, of thirty-two bytes."),
        STR("and one of 31, with its newline\n"),
        str_of((const char[SEAL_KEY_LEN]){0}, SEAL_KEY_LEN),
        base64_write(&a, str_concat(&a, raw, STR("x"))),
    };

    assert_int_equal(coded.len, 44);
    for (size_t i = 0; i < ARRAY_LEN(right); i++) {
        key = make_key(right[i]);
        assert_memory_equal(key.bytes, digits.bytes, SEAL_KEY_LEN);
        assert_memory_equal(key.id, digits.id, SEAL_ID_LEN);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(seal_key_read(wrong[i], &key, &err), RC_INPUT);
        assert_non_null(strstr(err.text, "44 characters of Base64, or 32 random bytes"));
    }
}

static void test_seal__key_file(void **state UNUSED)
{
    char path[] = "/tmp/feedmill-seal-XXXXXX";
    int fd = mkstemp(path);
    struct err err = ERR_INIT;
    struct seal_key key;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, DIGITS "\n", 65), 65);
    assert_int_equal(seal_key_load(path, &key, &err), RC_OK);
    assert_int_equal(key.bytes[2], 2);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(seal_key_load(path, &key, &err), RC_INPUT);
    assert_non_null(strstr(err.text, path));
    close(fd);
    unlink(path);
    assert_int_equal(seal_key_load(path, &key, &err), RC_IO);
    assert_non_null(strstr(err.text, path));
}

/* What is sealed twice becomes the same, so it can be looked for; of another kind it is another. */
static void test_seal__there_and_back(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct seal_key key = make_key(STR(DIGITS)), other = make_key(STR(OTHER));
    const struct str texts[] = {STR("x"), STR("joe:sesame"), STR("cookie=sesame, and more")};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct str once = seal_text(&a, &key, STR("kind"), texts[i]), out = STR_NULL;

        assert_true(seal_is_sealed(once));
        assert_true(str_find(once, STR("sesame")) < 0);
        assert_true(str_eq(once, seal_text(&a, &key, STR("kind"), texts[i])));
        assert_true(str_eq(once, seal_text(&a, &key, STR("kind"), once)));
        assert_false(str_eq(once, seal_text(&a, &key, STR("other"), texts[i])));
        assert_false(str_eq(once, seal_text(&a, &other, STR("kind"), texts[i])));
        assert_int_equal(seal_open(&a, &key, STR("kind"), once, &out, NULL), RC_OK);
        assert_true(str_eq(out, texts[i]));
    }
    assert_true(str_is_null(seal_text(&a, &key, STR("kind"), STR_NULL)));
    assert_false(seal_is_sealed(seal_text(&a, &key, STR("kind"), STR(""))));
}

/* Two texts that differ in the last byte have nothing in common but the key's id. */
static void test_seal__a_nonce_for_each_text(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct seal_key key = make_key(STR(DIGITS));
    struct str one = seal_text(&a, &key, STR("kind"), STR("joe:sesame1"));
    struct str two = seal_text(&a, &key, STR("kind"), STR("joe:sesame2"));
    struct str b1 = base64_read(&a, str_slice(one, 1, one.len));
    struct str b2 = base64_read(&a, str_slice(two, 1, two.len));

    assert_memory_equal(b1.ptr, b2.ptr, SEAL_ID_LEN);
    assert_memory_not_equal(b1.ptr + SEAL_ID_LEN, b2.ptr + SEAL_ID_LEN, 12);
    assert_memory_not_equal(b1.ptr + SEAL_ID_LEN + 12, b2.ptr + SEAL_ID_LEN + 12, 10);
}

/* Without a key the text is as it is, and a key that is given later does not matter to it. */
static void test_seal__in_plain(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct seal_key key = make_key(STR(DIGITS));
    struct str plain = seal_text(&a, NULL, STR("kind"), STR("sesame")), out = STR_NULL;

    assert_true(str_eqz(plain, "sesame"));
    assert_int_equal(seal_open(&a, NULL, STR("kind"), plain, &out, NULL), RC_OK);
    assert_true(str_eqz(out, "sesame"));
    assert_int_equal(seal_open(&a, &key, STR("kind"), plain, &out, NULL), RC_OK);
    assert_true(str_eqz(out, "sesame"));
}

static void check_refusal(const struct seal_key *key, struct str kind, struct str sealed,
                          enum rc rc, const char *says)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct str out = STR("as before");

    assert_int_equal(seal_open(&a, key, kind, sealed, &out, &err), rc);
    assert_non_null(strstr(err.text, says));
    assert_true(str_eqz(out, "as before"));
}

static void test_seal__refusals(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct seal_key key = make_key(STR(DIGITS)), other = make_key(STR(OTHER));
    struct str sealed = seal_text(&a, &key, STR("kind 1"), STR("sesame"));

    check_refusal(NULL, STR("kind 1"), sealed, RC_DENIED, "--key-file is not given");
    check_refusal(&other, STR("kind 1"), sealed, RC_DENIED, "another key");
    check_refusal(&key, STR("kind 2"), sealed, RC_INPUT, "changed");
    check_refusal(&key, STR("kind 1"), STR("\1"), RC_INPUT, "changed");
    check_refusal(&key, STR("kind 1"), STR("\1no Base64"), RC_INPUT, "changed");
}

/* No byte of it can be changed, and none be left out. */
static void test_seal__every_byte_counts(void **state UNUSED)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct seal_key key = make_key(STR(DIGITS));
    struct str sealed = seal_text(&a, &key, STR("kind"), STR("sesame")), out;
    struct str bytes = base64_read(&a, str_slice(sealed, 1, sealed.len));
    char *copy = arena_alloc(&a, bytes.len);

    memcpy(copy, bytes.ptr, bytes.len);
    for (size_t i = 0; i < bytes.len; i++) {
        struct str text;

        copy[i] = (char)(copy[i] ^ 1);
        text = str_concat(&a, STR("\1"), base64_write(&a, str_of(copy, bytes.len)));
        assert_int_not_equal(seal_open(&a, &key, STR("kind"), text, &out, NULL), RC_OK);
        copy[i] = (char)(copy[i] ^ 1);
        text = str_concat(&a, STR("\1"), base64_write(&a, str_of(copy, i)));
        assert_int_not_equal(seal_open(&a, &key, STR("kind"), text, &out, NULL), RC_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seal__key),
        cmocka_unit_test(test_seal__key_in_all_spellings),
        cmocka_unit_test(test_seal__key_file),
        cmocka_unit_test(test_seal__there_and_back),
        cmocka_unit_test(test_seal__a_nonce_for_each_text),
        cmocka_unit_test(test_seal__in_plain),
        cmocka_unit_test(test_seal__refusals),
        cmocka_unit_test(test_seal__every_byte_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
