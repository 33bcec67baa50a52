/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push senders: who has pushed profiles lately, what became of them, and why the
 * last one was refused.
 *
 * Ownership: push_senders_free() frees the list. Texts are borrowed for a call
 * and copied.
 * Threads: any; a lock is inside.
 * Limits: SENDERS_MAX rows for senders, and STRANGERS_MAX for requests that were
 * refused before anybody looked at their profiles. A new row replaces the one
 * that was heard of the longest time ago.
 */
#ifndef PUSH_RECEIVE_PUSH_SENDERS_H
#define PUSH_RECEIVE_PUSH_SENDERS_H

#include "base/bytes.h"
#include "base/defs.h"

enum {
	SENDERS_MAX = 256,
	STRANGERS_MAX = 32,
	SENDER_TEXT_MAX = 128, /* longest text of a row, with its NUL */
	SENDER_WHY_MAX = 400   /* longest reason, with its NUL */
};

/* What became of a profile, or of a whole request. */
enum push_outcome {
	PUSH_STORED,  /* duplicates included */
	PUSH_DROPPED, /* by a relabelling rule */
	PUSH_REFUSED, /* for good: the client must not send it again */
	PUSH_DELAYED, /* not stored; the client may send it again */
	PUSH_OUTCOMES
};

/* Who has sent a profile. Empty texts: unknown. */
struct push_sender_key {
	const char *protocol; /* a constant */
	struct str service;   /* label service_name */
	struct str agent;     /* the header User-Agent */
	struct str user;      /* of the credentials */
	struct str address;   /* IP address, the latest one of the sender */
};

/* A row: a service that is sent by a kind of client. */
struct push_sender {
	const char *protocol;
	char service[SENDER_TEXT_MAX];
	char agent[SENDER_TEXT_MAX];
	char user[SENDER_TEXT_MAX];
	char address[SENDER_TEXT_MAX];
	uint64_t counts[PUSH_OUTCOMES]; /* since first_ms */
	int64_t first_ms;
	int64_t last_ms;
	/* The last outcome other than stored. 0 and "": there was none. */
	int64_t why_ms;
	char why[SENDER_WHY_MAX];
};

struct push_senders;

/* Create an empty list; never fails. */
struct push_senders *push_senders_new(void);

/* Free a list that no thread uses any more. NULL is a no-op. */
void push_senders_free(struct push_senders *s);

/*
 * Note what became of a profile. `why` says it in words; NULL if it was stored.
 */
void push_senders_note(struct push_senders *s, const struct push_sender_key *k,
		       enum push_outcome outcome, const char *why,
		       int64_t now_ms);

/*
 * Note a request that was refused before its profiles were looked at, because
 * of its credentials, for example. Its texts are those of a stranger.
 */
void push_senders_note_stranger(struct push_senders *s,
				const struct push_sender_key *k,
				const char *why, int64_t now_ms);

/* Call fn(arg, row) for each row, the latest first. */
void push_senders_each(struct push_senders *s,
		       void (*fn)(void *arg, const struct push_sender *row),
		       void *arg);

#endif
