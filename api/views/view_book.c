/* api/views/view_book.c - see view_book.h. */
#include "api/views/view_book.h"

#include <pthread.h>
#include <stdatomic.h>

#include "api/http/routes.h"
#include "api/views/filtering.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/paths.h"
#include "storage/store.h"

struct view_shelf {
    atomic_int refs;
    struct arena arena;
    struct map by_name; /* of struct known_view, which are in the arena */
    struct known_view *views;
    size_t n;
};

struct view_book {
    struct store *store;
    pthread_mutex_t reading; /* held while the book is renewed, so only readers take it */
    atomic_llong edition, shown;
    pthread_mutex_t lock;     /* guards the rest */
    struct view_shelf *shelf; /* NULL: it was never read */
};

bool view_is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && strchr("._-", name.ptr[i]) == NULL)
            return false;
    /* `.` and `..` have a meaning in paths, so nobody could ask for them */
    return name.len > 0 && name.len <= VIEW_NAME_MAX && str_chr(name, '\0') < 0 &&
           !str_eqz(name, ".") && !str_eqz(name, "..");
}

struct caller view_maker(const struct named_view *v)
{
    return (struct caller){
        .role = v->role, .owner = v->owner, .is_alone = v->owner == OWNER_LOCAL};
}

/* ---- all views at one time ------------------------------------------------------------------- */

void view_shelf_leave(struct view_shelf **sp)
{
    struct view_shelf *s = *sp;

    *sp = NULL;
    if (s == NULL || atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    map_release(&s->by_name, NULL);
    arena_release(&s->arena);
    mem_free(s);
}

const struct known_view *view_find(const struct view_shelf *s, struct str name)
{
    return s == NULL ? NULL : map_get(&s->by_name, name);
}

const struct known_view *view_at(const struct view_shelf *s, size_t i)
{
    return s != NULL && i < s->n ? &s->views[i] : NULL;
}

/* Read what the query says. It was checked when it was stored, but an older program may have taken
 * what is refused now. Without its filter the view would have more than somebody wanted, so it is
 * not read at all. */
static void understand(struct arena *a, struct known_view *v)
{
    struct ask ask = {.arena = a,
                      .params.listed = route_find(STR(PATH_VIEW "/x"), STR("PUT"))->params};
    struct filtering what = {.filter = NULL};
    struct problem p;

    v->title = str_is_null(v->row.title) ? v->row.name : v->row.title;
    if (!params_add(&ask.params, a, v->row.query, &p) ||
        !params_urls(&ask.params, a, PARAM_urls, &v->urls, &v->n_urls, &p) ||
        !filtering_read(&ask, &what, &p)) {
        log_warn("api", "view_not_understood", "view=%s", log_quote(v->row.name));
        v->n_urls = 0;
        v->refused = str_dup(a, p.detail);
    }
    v->params = ask.params;
    v->filter = what.lasting == NULL ? STR_NULL : what.lasting->text;
    v->has_age = what.has_age;
}

/* Is it a parameter that only says how a document looks? */
static bool is_of_look(struct str name)
{
    static const char *const feeds[] = {"url", "folder", "sub", "all", "view"};

    for (size_t i = 0; i < ARRAY_LEN(feeds); i++)
        if (str_eqz(name, feeds[i]))
            return false;
    return true;
}

/* What its edition is made of. Views that it names come with theirs, so they must have it. */
static void set_edition(const struct view_shelf *s, struct known_view *v, int depth)
{
    AUTO(buf_release) struct buf all = BUF_INIT(BUF_ANY);
    unsigned char hash[16];

    if (v->edition[0] != '\0' || depth > VIEWS_MAX)
        return;
    for (size_t i = 0; i < v->params.n; i++) {
        const struct param *one = &v->params.items[i];
        struct known_view *other =
            str_eqz(one->name, "view") ? map_get(&s->by_name, one->value) : NULL;

        if (is_of_look(one->name))
            continue;
        buf_printf(&all, "%.*s=%.*s\n", STR_ARG(one->name), STR_ARG(one->value));
        if (other != NULL) {
            set_edition(s, other, depth + 1);
            buf_printf(&all, "%s\n", other->edition);
        }
    }
    buf_str(&all, v->filter);
    digest_content(buf_view(&all), hash);
    digest_hex(hash, (VIEW_EDITION_TEXT - 1) / 2, v->edition);
    v->edition[VIEW_EDITION_TEXT - 1] = '\0';
}

static enum rc read_shelf(struct reader *r, struct view_shelf **out, struct err *err)
{
    struct view_shelf *s = NEW(struct view_shelf);
    struct named_view *rows = NULL;
    size_t n = 0;
    enum rc rc = reader_views(r, &s->arena, &rows, &n, err);

    s->refs = 1;
    if (rc != RC_OK) {
        view_shelf_leave(&s);
        return rc;
    }
    s->views = ARENA_ARRAY(&s->arena, struct known_view, n + 1);
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        s->views[i] = (struct known_view){.row = rows[i]};
        understand(&s->arena, &s->views[i]);
        map_put(&s->by_name, rows[i].name, &s->views[i]);
    }
    for (size_t i = 0; i < n; i++)
        set_edition(s, &s->views[i], 0);
    *out = s;
    return RC_OK;
}

