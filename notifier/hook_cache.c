/* notifier/hook_cache.c - a table by the number of the subscription. What is kept counts only while
 * the stored text is the same, so a change needs no notice. */
#include "notifier/hook_cache.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"

#define SLOTS 16384 /* a subscription with one secret takes 700 bytes */

struct kept_hook {
    int64_t sub_id;
    struct str json;
    struct hook_settings hs;
    size_t len;   /* of the texts of hs */
    char texts[]; /* these, and json */
};

struct hook_cache {
    pthread_mutex_t lock; /* guards the rest */
    struct kept_hook *slots[SLOTS];
};

struct hook_cache *hook_cache_new(void)
{
    struct hook_cache *c = NEW(struct hook_cache);

    pthread_mutex_init(&c->lock, NULL);
    return c;
}

void hook_cache_free(struct hook_cache **cp)
{
    struct hook_cache *c = *cp;

    *cp = NULL;
    if (c == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        mem_free(c->slots[i]);
    pthread_mutex_destroy(&c->lock);
    mem_free(c);
}

#define TEXTS_MAX (2 * HOOK_SECRETS_MAX + 2 * HOOK_FIELDS_MAX)

/* List the texts of the settings. Returns how many there are. */
static size_t list_texts(struct hook_settings *hs, struct str *texts[TEXTS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < hs->n_secrets; i++) {
        texts[n++] = &hs->secrets[i].text;
        texts[n++] = &hs->secrets[i].key;
    }
    for (size_t i = 0; i < hs->n_fields; i++) {
        texts[n++] = &hs->fields[i].name;
        texts[n++] = &hs->fields[i].value;
    }
    return n;
}

static size_t len_of_texts(const struct hook_settings *settings)
{
    struct hook_settings hs = *settings;
    struct str *texts[TEXTS_MAX];
    size_t n = list_texts(&hs, texts), len = 0;

    for (size_t i = 0; i < n; i++)
        len += texts[i]->len;
    return len;
}

/* Copy the texts of the settings to `to`, and have the settings point there. */
static void move_texts(struct hook_settings *hs, char *to)
{
    struct str *texts[TEXTS_MAX];
    size_t n = list_texts(hs, texts);

    for (size_t i = 0; i < n; i++) {
        if (texts[i]->len > 0)
            memcpy(to, texts[i]->ptr, texts[i]->len);
        *texts[i] = str_of(to, texts[i]->len);
        to += texts[i]->len;
    }
}

static struct kept_hook **slot_of(struct hook_cache *c, int64_t sub_id)
{
    return &c->slots[(uint64_t)sub_id % SLOTS];
}

static bool find(struct hook_cache *c, int64_t sub_id, struct arena *a, struct str json,
                 struct hook_settings *out)
{
    const struct kept_hook *k;
    bool found;

    pthread_mutex_lock(&c->lock);
    k = *slot_of(c, sub_id);
    found = k != NULL && k->sub_id == sub_id && str_eq(k->json, json);
    if (found) {
        *out = k->hs;
        move_texts(out, arena_alloc(a, k->len + 1));
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

static void keep(struct hook_cache *c, int64_t sub_id, struct str json,
                 const struct hook_settings *hs)
{
    size_t len = len_of_texts(hs);
    struct kept_hook *k = mem_alloc(sizeof *k + len + json.len), *old;

    *k = (struct kept_hook){.sub_id = sub_id, .hs = *hs, .len = len};
    move_texts(&k->hs, k->texts);
    memcpy(k->texts + len, json.ptr, json.len);
    k->json = str_of(k->texts + len, json.len);
    pthread_mutex_lock(&c->lock);
    old = *slot_of(c, sub_id);
    *slot_of(c, sub_id) = k;
    pthread_mutex_unlock(&c->lock);
    mem_free(old);
}

enum rc hook_cache_read(struct hook_cache *c, int64_t sub_id, struct arena *a, struct str json,
                        struct hook_settings *out, struct err *err)
{
    enum rc rc;

    if (c != NULL && find(c, sub_id, a, json, out))
        return RC_OK;
    rc = hook_settings_read(a, json, out, err);
    if (rc == RC_OK && c != NULL)
        keep(c, sub_id, json, out);
    return rc;
}
