/* tests/unit/fetcher/world.h - a fetcher with a real store and a publisher on the loopback, and
 * functions that wait for results. */
#pragma once

#include "tests/unit/cmocka_all.h"

#include <pthread.h>

#include "fetcher/fetcher.h"
#include "storage/store.h"
#include "tests/unit/support/origin.h"

#define RSS(items)                                                                                 \
    "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>T</title>"                        \
    "<link>http://example.org/</link><description>d</description>" items "</channel></rss>"
#define ITEM(id, title)                                                                            \
    "<item><guid isPermaLink=\"false\">" id "</guid><title>" title "</title></item>"
#define PAGE(links)                                                                                \
    "<!DOCTYPE html><html><head><title>p</title>" links "</head><body></body></html>"
#define LINK(href) "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"" href "\">"

struct world {
    char dir[64];
    const char *address; /* of a PostgreSQL, on which it is the node "own"; NULL: a file in `dir` */
    int64_t lease_ms;    /* of that node */
    struct store *store;
    struct guard *guard;
    struct fetcher *fetcher;
    struct fetcher_cfg cfg;
    struct origin *origin;
    size_t store_queue_len;
    int64_t max_bytes; /* of the database; 0: no bound */
    struct arena arena;
};

struct ticket {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    enum rc rc;
    int64_t id;
    int status;
    char text[600], body[600];
    struct fetch_result res;
};

#define TICKET                                                                                     \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER                        \
    }

/* Call it once per program. `filter`: run only tests with this name; NULL: all tests. */
void world_init(const char *filter);

void on_op(void *ctx, enum rc rc, const struct store_result *res, const struct err *err);
void on_fetched(void *ctx, const struct fetch_result *res);
void on_got(void *ctx, const struct document_result *res);
void wait_for(struct ticket *t);
void wait_count(struct world *w, const char *path, int n);
void rest_ms(int64_t ms);
void open_world(struct world *w);
void close_world(struct world *w, int64_t ms);
int world_setup(void **state);
int world_setup_at(void **state, const char *address); /* of the database; NULL: a file */
int world_teardown(void **state);
int64_t subscribe(struct world *w, const char *url, const char *credential, int level,
                  int64_t period_s);
enum rc fetch_into(struct world *w, int64_t id, enum fetch_reason reason, struct ticket *t);
enum rc fetch(struct world *w, int64_t id);
struct feed *feed_of(struct world *w, int64_t id);
struct revision *revisions(struct world *w, int64_t id, size_t *n);
size_t count_revisions(struct world *w, int64_t id);
void serve(struct world *w, const char *path, const char *etag, const char *body);
