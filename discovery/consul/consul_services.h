/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services of Consul that are watched, by name, with their targets.
 *
 * Ownership: the set owns its watches, and each watch its target groups.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_CONSUL_CONSUL_SERVICES_H
#define DISCOVERY_CONSUL_CONSUL_SERVICES_H

#include "base/table.h"
#include "base/vec.h"
#include "discovery/core/provider.h"

/* Maximum number of services. */
#define CONSUL_SERVICES_MAX 10000

/* A watch of the catalog, or of a service. */
struct consul_watch {
	struct provider *p;
	char *service; /* NULL: the catalog */
	/* X-Consul-Index of the last answer that was used; 0: none */
	uint64_t index;
	bool running;
	bool is_due; /* the query must be started as soon as possible */
	/* whether a query has ended, with or without success */
	bool known;
	bool is_failing; /* the last query has failed */
	/* the catalog or the configuration still names the service */
	bool wanted;
	int64_t started_ns; /* start of the last query */
	int64_t retry_ns;   /* no query may start before this time */
	/* targets; NULL: no answer was used yet */
	struct target_groups *groups;
};

/* The watches of services; { 0 } is an empty set. */
struct consul_services {
	VEC(struct consul_watch *) v;
	struct table by_name; /* indexes in `v` */
	size_t bytes;         /* of the targets of all services */
};

/* Return the watch of a service, or NULL. */
struct consul_watch *consul_services_find(const struct consul_services *s,
					  struct str name);

/*
 * Add a watch for the service `name`, which must not have a watch yet. The
 * query of the new watch is due at once. Return NULL if there are
 * CONSUL_SERVICES_MAX watches.
 */
struct consul_watch *consul_services_add(struct consul_services *s,
					 struct provider *p, struct str name);

/*
 * Remove watch number `i`, and cancel its query; the last watch gets the number
 * `i`.
 */
void consul_services_remove(struct consul_services *s, size_t i);

/*
 * Set the targets of the service of `w` to `groups`; take over the reference to
 * `groups`, also on an error. ERR_TOOBIG: the targets of all services would
 * take more than TARGET_GROUPS_BYTES_MAX; the service keeps its old targets.
 */
NODISCARD int consul_services_set(struct consul_services *s,
				  struct consul_watch *w,
				  struct target_groups *groups,
				  struct err *err);

/* Return whether the last query of at least one service has failed. */
bool consul_services_are_failing(const struct consul_services *s);

/*
 * Return whether, for each service, at least one query has ended, with or
 * without success.
 */
bool consul_services_are_known(const struct consul_services *s);

/* Add the targets of all services to a list. */
void consul_services_share(const struct consul_services *s,
			   struct target_groups_list *all);

/* Cancel all queries and free all watches. */
void consul_services_fini(struct consul_services *s);

#endif
