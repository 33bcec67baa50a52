/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the containers among targets: their IDs, and the labels that describe
 * them.
 *
 * Ownership: everything that fn() gets is borrowed for that call of fn().
 * Threads: any.
 */
#ifndef DISCOVERY_CONTAINER_TARGETS_H
#define DISCOVERY_CONTAINER_TARGETS_H

#include "discovery/core/target_group.h"

/*
 * Take the container whose ID is `id`; `labels` are `count` labels that
 * describe the container. Returns false to end the visit.
 */
typedef bool (*container_fn)(void *ctx, struct str id,
			     const struct label *labels, size_t count);

/*
 * Call fn() for each target that has a container ID. Of the labels of the
 * target and of its group, fn() gets those whose names begin with "__meta_".
 * Labels that describe a port are left out: a container can have one target for
 * each of its ports, and these labels do not describe the container.
 */
void container_targets_visit(const struct target_groups_list *list,
			     container_fn fn, void *ctx);

#endif
