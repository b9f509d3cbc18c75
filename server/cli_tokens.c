/* server/cli_tokens.c - "feedmill token": makes, lists and deletes the tokens of callers; in a
 * database without a daemon, or by asking the daemon. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/http/token_terms.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/media_types.h"
#include "model/paths.h"
#include "net/url.h"
#include "server/cli.h"
#include "server/cli_out.h"
#include "storage/store.h"

#define WAIT_MS 60000

struct asked {
    const char *command;
    struct str db, name, role, rate, expires;
    struct cli_server srv;
    struct arena arena;
};

/* ---- in a database --------------------------------------------------------------------------- */

/* What a write came to; the storer's thread tells. */
struct result {
    pthread_mutex_t lock;
    pthread_cond_t come;
    bool done;
    enum rc rc;
    struct err err;
    int64_t id; /* of what was made */
};

#define RESULT_INIT                                                                                \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER, .err = ERR_INIT       \
    }

static void on_stored(void *ctx, enum rc rc, const struct store_result *res,
                      const struct err *err)
{
    struct result *r = ctx;

    pthread_mutex_lock(&r->lock);
    r->done = true;
    r->rc = rc;
    if (rc != RC_OK && err != NULL)
        r->err = *err;
    if (rc == RC_OK)
        r->id = res->id;
    pthread_cond_signal(&r->come);
    pthread_mutex_unlock(&r->lock);
}

/* Wait for the write, if it was `handed` over. */
static int await(const struct asked *q, struct result *r, enum rc handed)
{
    if (handed != RC_OK)
        return cli_fail(q->command, "%s", rc_meaning(handed));
    pthread_mutex_lock(&r->lock);
    while (!r->done)
        pthread_cond_wait(&r->come, &r->lock);
    pthread_mutex_unlock(&r->lock);
    if (r->rc == RC_OK)
        return CLI_OK;
    return cli_fail(q->command, "%s", r->err.text[0] != '\0' ? r->err.text : rc_meaning(r->rc));
}

static int open_store(const struct asked *q, struct store **out)
{
    struct store_cfg cfg = {.path = q->db,
                            .n_readers = 1,
                            .queue_len = 16,
                            .batch_ops = 1,
                            .batch_ms = 1,
                            .is_shared = true,
                            .seals_nothing = true,
                            .levels = {{86400, 1800, 300}}};
    struct err err = ERR_INIT;

    if (store_open(&cfg, out, &err) == RC_OK)
        return CLI_OK;
    return cli_fail(q->command, "%s (without --db the running daemon is asked)", err.text);
}

static struct value *token_value(struct arena *a, const struct token *t);

static int add_to(struct asked *q, struct store *s, struct token *t)
{
    struct result r = RESULT_INIT;
    struct str secret = token_make(&q->arena, t);
    int code = await(q, &r, store_token_add(s, t, on_stored, &r));

    struct value *v;

    if (code == CLI_OK && str_is_null(q->srv.json)) {
        printf("%.*s\n", STR_ARG(secret));
    } else if (code == CLI_OK) {
        t->id = r.id;
        v = token_value(&q->arena, t);
        value_set_textz(&q->arena, v, "token", secret);
        cli_print_json(v);
    }
    return code;
}

/* What the end of the last token means (docs/api.md, "Callers"). */
static void print_removed(const struct asked *q, int64_t id, bool is_last)
{
    if (!str_is_null(q->srv.json))
        printf("{\"id\":%" PRId64 ",\"deleted\":true,\"last\":%s}\n", id,
               is_last ? "true" : "false");
    else if (is_last)
        printf("That was the last token. A daemon on a loopback address, without --token, now lets "
               "everybody on its machine read and subscribe; --anonymous none prevents that.\n");
}

static int remove_from(struct asked *q, struct store *s, int64_t id)
{
    struct result r = RESULT_INIT;
    int code = await(q, &r, store_token_drop(s, id, on_stored, &r));
    struct reader *reader = code == CLI_OK ? reader_open(s) : NULL;
    struct token *left;
    size_t n;
    bool is_last = reader != NULL && reader_tokens(reader, &q->arena, &left, &n, NULL) == RC_OK &&
                   n == 0;

    if (code == CLI_OK)
        print_removed(q, id, is_last);
    reader_close(&reader);
    return code;
}

