/* SPDX-License-Identifier: Apache-2.0 */
#include "client/http.h"

#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "client/http_config.h"
#include "client/oauth2.h"

#define MAX_IDLE_CONNECTIONS 256L
#define CONNECT_TIMEOUT_MS   10000L
#define EVENTS               64
#define REDIRECTS_MAX        10

/* One request in flight. */
struct transfer {
	struct http_client *client;
	CURL *easy;
	struct http_response response;
	http_done_fn done;
	void *ctx;
	size_t max_body;
	bool (*sink)(void *ctx, struct bytes b);
	void *sink_ctx;
	int64_t timeout_ms;
	int64_t deadline_ns;
	size_t header_bytes;
	char why[CURL_ERROR_SIZE];
	/* The request. */
	char *url; /* after redirects, where it is now */
	char *user_agent;
	char *post;
	char *username;
	char *password;
	char *token; /* an Authorization header's value */
	struct http_config *config;
	struct curl_slist *own; /* headers of the request */
	/* Of the handle. */
	struct curl_slist *headers;
	struct curl_slist *proxy_headers;
	struct curl_slist *connect_to;
	unsigned redirects;
	bool foreign; /* redirected to somebody else */
	bool asking;  /* waits for a token */
	bool ended;   /* before it began: response says why */
	size_t wants; /* bytes of intake that it waits for; 0: it does not */
	struct transfer *prev;
	struct transfer *next;
};

/* A descriptor of somebody else. */
struct watch {
	int fd;
	http_watch_fn fn;
	void *ctx;
};

struct http_client {
	CURLM *multi;
	int epoll;
	int wake;
	int64_t deadline_ns; /* of libcurl's timer; 0: none */
	struct transfer *transfers;
	size_t running;
	size_t ended; /* transfers that http_poll() is to end */
	VEC(struct watch) watches;
	struct intake *intake; /* NULL: memory is not counted */
	_Atomic bool room;
	_Atomic uint64_t waits;
};

static pthread_once_t global_once = PTHREAD_ONCE_INIT;

static void global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		abort(); /* out of memory */
}

static int on_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *arg,
		     void *known)
{
	struct http_client *c = arg;
	struct epoll_event e = { .data.fd = fd };

	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		e.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		e.events |= EPOLLOUT;
	epoll_ctl(c->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e);
	/* Not NULL: the next change of this socket is a modification. */
	curl_multi_assign(c->multi, fd, c);
	return 0;
}

static int on_timer(CURLM *multi UNUSED, long timeout_ms, void *arg)
{
	struct http_client *c = arg;

	c->deadline_ns =
		timeout_ms < 0 ? 0 : clock_mono_ns() + timeout_ms * 1000000;
	return 0;
}

int http_client_new(struct http_client **out, struct err *err)
{
	struct http_client *c = mem_new(struct http_client);
	struct epoll_event e = { .events = EPOLLIN };

	pthread_once(&global_once, global_init);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->multi = curl_multi_init();
	if (!c->multi)
		abort(); /* out of memory */
	e.data.fd = c->wake;
	if (c->epoll < 0 || c->wake < 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->wake, &e) < 0) {
		int rc = err_sys(err, "event loop");

		http_client_free(c);
		return rc;
	}
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, MAX_IDLE_CONNECTIONS);
	*out = c;
	return 0;
}

/* Whether the body may take n bytes more; if not, it waits. */
static bool has_room(struct transfer *t, size_t n)
{
	struct http_client *c = t->client;
	size_t cap = buf_next_cap(&t->response.body, n);

	if (!c->intake ||
	    intake_take(c->intake, &t->response.share, (int64_t)cap))
		return true;
	t->wants = cap;
	atomic_fetch_add(&c->waits, 1);
	return false;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	long status = 0;

	if (t->sink)
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return t->sink(t->sink_ctx,
			       (struct bytes){ (const uint8_t *)p, size * n }) ?
			       size * n :
			       0;
	if (!has_room(t, size * n))
		return CURL_WRITEFUNC_PAUSE;
	buf_add(&t->response.body, p, size * n);
	if (!t->response.body.over)
		return size * n;
	t->response.code = err_set(&t->response.err, ERR_TOOBIG,
				   "the body is larger than %zu bytes",
				   t->max_body);
	return 0;
}

