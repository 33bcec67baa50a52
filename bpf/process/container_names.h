/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of containers, which service discovery has found out
 * (discovery/container_targets.h). A struct container_set maps the ID of a
 * container to labels whose names begin with "__meta_". The collector gives
 * these labels to the processes of the container, for relabelling.
 *
 * Ownership: a set is shared by counted references. A struct container_names
 * has a reference to the newest set.
 * Threads: any thread may call container_names_set() and container_names_get().
 * A set is written by one thread, and does not change after
 * container_names_set().
 * Locks: the mutex of struct container_names guards its reference.
 */
#ifndef BPF_PROCESS_CONTAINER_NAMES_H
#define BPF_PROCESS_CONTAINER_NAMES_H

#include "model/labels.h"

enum {
	/*
	 * Limits of a set: number of containers, and bytes of their IDs and
	 * labels.
	 */
	CONTAINERS_MAX = 16 << 10,
	CONTAINERS_BYTES_MAX = 32 << 20,
};

struct container_names;
struct container_set;

/* A container. */
struct container {
	struct str id;
	const struct label *labels;
	size_t count;
	uint64_t hash; /* of the labels */
};

/* Make a set without containers; the caller has a reference. */
struct container_set *container_set_new(void);

/* Drop a reference; the last one frees the set. NULL is a no-op. */
void container_set_unref(struct container_set *s);

/*
 * Add a container, and copy its texts. If the set already has a container with
 * this ID, nothing changes. ERR_LIMIT: the set is full.
 */
NODISCARD int container_set_add(struct container_set *s, struct str id,
				const struct label *labels, size_t count,
				struct err *err);

/*
 * Return the container `id`, borrowed until the set changes; NULL: the set does
 * not have it.
 */
const struct container *container_set_find(const struct container_set *s,
					   struct str id);

/* Return the number of containers. */
size_t container_set_count(const struct container_set *s);

/* Make a struct container_names, which has no set yet. */
struct container_names *container_names_new(void);

/*
 * Free a struct container_names that no thread uses any more. NULL is a no-op.
 */
void container_names_free(struct container_names *n);

/* Replace the set by `s`, whose reference is taken over. */
void container_names_set(struct container_names *n, struct container_set *s);

/* Return a reference to the set; NULL: there is none yet. */
struct container_set *container_names_get(struct container_names *n);

#endif
