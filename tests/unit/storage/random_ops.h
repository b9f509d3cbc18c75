/* tests/unit/storage/random_ops.h - random operations on a store, which follow from a seed. */
#pragma once

#include "fixture.h"

#define FEEDS 4

/* A number below n that depends on *seed only. */
static inline unsigned draw(uint32_t *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static inline struct entry_change random_change(struct fixture *f, uint32_t *seed)
{
    const char *uid =
        draw(seed, 200) == 0 ? "bad" : arena_printf(&f->arena, "urn:%u", draw(seed, 12));
    unsigned text = draw(seed, 3);
    struct entry_change c = change(f, uid, arena_printf(&f->arena, "text-%u", text),
                                   draw(seed, 4) == 0 ? TIME_UNKNOWN : 1000 + draw(seed, 50));

    c.uid = str_from(uid);
    if (draw(seed, 3) == 0) /* the same essence with another document */
        c.doc = str_printf(&f->arena, "{\"n\":%u}", draw(seed, 3));
    c.marks = (struct entry_marks){.guid = 1 + draw(seed, 5), .link = draw(seed, 4)};
    c.is_metadata = draw(seed, 5) == 0;
    if (draw(seed, 6) == 0) {
        c.kind = REV_DELETED;
        c.doc = STR("");
    }
    return c;
}

static inline struct poll_outcome random_outcome(struct fixture *f, const int64_t *feeds,
                                                 uint32_t *seed)
{
    size_t n = draw(seed, 6);
    struct entry_change *list = ARENA_ARRAY(&f->arena, struct entry_change, n + 1);
    struct poll_outcome o;

    for (size_t i = 0; i < n; i++)
        list[i] = random_change(f, seed);
    o = outcome(feeds[draw(seed, FEEDS)], list, n);
    o.check.checked_at = 2000;
    o.check.next_fetch_at = 3000;
    o.head.title = str_printf(&f->arena, "title-%u", draw(seed, 3));
    o.complete = draw(seed, 4) == 0;
    o.past.metadata = draw(seed, 8) == 0;
    o.past.newest = o.past.oldest = 1500;
    o.past.whole = draw(seed, 2) == 0;
    if (draw(seed, 8) == 0)
        o.past.older = str_printf(&f->arena, "http://past.example/%u", draw(seed, 4));
    if (draw(seed, 10) == 0) {
        o.check.ok = o.has_document = false;
        o.check.n_errors = 5;
        o.check.error = STR("no answer");
        o.check.state = draw(seed, 3) == 0 ? FEED_GONE : FEED_OK;
    }
    if (draw(seed, 12) == 0)
        o.check.next_reason = REASON_HUB; /* it is polled less */
    if (draw(seed, 40) == 0)
        o.check.url = str_printf(&f->arena, "http://%u.example/", draw(seed, FEEDS));
    o.check.trust_was = (int)draw(seed, 2);
    o.check.trust = o.check.trust_was + (int)draw(seed, 2);
    o.identity.is_set = draw(seed, 10) == 0;
    o.identity.policy = (struct identity_policy){.since_at = 5, .n_better = (int)draw(seed, 3)};
    return o;
}

/* Any of the subscriptions that there may be. */
static inline int64_t random_sub(uint32_t *seed)
{
    return 1 + draw(seed, 8);
}

static inline enum rc push_subscribe(struct fixture *f, uint32_t *seed, struct answer *a)
{
    struct feed_ref refs[2];
    struct sub_request req = {.endpoint = STR("http://end.example/"),
                              .sink = STR("xmlrpc"),
                              .feeds = refs,
                              .n_feeds = 2,
                              .level = (int)draw(seed, 3),
                              .sanitize = draw(seed, 2) ? SANITIZE_OFF : SANITIZE_KEEP};

    for (size_t i = 0; i < req.n_feeds; i++)
        refs[i] = (struct feed_ref){
            .url = str_printf(&f->arena, "http://%u.example/", draw(seed, FEEDS + 2))};
    return store_subscribe(f->store, &req, on_answer, a);
}

/* Outcomes of deliveries, perhaps two of the same subscription. */
static inline enum rc push_deliveries(struct fixture *f, uint32_t *seed, struct answer *a)
{
    struct push_outcome list[2];

    for (size_t i = 0; i < 2; i++) {
        list[i] = (struct push_outcome){.sub_id = random_sub(seed),
                                        .position = 1 + draw(seed, 50),
                                        .n_entries = 1,
                                        .next_try_at = TIME_UNKNOWN,
                                        .ended = draw(seed, 10) == 0,
                                        .is_dead = draw(seed, 3) == 0,
                                        .has_note = draw(seed, 2) == 0};
        list[i].dead = (struct dead_letter){
            .sub_id = list[i].sub_id, .at = {5, 5}, .uid = STR("u"), .answer = STR("no")};
    }
    return store_push_outcomes(f->store, list, 2, on_answer, a);
}

/* One of two of a feed, by its token. Half of them become the current one. */
static inline enum rc push_upstream(struct fixture *f, int64_t feed_id, uint32_t *seed,
                                    struct answer *a)
{
    struct upstream u = {.token = str_printf(&f->arena, "%d-%u", (int)feed_id, draw(seed, 2)),
                         .base_url = STR("http://me"),
                         .secret = STR("s"),
                         .hub = STR("http://hub/"),
                         .topic = STR("http://t/"),
                         .feed_id = feed_id,
                         .is_current = draw(seed, 2) == 0,
                         .state = draw(seed, 2) == 0 ? UPSTREAM_ACTIVE : UPSTREAM_ASKING,
                         .lease_end_at = 4000,
                         .next_at = TIME_UNKNOWN,
                         .ended_at = TIME_UNKNOWN,
                         .n_errors = (int)draw(seed, 3)};

    return store_upstream_put(f->store, &u, UPSTREAM_ANY, on_answer, a);
}

/* Push a random operation: most are polls. */
static inline void push_random(struct fixture *f, const int64_t *feeds, uint32_t *seed,
                               struct answer *a)
{
    struct poll_outcome poll = random_outcome(f, feeds, seed);
    struct archive_outcome archive = {.feed_id = poll.check.feed_id,
                                      .checked_at = 2000,
                                      .url = STR("http://past.example/1"),
                                      .ok = draw(seed, 3) > 0,
                                      .past = poll.past,
                                      .entries = poll.entries};
    struct delivery_outcome delivery = {.feed_id = poll.check.feed_id,
                                        .received_at = 2000,
                                        .metadata = poll.past.metadata,
                                        .identity = poll.identity,
                                        .entries = poll.entries};
    struct str url = STR("http://1.example/");
    unsigned kind = draw(seed, 20);
    enum rc rc;

    if (draw(seed, 20) == 0) /* it has no answer */
        assert_int_equal(RC_OK,
                         store_upstream_drop(
                             f->store, poll.check.feed_id,
                             str_printf(&f->arena, "%d-%u", (int)poll.check.feed_id, draw(seed, 2)),
                             UPSTREAM_ANY, NULL, NULL));
    rc = kind == 0   ? store_archive_outcome(f->store, &archive, 0, on_answer, a)
         : kind == 1 ? store_delivery_outcome(f->store, &delivery, 0, on_answer, a)
         : kind == 2 ? store_ping(f->store, feeds, FEEDS, on_answer, a)
         : kind == 3 ? push_subscribe(f, seed, a)
         : kind == 4 ? push_deliveries(f, seed, a)
         : kind == 5
             ? store_unsubscribe(f->store, random_sub(seed), &url, draw(seed, 2), on_answer, a)
         : kind == 6 ? store_announced(f->store, poll.check.feed_id, on_answer, a)
         : kind == 7 ? push_upstream(f, poll.check.feed_id, seed, a)
         : kind == 8 ? push_upstream(f, poll.check.feed_id, seed, a)
                     : store_poll_outcome(f->store, &poll, 0, on_answer, a);

    assert_int_equal(RC_OK, rc);
}
