/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider: one running discovery. The manager calls refresh() when it is due;
 * the provider reports the result, immediately or later, with provider_found()
 * or provider_failed(). The groups reported last stay valid until it reports
 * others.
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
	const char *name; /* in logs and metrics */
	/*
	 * Returns the provider's data, which becomes p->data. c is borrowed for
	 * the call.
	 */
	void *(*open)(struct provider *p, const struct discovery_config *c);
	/* Starts or performs one refresh. */
	void (*refresh)(struct provider *p);
	/* Cancels what is in progress and frees p->data. */
	void (*close)(struct provider *p);
};

/* A provider, as the manager and its kind see it. */
struct provider {
	const struct provider_kind *kind;
	void *data; /* owned by the kind */
	char *key;  /* key of the discovery_config */
	int64_t refresh_ms;
	struct http_client *client; /* the loop's, for requests and watches */
	const char *user_agent;
	const struct log *log;
	struct metric *failures; /* counter of the kind */

	/* The members below belong to the manager. */
	int64_t due_ns;                  /* next refresh, on clock_mono_ns() */
	struct target_groups_list found; /* reported last */
	bool asked;   /* has reported a result or a failure */
	bool changed; /* found has not been passed to the jobs yet */
	bool used;    /* by a job of the current configuration */
};

/*
 * Reports the target groups that exist now; p takes a reference to each of
 * them.
 */
void provider_found(struct provider *p,
		    const struct target_groups_list *groups);

/*
 * Reports that a refresh failed: counts and logs the error with the name of the
 * source. Groups found before stay.
 */
void provider_failed(struct provider *p, const char *what,
		     const struct err *err);

/*
 * Logs that a source was read and how many targets it has; g is NULL if the
 * source is gone.
 */
void provider_tell(const struct provider *p, const char *what,
		   const struct target_groups *g);

/* Moves the next refresh forward, to at most ms milliseconds from now. */
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
