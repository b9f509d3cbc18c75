/* storage/schema_version.h - the version of schema.sql. Each change of it raises the number, and
 * has a row in the table of migrations of each engine. */
#pragma once

#define SCHEMA_VERSION 16
