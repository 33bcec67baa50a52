/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role `instance` of openstack_sd_configs, and what all roles share.
 *
 * Source: docs.openstack.org/api-ref: compute, "List Servers Detailed";
 * network/v2, "List ports" and "List floating IPs".
 *
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_OPENSTACK_OPENSTACK_INSTANCES_H
#define DISCOVERY_OPENSTACK_OPENSTACK_INSTANCES_H

#include "discovery/openstack/keystone.h"

/* An entry of openstack_sd_configs. */
struct openstack_config {
	struct keystone_config account;
	bool all_tenants;
};

/*
 * The members of a struct rest_step for an answer that has its items at the key
 * `list`, and the URL of the next page at <list>_links. `list` must be a string
 * literal.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define OPENSTACK_PAGES(list)                     \
	.items = list, .paging = REST_NEXT_QUERY, \
	.next = list "_links[rel=next].href"
/* NOLINTEND(bugprone-macro-parentheses) */

/* The role `instance`. */
extern const struct rest_table openstack_instance_table;

/*
 * Write the URL of the list of floating IPs; for the member `url` of a struct
 * rest_step.
 */
bool openstack_write_floating(struct rest_run *r, size_t i, struct buf *out);

#endif