static size_t on_header(char *p UNUSED, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	t->header_bytes += size * n;
	if (t->header_bytes <= HTTP_HEADER_MAX)
		return size * n;
	t->response.code = err_set(&t->response.err, ERR_TOOBIG,
				   "the headers are larger than %d bytes",
				   HTTP_HEADER_MAX);
	return 0;
}

/* Handles. */

static void add_header(struct curl_slist **list, const char *name,
		       const char *value)
{
	/* curl takes "Name;" for a header that is empty. */
	char *line = *value ? mem_printf("%s: %s", name, value) :
			      mem_printf("%s;", name);

	*list = curl_slist_append(*list, line);
	explicit_bzero(line, strlen(line));
	mem_free(line);
}

static void add_headers(struct curl_slist **list,
			const struct http_loaded_headers *h)
{
	for (size_t i = 0; i < h->count; i++)
		add_header(list, h->v[i].name,
			   h->v[i].value.text ? h->v[i].value.text : "");
}

static void set_blob(CURL *e, CURLoption option, const struct http_loaded *l)
{
	struct curl_blob blob = { l->text, l->len, CURL_BLOB_COPY };

	if (l->text && l->len)
		curl_easy_setopt(e, option, &blob);
}

static void set_versions(CURL *e, const struct http_config *g)
{
	static const long least[] = {
		[HTTP_TLS_DEFAULT] = CURL_SSLVERSION_TLSv1_2,
		[HTTP_TLS_10] = CURL_SSLVERSION_TLSv1_0,
		[HTTP_TLS_11] = CURL_SSLVERSION_TLSv1_1,
		[HTTP_TLS_12] = CURL_SSLVERSION_TLSv1_2,
		[HTTP_TLS_13] = CURL_SSLVERSION_TLSv1_3,
	};
	static const long most[] = {
		[HTTP_TLS_DEFAULT] = CURL_SSLVERSION_MAX_DEFAULT,
		[HTTP_TLS_10] = CURL_SSLVERSION_MAX_TLSv1_0,
		[HTTP_TLS_11] = CURL_SSLVERSION_MAX_TLSv1_1,
		[HTTP_TLS_12] = CURL_SSLVERSION_MAX_TLSv1_2,
		[HTTP_TLS_13] = CURL_SSLVERSION_MAX_TLSv1_3,
	};
	long from = least[g->min_version];

	/* A maximum below the default minimum is meant. */
	if (!g->min_version && g->max_version && g->max_version < HTTP_TLS_12)
		from = least[g->max_version];
	curl_easy_setopt(e, CURLOPT_SSLVERSION, from | most[g->max_version]);
}

static char *url_part(const char *url, CURLUPart part)
{
	CURLU *u = curl_url();
	char *text = NULL;
	char *out = NULL;

	if (u && !curl_url_set(u, CURLUPART_URL, url, 0) &&
	    !curl_url_get(u, part, &text, CURLU_DEFAULT_PORT))
		out = mem_strdup(text);
	curl_free(text);
	curl_url_cleanup(u);
	return out;
}

static bool same_part(const char *a, const char *b, CURLUPart part)
{
	char *x = url_part(a, part);
	char *y = url_part(b, part);
	bool same = x && y && !strcasecmp(x, y);

	mem_free(x);
	mem_free(y);
	return same;
}

static bool same_origin(const char *a, const char *b)
{
	return same_part(a, b, CURLUPART_SCHEME) &&
	       same_part(a, b, CURLUPART_HOST) &&
	       same_part(a, b, CURLUPART_PORT);
}

/* The URL with another host. */
static char *with_host(const char *url, const char *host)
{
	CURLU *u = curl_url();
	char *text = NULL;
	char *out = NULL;

	if (u && !curl_url_set(u, CURLUPART_URL, url, 0) &&
	    !curl_url_set(u, CURLUPART_HOST, host, 0) &&
	    !curl_url_get(u, CURLUPART_URL, &text, 0))
		out = mem_strdup(text);
	curl_free(text);
	curl_url_cleanup(u);
	return out;
}

/*
 * server_name: curl has no option for the name that TLS asks for. It gets a
 * URL with that name, is led to the real host, and told the Host header.
 */
