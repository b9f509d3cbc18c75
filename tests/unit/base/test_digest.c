/* tests/unit/base/test_digest.c - keyed hashes against the published vectors. */
#include "tests/unit/cmocka_all.h"

#include "base/digest.h"

static void check(enum digest_kind kind, struct str key, struct str data, const char *wanted)
{
    unsigned char mac[DIGEST_MAX_LEN];
    char hex[2 * DIGEST_MAX_LEN + 1];

    digest_hex(mac, digest_hmac(kind, key, data, mac), hex);
    assert_string_equal(wanted, hex);
}

/* RFC 2202 case 2, RFC 4231 case 2 */
static void test_digest__hmac_vectors(void **state UNUSED)
{
    struct str key = STR("Jefe"), data = STR("what do ya want for nothing?");

    check(DIGEST_SHA1, key, data, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    check(DIGEST_SHA256, key, data,
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    check(DIGEST_SHA384, key, data,
          "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e"
          "8e2240ca5e69e2c78b3239ecfab21649");
    check(DIGEST_SHA512, key, data,
          "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
          "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
    check(DIGEST_SHA1, STR(""), STR(""), "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d");
}

/* Where the data is cut into parts makes no difference. */
static void test_digest__hmac_of_parts(void **state UNUSED)
{
    const struct str parts[] = {STR("what do ya "), STR_NULL, STR("want"), STR(" for nothing?")};
    unsigned char whole[DIGEST_MAX_LEN], joined[DIGEST_MAX_LEN];

    digest_hmac(DIGEST_SHA256, STR("Jefe"), STR("what do ya want for nothing?"), whole);
    assert_int_equal(DIGEST_SHA256_LEN, digest_hmac_parts(DIGEST_SHA256, STR("Jefe"), parts,
                                                          ARRAY_LEN(parts), joined));
    assert_memory_equal(whole, joined, DIGEST_SHA256_LEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest__hmac_vectors),
        cmocka_unit_test(test_digest__hmac_of_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
