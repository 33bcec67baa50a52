/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery: runs the discoveries of all jobs and tells what they found.
 *
 * Jobs with the same discovery share one. After a change of the configuration
 * a job is told of when each of its discoveries has found something, or
 * failed; until then what it was told last stands.
 *
 * Ownership: what is in the options is borrowed and must outlive it; jobs are
 * copied.
 * Threads: one event loop of its own, which calls update(). One thread starts,
 * applies and stops.
 */
#ifndef DISCOVERY_MANAGER_H
#define DISCOVERY_MANAGER_H

#include "base/log.h"
#include "base/metrics.h"
#include "discovery/discovery_config.h"
#include "discovery/target_group.h"

struct discovery;

struct discovery_options {
	const struct log *log;
	struct metrics *metrics;
	const char *user_agent;
	const struct networks *refused; /* for http_client_refuse() */
	/* A job's targets are now these. */
	void (*update)(void *ctx, struct str job,
		       const struct target_groups_list *groups);
	void *ctx;
};

struct discovery_job {
	struct str name;
	const struct discovery_configs *configs;
};

/* ERR_IO: the system has no descriptors left. */
NODISCARD int discovery_start(const struct discovery_options *o,
			      struct discovery **out, struct err *err);

/* From now on these are the jobs. */
void discovery_apply(struct discovery *d, const struct discovery_job *jobs,
		     size_t count);

/* NULL is a no-op for both. */
void discovery_stop(struct discovery *d);
void discovery_free(struct discovery *d);

#endif