static void set_server_name(struct transfer *t, const char *name)
{
	char *host = url_part(t->url, CURLUPART_HOST);
	char *port = url_part(t->url, CURLUPART_PORT);
	char *url = with_host(t->url, name);

	if (host && port && url) {
		char *line = mem_printf("%s:%s:%s:%s", name, port, host, port);
		char *real = mem_printf("%s:%s", host, port);

		t->connect_to = curl_slist_append(NULL, line);
		curl_easy_setopt(t->easy, CURLOPT_URL, url);
		curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->connect_to);
		add_header(&t->headers, "Host", real);
		mem_free(line);
		mem_free(real);
	}
	mem_free(host);
	mem_free(port);
	mem_free(url);
}

static void set_tls(struct transfer *t, const struct http_config *g)
{
	CURL *e = t->easy;

	set_blob(e, CURLOPT_CAINFO_BLOB, &g->ca);
	set_blob(e, CURLOPT_SSLCERT_BLOB, &g->cert);
	set_blob(e, CURLOPT_SSLKEY_BLOB, &g->cert_key);
	set_versions(e, g);
	if (g->insecure_skip_verify) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (g->server_name && !strncmp(t->url, "https:", 6))
		set_server_name(t, g->server_name);
}

static void set_proxy(struct transfer *t, const struct http_config *g)
{
	const char *proxy = http_config_proxy(g, t->url, getenv);

	if (!proxy)
		return;
	curl_easy_setopt(t->easy, CURLOPT_PROXY, proxy);
	add_headers(&t->proxy_headers, &g->proxy_headers);
	curl_easy_setopt(t->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	curl_easy_setopt(t->easy, CURLOPT_PROXYHEADER, t->proxy_headers);
	/* A tunnel that was let through is not for who is not let through. */
	if (!strncmp(t->url, "https:", 6) &&
	    (g->proxy_headers.count || strchr(proxy, '@')))
		curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
}

static void set_password(CURL *e, const char *username, const char *password)
{
	curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	curl_easy_setopt(e, CURLOPT_USERNAME, username ? username : "");
	curl_easy_setopt(e, CURLOPT_PASSWORD, password ? password : "");
}

/* Who we are: for the host that we were asked to go to. */
static void set_identity(struct transfer *t, const struct http_config *g)
{
	add_headers(&t->headers, &g->headers);
	if (g->auth == HTTP_AUTH_BASIC) {
		set_password(t->easy, g->username.text, g->password.text);
	} else if (g->auth == HTTP_AUTH_HEADER) {
		char *value = mem_printf(
			"%s %s", g->auth_type,
			g->credentials.text ? g->credentials.text : "");

		add_header(&t->headers, "Authorization", value);
		explicit_bzero(value, strlen(value));
		mem_free(value);
	} else if (t->token) {
		add_header(&t->headers, "Authorization", t->token);
	}
}

static void set_config(struct transfer *t)
{
	const struct http_config *g = t->config;

	if (!g)
		return;
	if (!g->enable_http2)
		curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
				 (long)CURL_HTTP_VERSION_1_1);
	set_tls(t, g);
	set_proxy(t, g);
	if (!t->foreign)
		set_identity(t, g);
}

/* What is left of the time that the request has; 1 at least. */
static long left_ms(const struct transfer *t)
{
	int64_t left = (t->deadline_ns - clock_mono_ns()) / 1000000;

	return left > 0 ? (long)left : 1;
}

static void set_options(struct transfer *t)
{
	CURL *e = t->easy;
	long left = left_ms(t);

	curl_easy_setopt(e, CURLOPT_URL, t->url);
	curl_easy_setopt(e, CURLOPT_USERAGENT, t->user_agent);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, left);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
			 left < CONNECT_TIMEOUT_MS ? left : CONNECT_TIMEOUT_MS);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	if (t->post)
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, t->post);
	if (t->username)
		set_password(e, t->username, t->password);
	for (const struct curl_slist *h = t->own; h; h = h->next)
		t->headers = curl_slist_append(t->headers, h->data);
	set_config(t);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
}

