/* api/http/identify.h - finds out who makes a request: by a token, by the session of a browser, or
 * without either by its address. The request's loop. */
#pragma once

#include "api/http/request.h"

/* Take the token out of the request: from its Authorization field, out of the URL of a GET, or else
 * that of a session from its cookie. From now on nothing that is made of the URL has it. */
void identify_take_token(struct request *req);

/* Identify the caller. False: it cannot be identified. *p says why, or (*waits) `handle` is called
 * for the request when the tokens have been read once more. */
bool identify(struct request *req, request_handler_fn *handle, struct problem *p,
              bool *waits) NODISCARD;

/* Find the caller of this token. False: it is not known here. */
bool identify_token(struct request *req, struct str token, struct caller *out) NODISCARD;

/* The name of the cookie of a session. Nodes of one log share it; two servers at different ports of
 * one host, which are one site for cookies, do not. Arena. */
struct str identify_cookie_name(const struct request *req);

/* The bytes whose digest is stored of a session that was begun with the token of --token: so it ends
 * when that option changes. Arena. SECRET. */
struct str identify_option_session(struct arena *a, struct str session, struct str option_token);
