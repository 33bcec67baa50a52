/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes recordings of JFR for tests: chunks with classes of the names, and in the
 * order, that async-profiler and Java use, constants, and events.
 *
 * Ownership: jfr_writer_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef TESTS_CONVERT_JFR_WRITER_H
#define TESTS_CONVERT_JFR_WRITER_H

#include "base/buf.h"

/* IDs of the classes. */
enum {
	W_BOOLEAN = 4,
	W_CHAR,
	W_FLOAT,
	W_DOUBLE,
	W_BYTE,
	W_SHORT,
	W_INT,
	W_LONG,
	W_TEXT = 20,
	W_CLASS,
	W_THREAD,
	W_STATE,
	W_STACK,
	W_FRAME,
	W_METHOD,
	W_SYMBOL,
	W_PAIR, /* an object in an object */
	W_EXECUTION = 100,
	W_CPU_TIME,
	W_WALL,
	W_IN_TLAB,
	W_OUTSIDE_TLAB,
	W_ALLOCATED,
	W_LIVE,
	W_MALLOC,
	W_MONITOR,
	W_PARK,
	W_NATIVE_LOCK,
	W_SETTING,
	W_RECORDING,
	W_STRANGE /* which no one reads */
};

/* A recording that is being written. */
struct jfr_writer {
	struct buf out;
	size_t chunk;     /* offset of the chunk */
	size_t event;     /* offset of the event */
	size_t constants; /* offset of the last constants in the chunk; 0: none */
	struct buf fields; /* of the event */
};

/* Begin a chunk. */
void jfr_writer_begin(struct jfr_writer *w, int64_t start_ns,
		      int64_t duration_ns, uint64_t ticks_per_second);

/* End the chunk. */
void jfr_writer_end(struct jfr_writer *w);

/* Write fields of an event, and then the event. */
void jfr_writer_number(struct buf *b, uint64_t n);
void jfr_writer_text(struct buf *b, const char *text);
void jfr_writer_event(struct jfr_writer *w, uint64_t class);

/* Begin constants of one class, write `count` of them as fields, and end them. */
void jfr_writer_constants(struct jfr_writer *w, uint64_t class, uint64_t count);

/*
 * Write the constants of the tests: methods 1 to 3, which are Shop.sell, Shop.pay and
 * libc.so.6.malloc, classes and symbols for them, stacks 1 (sell, then pay, then
 * malloc) and -2 (pay alone), and states 1 (runnable) and 2 (sleeping).
 */
void jfr_writer_usual(struct jfr_writer *w);

/* Write an event whose fields are numbers. */
#define jfr_writer_numbers(w, class, ...)                              \
	do {                                                           \
		const uint64_t numbers_[] = { __VA_ARGS__ };           \
                                                                       \
		for (size_t i_ = 0; i_ < ARRAY_SIZE(numbers_); i_++)   \
			jfr_writer_number(&(w)->fields, numbers_[i_]); \
		jfr_writer_event(w, class);                            \
	} while (0)

/* Write a setting of a class. */
void jfr_writer_setting(struct jfr_writer *w, uint64_t class, const char *name,
			const char *value);

/* Free everything. */
void jfr_writer_fini(struct jfr_writer *w);

#endif
