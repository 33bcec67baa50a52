/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target groups: the result of a discovery, in Prometheus' terms. A target is a
 * list of labels that includes __address__. A label of a group applies to each
 * target of the group that has no label with the same name.
 *
 * Source: prometheus.io/docs/prometheus/latest/http_sd, "targets" and "labels".
 *
 * Ownership: groups that were found together share one reference count and one
 * arena, which owns their text. Text can also belong to a pool or to other
 * groups; the groups then hold references to that pool or those other groups.
 * Threads: immutable once made, share freely.
 */
#ifndef DISCOVERY_CORE_TARGET_GROUP_H
#define DISCOVERY_CORE_TARGET_GROUP_H

#include <stdatomic.h>

#include "base/vec.h"
#include "base/yaml.h"
#include "model/labels.h"

/*
 * Labels in the order of the source, not sorted. Of several labels with one
 * name, the first one counts.
 */
struct label_list {
	struct label *v;
	size_t count;
	/*
	 * the next list of labels of the same target or group, such as the
	 * labels of its node; NULL: none
	 */
	const struct label_list *rest;
};

/* Targets and the labels that all of them get. */
struct target_group {
	struct label_list labels;
	struct label_list *targets;
	size_t target_count;
};

struct text_pool;

/*
 * Groups that were found together, such as the groups of one file, one response
 * or one static_configs.
 */
struct target_groups {
	_Atomic uint32_t refs;
	struct arena arena;
	struct target_group *v;
	size_t count;
	size_t targets; /* number of targets in all groups */
	/*
	 * other groups whose label lists are used here; each element is NULL or
	 * holds a reference
	 */
	struct target_groups **parts;
	size_t part_count;
	/* pool with texts that other groups use, too; NULL: none */
	struct text_pool *texts;
};

/*
 * Maximum bytes of the labels of all targets that were found together. A label
 * of a group counts once for each target.
 */
#define TARGET_GROUPS_BYTES_MAX (256 * MIB)

/*
 * Name of the label with the URL from which the targets come. The query of the
 * URL may contain a secret, such as a token, so the query must not be shown.
 */
#define TARGET_META_URL "__meta_url"

/* Return target groups without elements; the caller owns a reference. */
struct target_groups *target_groups_new(void);

/* Take a reference and return `g`. */
struct target_groups *target_groups_ref(struct target_groups *g);

/* Drop a reference; the last one frees the groups. NULL is a no-op. */
void target_groups_unref(struct target_groups *g);

/*
 * A list of target groups, such as everything that the discoveries of a job
 * have found. The list holds one reference to each element.
 */
struct target_groups_list {
	struct target_groups **v;
	size_t count;
	size_t cap;
};

/* Append the elements of `from` to `l`, taking a reference to each. */
void target_groups_share(struct target_groups_list *l,
			 const struct target_groups_list *from);

/* Drop the references of the list and free its memory. */
void target_groups_list_fini(struct target_groups_list *l);

/* A label that decoding adds to every group, such as the path of the file. */
struct group_meta {
	const char *name;
	struct str value;
};

/*
 * Decode a list of {targets: [address, …], labels: {name: value, …}}; `what`
 * names the list in messages. Errors are reported to `y`, and the result is
 * then incomplete. The label `meta` (may be NULL) is added to each group. The
 * caller owns a reference.
 */
struct target_groups *target_groups_decode(struct yaml *y,
					   const struct yaml_node *list,
					   const char *what,
					   const struct group_meta *meta);

/* Return whether an address has the form host, host:port, [v6] or [v6]:port. */
bool target_address_is_ok(struct str address);

#endif
