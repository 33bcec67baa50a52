/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Catching up: decides how a remote-write queue sends a large backlog. Requests
 * are either packed (each profile is decompressed, and the request is compressed
 * as a whole, which takes the fewest bytes) or stored (profiles travel as they
 * are in the log, which takes the least CPU time). Packed requests are the rule;
 * a large backlog is sent in the way that is measured to be faster. Pure
 * (docs/decisions.md, 158).
 *
 * Ownership: plain values.
 * Threads: any; the caller guards a struct.
 * Units: bytes of decompressed profiles, nanoseconds of the monotonic clock.
 */
#ifndef REMOTEWRITE_SEND_CATCH_UP_H
#define REMOTEWRITE_SEND_CATCH_UP_H

#include "base/defs.h"
#include "base/units.h"

/* From this rate on, in bytes a second, packed requests are not tried. */
#define CATCH_UP_FAST (150 * MIB)

enum {
	/* A measurement takes at least this long, in ns, … */
	CATCH_UP_SPAN_NS = 1000000000,
	/* … and has at least this number of requests. */
	CATCH_UP_REQUESTS = 8,
	/* The slower way is tried again after this number of measurements. */
	CATCH_UP_PROBE = 16,
	/* Catching up ends when the backlog is this many times smaller, … */
	CATCH_UP_SHRUNK = 16,
	/* … or has this size in bytes, which a few requests have. */
	CATCH_UP_FLOOR = 8 << 20,
	/*
	 * A longer time without an accepted request counts as this long, in ns:
	 * the receiver was away, which says nothing about the two ways. On slow
	 * networks, both ways then seem equal, and packed requests are used.
	 */
	CATCH_UP_GAP_NS = 2000000000,
};

/* The state of a queue. { 0 } is that of a queue without a backlog. */
struct catch_up {
	bool active;
	bool refused; /* the receiver has refused stored profiles */
	bool stored;  /* the way that is being measured, and used */
	/* The measurement begins with the first request that is accepted. */
	int64_t last_ns;      /* when the last one was accepted; 0: none yet */
	int64_t span_ns;      /* of the measurement so far */
	uint64_t bytes;       /* that were sent in this way since it began */
	unsigned requests;    /* that were sent in this way since it began */
	unsigned since_probe; /* measurements since the other way was tried */
	unsigned failures;    /* of stored requests since the last success */
	/* bytes a second, of packed and of stored requests; 0: not known */
	double rates[2];
};

/*
 * Note the size of the backlog. Above `begin` the queue catches up, until the
 * backlog is much smaller; 0: never. Returns whether this changed `active`.
 */
bool catch_up_measure(struct catch_up *c, uint64_t backlog, uint64_t begin);

/* Return whether requests have profiles as they are stored. */
bool catch_up_is_stored(const struct catch_up *c);

/* Note that a request was accepted; the next one may be of the other way. */
void catch_up_note(struct catch_up *c, bool stored, uint64_t bytes,
		   int64_t now_ns);

/*
 * Note that a stored request did not arrive, perhaps because it was too large
 * for the network or a proxy. The next requests are packed. After each such
 * failure it takes twice as long until stored ones are tried again.
 */
void catch_up_fail(struct catch_up *c);

/* Note that the receiver refuses stored profiles, but accepts packed ones. */
void catch_up_refuse(struct catch_up *c);

#endif
