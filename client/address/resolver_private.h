/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types that the files of the resolver share. No other file includes this
 * header.
 *
 * Ownership: the resolver owns its entries. The state that it shares with
 * threads is reference counted, because threads may outlive the resolver.
 * Threads: shared.mu guards the data that threads and the loop share; all other
 * data belong to the loop.
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

/*
 * A cached name with its addresses. Each entry is allocated on its own and does
 * not move in memory, because lookups point to it.
 */
struct entry {
	char *name;
	uint64_t hash;
	VEC(struct asker) askers;
	char *addresses;  /* as text; NULL: not found, or not looked up yet */
	int64_t found_ns; /* when `addresses` were found */
	int failed;       /* EAI_* of the last lookup; 0: it succeeded */
	/* until when the answer is fresh; 0: never looked up */
	int64_t until_ns;
	int64_t since_ns;   /* when the current lookup was requested */
	bool wanted;        /* a lookup is queued or in progress */
	bool slow;          /* the last lookup was slow */
	struct entry *next; /* next entry in the queue */
};

/* A queue of entries whose lookup waits for a thread, first in, first out. */
struct queue {
	struct entry *first;
	struct entry *last;
};

/*
 * How long the next lookup of a name is expected to take: as long as the last
 * one; SPEED_UNKNOWN before the first one. Each speed has a queue and threads
 * of its own.
 */
enum lookup_speed {
	SPEED_FAST,
	SPEED_UNKNOWN,
	SPEED_SLOW,
	SPEED_COUNT
};

/* A lookup in progress or done; see resolver_lookup.h. */
struct lookup {
	struct shared *shared;
	char *name;
	struct entry *entry; /* the name's entry; only the loop uses it */
	int64_t took_ns;     /* duration of the lookup */
	char *addresses;
	int failed; /* error EAI_* if `addresses` is NULL */
	struct lookup *next;
};

/*
 * State that lookups share with the resolver; it survives the resolver while
 * lookups are in progress.
 */
struct shared {
	_Atomic uint32_t refs;
	struct mutex mu;
	/* list of finished lookups that the loop has not taken */
	struct lookup *done;
	/* tells the loop about finished lookups; NULL: the resolver is gone */
	void (*wake)(void *ctx);
	void *ctx;
};

/* The cache of names and the lookups in progress. */
struct resolver {
	struct shared *shared;
	VEC(struct entry *) entries;
	struct table by_name; /* finds the index in `entries` by name */
	/* unneeded names are evicted when the cache has this many names */
	size_t names_max;
	struct queue queues[SPEED_COUNT];
	/* number of lookups in progress, by speed */
	unsigned running[SPEED_COUNT];
	/* time of the next check for slow lookups; 0: none */
	int64_t due_ns;
	int64_t (*now)(void); /* monotonic clock, in ns */
};

#endif
