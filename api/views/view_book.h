/* api/views/view_book.h - the named views, in memory, with what they ask for. So a request that names
 * one needs no query, and reads no list of URLs.
 *
 * It is filled and renewed like the book of subscriptions, which has it (sub_book.h). What is found
 * never changes: a change makes another one. Any thread, unless noted. */
#pragma once

#include "api/http/ask.h"
#include "base/map.h"
#include "model/named_view.h"

#define VIEW_EDITION_TEXT 9 /* 8 hex digits, and a zero */

struct known_view {
    struct named_view row;
    struct str title;         /* its own, or its name */
    struct wanted_url *urls;  /* by `url` */
    size_t n_urls;
    struct params params;     /* all that its query has */
    struct str filter;        /* its own, as text (feed/filter/filter.h); null: none */
    struct str refused;       /* why its query is not understood; null: it is */
    bool has_age;             /* that depends on the time of asking */
    char edition[VIEW_EDITION_TEXT]; /* other feeds or another filter, its own or of a view that it
                                        names: another edition */
};

/* All views at one time. */
struct view_shelf;

struct view_book;
struct view_book *view_book_new(struct store *s);
void view_book_free(struct view_book **bp);

/* As the functions of sub_book.h. */
void view_book_notice(struct view_book *b, const struct commit_notice *notice);
int64_t view_book_edition(struct view_book *b);
int64_t view_book_shown(struct view_book *b);
bool view_book_is_fresh(struct view_book *b);
bool view_book_is_filled(struct view_book *b);
enum rc view_book_refresh(struct view_book *b, struct reader *r, struct err *err) NODISCARD;

/* All views, with a reference that view_shelf_leave() gives back. */
struct view_shelf *view_book_take(struct view_book *b);
void view_shelf_leave(struct view_shelf **sp);

/* The view of this name; NULL: there is none. */
const struct known_view *view_find(const struct view_shelf *s, struct str name);
/* The i-th one, by name; NULL: there are fewer. */
const struct known_view *view_at(const struct view_shelf *s, size_t i);

/* May this be a name? */
bool view_is_name(struct str name);

/* The one who has made it, as a caller: whose subscriptions its sets reach. */
struct caller view_maker(const struct named_view *v);
