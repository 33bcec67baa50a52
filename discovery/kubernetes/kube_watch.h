/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of a Kubernetes discovery, and the session that has them all. A
 * watch first lists the objects of a resource, page by page. It then sends
 * watch requests, through which the API server reports each change. The objects
 * go to the stores (kube_store.h), one at a time.
 *
 * When a watch request ends, the next one continues from the last
 * resourceVersion. The objects are listed again instead if the server does not
 * know that version any more (410 Gone), and after any other error that is not
 * a status 429, a status 500 or a failed connection. Objects that are missing
 * from the new list are removed. After an error, there is a pause of at least
 * 0.8 seconds, which grows to at most 60 seconds; a header Retry-After in an
 * answer with status 429 or above sets the length of the pause instead. Two
 * errors cause no pause: the failure of a list that can be requested in another
 * way (for example without pages), and a 410 to a watch request (unless the
 * last list ended only moments ago). After a watch request without an error,
 * the next watch request starts no earlier than one second after the start of
 * the previous request. The objects stay while the server does not answer.
 *
 * Source: kubernetes.io/docs/reference/using-api/api-concepts, "Efficient
 * detection of changes" and "Retrieving large results sets in chunks".
 *
 * Ownership: the session owns its watches.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_WATCH_H
#define DISCOVERY_KUBERNETES_KUBE_WATCH_H

#include "discovery/kubernetes/json_pieces.h"
#include "discovery/kubernetes/kube_access.h"
#include "discovery/kubernetes/kube_config.h"
#include "discovery/kubernetes/kube_store.h"

struct kube_session;

/* The state of a watch. KUBE_WAITING: no request is in flight. */
enum kube_phase {
	KUBE_WAITING,
	KUBE_LISTING,
	KUBE_WATCHING
};

/* How recent a list must be; see resourceVersion in the source above. */
enum kube_freshness {
	/*
	 * a list of the version kube_watch.version or, if the list is requested
	 * as one page, of this version or a newer version. If
	 * kube_watch.version is NULL, a list of any age
	 */
	KUBE_CACHED,
	KUBE_FRESH /* the newest list */
};

/* The lists and watch requests of one resource in one namespace. */
struct kube_watch {
	struct kube_session *s;
	enum kube_resource_id id;
	char *namespace; /* "": all */
	char *shown;     /* for messages */
	enum kube_phase phase;
	int64_t due_ns;   /* when the next request starts */
	bool wants_list;  /* whether the next request is for a list */
	bool wants_login; /* whether the watch waits for a credential plugin */
	bool is_synced;   /* a list was read to its end at least once */
	enum kube_freshness freshness;
	bool is_unpaged; /* the next list is requested as one page */
	char *version;   /* last resourceVersion; NULL: none */
	/* resourceVersion of the list in progress; NULL: none yet */
	char *list_version;
	char *next;    /* token of the next page; NULL: none */
	uint32_t list; /* number of the newest list, which may be in progress */
	size_t pages;  /* of the list in progress */
	int64_t listed_ns; /* when the last list ended */
	struct json_pieces pieces;
	int64_t started_ns;
	bool is_changed; /* the watch request had changes of objects */
	bool is_heard;   /* the watch request had changes or bookmarks */
	/*
	 * an error was reported; since then no list was complete, and no event
	 * came
	 */
	bool is_failing;
	/*
	 * objects of the last complete list, or of events after this list, were
	 * left out; see watch_report_refused()
	 */
	bool is_refusing;
	int64_t status; /* status code of an error event; 0: none */
	/*
	 * why an object of the list in progress was left out; code 0: no object
	 * was left out
	 */
	struct err refused;
	/* error from reading the body of the answer; code 0: none */
	struct err broken;
	/* length of the next pause, without the random part */
	int64_t pause_ms;
	int64_t paused_ns; /* when the last pause began */
};

/* The session of one discovery: its watches and its stores. */
struct kube_session {
	struct provider *p;
	const struct kube_config *config;
	struct kube_access *access;
	struct kube_stores stores;
	VEC(struct kube_watch *) watches;
	size_t lists;       /* number of requests for lists in flight */
	uint32_t last_list; /* number of the list that was begun last */
	/*
	 * some objects lack the labels of other objects, because of the memory
	 * limit
	 */
	bool is_lacking;
};

/*
 * Begin a session without watches. The caller then sets s->access, which the
 * session owns.
 */
void kube_session_init(struct kube_session *s, struct provider *p);

/* End all watches, and free the stores and the access. */
void kube_session_fini(struct kube_session *s);

/*
 * Add a watch for the resource `id` in `namespace`; if `namespace` is empty, in
 * all namespaces.
 */
void kube_session_add(struct kube_session *s, enum kube_resource_id id,
		      struct str namespace);

/*
 * Start the requests that are due. Returns the milliseconds until the next
 * request is due; INT64_MAX: every watch waits for something else (an answer, a
 * credential plugin, or the end of the list of another watch).
 */
int64_t kube_session_run(struct kube_session *s);

/* Let the watches that wait for a credential plugin send their requests. */
void kube_session_wake(struct kube_session *s);

/*
 * Return whether each watch has read a list of its objects to the end at least
 * once.
 */
bool kube_session_is_synced(const struct kube_session *s);

#endif
