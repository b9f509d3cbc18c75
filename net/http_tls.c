/* net/http_tls.c - see http_tls.h. libcurl's texts are those of OpenSSL, which name the step that
 * failed and not what the operator can do. */
#include "net/http_tls.h"

#include <openssl/x509_vfy.h>
#include <string.h>

#include "base/compiler.h"

bool http_tls_is(CURLcode code)
{
    return code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
           code == CURLE_SSL_CIPHER || code == CURLE_SSL_CACERT_BADFILE;
}

static const char *of_certificate(long result)
{
    static const struct {
        long result;
        const char *text;
    } known[] = {
        {X509_V_ERR_CERT_HAS_EXPIRED, "its certificate has expired"},
        {X509_V_ERR_CERT_NOT_YET_VALID, "its certificate is not valid yet"},
        {X509_V_ERR_CERT_REVOKED, "its certificate was revoked"},
        {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
         "its certificate is signed by itself, not by an authority that is known here"},
        {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
         "its certificate is signed by an authority that is unknown here"},
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
         "its certificate is signed by an authority that is unknown here"},
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
         "its certificate is signed by an authority that is unknown here, or it does not send the "
         "certificates in between"},
        {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
         "its certificate is signed by an authority that is unknown here, or it does not send the "
         "certificates in between"},
        /* libcurl compares the name before it asks for the result of the chain, which is good then */
        {X509_V_ERR_UNSPECIFIED, "its certificate is for another name"},
        {X509_V_OK, "its certificate is for another name"},
        {X509_V_ERR_INVALID_PURPOSE, "its certificate is not one for servers"},
        {X509_V_ERR_INVALID_CA, "its certificate is signed by one that may not sign certificates"},
        {X509_V_ERR_EE_KEY_TOO_SMALL, "the key of its certificate is too short to be safe"},
        {X509_V_ERR_CA_KEY_TOO_SMALL,
         "its certificate is signed with a key that is too short to be safe"},
        {X509_V_ERR_CA_MD_TOO_WEAK, "its certificate is signed by a method that is not safe any more"},
        {X509_V_ERR_HOSTNAME_MISMATCH, "its certificate is for another name"},
        {X509_V_ERR_IP_ADDRESS_MISMATCH, "its certificate is for another name"},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].result == result)
            return known[i].text;
    return NULL;
}

/* What OpenSSL's words for a handshake that fails mean. */
static const char *of_handshake(const char *detail)
{
    static const struct {
        const char *words, *text;
    } known[] = {
        {"wrong version number", "it does not speak TLS at this port; the URL may have to begin with http:"},
        {"legacy sigalg", "it speaks only versions of TLS before 1.2, which are not safe"},
        {"unsupported protocol", "it speaks only versions of TLS before 1.2, which are not safe"},
        {"alert protocol version", "it refuses the versions of TLS that are known here, 1.2 and 1.3"},
        {"certificate required", "it asks for a certificate of the client, and there is none"},
        {"alert handshake failure", "it refuses the handshake; it may ask for a certificate of the client, or for "
                                    "ciphers that are not safe"},
        {"dh key too small", "its key for the handshake is too short to be safe"},
        {"unrecognized name", "it has no site of this name"},
        {"alert internal error", "it failed itself in the TLS handshake; it may have no site of this name"},
        {"unexpected eof", "it closed the connection in the middle of the TLS handshake"},
        {"SSL_ERROR_SYSCALL", "it closed the connection in the middle of the TLS handshake"},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strstr(detail, known[i].words) != NULL)
            return known[i].text;
    return NULL;
}

const char *http_tls_why(CURL *easy, CURLcode code, const char *detail)
{
    const char *text = NULL;
    long result = X509_V_OK;

    if (code == CURLE_PEER_FAILED_VERIFICATION &&
        curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result) == CURLE_OK)
        text = of_certificate(result);
    else if (code == CURLE_SSL_CONNECT_ERROR)
        text = of_handshake(detail);
    return text != NULL ? text : detail;
}

const char *http_tls_broke(const char *detail)
{
    const char *text = of_handshake(detail);

    /* the peer had left before the request was sent, or before libcurl looked for its address */
    if (text == NULL && (strstr(detail, "Send failure") != NULL || strstr(detail, "getpeername") != NULL))
        text = "it was closed before the request was read; a server that asks for a certificate of the client does so";
    return text != NULL ? text : detail;
}
