/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network interfaces of Azure's virtual machines. Each interface needs a
 * request of its own, and the resource manager limits the number of requests.
 * Therefore answers are kept for some refreshes.
 *
 * Source: learn.microsoft.com/rest/api/virtualnetwork/network-interfaces/get.
 *
 * Ownership: a cache owns its interfaces; results are borrowed until the next
 * change of the cache.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_AZURE_AZURE_NICS_H
#define DISCOVERY_AZURE_AZURE_NICS_H

#include "base/table.h"
#include "discovery/rest/rest_source.h"

/* What an interface says of the virtual machine. */
enum azure_nic_state {
	AZURE_NIC_MISSING, /* it does not exist */
	AZURE_NIC_OTHER,   /* another interface must be looked at */
	AZURE_NIC_IDLE,    /* the machine is not allocated */
	/* the machine's addresses are those of this interface */
	AZURE_NIC_PRIMARY
};

/* An interface. */
struct azure_nic {
	char *id; /* in lower case, as IDs come in different cases */
	enum azure_nic_state state;
	char *private_ip;
	char *public_ip; /* empty: none */
	int64_t drop_ms; /* when it must be asked for again */
};

/* The interfaces that are known. A struct of zeros is empty. */
struct azure_nics {
	VEC(struct azure_nic) list;
	struct table by_id;
};

/* Free the interfaces. */
void azure_nics_fini(struct azure_nics *c);

/* Return the interface with this ID; NULL: it is not known. */
const struct azure_nic *azure_nics_find(const struct azure_nics *c,
					struct str id);

/*
 * Add an interface from an answer, and keep it until `drop_ms`. If `answer` is
 * NULL, the interface is noted as missing.
 */
void azure_nics_add(struct azure_nics *c, struct str id,
		    const struct yaml_node *answer, int64_t drop_ms);

/* Drop the interfaces whose `drop_ms` has passed. */
void azure_nics_expire(struct azure_nics *c, int64_t now_ms);

#endif
