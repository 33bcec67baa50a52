/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery manager: runs the discoveries of all jobs and reports the target
 * groups that they find.
 *
 * Jobs with equal discoveries share one provider (a running discovery). After a
 * change of the configuration a job is reported once each of its discoveries
 * has found something or failed; until then the targets that were reported last
 * stay in place, so that a reload does not drop targets for a moment.
 *
 * Ownership: everything in the options is borrowed and must outlive the
 * manager; jobs are copied.
 * Threads: the manager has one thread, an event loop, which calls update().
 * Starting, applying and stopping are done by one other thread at a time.
 */
#ifndef DISCOVERY_MANAGER_H
#define DISCOVERY_MANAGER_H

#include "base/log.h"
#include "base/metrics.h"
#include "discovery/discovery_config.h"
#include "discovery/target_group.h"

struct discovery;

/* Options of discovery_start(). */
struct discovery_options {
	const struct log *log;
	struct metrics *metrics;
	const char *user_agent;
	/* networks to which http_client_refuse() forbids connections */
	const struct networks *refused;
	/*
	 * Receives all target groups of a job; they replace the groups of the
	 * previous call. Called by the manager's thread under its mutex, so
	 * update() must not call discovery_apply() or discovery_stop(). The
	 * list is borrowed for the call; keep groups by taking references.
	 */
	void (*update)(void *ctx, struct str job,
		       const struct target_groups_list *groups);
	void *ctx;
};

/* A job of the configuration; borrowed for discovery_apply(). */
struct discovery_job {
	struct str name;
	const struct discovery_configs *configs;
};

/* Starts a manager without jobs. ERR_IO: the system has no descriptors left. */
NODISCARD int discovery_start(const struct discovery_options *o,
			      struct discovery **out, struct err *err);

/*
 * Replaces all jobs. Providers that the new jobs have in common with the old
 * ones continue undisturbed, with what they have found.
 */
void discovery_apply(struct discovery *d, const struct discovery_job *jobs,
		     size_t count);

/* Stops the thread; update() is not called any more. NULL is a no-op. */
void discovery_stop(struct discovery *d);

/* Stops the manager, if it is still running, and frees it. NULL is a no-op. */
void discovery_free(struct discovery *d);

#endif
