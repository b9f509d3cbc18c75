/* net/xmlrpc.c - values, calls and answers by xmlrpc-c; their text is mapped by net/xmlrpc_shim.
 *
 * Only the values, the writer and the parser of the library are used. Its reference counts are not
 * safe across threads, so each value is freed by the function that made it. Methods are looked up
 * in our own table, because the library's registry would also offer system.multicall and
 * system.shutdown. */
#include "net/xmlrpc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmlrpc-c/base.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/xmlrpc_shim.h"

#define DEPTH_MAX 64     /* of values within values; the library's parser has the same limit */
#define MEMBERS_MAX 4096 /* of one incoming struct; the library looks at one after the other */
#define NAME_MAX_LEN 255 /* of a method */
#define GROWTH_MAX 5     /* times longer: `>` becomes "&gt;" in the shim */

/* The library exports this function, but none of its installed headers declares it. */
extern void xmlrpc_strfree(const char *string);

void rpc_init(void)
{
    xmlrpc_env env;

    xmlrpc_env_init(&env);
    xmlrpc_init(&env);
    ASSERT(!env.fault_occurred);
    xmlrpc_env_clean(&env);
    xmlrpc_limit_set(XMLRPC_XML_SIZE_LIMIT_ID, GROWTH_MAX * 2 * LIMIT_RPC_BODY);
    xmlrpc_limit_set(XMLRPC_NESTING_LIMIT_ID, DEPTH_MAX);
}

/* Set *err to the library's error. */
static enum rc env_error(const xmlrpc_env *env, struct err *err)
{
    return err_set(err, env->fault_code == XMLRPC_LIMIT_EXCEEDED_ERROR ? RC_LIMIT : RC_INPUT, "%s",
                   env->fault_string);
}

/* ---- outgoing values ---- */

struct writer {
    xmlrpc_env env;
    struct arena arena; /* mapped texts */
    int depth;
};

static xmlrpc_value *write_text(struct writer *w, struct str s)
{
    s = shim_text(&w->arena, s);
    return xmlrpc_string_new_lp(&w->env, s.len, s.ptr ? s.ptr : "");
}

static xmlrpc_value *write_value(struct writer *w, const struct value *v);

static xmlrpc_value *write_list(struct writer *w, const struct value *v)
{
    xmlrpc_value *list = xmlrpc_array_new(&w->env);

    for (size_t i = 0; i < v->len && !w->env.fault_occurred; i++) {
        xmlrpc_value *item = write_value(w, v->items[i]);

        if (item == NULL)
            break;
        xmlrpc_array_append_item(&w->env, list, item);
        xmlrpc_DECREF(item);
    }
    return list;
}

static xmlrpc_value *write_dict(struct writer *w, const struct value *v)
{
    xmlrpc_value *dict = xmlrpc_struct_new(&w->env);

    for (size_t i = 0; i < v->len && !w->env.fault_occurred; i++) {
        const struct value_member *m = &v->members[i];
        xmlrpc_value *key, *item;

        if (m->val == NULL || m->val->kind == VAL_NULL)
            continue; /* XML-RPC has no null (D51) */
        item = write_value(w, m->val);
        if (item == NULL)
            break;
        key = write_text(w, m->key);
        if (key != NULL) {
            xmlrpc_struct_set_value_v(&w->env, dict, key, item);
            xmlrpc_DECREF(key);
        }
        xmlrpc_DECREF(item);
    }
    return dict;
}

/* The value for the library. NULL: it cannot be made, and the fault is in the environment. A null
 * element of a list becomes an empty string, so that the elements after it keep their indexes. */
static xmlrpc_value *write_value(struct writer *w, const struct value *v)
{
    xmlrpc_value *x;
    char text[40];

    switch (v == NULL ? VAL_NULL : v->kind) {
    case VAL_NULL:
        return write_text(w, STR(""));
    case VAL_BOOL:
        return xmlrpc_bool_new(&w->env, v->b);
    case VAL_INT:
        if (v->i >= XMLRPC_INT32_MIN && v->i <= XMLRPC_INT32_MAX)
            return xmlrpc_int_new(&w->env, (int)v->i);
        snprintf(text, sizeof text, "%" PRId64, v->i);
        return write_text(w, str_from(text));
    case VAL_REAL:
        if (isfinite(v->d))
            return xmlrpc_double_new(&w->env, v->d);
        return write_text(w, isnan(v->d) ? STR("NaN") : v->d < 0 ? STR("-INF") : STR("INF"));
    case VAL_TEXT:
        return write_text(w, v->s);
    case VAL_LIST:
    case VAL_DICT:
        break;
    }
    if (w->depth >= DEPTH_MAX) {
        xmlrpc_env_set_fault_formatted(&w->env, XMLRPC_LIMIT_EXCEEDED_ERROR,
                                       "values are nested more than %d deep", DEPTH_MAX);
        return NULL;
    }
    w->depth++;
    x = v->kind == VAL_LIST ? write_list(w, v) : write_dict(w, v);
    w->depth--;
    if (w->env.fault_occurred && x != NULL) {
        xmlrpc_DECREF(x);
        x = NULL;
    }
    return x;
}