static void handle_drop(struct transfer *t)
{
	if (t->easy) {
		curl_multi_remove_handle(t->client->multi, t->easy);
		curl_easy_cleanup(t->easy);
	}
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->proxy_headers);
	curl_slist_free_all(t->connect_to);
	t->easy = NULL;
	t->headers = NULL;
	t->proxy_headers = NULL;
	t->connect_to = NULL;
}

static void launch(struct transfer *t)
{
	handle_drop(t);
	t->header_bytes = 0;
	*t->why = 0;
	t->wants = 0;
	buf_fini(&t->response.body);
	intake_release(&t->response.share);
	t->response.body = buf_init(t->max_body);
	t->easy = curl_easy_init();
	if (!t->easy)
		abort(); /* out of memory */
	set_options(t);
	curl_multi_add_handle(t->client->multi, t->easy);
}

/* It ends in the next http_poll(), as all do. */
static void fail(struct transfer *t, const struct err *err)
{
	t->response.err = *err;
	t->response.code = err->code;
	t->ended = true;
	t->client->ended++;
}

static void on_token(void *ctx, const char *value, const struct err *err)
{
	struct transfer *t = ctx;

	t->asking = false;
	if (err) {
		fail(t, err);
		return;
	}
	t->token = mem_strdup(value);
	launch(t);
}

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static struct transfer *transfer_new(struct http_client *c,
				     const struct http_request *r)
{
	struct transfer *t = mem_new(struct transfer);

	t->client = c;
	t->done = r->done;
	t->ctx = r->ctx;
	t->max_body = r->max_body;
	t->sink = r->sink;
	t->sink_ctx = r->sink_ctx;
	t->timeout_ms = r->timeout_ms;
	t->deadline_ns = clock_mono_ns() + r->timeout_ms * 1000000;
	t->url = mem_strdup(r->url);
	t->user_agent = mem_strdup(r->user_agent);
	t->post = copy_of(r->post);
	t->username = copy_of(r->username);
	t->password = copy_of(r->password);
	t->config = r->config ? http_config_ref(r->config) : NULL;
	for (const char *const *h = r->headers; h && *h; h++)
		t->own = curl_slist_append(t->own, *h);
	t->next = c->transfers;
	if (t->next)
		t->next->prev = t;
	c->transfers = t;
	c->running++;
	return t;
}

void http_start(struct http_client *c, const struct http_request *r)
{
	struct transfer *t = transfer_new(c, r);
	struct err err;

	if (t->config && http_config_load(t->config, &err)) {
		fail(t, &err);
	} else if (t->config && t->config->auth == HTTP_AUTH_OAUTH2) {
		t->asking = true;
		oauth2_ask(t->config->oauth2, t->config, c, r, on_token, t);
	} else {
		launch(t);
	}
}

/* What a transfer's end means to the caller. */
static void set_result(struct transfer *t, CURLcode result)
{
	struct http_response *r = &t->response;
	const char *why = *t->why ? t->why : curl_easy_strerror(result);

	if (r->code || result == CURLE_OK)
		return;
	switch (result) {
	case CURLE_OPERATION_TIMEDOUT:
		r->code = err_set(&r->err, ERR_TIMEOUT,
				  "no complete answer within %lld ms (%s)",
				  (long long)t->timeout_ms,
				  t->wants ? "it waited for --ingest.memory" :
					     why);
		break;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		r->code = err_set(&r->err, ERR_INVALID, "%s", why);
		break;
	default:
		r->code = err_set(&r->err, ERR_AGAIN, "%s", why);
		break;
	}
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	mem_free(secret);
}

static void transfer_free(struct transfer *t)
{
	struct http_client *c = t->client;

	handle_drop(t);
	curl_slist_free_all(t->own);
	buf_fini(&t->response.body);
	intake_release(&t->response.share);
	mem_free(t->url);
	mem_free(t->user_agent);
	forget(t->post);
	mem_free(t->username);
	forget(t->password);
	forget(t->token);
	http_config_unref(t->config);
	if (t->prev)
		t->prev->next = t->next;
	else
		c->transfers = t->next;
	if (t->next)
		t->next->prev = t->prev;
	c->running--;
	mem_free(t);
}

