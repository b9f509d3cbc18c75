/* api/pings/rpc_validator.c - the validator1 methods of xmlrpc.com. From their answers a tester
 * sees whether a server reads and writes everything that XML-RPC has. Only with --rpc-validator
 * (D101). */
#include "api/pings/rpc_validator.h"

static enum rc wrong(struct err *err, const char *wanted)
{
    return err_set(err, RC_INPUT, "the parameter must be %s", wanted);
}

/* Returns the parameter, if there is only one and it is of this kind; otherwise NULL. */
static const struct value *only(const struct value *params, enum value_kind kind)
{
    const struct value *v = value_at(params, 0);

    return value_len(params) == 1 && v->kind == kind ? v : NULL;
}

/* Add the member to *sum. False: it is not an integer. */
static bool add(const struct value *dict, const char *name, int64_t *sum)
{
    const struct value *v = value_get(dict, str_from(name));

    if (v == NULL || v->kind != VAL_INT)
        return false;
    *sum += v->i;
    return true;
}

static bool add_stooges(const struct value *dict, int64_t *sum)
{
    return add(dict, "moe", sum) && add(dict, "larry", sum) && add(dict, "curly", sum);
}

static enum rc on_array_of_structs(void *ctx UNUSED, struct arena *a, const struct value *params,
                                   struct value **result, struct err *err)
{
    const struct value *list = only(params, VAL_LIST);
    int64_t sum = 0;

    for (size_t i = 0; i < value_len(list); i++)
        if (!add(value_at(list, i), "curly", &sum))
            list = NULL;
    if (list == NULL)
        return wrong(err, "an array of structs, each with an int \"curly\"");
    *result = value_int(a, sum);
    return RC_OK;
}

static enum rc on_count_entities(void *ctx UNUSED, struct arena *a, const struct value *params,
                                 struct value **result, struct err *err)
{
    static const struct {
        const char *name;
        char c;
    } rows[] = {{"ctLeftAngleBrackets", '<'},
                {"ctRightAngleBrackets", '>'},
                {"ctAmpersands", '&'},
                {"ctApostrophes", '\''},
                {"ctQuotes", '"'}};
    const struct value *text = only(params, VAL_TEXT);

    if (text == NULL)
        return wrong(err, "a string");
    *result = value_dict(a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t n = 0;

        for (size_t k = 0; k < text->s.len; k++)
            n += text->s.ptr[k] == rows[i].c;
        value_set(a, *result, str_from(rows[i].name), value_int(a, n));
    }
    return RC_OK;
}

static enum rc on_easy_struct(void *ctx UNUSED, struct arena *a, const struct value *params,
                              struct value **result, struct err *err)
{
    int64_t sum = 0;

    if (!add_stooges(only(params, VAL_DICT), &sum))
        return wrong(err, "a struct with the ints \"moe\", \"larry\" and \"curly\"");
    *result = value_int(a, sum);
    return RC_OK;
}

static enum rc on_echo_struct(void *ctx UNUSED, struct arena *a, const struct value *params,
                              struct value **result, struct err *err)
{
    const struct value *dict = only(params, VAL_DICT);

    if (dict == NULL)
        return wrong(err, "a struct");
    *result = value_copy(a, dict);
    return RC_OK;
}

static enum rc on_moderate_array(void *ctx UNUSED, struct arena *a, const struct value *params,
                                 struct value **result, struct err *err)
{
    const struct value *list = only(params, VAL_LIST);
    const struct value *first = value_at(list, 0);
    const struct value *last = value_len(list) > 0 ? value_at(list, value_len(list) - 1) : NULL;

    if (first == NULL || first->kind != VAL_TEXT || last->kind != VAL_TEXT)
        return wrong(err, "an array of strings");
    *result = value_text(a, str_concat(a, first->s, last->s));
    return RC_OK;
}

static enum rc on_nested_struct(void *ctx UNUSED, struct arena *a, const struct value *params,
                                struct value **result, struct err *err)
{
    const struct value *day = only(params, VAL_DICT);
    int64_t sum = 0;

    day = value_getz(value_getz(value_getz(day, "2000"), "04"), "01");
    if (!add_stooges(day, &sum))
        return wrong(err, "a calendar of structs with three ints on 1 April 2000");
    *result = value_int(a, sum);
    return RC_OK;
}

static enum rc on_simple_struct(void *ctx UNUSED, struct arena *a, const struct value *params,
                                struct value **result, struct err *err)
{
    const struct value *n = only(params, VAL_INT);

    if (n == NULL)
        return wrong(err, "an int");
    *result = value_dict(a);
    value_setz(a, *result, "times10", value_int(a, n->i * 10));
    value_setz(a, *result, "times100", value_int(a, n->i * 100));
    value_setz(a, *result, "times1000", value_int(a, n->i * 1000));
    return RC_OK;
}

const struct rpc_method rpc_validator_methods[RPC_VALIDATOR_METHODS] = {
    {"validator1.arrayOfStructsTest", "Sum of all curlies.", on_array_of_structs, false},
    {"validator1.countTheEntities", "Counts < > & ' and \".", on_count_entities, false},
    {"validator1.easyStructTest", "moe + larry + curly.", on_easy_struct, false},
    {"validator1.echoStructTest", "The struct itself.", on_echo_struct, false},
    {"validator1.manyTypesTest", "Returns all parameters in an array, unchanged.", NULL, true},
    {"validator1.moderateSizeArrayCheck", "First and last string, joined.", on_moderate_array,
     false},
    {"validator1.nestedStructTest", "moe + larry + curly of 1 April 2000.", on_nested_struct,
     false},
    {"validator1.simpleStructReturnTest", "times10, times100, times1000.", on_simple_struct, false},
};
