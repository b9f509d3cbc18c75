/* storage/schema_version.h - the version of schema.sql. Each change of it raises the number, and
 * has a row in the table of migrations (storage/migrations.c). */
#pragma once

#define SCHEMA_VERSION 37

/* The same as a text. */
#define SCHEMA_TEXT_OF(number) #number
#define SCHEMA_TEXT_FROM(number) SCHEMA_TEXT_OF(number)
#define SCHEMA_TEXT SCHEMA_TEXT_FROM(SCHEMA_VERSION)