static void writer_init(struct writer *w)
{
    *w = (struct writer){.arena = ARENA_INIT};
    xmlrpc_env_init(&w->env);
}

static void writer_release(struct writer *w)
{
    xmlrpc_env_clean(&w->env);
    arena_release(&w->arena);
}

/* Append what the library wrote, with <int> in place of <i4>. Both are the same type, and receivers
 * have <int> in their signatures. A '<' in a text is always escaped, so only tags are replaced. */
static void put_document(struct buf *out, struct str s)
{
    const struct str i4 = STR("i4>");
    size_t from = 0;

    for (;;) {
        struct str rest = str_slice(s, from, s.len);
        ssize_t at = str_find(rest, i4);

        if (at < 1) {
            unshim_document(out, rest);
            return;
        }
        unshim_document(out, str_slice(rest, 0, (size_t)at));
        buf_puts(out, rest.ptr[at - 1] == '<' || rest.ptr[at - 1] == '/' ? "int>" : "i4>");
        from += (size_t)at + i4.len;
    }
}

/* Append what the library wrote; RC_LIMIT when it does not fit. */
static enum rc writer_emit(struct writer *w, xmlrpc_mem_block *block, struct buf *out,
                           struct err *err)
{
    if (w->env.fault_occurred)
        return env_error(&w->env, err);
    put_document(out,
                 str_of(XMLRPC_MEMBLOCK_CONTENTS(char, block), XMLRPC_MEMBLOCK_SIZE(char, block)));
    if (!buf_ok(out))
        return err_set(err, RC_LIMIT, "the XML-RPC message is longer than %zu bytes", out->max);
    return RC_OK;
}

bool rpc_is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            (c == '\0' || strchr("_.:/", c) == NULL))
            return false;
    }
    return s.len > 0 && s.len <= NAME_MAX_LEN;
}

enum rc rpc_write_call(struct buf *out, struct str method, const struct value *const *params,
                       size_t n_params, struct err *err)
{
    struct writer w;
    xmlrpc_mem_block block;
    xmlrpc_value *list;
    enum rc rc;

    writer_init(&w);
    XMLRPC_MEMBLOCK_INIT(char, &w.env, &block, 0);
    list = xmlrpc_array_new(&w.env);
    for (size_t i = 0; i < n_params && !w.env.fault_occurred; i++) {
        xmlrpc_value *item = write_value(&w, params[i]);

        if (item == NULL)
            break;
        xmlrpc_array_append_item(&w.env, list, item);
        xmlrpc_DECREF(item);
    }
    if (!w.env.fault_occurred)
        xmlrpc_serialize_call2(&w.env, &block, str_z(&w.arena, shim_text(&w.arena, method)), list,
                               xmlrpc_dialect_i8);
    if (list != NULL)
        xmlrpc_DECREF(list);
    rc = writer_emit(&w, &block, out, err);
    XMLRPC_MEMBLOCK_CLEAN(char, &block);
    writer_release(&w);
    return rc;
}

/* ---- incoming values ---- */

struct rpc_reader {
    xmlrpc_env env;
    struct arena *a;
};

/* A string as the library has it, still mapped. */
static struct str read_mapped(struct rpc_reader *r, xmlrpc_value *x)
{
    const char *p = NULL;
    size_t n = 0;
    struct str s;

    xmlrpc_read_string_lp(&r->env, x, &n, &p);
    if (r->env.fault_occurred)
        return STR("");
    s = str_dup(r->a, str_of(p, n));
    free((char *)p);
    return s;
}

/* A <base64> as text. Bytes that are not UTF-8, or not characters of XML, are treated as in
 * strings. */
