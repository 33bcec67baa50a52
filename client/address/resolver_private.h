/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the resolver share. No file outside of them includes it.
 *
 * Ownership: the resolver owns its entries; shared state is counted, for threads
 * may outlive the resolver.
 * Threads: shared.mu guards what threads and the loop share; the rest is the
 * loop's.
 */
#ifndef CLIENT_ADDRESS_RESOLVER_PRIVATE_H
#define CLIENT_ADDRESS_RESOLVER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/table.h"
#include "base/vec.h"
#include "client/address/resolver.h"

struct asker {
	resolver_fn fn;
	void *ctx;
};

/* A name, while it is known. Its address stands. */
struct entry {
	char *name;
	uint64_t hash;
	VEC(struct asker) askers;
	char *addresses; /* NULL: none, or none yet */
	int64_t found_ns;
	int failed;       /* why the last lookup did: EAI_*; 0: it did not */
	int64_t until_ns; /* 0: nothing is known */
	int64_t since_ns; /* that it is wanted */
	bool wanted;      /* is in a queue, or has a thread */
	bool slow;
	struct entry *next; /* in the queue */
};

/* Entries that wait for a thread, those that came first first. */
struct queue {
	struct entry *first;
	struct entry *last;
};

/* What may be expected of a lookup by the last one: each has its queue. */
enum pace {
	QUICK,
	UNKNOWN,
	SLOW,
	PACES
};

/* One lookup: its thread's until it is done. */
struct lookup {
	struct shared *shared;
	char *name;
	struct entry *entry; /* the loop's */
	int64_t took_ns;
	char *addresses;
	int failed;
	struct lookup *next;
};

/* What threads know of the resolver, which may be gone. */
struct shared {
	_Atomic uint32_t refs;
	pthread_mutex_t mu;
	struct lookup *done;
	void (*wake)(void *ctx); /* NULL: the resolver is gone */
	void *ctx;
};

struct resolver {
	struct shared *shared;
	VEC(struct entry *) entries;
	struct table by_name;
	size_t names_max; /* then those that nobody needs are dropped */
	struct queue queues[PACES];
	unsigned running[PACES]; /* lookups */
	int64_t due_ns; /* when the askers are looked at; 0: need not */
	int64_t (*now)(void);
};

#endif
