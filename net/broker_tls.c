/* net/broker_tls.c - a connection by TLS.
 *
 * librabbitmq would resolve the name itself, so it gets the address. OpenSSL then must be told the
 * name: for the certificate by its parameters, and for the server (SNI) when the handshake begins,
 * because the library names the address there. */
#include <amqp_ssl_socket.h>
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "base/assert.h"
#include "net/broker_channels.h"

struct hand_over {
    const char *name; /* NULL: an address */
    void (*begins)(void *ctx, int fd);
    void *ctx;
};

static void on_ssl(const SSL *ssl, int where, int ret UNUSED)
{
    struct hand_over *h = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    if (where != SSL_CB_HANDSHAKE_START || h == NULL)
        return;
    SSL_set_tlsext_host_name((SSL *)(uintptr_t)ssl, h->name);
    h->begins(h->ctx, SSL_get_fd(ssl));
}

static bool verify_for(SSL_CTX *ctx, const char *host, bool is_address)
{
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);

    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_default_verify_paths(ctx) != 1)
        return false;
    if (is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1;
}

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static void failure(int status, char why[BROKER_WHY])
{
    unsigned long code = ERR_peek_last_error();

    if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        snprintf(why, BROKER_WHY,
                 "the broker's certificate is not for this host, or no authority of this system "
                 "has signed it");
    else
        snprintf(why, BROKER_WHY, "the broker cannot be reached by TLS: %s",
                 amqp_error_string2(status));
}

bool broker_tls_open(amqp_connection_state_t conn, const char *host, const union address *addr,
                     struct timeval *timeout, void (*begins)(void *ctx, int fd), void *ctx,
                     char why[BROKER_WHY])
{
    struct hand_over h = {is_address(host) ? NULL : host, begins, ctx};
    amqp_socket_t *socket = amqp_ssl_socket_new(conn);
    char text[INET6_ADDRSTRLEN];
    SSL_CTX *tls;
    int status, port;

    ASSERT(socket != NULL);
    tls = amqp_ssl_socket_get_context(socket);
    amqp_ssl_socket_set_verify_peer(socket, true);
    amqp_ssl_socket_set_verify_hostname(socket, false); /* it would compare the address */
    amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
    if (!verify_for(tls, host, h.name == NULL)) {
        snprintf(why, BROKER_WHY, "TLS cannot be used: the system's authorities are not there");
        return false;
    }
    SSL_CTX_set_app_data(tls, &h);
    SSL_CTX_set_info_callback(tls, on_ssl);
    if (addr->sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &addr->v4.sin_addr, text, sizeof text);
        port = ntohs(addr->v4.sin_port);
    } else {
        inet_ntop(AF_INET6, &addr->v6.sin6_addr, text, sizeof text);
        port = ntohs(addr->v6.sin6_port);
    }
    ERR_clear_error();
    status = amqp_socket_open_noblock(socket, text, port, timeout);
    SSL_CTX_set_info_callback(tls, NULL);
    SSL_CTX_set_app_data(tls, NULL);
    if (status == AMQP_STATUS_OK)
        return true;
    failure(status, why);
    return false;
}
