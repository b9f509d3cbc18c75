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
        {X509_V_ERR_HOSTNAME_MISMATCH, "its certificate is for another name"},
        {X509_V_ERR_IP_ADDRESS_MISMATCH, "its certificate is for another name"},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (known[i].result == result)
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
    else if (code == CURLE_SSL_CONNECT_ERROR && strstr(detail, "wrong version number") != NULL)
        text = "it does not speak TLS at this port; the URL may have to begin with http:";
    return text != NULL ? text : detail;
}
