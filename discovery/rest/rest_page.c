/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/rest_page.h"

#include <stdio.h>
#include <string.h>

#include "base/url.h"
#include "client/address/endpoint.h"

const struct rest_step *rest_step_of(const struct rest_run *r)
{
	return &r->config->table->steps[r->step];
}

bool rest_page_first(struct rest_run *r, struct rest_request *q)
{
	const struct rest_step *step = rest_step_of(r);

	buf_add(&q->url, r->server.ptr, r->server.len);
	if (step->url ? !step->url(r, r->url_number, &q->url) : r->url_number)
		return false;
	if (!step->url)
		buf_str(&q->url, step->path);
	if (step->body)
		step->body(r, &q->body);
	return true;
}

/*
 * Write to `url` the URL `next`, which an answer gives for the next page.
 * ERR_DENIED: `next` is relative, or has another scheme, host or port than the
 * current request, so the credentials, which every request carries, must not be
 * sent there.
 */
static int write_next_url(const struct rest_run *r, struct str next,
			  struct buf *url, struct err *err)
{
	buf_add(url, next.ptr, next.len);
	if (endpoint_same_origin(buf_cstr(url), r->url_sent))
		return 0;
	return err_set(
		err, ERR_DENIED,
		"the URL of the next page, in the answer, is relative or has another scheme, host or port than the request; everprof does not follow it, so that credentials are sent nowhere else");
}

/*
 * Write to `url` the URL of the current request, but with the query of `next`,
 * the URL of the next page.
 */
static void write_next_query(const struct rest_run *r, struct str next,
			     struct buf *url)
{
	const char *query = memchr(next.ptr, '?', next.len);

	buf_add(url, r->url_sent, strcspn(r->url_sent, "?"));
	if (query)
		buf_add(url, query, (size_t)(next.ptr + next.len - query));
}

/*
 * Add `page`, the number or token of a page, to a request: to the form in the
 * body of a POST request, or to the query of a GET request.
 */
static void add_page(const struct rest_step *step, struct rest_request *q,
		     struct str page)
{
	if (step->body)
		url_add_field(&q->body, step->page_param, page);
	else
		url_add_param(&q->url, step->page_param, page);
}

/*
 * Return whether there is a next page; `root` is the root of the current page.
 */
static bool has_next(const struct rest_run *r, const struct yaml_node *root)
{
	const struct rest_step *step = rest_step_of(r);

	switch (step->paging) {
	case REST_SINGLE:
		return false;
	case REST_PAGE_COUNT:
		return doc_int(root, step->next, 0) > r->page;
	case REST_UNTIL_EMPTY:
		return !r->is_repeated &&
		       doc_count(doc_find(root, step->items));
	case REST_NEXT_NUMBER:
	case REST_NEXT_URL:
	case REST_NEXT_QUERY:
	case REST_NEXT_TOKEN:
		break;
	}
	return doc_text(root, step->next).len > 0;
}

int rest_page_next(struct rest_run *r, const struct yaml_node *root,
		   struct rest_request *q, struct err *err)
{
	const struct rest_step *step = rest_step_of(r);
	struct str next = step->next ? doc_text(root, step->next) : str_of("");
	bool is_counted = step->paging == REST_PAGE_COUNT ||
			  step->paging == REST_UNTIL_EMPTY;
	char number[24];

	if (!has_next(r, root))
		return 0;
	r->page++;
	if (step->paging == REST_NEXT_URL)
		return write_next_url(r, next, &q->url, err);
	if (step->paging == REST_NEXT_QUERY) {
		write_next_query(r, next, &q->url);
		return 0;
	}
	(void)rest_page_first(r, q);
	snprintf(number, sizeof(number), "%lld", (long long)r->page);
	add_page(step, q, is_counted ? str_of(number) : next);
	return 0;
}
