/* tests/unit/net/test_component.c - the component against a server that follows a script: what it
 * sends, what it makes of what comes, and what it does when the connection ends. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "net/component.h"
#include "net/http_client.h"
#include "tests/unit/cmocka_all.h"

#define PATIENCE_MS 60000

/* ---- a server ---- */

struct fixture {
    int listener, fd;
    struct buf seen; /* bytes that came and were not looked at yet */
    struct component *c;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t news;
    struct component_request *requests[64];
    size_t n_requests;
    struct {
        enum rc rc;
        char condition[64], err[64];
    } results[64];
    size_t n_results;
    int stall_ms; /* the thread of the component stands still so long at the next request */
};

static void say(struct fixture *f, const char *text)
{
    size_t len = strlen(text), at = 0;

    while (at < len) {
        ssize_t n = send(f->fd, text + at, len - at, MSG_NOSIGNAL);

        assert_true(n > 0);
        at += (size_t)n;
    }
}

/* Wait until `text` has come. Returns what came up to its end. In memory of the caller. */
static char *hear(struct fixture *f, const char *text)
{
    int64_t until = clock_mono_ms() + PATIENCE_MS;
    ssize_t at;
    char *heard;

    while ((at = str_find(buf_view(&f->seen), str_from(text))) < 0) {
        struct pollfd p = {f->fd, POLLIN, 0};
        char bytes[65536];
        ssize_t n;

        assert_true(clock_mono_ms() < until);
        if (poll(&p, 1, 100) != 1)
            continue;
        n = recv(f->fd, bytes, sizeof bytes, 0);
        assert_true(n > 0);
        buf_append(&f->seen, bytes, (size_t)n);
    }
    at += (ssize_t)strlen(text);
    heard = mem_strndup(f->seen.ptr, (size_t)at);
    memmove(f->seen.ptr, f->seen.ptr + at, f->seen.len - (size_t)at + 1);
    f->seen.len -= (size_t)at;
    return heard;
}

static void pass(struct fixture *f, const char *text)
{
    mem_free(hear(f, text));
}

/* Take the component's connection, up to the handshake. */
static void accept_it(struct fixture *f, bool accepted)
{
    struct pollfd p = {f->listener, POLLIN, 0};
    char *stream, *handshake;

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    f->fd = accept(f->listener, NULL, NULL);
    assert_true(f->fd >= 0);
    buf_reset(&f->seen);
    stream = hear(f, "stream:stream ");
    mem_free(stream);
    stream = hear(f, ">");
    assert_non_null(strstr(stream, "to=\"feeds.test\""));
    mem_free(stream);
    say(f, "<?xml version='1.0'?><stream:stream xmlns='jabber:component:accept' "
           "xmlns:stream='http://etherx.jabber.org/streams' id='s1' from='feeds.test'>");
    handshake = hear(f, "</handshake>");
    assert_null(strstr(handshake, "sesame"));
    mem_free(handshake);
    say(f, accepted ? "<handshake/>"
                    : "<stream:error><not-authorized xmlns='urn:ietf:params:xml:ns:xmpp-streams'/>"
                      "</stream:error></stream:stream>");
    if (!accepted)
        close(f->fd);
}

/* ---- what the component calls ---- */

static void on_request(void *ctx, struct component_request *req)
{
    struct fixture *f = ctx;
    int stall_ms;

    pthread_mutex_lock(&f->lock);
    f->requests[f->n_requests++] = req;
    stall_ms = f->stall_ms;
    f->stall_ms = 0;
    pthread_cond_broadcast(&f->news);
    pthread_mutex_unlock(&f->lock);
    if (stall_ms > 0)
        poll(NULL, 0, stall_ms);
}

static void on_done(void *ctx, const struct component_result *res)
{
    struct fixture *f = ctx;

    pthread_mutex_lock(&f->lock);
    f->results[f->n_results].rc = res->rc;
    snprintf(f->results[f->n_results].err, 64, "%s", res->err == NULL ? "" : res->err);
    snprintf(f->results[f->n_results++].condition, 64, "%.*s", STR_ARG(res->condition));
    pthread_cond_broadcast(&f->news);
    pthread_mutex_unlock(&f->lock);
}

