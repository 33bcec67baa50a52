/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider: one running service discovery, with its refreshes, and what happens
 * when one fails. The manager calls refresh() when a refresh is due. The
 * provider reports the result, immediately or later, with provider_found() or
 * provider_failed(). The target groups that a provider reported last stay valid
 * until it reports new ones.
 *
 * A new kind of discovery needs a struct provider_kind and an entry in the
 * table at the top of manager.c.
 *
 * Ownership: the manager owns providers; a provider owns its data.
 * Threads: the manager's loop only.
 */
#ifndef DISCOVERY_PROVIDER_H
#define DISCOVERY_PROVIDER_H

#include "base/log.h"
#include "base/metrics.h"
#include "client/http.h"
#include "discovery/discovery_config.h"
#include "discovery/target_group.h"

struct provider;

/* A kind of discovery, as a table of functions. */
struct provider_kind {
	const char *name; /* name in logs and metrics */
	/*
	 * Makes the data of a provider, which becomes p->data. `c` is borrowed
	 * for the call.
	 */
	void *(*open)(struct provider *p, const struct discovery_config *c);
	/* Starts or performs one refresh. */
	void (*refresh)(struct provider *p);
	/* Cancels a refresh that is in progress, and frees p->data. */
	void (*close)(struct provider *p);
};

/* A running discovery, used by the manager and the functions of its `kind`. */
struct provider {
	const struct provider_kind *kind;
	void *data; /* made by kind->open() and freed by kind->close() */
	char *key;  /* copy of discovery_config.key */
	int64_t refresh_ms;
	/* client of the manager's loop, for requests and watched descriptors */
	struct http_client *client;
	const char *user_agent;
	const struct log *log;
	struct metric *failures; /* counter of failed refreshes of this kind */

	/* The members below belong to the manager. */
	/* time of the next refresh, on clock_mono_ns() */
	int64_t due_ns;
	struct target_groups_list found; /* target groups reported last */
	bool asked;   /* whether a result or a failure was reported */
	bool changed; /* whether `found` must still be passed to the jobs */
	bool used;    /* whether a current job uses the provider */
};

/*
 * Reports the target groups that exist now; `p` takes a reference to each
 * group.
 */
void provider_found(struct provider *p,
		    const struct target_groups_list *groups);

/*
 * Reports that a refresh failed: counts and logs the error; `what` names the
 * source. The target groups that were found before stay.
 */
void provider_failed(struct provider *p, const char *what,
		     const struct err *err);

/*
 * Logs that the source named `what` was read and how many targets it has; `g`
 * is NULL if the source is gone.
 */
void provider_tell(const struct provider *p, const char *what,
		   const struct target_groups *g);

/* Makes the next refresh start at most `ms` milliseconds from now. */
void provider_refresh_within(struct provider *p, int64_t ms);

/*
 * Parses a text, JSON or YAML, as a list of target groups; the caller owns a
 * reference to *out. ERR_INVALID: err has the first mistake, and says whether
 * there are more.
 */
NODISCARD int provider_parse(const char *name, struct bytes text, bool json,
			     const struct group_meta *meta,
			     struct target_groups **out, struct err *err);

#endif
