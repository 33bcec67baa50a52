/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR types: the classes of a chunk, which its metadata describe, and how values of
 * them are read. Each version of Java and each profiler numbers its classes and orders
 * their fields in its own way, so they are found by name.
 *
 * The fields of a class become a program: a list of operations, each of which reads at
 * least one byte. Reading a value thus takes a time that is linear in its size, whatever
 * the metadata say.
 * Source: github.com/openjdk/jdk, jdk.jfr.internal.MetadataReader and
 * jdk.jfr.internal.consumer.ParserFactory.
 *
 * Ownership: borrows the chunk; jfr_types_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_JFR_JFR_TYPES_H
#define CONVERT_JFR_JFR_TYPES_H

#include "base/table.h"
#include "base/vec.h"
#include "convert/conversion/convert_meter.h"
#include "convert/jfr/jfr_reader.h"
#include "pprof/profile/profile.h"

/* Fields that are read; all others are skipped. Names tell them in every class. */
enum jfr_slot {
	JFR_STACK_TRACE,
	JFR_STATE,
	JFR_SAMPLES,
	JFR_TLAB_SIZE,
	JFR_ALLOCATION_SIZE,
	JFR_WEIGHT,
	JFR_SIZE,
	JFR_DURATION,
	JFR_SAMPLING_PERIOD,
	JFR_CONTEXT_ID,
	JFR_SPAN_ID,
	JFR_SPAN_NAME,
	JFR_TRACE_ID_HIGH,
	JFR_TRACE_ID_LOW,
	JFR_ID,
	JFR_NAME,
	JFR_VALUE,
	JFR_STRING,
	JFR_METHOD,
	JFR_LINE_NUMBER,
	JFR_TYPE,
	JFR_FRAMES,
	JFR_SLOTS /* stands for a field that is skipped, too */
};

/* How a value is read. */
enum jfr_kind {
	JFR_OBJECT, /* by the program of its class */
	JFR_NUMBER,
	JFR_BYTE,
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_TEXT
};

/* An operation of a program. */
struct jfr_operation {
	uint32_t class; /* of the elements, for JFR_OBJECT */
	uint8_t kind;   /* enum jfr_kind; JFR_OBJECT only in an array */
	bool is_array;
};

/* A field. */
struct jfr_field {
	struct str name;
	uint64_t class_id;
	enum jfr_slot slot;
	bool is_constant;
	bool is_array;
	struct pprof_run program;
};

/* A class. */
struct jfr_class {
	struct str name;
	enum jfr_kind kind;
	struct pprof_run fields;
	struct pprof_run program; /* of all fields */
	uint8_t state; /* whether the program is there; see jfr_types.c */
};

/* The classes. The zero value has none. */
struct jfr_types {
	VEC(struct jfr_class) classes;
	VEC(struct jfr_field) fields;
	VEC(struct jfr_operation) operations;
	VEC(struct str) texts; /* of the metadata */
	VEC(uint64_t) ids;     /* of the classes */
	struct table by_id;
	struct arena arena;
};

/* What was read of the fields of an object; 0 and empty if it has no such field. */
struct jfr_object {
	uint64_t numbers
		[JFR_SLOTS]; /* a fraction is rounded; UINT64_MAX: it makes no sense */
	double fractions[JFR_SLOTS]; /* the same numbers */
	struct jfr_text texts[JFR_SLOTS];
	struct jfr_reader frames; /* the array JFR_FRAMES */
	uint32_t frame_class;
};

/*
 * Read the metadata; what was there is replaced. ERR_INVALID: they are malformed.
 * Errors of the meter.
 */
NODISCARD int jfr_types_read(struct jfr_types *t, struct bytes metadata,
			     struct convert_meter *m, struct err *err);

/* Return the number of the class with an ID, or TABLE_NONE. */
uint32_t jfr_types_find(const struct jfr_types *t, uint64_t id);

/* Read an object. */
void jfr_types_object(const struct jfr_types *t, uint32_t class,
		      struct jfr_reader *r, struct jfr_object *out);

/* Skip a value of a class. */
void jfr_types_skip(const struct jfr_types *t, uint32_t class,
		    struct jfr_reader *r);

/* Return the memory of everything, in bytes. */
size_t jfr_types_memory(const struct jfr_types *t);

/* Free everything. */
void jfr_types_fini(struct jfr_types *t);

#endif