static void wait_for(struct fixture *f, const size_t *count, size_t n)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&f->lock);
    while (*count < n)
        assert_int_equal(pthread_cond_timedwait(&f->news, &f->lock, &until), 0);
    pthread_mutex_unlock(&f->lock);
}

static uint64_t deliver(struct fixture *f, const char *id, int64_t timeout_ms)
{
    char xml[200];

    snprintf(xml, sizeof xml, "<message id=\"%s\" to=\"a@b.test\" from=\"feeds.test\"/>", id);
    return component_deliver(f->c, str_from(id), STR("b.test"), str_from(xml), timeout_ms, on_done,
                             f);
}

/* Wait for the message and the request for a sign of life after it. Returns that one's number. */
static int hear_message(struct fixture *f, const char *id)
{
    char *heard, *at;
    int number;

    pass(f, id);
    heard = hear(f, "</iq>");
    at = strstr(heard, "id=\"fmack-");
    assert_non_null(at);
    assert_non_null(strstr(heard, "to=\"b.test\""));
    number = atoi(at + strlen("id=\"fmack-"));
    mem_free(heard);
    return number;
}

static void answer_ack(struct fixture *f, const char *from, int number, const char *error)
{
    char xml[400];

    if (error == NULL)
        snprintf(xml, sizeof xml, "<iq type='result' from='%s' to='feeds.test' id='fmack-%d'/>",
                 from, number);
    else
        snprintf(xml, sizeof xml,
                 "<iq type='error' from='%s' to='feeds.test' id='fmack-%d'><error type='cancel'>"
                 "<%s xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>",
                 from, number, error);
    say(f, xml);
}

/* ---- set up ---- */

/* A component that is about to connect. */
static struct fixture *begin(struct str host, const char *dns, int64_t silence_ms)
{
    struct fixture *f = NEW(struct fixture);
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    struct component_cfg cfg = {.host = host,
                                .name = STR("feeds.test"),
                                .secret = STR("sesame"),
                                .first_pause_ms = 10,
                                .max_pause_ms = 50,
                                .silence_ms = silence_ms,
                                .dns = dns};

    f->seen = (struct buf)BUF_INIT(BUF_ANY);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->news, NULL);
    f->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(f->listener, 8), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&addr, &len), 0);
    cfg.port = ntohs(addr.sin_port);
    f->c = component_new(&cfg);
    component_start(f->c, on_request, f);
    return f;
}

static int setup(void **state)
{
    struct fixture *f = begin(STR("127.0.0.1"), NULL, 60000);

    accept_it(f, true);
    *state = f;
    return 0;
}

static int setup_impatient(void **state)
{
    *state = begin(STR("127.0.0.1"), NULL, 100);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    shutdown(f->fd, SHUT_RDWR);
    component_free(&f->c);
    for (size_t i = 0; i < f->n_requests; i++)
        component_request_free(f->requests[i]);
    close(f->fd);
    close(f->listener);
    buf_release(&f->seen);
    pthread_cond_destroy(&f->news);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
    return 0;
}

/* ---- requests ---- */

static void test_component__hands_up_requests(void **state)
{
    struct fixture *f = *state;
    const struct stanza *items, *set;
    const struct component_request *req;

    say(f, "<iq type='get' from='a@b.test/x' to='feeds.test' id='1'><pubsub xmlns='urn:p'>"
           "<items node='n&amp;m'/><set xmlns='urn:s'><max>5</max><after/>te<x/>xt</set></pubsub>"
           "</iq>");
    wait_for(f, &f->n_requests, 1);
    req = f->requests[0];
    assert_string_equal("a@b.test/x", req->from.ptr);
    assert_string_equal("1", req->id.ptr);
    assert_false(req->is_set);
    assert_string_equal("pubsub", req->payload->name.ptr);
    items = stanza_child(req->payload, "items", "urn:p");
    assert_string_equal("n&m", stanza_attribute(items, "node").ptr);
    assert_true(str_is_null(stanza_attribute(items, "other")));
    assert_null(stanza_child(req->payload, "items", "urn:s"));
    assert_null(stanza_child(NULL, "items", NULL));
    set = stanza_child(req->payload, "set", NULL);
    assert_string_equal("urn:s", set->ns.ptr);
    assert_string_equal("text", set->text.ptr);
    assert_string_equal("5", stanza_child(set, "max", NULL)->text.ptr);
    component_answer(f->c, STR("<iq type='result' id='1' to='a@b.test/x'/>"));
    pass(f, "<iq type='result' id='1' to='a@b.test/x'/>");
}

