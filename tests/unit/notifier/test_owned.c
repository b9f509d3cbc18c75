/* tests/unit/notifier/test_owned.c - whose endpoints are whose. */
#include "notifier/owned.h"

#include "tests/unit/cmocka_all.h"

/* Nothing of it is asked by what is tested here. */
static struct nodes *some_nodes(void)
{
    return (struct nodes *)1;
}

/* NODE-05: where there is one node, everything is its, and no permit is needed */
static void test_owned__one_node(void **state UNUSED)
{
    struct owned o;
    struct permit p;
    int64_t wait_ms;

    owned_init(&o, NULL, STR_NULL);
    assert_true(owned_has(&o, owned_slot(&o, STR("http://a.example/"))));
    assert_true(owned_has(&o, SLOTS - 1));
    assert_true(permit_get(&o, STR("http://a.example/"), &p, &wait_ms));
    assert_true(permit_is_good(&o, &p));
    assert_false(owned_is_gap(&o, 0));
    permit_end(&o, &p);
}

/* NODE-05: an endpoint is in the slot of its host and port, whatever is before and after that */
static void test_owned__slots(void **state UNUSED)
{
    struct owned o;

    owned_init(&o, some_nodes(), STR("feeds.example"));
    assert_int_equal(nodes_slot(STR("a.example:80")), owned_slot(&o, STR("http://a.example/x?y")));
    assert_int_equal(nodes_slot(STR("a.example:443")), owned_slot(&o, STR("https://a.example/")));
    assert_int_equal(nodes_slot(STR("mq.example:5672")),
                     owned_slot(&o, STR("amqp://mq.example/vhost/exchange")));
    /* one node only can be the component of our address */
    assert_int_equal(nodes_slot(STR("feeds.example")),
                     owned_slot(&o, STR("xmpp:juliet@capulet.example")));
    assert_int_equal(nodes_slot(STR("feeds.example")),
                     owned_slot(&o, STR("xmpp:romeo@montague.example")));
}

/* NODE-05: nothing is ours before it was gained; what is in both sets was another node's meanwhile
 */
static void test_owned__changes(void **state UNUSED)
{
    struct slot_set gained = {.words = {0}}, lost = {.words = {0}};
    struct owned o;

    owned_init(&o, some_nodes(), STR_NULL);
    assert_int_equal(0, slot_set_count(&o.slots));
    slot_set_add(&gained, 3);
    slot_set_add(&gained, 200);
    owned_change(&o, &gained, &lost);
    assert_true(owned_has(&o, 3));
    assert_true(owned_has(&o, 200));
    slot_set_add(&lost, 3);
    slot_set_add(&lost, 200);
    gained = (struct slot_set){.words = {0}};
    slot_set_add(&gained, 200);
    owned_change(&o, &gained, &lost);
    assert_false(owned_has(&o, 3));
    assert_true(owned_has(&o, 200));
}

/* NODE-05: what an endpoint asked for may be in any of its subscriptions, so nothing is called
 * before all were read */
static void test_owned__unread(void **state UNUSED)
{
    struct slot_set gained = {.words = {0}}, lost = {.words = {0}};
    struct nodes *nodes = nodes_new(NULL, "");
    struct owned o;
    struct permit p;
    int64_t wait_ms;

    owned_init(&o, nodes, STR_NULL);
    slot_set_add(&gained, owned_slot(&o, STR("http://a.example/")));
    owned_change(&o, &gained, &lost);
    assert_false(permit_get(&o, STR("http://a.example/"), &p, &wait_ms));
    assert_true(wait_ms > 0);
    owned_read(&o);
    assert_true(permit_get(&o, STR("http://a.example/"), &p, &wait_ms));
    permit_end(&o, &p);
    nodes_free(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owned__one_node),
        cmocka_unit_test(test_owned__slots),
        cmocka_unit_test(test_owned__changes),
        cmocka_unit_test(test_owned__unread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
