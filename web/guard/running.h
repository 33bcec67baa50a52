/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running queries: a list of the queries in progress, with their progress, from
 * which queries are cancelled whose client has closed the connection. They
 * would use time and memory for an answer that nobody reads.
 *
 * Ownership: the caller owns the entries; they are listed until
 * running_remove().
 * Threads: any; one lock guards the list.
 */
#ifndef WEB_GUARD_RUNNING_H
#define WEB_GUARD_RUNNING_H

#include "base/json.h"
#include "query/select/query_progress.h"

enum {
	/* Size of an identifier, with its NUL. */
	RUNNING_ID_SIZE = 65
};

struct running;

/* A running query. */
struct running_query {
	struct query_progress progress;
	/* An identifier that the client has chosen, or a number. */
	char id[RUNNING_ID_SIZE];
	struct str path;  /* borrowed, as the next two */
	struct str query; /* the selector */
	struct str user;  /* empty: authentication is off */
	int64_t started_ms;
	/*
	 * Socket of the client, which is open as long as the entry is listed.
	 */
	int fd;
	bool listed; /* set by the thread of the request alone */
	struct running_query *prev;
	struct running_query *next;
};

/* Create an empty list. */
struct running *running_new(void);

/* Free the list, which must be empty; NULL is a no-op. */
void running_free(struct running *r);

/*
 * Add an entry. `id` becomes its identifier if it has 1 to 64 letters, digits,
 * "-" and "_"; otherwise the entry gets a number.
 */
void running_add(struct running *r, struct running_query *q, struct str id);

/* Remove an entry. Does nothing if it is not listed. */
void running_remove(struct running *r, struct running_query *q);

/*
 * Whether the client of a connection has closed it, or its sending side, as
 * HTTP clients do when they stop waiting for the answer.
 */
bool running_has_left(int fd);

/*
 * Cancel the queries whose client has closed the connection, or its sending
 * side. Returns their number. To be called several times a second.
 */
size_t running_sweep(struct running *r);

/*
 * Write the queries as [{"id","path","query","user","started","done",
 * "profiles","bytes"}], the oldest first; started is in ms since the epoch.
 */
void running_json(struct running *r, struct json *j);

#endif
