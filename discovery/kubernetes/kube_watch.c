/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_watch.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/url.h"
#include "base/yaml_json.h"
#include "client/transfer/http_status.h"
#include "discovery/rest/document.h"

/*
 * The URLs with which a Kubernetes resource is listed and watched.
 *
 * Source: kubernetes.io/docs/reference/using-api/api-concepts.
 */

#define PAGE_SIZE 500
/*
 * the shortest time limit of a watch request; the longest is nearly twice as
 * long
 */
#define WATCH_SECONDS 300

/* Add the selectors that the configuration has for the resource of a watch. */
static void kube_url_add_selectors(const struct kube_watch *w, struct buf *url)
{
	const struct kube_selector *s;

	if (w->id >= KUBE_ROLES)
		return;
	s = &w->s->config->selectors[w->id];
	if (s->label.len)
		url_add_param(url, "labelSelector", s->label);
	if (s->field.len)
		url_add_param(url, "fieldSelector", s->field);
}

/* Write the URL of the resource of a watch. */
static void kube_url_write_path(const struct kube_watch *w, const char *server,
				struct buf *url)
{
	const struct kube_resource *r = &kube_resources[w->id];

	buf_printf(url, "%s%s/", server, r->api);
	if (*w->namespace) {
		buf_str(url, "namespaces/");
		url_escape(str_of(w->namespace), url);
		buf_str(url, "/");
	}
	buf_str(url, r->name);
}

/* Add the parameters of a page of a list. */
static void kube_url_add_list(const struct kube_watch *w, struct buf *url)
{
	char limit[16];

	snprintf(limit, sizeof(limit), "%d", PAGE_SIZE);
	if (!w->is_unpaged)
		url_add_param(url, "limit", str_of(limit));
	if (w->next)
		url_add_param(url, "continue", str_of(w->next));
	else if (w->freshness == KUBE_CACHED)
		url_add_param(url, "resourceVersion",
			      str_of(w->version ? w->version : "0"));
}

/*
 * Add the parameters of a watch request, and return its time limit in ms. The
 * time limits differ, so that watch requests do not all end at the same time.
 */
static int64_t kube_url_add_watch(const struct kube_watch *w, struct buf *url)
{
	const struct bytes seed = { (const uint8_t *)&w->started_ns,
				    sizeof(w->started_ns) };
	int64_t seconds =
		WATCH_SECONDS + (int64_t)(hash_bytes(seed) % WATCH_SECONDS);
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)seconds);
	url_add_param(url, "watch", str_of("true"));
	url_add_param(url, "allowWatchBookmarks", str_of("true"));
	url_add_param(url, "timeoutSeconds", str_of(text));
	url_add_param(url, "resourceVersion", str_of(w->version));
	return seconds * 1000;
}

#define LIST_MS       300000
#define WATCH_MORE_MS 30000
#define PAUSE_MIN_MS  800
#define PAUSE_MAX_MS  30000
/*
 * if the last pause began longer ago than this, the next pause has the shortest
 * length again
 */
#define PAUSE_RESET_NS  120000000000LL
#define RETRY_AFTER_MAX 300 /* seconds */
/*
 * A watch request that lasts for less than this time, and reports no change of
 * an object, counts as failed. After a watch request without an error, the next
 * request of the watch starts no earlier than this time after the start of the
 * previous request.
 */
#define WATCH_SHORT_NS 1000000000LL
/*
 * if a watch request gets a 410 sooner than this after the end of the last
 * list, there is a pause
 */
#define EXPIRED_NS 10000000000LL
/* a list with more pages is taken for one that never ends */
#define PAGES_MAX 20000

/*
 * Return a watch for the resource `id` in `namespace`; if `namespace` is empty,
 * or the resource is not in namespaces, in the whole cluster.
 */
static struct kube_watch *kube_watch_new(struct kube_session *s,
					 enum kube_resource_id id,
					 struct str namespace)
{
	struct kube_watch *w = mem_new(struct kube_watch);
	const struct kube_resource *r = &kube_resources[id];

	w->s = s;
	w->id = id;
	w->wants_list = true;
	w->namespace = mem_strndup(r->namespaced ? namespace : str_of(""));
	w->shown = *w->namespace ? mem_printf("%s of the namespace %s", r->name,
					      w->namespace) :
				   mem_strdup(r->name);
	return w;
}

