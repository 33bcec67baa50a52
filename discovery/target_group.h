/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target groups: what a discovery says, as Prometheus' target groups. A target
 * is a list of labels, __address__ among them; a group's labels are those of
 * all its targets that do not have them.
 *
 * Source: prometheus.io/docs/prometheus/latest/http_sd, "targets" and "labels".
 *
 * Ownership: groups that were found together are counted as one; their text
 * lives in them.
 * Threads: immutable once made, share freely.
 */
#ifndef DISCOVERY_TARGET_GROUP_H
#define DISCOVERY_TARGET_GROUP_H

#include <stdatomic.h>

#include "base/vec.h"
#include "base/yaml.h"
#include "model/labels.h"

struct label_list {
	struct label *v;
	size_t count;
};

struct target_group {
	struct label_list labels;
	struct label_list *targets;
	size_t target_count;
};

/* What one file, one answer or one static_configs says. */
struct target_groups {
	_Atomic uint32_t refs;
	struct arena arena;
	struct target_group *v;
	size_t count;
	size_t targets; /* of all */
};

struct target_groups *target_groups_ref(struct target_groups *g);
void target_groups_unref(struct target_groups *g); /* NULL is a no-op */

/* All that the discoveries of a job say; each of them counted. */
struct target_groups_list {
	struct target_groups **v;
	size_t count;
	size_t cap;
};

/* Add all of another list. */
void target_groups_share(struct target_groups_list *l,
			 const struct target_groups_list *from);
void target_groups_list_fini(struct target_groups_list *l);

/* A label that all targets of decoded groups get. */
struct group_meta {
	const char *name;
	struct str value;
};

/*
 * Decode a list of {targets: [address, …], labels: {name: value, …}}, called
 * what in messages. Errors go to y. meta may be NULL. The caller owns a
 * reference.
 */
struct target_groups *target_groups_decode(struct yaml *y,
					   const struct yaml_node *list,
					   const char *what,
					   const struct group_meta *meta);

/* host:port, [v6]:port, or a host alone. */
bool target_address_is_ok(struct str address);

#endif