/* What cannot be answered is dropped, and what nobody waits for does nothing. */
static void test_component__stanzas_of_any_shape(void **state)
{
    struct fixture *f = *state;

    say(f, "<iq type='get' id='1'><x xmlns='u'/></iq>"          /* from nobody */
           "<iq type='get' from='a@b.test'><x xmlns='u'/></iq>" /* without id */
           "<iq from='a@b.test' id='2'/><iq type='what' from='a@b.test' id='3'/>"
           "<iq type='result' from='a@b.test' id='fmack-1'/>"
           "<iq type='result' from='feeds.test' id='fmping-99'/>"
           "<iq type='result' from='feeds.test' id='fmping-'/>"
           "<iq type='result' from='feeds.test' id='fmping-x'/>"
           "<message/><message type='error'/><message type='error' id='x'/><presence/><other/>"
           "<message type='error' id='y' from='a@b.test'><error/></message>"
           "<iq type='set' from='a@b.test' id='last'/>");
    wait_for(f, &f->n_requests, 1);
    assert_string_equal("last", f->requests[0]->id.ptr);
    assert_true(f->requests[0]->is_set);
    assert_null(f->requests[0]->payload);
}

static void test_component__large_stanzas(void **state)
{
    struct fixture *f = *state;
    AUTO(buf_release) struct buf xml = BUF_INIT(BUF_ANY);
    const struct stanza *s;
    size_t depth = 0, n = 0;

    buf_puts(&xml, "<iq type='get' from='a@b.test' id='deep'>"); /* deeper than is kept */
    for (int i = 0; i < 500; i++)
        buf_puts(&xml, "<x xmlns='u'>");
    for (int i = 0; i < 500; i++)
        buf_puts(&xml, "</x>");
    buf_puts(&xml, "</iq><iq type='get' from='a@b.test' id='wide'><x xmlns='u'>");
    for (int i = 0; i < 5000; i++) /* wider */
        buf_puts(&xml, "<y a='1' b='2'/>");
    buf_puts(&xml, "</x></iq><iq type='get' from='a@b.test' id='");
    for (int i = 0; i < 5000; i++) /* with an id that is too long to be repeated */
        buf_putc(&xml, 'i');
    buf_puts(&xml, "'><x xmlns='u'/></iq><iq type='get' from='a@b.test' id='long'><x xmlns='u'>");
    for (int i = 0; i < 500000; i++)
        buf_putc(&xml, 't');
    buf_puts(&xml, "</x></iq>");
    say(f, xml.ptr);
    wait_for(f, &f->n_requests, 3);
    for (s = f->requests[0]->payload; s != NULL; s = s->children)
        depth++;
    assert_int_equal(depth, STANZA_DEPTH);
    for (s = f->requests[1]->payload->children; s != NULL; s = s->next)
        n++;
    assert_int_equal(n, STANZA_ELEMENTS - 2);
    assert_string_equal("long", f->requests[2]->id.ptr);
    assert_int_equal(f->requests[2]->payload->text.len, 500000);
}

/* ---- messages ---- */

