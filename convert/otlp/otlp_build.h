/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP build: profiles of a request that have the same samples become one profile of
 * pprof, with a sample type for each of them.
 *
 * Ownership: otlp_build_fini() frees everything; the message is borrowed.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_OTLP_OTLP_BUILD_H
#define CONVERT_OTLP_OTLP_BUILD_H

#include "convert/conversion/convert_meter.h"
#include "convert/otlp/otlp_profile.h"
#include "convert/otlp/otlp_value.h"
#include "model/types.h"

/* A column of values: a sample type. */
struct otlp_column {
	struct value_type type;
	const int64_t *values; /* one for each sample */
	int64_t factor;        /* by which they are multiplied */
};

enum {
	OTLP_COLUMNS_MAX = 17 /* one more than a request may have */
};

/* The columns of a profile, and what they are sampled by. */
struct otlp_columns {
	struct otlp_column v[OTLP_COLUMNS_MAX];
	size_t count;
	struct value_type period_type;
};

/* Where the entries of a table are in the profile that is being built. */
struct otlp_remap {
	VEC(uint32_t) places;
	VEC(uint32_t) turns; /* the profile for which the place is valid */
};

/* A builder, which keeps its memory from profile to profile. */
struct otlp_build {
	const struct otlp_tables *t;
	struct convert_meter *meter;
	struct pprof p;
	uint32_t turn; /* number of the profile */
	struct otlp_remap remaps[OTLP_TABLES];
	VEC(struct pprof_label) attributes; /* by their place in the remap */
	VEC(struct pprof_label) fixed;      /* labels of all samples */
	struct arena arena;                 /* of texts of the profile */
};

/* Begin without a profile. */
void otlp_build_init(struct otlp_build *b, const struct otlp_tables *t,
		     struct convert_meter *meter);

/* Free everything. */
void otlp_build_fini(struct otlp_build *b);

/* Return the memory of the builder for the entries of the tables, in bytes. */
size_t otlp_build_index_memory(const struct otlp_tables *t);

/* Return the memory of the profile that is being built, in bytes. */
size_t otlp_build_memory(const struct otlp_build *b);

/* Free the profile that is being built. */
void otlp_build_clear(struct otlp_build *b);

/* Begin a profile with these sample types; what was built before is lost. */
void otlp_build_begin(struct otlp_build *b, const struct otlp_profile *p,
		      const struct otlp_columns *columns);

/* Put a label on all samples that are added from now on. */
void otlp_build_label(struct otlp_build *b, const struct otlp_attribute *a);

/*
 * Add sample number `i`. ERR_INVALID: a part of it is malformed, or refers to an entry
 * that is not there. Errors of the meter.
 */
NODISCARD int otlp_build_add(struct otlp_build *b, const struct otlp_profile *p,
			     const struct otlp_columns *columns, size_t i,
			     struct err *err);

/*
 * Read an attribute of the dictionary; texts are valid until the next
 * otlp_build_begin(). ERR_INVALID: it is malformed. Errors of the meter.
 */
NODISCARD int otlp_build_attribute(struct otlp_build *b, uint32_t index,
				   struct otlp_attribute *out, struct err *err);

#endif
