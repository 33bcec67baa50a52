/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert meter: counts the work of a conversion, so that it asks at intervals whether
 * there is time and memory left. A request of a few hundred bytes can name the same
 * long text, or the same large entry, a million times, so that neither is bounded by
 * the size of the request.
 *
 * Threads: one thread at a time.
 */
#ifndef CONVERT_CONVERSION_CONVERT_METER_H
#define CONVERT_CONVERSION_CONVERT_METER_H

#include "base/limits.h"

/* A meter. */
struct convert_meter {
	/*
	 * Returns an error if there is no time left, or if what the conversion holds
	 * takes too much memory.
	 */
	int (*look)(void *ctx, struct err *err);
	void *ctx;
	size_t work; /* since it was last called */
};

/*
 * Note a step that reads, copies or hashes so many bytes. Memory that a step takes is
 * about as large, so that little is taken between two looks.
 */
static inline void convert_meter_note(struct convert_meter *m, size_t bytes)
{
	m->work += 1 + bytes / 64;
}

/* Ask after LIMITS_WORK steps. Errors of convert_meter.look. */
NODISCARD static inline int convert_meter_ask(struct convert_meter *m,
					      struct err *err)
{
	if (m->work < LIMITS_WORK)
		return 0;
	m->work = 0;
	return m->look(m->ctx, err);
}

#endif
