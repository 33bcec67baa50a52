/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiler attributes and the few macros that every file may use.
 *
 * Threads: plain macros and pure functions.
 */
#ifndef BASE_DEFS_H
#define BASE_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function's return value, usually an error code, must not be ignored. */
#define NODISCARD __attribute__((warn_unused_result))
#define UNUSED    __attribute__((unused))

/* The function does not return. */
#define NORETURN __attribute__((noreturn))

/*
 * Argument number f of the function is a printf format, and the values to be
 * formatted begin with argument number a.
 */
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/*
 * Call the function `fn` with the address of the variable when the variable
 * goes out of scope.
 */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/*
 * Annotations for Clang's thread-safety analysis; other compilers ignore them.
 */
#ifdef __clang__
#define CAPABILITY(name)   __attribute__((capability(name)))
#define REQUIRES(...)      __attribute__((requires_capability(__VA_ARGS__)))
#define ACQUIRES(...)      __attribute__((acquire_capability(__VA_ARGS__)))
#define TRIES(...)         __attribute__((try_acquire_capability(__VA_ARGS__)))
#define RELEASES(...)      __attribute__((release_capability(__VA_ARGS__)))
#define NO_THREAD_ANALYSIS __attribute__((no_thread_safety_analysis))
#else
#define CAPABILITY(name)
#define REQUIRES(...)
#define ACQUIRES(...)
#define TRIES(...)
#define RELEASES(...)
#define NO_THREAD_ANALYSIS
#endif

/*
 * Return the pointer in the variable `var` and set `var` to NULL, so that the
 * caller of the macro now owns what the pointer refers to.
 */
#define TAKE(var)                                  \
	({                                         \
		__typeof__(var) take_tmp_ = (var); \
		(var) = NULL;                      \
		take_tmp_;                         \
	})

/* The number of elements of an array, which must not be a pointer. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Binary units of sizes, in bytes. */
#define KIB (1024L)
#define MIB (1024L * 1024)
#define GIB (1024L * 1024 * 1024)

/*
 * Add two numbers of an untrusted profile. Overflow wraps around, as in Go,
 * instead of being undefined.
 */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Subtract b from a; overflow wraps around. */
static inline int64_t wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Multiply two numbers; overflow wraps around. */
static inline int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

#endif
