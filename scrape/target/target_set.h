/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target set: what the target groups of a job come to, target by target and
 * type by type, with what relabelling dropped and why.
 *
 * Ownership: reference counted; it holds its targets and the groups.
 * Threads: immutable once made, but for what struct target says.
 */
#ifndef SCRAPE_TARGET_TARGET_SET_H
#define SCRAPE_TARGET_TARGET_SET_H

#include "scrape/discovered.h"

/* A target and type: scraped, or dropped. */
struct target_entry {
	const struct target_group *group;
	const struct label_list *labels; /* its own */
	uint32_t type;
	const char *dropped;   /* why; NULL: it is scraped */
	struct target *target; /* NULL: it is dropped */
};

struct target_set {
	_Atomic uint32_t refs;
	struct arena arena;
	struct job_labels job;
	struct target_groups_list groups;
	struct target_entry *v;
	size_t count;
	size_t cap;
	size_t active;
	size_t dropped;      /* those that are not kept, too */
	const char *refused; /* why none is scraped; NULL: they are */
};

/*
 * Take over what is the same in before (NULL: nothing). The configuration is
 * borrowed for the call, groups and the client are counted.
 */
struct target_set *target_set_make(const struct scrape_config *c,
				   struct http_config *client,
				   const struct target_groups_list *groups,
				   const struct target_set *before);
struct target_set *target_set_ref(struct target_set *s);
void target_set_unref(struct target_set *s); /* NULL is a no-op */

#endif
