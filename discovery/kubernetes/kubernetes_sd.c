/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_sd_configs: nodes, pods, services, endpoints, endpoint slices and
 * ingresses of a Kubernetes cluster, which everprof lists and then watches (see
 * kube_watch.h).
 *
 * The targets are reported for the first time when each watch has listed its
 * objects. Later changes are reported together: one second after the first of
 * them, but at least five seconds after the previous report.
 *
 * Source: kubernetes.io/docs/reference/using-api/api-concepts.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/kubernetes/kube_join.h"
#include "discovery/kubernetes/kube_watch.h"
#include "discovery/kubernetes/kubeconfig.h"

#define SOON_NS     1000000000LL
#define INTERVAL_NS 5000000000LL
#define WATCHES_MAX 1000

/* The data of a Kubernetes provider. */
struct kube_source {
	struct kube_session session;
	bool is_started;
	bool is_told; /* the targets were reported once */
	/* when changes are to be reported; 0: there are none */
	int64_t publish_ns;
	int64_t published_ns; /* when the targets were reported last */
};

/*
 * Called when a credential plugin has ended or was cancelled; see
 * kube_access_new().
 */
static void kube_on_login(struct provider *p)
{
	struct kube_source *s = p->data;

	kube_session_wake(&s->session);
	provider_call_within(p, 0);
}

static void *kube_open(struct provider *p)
{
	const struct kube_config *c = (const struct kube_config *)p->config;
	struct kube_source *s = mem_new(struct kube_source);

	kube_session_init(&s->session, p);
	s->session.access =
		kube_access_new(p, c->api_server, c->kubeconfig, kube_on_login);
	return s;
}

/*
 * Add a watch for each wanted resource whose member `namespaced` is equal to
 * the argument `namespaced`. `namespace` is the namespace that these watches
 * are for; empty: all namespaces.
 */
static void kube_add_watches(struct kube_source *s, struct str namespace,
			     bool namespaced)
{
	for (size_t i = 0; i < KUBE_RESOURCES; i++) {
		if (s->session.config->wants[i] &&
		    kube_resources[i].namespaced == namespaced)
			kube_session_add(&s->session, (enum kube_resource_id)i,
					 namespace);
	}
}

/* Add all watches. A namespace that is named twice is watched once. */
static int kube_start(struct kube_source *s, struct err *err)
{
	const struct kube_config *c = s->session.config;
	const struct text_list *names = &c->namespaces;
	char *own = NULL;
	int rc;

	if (names->count > WATCHES_MAX / KUBE_RESOURCES)
		return err_set(
			err, ERR_TOOBIG,
			"namespaces.names has more than %d names: split the entry, or leave \"names\" out to watch all namespaces",
			WATCHES_MAX / KUBE_RESOURCES);
	rc = c->own_namespace ? kube_own_namespace(&own, err) : 0;
	if (rc)
		return rc;
	kube_add_watches(s, str_of(""), false);
	for (size_t i = 0; i < names->count; i++) {
		const struct text_list before = { names->v, i };

		if (!text_list_has(&before, names->v[i]))
			kube_add_watches(s, names->v[i], true);
	}
	if (own && !text_list_has(names, str_of(own)))
		kube_add_watches(s, str_of(own), true);
	if (!own && !names->count)
		kube_add_watches(s, str_of(""), true);
	mem_free(own);
	s->is_started = true;
	return 0;
}

/*
 * Report the targets. If objects lack labels because of the memory limit,
 * report a failure, too.
 */
static void kube_publish(struct provider *p)
{
	struct kube_source *s = p->data;
	struct target_groups_list all = { 0 };
	struct target_groups total = { 0 };
	struct err err;
	size_t lacking =
		kube_join_all(&s->session.stores, s->session.config, &all);

	for (size_t i = 0; i < all.count; i++)
		total.targets += all.v[i]->targets;
	provider_found(p, &all);
	target_groups_list_fini(&all);
	s->session.is_lacking = lacking;
	if (lacking) {
		(void)err_set(
			&err, ERR_TOOBIG,
			"the targets of %zu objects lack what other objects add, such as labels of their node or service, or ports of their pods: together, everything would take more than %ld MB of memory; limit namespaces, or set selectors",
			lacking, KUBE_BYTES_MAX / MIB);
		provider_failed(p, kube_access_shown(s->session.access), &err);
	}
	/* Targets change often, so only the first report is logged. */
	if (!s->is_told)
		provider_tell(p, kube_access_shown(s->session.access), &total);
	s->is_told = true;
}

/*
 * Report the targets if the time for a report has come. Returns the ms until
 * the next report; INT64_MAX: no report is planned.
 */
static int64_t kube_publish_due(struct provider *p)
{
	struct kube_source *s = p->data;
	int64_t now = clock_mono_ns();

	if (!kube_session_is_synced(&s->session))
		return INT64_MAX;
	if (s->session.stores.changed) {
		int64_t earliest = s->published_ns + INTERVAL_NS;

		s->session.stores.changed = false;
		if (!s->publish_ns && s->is_told)
			s->publish_ns = now + SOON_NS > earliest ?
						now + SOON_NS :
						earliest;
		if (!s->is_told)
			s->publish_ns = now;
	}
	if (!s->publish_ns)
		return INT64_MAX;
	if (s->publish_ns > now)
		return (s->publish_ns - now) / 1000000 + 1;
	kube_publish(p);
	s->publish_ns = 0;
	s->published_ns = clock_mono_ns();
	return INT64_MAX;
}

static void kube_call(struct provider *p)
{
	struct kube_source *s = p->data;
	/*
	 * kube_access_expire() comes first: if it kills a plugin, it wakes the
	 * watches that wait for the plugin, and kube_session_run() then goes on
	 * with these watches.
	 */
	int64_t left = kube_access_expire(s->session.access);
	int64_t run = kube_session_run(&s->session);
	int64_t publish = kube_publish_due(p);

	left = run < left ? run : left;
	left = publish < left ? publish : left;
	if (left < INT64_MAX)
		provider_call_within(p, left);
}

/* Start the watches, unless an earlier refresh has started them. */
static void kube_refresh(struct provider *p)
{
	struct kube_source *s = p->data;
	struct err err;

	if (s->is_started)
		return;
	if (kube_start(s, &err)) {
		provider_failed(p, kube_access_shown(s->session.access), &err);
		return;
	}
	provider_call_within(p, 0);
}

static void kube_close(struct provider *p)
{
	struct kube_source *s = p->data;

	kube_session_fini(&s->session);
	mem_free(s);
}

/*
 * Read the kubeconfig file, if one is configured, and the files that it names;
 * call tell() with the first mistake.
 */
static void kube_examine(const struct discovery_config *base,
			 void (*tell)(void *ctx, const char *text), void *ctx)
{
	const struct kube_config *c = (const struct kube_config *)base;
	struct err err;
	char *path = mem_strndup(c->kubeconfig);

	if (c->kubeconfig.len && kubeconfig_try(path, &err))
		tell(ctx, err.msg);
	mem_free(path);
}

const struct provider_kind provider_kubernetes = {
	.name = "kubernetes",
	.container_label = "__meta_kubernetes_pod_container_id",
	.refresh_ms = 30000,
	.config_size = sizeof(struct kube_config),
	.fields = kube_config_fields,
	.init = kube_config_init,
	.check = kube_config_check,
	.check_containers = kube_config_check_containers,
	.open = kube_open,
	.refresh = kube_refresh,
	.close = kube_close,
	.call = kube_call,
	.examine = kube_examine,
};
