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

/* What an interface says about the virtual machine that has it. */
enum azure_nic_state {
	AZURE_NIC_MISSING, /* the interface does not exist */
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
	/*
	 * when the interface is forgotten and asked for again, in ms since the
	 * epoch
	 */
	int64_t drop_ms;
};

/* The interfaces that are known. A struct of zeros is empty. */
struct azure_nics {
	VEC(struct azure_nic) list;
	struct table by_id;
};

/* Free the interfaces. */
void azure_nics_fini(struct azure_nics *c);

/*
 * Return the interface with the ID `id`, ignoring upper and lower case; NULL:
 * the interface is not known.
 */
const struct azure_nic *azure_nics_find(const struct azure_nics *c,
					struct str id);

/*
 * Add the interface with the ID `id` from an answer, and keep it until
 * `drop_ms`. If `answer` is NULL, the interface is noted as missing. An
 * interface that is known already is not changed.
 */
void azure_nics_add(struct azure_nics *c, struct str id,
		    const struct yaml_node *answer, int64_t drop_ms);

/* Drop the interfaces whose `drop_ms` has passed. */
void azure_nics_expire(struct azure_nics *c, int64_t now_ms);

#endif