static void transfer_end(struct transfer *t, CURLcode result)
{
	struct http_response *r = &t->response;
	char *type = NULL;
	char *location = NULL;

	if (t->ended)
		t->client->ended--;
	if (t->asking)
		oauth2_forget(t->config->oauth2, t);
	set_result(t, result);
	if (r->code && t->redirects)
		err_wrap(&r->err, r->code, "redirected to %s", t->url);
	if (t->easy) {
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &r->status);
		curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
		curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &location);
	}
	r->content_type = type ? type : "";
	r->location = location ? location : "";
	if (r->status == 401 && t->token)
		oauth2_expire(t->config->oauth2);
	t->done(t->ctx, r);
	transfer_free(t);
}

/* Where a redirect leads to, or NULL; the caller's. */
static char *redirect_of(const struct transfer *t)
{
	const struct http_config *g = t->config;
	char *location = NULL;
	long status = 0;
	char *url;

	if (!g || !g->follow_redirects || t->post)
		return NULL;
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &location);
	if (!location || (status != 301 && status != 302 && status != 303 &&
			  status != 307 && status != 308))
		return NULL;
	/* What is relative, is so to the host that server_name stands for. */
	if (t->connect_to && same_part(location, t->url, CURLUPART_PORT)) {
		char *real = url_part(t->url, CURLUPART_HOST);
		char *host = url_part(location, CURLUPART_HOST);
		bool ours = real && host && !strcasecmp(host, g->server_name);

		url = ours ? with_host(location, real) : mem_strdup(location);
		mem_free(real);
		mem_free(host);
		return url;
	}
	return mem_strdup(location);
}

/* Go where we are sent. False: nowhere. */
static bool follow(struct transfer *t)
{
	char *url = redirect_of(t);
	struct err err;

	if (!url)
		return false;
	if (++t->redirects > REDIRECTS_MAX) {
		err_set(&err, ERR_INVALID, "stopped after %d redirects",
			REDIRECTS_MAX);
		t->response.err = err;
		t->response.code = err.code;
		mem_free(url);
		return false;
	}
	t->foreign |= !same_origin(t->url, url);
	mem_free(t->url);
	t->url = url;
	launch(t);
	return true;
}

static void collect(struct http_client *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		struct transfer *t;
		CURLcode result = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
		if (result != CURLE_OK || !follow(t))
			transfer_end(t, result);
	}
}

/*
 * Who waits goes on in the order of sizes, of the same size who began first.
 * The next one behind a size and a transfer of it (NULL: none): new transfers
 * stand before older ones in the list.
 */
static struct transfer *next_waiting(struct http_client *c, size_t above,
				     const struct transfer *behind)
{
	struct transfer *best = NULL;
	bool newer = behind != NULL;

	for (struct transfer *t = c->transfers; t; t = t->next) {
		newer &= t != behind;
		if (!t->wants ||
		    !(t->wants > above || (t->wants == above && newer)))
			continue;
		if (!best || t->wants <= best->wants)
			best = t;
	}
	return best;
}

static void go_on(struct transfer *t)
{
	t->wants = 0;
	/* Calls on_body(), which may have to wait again. */
	(void)curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

/* Let those go on for which there is room, the smallest first. */
static void resume(struct http_client *c)
{
	struct transfer *t = NULL;
	size_t above = 0;

	while ((t = next_waiting(c, above, t))) {
		above = t->wants;
		/* Who is larger would not get it either. */
		if (!intake_take(c->intake, &t->response.share,
				 (int64_t)t->wants))
			return;
		go_on(t);
	}
}

static void end_failed(struct http_client *c)
{
	struct transfer *t = c->transfers;

	while (t && c->ended) {
		struct transfer *next = t->next;

		if (t->ended)
			transfer_end(t, CURLE_OK);
		/* Others may have begun meanwhile, before all of these. */
		t = next;
	}
}

static void transfer_cancel(struct transfer *t)
{
	t->response.code = err_set(&t->response.err, ERR_CLOSED, "stopped");
	transfer_end(t, CURLE_OK);
}

void http_cancel(struct http_client *c, const void *ctx)
{
	struct transfer *t = c->transfers;

	while (t) {
		struct transfer *next = t->next;

		if (!ctx || t->ctx == ctx)
			transfer_cancel(t);
		t = next;
	}
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	while (c->transfers)
		transfer_cancel(c->transfers);
	curl_multi_cleanup(c->multi);
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->wake >= 0)
		close(c->wake);
	vec_fini(&c->watches);
	mem_free(c);
}

