/* net/broker_tls.c - a connection by TLS.
 *
 * librabbitmq would make the connection itself, and nobody could end the wait for it. So it
 * connects to a listener of ours, which takes no time, and when the handshake begins, our own
 * connection to the broker gets the number of that socket. OpenSSL must be told the broker's name:
 * for the certificate by its parameters, and for the server (SNI) at the same moment, because the
 * library names the listener there. */
#include <amqp_ssl_socket.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/broker_channels.h"

struct hand_over {
    const char *name; /* NULL: an address */
    int fd;           /* our connection */
    bool is_done;     /* the library has it */
};

static void on_ssl(const SSL *ssl, int where, int ret UNUSED)
{
    struct hand_over *h = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    if (where != SSL_CB_HANDSHAKE_START || h == NULL)
        return;
    SSL_set_tlsext_host_name((SSL *)(uintptr_t)ssl, h->name);
    h->is_done = h->is_done || dup3(h->fd, SSL_get_fd(ssl), O_CLOEXEC) >= 0;
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

/* Returns a listener on loopback, and its port; -1: there is none. */
static int listen_for(int *port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0 && listen(fd, 1) == 0 &&
        getsockname(fd, (struct sockaddr *)&addr, &len) == 0) {
        *port = ntohs(addr.sin_port);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
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

bool broker_tls_open(amqp_connection_state_t conn, const char *host, int fd,
                     struct timeval *timeout, char why[BROKER_WHY])
{
    struct hand_over h = {.name = is_address(host) ? NULL : host, .fd = fd};
    amqp_socket_t *socket = amqp_ssl_socket_new(conn);
    int port, listener, status;
    SSL_CTX *tls;

    ASSERT(socket != NULL);
    tls = amqp_ssl_socket_get_context(socket);
    amqp_ssl_socket_set_verify_peer(socket, true);
    amqp_ssl_socket_set_verify_hostname(socket, false); /* it would compare the listener's */
    amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
    if (!verify_for(tls, host, h.name == NULL)) {
        snprintf(why, BROKER_WHY, "TLS cannot be used: the system's authorities are not there");
        return false;
    }
    listener = listen_for(&port);
    if (listener < 0) {
        snprintf(why, BROKER_WHY, "TLS cannot be used: %s", strerror(errno));
        return false;
    }
    SSL_CTX_set_app_data(tls, &h);
    SSL_CTX_set_info_callback(tls, on_ssl);
    ERR_clear_error();
    status = amqp_socket_open_noblock(socket, "127.0.0.1", port, timeout);
    SSL_CTX_set_info_callback(tls, NULL);
    SSL_CTX_set_app_data(tls, NULL);
    close(listener);
    if (status == AMQP_STATUS_OK && h.is_done)
        return true;
    failure(status, why);
    return false;
}
