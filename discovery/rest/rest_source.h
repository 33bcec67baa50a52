/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service discoveries that ask an HTTP API: fetch, page by page, and map fields
 * to labels. A kind of discovery is a table of requests and of labels.
 *
 * A refresh sends the requests of the table in order, and each page of an
 * answer in order. The items of the last step become targets; answers of the
 * steps before are kept until the refresh has ended, to look things up in them.
 * If a request fails, and its step does not allow that, the refresh fails, and
 * the targets that were found before stay. There are limits on the size of each
 * answer, of all answers that are kept, and on the number of requests; the time
 * limit of a request is the refresh interval.
 *
 * Ownership: a run belongs to the provider, and lasts for one refresh.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_REST_REST_SOURCE_H
#define DISCOVERY_REST_REST_SOURCE_H

#include "discovery/core/group_builder.h"
#include "discovery/core/provider.h"
#include "discovery/rest/document.h"
#include "discovery/rest/field_row.h"
#include "discovery/rest/rest_account.h"
#include "discovery/rest/rest_answer.h"

struct rest_run;

/* How the pages of an answer follow each other. */
enum rest_paging {
	REST_SINGLE, /* there is one page */
	/* the answer has the number of the next page; null: none */
	REST_NEXT_NUMBER,
	/* the answer has the number of pages */
	REST_PAGE_COUNT,
	/* the answer has the URL of the next page */
	REST_NEXT_URL,
	/*
	 * the answer has the URL of the next page, of which only the query
	 * counts, because servers behind a proxy do not know their own URL
	 */
	REST_NEXT_QUERY,
	/* the answer has a text to be sent for the next page */
	REST_NEXT_TOKEN,
	/*
	 * the answer does not say; the last page has no items, or is the same
	 * as the page before, if the API does not support pages
	 */
	REST_UNTIL_EMPTY
};

/* A request, and those for its further pages. */
struct rest_step {
	/*
	 * path and query after the base URL; NULL without `url` ends the table
	 */
	const char *path;
	/*
	 * path of the list in the answer, see document.h; "*.<path>" means that
	 * the answer is a list, and each of its items has a list at <path>
	 */
	const char *items;
	/* path of what `paging` needs from the answer */
	const char *next;
	/* query parameter, or form field, for the number or text of a page */
	const char *page_param;
	/* path of the text by which rest_lookup() finds items */
	const char *index;
	/*
	 * Writes the URL instead of base URL and `path`; called with i = 0, 1,
	 * … until it returns false. `out` begins with the base URL. May be
	 * NULL.
	 */
	bool (*url)(struct rest_run *r, size_t i, struct buf *out);
	/* Writes the body of a POST request; NULL: GET requests. */
	void (*body)(struct rest_run *r, struct buf *out);
	/*
	 * Takes each item at once, so that answers of many requests are not
	 * kept. NULL: items are kept, or made into targets.
	 */
	void (*take)(struct rest_run *r, const struct yaml_node *item);
	/*
	 * an HTTP error status that only means that there are no items; 0: none
	 */
	long tolerated;
	enum rest_paging paging;
	/* any failure only means that there are no items; logged at LOG_DEBUG */
	bool is_optional;
};

/* A service discovery, or one role of it. */
struct rest_table {
	/* value of the key `role`; NULL: there are no roles */
	const char *role;
	const struct rest_step *steps;
	/*
	 * Makes targets of an item of the last step. NULL: each item is one
	 * target, by the members below.
	 */
	void (*map)(struct rest_run *r, const struct yaml_node *item);
	/* labels of the target */
	const struct field_row *fields;
	/* path of the host of the target */
	const char *host;
	/* path of its port; NULL: the key `port` */
	const char *port;
	/* path of a value that an item needs to become a target; NULL: none */
	const char *needs;
	/* further headers "Name: value"; may be NULL */
	const char *const *headers;
	/* how credentials are got; NULL: by the options of HTTP requests */
	const struct rest_account_kind *account;
	/*
	 * Called at the start of a refresh, when the credentials are there; can
	 * add to r->headers, and change r->server. May be NULL.
	 */
	int (*begin)(struct rest_run *r, struct err *err);
	/*
	 * Completes each request before it is sent, for example to sign it.
	 * May be NULL.
	 */
	void (*prepare)(struct rest_run *r, struct rest_request *q);
	/*
	 * Makes targets when all answers are there, instead of map(); the items
	 * of the last step are then kept, too. ERR_INVALID: an answer cannot be
	 * used. May be NULL.
	 */
	int (*finish)(struct rest_run *r, struct err *err);
	/* answers are XML, not JSON */
	bool is_xml;
	/*
	 * Frees *r->kept, the data that a kind keeps from one refresh to the
	 * next. NULL: it keeps nothing.
	 */
	void (*drop)(void *kept);
};

enum {
	REST_STEPS_MAX = 6 /* number of steps of a table */
};

/* One refresh. */
struct rest_run {
	struct provider *p;
	const struct rest_config *config;
	struct group_builder b;
	void **kept; /* see rest_table.drop; NULL at first */
	struct rest_answer answers[REST_STEPS_MAX];
	void *account;       /* data of the account; NULL: none */
	struct str server;   /* base URL */
	char *own_server;    /* owns `server`, if begin() has made it */
	char *url_sent;      /* the URL of the request under way */
	char *body_sent;     /* its body */
	VEC(char *) headers; /* headers that begin() added */
	bool has_secret;     /* they have a secret */
	size_t step;         /* the step in progress */
	size_t url_number;   /* number of the URL in the step */
	int64_t page;        /* number of the page, from 1 */
	uint64_t page_hash;  /* hash of the last page */
	/* the page is the same as the one before, so there are no more pages */
	bool is_repeated;
	size_t memory; /* bytes that the kept answers take */
	size_t requests;
	uint64_t hash; /* hash of all answers */
};

/* Return the number of items of a step that are kept. */
size_t rest_count(const struct rest_run *r, size_t step);

/* Return item number `i` of a step; NULL: there are fewer. */
const struct yaml_node *rest_item(const struct rest_run *r, size_t step,
				  size_t i);

/* Return the number of the URL that an item came from; see rest_step.url. */
size_t rest_item_url(const struct rest_run *r, size_t step, size_t i);

/*
 * Return the item of a step whose text at step->index is `key`; NULL: none.
 */
const struct yaml_node *rest_lookup(struct rest_run *r, size_t step,
				    struct str key);

/* The functions of a struct provider_kind. */
void *rest_open(struct provider *p);
void rest_refresh(struct provider *p);
void rest_close(struct provider *p);

/* The members of a struct provider_kind that do not differ. */
#define REST_FUNCTIONS \
	.open = rest_open, .refresh = rest_refresh, .close = rest_close
#define REST_KIND .check = rest_check, REST_FUNCTIONS

#endif
