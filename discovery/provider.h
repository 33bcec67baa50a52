/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider: one discovery at work. The manager calls refresh() when it is due;
 * the provider says what it found, now or later, by provider_found() or
 * provider_failed(). What it found last stands until it finds something else.
 *
 * A new kind of discovery is a struct provider_kind and a place in the
 * manager's table of them.
 *
 * Ownership: the manager owns providers; a provider its data.
 * Threads: the manager's loop alone.
 */
#ifndef DISCOVERY_PROVIDER_H
#define DISCOVERY_PROVIDER_H

#include "base/log.h"
#include "base/metrics.h"
#include "client/http.h"
#include "discovery/discovery_config.h"
#include "discovery/target_group.h"

struct provider;

struct provider_kind {
	const char *name;
	/* Data for p->data. The configuration is borrowed for the call. */
	void *(*open)(struct provider *p, const struct discovery_config *c);
	void (*refresh)(struct provider *p);
	void (*close)(struct provider *p); /* frees p->data */
};

struct provider {
	const struct provider_kind *kind;
	void *data;
	char *key;
	int64_t refresh_ms;
	struct http_client *client; /* of the loop: requests and watches */
	const char *user_agent;
	const struct log *log;
	struct metric *failures;

	/* The manager's. */
	int64_t due_ns; /* on clock_mono_ns() */
	struct target_groups_list found;
	bool asked;   /* it has said something */
	bool changed; /* found is not told to jobs yet */
	bool used;    /* by a job of the configuration */
};

/* These are the groups now; each is counted. */
void provider_found(struct provider *p,
		    const struct target_groups_list *groups);

/* Nothing new was found out; what was found before stands. */
void provider_failed(struct provider *p, const char *what,
		     const struct err *err);

/* In the log: what was read, and how many targets it has. */
void provider_tell(const struct provider *p, const char *what,
		   const struct target_groups *g);

/* Have it refreshed soon: so many milliseconds from now. */
void provider_hurry(struct provider *p, int64_t ms);

/* Parse text as target groups: JSON, or YAML. ERR_INVALID: all mistakes. */
NODISCARD int provider_parse(const char *name, struct bytes text, bool json,
			     const struct group_meta *meta,
			     struct target_groups **out, struct err *err);

#endif
