/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/rest_source.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/url.h"
#include "base/yaml_json.h"
#include "client/endpoint.h"
#include "client/http_config.h"
#include "client/http_status.h"
#include "discovery/rest/xml_document.h"

/* An odd number that spreads the bits of a hash (2^64 by the golden ratio). */
#define HASH_PRIME 0x9e3779b97f4a7c15ULL

/* The start of rest_step.items for the lists in all items of an answer. */
#define EACH "*."

/* Limits on one refresh. */
#define REQUESTS_MAX 10000
#define BYTES_MAX    (64 * MIB)

/* The data of a provider. */
struct rest_source {
	struct http_config *http;
	char *shown;   /* base URL without user and password */
	char *body;    /* body of POST requests; NULL: GET requests */
	uint64_t hash; /* answers of the last refresh that found targets */
	struct rest_run *run; /* the refresh in progress; NULL: none */
};

static const struct rest_table *rest_table_of(const struct rest_run *r)
{
	return r->config->table;
}

static const struct rest_step *rest_step_of(const struct rest_run *r)
{
	return &rest_table_of(r)->steps[r->step];
}

/* Returns whether the step in progress is the last one. */
static bool is_last(const struct rest_run *r)
{
	return !rest_step_of(r)[1].path && !rest_step_of(r)[1].url;
}

/*
 * Returns whether the items of the step in progress are kept, and not made into
 * targets at once.
 */
static bool keeps_items(const struct rest_run *r)
{
	return !is_last(r) || rest_table_of(r)->finish;
}

size_t rest_count(const struct rest_run *r, size_t step)
{
	return r->answers[step].items.count;
}

const struct yaml_node *rest_item(const struct rest_run *r, size_t step,
				  size_t i)
{
	return i < rest_count(r, step) ? r->answers[step].items.v[i] : NULL;
}

/* What same_item() compares with. */
struct item_key {
	const struct rest_answer *answer;
	const char *index;
};

/* Comparison function of the tables of items. */
static bool same_item(const void *ctx, uint32_t number, const void *key)
{
	const struct item_key *k = ctx;
	const struct str *text = key;

	return str_eq(doc_text(k->answer->items.v[number], k->index), *text);
}

const struct yaml_node *rest_lookup(struct rest_run *r, size_t step,
				    struct str key)
{
	const struct rest_answer *a = &r->answers[step];
	const struct item_key k = { a, rest_table_of(r)->steps[step].index };
	uint32_t n = table_find(&a->by_key, hash_bytes(bytes_of(key)),
				same_item, &k, &key);

	return n == TABLE_NONE ? NULL : a->items.v[n];
}

/* Adds an item that is kept, and indexes it. */
static void keep_item(struct rest_run *r, const struct yaml_node *item)
{
	struct rest_answer *a = &r->answers[r->step];
	const char *index = rest_step_of(r)->index;

	*vec_add(&a->items) = item;
	if (index)
		table_add(&a->by_key,
			  hash_bytes(bytes_of(doc_text(item, index))),
			  (uint32_t)a->items.count - 1);
}

/* Makes one target of an item. */
static void rest_map_item(struct rest_run *r, const struct yaml_node *item)
{
	const struct rest_table *t = rest_table_of(r);

	if (t->needs && !doc_count(doc_find(item, t->needs)))
		return;
	group_target(&r->b);
	group_address(&r->b, doc_text(item, t->host),
		      t->port ? doc_int(item, t->port, 0) : r->config->port);
	field_rows_add(&r->b, t->fields, item, r->config->separator);
}

/* Frees a page. */
static void page_free(struct yaml *y)
{
	yaml_fini(y);
	mem_free(y);
}

static void rest_run_free(struct rest_run *r)
{
	for (size_t i = 0; i < REST_STEPS_MAX; i++) {
		struct rest_answer *a = &r->answers[i];

		for (size_t k = 0; k < a->pages.count; k++)
			page_free(a->pages.v[k]);
		vec_fini(&a->pages);
		vec_fini(&a->items);
		table_fini(&a->by_key);
	}
	for (size_t i = 0; i < r->headers.count; i++)
		mem_forget(r->headers.v[i]);
	vec_fini(&r->headers);
	group_builder_fini(&r->b);
	mem_free(r);
}

