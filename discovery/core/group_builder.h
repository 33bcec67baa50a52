/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds target groups label by label, for discoveries whose sources do not
 * send target groups themselves.
 *
 * A label that cannot be kept is left out: its name or its value is too long,
 * or its value is not UTF-8. A label with an empty value is left out, too,
 * because an empty value means that the label does not exist.
 *
 * Ownership: a builder owns what it builds until group_builder_take(). Texts
 * are copied.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_CORE_GROUP_BUILDER_H
#define DISCOVERY_CORE_GROUP_BUILDER_H

#include "base/err.h"
#include "base/table.h"
#include "discovery/core/target_group.h"

/* Target groups that are being built. */
struct group_builder {
	struct target_groups *groups;
	VEC(struct target_group) list;
	/* targets of the group that is open */
	VEC(struct label_list) targets;
	/* labels of the group or target that is open */
	VEC(struct label) labels;
	/* the names of labels, each of which is stored once */
	struct table names_by_hash;
	VEC(struct str) names;
	struct buf name; /* the name of the label that is being added */
	size_t volume;   /* bytes of labels in all targets together */
	bool in_target;
	bool is_over; /* `volume` exceeds TARGET_GROUPS_BYTES_MAX */
};

/* Initialise a builder without groups. */
void group_builder_init(struct group_builder *b);

/* Free everything that was not taken. */
void group_builder_fini(struct group_builder *b);

/*
 * Begin a group. The labels that follow, up to group_target(), apply to all of
 * its targets.
 */
void group_begin(struct group_builder *b);

/*
 * Begin a target of the group. The labels that follow belong to the target.
 */
void group_target(struct group_builder *b);

/*
 * Return whether the targets exceed TARGET_GROUPS_BYTES_MAX. Labels and targets
 * are no longer added then. Loops over combinations, such as each address with
 * each port, call group_is_over() to end early, because a small answer can have
 * very many combinations.
 */
static inline bool group_is_over(const struct group_builder *b)
{
	return b->is_over;
}

/* Add a label to the group or target that was begun last. */
void group_label(struct group_builder *b, const char *name, struct str value);

/*
 * Add a label whose name is `prefix` followed by `name`, in which each
 * character other than a letter, a digit or _ becomes _.
 */
void group_label_of(struct group_builder *b, const char *prefix,
		    struct str name, struct str value);

/* Add a label with a number as its value. */
void group_label_int(struct group_builder *b, const char *name, int64_t value);

/*
 * Add the label __address__ of a host and a port; the host is written in
 * brackets if it is an IPv6 address. If `port` is negative, the address is only
 * the host, without brackets.
 */
void group_address(struct group_builder *b, struct str host, int64_t port);

/*
 * Check the size of the targets. ERR_TOOBIG: they exceed
 * TARGET_GROUPS_BYTES_MAX.
 */
NODISCARD int group_builder_check(const struct group_builder *b,
				  struct err *err);

/*
 * Set *out to the groups, and make the builder empty. The caller owns a
 * reference to *out. ERR_TOOBIG: the targets exceed TARGET_GROUPS_BYTES_MAX,
 * and the builder keeps the groups.
 */
NODISCARD int group_builder_take(struct group_builder *b,
				 struct target_groups **out, struct err *err);

#endif
