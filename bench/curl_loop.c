/* bench/curl_loop.c - see curl_loop.h. */
#include "curl_loop.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

static size_t on_body(char *bytes UNUSED, size_t size, size_t n, void *ctx)
{
    *(size_t *)ctx += size * n;
    return size * n;
}

/* Give the handle its next transfer. False: there are no more. */
static bool start(struct curl_loop *l, CURLM *multi, CURL *easy)
{
    const char *url = l->next_url(l->ctx);

    if (url == NULL)
        return false;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_multi_add_handle(multi, easy);
    return true;
}

static CURL *handle_new(struct curl_loop *l, struct curl_slist *fields)
{
    CURL *easy = curl_easy_init();

    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &l->bytes);
    if (!str_is_null(l->body)) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, l->body.ptr);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)l->body.len);
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
    return easy;
}

size_t curl_loop_run(struct curl_loop *l)
{
    struct curl_slist *fields = curl_slist_append(NULL, "Expect:");
    long wanted = l->status == 0 ? 200 : l->status;
    CURLM *multi = curl_multi_init();
    size_t n = 0, open = 0;
    int running, left;

    for (size_t i = 0; l->lines != NULL && l->lines[i] != NULL; i++)
        fields = curl_slist_append(fields, l->lines[i]);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)l->connections);
    for (size_t i = 0; i < l->at_once; i++) {
        CURL *easy = handle_new(l, fields);

        if (start(l, multi, easy))
            open++;
        else
            curl_easy_cleanup(easy);
    }
    while (open > 0) {
        CURLMsg *message;

        curl_multi_perform(multi, &running);
        while ((message = curl_multi_info_read(multi, &left)) != NULL) {
            CURL *easy = message->easy_handle;
            long status = 0;

            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result != CURLE_OK || status != wanted) {
                fprintf(stderr, "curl: %s, status %ld\n", curl_easy_strerror(message->data.result),
                        status);
                exit(1);
            }
            n++;
            curl_multi_remove_handle(multi, easy);
            if (!start(l, multi, easy)) {
                curl_easy_cleanup(easy);
                open--;
            }
        }
        if (open > 0)
            curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    curl_multi_cleanup(multi);
    curl_slist_free_all(fields);
    return n;
}
