/* notifier/sink_webhook.c - JSON by POST, signed as Standard Webhooks says: webhook-id,
 * webhook-timestamp, webhook-signature.
 *
 * An entry is that of /log and of /feed?type=json. The body follows from the log, the subscription
 * and the name of the feed, and the id from the first two, so a delivery that is tried again has
 * the same entries and the same id. What an answer means: D56 (docs/delivery.md). */
#include <inttypes.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/digits.h"
#include "feed/text/json.h"
#include "model/cursor.h"
#include "notifier/carrier_http.h"
#include "notifier/hook_cache.h"
#include "notifier/sink.h"

#define OWN_FIELDS 4
#define ID_USUAL 600 /* bytes of which the id is made, mostly */

_Static_assert(HTTP_LOAD_FIELDS_MAX >= OWN_FIELDS + HOOK_FIELDS_MAX, "all fields have room");

static void write_text(struct buf *body, struct str text)
{
    if (str_is_null(text))
        buf_puts(body, "null");
    else
        json_write_text(body, text);
}

/* Returns the time of what is delivered, in microseconds. It is the same in each try. */
static int64_t time_of(const struct sink_push *push)
{
    if (push->event != NULL)
        return push->event->at_us;
    return push->n > 0 ? push->revisions[push->n - 1].at_us : clock_now_us();
}

static const char *type_of(const struct sink_push *push)
{
    if (push->event != NULL)
        return "feed.state";
    return push->n > 0 ? "feed.entries" : "test";
}

/* Append the texts of the list, which ends with NULL. */
static void put_all(struct buf *body, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        buf_puts(body, *texts);
}

/* Write everything up to what is delivered. */
static void webhook_front(struct buf *body, const struct sink_push *push)
{
    char at[CLOCK_TEXT], prev[CURSOR_TEXT], last[CURSOR_TEXT], id[DIGITS_MAX + 1];

    clock_rfc3339_us(time_of(push), at);
    cursor_write(prev, push->log_id, push->prev.seq, push->prev.at_us);
    cursor_write(last, push->log_id, push->last.seq, push->last.at_us);
    id[digits_write(id, push->sub_id)] = '\0';
    put_all(body, (const char *[]){"{\"type\":\"", type_of(push), "\",\"timestamp\":\"", at,
                                   "\",\"data\":{\"subscription\":", id, ",\"prev_cursor\":\"",
                                   prev, "\",\"last_cursor\":\"", last, "\"", NULL});
}

static void write_feed(struct buf *body, const struct sink_push *push, int64_t feed_id)
{
    buf_printf(body, "\"feed\":{\"id\":%" PRId64 ",\"url\":", feed_id);
    write_text(body, push->feed_url);
    buf_puts(body, ",\"title\":");
    write_text(body, push->title);
    buf_putc(body, '}');
}

static void write_entry(struct buf *body, const struct sink_push *push, const struct revision *rev)
{
    char cursor[CURSOR_TEXT], at[CLOCK_TEXT];

    cursor_write(cursor, push->log_id, rev->seq, rev->at_us);
    clock_rfc3339_us(rev->at_us, at);
    buf_printf(body, "{\"kind\":\"%s\",\"cursor\":\"%s\",\"at\":\"%s\",",
               revision_kind_name(rev->kind), cursor, at);
    write_feed(body, push, rev->feed_id);
    buf_puts(body, ",\"uid\":");
    json_write_text(body, rev->uid);
    if (rev->doc.len > 0) {
        buf_puts(body, ",\"entry\":");
        buf_str(body, rev->doc);
    }
    buf_putc(body, '}');
}

static void write_entries(struct buf *body, const struct sink_push *push)
{
    buf_puts(body, ",\"entries\":[");
    for (size_t i = 0; i < push->n; i++) {
        if (i > 0)
            buf_putc(body, ',');
        write_entry(body, push, &push->revisions[i]);
    }
    buf_putc(body, ']');
}

static void write_event(struct buf *body, const struct sink_push *push)
{
    buf_printf(body, ",\"state\":\"%s\",", feed_event_name(push->event->kind));
    write_feed(body, push, push->event->feed_id);
    buf_puts(body, ",\"detail\":");
    write_text(body, push->event->detail);
}

static enum rc webhook_body(struct arena *a UNUSED, const struct sink_push *push, struct buf *body,
                            struct err *err)
{
    webhook_front(body, push);
    if (push->event != NULL)
        write_event(body, push);
    else if (push->n > 0)
        write_entries(body, push);
    buf_puts(body, "}}");
    if (buf_ok(body))
        return RC_OK;
    return err_set(err, RC_LIMIT, "it makes a delivery of more than %zu bytes", body->max);
}

/* Returns the numbers of the revisions, each with the hash of its document. */
static struct str webhook_print(struct arena *a, const struct sink_push *push)
{
    AUTO(buf_release) struct buf all = BUF_INIT(BUF_ANY);
    unsigned char digest[DIGEST_SHA256_LEN];
    char hex[2 * DIGEST_SHA256_LEN + 1];

