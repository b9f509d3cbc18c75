/* api/rights.c - see rights.h. */
#include "api/rights.h"

#include "api/http/context.h"
#include "api/http/token_book.h"
#include "api/views/event_streams.h"
#include "api/views/log_wait.h"

void rights_look(struct api *api)
{
    log_waiters_look(api->waiters);
    events_look(api->events);
}

void rights_forget(struct api *api, int64_t token_id)
{
    token_book_forget(api->tokens, token_id);
    rights_look(api);
}