/* Free a watch, and cancel its request. */
static void kube_watch_free(struct kube_watch *w)
{
	http_cancel(w->s->p->client, w);
	json_pieces_fini(&w->pieces);
	mem_free(w->namespace);
	mem_free(w->shown);
	mem_free(w->version);
	mem_free(w->list_version);
	mem_free(w->next);
	mem_free(w);
}

/* Make the provider run the session soon. */
static void watch_wake(struct kube_watch *w)
{
	provider_call_within(w->s->p, 0);
}

/*
 * Replace the owned text *field by a copy of `text`; by NULL if `text` is
 * empty.
 */
static void watch_set(char **field, struct str text)
{
	mem_free(*field);
	*field = text.len ? mem_strndup(text) : NULL;
}

/* Whether the watch has paused a short time ago. */
static bool watch_has_paused(const struct kube_watch *w)
{
	return w->pause_ms && clock_mono_ns() - w->paused_ns <= PAUSE_RESET_NS;
}

/* Delay the next request of the watch, by exponential backoff with jitter. */
static void watch_pause(struct kube_watch *w)
{
	int64_t now = clock_mono_ns();
	const struct bytes seed = { (const uint8_t *)&now, sizeof(now) };
	int64_t more;

	if (!watch_has_paused(w))
		w->pause_ms = PAUSE_MIN_MS;
	more = (int64_t)(hash_bytes(seed) % (uint64_t)w->pause_ms);
	w->due_ns = now + (w->pause_ms + more) * 1000000;
	w->paused_ns = now;
	w->pause_ms *= 2;
	if (w->pause_ms > PAUSE_MAX_MS)
		w->pause_ms = PAUSE_MAX_MS;
}

/* Report the error `err`, and delay the next request of the watch. */
static void watch_fail(struct kube_watch *w, const struct err *err)
{
	struct err named = *err;

	(void)err_wrap(&named, err->code, "%s", w->shown);
	provider_failed(w->s->p, kube_access_shown(w->s->access), &named);
	w->is_failing = true;
	watch_pause(w);
}

/* Report that the discovery has recovered, unless something still fails. */
static void kube_session_recover(const struct kube_session *s)
{
	if (!*s->p->failure.source || s->is_lacking)
		return;
	for (size_t i = 0; i < s->watches.count; i++) {
		const struct kube_watch *w = s->watches.v[i];

		if (w->is_failing || w->is_refusing)
			return;
	}
	provider_recovered(s->p);
}

/*
 * Note that a list was complete or an event came, so the watch does not fail
 * any more.
 */
static void watch_succeed(struct kube_watch *w)
{
	w->is_failing = false;
	kube_session_recover(w->s);
}

/* The functions below read answers, piece by piece. */

/*
 * Report that objects were left out. The discovery then counts as failing until
 * the watch has read a list without leaving out an object; see list_end().
 */
static void watch_report_refused(struct kube_watch *w)
{
	w->is_refusing = true;
	provider_failed(w->s->p, kube_access_shown(w->s->access), &w->refused);
	w->refused.code = 0;
}

/* Put an object of a list or of an event into the store. */
static int watch_put(struct kube_watch *w, const struct yaml_node *object,
		     struct err *err)
{
	int rc = kube_store_put(&w->s->stores, w->id, object, w->list, err);

	if (rc != ERR_TOOBIG)
		return rc;
	/*
	 * Leave out only this object: the list or the watch request continues.
	 */
	w->refused = *err;
	if (w->phase == KUBE_WATCHING)
		watch_report_refused(w);
	return 0;
}

/*
 * Take the metadata of a list: its version, and the token of the next page.
 * ERR_INVALID: the list would not end, because the token is the same again, or
 * there are too many pages.
 */
static int watch_take_list_meta(struct kube_watch *w,
				const struct yaml_node *meta, struct err *err)
{
	struct str next = doc_text(meta, "continue");
	bool is_same = next.len && w->next && str_is(next, w->next);

	watch_set(&w->list_version, doc_text(meta, "resourceVersion"));
	watch_set(&w->next, next);
	if (!is_same && w->pages++ < PAGES_MAX)
		return 0;
	watch_set(&w->next, str_of(""));
	return err_set(err, ERR_INVALID,
		       is_same ? "the list has the same page again" :
				 "the list has more than %d pages",
		       PAGES_MAX);
}

