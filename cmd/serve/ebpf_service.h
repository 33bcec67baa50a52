/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The eBPF collector of a running server: it is started, stopped and started
 * again as the configuration says, and its profiles go to storage. If the
 * collector cannot run, the server goes on without it.
 *
 * Ownership: the members of the options are borrowed.
 * Threads: any, but for ebpf_service_free().
 * Locks: `apply_mu` serialises changes, and is held while a collector is started
 * and stopped; `mu` guards the collector while metrics and its state are read.
 */
#ifndef CMD_SERVE_EBPF_SERVICE_H
#define CMD_SERVE_EBPF_SERVICE_H

#include "base/log.h"
#include "base/metrics.h"
#include "cmd/serve/ebpf_config.h"
#include "discovery/core/target_group.h"
#include "model/appender.h"
#include "web/web.h"

struct ebpf_service;

struct ebpf_service_options {
	struct appender *appender;
	const struct log *log;
	struct metrics *metrics;
	const char *debug_dir; /* as in struct collector_options */
};

/* Prepare a service that does not run, and register its metrics. */
struct ebpf_service *ebpf_service_new(const struct ebpf_service_options *o);

/*
 * Run as the section says. Nothing happens if it is the same as before. Errors
 * are logged.
 */
void ebpf_service_apply(struct ebpf_service *s, const struct ebpf_config *c);

/*
 * Give the names of containers that the discoveries of the section have found
 * to the processes of the containers. Called by the discovery's thread.
 */
void ebpf_service_name(struct ebpf_service *s,
		       const struct target_groups_list *groups);

/* Return what the web server shows of the collector. */
struct web_collector ebpf_service_endpoint(struct ebpf_service *s);

/*
 * Stop for good, and store the last profiles; NULL is a no-op. Metrics can still
 * be read.
 */
void ebpf_service_stop(struct ebpf_service *s);

/* Free a service that was stopped; NULL is a no-op. */
void ebpf_service_free(struct ebpf_service *s);

#endif
