/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cri_sd_configs: containers of containerd or CRI-O, the runtimes of
 * Kubernetes, on this machine. Prometheus does not have this kind. The targets
 * have no network addresses, so they cannot be scraped: they only describe
 * containers, for the eBPF collector.
 *
 * Source: github.com/kubernetes/cri-api, pkg/apis/runtime/v1/api.proto,
 * ListPodSandbox and ListContainers.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/cri/cri_answer.h"

#define SERVICE "http://localhost/runtime.v1.RuntimeService/"
#define SCHEME  "unix://"

/* Limit on the size of a message, in bytes; the kubelet has the same limit. */
#define MESSAGE_MAX (16 * MIB)

/* Limit on the time of a call. */
#define CALL_MS 10000

/* An entry of cri_sd_configs. */
struct cri_config {
	struct discovery_config base;
	struct str socket; /* path */
};

/* The data of a provider. */
struct cri_source {
	/*
	 * the answer with the pods, while the call for the containers is under
	 * way
	 */
	struct buf pods;
	bool running;  /* whether a call is under way */
	uint64_t hash; /* hash of the answers that were reported last */
};

static const struct cri_config *cri_config_of(const struct provider *p)
{
	return (const struct cri_config *)p->config;
}

static void *cri_open(struct provider *p UNUSED)
{
	return mem_new(struct cri_source);
}

/* Start a call. */
static void cri_call(struct provider *p, const char *url, struct bytes body,
		     http_done_fn done)
{
	static const char *const headers[] = { "Content-Type: application/grpc",
					       "TE: trailers", NULL };

	transfer_start(p->client,
		       &(struct http_request){
			       .url = url,
			       .timeout_ms = CALL_MS,
			       .max_body = MESSAGE_MAX,
			       .user_agent = p->user_agent,
			       .unix_socket = cri_config_of(p)->socket.ptr,
			       .headers = headers,
			       .body = body,
			       .is_http2 = true,
			       .keep_headers = true,
			       .done = done,
			       .ctx = p });
}

/* End a refresh that has failed. */
static void cri_fail(struct provider *p, const struct err *err)
{
	struct cri_source *s = p->data;

	s->running = false;
	provider_failed(p, cri_config_of(p)->socket.ptr, err);
	provider_refreshed(p);
}

/*
 * Report the containers, unless both answers have the same bytes as those that
 * were reported last.
 */
static int cri_report(struct provider *p, struct bytes pods,
		      struct bytes containers, struct err *err)
{
	struct cri_source *s = p->data;
	uint64_t hash = hash_bytes(pods) * 31 + hash_bytes(containers);
	struct target_groups *g = NULL;
	struct group_builder b;
	int rc;

	if (p->asked && hash == s->hash)
		return 0;
	group_builder_init(&b);
	rc = cri_answer_map(pods, containers, &b, err);
	if (!rc)
		rc = group_builder_take(&b, &g, err);
	group_builder_fini(&b);
	if (rc)
		return rc;
	s->hash = hash;
	provider_tell(p, cri_config_of(p)->socket.ptr, g);
	provider_found_one(p, g);
	return 0;
}

/*
 * Take the answer to ListContainers, the second call of a refresh, and report
 * the containers.
 */
static void cri_on_containers(void *ctx, struct http_response *r)
{
	struct provider *p = ctx;
	struct cri_source *s = p->data;
	struct http_response first = { .status = 200, .body = s->pods };
	struct bytes containers;
	struct bytes pods;
	struct err err;
	int rc;

	if (r->code == ERR_CLOSED)
		return;
	rc = cri_answer_check(r, &containers, &err);
	if (!rc)
		rc = cri_answer_check(&first, &pods, &err);
	if (!rc)
		rc = cri_report(p, pods, containers, &err);
	buf_fini(&s->pods);
	s->pods = (struct buf){ 0 };
	s->running = false;
	if (rc)
		cri_fail(p, &err);
	else
		provider_refreshed(p);
}

/*
 * Take the answer to ListPodSandbox, the first call of a refresh, and start the
 * call of ListContainers.
 */
static void cri_on_pods(void *ctx, struct http_response *r)
{
	struct provider *p = ctx;
	struct cri_source *s = p->data;
	struct bytes message;
	struct err err;

	if (r->code == ERR_CLOSED)
		return;
	if (cri_answer_check(r, &message, &err)) {
		cri_fail(p, &err);
		return;
	}
	buf_fini(&s->pods);
	s->pods = r->body;
	r->body = (struct buf){ 0 };
	cri_call(p, SERVICE "ListContainers", cri_list_containers,
		 cri_on_containers);
}

static void cri_refresh(struct provider *p)
{
	struct cri_source *s = p->data;

	if (s->running)
		return;
	s->running = true;
	cri_call(p, SERVICE "ListPodSandbox", cri_list_pods, cri_on_pods);
}

static void cri_close(struct provider *p)
{
	struct cri_source *s = p->data;

	http_cancel(p->client, p);
	buf_fini(&s->pods);
	mem_free(s);
}

/* Decode the key `endpoint`: unix:// and an absolute path. */
static void cri_decode_endpoint(struct yaml *y, const struct yaml_node *n,
				void *socket)
{
	struct str text = str_of("");

	yaml_text(y, n, &text);
	if (!str_starts(text, str_of(SCHEME "/"))) {
		yaml_error(
			y, n,
			"endpoint must be unix:// and the path of a socket, such as unix:///run/crio/crio.sock");
		return;
	}
	*(struct str *)socket = (struct str){ text.ptr + strlen(SCHEME),
					      text.len - strlen(SCHEME) };
}

static void cri_init(struct discovery_config *base)
{
	((struct cri_config *)base)->socket =
		str_of("/run/containerd/containerd.sock");
}

static const struct yaml_field cri_fields[] = {
	DISCOVERY_FIELDS,
	{ "endpoint", cri_decode_endpoint, offsetof(struct cri_config, socket),
	  NULL },
	{ 0 },
};

const struct provider_kind provider_cri = {
	.name = "cri",
	.refresh_ms = 10000,
	.config_size = sizeof(struct cri_config),
	.fields = cri_fields,
	.init = cri_init,
	.open = cri_open,
	.refresh = cri_refresh,
	.close = cri_close,
	.container_label = "__meta_cri_container_id",
	.only_containers = true,
};