/*
 * Apply an event to the store. An event of the type ERROR ends the watch
 * request.
 */
static int watch_take_event(struct kube_watch *w, const struct yaml_node *root,
			    struct err *err)
{
	const struct yaml_node *object = doc_find(root, "object");
	struct str type = doc_text(root, "type");
	struct str version = doc_text(object, "metadata.resourceVersion");
	bool is_put = str_is(type, "ADDED") || str_is(type, "MODIFIED");
	bool is_deleted = str_is(type, "DELETED");
	int rc = 0;

	if (str_is(type, "ERROR")) {
		w->status = doc_int(object, "code", 500);
		return err_set(err, ERR_IO, "the watch has ended: %.*s",
			       STR_ARG(doc_text(object, "message")));
	}
	if (is_deleted)
		kube_store_remove(&w->s->stores, w->id, object);
	else if (is_put)
		rc = watch_put(w, object, err);
	w->is_changed |= is_put || is_deleted;
	w->is_heard |= w->is_changed || str_is(type, "BOOKMARK");
	if (!rc && version.len)
		watch_set(&w->version, version);
	if (!rc && w->is_heard)
		watch_succeed(w);
	return rc;
}

/*
 * Called with each piece of an answer. The pieces of a list are its objects,
 * and the values of its other members, of which only `metadata` is used. The
 * pieces of the answer to a watch request are events.
 */
static int watch_on_piece(void *ctx, struct str key, struct bytes text,
			  struct err *err)
{
	struct kube_watch *w = ctx;
	bool is_meta = str_is(key, "metadata");
	struct yaml y;
	int rc;

	if (w->phase == KUBE_LISTING && !is_meta && !str_is(key, "items"))
		return 0;
	yaml_parse_json(&y, "answer", text);
	rc = yaml_check(&y, err);
	if (rc)
		; /* err says why */
	else if (w->phase == KUBE_WATCHING)
		rc = watch_take_event(w, y.root, err);
	else if (is_meta)
		rc = watch_take_list_meta(w, y.root, err);
	else if (!yaml_is_null(y.root))
		rc = watch_put(w, y.root, err);
	yaml_fini(&y);
	return rc;
}

/*
 * Receive the next part of an answer. Returns false on an error, which
 * w->broken then describes.
 */
static bool watch_on_bytes(void *ctx, struct bytes b)
{
	struct kube_watch *w = ctx;
	bool was_changed = w->s->stores.changed;

	if (json_pieces_feed(&w->pieces, b, &w->broken))
		return false;
	if (w->s->stores.changed && !was_changed)
		watch_wake(w);
	return true;
}

/* The functions below decide what follows an answer. */

/* End the list: remove the objects that it did not have, and begin to watch. */
static void list_end(struct kube_watch *w)
{
	if (!w->list_version) {
		(void)err_set(&w->broken, ERR_INVALID,
			      "the list has no resourceVersion");
		watch_fail(w, &w->broken);
		return;
	}
	kube_store_sweep(&w->s->stores, w->id, str_of(w->namespace), w->list);
	watch_set(&w->version, str_of(w->list_version));
	w->wants_list = false;
	w->freshness = KUBE_CACHED;
	w->is_unpaged = false;
	w->due_ns = 0;
	w->listed_ns = clock_mono_ns();
	if (!w->is_synced)
		w->s->stores.changed = true;
	w->is_synced = true;
	w->is_refusing = false;
	if (w->refused.code)
		watch_report_refused(w);
	watch_succeed(w);
}

/*
 * If a list that has failed with the HTTP status `status` can be requested
 * again at once in another way, choose this way and return true. If the token
 * of a page has expired (410), the list is requested as one page. If the server
 * no longer has the version (410), or does not have it yet (504), the newest
 * list is requested, without a version (KUBE_FRESH).
 */
static bool list_retry(struct kube_watch *w, long status)
{
	bool was_page = w->next != NULL;

	watch_set(&w->next, str_of(""));
	if (status == 410 && was_page && !w->is_unpaged) {
		w->is_unpaged = true;
		return true;
	}
	if ((status == 410 || status == 504) && w->freshness == KUBE_CACHED) {
		w->freshness = KUBE_FRESH;
		w->is_unpaged = false;
		return true;
	}
	return false;
}

