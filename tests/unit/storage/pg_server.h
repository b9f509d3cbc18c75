/* tests/unit/storage/pg_server.h - links to the PostgreSQL that with_postgres.py has started. */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <unistd.h>

#include "storage/pg/link.h"
#include "storage/pg/uri.h"

struct server_link {
    struct pg_uri *uri;
    struct pg_link *l;
};

/* Returns a link that is not connected. */
static inline struct server_link link_to(const char *uri, int64_t answer_ms)
{
    struct server_link s = {NULL, NULL};

    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); /* as digest_init() */
    assert_int_equal(RC_OK, pg_uri_read(uri, &s.uri, NULL));
    s.l = pg_link_new(
        &(struct pg_link_cfg){.uri = s.uri, .for_writing = true, .answer_ms = answer_ms});
    return s;
}

static inline void link_end(struct server_link *s)
{
    pg_link_free(&s->l);
    pg_uri_free(&s->uri);
}

/* Returns a connected link, of the plain role or of the superuser. */
static inline struct server_link connected(const char *variable)
{
    const char *uri = getenv(variable);
    struct server_link s;
    struct err err = ERR_INIT;

    if (uri == NULL)
        skip();
    s = link_to(uri, 0);
    if (pg_connect(s.l, &err) != RC_OK)
        fail_msg("%s", err.text);
    return s;
}
#define PLAIN "FEEDMILL_POSTGRES"
#define SUPER "FEEDMILL_POSTGRES_SUPER"

/* Run, or fail the test with the words of the error. */
static inline void run_ok(struct pg_link *l)
{
    struct err err = ERR_INIT;

    if (pg_run(l, &err) != RC_OK)
        fail_msg("%s", err.text);
}

static inline void script_ok(struct pg_link *l, const char *sql)
{
    struct err err = ERR_INIT;

    if (pg_script(l, sql, &err) != RC_OK)
        fail_msg("%s: %s", sql, err.text);
}

/* The number that a statement gives. */
static inline int64_t number_of(struct pg_link *l, const char *sql)
{
    struct pg_answer a;

    pg_queue(l, sql, NULL, "i", &a);
    run_ok(l);
    assert_int_equal(1, a.n);
    return pg_get_int(&a, 0, 0);
}

/* Wait until the statement gives 1. Without an end: the test has a deadline. */
static inline void wait_for(struct pg_link *l, const char *sql)
{
    while (number_of(l, sql) != 1)
        usleep(5000);
}
