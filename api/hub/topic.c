/* api/hub/topic.c - see topic.h. */
#include "api/hub/topic.h"

#include "model/media_types.h"
#include "net/hostport.h"
#include "net/url.h"

/* The type of a topic's document when its URL does not say. */
#define TOPIC_ACCEPT MEDIA_ATOM ", */*;q=0.1"

struct str topic_target(struct arena *a, struct str url, const struct str *origins,
                        size_t n_origins, struct str *origin)
{
    struct url_parts topic, ours;

    /* characters that a URL cannot have are not allowed in a field either */
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || strchr("<>\"\\", url.ptr[i]) != NULL)
            return STR_NULL;
    if (url.len > TOPIC_MAX || str_chr(url, '#') >= 0 || url_parse(a, url, &topic, NULL) != RC_OK ||
        !str_is_null(topic.credential))
        return STR_NULL;
    for (size_t i = 0; i < n_origins; i++) {
        struct str base;

        if (url_parse(a, origins[i], &ours, NULL) != RC_OK)
            continue;
        base = ours.url;
        while (str_ends(base, STR("/")))
            base.len--;
        if (!str_starts(topic.url, base) || topic.url.len == base.len ||
            topic.url.ptr[base.len] != '/')
            continue;
        *origin = origins[i];
        while (str_ends(*origin, STR("/")))
            origin->len--;
        return str_slice(topic.url, base.len, topic.url.len);
    }
    return STR_NULL;
}

struct ask topic_ask(struct api *api, struct arena *a, struct str origin, struct str target,
                     const struct caller *caller)
{
    return (struct ask){.api = api,
                        .cfg = &atomic_load(&api->conf)->cfg,
                        .arena = a,
                        .origin = origin,
                        .target = target,
                        .caller = *caller,
                        .is_lasting = true,
                        .accept = STR(TOPIC_ACCEPT)};
}

bool topic_read(struct request *req, struct str origin, struct str target, struct topic *out,
                struct problem *p)
{
    out->ask = topic_ask(req->ask.api, req->ask.arena, origin, target, &req->ask.caller);
    return query_read(&out->ask, &out->query, p);
}

void topic_take(const struct topic *t, const struct gathered *items, size_t n, struct asks_found *out)
{
    asks_take(&t->ask, t->query.asked, items, n, t->query.lasting, out);
}

struct str topic_asks(const struct topic *t)
{
    return t->query.asked->has_sets ? asks_write(&t->ask, filter_text(t->query.lasting)) : STR_NULL;
}

bool topics_prepare(struct request *req, const struct str *urls, size_t n, request_handler_fn *handle)
{
    struct str origins[TOPIC_ORIGINS_MAX], origin;
    size_t n_origins = topic_origins(req, origins);

    for (size_t i = 0; i < n; i++) {
        struct str target = topic_target(req->ask.arena, urls[i], origins, n_origins, &origin);
        struct ask ask = topic_ask(req->ask.api, req->ask.arena, origin, target, &req->ask.caller);

        if (!str_is_null(target) && query_has_sets(&ask))
            return sub_book_prepare(req, handle);
    }
    return false;
}

/* A request at one of these names may have a topic at another one. */
static const char *const loopback_names[] = {"localhost", "127.0.0.1", "[::1]"};

size_t topic_origins(struct request *req, struct str out[TOPIC_ORIGINS_MAX])
{
    struct str host = http_request_host(req->http), port;
    struct hostport hp;
    size_t n = 0;

    out[n++] = req->ask.origin;
    out[n++] = str_concat(req->ask.arena, STR("http://"), host);
    if (!hostport_parse(host, &hp) || !hostport_is_loopback(&hp))
        return n;
    port = str_slice(host, hp.written.len, host.len);
    for (size_t i = 0; i < ARRAY_LEN(loopback_names); i++)
        out[n++] = str_printf(req->ask.arena, "http://%s%.*s", loopback_names[i], STR_ARG(port));
    return n;
}