/*
 * If an answer with status 429 or above has a header Retry-After with a number
 * of seconds, delay the next request by this number, but at most by
 * RETRY_AFTER_MAX.
 */
static void watch_obey(struct kube_watch *w, const struct http_response *r)
{
	struct str text = http_response_header(r, "Retry-After");
	int64_t seconds;

	if (r->status < 429 || !str_to_i64(text, &seconds) || seconds < 1)
		return;
	if (seconds > RETRY_AFTER_MAX)
		seconds = RETRY_AFTER_MAX;
	w->due_ns = clock_mono_ns() + seconds * 1000000000;
}

/*
 * Check the status of an answer. For status 403, add to the error which rights
 * are needed: the server's own message says so, but is not shown if the request
 * had credentials (see http_response.said).
 */
static int watch_check(const struct http_response *r, struct err *err)
{
	int rc = http_status_check(r, err);
	struct err why;

	if (!rc || r->status != 403)
		return rc;
	why = *err;
	return err_set(err, rc,
		       "%s: the account needs the rights to list and to watch",
		       why.msg);
}

/*
 * Called when the request for a page of a list has ended: go on with the next
 * page, end the list, or try again.
 */
static void list_on_answer(struct kube_watch *w, const struct http_response *r)
{
	struct err err;
	int rc = w->broken.code ? w->broken.code : watch_check(r, &err);

	w->s->lists--;
	if (w->broken.code)
		err = w->broken;
	if (!rc && !json_pieces_done(&w->pieces))
		rc = err_set(
			&err, ERR_INVALID,
			"the list is not complete: the answer ended too early");
	/*
	 * The request for the next page, or the request that list_retry() has
	 * chosen, starts at once. After a failure, watch_fail() sets a later
	 * time.
	 */
	w->due_ns = 0;
	if (!rc && !w->next) {
		list_end(w);
	} else if (rc && !list_retry(w, r->status)) {
		watch_fail(w, &err);
		watch_obey(w, r);
	}
}

/*
 * Decide what follows a watch request that has failed. `status` is the HTTP
 * status, or the code of an event of the type ERROR; 0: another error, which
 * `err` describes.
 */
static void watch_end(struct kube_watch *w, long status, const struct err *err)
{
	bool is_new = clock_mono_ns() - w->listed_ns < EXPIRED_NS;

	if (status == 410) {
		w->wants_list = true;
		w->due_ns = 0;
		/*
		 * Pause: the version of a list that ended a moment ago has
		 * expired already, so the version of the next list may expire,
		 * too.
		 */
		if (is_new)
			watch_pause(w);
	} else if (status == 429 || status == 500) {
		/* One such answer is no failure; several in a row are. */
		if (watch_has_paused(w))
			watch_fail(w, err);
		else
			watch_pause(w);
	} else {
		w->wants_list = true;
		watch_fail(w, err);
	}
}

/*
 * Called when a watch request has ended: decide when the next request of the
 * watch starts, and whether it is for a list.
 */
static void watch_on_end(struct kube_watch *w, const struct http_response *r)
{
	bool is_short = clock_mono_ns() - w->started_ns < WATCH_SHORT_NS &&
			!w->is_changed;
	struct err err = w->broken;

	if (w->status) {
		watch_end(w, w->status, &err);
	} else if (w->broken.code) {
		watch_end(w, 0, &err);
	} else if (r->status && r->status != 200) {
		int rc = watch_check(r, &err);

		watch_end(w, rc ? r->status : 0, &err);
		watch_obey(w, r);
	} else if (r->code && !w->is_heard) {
		/*
		 * The connection failed. The next watch request continues from
		 * w->version, so no change is lost, and no new list is needed.
		 */
		err = r->err;
		watch_fail(w, &err);
	} else if (is_short) {
		(void)err_set(
			&err, ERR_IO,
			"the watch request ended in less than a second, without a change; a proxy or a restart of the API server can cause that");
		watch_end(w, 0, &err);
	} else {
		w->due_ns = w->started_ns + WATCH_SHORT_NS;
	}
}

/*
 * Called at the end of a request; ERR_CLOSED only means that the watch is being
 * freed.
 */