static struct str read_base64(struct rpc_reader *r, xmlrpc_value *x)
{
    const unsigned char *p = NULL;
    size_t n = 0;
    struct str s;

    xmlrpc_read_base64(&r->env, x, &n, &p);
    if (r->env.fault_occurred)
        return STR("");
    s = str_dup(r->a, str_of((const char *)p, n));
    free((unsigned char *)p);
    return unshim_text(r->a, shim_text(r->a, s));
}

static struct str read_datetime(struct rpc_reader *r, xmlrpc_value *x)
{
    xmlrpc_datetime t = {0};

    xmlrpc_read_datetime(&r->env, x, &t);
    return str_printf(r->a, "%04u%02u%02uT%02u:%02u:%02u", t.Y, t.M, t.D, t.h, t.m, t.s);
}

/* A string, or the number that the shim has put into a string (SHIM_I8). */
static struct value *read_text(struct rpc_reader *r, xmlrpc_value *x)
{
    struct str s = read_mapped(r, x);
    int64_t i = 0;

    if (!str_starts(s, SHIM_I8))
        return value_text(r->a, unshim_text(r->a, s));
    s = str_trim(str_slice(s, SHIM_I8.len, s.len));
    if (!str_to_i64(s, &i))
        xmlrpc_env_set_fault(&r->env, XMLRPC_PARSE_ERROR, "an <i8> is not a 64-bit number");
    return value_int(r->a, i);
}

static struct value *read_value(struct rpc_reader *r, xmlrpc_value *x);

static struct value *read_list(struct rpc_reader *r, xmlrpc_value *x)
{
    struct value *list = value_list(r->a);
    int n = xmlrpc_array_size(&r->env, x);

    for (int i = 0; i < n && !r->env.fault_occurred; i++) {
        xmlrpc_value *item = NULL;

        xmlrpc_array_read_item(&r->env, x, (unsigned)i, &item);
        if (r->env.fault_occurred)
            break;
        value_push(r->a, list, read_value(r, item));
        xmlrpc_DECREF(item);
    }
    return list;
}

static struct value *read_dict(struct rpc_reader *r, xmlrpc_value *x)
{
    struct value *dict = value_dict(r->a);
    int n = xmlrpc_struct_size(&r->env, x);

    if (n > MEMBERS_MAX)
        xmlrpc_env_set_fault_formatted(&r->env, XMLRPC_LIMIT_EXCEEDED_ERROR,
                                       "a struct of %d members; the limit is %d", n, MEMBERS_MAX);
    for (int i = 0; i < n && !r->env.fault_occurred; i++) {
        xmlrpc_value *key = NULL, *item = NULL;

        xmlrpc_struct_read_member(&r->env, x, (unsigned)i, &key, &item);
        if (r->env.fault_occurred)
            break;
        value_set(r->a, dict, unshim_text(r->a, read_mapped(r, key)), read_value(r, item));
        xmlrpc_DECREF(key);
        xmlrpc_DECREF(item);
    }
    return dict;
}

/* Read a value of the library. Never NULL; check the environment's fault at the end. */
static struct value *read_value(struct rpc_reader *r, xmlrpc_value *x)
{
    xmlrpc_bool flag = 0;
    double real = 0;
    int small = 0;

    switch (xmlrpc_value_type(x)) {
    case XMLRPC_TYPE_INT:
        xmlrpc_read_int(&r->env, x, &small);
        return value_int(r->a, small);
    case XMLRPC_TYPE_BOOL:
        xmlrpc_read_bool(&r->env, x, &flag);
        return value_bool(r->a, flag != 0);
    case XMLRPC_TYPE_DOUBLE:
        xmlrpc_read_double(&r->env, x, &real);
        return value_real(r->a, real);
    case XMLRPC_TYPE_DATETIME:
        return value_text(r->a, read_datetime(r, x));
    case XMLRPC_TYPE_STRING:
        return read_text(r, x);
    case XMLRPC_TYPE_BASE64:
        return value_text(r->a, read_base64(r, x));
    case XMLRPC_TYPE_ARRAY:
        return read_list(r, x);
    case XMLRPC_TYPE_STRUCT:
        return read_dict(r, x);
    default: /* nil; the shim does not let other types pass */
        return value_null(r->a);
    }
}

