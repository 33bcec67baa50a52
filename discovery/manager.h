/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery manager: runs the discoveries of all jobs and reports the target
 * groups that they find.
 *
 * Jobs with equal discoveries share one provider, which is one running
 * discovery (see core/provider.h). A job with discoveries is reported after
 * each change of the configuration, and whenever one of its discoveries has
 * reported target groups. But it is reported only when each of its discoveries
 * has reported a result or a failure at least once. Until then, the targets
 * that were reported last stay in place, so that a reload does not drop targets
 * for a moment.
 *
 * Ownership: everything in the options is borrowed and must outlive the
 * manager; jobs are copied.
 * Threads: the manager has one thread, an event loop, which calls update().
 * Starting, applying and stopping are done by one other thread at a time. Any
 * thread may call discovery_visit().
 */
#ifndef DISCOVERY_MANAGER_H
#define DISCOVERY_MANAGER_H

#include "base/log.h"
#include "base/metrics.h"
#include "discovery/core/target_group.h"
#include "discovery/discovery_config.h"

struct discovery;

/* Options of discovery_start(). */
struct discovery_options {
	const struct log *log;
	struct metrics *metrics;
	const char *user_agent;
	/* networks to which http_client_refuse() forbids connections */
	const struct networks *refused;
	/*
	 * Receives all target groups of the job named `job`; they replace the
	 * groups of the previous call for this job. Called by the manager's
	 * thread under the manager's mutex, so update() must not call any
	 * function of the manager. The list is borrowed for the call; keep
	 * groups by taking references.
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

/* Start a manager without jobs. ERR_IO: the system has no descriptors left. */
NODISCARD int discovery_start(const struct discovery_options *o,
			      struct discovery **out, struct err *err);

/*
 * Replace all jobs. A provider that both the old and the new jobs use continues
 * undisturbed, with the targets that it has found.
 */
void discovery_apply(struct discovery *d, const struct discovery_job *jobs,
		     size_t count);

/*
 * The state of one entry of <name>_sd_configs, as discovery_visit() passes it
 * to fn(); all texts are borrowed for that call.
 */
struct discovery_status {
	struct str job;
	const char *name; /* of the kind: the key is <name>_sd_configs */
	/*
	 * line of the entry in the configuration file; for several equal
	 * entries, the line of the first
	 */
	unsigned line;
	/* number of targets that were found, before relabelling */
	size_t targets;
	bool is_waiting; /* neither a result nor a failure was reported yet */
	/*
	 * The last failure, until all sources have been read again without a
	 * failure. NULL: there is none.
	 */
	const char *source; /* what could not be read */
	const char *error;
	int64_t failed_ms; /* time of day of the failure; 0: none */
};

/*
 * Call fn() for each entry of each job, under the manager's mutex: fn() must
 * not call the manager. Any thread may call this function.
 */
void discovery_visit(struct discovery *d,
		     void (*fn)(void *ctx, const struct discovery_status *s),
		     void *ctx);

/* Stop the thread; update() is not called any more. NULL is a no-op. */
void discovery_stop(struct discovery *d);

/* Stop the manager, if it is still running, and free it. NULL is a no-op. */
void discovery_free(struct discovery *d);

#endif
