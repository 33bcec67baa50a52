/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/rest_source.h"

#include "base/hash.h"
#include "base/mem.h"
#include "client/address/endpoint.h"
#include "client/transfer/http_config.h"
#include "discovery/rest/rest_page.h"

/*
 * Prefix of rest_step.items; what follows it is the path of a list in each item
 * of the answer.
 */
#define EACH "*."

/* Limits on one refresh. */
#define REQUESTS_MAX 10000
#define MEMORY_MAX   (256 * MIB)

/* The data of a provider. */
struct rest_source {
	struct http_config *http;
	char *shown; /* the source in messages; see source_name() */
	struct rest_account *account; /* NULL: none */
	/* hash of the answers of the last successful refresh */
	uint64_t hash;
	size_t told;          /* number of targets in the last log message */
	struct rest_run *run; /* the refresh in progress; NULL: none */
	void *kept;           /* what the kind keeps; see rest_table.drop */
};

static const struct rest_table *rest_table_of(const struct rest_run *r)
{
	return r->config->table;
}

/* Return whether the step in progress is the last one. */
static bool is_last(const struct rest_run *r)
{
	return !rest_step_of(r)[1].path && !rest_step_of(r)[1].url;
}

/*
 * Return whether the items of the step in progress are kept. Otherwise, they
 * are given to take() or made into targets at once.
 */