static void test_component__a_message_is_delivered_when_its_server_answers(void **state)
{
    struct fixture *f = *state;
    int one, two;

    assert_true(deliver(f, "m1", PATIENCE_MS) != 0);
    one = hear_message(f, "m1");
    answer_ack(f, "evil.test", one, NULL); /* somebody else */
    answer_ack(f, "b.test", one, NULL);
    wait_for(f, &f->n_results, 1);
    assert_int_equal(f->results[0].rc, RC_OK);
    deliver(f, "m2", PATIENCE_MS); /* any answer will do */
    two = hear_message(f, "m2");
    assert_int_not_equal(one, two);
    answer_ack(f, "b.test", two, "service-unavailable");
    wait_for(f, &f->n_results, 2);
    assert_int_equal(f->results[1].rc, RC_OK);
    deliver(f, "m3", PATIENCE_MS); /* but not that of another server for it */
    answer_ack(f, "b.test", hear_message(f, "m3"), "remote-server-timeout");
    wait_for(f, &f->n_results, 3);
    assert_int_equal(f->results[2].rc, RC_PEER);
    assert_string_equal("remote-server-timeout", f->results[2].condition);
}

static void test_component__an_error_for_a_message(void **state)
{
    struct fixture *f = *state;
    int number;

    deliver(f, "m1", PATIENCE_MS);
    number = hear_message(f, "m1");
    say(f, "<message type='error' id='m1' from='a@b.test'><error type='cancel'>"
           "<gone xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/><x xmlns='urn:other'/></error>"
           "</message>");
    answer_ack(f, "b.test", number, NULL); /* comes to nothing */
    wait_for(f, &f->n_results, 1);
    assert_int_equal(f->results[0].rc, RC_PEER);
    assert_string_equal("gone", f->results[0].condition);
    deliver(f, "m2", PATIENCE_MS);
    hear_message(f, "m2");
    say(f, "<message type='error' id='m2' from='a@b.test'/>");
    wait_for(f, &f->n_results, 2);
    assert_string_equal("undefined-condition", f->results[1].condition);
}

static void test_component__no_sign_of_life(void **state)
{
    struct fixture *f = *state;
    uint64_t number;

    deliver(f, "m1", 1);
    wait_for(f, &f->n_results, 1);
    assert_int_equal(f->results[0].rc, RC_TIMEOUT);
    number = deliver(f, "m2", PATIENCE_MS);
    component_cancel(f->c, number);
    component_cancel(f->c, number);
    component_cancel(f->c, 12345);
    wait_for(f, &f->n_results, 2);
    assert_int_equal(f->results[1].rc, RC_CLOSED);
}

/* XMPP-00 */
static void test_component__connects_again(void **state)
{
    struct fixture *f = *state;

    deliver(f, "m1", PATIENCE_MS);
    hear_message(f, "m1");
    close(f->fd);
    wait_for(f, &f->n_results, 1);
    assert_int_equal(f->results[0].rc, RC_IO);
    accept_it(f, false); /* refused: and again */
    accept_it(f, false);
    accept_it(f, true);
    deliver(f, "m2", PATIENCE_MS);
    answer_ack(f, "b.test", hear_message(f, "m2"), NULL);
    wait_for(f, &f->n_results, 2);
    assert_int_equal(f->results[1].rc, RC_OK);
}

/* NODE-05: only one node is the component. A rest waits for what is under way, and ends when the
 * component is wanted again. */
static void test_component__rests(void **state)
{
    struct fixture *f = *state;
    struct pollfd p = {f->listener, POLLIN, 0};
    int number;

    deliver(f, "m1", PATIENCE_MS);
    number = hear_message(f, "m1");
    component_set_active(f->c, false);
    answer_ack(f, "b.test", number, NULL);
    wait_for(f, &f->n_results, 1);
    assert_int_equal(f->results[0].rc, RC_OK);
    say(f, "<iq type='get' from='feeds.test' to='feeds.test' id='fmping-1'/>");
    pass(f, "</stream:stream>");
    close(f->fd);
    deliver(f, "m2", PATIENCE_MS); /* nobody can take it here */
    wait_for(f, &f->n_results, 2);
    assert_int_equal(f->results[1].rc, RC_TIMEOUT);
    assert_string_equal(f->results[1].err, "another node has the connection to the XMPP server");
    assert_int_equal(0, poll(&p, 1, 0));
    component_set_active(f->c, true);
    accept_it(f, true);
    deliver(f, "m3", PATIENCE_MS);
    answer_ack(f, "b.test", hear_message(f, "m3"), NULL);
    wait_for(f, &f->n_results, 3);
    assert_int_equal(f->results[2].rc, RC_OK);
}