/* ---- the book -------------------------------------------------------------------------------- */

struct view_book *view_book_new(struct store *s)
{
    struct view_book *b = NEW(struct view_book);

    b->store = s;
    atomic_init(&b->edition, 1);
    pthread_mutex_init(&b->reading, NULL);
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void view_book_free(struct view_book **bp)
{
    struct view_book *b = *bp;

    if (b == NULL)
        return;
    view_shelf_leave(&b->shelf);
    pthread_mutex_destroy(&b->lock);
    pthread_mutex_destroy(&b->reading);
    mem_free(b);
    *bp = NULL;
}

/* What a view shows depends on which of its feeds are protected, too. */
void view_book_notice(struct view_book *b, const struct commit_notice *notice)
{
    if (notice->has_view_news || notice->has_protected || notice->is_anew)
        atomic_fetch_add(&b->edition, 1);
}

int64_t view_book_edition(struct view_book *b)
{
    return atomic_load(&b->edition);
}

int64_t view_book_shown(struct view_book *b)
{
    return atomic_load(&b->shown);
}

bool view_book_is_fresh(struct view_book *b)
{
    return view_book_shown(b) == view_book_edition(b);
}

struct view_shelf *view_book_take(struct view_book *b)
{
    struct view_shelf *s;

    pthread_mutex_lock(&b->lock);
    s = b->shelf;
    if (s != NULL)
        atomic_fetch_add(&s->refs, 1);
    pthread_mutex_unlock(&b->lock);
    return s;
}

bool view_book_is_filled(struct view_book *b)
{
    struct view_shelf *s = view_book_take(b);
    bool is_filled = s != NULL;

    view_shelf_leave(&s);
    return is_filled;
}

static void put_shelf(struct view_book *b, struct view_shelf *s, int64_t edition)
{
    struct view_shelf *old;

    pthread_mutex_lock(&b->lock);
    old = b->shelf;
    b->shelf = s;
    atomic_store(&b->shown, edition);
    pthread_mutex_unlock(&b->lock);
    view_shelf_leave(&old);
}

enum rc view_book_refresh(struct view_book *b, struct reader *r, struct err *err)
{
    struct view_shelf *s = NULL;
    enum rc rc = RC_OK;
    int64_t edition;

    pthread_mutex_lock(&b->reading);
    edition = view_book_edition(b);
    if (view_book_shown(b) != edition) {
        rc = read_shelf(r, &s, err);
        if (rc == RC_OK)
            put_shelf(b, s, edition);
    }
    pthread_mutex_unlock(&b->reading);
    return rc;
}
