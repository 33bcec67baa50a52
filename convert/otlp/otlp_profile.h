/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP profile: one profile of a request, read into arrays. Releases 1.8 and 1.9 of
 * the protocol number the fields of samples differently from 1.10 and later, and
 * nothing in a request names its release, so the layout is found out first.
 * Source: as otlp_tables.h, releases 1.8.0, 1.9.0, 1.10.0 and 1.11.0.
 *
 * Ownership: borrows the message; otlp_profile_fini() frees the arrays.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_OTLP_OTLP_PROFILE_H
#define CONVERT_OTLP_OTLP_PROFILE_H

#include "convert/conversion/convert_meter.h"
#include "convert/otlp/otlp_tables.h"
#include "pprof/profile/profile.h"

enum {
	/* Largest number of frames of a stack, and of attributes of a sample. */
	OTLP_FRAMES_MAX = 4096,
	OTLP_ATTRIBUTES_MAX = 128
};

/* How the fields of samples are numbered. */
struct otlp_layout {
	bool is_old;      /* 1.8 or 1.9 */
	bool has_comment; /* 1.8: profiles have a field 7 for comments */
	bool fits_all;    /* no sample contradicts the layout */
};

/* A type of values: indexes of texts. */
struct otlp_type {
	uint64_t type;
	uint64_t unit;
};

/* A sample. */
struct otlp_sample {
	uint32_t stack;
	uint32_t link;
	struct pprof_run attributes; /* in otlp_profile.attributes */
};

/* Indexes of entries of a table; a vector (base/vec.h). */
struct otlp_indexes {
	uint32_t *v;
	size_t count;
	size_t cap;
};

/* A profile. */
struct otlp_profile {
	struct otlp_type type;
	struct otlp_type period_type;
	int64_t period;
	uint64_t time_ns;
	uint64_t duration_ns;
	struct str payload_format;
	struct bytes payload;
	VEC(struct otlp_sample) samples;
	VEC(int64_t) values;                /* of the samples */
	struct otlp_indexes attributes;     /* of samples */
	struct otlp_indexes own_attributes; /* of the profile */
};

/* Return field number 2 of a ScopeProfiles, one after another: its profiles. */
bool otlp_profile_next(struct wire *scope, struct bytes *profile);

/*
 * Find out the layout of the samples of a request: that which most of them fit.
 * ERR_INVALID: it is one of a release before 1.8, or of none that is known.
 */
NODISCARD int otlp_layout_find(const struct otlp_tables *t,
			       struct otlp_layout *out, struct err *err);

/* What reading a profile needs; all is borrowed. */
struct otlp_reader {
	const struct otlp_tables *t;
	const struct otlp_layout *layout;
	struct convert_meter *meter;
};

/*
 * Read a profile; what `out` had before is replaced. ERR_INVALID: it is malformed, or
 * refers to entries that are not there. Errors of the meter.
 */
NODISCARD int otlp_profile_read(const struct otlp_reader *r,
				struct bytes profile, struct otlp_profile *out,
				struct err *err);

/* Whether two profiles have the same samples, so that they are one of pprof. */
bool otlp_profile_same_samples(const struct otlp_profile *a,
			       const struct otlp_profile *b);

/* Return the memory of the arrays, in bytes. */
size_t otlp_profile_memory(const struct otlp_profile *p);

/* Free the arrays. */
void otlp_profile_fini(struct otlp_profile *p);

#endif