/* XMPP-00: a server that takes the connection and says nothing does not hold us for ever. */
static void test_component__a_server_that_says_nothing(void **state)
{
    struct fixture *f = *state;

    f->fd = accept(f->listener, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        struct pollfd again = {.fd = f->listener, .events = POLLIN};

        assert_int_equal(poll(&again, 1, PATIENCE_MS), 1);
        close(f->fd);
        f->fd = accept(f->listener, NULL, NULL);
    }
}

/* A component that is connected and waits for the answer to its first ping. */
static struct fixture *begin_pinged(int64_t silence_ms)
{
    struct fixture *f = begin(STR("127.0.0.1"), NULL, silence_ms);

    accept_it(f, true);
    say(f, "<iq type='get' from='a@b.test' id='1'><x xmlns='u'/></iq>");
    wait_for(f, &f->n_requests, 1);
    component_answer(f->c, STR("<iq type='result' id='1' to='a@b.test'/>"));
    pass(f, "fmping-1");
    return f;
}

#define PONG "<iq type='result' from='feeds.test' id='fmping-1'/>"

/* The machine was busy: what the server has sent meanwhile is read before it is called silent. An
 * answer that was on its way would be lost with the connection. */
static void test_component__a_pause_of_its_own_is_no_silence(void **state)
{
    struct fixture *f = begin_pinged(400);
    AUTO(buf_release) struct buf xml = BUF_INIT(BUF_ANY);
    struct pollfd p = {f->listener, POLLIN, 0};
    int number;

    *state = f;
    pthread_mutex_lock(&f->lock);
    f->stall_ms = 1000;
    pthread_mutex_unlock(&f->lock);
    deliver(f, "m1", 800);
    number = hear_message(f, "m1");
    buf_puts(&xml, "<iq type='get' from='a@b.test' id='2'><x xmlns='u'/></iq>"
                   "<iq type='get' from='a@b.test' id='3'><x xmlns='u'>");
    for (int i = 0; i < 10000; i++) /* more than is read at once */
        buf_putc(&xml, 't');
    buf_printf(&xml,
               "</x></iq>" PONG "<iq type='result' from='b.test' id='fmack-%d'/>"
               "<iq type='get' from='a@b.test' id='4'><x xmlns='u'/></iq>",
               number);
    say(f, xml.ptr);
    wait_for(f, &f->n_requests, 4);
    wait_for(f, &f->n_results, 1);
    assert_int_equal(f->results[0].rc, RC_OK); /* its time was not over, either */
    component_answer(f->c, STR("<iq type='result' id='4' to='a@b.test'/>"));
    pass(f, "id='4'");
    assert_int_equal(poll(&p, 1, 0), 0);
}

