/* api/http/token_book.h - the tokens of callers, in memory, by their digests.
 *
 * Other nodes may make and delete tokens. So with several writers a thread reads all of them anew
 * each second, and a token that is not known is refused only after it has been looked for once
 * more. Any thread, unless noted. */
#pragma once

#include "api/http/caller.h"
#include "api/http/request.h"

struct token_book;

/* Read the tokens. The store is borrowed until token_book_stop(). NULL: they cannot be read; the
 * log says why. */
struct token_book *token_book_new(struct store *s);
void token_book_stop(struct token_book *b);
void token_book_free(struct token_book **bp);

/* Find the caller of a token, and note its use. False: it is not known, or has expired. */
bool token_book_find(struct token_book *b, struct str token, struct caller *out);

/* Is the token with this id known, and has it not expired? */
bool token_book_has(struct token_book *b, int64_t id);

/* Are there no tokens, not even expired ones? Sessions do not count. */
bool token_book_is_empty(struct token_book *b);

/* Read all tokens anew; it is done when this returns. For reader threads. */
enum rc token_book_read(struct token_book *b, struct reader *r, struct err *err) NODISCARD;

/* A token was deleted: it counts no more, whatever a reading shows that began before. */
void token_book_forget(struct token_book *b, int64_t id);

/* Other nodes may know a token that this one does not. Call `handle` for the request when all
 * tokens have been read once more, which is done once a second for all who look. False: it is known
 * to this node already that there is none. The request's loop. */
bool token_book_look(struct token_book *b, struct request *req, request_handler_fn *handle);
