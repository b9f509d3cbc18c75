/* base/blob.c - counted immutable bytes. */
#include "base/blob.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/mem.h"

struct blob {
    _Atomic unsigned holders;
    size_t len;
    char *bytes;
};

struct blob *blob_new(char *bytes, size_t len)
{
    struct blob *b = NEW(struct blob);

    ASSERT(bytes != NULL);
    atomic_init(&b->holders, 1);
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

struct str blob_bytes(const struct blob *b)
{
    return b == NULL ? STR("") : str_of(b->bytes, b->len);
}
