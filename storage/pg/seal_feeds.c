/* storage/pg/seal_feeds.c - see seal_feeds.h. */
#include "storage/pg/seal_feeds.h"

#include "storage/pg/statements.h"
#include "storage/sealed.h"

/* What does not begin as our key would have it is in plain, or sealed with another key. Feeds are
 * locked in the order of their ids, as everywhere. */
#define NOT_OURS(column) "(" column " <> '' AND left(" column ", length($1)) <> $1)"
static const char sql_plain_feeds[] =
    "SELECT id, credential, secrets FROM feeds WHERE " NOT_OURS("credential") " OR "
    NOT_OURS("secrets") " ORDER BY id FOR UPDATE";
static const char sql_plain_aliases[] = "SELECT feed_id, url, credential FROM aliases WHERE "
    NOT_OURS("credential") " FOR UPDATE";

/* The first key that comes stays: a node that comes second waits here, and gets that of the other one. */
static const char sql_note[] = "INSERT INTO sealing (one, key_id) VALUES (1, $1) ON CONFLICT (one) DO UPDATE"
                               " SET key_id = sealing.key_id RETURNING key_id";

/* A row under the sealed credential may be there already, if a daemon had the database without the
 * key for a while. Then the one in plain stays. */
static const char sql_seal_secrets[] =
    "UPDATE feeds f SET secrets = w.secrets FROM unnest($1::bigint[], $2::text[]) AS w"
    " (id, secrets) WHERE f.id = w.id";
static const char sql_seal_feeds[] =
    "UPDATE feeds f SET credential = w.credential FROM unnest($1::bigint[], $2::text[]) AS w"
    " (id, credential) WHERE f.id = w.id AND NOT EXISTS (SELECT FROM feeds o WHERE md5(o.url) ="
    " md5(f.url) AND md5(o.credential) = md5(w.credential))";
static const char sql_seal_aliases[] =
    "UPDATE aliases f SET credential = w.credential FROM unnest($1::text[], $2::text[], $3::text[])"
    " AS w (url, plain, credential) WHERE md5(f.url) = md5(w.url) AND md5(f.credential) ="
    " md5(w.plain) AND f.url = w.url AND f.credential = w.plain AND NOT EXISTS (SELECT FROM aliases"
    " o WHERE md5(o.url) = md5(f.url) AND md5(o.credential) = md5(w.credential))";

/* The ids of the feeds, and column `column` of each, sealed. */
static void put_feeds(struct pg_params *p, const struct pg_answer *feeds, int column,
                      const struct seal_key *key, struct arena *a)
{
    struct pg_param *ids = pg_put_array(p, PG_INT), *texts = pg_put_array(p, PG_TEXT);

    for (size_t i = 0; i < feeds->n; i++) {
        struct str text = pg_get_str(feeds, i, column, a);

        pg_add_int(ids, pg_get_int(feeds, i, 0));
        pg_add_text(p, texts,
                    column == 1 ? sealed_credential(a, key, text) : sealed_secret(a, key, text));
    }
}

static void put_aliases(struct pg_params *p, const struct pg_answer *aliases,
                        const struct seal_key *key, struct arena *a)
{
    struct pg_param *urls = pg_put_array(p, PG_TEXT), *plains = pg_put_array(p, PG_TEXT);
    struct pg_param *texts = pg_put_array(p, PG_TEXT);

    for (size_t i = 0; i < aliases->n; i++) {
        struct str text = pg_get_str(aliases, i, 2, a);

        pg_add_text(p, urls, pg_get_bytes(aliases, i, 1));
        pg_add_text(p, plains, text);
        pg_add_text(p, texts, sealed_credential(a, key, text));
    }
}

/* All is read before the first statement is queued: then the answers are gone. */
static enum rc seal_all(struct pg_link *l, const struct pg_answer *feeds,
                        const struct pg_answer *aliases, const struct seal_key *key,
                        struct arena *a, struct err *err)
{
    AUTO(pg_params_release) struct pg_params secrets = {.n = 0}, credentials = {.n = 0};
    AUTO(pg_params_release) struct pg_params names = {.n = 0};

    put_feeds(&secrets, feeds, 2, key, a);
    put_feeds(&credentials, feeds, 1, key, a);
    put_aliases(&names, aliases, key, a);
    pg_queue(l, sql_seal_secrets, &secrets, "", NULL);
    pg_queue(l, sql_seal_feeds, &credentials, "", NULL);
    pg_queue(l, sql_seal_aliases, &names, "", NULL);
    return pg_commit(l, err);
}

static bool is_of_other(const struct pg_answer *rows, size_t i, int column, struct str ours, struct arena *a)
{
    struct str text = pg_get_str(rows, i, column, a);

    return seal_is_sealed(text) && !str_starts(text, ours);
}

static enum rc check_others(const struct pg_answer *feeds, const struct pg_answer *aliases, struct str ours,
                            struct arena *a, struct err *err)
{
    int64_t *ids = ARENA_ARRAY(a, int64_t, feeds->n + aliases->n + 1);
    size_t n = 0;

    for (size_t i = 0; i < feeds->n; i++)
        if (is_of_other(feeds, i, 1, ours, a) || is_of_other(feeds, i, 2, ours, a))
            ids[n++] = pg_get_int(feeds, i, 0);
    for (size_t i = 0; i < aliases->n; i++)
        if (is_of_other(aliases, i, 2, ours, a))
            ids[n++] = pg_get_int(aliases, i, 0);
    return sealed_check_others(ids, n, err);
}

static enum rc forget(struct pg_link *l, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    const struct pg_statement *s = &pg_statements[PG_SQL_key_forget];
    struct pg_answer noted;
    enum rc rc;

    pg_queue_begin(l);
    pg_queue(l, s->sql, NULL, s->columns, &noted);
    rc = pg_commit(l, err);
    if (rc == RC_OK && noted.n > 0)
        sealed_warn_keyless(pg_get_str(&noted, 0, 0, &a));
    if (rc != RC_OK)
        pg_rollback(l);
    return rc;
}

enum rc pg_seal_feeds(struct pg_link *l, const struct seal_key *key, struct err *err)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    AUTO(pg_params_release) struct pg_params beginning = {.n = 0}, note = {.n = 0};
    struct pg_answer noted, feeds, aliases;
    struct str ours;
    enum rc rc;

    if (key == NULL)
        return forget(l, err);
    ours = seal_beginning(&a, key);
    pg_put_text(&beginning, ours);
    pg_put_text(&note, sealed_key_id(&a, key));
    pg_queue_begin(l);
    pg_queue(l, sql_note, &note, "s", &noted);
    pg_queue(l, sql_plain_feeds, &beginning, "iss", &feeds);
    pg_queue(l, sql_plain_aliases, &beginning, "iss", &aliases);
    rc = pg_run(l, err);
    if (rc == RC_OK)
        rc = check_others(&feeds, &aliases, ours, &a, err);
    if (rc == RC_OK)
        rc = sealed_check_noted(pg_get_str(&noted, 0, 0, &a), sealed_key_id(&a, key), err);
    if (rc == RC_OK)
        rc = seal_all(l, &feeds, &aliases, key, &a, err);
    pg_rollback(l);
    return rc;
}
