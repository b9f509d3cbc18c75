/* api/pings/changes.c - GET /changes.xml: the pings of the last three hours (PING-06). */
#include "api/http/handlers.h"

#include "api/http/reply.h"
#include "api/pings/ping_log.h"
#include "model/media_types.h"

void changes_get(struct request *req)
{
    struct buf out = BUF_INIT(BUF_ANY);
    struct reply r = REPLY_INIT;
    size_t len;
    char *bytes;

    r.modified_at = ping_log_write(req->ask.api->pings, &out, clock_now_s());
    r.media_type = MEDIA_XML MEDIA_UTF8;
    r.cache = "no-cache";
    r.varies_encoding = true;
    r.etag = reply_etag(req->ask.arena, buf_view(&out));
    bytes = buf_detach(&out, &len);
    r.body = blob_new(bytes, len);
    r.gzip = reply_gzip(blob_bytes(r.body));
    reply_send(req, &r);
    blob_unref(&r.body);
    blob_unref(&r.gzip);
}
