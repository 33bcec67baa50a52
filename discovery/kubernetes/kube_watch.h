/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of a Kubernetes discovery, and the session that has them all. A
 * watch lists the objects of a resource, page
 * by page, and then gets each change from the API server. The objects go to the
 * stores, one at a time.
 *
 * When a watch ends, the next one continues from the last resourceVersion. When
 * the server does not know that version any more (410 Gone), the objects are
 * listed again; those that are missing from the new list are removed. After
 * other errors, and after a 410 that comes soon after a list, there is a pause
 * of at least 0.8 seconds, which grows to at most 60 seconds. Watches that end
 * early although they had changes start at most once a second. The objects stay
 * while the server does not answer.
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

/* The state of a watch. */
enum kube_phase {
	KUBE_WAITING,
	KUBE_LISTING,
	KUBE_WATCHING
};

/* How recent a list must be; see resourceVersion in the documentation above. */
enum kube_freshness {
	KUBE_CACHED, /* at least as new as `version` */
	KUBE_FRESH   /* the newest */
};

/* A watch of one resource in one namespace. */
struct kube_watch {
	struct kube_session *s;
	enum kube_resource_id id;
	char *namespace; /* "": all */
	char *shown;     /* for messages */
	enum kube_phase phase;
	int64_t due_ns;   /* when the next request starts */
	bool wants_list;  /* whether that is a list */
	bool wants_login; /* it waits for a credential plugin */
	bool is_synced;   /* it was listed once */
	enum kube_freshness freshness;
	bool is_unpaged;    /* the next list is requested as one page */
	char *version;      /* last resourceVersion; NULL: none */
	char *list_version; /* resourceVersion of the list in progress */
	char *next;         /* token of the next page; NULL: none */
	uint32_t list;      /* number of the list in progress */
	size_t pages;       /* of the list in progress */
	int64_t listed_ns;  /* when the last list ended */
	struct json_pieces pieces;
	int64_t started_ns;
	bool is_changed;    /* this watch had changes of objects */
	bool is_heard;      /* it had changes or bookmarks */
	bool is_failing;    /* the last request has failed */
	bool is_refusing;   /* the last list had objects that were left out */
	int64_t status;     /* status code of an error event; 0: none */
	struct err refused; /* why an object was left out; code 0: none was */
	struct err broken; /* what was wrong with the answer; code 0: nothing */
	int64_t pause_ms;  /* length of the next pause */
	int64_t paused_ns; /* when the last pause began */
};

/* A session. */
struct kube_session {
	struct provider *p;
	const struct kube_config *config;
	struct kube_access *access;
	struct kube_stores stores;
	VEC(struct kube_watch *) watches;
	size_t lists;       /* number of lists in progress */
	uint32_t last_list; /* number of the last list */
	/* objects lack the labels of others, for lack of memory */
	bool is_lacking;
};

/* Begin a session without watches. */
void kube_session_init(struct kube_session *s, struct provider *p);

/* End all watches, and free the stores. */
void kube_session_fini(struct kube_session *s);

/* Add a watch for a resource in a namespace; empty: in all of them. */
void kube_session_add(struct kube_session *s, enum kube_resource_id id,
		      struct str namespace);

/*
 * Start the requests that are due. Returns the milliseconds until the next one
 * is due, or INT64_MAX.
 */
int64_t kube_session_run(struct kube_session *s);

/* Make the watches that wait for credentials due. */
void kube_session_wake(struct kube_session *s);

/* Return whether each watch has listed its objects once. */
bool kube_session_is_synced(const struct kube_session *s);

#endif
