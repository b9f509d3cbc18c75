/* storage/schema_version.h - the version of schema.sql. Each change of it raises the number, and
 * has a row in the table of migrations (storage/migrations.c). */
#pragma once

#define SCHEMA_VERSION 37
