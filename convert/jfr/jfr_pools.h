/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR pools: the constants of a chunk (stacks, methods, classes, texts), to which events
 * refer by keys. The pools have the places of constants, which are read when they are
 * needed: most of a recording is never looked at.
 * Source: as jfr_reader.h, and jdk.jfr.internal.consumer.ChunkParser.
 *
 * Ownership: borrows the chunk; jfr_pools_fini() frees the index.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_JFR_JFR_POOLS_H
#define CONVERT_JFR_JFR_POOLS_H

#include "convert/jfr/jfr_types.h"

/* The pools that are kept. */
enum jfr_pool_kind {
	JFR_STACKS,
	JFR_METHODS,
	JFR_CLASSES,
	JFR_SYMBOLS,
	JFR_STRINGS,
	JFR_STATES,
	JFR_POOLS
};

/* A constant. */
struct jfr_constant {
	int64_t key;
	uint32_t class;
	uint32_t offset; /* in the chunk */
	/* What the converter has made of it: of a method its function, of a stack
	 * its stack, of a state whether it is a sleeping one. TABLE_NONE: nothing. */
	uint32_t made;
};

/* A pool. */
struct jfr_pool {
	VEC(struct jfr_constant) constants;
	struct table index;
};

/* The pools of a chunk. The zero value has no constants. */
struct jfr_pools {
	const struct jfr_types *types;
	struct bytes chunk;
	struct jfr_pool pools[JFR_POOLS];
};

/*
 * Read the pools of a chunk, the last of which are at `offset`; what was there is
 * replaced. ERR_INVALID: they are malformed. Errors of the meter.
 */
NODISCARD int jfr_pools_read(struct jfr_pools *p, const struct jfr_types *types,
			     struct bytes chunk, uint64_t offset,
			     struct convert_meter *m, struct err *err);

/* Return a constant, valid until the pools are read again; NULL: there is none. */
struct jfr_constant *jfr_pools_find(const struct jfr_pools *p,
				    enum jfr_pool_kind kind, uint64_t key);

/*
 * Read a constant that is an object. False: there is none, or it is malformed. The caller
 * asks the meter afterwards.
 */
bool jfr_pools_object(const struct jfr_pools *p, const struct jfr_constant *c,
		      struct convert_meter *m, struct jfr_object *out);

/*
 * Return a text, which may be a constant, as UTF-8, borrowed or of the arena. The caller
 * asks the meter afterwards.
 */
struct str jfr_pools_text(const struct jfr_pools *p, const struct jfr_text *t,
			  struct arena *arena, struct convert_meter *m);

/* Return the memory of the index, in bytes. */
size_t jfr_pools_memory(const struct jfr_pools *p);

/* Free the index. */
void jfr_pools_fini(struct jfr_pools *p);

#endif