static bool keeps_items(const struct rest_run *r)
{
	return !rest_step_of(r)->take &&
	       (!is_last(r) || rest_table_of(r)->finish);
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

size_t rest_item_url(const struct rest_run *r, size_t step, size_t i)
{
	return r->answers[step].urls.v[i];
}

const struct yaml_node *rest_lookup(struct rest_run *r, size_t step,
				    struct str key)
{
	return rest_answer_find(&r->answers[step],
				rest_table_of(r)->steps[step].index, key);
}

/*
 * Make one target of an item, unless the item lacks the value at
 * rest_table.needs.
 */
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

static void rest_run_free(struct rest_run *r)
{
	for (size_t i = 0; i < REST_STEPS_MAX; i++)
		rest_answer_fini(&r->answers[i]);
	mem_free(r->own_server);
	mem_free(r->url_sent);
	mem_free(r->body_sent);
	for (size_t i = 0; i < r->headers.count; i++)
		mem_forget(r->headers.v[i]);
	vec_fini(&r->headers);
	group_builder_fini(&r->b);
	mem_free(r);
}

/* End the refresh with an error. */
static void rest_fail(struct rest_run *r, const struct err *err)
{
	struct provider *p = r->p;
	struct rest_source *s = p->data;

	s->run = NULL;
	rest_run_free(r);
	provider_failed(p, s->shown, err);
	provider_refreshed(p);
}

/*
 * End the refresh. Report the targets, unless all answers are the same as in
 * the last successful refresh.
 */
static void rest_finish(struct rest_run *r)
{
	struct provider *p = r->p;
	struct rest_source *s = p->data;
	struct target_groups *g;
	struct err err;
	int rc = 0;

	if (p->asked && r->hash == s->hash) {
		s->run = NULL;
		rest_run_free(r);
		provider_refreshed(p);
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
	/*
	 * Log only if the number of targets has changed: the answers differ
	 * often, because they contain ages and times.
	 */
	if (!p->asked || g->targets != s->told)
		provider_tell(p, s->shown, g);
	s->told = g->targets;
	provider_found_one(p, g);
	provider_refreshed(p);
}

static void rest_send(struct rest_run *r, struct rest_request *q);

/*
 * Send the request for the first page of URL number r->url_number. If the step
 * in progress has no such URL, go on with the first URL of the next step, or
 * end the refresh after the last step.
 */
static void rest_go_on(struct rest_run *r)
{
	struct rest_request q = { 0 };

	while (!rest_page_first(r, &q)) {
		rest_request_fini(&q);
		if (is_last(r)) {
			rest_finish(r);
			return;
		}
		r->step++;
		r->url_number = 0;
	}
	r->page = 1;
	rest_send(r, &q);
	rest_request_fini(&q);
}

/*
 * Process one item: pass it to the step's take(), if there is one. Otherwise
 * keep the item for later steps or finish(), or make targets of it.
 */
static void take_item(struct rest_run *r, const struct yaml_node *item)
{
	if (rest_step_of(r)->take)
		rest_step_of(r)->take(r, item);
	else if (keeps_items(r))
		rest_answer_add(&r->answers[r->step], item, r->url_number,
				rest_step_of(r)->index);
	else if (rest_table_of(r)->map)
		rest_table_of(r)->map(r, item);
	else
		rest_map_item(r, item);
}

/* Take the items of a list. */
static void take_list(struct rest_run *r, const struct yaml_node *list)
{
	for (size_t i = 0; i < doc_count(list); i++)
		take_item(r, doc_item(list, i));
}

/* Take the items of a page. */
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

/*
 * Send `next`, the request for the next page. If next->url is empty, there is
 * no next page: go on with the next URL of the step.
 */
static void send_next(struct rest_run *r, struct rest_request *next)
{
	if (next->url.len) {
		rest_send(r, next);
		return;
	}
	r->url_number++;
	rest_go_on(r);
}

/*
 * Take the items of a page. Keep the page if its items are kept, and otherwise
 * free it. MEMORY_MAX limits the memory of the parsed pages instead of the
 * length of their text, because the text "[]," takes many times its length when
 * it is parsed.
 */
static int keep_page(struct rest_run *r, struct yaml *page, struct err *err)
{
	if (!r->is_repeated)
		take_items(r, page->root);
	if (!keeps_items(r)) {
		rest_page_free(page);
		return 0;
	}
	*vec_add(&r->answers[r->step].pages) = page;
	r->memory += page->arena.used;
	if (r->memory <= MEMORY_MAX)
		return 0;
	return err_set(
		err, ERR_TOOBIG,
		"the answers for one refresh take more than %ld MB of memory; let each entry ask for less, by keys such as filters, region or resource_group (relabel_configs do not help)",
		MEMORY_MAX / MIB);
}

/*
 * Check that the request for the next page differs from the request that was
 * just answered. ERR_INVALID: the requests are equal, so the same page would be
 * fetched until REQUESTS_MAX is reached.
 */
static int check_progress(const struct rest_run *r, struct rest_request *next,
			  struct err *err)
{
	if (!next->url.len || strcmp(buf_cstr(&next->url), r->url_sent) != 0 ||
	    strcmp(buf_cstr(&next->body), r->body_sent) != 0)
		return 0;
	return err_set(err, ERR_INVALID,
		       "the next page of the answer is the same page again");
}

/* Parse a page, take its items, and send the next request. */
static int take_page(struct rest_run *r, const struct http_response *a,
		     struct err *err)
{
	struct yaml *page = mem_new(struct yaml);
	struct rest_request next = { 0 };
	int rc = rest_answer_parse(a, rest_table_of(r)->is_xml, page, err);

	if (rc) {
		mem_free(page);
		return rc;
	}
	rc = rest_page_next(r, page->root, &next, err);
	if (!rc)
		rc = check_progress(r, &next, err);
	if (rc)
		rest_page_free(page);
	else
		rc = keep_page(r, page, err);
	if (!rc)
		rc = group_builder_check(&r->b, err);
	if (!rc)
		send_next(r, &next);
	rest_request_fini(&next);
	return rc;
}

/*
 * Return whether an API may have refused the credentials, which can become
 * invalid before they expire. EC2 refuses credentials with each of these
 * statuses.
 */
static bool is_refusal(const struct http_response *a)
{
	return !a->code &&
	       (a->status == 400 || a->status == 401 || a->status == 403);
}

/*
 * Return whether the refresh goes on without the items of a request that has
 * failed: its step is optional, or the answer has the HTTP status that the step
 * tolerates.
 */
static bool is_missing(const struct rest_run *r, const struct http_response *a,
		       const struct err *err)
{
	const struct rest_step *step = rest_step_of(r);

	/* A refresh that exceeds a limit of everprof must fail. */
	if (err->code == ERR_TOOBIG)
		return false;
	return step->is_optional || (!a->code && a->status == step->tolerated);
}

/* Log that a request has failed, and go on without its items. */
static void rest_skip(struct rest_run *r, const struct err *err)
{
	struct rest_request none = { 0 };

	log_event(
		r->p->log, LOG_DEBUG,
		"an optional request of service discovery failed; labels or targets that need its answer are left out",
		LOG_FIELDS(log_text("discovery", r->p->kind->name),
			   log_int("config_line", r->p->line), log_err(err)));
	send_next(r, &none);
}

/*
 * Add `hash`, the hash of an answer, to the hash of the refresh, and note
 * whether the answer repeats the previous page.
 */
static void add_hash(struct rest_run *r, uint64_t hash)
{
	r->is_repeated = rest_step_of(r)->paging == REST_UNTIL_EMPTY &&
			 r->page > 1 && hash == r->page_hash;
	r->page_hash = hash;
	r->hash = hash_number(r->hash ^ hash);
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

	if (a->code == ERR_CLOSED)
		return;
	add_hash(r, hash_bytes(buf_bytes(&a->body)));
	if (!take_page(r, a, &err))
		return;
	/*
	 * From the second request of a refresh on, say which request has
	 * failed.
	 */
	if (r->requests > 1 && err.code != ERR_TOOBIG) {
		CLEANUP(mem_freep) char *url = endpoint_url_shown(r->url_sent);

		(void)err_wrap(&err, err.code, "%s", url);
	}
	if (is_missing(r, a, &err)) {
		rest_skip(r, &err);
		return;
	}
	if (s->account && is_refusal(a))
		rest_account_forget(s->account);
	rest_fail(r, &err);
}

/* Send a request with the headers of the table and of the run. */
static void rest_send(struct rest_run *r, struct rest_request *q)
{
	struct provider *p = r->p;
	const struct rest_source *s = p->data;
	const struct rest_table *t = rest_table_of(r);
	struct err err;

	if (r->requests++ == REQUESTS_MAX) {
		err_set(&err, ERR_TOOBIG,
			"one refresh needs more than %d requests; let each entry ask for less, by keys such as filters, region or resource_group (relabel_configs do not help)",
			REQUESTS_MAX);
		rest_fail(r, &err);
		return;
	}
	for (const char *const *h = t->headers; h && *h; h++)
		*vec_add(&q->headers) = mem_strdup(*h);
	for (size_t i = 0; i < r->headers.count; i++)
		*vec_add(&q->headers) = mem_strdup(r->headers.v[i]);
	q->has_secret = s->account || r->has_secret;
	if (t->prepare)
		t->prepare(r, q);
	mem_free(r->url_sent);
	r->url_sent = mem_strdup(buf_cstr(&q->url));
	mem_free(r->body_sent);
	r->body_sent = mem_strdup(buf_cstr(&q->body));
	rest_request_start(q, p, s->http, p->config->refresh_ms, rest_on_answer,
			   p);
}

/* Return the name of the source for messages; the caller frees it. */
static char *source_name(const struct provider *p, const struct rest_config *c)
{
	if (c->socket.len)
		return mem_strndup(c->socket);
	return c->server.len ? endpoint_url_shown(c->server.ptr) :
			       mem_strdup(p->kind->name);
}

/*
 * If begin() has set another base URL than the configured one, show that URL in
 * messages.
 */
static void show_server(const struct provider *p, struct rest_source *s,
			const struct rest_run *r)
{
	mem_free(s->shown);
	s->shown = str_eq(r->server, r->config->server) ?
			   source_name(p, r->config) :
			   endpoint_url_shown(r->server.ptr);
}

/*
 * Start the requests of a refresh. `failed`: why the credentials could not be
 * obtained; the refresh then fails. NULL: nothing has failed.
 */
static void rest_begin(struct provider *p, const struct err *failed)
{
	struct rest_source *s = p->data;
	struct rest_run *r = s->run;
	struct err err;

	if (failed) {
		rest_fail(r, failed);
		return;
	}
	if (s->account)
		r->account = rest_account_data(s->account);
	if (rest_table_of(r)->begin && rest_table_of(r)->begin(r, &err)) {
		rest_fail(r, &err);
		return;
	}
	show_server(p, s, r);
	rest_go_on(r);
}

void rest_refresh(struct provider *p)
{
	struct rest_source *s = p->data;
	struct rest_run *r;
	struct err err;
	int rc = 0;

	if (s->run)
		return; /* the previous refresh is not done */
	r = mem_new(struct rest_run);
	r->p = p;
	r->config = (const struct rest_config *)p->config;
	r->server = r->config->server;
	r->kept = &s->kept;
	group_builder_init(&r->b);
	group_begin(&r->b);
	s->run = r;
	if (s->account)
		rc = rest_account_get(s->account, s->http, rest_begin, &err);
	if (rc != REST_ACCOUNT_PENDING)
		rest_begin(p, rc ? &err : NULL);
}

void *rest_open(struct provider *p)
{
	const struct rest_config *c = (const struct rest_config *)p->config;
	struct rest_source *s = mem_new(struct rest_source);

	s->http = http_config_new(&c->base.http);
	s->shown = source_name(p, c);
	if (c->table->account)
		s->account = rest_account_new(p, c->table->account);
	return s;
}

void rest_close(struct provider *p)
{
	struct rest_source *s = p->data;

	http_cancel(p->client, p);
	rest_account_free(s->account);
	if (s->run)
		rest_run_free(s->run);
	if (s->kept)
		((const struct rest_config *)p->config)->table->drop(s->kept);
	http_config_unref(s->http);
	mem_free(s->shown);
	mem_free(s);
}