/* A server that has much to do answers the ping late. One that never does is left. */
static void test_component__a_server_that_is_heard_is_not_silent(void **state)
{
    struct fixture *f = begin_pinged(1000);
    int64_t pinged_ms = clock_mono_ms();
    char bytes[1024];
    ssize_t n;

    *state = f;
    do {
        send(f->fd, "<message/>", strlen("<message/>"), MSG_NOSIGNAL);
        poll(NULL, 0, 50);
        n = recv(f->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    } while (n > 0 || (n < 0 && errno == EAGAIN));
    assert_true(clock_mono_ms() - pinged_ms > 2000);
    close(f->fd);
    accept_it(f, true);
}

/* XMPP-00: by a name, of whose addresses the first may be one where nobody listens */
static void test_component__a_name(void **state)
{
    struct fixture *f = begin(STR("localhost"), NULL, 60000);

    *state = f;
    accept_it(f, true);
    deliver(f, "m1", PATIENCE_MS);
    hear_message(f, "m1");
}

/* XMPP-00: a stop does not wait for name servers that say nothing */
static void test_component__stop_while_the_name_is_looked_up(void **state)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    struct pollfd p = {.fd = socket(AF_INET, SOCK_DGRAM, 0), .events = POLLIN};
    char dns[64];
    int64_t began;

    assert_int_equal(bind(p.fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(getsockname(p.fd, (struct sockaddr *)&addr, &len), 0);
    snprintf(dns, sizeof dns, "127.0.0.1:%d", ntohs(addr.sin_port));
    *state = begin(STR("xmpp.example"), dns, 60000);
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1); /* it asks */
    began = clock_mono_ms();
    component_stop(((struct fixture *)*state)->c, 2 * PATIENCE_MS);
    assert_true(clock_mono_ms() - began < PATIENCE_MS); /* half of what it could wait for */
    close(p.fd);
}

static void test_component__without_a_connection(void **state)
{
    struct fixture *f = *state;

    close(f->listener);
    shutdown(f->fd, SHUT_RDWR);
    deliver(f, "m1", PATIENCE_MS);
    component_answer(f->c, STR("<iq/>")); /* to nobody */
    wait_for(f, &f->n_results, 1);
    assert_true(f->results[0].rc == RC_TIMEOUT || f->results[0].rc == RC_IO);
    f->listener = -1;
}

static void test_component__stop(void **state)
{
    struct fixture *f = *state;

    deliver(f, "m1", PATIENCE_MS);
    hear_message(f, "m1");
    component_stop(f->c, 50);
    assert_int_equal(f->n_results, 1);
    assert_int_equal(f->results[0].rc, RC_CLOSED);
    assert_int_equal(deliver(f, "m2", PATIENCE_MS), 0);
    component_answer(f->c, STR("<iq/>"));
    component_cancel(f->c, 1);
    pass(f, "</stream:stream>");
}

/* What our own server has not confirmed is bounded. */
static void test_component__window(void **state)
{
    struct fixture *f = *state;
    AUTO(buf_release) struct buf big = BUF_INIT(BUF_ANY);

    for (int i = 0; i < 300000; i++)
        buf_putc(&big, 'x');
    for (int i = 0; i < 6; i++) {
        AUTO(buf_release) struct buf xml = BUF_INIT(BUF_ANY);

        buf_printf(&xml, "<iq id='a%d'>%s</iq>", i, big.ptr);
        component_answer(f->c, buf_view(&xml));
    }
    pass(f, "<iq id='a2'>"); /* three of 300 KB are within a MiB */
    pass(f, "</iq>");
    for (size_t i = 1; i < 4; i++) { /* it goes on working, but sends no more */
        say(f, "<iq type='get' from='a@b.test' id='1'/>");
        wait_for(f, &f->n_requests, i);
    }
    for (char byte; recv(f->fd, &byte, 1, MSG_DONTWAIT) == 1;)
        buf_putc(&f->seen, byte);
    assert_int_equal(str_find(buf_view(&f->seen), STR("<iq id='a3'>")), -1);
    say(f, "<iq type='get' from='feeds.test' to='feeds.test' id='fmping-1'/>");
    pass(f, "<iq id='a3'>");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(test_component__##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(hands_up_requests),
        T(stanzas_of_any_shape),
        T(large_stanzas),
        T(a_message_is_delivered_when_its_server_answers),
        T(an_error_for_a_message),
        T(no_sign_of_life),
        T(connects_again),
        T(rests),
        T(without_a_connection),
        T(stop),
        T(window),
        cmocka_unit_test_teardown(test_component__a_name, teardown),
        cmocka_unit_test_teardown(test_component__stop_while_the_name_is_looked_up, teardown),
        cmocka_unit_test_teardown(test_component__a_pause_of_its_own_is_no_silence, teardown),
        cmocka_unit_test_teardown(test_component__a_server_that_is_heard_is_not_silent, teardown),
        cmocka_unit_test_setup_teardown(test_component__a_server_that_says_nothing, setup_impatient,
                                        teardown),
    };

    signal(SIGPIPE, SIG_IGN);  /* as the daemon does; libstrophe needs it */
    http_client_global_init(); /* name look-ups need it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
