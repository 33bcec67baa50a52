/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets of one Consul service, from the answer of its health endpoint.
 *
 * Source: developer.hashicorp.com/consul/api-docs/health, "List Service
 * Instances for Service".
 *
 * Ownership: the caller owns the result.
 * Threads: pure functions.
 */
#ifndef DISCOVERY_CONSUL_CONSUL_HEALTH_H
#define DISCOVERY_CONSUL_CONSUL_HEALTH_H

#include "discovery/core/target_group.h"

/*
 * Make target groups of the answer `text`; the caller owns a reference to *out.
 * ERR_INVALID: `text` is not a list in JSON. ERR_TOOBIG: the targets exceed the
 * limits of target groups.
 */
NODISCARD int consul_health_parse(struct bytes text, struct str service,
				  struct str datacenter,
				  struct str tag_separator,
				  struct target_groups **out, struct err *err);

#endif