static void watch_on_answer(void *ctx, struct http_response *r)
{
	struct kube_watch *w = ctx;
	enum kube_phase was = w->phase;

	if (r->code == ERR_CLOSED)
		return;
	if (r->status == 401)
		kube_access_reject(w->s->access);
	w->phase = KUBE_WAITING;
	if (was == KUBE_LISTING)
		list_on_answer(w, r);
	else
		watch_on_end(w, r);
	json_pieces_fini(&w->pieces);
	watch_wake(w);
}

/* The functions below start requests. */

/* Send the next request of a watch. */
static void watch_send(struct kube_watch *w, const struct kube_login *login)
{
	static const char *const headers[] = { "Accept: application/json",
					       NULL };
	struct provider *p = w->s->p;
	struct buf url = { 0 };
	struct http_request r = { .config = login->http,
				  .timeout_ms = LIST_MS,
				  .max_body = YAML_TEXT_MAX,
				  .user_agent = p->user_agent,
				  .headers = headers,
				  .keep_headers = true,
				  .sink = watch_on_bytes,
				  .sink_ctx = w,
				  .done = watch_on_answer,
				  .ctx = w };

	kube_url_write_path(w, login->url, &url);
	if (w->phase == KUBE_LISTING)
		kube_url_add_list(w, &url);
	else
		r.timeout_ms = kube_url_add_watch(w, &url) + WATCH_MORE_MS;
	kube_url_add_selectors(w, &url);
	r.url = buf_cstr(&url);
	transfer_start(p->client, &r);
	buf_fini(&url);
}

/*
 * Get the credentials, and start the next request of a watch. If a credential
 * plugin must run first, only set w->wants_login.
 */
static void kube_watch_start(struct kube_watch *w)
{
	struct kube_login login;
	struct err err;
	int rc = kube_access_get(w->s->access, &login, &err);

	w->wants_login = rc == KUBE_ACCESS_PENDING;
	if (w->wants_login)
		return;
	if (rc) {
		watch_fail(w, &err);
		return;
	}
	w->phase = w->wants_list ? KUBE_LISTING : KUBE_WATCHING;
	w->started_ns = clock_mono_ns();
	w->is_changed = false;
	w->is_heard = false;
	w->status = 0;
	w->broken.code = 0;
	json_pieces_init(&w->pieces, w->wants_list, watch_on_piece, w);
	if (w->wants_list) {
		w->s->lists++;
		if (!w->next) {
			w->list = ++w->s->last_list;
			w->pages = 0;
			w->refused.code = 0;
		}
		watch_set(&w->list_version, str_of(""));
	}
	watch_send(w, &login);
}

/*
 * A session with a Kubernetes API server: all watches of a discovery, and the
 * objects that they have found.
 */

#define LISTS_MAX 10 /* requests for lists in flight at the same time */

void kube_session_init(struct kube_session *s, struct provider *p)
{
	*s = (struct kube_session){
		.p = p, .config = (const struct kube_config *)p->config
	};
	kube_stores_init(&s->stores);
}

void kube_session_fini(struct kube_session *s)
{
	for (size_t i = 0; i < s->watches.count; i++)
		kube_watch_free(s->watches.v[i]);
	vec_fini(&s->watches);
	kube_stores_fini(&s->stores);
	kube_access_free(s->access);
}

void kube_session_add(struct kube_session *s, enum kube_resource_id id,
		      struct str namespace)
{
	*vec_add(&s->watches) = kube_watch_new(s, id, namespace);
}

int64_t kube_session_run(struct kube_session *s)
{
	int64_t now = clock_mono_ns();
	int64_t left = INT64_MAX;

	for (size_t i = 0; i < s->watches.count; i++) {
		struct kube_watch *w = s->watches.v[i];

		if (w->phase != KUBE_WAITING || w->wants_login ||
		    (w->wants_list && s->lists >= LISTS_MAX))
			continue;
		if (w->due_ns <= now)
			kube_watch_start(w);
		if (w->phase == KUBE_WAITING && !w->wants_login &&
		    (w->due_ns - now) / 1000000 + 1 < left)
			left = (w->due_ns - now) / 1000000 + 1;
	}
	return left;
}

void kube_session_wake(struct kube_session *s)
{
	for (size_t i = 0; i < s->watches.count; i++)
		s->watches.v[i]->wants_login = false;
}

bool kube_session_is_synced(const struct kube_session *s)
{
	for (size_t i = 0; i < s->watches.count; i++) {
		if (!s->watches.v[i]->is_synced)
			return false;
	}
	return true;
}