/* Ends the refresh with an error. */
static void rest_fail(struct rest_run *r, const struct err *err)
{
	struct provider *p = r->p;
	struct rest_source *s = p->data;

	s->run = NULL;
	rest_run_free(r);
	provider_failed(p, s->shown, err);
}

/*
 * Ends the refresh: reports the targets, unless all answers are the same as
 * before.
 */
static void rest_finish(struct rest_run *r)
{
	struct provider *p = r->p;
	struct rest_source *s = p->data;
	struct target_groups_list all = { 0 };
	struct target_groups *g;
	struct err err;
	int rc = 0;

	if (p->asked && r->hash == s->hash) {
		s->run = NULL;
		rest_run_free(r);
		return;
	}
	if (rest_table_of(r)->finish)
		rc = rest_table_of(r)->finish(r, &err);
	if (!rc)
		rc = group_builder_take(&r->b, &g, &err);
	if (rc) {
		rest_fail(r, &err);
		return;
	}
	s->hash = r->hash;
	s->run = NULL;
	rest_run_free(r);
	provider_tell(p, s->shown, g);
	*vec_add(&all) = g;
	provider_found(p, &all);
	target_groups_list_fini(&all);
}

static void rest_send(struct rest_run *r, const char *url);

/*
 * Writes the URL of the first page of the step in progress. Returns false if
 * the step has no more URLs.
 */
static bool write_url(struct rest_run *r, struct buf *url)
{
	const struct rest_step *step = rest_step_of(r);

	buf_add(url, r->server.ptr, r->server.len);
	if (step->url)
		return step->url(r, r->url, url);
	buf_str(url, step->path);
	return r->url == 0;
}

/* Sends the next first page, of this step or of a later one, or finishes. */
static void rest_go_on(struct rest_run *r)
{
	struct buf url = { 0 };

	while (!write_url(r, &url)) {
		buf_reset(&url);
		if (is_last(r)) {
			buf_fini(&url);
			rest_finish(r);
			return;
		}
		r->step++;
		r->url = 0;
	}
	r->page = 1;
	rest_send(r, buf_cstr(&url));
	buf_fini(&url);
}

/*
 * Writes the URL of the page after this one; nothing if there is none. The URL of a next page must have the origin of the base URL, because requests
 * carry credentials.
 */
static int write_next_url(struct rest_run *r, const struct yaml_node *root,
			  struct buf *url, struct err *err)
{
	const struct rest_step *step = rest_step_of(r);
	struct str next = step->next ? doc_text(root, step->next) : str_of("");
	char number[24];

	if (step->paging == REST_SINGLE || !next.len)
		return 0;
	r->page++;
	if (step->paging == REST_NEXT_URL) {
		buf_add(url, next.ptr, next.len);
		if (endpoint_same_origin(buf_cstr(url), r->server.ptr))
			return 0;
		return err_set(
			err, ERR_DENIED,
			"the URL of the next page has another scheme, host or port");
	}
	if (step->paging == REST_PAGE_COUNT &&
	    doc_int(root, step->next, 0) < r->page)
		return 0;
	(void)write_url(r, url);
	snprintf(number, sizeof(number), "%lld", (long long)r->page);
	url_add_param(url, step->page_param,
		      step->paging == REST_PAGE_COUNT ? str_of(number) : next);
	return 0;
}

/* Takes one item: it is kept, or becomes a target. */
static void take_item(struct rest_run *r, const struct yaml_node *item)
{
	if (keeps_items(r))
		keep_item(r, item);
	else if (rest_table_of(r)->map)
		rest_table_of(r)->map(r, item);
	else
		rest_map_item(r, item);
}

/* Takes the items of a list. */
static void take_list(struct rest_run *r, const struct yaml_node *list)
{
	for (size_t i = 0; i < doc_count(list); i++)
		take_item(r, doc_item(list, i));
}

/* Takes the items of a page. */
static void take_items(struct rest_run *r, const struct yaml_node *root)
{
	const char *path = rest_step_of(r)->items;

	if (strncmp(path, EACH, strlen(EACH)) != 0) {
		take_list(r, doc_find(root, path));
		return;
	}
	for (size_t i = 0; i < doc_count(root); i++)
		take_list(r, doc_find(doc_item(root, i), path + strlen(EACH)));
}