/* ---- what is shown --------------------------------------------------------------------------- */

static int print_tokens(struct asked *q, const struct value *list)
{
    static const struct cli_column columns[] = {
        {"id", CELL_NUMBER, "id", 0},      {"role", CELL_NAME, "role", 0}, {"rate", CELL_NUMBER, "rate", 0},
        {"expires", CELL_TIME, "expires", 0}, {"used", CELL_TIME, "used", 0}, {"name", CELL_TEXT, "name", 0}};
    struct cli_table *t;

    if (!str_is_null(q->srv.json)) {
        cli_print_list(&q->arena, list, "id|name|role|rate|expires|created|used");
        return CLI_OK;
    }
    t = cli_table_new(&q->arena, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < value_len(list); i++)
        cli_table_add_value(t, value_at(list, i));
    cli_table_print(t);
    return CLI_OK;
}

static void put_time(struct arena *a, struct value *v, const char *name, int64_t at)
{
    char text[CLOCK_TEXT];

    if (at != TIME_UNKNOWN)
        clock_rfc3339(at, text);
    value_set(a, v, str_from(name),
              at == TIME_UNKNOWN ? value_null(a) : value_text(a, str_dup(a, str_from(text))));
}

/* Returns a token as GET /tokens shows it. */
static struct value *token_value(struct arena *a, const struct token *t)
{
    struct value *v = value_dict(a);

    value_setz(a, v, "id", value_int(a, t->id));
    value_set_textz(a, v, "name", t->name);
    value_set_textz(a, v, "role", str_from(role_name(t->role)));
    value_setz(a, v, "rate", t->rate > 0 ? value_int(a, t->rate) : value_null(a));
    put_time(a, v, "expires", t->expires_at);
    put_time(a, v, "created", t->created_at);
    put_time(a, v, "used", t->used_at);
    return v;
}

static int list_of(struct asked *q, struct store *s)
{
    struct value *list = value_list(&q->arena);
    struct reader *r = reader_open(s);
    struct arena *a = &q->arena;
    struct err err = ERR_INIT;
    struct token *t;
    size_t n;

    if (r == NULL || reader_tokens(r, a, &t, &n, &err) != RC_OK) {
        reader_close(&r);
        return cli_fail(q->command, "the tokens cannot be read: %s", err.text);
    }
    for (size_t i = 0; i < n; i++)
        value_push(a, list, token_value(a, &t[i]));
    reader_close(&r);
    return print_tokens(q, list);
}

/* ---- by the daemon --------------------------------------------------------------------------- */

static int ask_list(struct asked *q)
{
    struct value *v = cli_call_json(q->command, &q->srv, &q->arena, "GET", STR(PATH_TOKENS),
                                    STR_NULL, STR_NULL, WAIT_MS, "tokens");

    return v == NULL ? CLI_FAILED : print_tokens(q, value_getz(v, "tokens"));
}

/* "&name=value"; empty when there is no value. */
static struct str field(struct arena *a, const char *name, struct str value)
{
    return str_is_null(value) ? STR("")
                              : str_printf(a, "&%s=%.*s", name, STR_ARG(url_encode(a, value)));
}

static int ask_add(struct asked *q)
{
    struct arena *a = &q->arena;
    struct str form =
        str_concat(a, str_concat(a, field(a, "name", q->name), field(a, "role", q->role)),
                   str_concat(a, field(a, "rate", q->rate), field(a, "expires", q->expires)));
    struct value *v = cli_call_json(q->command, &q->srv, a, "POST", STR(PATH_TOKENS),
                                    STR(MEDIA_URLENCODED), form, WAIT_MS, "id|token");

    if (v == NULL)
        return CLI_FAILED;
    if (str_is_null(q->srv.json))
        printf("%.*s\n", STR_ARG(value_get_textz(v, "token")));
    else
        cli_print_json(v);
    return CLI_OK;
}

