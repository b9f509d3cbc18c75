/* bench/work.c - see work.h. */
#include "work.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/digest.h"
#include "documents.h"

#define PAUSE_US 200

_Atomic long work_pending;
static _Atomic int64_t last_id;

void work_done(void *ctx, enum rc rc, const struct store_result *res, const struct err *err)
{
    _Atomic long *pending = ctx;

    if (rc != RC_OK) {
        fprintf(stderr, "storing failed: %s\n", err == NULL ? rc_meaning(rc) : err->text);
        exit(1);
    }
    if (res != NULL)
        atomic_store(&last_id, res->id);
    atomic_fetch_sub(pending, 1);
}

void work_wait(void)
{
    while (atomic_load(&work_pending) > 0)
        usleep(PAUSE_US);
}

static struct store *open_store(struct str path, bool is_shared)
{
    struct store_cfg cfg = {.path = path,
                            .n_readers = 2,
                            .queue_len = 4096,
                            .batch_ops = 256,
                            .batch_ms = 20,
                            .cache_bytes = 1 << 20,
                            .is_shared = is_shared,
                            .levels = {{86400, 1800, 300}}};
    struct store *s = NULL;
    struct err err = ERR_INIT;

    if (store_open(&cfg, &s, &err) != RC_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return s;
}

struct store *work_store(const char *dir, const char *name)
{
    struct arena a = ARENA_INIT;
    struct store *s = open_store(str_printf(&a, "%s/%s.db", dir, name), false);

    arena_release(&a);
    return s;
}

struct store *work_node(const char *uri)
{
    return open_store(str_from(uri), true);
}

void work_outcome(struct store *s, const struct poll_outcome *o)
{
    enum rc rc;

    atomic_fetch_add(&work_pending, 1);
    while ((rc = store_poll_outcome(s, o, 0, work_done, &work_pending)) == RC_FULL)
        usleep(PAUSE_US);
    ASSERT(rc == RC_OK);
}

struct poll_outcome work_fetch(struct arena *a, int64_t feed_id, unsigned seed, unsigned first,
                               size_t n, size_t len)
{
    struct entry_change *changes = ARENA_ARRAY(a, struct entry_change, n + 1);

    for (size_t i = 0; i < n; i++) {
        struct entry_change *c = &changes[i];
        struct buf doc = BUF_INIT(BUF_ANY);

        documents_entry_json(&doc, seed, first + (unsigned)i, len);
        c->kind = REV_NEW;
        c->uid = str_printf(a, "urn:feed:%u:%u", seed, first + (unsigned)i);
        c->published_at = c->updated_at = 1700000000 + (int64_t)(first + i) * 3600;
        c->title = STR("A title of the usual length");
        c->link = str_printf(a, "http://example.org/%u/%u", seed, first + (unsigned)i);
        c->summary = STR("A summary, cut from the description");
        c->author = STR("Writer");
        c->doc = str_dup(a, buf_view(&doc));
        c->ext = STR("");
        digest_content(c->doc, c->essence);
        buf_release(&doc);
    }
    return (struct poll_outcome){.check.feed_id = feed_id,
                                 .check.checked_at = clock_now_s(),
                                 .check.ok = true,
                                 .check.status = 200,
                                 .has_document = true,
                                 .head.json = STR("{\"title\":\"A feed\"}"),
                                 .head.ext = STR(""),
                                 .head.title = STR("A feed"),
                                 .entries.changes = changes,
                                 .entries.n = n,
                                 .check.state = FEED_OK,
                                 .check.level = LEVEL_KEEP,
                                 .check.next_fetch_at = clock_now_s() + 365 * 86400,
                                 .check.next_reason = REASON_PERIOD};
}

void work_add(struct store *s, const struct feed_ref *ref)
{
    enum rc rc;

    atomic_fetch_add(&work_pending, 1);
    while ((rc = store_add_feed(s, ref, work_done, &work_pending)) == RC_FULL)
        usleep(PAUSE_US);
    ASSERT(rc == RC_OK);
}

int64_t work_feed(struct store *s, const char *url)
{
    struct feed_ref ref = {.url = str_from(url), .shown_url = str_from(url)};

    work_wait();
    work_add(s, &ref);
    work_wait();
    return atomic_load(&last_id);
}

const char *work_address(struct arena *a, unsigned number)
{
    number %= 254 * 254 * 250;
    return arena_printf(a, "127.%u.%u.%u", 1 + number / (254 * 254), 1 + number / 254 % 254,
                        1 + number % 254);
}