/* Parses a page, and sends the request after it. */
static int take_page(struct rest_run *r, struct bytes text, struct err *err)
{
	struct yaml *page = mem_new(struct yaml);
	struct buf next = { 0 };
	int rc = 0;

	if (rest_table_of(r)->is_xml)
		xml_parse(page, "answer", text);
	else
		yaml_parse_json(page, "answer", text);
	if (page->error_count || !page->root) {
		struct str first = yaml_first_error(page);

		rc = err_set(err, ERR_INVALID, "%.*s",
			     first.len ? (int)first.len : 20,
			     first.len ? first.ptr : "the answer is empty");
	}
	if (!rc)
		rc = write_next_url(r, page->root, &next, err);
	if (rc) {
		page_free(page);
		buf_fini(&next);
		return rc;
	}
	take_items(r, page->root);
	if (keeps_items(r))
		*vec_add(&r->answers[r->step].pages) = page;
	else
		page_free(page);
	if (next.len) {
		rest_send(r, buf_cstr(&next));
	} else {
		r->url++;
		rest_go_on(r);
	}
	buf_fini(&next);
	return 0;
}

/*
 * Called at the end of a request; ERR_CLOSED only means that the provider is
 * being closed.
 */
static void rest_on_answer(void *ctx, struct http_response *a)
{
	struct provider *p = ctx;
	struct rest_source *s = p->data;
	struct rest_run *r = s->run;
	struct err err;
	int rc = http_status_check(a, &err);

	if (rc == ERR_CLOSED)
		return;
	r->bytes += a->body.len;
	r->hash = (r->hash ^ hash_bytes(buf_bytes(&a->body))) * HASH_PRIME;
	if (!rc && r->bytes > BYTES_MAX)
		rc = err_set(&err, ERR_TOOBIG,
			     "all answers together are larger than %ld MB",
			     BYTES_MAX / MIB);
	if (!rc)
		rc = take_page(r, buf_bytes(&a->body), &err);
	if (rc)
		rest_fail(r, &err);
}

/* Sends a request with the headers of the table and of the run. */
static void rest_send(struct rest_run *r, const char *url)
{
	struct provider *p = r->p;
	const struct rest_source *s = p->data;
	const char *const *own = rest_table_of(r)->headers;
	VEC(const char *) headers = { 0 };
	struct http_request q = { .url = url,
				  .config = s->http,
				  .timeout_ms = p->config->refresh_ms,
				  .max_body = YAML_TEXT_MAX,
				  .user_agent = p->user_agent,
				  .post = s->body,
				  .done = rest_on_answer,
				  .ctx = p };
	struct err err;

	if (r->requests++ == REQUESTS_MAX) {
		err_set(&err, ERR_TOOBIG, "more than %d requests are needed",
			REQUESTS_MAX);
		rest_fail(r, &err);
		return;
	}
	for (; own && *own; own++)
		*vec_add(&headers) = *own;
	for (size_t i = 0; i < r->headers.count; i++)
		*vec_add(&headers) = r->headers.v[i];
	*vec_add(&headers) = NULL;
	q.headers = headers.v;
	if (r->config->socket.len)
		q.unix_socket = r->config->socket.ptr;
	http_start(p->client, &q);
	vec_fini(&headers);
}

void rest_refresh(struct provider *p)
{
	struct rest_source *s = p->data;
	struct rest_run *r;
	struct err err;

	if (s->run)
		return; /* the previous refresh is not done */
	r = mem_new(struct rest_run);
	r->p = p;
	r->config = (const struct rest_config *)p->config;
	r->server = r->config->server;
	group_builder_init(&r->b);
	group_begin(&r->b);
	s->run = r;
	if (rest_table_of(r)->begin && rest_table_of(r)->begin(r, &err))
		rest_fail(r, &err);
	else
		rest_go_on(r);
}

void *rest_open(struct provider *p)
{
	const struct rest_config *c = (const struct rest_config *)p->config;
	struct rest_source *s = mem_new(struct rest_source);

	s->http = http_config_new(&c->base.http);
	s->shown = c->socket.len ? mem_strndup(c->socket) :
				   http_url_shown(c->server.ptr);
	s->body = c->table->body ? c->table->body(&c->base) : NULL;
	return s;
}

void rest_close(struct provider *p)
{
	struct rest_source *s = p->data;

	http_cancel(p->client, p);
	if (s->run)
		rest_run_free(s->run);
	http_config_unref(s->http);
	mem_free(s->shown);
	mem_forget(s->body);
	mem_free(s);
}