static int ask_remove(struct asked *q, int64_t id)
{
    struct str path = str_printf(&q->arena, PATH_TOKENS "?id=%" PRId64, id);
    struct value *v = cli_call_json(q->command, &q->srv, &q->arena, "GET", STR(PATH_TOKENS),
                                    STR_NULL, STR_NULL, WAIT_MS, "tokens");
    struct cli_answer answer;

    if (v == NULL || !cli_call(q->command, &q->srv, &q->arena, "DELETE", path, STR_NULL, STR_NULL,
                               WAIT_MS, CLI_NOTHING, &answer))
        return CLI_FAILED;
    print_removed(q, id, value_len(value_getz(v, "tokens")) == 1);
    return CLI_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

enum what { ADD, LIST, REMOVE };

static int in_database(struct asked *q, enum what what, struct token *t, int64_t id)
{
    struct store *s = NULL;
    int code;

    /* a token may be made before the first start, so the file may be made for it; else it is a typing error */
    if (what != ADD && str_find(q->db, STR("://")) < 0 && access(q->db.ptr, F_OK) != 0)
        return cli_fail(q->command, "%.*s: %s", STR_ARG(q->db), strerror(errno));
    log_set_level(LOG_LEVEL_NONE); /* what goes wrong is told in one line */
    code = open_store(q, &s);
    if (code == CLI_OK)
        code = what == ADD ? add_to(q, s, t) : what == LIST ? list_of(q, s) : remove_from(q, s, id);
    store_close(&s);
    return code;
}

static int run(struct asked *q, enum what what, int64_t id)
{
    struct err err = ERR_INIT;
    const char *wrong;
    struct token t;

    if (what == ADD &&
        token_terms_read(q->name, q->role, q->rate, q->expires, &t, &wrong, &err) != RC_OK)
        return cli_misuse(q->command, "--%s: %s", wrong, err.text);
    if (!str_is_null(q->db))
        return in_database(q, what, &t, id);
    return what == ADD ? ask_add(q) : what == LIST ? ask_list(q) : ask_remove(q, id);
}

static bool has_terms(const struct asked *q)
{
    return !str_is_null(q->name) || !str_is_null(q->role) || !str_is_null(q->rate) ||
           !str_is_null(q->expires);
}

int cli_token(int argc, char **argv)
{
    struct asked q = {.command = argv[0]};
    const struct cli_flag flags[] = {
        {.name = "--db",
         .arg = "FILE",
         .help = "A database that no daemon uses, or one in PostgreSQL; without it the daemon is "
                 "asked.",
         .value = &q.db},
        {.name = "--name", .arg = "TEXT", .help = "add: what the list calls it.", .value = &q.name},
        {.name = "--role",
         .arg = "ROLE",
         .help = "add: read, subscribe or admin.",
         .value = &q.role},
        {.name = "--rate",
         .arg = "N",
         .help = "add: so many requests a minute; without it there is no bound.",
         .value = &q.rate},
        {.name = "--expires",
         .arg = "TIME",
         .help = "add: when it ends, as 2030-01-31T12:00:00Z; without it it does not.",
         .value = &q.expires},
        CLI_SERVER_FLAGS(q.srv)};
    int code = cli_take_flags(&argc, argv, flags, ARRAY_LEN(flags));
    int64_t id = 0;

    if (code >= 0)
        return code;
    if (argc > 1 && strcmp(argv[1], "add") != 0 && has_terms(&q))
        code = cli_misuse(argv[0], "--name, --role, --rate and --expires are flags of \"%s add\"", argv[0]);
    else if (argc == 2 && strcmp(argv[1], "add") == 0)
        code = run(&q, ADD, 0);
    else if (argc == 2 && strcmp(argv[1], "ls") == 0)
        code = run(&q, LIST, 0);
    else if (argc == 3 && strcmp(argv[1], "rm") == 0 && str_to_i64(str_from(argv[2]), &id) &&
             id > 0)
        code = run(&q, REMOVE, id);
    else if (argc == 3 && strcmp(argv[1], "rm") == 0)
        code = cli_misuse(argv[0], "\"%s\" is not the number of a token; \"feedmill token ls\" lists them", argv[2]);
    else if (argc > 1 && strcmp(argv[1], "add") != 0 && strcmp(argv[1], "ls") != 0 &&
             strcmp(argv[1], "rm") != 0)
        code = cli_unknown(argv[0], "the action", argv[1], "add|ls|rm");
    else
        code = cli_usage(argv[0]);
    arena_release(&q.arena);
    return code;
}
