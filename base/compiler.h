/* base/compiler.h - attributes and clean-up helpers that every file uses.
 *
 * AUTO(fn) frees a local at the end of its scope: `AUTO(buf_release) struct buf b = ...`.
 * The function gets the address of the variable, so it fits `x_release(struct x *)` for
 * embedded objects and `x_free(struct x **)` for heap ones.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NODISCARD __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define AUTO(fn) __attribute__((cleanup(fn)))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The struct of type `type` whose member `member` is at `ptr`. */
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