/* Milliseconds to wait: the caller's, or until libcurl's timer. */
static int wait_ms(const struct http_client *c, int64_t timeout_ms)
{
	int64_t left = c->ended || atomic_load(&c->room) ? 0 : timeout_ms;

	if (c->deadline_ns) {
		int64_t until = c->deadline_ns - clock_mono_ns();
		int64_t ms = until > 0 ? (until + 999999) / 1000000 : 0;

		left = ms < left ? ms : left;
	}
	return (int)(left < 0 ? 0 : left > 60000 ? 60000 : left);
}

static bool call_watch(struct http_client *c, int fd)
{
	for (size_t i = 0; i < c->watches.count; i++) {
		struct watch w = c->watches.v[i];

		if (w.fd != fd)
			continue;
		w.fn(w.ctx);
		return true;
	}
	return false;
}

static void dispatch(struct http_client *c, const struct epoll_event *e)
{
	uint64_t count;
	int flags = 0;
	int running;

	if (e->data.fd == c->wake) {
		if (read(c->wake, &count, sizeof(count)) < 0) {
			/* Somebody else has taken it: awake all the same. */
		}
		return;
	}
	if (call_watch(c, e->data.fd))
		return;
	if (e->events & (EPOLLIN | EPOLLHUP))
		flags |= CURL_CSELECT_IN;
	if (e->events & EPOLLOUT)
		flags |= CURL_CSELECT_OUT;
	if (e->events & EPOLLERR)
		flags |= CURL_CSELECT_ERR;
	curl_multi_socket_action(c->multi, e->data.fd, flags, &running);
}

int64_t http_next_ms(const struct http_client *c, int64_t max_ms)
{
	return wait_ms(c, max_ms);
}

void http_wait(const struct http_client *c, int64_t ms)
{
	struct pollfd p = { .fd = c->epoll, .events = POLLIN };

	(void)poll(&p, 1, (int)ms);
}

void http_poll(struct http_client *c, int64_t timeout_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(c->epoll, events, EVENTS, wait_ms(c, timeout_ms));
	int running;

	for (int i = 0; i < n; i++)
		dispatch(c, &events[i]);
	if (c->intake && atomic_exchange(&c->room, false))
		resume(c);
	if (c->deadline_ns && clock_mono_ns() >= c->deadline_ns) {
		c->deadline_ns = 0;
		curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0,
					 &running);
	}
	collect(c);
	end_failed(c);
}

void http_watch(struct http_client *c, int fd, http_watch_fn fn, void *ctx)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	*vec_add(&c->watches) = (struct watch){ fd, fn, ctx };
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e);
}

void http_unwatch(struct http_client *c, int fd)
{
	for (size_t i = 0; i < c->watches.count; i++) {
		if (c->watches.v[i].fd != fd)
			continue;
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
		c->watches.v[i] = c->watches.v[--c->watches.count];
		return;
	}
}

void http_wake(struct http_client *c)
{
	uint64_t one = 1;

	if (write(c->wake, &one, sizeof(one)) < 0) {
		/* Full: it is awake already. */
	}
}

void http_client_set_intake(struct http_client *c, struct intake *in)
{
	c->intake = in;
}

void http_room(struct http_client *c)
{
	atomic_store(&c->room, true);
	http_wake(c);
}

uint64_t http_waits(const struct http_client *c)
{
	return atomic_load(&c->waits);
}

size_t http_running(const struct http_client *c)
{
	return c->running;
}

static void keep(void *ctx, struct http_response *r)
{
	struct http_response *out = ctx;

	*out = *r;
	out->content_type = "";
	out->location = "";
	r->body = (struct buf){ 0 };
}

void http_get(const struct http_request *request, struct http_response *r)
{
	struct http_request one = *request;
	struct http_client *c = NULL;

	*r = (struct http_response){ 0 };
	r->code = http_client_new(&c, &r->err);
	if (r->code || !c)
		return;
	one.done = keep;
	one.ctx = r;
	http_start(c, &one);
	while (http_running(c)) {
		http_poll(c, request->waiting ? 200 : 1000);
		if (request->waiting)
			request->waiting(request->sink_ctx);
	}
	http_client_free(c);
}
