/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert caller: what every conversion asks of its caller, which knows how much time
 * and memory there is, and stores the profiles.
 *
 * Ownership: everything is borrowed for the conversion.
 * Threads: the callbacks run in the thread that converts.
 */
#ifndef CONVERT_CONVERSION_CONVERT_CALLER_H
#define CONVERT_CONVERSION_CONVERT_CALLER_H

#include "base/bytes.h"
#include "base/err.h"
#include "model/labels.h"

/* What a conversion may hold at most, in multiples of the largest profile. */
#define CONVERT_CALLER_MEMORY ((size_t)2)

/* The caller of a conversion. */
struct convert_caller {
	void *ctx;
	size_t max_profile; /* bytes of a converted profile, and of one in memory */
	size_t max_memory; /* bytes of everything that the conversion holds */
	/*
	 * Ask for so many bytes in all, before they are taken; an error ends the
	 * conversion.
	 */
	int (*take)(void *ctx, size_t bytes, struct err *err);
	/* Ask whether there is time left; an error ends the conversion. */
	int (*check)(void *ctx, struct err *err);
	/*
	 * Takes a profile, uncompressed or as its sender has compressed it, and the
	 * labels of its series; *refused: it is refused for good. An error ends the
	 * conversion.
	 */
	int (*store)(void *ctx, const struct labels_builder *labels,
		     struct bytes profile, bool *refused, struct err *err);
};

/*
 * Ask whether there is time left, and for the memory of everything that the conversion
 * holds. ERR_TOOBIG: that is more than max_memory; errors of the callbacks.
 */
NODISCARD int convert_caller_look(const struct convert_caller *c, size_t memory,
				  struct err *err);

#endif
