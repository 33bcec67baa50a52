/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Service discoveries that ask an HTTP API: they fetch answers, page by page,
 * and map fields of the answers to labels. A kind of discovery, or one of its
 * roles, is a struct rest_table, which describes the requests and the labels.
 *
 * A table has steps. A refresh performs the steps in order: each step sends the
 * requests for its URLs, and fetches all pages of each answer. Usually, the
 * items of the last step become targets, and the answers of the steps before
 * are kept until the refresh has ended, for lookups. If a request fails, and
 * its step does not allow that, the refresh fails, and the targets that were
 * found before stay. There are limits on the size of each page, on the memory
 * of all pages that are kept, and on the number of requests. The time limit of
 * a request is the refresh interval.
 *
 * Ownership: a struct rest_run belongs to the provider, and lasts for one
 * refresh.
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
	/*
	 * the answer has the number of the next page; if the number is absent
	 * or null, there is no next page
	 */
	REST_NEXT_NUMBER,
	/* the answer has the total number of pages */
	REST_PAGE_COUNT,
	/* the answer has the URL of the next page */
	REST_NEXT_URL,
	/*
	 * the answer has the URL of the next page. Only the query of this URL
	 * is used, because servers behind a proxy do not know their own URL
	 */
	REST_NEXT_QUERY,
	/*
	 * the answer has a token that the request for the next page must
	 * contain; if the token is absent or empty, there is no next page
	 */
	REST_NEXT_TOKEN,
	/*
	 * the answer does not tell whether there is a next page. A page without
	 * items is the last one. If the API does not support pages, the second
	 * page is the same as the first, and is the last one
	 */
	REST_UNTIL_EMPTY
};

/*
 * A step: requests for items of one type, and the requests for further pages of
 * the answers.
 */
struct rest_step {
	/*
	 * path and query after the base URL; an element that has neither `path`
	 * nor `url` ends the array of steps
	 */
	const char *path;
	/*
	 * path of the list in the answer, see document.h; "*.<path>" means that
	 * the answer is a list, and each of its items has a list at <path>
	 */
	const char *items;
	/* path in the answer of the number, URL or token for `paging` */
	const char *next;
	/*
	 * name of the query parameter, or of the form field in `body`, for the
	 * number or token of a page
	 */
	const char *page_param;
	/* path of the text by which rest_lookup() finds items */
	const char *index;
	/*
	 * Writes URL number `i` of the step. When this function is called,
	 * `out` contains the base URL; the function appends path and query, or
	 * replaces the base URL. Called with i = 0, 1, … until it returns
	 * false, and perhaps again with the same `i` for a further page. NULL:
	 * the step has one URL, the base URL followed by `path`.
	 */
	bool (*url)(struct rest_run *r, size_t i, struct buf *out);
	/* Writes the body of a POST request; NULL: GET requests. */
	void (*body)(struct rest_run *r, struct buf *out);
	/*
	 * Takes each item as soon as its page has come, so that the answers of
	 * a step with many requests need not be kept. NULL: items are kept, or
	 * made into targets.
	 */
	void (*take)(struct rest_run *r, const struct yaml_node *item);
	/*
	 * an HTTP error status that only means that there are no items; 0: none
	 */
	long tolerated;
	enum rest_paging paging;
	/*
	 * whether the refresh goes on without the items of a request that has
	 * failed, unless a limit of everprof is exceeded; the failure is logged
	 * at LOG_DEBUG
	 */
	bool is_optional;
};

/* A service discovery, or one role of it. */
struct rest_table {
	/* value of the key `role`; NULL: there are no roles */
	const char *role;
	const struct rest_step *steps;
	/*
	 * Makes targets of an item of the last step. NULL: each item becomes
	 * one target, as `fields`, `host`, `port` and `needs` say.
	 */
	void (*map)(struct rest_run *r, const struct yaml_node *item);
	/* labels of the target */
	const struct field_row *fields;
	/* path of the host of the target */
	const char *host;
	/*
	 * path of the port of the target; NULL: the port is the value of the
	 * configuration key `port`
	 */
	const char *port;
	/* path of a value that an item needs to become a target; NULL: none */
	const char *needs;
	/* further headers "Name: value"; may be NULL */
	const char *const *headers;
	/* how credentials are obtained; NULL: by the configured HTTP options */
	const struct rest_account_kind *account;
	/*
	 * Called at the start of a refresh, when the credentials are there; can
	 * add to r->headers, and change r->server. An error ends the refresh.
	 * May be NULL.
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
	 * next. NULL: the kind keeps nothing.
	 */
	void (*drop)(void *kept);
};

enum {
	REST_STEPS_MAX = 6 /* largest number of steps of a table */
};

/* One refresh. */
struct rest_run {
	struct provider *p;
	const struct rest_config *config;
	struct group_builder b;
	void **kept; /* see rest_table.drop; *kept is NULL at first */
	struct rest_answer answers[REST_STEPS_MAX];
	void *account;     /* data of the account; NULL: none */
	struct str server; /* base URL */
	/* text of `server`, if begin() allocated it; else NULL */
	char *own_server;
	char *url_sent;      /* the URL of the request under way */
	char *body_sent;     /* the body of that request */
	VEC(char *) headers; /* headers that begin() added */
	bool has_secret;     /* `headers` has a secret */
	size_t step;         /* the step in progress */
	size_t url_number;   /* number of the URL in the step */
	int64_t page;        /* number of the page, from 1 */
	uint64_t page_hash;  /* hash of the page that came last */
	/* the page is the same as the one before, so there are no more pages */
	bool is_repeated;
	size_t memory; /* bytes that the kept answers take */
	size_t requests;
	uint64_t hash; /* hash of all answers */
};

/* Return the number of items of a step that are kept. */
size_t rest_count(const struct rest_run *r, size_t step);

/* Return item number `i` of a step; NULL: the step has fewer items. */
const struct yaml_node *rest_item(const struct rest_run *r, size_t step,
				  size_t i);

/*
 * Return the number of the URL from which item number `i` of a step came; see
 * rest_step.url.
 */
size_t rest_item_url(const struct rest_run *r, size_t step, size_t i);

/*
 * Return the first item of step number `step` whose text at the path
 * rest_step.index is `key`; NULL: there is none.
 */
const struct yaml_node *rest_lookup(struct rest_run *r, size_t step,
				    struct str key);

/* The functions of a struct provider_kind. */
void *rest_open(struct provider *p);
void rest_refresh(struct provider *p);
void rest_close(struct provider *p);

/*
 * The members of a struct provider_kind that are the same for all kinds with a
 * struct rest_table. REST_KIND is for kinds that need no check() of their own.
 */
#define REST_FUNCTIONS \
	.open = rest_open, .refresh = rest_refresh, .close = rest_close
#define REST_KIND .check = rest_check, REST_FUNCTIONS

#endif