    for (size_t i = 0; i < push->n; i++) {
        digest_sha256(push->revisions[i].doc, digest);
        digest_hex(digest, sizeof digest, hex);
        buf_printf(&all, " %" PRId64 " %s", push->revisions[i].seq, hex);
    }
    return str_dup(a, buf_view(&all));
}

static void put_number(struct buf *out, int64_t n)
{
    char text[DIGITS_MAX];

    buf_putc(out, ' ');
    buf_append(out, text, digits_write(text, n));
}

/* Returns the id of the delivery. It follows from what is delivered to whom, so it is the same in
 * each try, also after a restart. After a replay the same entries have another one. Title and URL
 * of the feed have no part in it: they may change between two tries. */
static struct str id_of(struct arena *a, const struct sink_push *push, struct str body)
{
    AUTO(buf_release) struct buf all = BUF_INIT(BUF_ANY);
    unsigned char digest[DIGEST_SHA256_LEN];
    char hex[2 * DIGEST_SHA256_LEN + 1];

    buf_reserve(&all, ID_USUAL);
    buf_str(&all, push->log_id);
    put_number(&all, push->generation);
    put_number(&all, push->dead_id);
    buf_putc(&all, ' ');
    if (push->front_len > 0) {
        buf_str(&all, str_slice(body, 0, push->front_len));
        buf_str(&all, push->print);
    } else {
        webhook_front(&all, push);
        buf_str(&all, webhook_print(a, push));
    }
    if (push->event != NULL)
        buf_printf(&all, " %s %.*s", feed_event_name(push->event->kind),
                   STR_ARG(push->event->detail));
    digest_sha256(buf_view(&all), digest);
    digest_hex(digest, 16, hex);
    return str_concat(a, STR("msg_"), str_from(hex));
}

/* Returns the signatures by all secrets that sign at the time `now`, which is `at` as a text. */
static struct str signatures(struct arena *a, const struct hook_settings *hs, struct str id,
                             int64_t now, struct str at, const struct carrier_load *load)
{
    const struct str signed_parts[] = {
        id, STR("."), at, STR("."), buf_view(&load->body), blob_bytes(load->shared)};
    struct str text = STR("");

    for (size_t i = 0; i < hook_secrets_at(hs, now); i++) {
        unsigned char mac[DIGEST_MAX_LEN];
        size_t n = digest_hmac_parts(DIGEST_SHA256, hs->secrets[i].key, signed_parts,
                                     ARRAY_LEN(signed_parts), mac);
        struct str one = base64_write(a, str_of((const char *)mac, n));

        text = str_concat(a, text, str_concat(a, i > 0 ? STR(" v1,") : STR("v1,"), one));
    }
    return text;
}

static enum rc webhook_seal(struct arena *a, const struct sink_push *push,
                            struct carrier_load *load, struct err *err)
{
    struct str id = id_of(a, push, buf_view(&load->body));
    struct http_load *own = ARENA_NEW(a, struct http_load);
    int64_t now = clock_now_s();
    char text[DIGITS_MAX];
    struct str at = str_dup(a, str_of(text, digits_write(text, now)));
    struct hook_settings hs;
    enum rc rc = hook_cache_read(push->hooks, push->sub_id, a, push->settings, &hs, err);

    if (rc != RC_OK)
        return rc;
    own->method = STR("POST");
    own->fields[0] = (struct http_field){STR("Content-Type"), STR("application/json")};
    own->fields[1] = (struct http_field){STR("webhook-id"), id};
    own->fields[2] = (struct http_field){STR("webhook-timestamp"), at};
    own->fields[3] =
        (struct http_field){STR("webhook-signature"), signatures(a, &hs, id, now, at, load)};
    own->n_fields = OWN_FIELDS;
    for (size_t i = 0; i < hs.n_fields; i++)
        own->fields[own->n_fields++] = (struct http_field){hs.fields[i].name, hs.fields[i].value};
    load->own = own;
    return RC_OK;
}

static enum sink_verdict verdict_of(int status)
{
    switch (status) {
    case 410:
        return SINK_GONE;
    case 400:
    case 413:
    case 415:
    case 422:
        return SINK_REFUSED;
    default:
        return status >= 200 && status < 300 ? SINK_DELIVERED : SINK_FAILED;
    }
}

/* The status counts even if the answer is too long, breaks off, or does not end in time. */
static enum sink_verdict webhook_judge(struct arena *a, const struct carrier_answer *answer,
                                       struct str *why)
{
    enum sink_verdict verdict = verdict_of(answer->status);

    if (verdict == SINK_DELIVERED)
        return verdict;
    *why = carrier_http_why(a, "endpoint", answer);
    return verdict;
}

const struct sink sink_webhook = {.in_snapshot = true,
                                  .draw = entries_draw,
                                  .entries = {.names_feed = true,
                                              .has_settings = true,
                                              .body = webhook_body,
                                              .front = webhook_front,
                                              .print = webhook_print,
                                              .seal = webhook_seal},
                                  .draw_test = entries_draw_test,
                                  .judge = webhook_judge};
