/* api/http/openapi_schema.h - describes parameters in JSON Schema, as OpenAPI 3.1 has it. Pure; values
 * are in the arena, or are constants. */
#pragma once

#include "api/http/parameters.h"
#include "model/value.h"

/* Where a value stands. In JSON a number is a number; in a query or form everything is text. */
enum openapi_place { OPENAPI_QUERY, OPENAPI_FORM, OPENAPI_JSON };

/* Returns the schema of a parameter's value. */
struct value *openapi_schema(struct arena *a, enum param_id id, const struct api_cfg *cfg,
                             enum openapi_place place);

/* Returns a value that is right; a list for a parameter that may be repeated. */
struct value *openapi_example(struct arena *a, enum param_id id, enum openapi_place place);

/* Returns what the parameter means, and what becomes of a number outside its range. */
struct str openapi_text(struct arena *a, enum param_id id, const struct api_cfg *cfg);

/* Returns a name that a caller may write: the first one of a numbered parameter. */
struct str openapi_name(struct arena *a, enum param_id id);

/* Returns the schema of an object with these parameters as members. */
struct value *openapi_object(struct arena *a, const enum param_id *ids, const struct api_cfg *cfg,
                             enum openapi_place place);