enum rpc_answer rpc_read_answer(struct arena *a, struct str body, struct value **result,
                                int *fault_code, struct str *fault_text)
{
    struct rpc_reader r = {.a = a};
    enum rpc_answer answer = RPC_GARBAGE;
    xmlrpc_value *x = NULL;
    const char *fault = NULL;
    struct value *v;
    struct str xml;
    int code = 0;

    if (shim_document(a, body, STR_NULL, 2 * LIMIT_RPC_BODY, &xml, NULL) != RC_OK)
        return RPC_GARBAGE;
    xmlrpc_env_init(&r.env);
    xmlrpc_parse_response2(&r.env, xml.ptr, xml.len, &x, &code, &fault);
    if (!r.env.fault_occurred && fault != NULL) {
        *fault_code = code;
        *fault_text = str_dup(a, unshim_text(a, str_from(fault)));
        xmlrpc_strfree(fault);
        answer = RPC_FAULT;
    } else if (!r.env.fault_occurred) {
        v = read_value(&r, x);
        xmlrpc_DECREF(x);
        if (!r.env.fault_occurred) {
            *result = v;
            answer = RPC_RESULT;
        }
    }
    xmlrpc_env_clean(&r.env);
    return answer;
}

/* ---- the server side ---- */

struct rpc_server {
    const struct rpc_method *methods; /* in the order given, for system.listMethods */
    size_t n;
    void *ctx;
};

static enum rc on_list_methods(void *ctx, struct arena *a, const struct value *params,
                               struct value **result, struct err *err);
static enum rc on_method_help(void *ctx, struct arena *a, const struct value *params,
                              struct value **result, struct err *err);

static const struct rpc_method system_methods[] = {
    {"system.listMethods", "Names of all methods.", on_list_methods, false},
    {"system.methodHelp", "What a method does: name.", on_method_help, false},
};

struct rpc_server *rpc_server_new(const struct rpc_method *methods, size_t n, void *ctx)
{
    struct rpc_server *s = NEW(struct rpc_server);

    s->methods = methods;
    s->n = n;
    s->ctx = ctx;
    return s;
}

void rpc_server_free(struct rpc_server **sp)
{
    mem_free(*sp);
    *sp = NULL;
}

/* The method of this name, and its context; NULL: there is no such method. */
static const struct rpc_method *find_method(struct rpc_server *s, struct str name, void **ctx)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eqz(name, s->methods[i].name)) {
            *ctx = s->ctx;
            return &s->methods[i];
        }
    for (size_t i = 0; i < ARRAY_LEN(system_methods); i++)
        if (str_eqz(name, system_methods[i].name)) {
            *ctx = s;
            return &system_methods[i];
        }
    return NULL;
}

static enum rc on_list_methods(void *ctx, struct arena *a, const struct value *params,
                               struct value **result, struct err *err)
{
    struct rpc_server *s = ctx;

    if (value_len(params) > 0)
        return err_set(err, RC_INPUT, "system.listMethods takes no parameter");
    *result = value_list(a);
    for (size_t i = 0; i < s->n; i++)
        value_push(a, *result, value_text(a, str_from(s->methods[i].name)));
    for (size_t i = 0; i < ARRAY_LEN(system_methods); i++)
        value_push(a, *result, value_text(a, str_from(system_methods[i].name)));
    return RC_OK;
}

static enum rc on_method_help(void *ctx, struct arena *a, const struct value *params,
                              struct value **result, struct err *err)
{
    const struct value *name = value_at(params, 0);
    const struct rpc_method *m;
    void *unused;

    if (value_len(params) != 1 || name->kind != VAL_TEXT)
        return err_set(err, RC_INPUT, "system.methodHelp takes the name of a method");
    m = find_method(ctx, name->s, &unused);
    if (m == NULL)
        return err_set(err, RC_NOT_FOUND, "there is no method \"%.*s\"",
                       STR_ARG(str_slice(name->s, 0, 100)));
    *result = value_text(a, str_from(m->help ? m->help : ""));
    return RC_OK;
}

/* The fault codes that xmlrpc-c's own servers use. */
static int fault_code_of(enum rc rc)
{
    switch (rc) {
    case RC_INPUT:
    case RC_UNSUPPORTED:
        return XMLRPC_TYPE_ERROR;
    case RC_NOT_FOUND:
        return XMLRPC_INDEX_ERROR;
    case RC_TIMEOUT:
        return XMLRPC_TIMEOUT_ERROR;
    case RC_PEER:
        return XMLRPC_NETWORK_ERROR;
    case RC_DENIED:
        return XMLRPC_REQUEST_REFUSED_ERROR;
    case RC_LIMIT:
        return XMLRPC_LIMIT_EXCEEDED_ERROR;
    default:
        return XMLRPC_INTERNAL_ERROR;
    }
}

