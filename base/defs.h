/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes and the few macros that every file may use.
 *
 * Ownership: nothing to own.
 * Threads: none involved.
 */
#ifndef BASE_DEFS_H
#define BASE_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODISCARD    __attribute__((warn_unused_result))
#define UNUSED       __attribute__((unused))
#define NORETURN     __attribute__((noreturn))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define CLEANUP(fn)  __attribute__((cleanup(fn)))

/* Clang's thread-safety analysis; other compilers see nothing. */
#ifdef __clang__
#define CAPABILITY(name) __attribute__((capability(name)))
#define REQUIRES(...)    __attribute__((requires_capability(__VA_ARGS__)))
#else
#define CAPABILITY(name)
#define REQUIRES(...)
#endif

/* Give up ownership of a pointer variable: it is NULL afterwards. */
#define TAKE(var)                                  \
	({                                         \
		__typeof__(var) take_tmp_ = (var); \
		(var) = NULL;                      \
		take_tmp_;                         \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define KIB (1024L)
#define MIB (1024L * 1024)
#define GIB (1024L * 1024 * 1024)

/* Sums of foreign numbers wrap around, as Go's do. */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

#endif
