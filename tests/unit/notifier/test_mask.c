/* tests/unit/notifier/test_mask.c - secrets that an endpoint repeats (DELIV-04, HOOK-07). */
#include "notifier/mask.h"
#include "notifier/push_job.h"
#include "tests/unit/cmocka_all.h"

static struct arena a;

static int teardown(void **state UNUSED)
{
    arena_release(&a);
    return 0;
}

#define MASKED(want, job, text) assert_true(str_eqz(mask_secrets(&a, &(job), text), want))

static void password(void **state UNUSED)
{
    struct push_job job = {.credential = STR("mill:flour"), .settings = STR_NULL};

    MASKED("", job, STR(""));
    MASKED("no", job, STR("no"));
    MASKED("***", job, STR("flour"));
    MASKED("mill:***, ***.", job, STR("mill:flour, flour."));
    MASKED("Basic ***", job, STR("Basic bWlsbDpmbG91cg=="));
    assert_true(str_is_null(mask_secrets(&a, &job, STR_NULL)));
    job.credential = STR("mill:");
    MASKED("mill", job, STR("mill"));
    job.credential = STR("mill");
    MASKED("mill", job, STR("mill"));
    job.credential = STR_NULL;
    MASKED("flour", job, STR("flour"));
}

/* A short secret is a part of many words, so it is masked as a word of its own. */
static void short_secrets(void **state UNUSED)
{
    struct push_job job = {.credential = STR("mill:abc"), .settings = STR_NULL};

    MASKED("***", job, STR("abc"));
    MASKED("the password ***, or \"***\"", job, STR("the password abc, or \"abc\""));
    MASKED("abcd xabc abc9 ***_abc\xc3\xa9", job, STR("abcd xabc abc9 abc_abc\xc3\xa9"));
    MASKED("***", job, STR("bWlsbDphYmM=")); /* mill:abc */
    job.credential = STR("mill:aa");
    MASKED("aaa *** aaaa", job, STR("aaa aa aaaa"));
    job.credential = STR("mill:!x");
    MASKED("y***, y!xx", job, STR("y!x, y!xx"));
}

/* What stands for a secret is never taken for one: each star would become three, for every field.
 */
static void stars(void **state UNUSED)
{
    struct push_job job = {
        .sink = sink_find(STR("webhook")),
        .credential = STR("mill:*"),
        .settings = STR("{\"secrets\":[{\"text\":\"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\"}],"
                        "\"fields\":[{\"name\":\"X-A\",\"value\":\"*\"},"
                        "{\"name\":\"X-B\",\"value\":\"**\"}]}")};

    MASKED("**********", job, STR("**********"));
}

/* HOOK-07: an endpoint may say what it wanted the request to be signed with. */
static void secrets_that_sign(void **state UNUSED)
{
    struct push_job job = {
        .sink = sink_find(STR("webhook")),
        .settings = STR("{\"secrets\":[{\"text\":\"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\"},"
                        "{\"text\":\"whsec_QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC\",\"ends_at\":9}]}")};

    MASKED(
        "*** or ***?", job,
        STR("whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB or whsec_QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC?"));
}

/* An endpoint that shows the request as JSON, or in a URL. */
static void encoded_secrets(void **state UNUSED)
{
    struct push_job job = {.credential = STR("mill:fl\"o\\u r"), .settings = STR_NULL};

    MASKED("*** {\"p\":\"***\"} ?p=***&q", job,
           STR("fl\"o\\u r {\"p\":\"fl\\\"o\\\\u r\"} ?p=fl%22o%5Cu%20r&q"));
    MASKED("?p=***&q ***", job, STR("?p=fl%22o%5cu%20r&q fl%22o%5Cu%20r"));
}

/* A secret that is a part of another one does not uncover the rest of it, whichever comes first;
 * and two that overlap are both hidden. */
static void secrets_in_secrets(void **state UNUSED)
{
    struct push_job job = {
        .sink = sink_find(STR("webhook")),
        .credential = STR("mill:flour"),
        .settings = STR("{\"secrets\":[{\"text\":\"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\"}],"
                        "\"fields\":[{\"name\":\"X-A\",\"value\":\"rye-flour-1\"},"
                        "{\"name\":\"X-B\",\"value\":\"rye-\"},"
                        "{\"name\":\"X-C\",\"value\":\"flour-1-dark\"}]}")};

    MASKED("a *** b", job, STR("a rye-flour-1 b"));
    MASKED("a *** b", job, STR("a rye-flour-1-dark b"));
    MASKED("a ***-2 b", job, STR("a rye-flour-2 b"));
    MASKED("a *** b", job, STR("a flourflour b"));
}

/* An endpoint that repeats what it takes for the token, without the scheme before it. */
static void tokens_of_fields(void **state UNUSED)
{
    struct push_job job = {
        .sink = sink_find(STR("webhook")),
        .credential = STR_NULL,
        .settings = STR("{\"secrets\":[{\"text\":\"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\"}],"
                        "\"fields\":[{\"name\":\"Authorization\",\"value\":\"Bearer t0ken\"},"
                        "{\"name\":\"X-Auth\",\"value\":\"Basic bWlsbDpmbG91cg==\"}]}")};

    MASKED("***; {\"token\": \"***\"}", job, STR("Bearer t0ken; {\"token\": \"t0ken\"}"));
    MASKED("mill, ***; ***", job, STR("mill, flour; bWlsbDpmbG91cg=="));
}

static void own_fields(void **state UNUSED)
{
    struct push_job job = {
        .sink = sink_find(STR("webhook")),
        .credential = STR_NULL,
        .settings = STR("{\"secrets\":[{\"text\":\"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\"}],"
                        "\"fields\":[{\"name\":\"X-Key\",\"value\":\"k1-k1\"},"
                        "{\"name\":\"X-Other\",\"value\":\"k2-k2\"}]}")};

    MASKED("X-Key: ***\nX-Other: ***\n", job, STR("X-Key: k1-k1\nX-Other: k2-k2\n"));
    job.settings = STR("{");
    MASKED("k1-k1", job, STR("k1-k1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(password, teardown),
                                       cmocka_unit_test_teardown(short_secrets, teardown),
                                       cmocka_unit_test_teardown(stars, teardown),
                                       cmocka_unit_test_teardown(secrets_that_sign, teardown),
                                       cmocka_unit_test_teardown(encoded_secrets, teardown),
                                       cmocka_unit_test_teardown(secrets_in_secrets, teardown),
                                       cmocka_unit_test_teardown(tokens_of_fields, teardown),
                                       cmocka_unit_test_teardown(own_fields, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