/* Write a methodResponse with the value `v`; if that is NULL, with the library's value `raw`. */
static enum rc write_answer(struct buf *out, const struct value *v, xmlrpc_value *raw,
                            struct err *err)
{
    struct writer w;
    xmlrpc_mem_block block;
    xmlrpc_value *x = raw;
    enum rc rc;

    writer_init(&w);
    XMLRPC_MEMBLOCK_INIT(char, &w.env, &block, 0);
    if (v != NULL)
        x = write_value(&w, v);
    if (x != NULL)
        xmlrpc_serialize_response2(&w.env, &block, x, xmlrpc_dialect_i8);
    if (v != NULL && x != NULL)
        xmlrpc_DECREF(x);
    rc = writer_emit(&w, &block, out, err);
    XMLRPC_MEMBLOCK_CLEAN(char, &block);
    writer_release(&w);
    return rc;
}

static void write_fault(struct buf *out, int code, const char *text)
{
    struct writer w;
    xmlrpc_mem_block block;
    xmlrpc_env fault;

    writer_init(&w);
    xmlrpc_env_init(&fault);
    XMLRPC_MEMBLOCK_INIT(char, &w.env, &block, 0);
    xmlrpc_env_set_fault(&fault, code, str_z(&w.arena, shim_text(&w.arena, str_from(text))));
    xmlrpc_serialize_fault(&w.env, &block, &fault);
    (void)writer_emit(&w, &block, out, NULL); /* if it does not fit, there is nothing to send */
    XMLRPC_MEMBLOCK_CLEAN(char, &block);
    xmlrpc_env_clean(&fault);
    writer_release(&w);
}

/* Read the method name and the parameters of a call. *raw has the parameters as values of the
 * library; the caller releases it, unless it is NULL. */
static enum rc read_call(struct arena *a, struct str body, struct str content_type,
                         struct str *method, struct value **params, xmlrpc_value **raw,
                         struct err *err)
{
    struct rpc_reader r = {.a = a};
    const char *name = NULL;
    xmlrpc_value *x = NULL;
    struct str xml;
    enum rc rc;

    rc = shim_document(a, body, content_type, LIMIT_RPC_BODY, &xml, err);
    if (rc != RC_OK)
        return rc;
    xmlrpc_env_init(&r.env);
    xmlrpc_parse_call(&r.env, xml.ptr, xml.len, &name, &x);
    if (!r.env.fault_occurred) {
        *method = str_dup(a, unshim_text(a, str_from(name)));
        *params = read_value(&r, x);
        xmlrpc_strfree(name);
        *raw = x;
    }
    if (r.env.fault_occurred)
        rc = env_error(&r.env, err);
    xmlrpc_env_clean(&r.env);
    return rc;
}

void rpc_server_answer(struct rpc_server *s, struct str body, struct str content_type,
                       struct buf *out)
{
    AUTO(arena_release) struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct rpc_method *m;
    struct value *params = NULL, *result = NULL;
    xmlrpc_value *raw = NULL;
    size_t start = out->len;
    struct str method;
    void *ctx;
    enum rc rc;
    int code;

    rc = read_call(&a, body, content_type, &method, &params, &raw, &err);
    code = rc == RC_LIMIT ? XMLRPC_LIMIT_EXCEEDED_ERROR : XMLRPC_PARSE_ERROR;
    if (rc == RC_OK) {
        m = find_method(s, method, &ctx);
        if (m == NULL) {
            code = XMLRPC_NO_SUCH_METHOD_ERROR;
            rc = err_set(&err, RC_NOT_FOUND, "there is no method \"%.*s\"",
                         STR_ARG(str_slice(method, 0, 100)));
        } else {
            if (!m->echoes)
                rc = m->fn(ctx, &a, params, &result, &err);
            if (rc == RC_OK)
                rc = write_answer(out, result, raw, &err);
            code = fault_code_of(rc);
        }
    }
    if (raw != NULL)
        xmlrpc_DECREF(raw);
    if (rc == RC_OK)
        return;
    if (!buf_ok(out)) {
        out->overflow = false; /* `out` may have a part of an answer */
        out->len = start;
    }
    write_fault(out, code, err.text);
}
