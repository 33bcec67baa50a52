/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types that the files of the resolver share. No other file includes this
 * header.
 *
 * Ownership: the resolver owns its entries. The state that is shared with
 * threads is reference counted, because threads may outlive the resolver.
 * Threads: shared.mu guards what threads and the loop share; everything else
 * belongs to the loop.
 */
#ifndef CLIENT_ADDRESS_RESOLVER_PRIVATE_H
#define CLIENT_ADDRESS_RESOLVER_PRIVATE_H

#include <stdatomic.h>

#include "base/mutex.h"
#include "base/table.h"
#include "base/vec.h"
#include "client/address/resolver.h"

/* A caller that waits for an answer. */
struct asker {
	resolver_fn fn;
	void *ctx;
};

/* A cached name. Entries do not move, because lookups point to them. */
struct entry {
	char *name;
	uint64_t hash;
	VEC(struct asker) askers;
	char *addresses;    /* NULL: not found, or not looked up yet */
	int64_t found_ns;   /* when addresses were looked up */
	int failed;         /* EAI_* of the last lookup; 0: it succeeded */
	int64_t until_ns;   /* end of freshness; 0: never looked up */
	int64_t since_ns;   /* when the current lookup was requested */
	bool wanted;        /* queued or being looked up */
	bool slow;          /* the last lookup was slow */
	struct entry *next; /* next entry in the queue */
};

/* Entries that wait for a thread, first in, first out. */
struct queue {
	struct entry *first;
	struct entry *last;
};

/*
 * How long the lookup of a name is expected to take, judging by its previous
 * lookup. Each pace has a queue and threads of its own.
 */
enum pace {
	QUICK,
	UNKNOWN,
	SLOW,
	PACES
};

/* A lookup in progress or done; see resolver_lookup.h. */
struct lookup {
	struct shared *shared;
	char *name;
	struct entry *entry; /* the name's entry; for the loop only */
	int64_t took_ns;     /* duration of the lookup */
	char *addresses;
	int failed; /* EAI_* error, if addresses is NULL */
	struct lookup *next;
};

/*
 * State that lookups share with the resolver; it survives the resolver while
 * lookups are in progress.
 */
struct shared {
	_Atomic uint32_t refs;
	struct mutex mu;
	struct lookup *done;     /* finished, not yet taken by the loop */
	void (*wake)(void *ctx); /* NULL: the resolver is gone */
	void *ctx;
};

/* The cache of names and the lookups in progress. */
struct resolver {
	struct shared *shared;
	VEC(struct entry *) entries;
	struct table by_name; /* name to index in entries */
	/* number of names at which unneeded ones are evicted */
	size_t names_max;
	struct queue queues[PACES];
	unsigned running[PACES]; /* number of lookups in progress */
	/* time of the next check for slow lookups; 0: none */
	int64_t due_ns;
	int64_t (*now)(void); /* monotonic clock, in ns */
};

#endif
