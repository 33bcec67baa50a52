/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service: the value of the label service_name, by which Grafana finds programs.
 * Series that lack it have one nonetheless: their job, or, of a whole machine,
 * their container, systemd unit or program.
 *
 * Ownership: texts are borrowed from the labels.
 * Threads: any.
 */
#ifndef PYROSCOPE_NAMES_SERVICE_H
#define PYROSCOPE_NAMES_SERVICE_H

#include "base/arena.h"
#include "model/labels.h"
#include "model/matcher.h"

#define SERVICE_NAME "service_name"

enum {
	/* Largest number of matchers of service_matchers(). */
	SERVICE_MATCHERS_MAX = 6
};

/* Return the service of a series; it may be empty. */
struct str service_of(const struct labels *ls);

/* Whether a label has the service as its value, although no series has it. */
bool service_is_label(struct str name);

/*
 * Set out[] to matchers, one of which every series of a service fulfils, and
 * return their number; series of other services may fulfil them, too. They borrow
 * `service`, and a text in the arena.
 */
size_t service_matchers(struct str service, struct arena *arena,
			struct matcher out[SERVICE_MATCHERS_MAX]);

#endif
