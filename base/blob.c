/* base/blob.c - counted immutable bytes. */
#include "base/blob.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/mem.h"

struct blob {
    _Atomic unsigned holders;
    _Atomic unsigned senders; /* holders that are sending it now */
    size_t len;
    char *bytes;
};

struct blob *blob_new(char *bytes, size_t len)
{
    struct blob *b = NEW(struct blob);

    ASSERT(bytes != NULL);
    atomic_init(&b->holders, 1);
    atomic_init(&b->senders, 0);
    b->bytes = bytes;
    b->len = len;
    return b;
}

struct blob *blob_copy(struct str s)
{
    return blob_new(mem_strndup(s.ptr, s.len), s.len);
}

struct blob *blob_ref(struct blob *b)
{
    if (b != NULL)
        atomic_fetch_add_explicit(&b->holders, 1, memory_order_relaxed);
    return b;
}

void blob_unref(struct blob **bp)
{
    struct blob *b = *bp;

    *bp = NULL;
    if (b == NULL || atomic_fetch_sub_explicit(&b->holders, 1, memory_order_acq_rel) != 1)
        return;
    mem_free(b->bytes);
    mem_free(b);
}

size_t blob_send_begin(struct blob *b)
{
    return atomic_fetch_add(&b->senders, 1) == 0 ? b->len : 0;
}

size_t blob_send_end(struct blob *b)
{
    return atomic_fetch_sub(&b->senders, 1) == 1 ? b->len : 0;
}

struct str blob_bytes(const struct blob *b)
{
    return b == NULL ? STR("") : str_of(b->bytes, b->len);
}
