/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_config.h"

#include "discovery/kubernetes/kube_selector.h"

/* Decode the section namespaces. */
static void kube_decode_namespaces(struct yaml *y, const struct yaml_node *n,
				   void *field)
{
	static const struct yaml_field fields[] = {
		{ "names", yaml_text_list,
		  offsetof(struct kube_config, namespaces), NULL },
		{ "own_namespace", yaml_bool,
		  offsetof(struct kube_config, own_namespace), NULL },
		{ 0 },
	};

	yaml_decode(y, n, "namespaces", fields, field);
}

/* Decode the section attach_metadata. */
static void kube_decode_attach(struct yaml *y, const struct yaml_node *n,
			       void *field)
{
	static const struct yaml_field fields[] = {
		{ "node", yaml_bool, offsetof(struct kube_config, attach_node),
		  NULL },
		{ "namespace", yaml_bool,
		  offsetof(struct kube_config, attach_namespace), NULL },
		{ "deployment", yaml_bool,
		  offsetof(struct kube_config, attach_deployment), NULL },
		{ "job", yaml_bool, offsetof(struct kube_config, attach_job),
		  NULL },
		{ "cronjob", yaml_bool,
		  offsetof(struct kube_config, attach_cronjob), NULL },
		{ 0 },
	};

	yaml_decode(y, n, "attach_metadata", fields, field);
}

/* Return the role with this name; KUBE_ROLES: there is none. */
static enum kube_resource_id kube_role_of(struct str name)
{
	size_t i = 0;

	while (i < KUBE_ROLES && !str_is(name, kube_resources[i].role))
		i++;
	return (enum kube_resource_id)i;
}

/* Check the parts of a selector that do not depend on the role. */
static void kube_check_selector(struct yaml *y, const struct yaml_node *n,
				const struct kube_selector *s)
{
	if (!kube_is_field_selector(s->field))
		yaml_error(
			y, n,
			"\"%.*s\" is not a field selector, such as spec.nodeName=a",
			STR_ARG(s->field));
	if (!kube_is_label_selector(s->label))
		yaml_error(y, n,
			   "\"%.*s\" is not a label selector, such as app=web",
			   STR_ARG(s->label));
}

/* Decode the section selectors. */
static void kube_decode_selectors(struct yaml *y, const struct yaml_node *n,
				  void *field)
{
	static const struct yaml_field fields[] = {
		{ "role", yaml_text, offsetof(struct kube_selector, role),
		  NULL },
		{ "label", yaml_text, offsetof(struct kube_selector, label),
		  NULL },
		{ "field", yaml_env_text, offsetof(struct kube_selector, field),
		  NULL },
		{ 0 },
	};
	struct kube_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "selectors"))
		return;
	for (size_t i = 0; i < n->count; i++) {
		struct kube_selector one = { str_of(""), str_of(""),
					     str_of("") };
		enum kube_resource_id id;

		yaml_decode(y, n->items[i], "selector", fields, &one);
		id = kube_role_of(one.role);
		if (id == KUBE_ROLES) {
			yaml_error(
				y, n->items[i],
				"selectors: unknown role \"%.*s\" (one of: pod, service, endpoints, endpointslice, node, ingress)",
				STR_ARG(one.role));
			continue;
		}
		if (c->selectors[id].role.len)
			yaml_error(y, n->items[i],
				   "selectors: duplicated selector role: %s",
				   kube_resources[id].role);
		kube_check_selector(y, n->items[i], &one);
		c->selectors[id] = one;
	}
}

void kube_config_init(struct discovery_config *base)
{
	struct kube_config *c = (struct kube_config *)base;

	c->role_name = str_of("");
	c->api_server = str_of("");
	c->kubeconfig = str_of("");
}

/* Set which resources are watched. */
static void kube_set_wanted(struct kube_config *c)
{
	bool slices = c->role == KUBE_ENDPOINTS ||
		      c->role == KUBE_ENDPOINTSLICE;
	bool pods = slices || c->role == KUBE_POD;

	c->wants[c->role] = true;
	c->wants[KUBE_SERVICE] |= slices;
	c->wants[KUBE_POD] |= pods;
	c->wants[KUBE_NODE] |= pods && c->attach_node;
	c->wants[KUBE_NAMESPACE] = c->role != KUBE_NODE && c->attach_namespace;
	c->wants[KUBE_REPLICASET] = pods && c->attach_deployment;
	c->wants[KUBE_JOB] = pods && (c->attach_job || c->attach_cronjob);
}

/*
 * Report selectors for resources that are not watched. With the role pod, a
 * selector for nodes is allowed even if nodes are not watched.
 */
static void kube_check_selector_roles(struct yaml *y,
				      const struct yaml_node *entry,
				      const struct kube_config *c)
{
	const bool needs_nodes = c->role == KUBE_ENDPOINTS ||
				 c->role == KUBE_ENDPOINTSLICE;

	for (size_t i = 0; i < KUBE_ROLES; i++) {
		if (c->selectors[i].role.len && !c->wants[i] &&
		    !(c->role == KUBE_POD && i == KUBE_NODE))
			yaml_error(
				y, entry,
				"the role %s has no use for a selector with role %s%s",
				kube_resources[c->role].role,
				kube_resources[i].role,
				needs_nodes && i == KUBE_NODE ?
					" without attach_metadata: {node: true}" :
					"");
	}
}

/* Report wrong combinations of keys that say how to reach the API server. */
static void kube_check_server(struct yaml *y, const struct yaml_node *entry,
			      const struct kube_config *c)
{
	bool custom = !http_options_are_default(&c->base.http);

	if (c->kubeconfig.len && c->api_server.len)
		yaml_error(
			y, entry,
			"kubeconfig_file and api_server cannot be used together");
	else if (c->kubeconfig.len && custom)
		yaml_error(
			y, entry,
			"kubeconfig_file and options of the HTTP client (authorization, tls_config, proxy_url …) cannot be used together: that file has its own");
	else if (!c->api_server.len && custom)
		yaml_error(
			y, entry,
			"options of the HTTP client require the URL of the api_server");
	if (c->own_namespace && c->api_server.len)
		yaml_error(
			y, entry,
			"namespaces.own_namespace and api_server cannot be used together");
	if (c->own_namespace && c->kubeconfig.len)
		yaml_error(
			y, entry,
			"namespaces.own_namespace and kubeconfig_file cannot be used together");
}

void kube_config_check(struct yaml *y, const struct yaml_node *entry,
		       struct discovery_config *base)
{
	struct kube_config *c = (struct kube_config *)base;

	c->role = kube_role_of(c->role_name);
	if (c->role == KUBE_ROLES) {
		yaml_error(
			y, yaml_place(entry, "role"),
			"kubernetes_sd_config: %s%.*s (one of: pod, service, endpoints, endpointslice, node, ingress)",
			c->role_name.len ? "unknown role " : "role missing",
			STR_ARG(c->role_name));
		return;
	}
	if (c->kubeconfig.len)
		c->kubeconfig = yaml_path(y, c->kubeconfig);
	while (str_ends(c->api_server, "/"))
		c->api_server.len--;
	kube_check_server(y, entry, c);
	kube_set_wanted(c);
	kube_check_selector_roles(y, entry, c);
}

void kube_config_check_containers(struct yaml *y, const struct yaml_node *entry,
				  const struct discovery_config *base)
{
	const struct kube_config *c = (const struct kube_config *)base;

	if (c->role != KUBE_POD && c->role != KUBE_ROLES)
		yaml_error(
			y, yaml_place(entry, "role"),
			"the role %s does not find containers: use the role pod",
			kube_resources[c->role].role);
}

const struct yaml_field kube_config_fields[] = {
	{ "role", yaml_text, offsetof(struct kube_config, role_name), NULL },
	{ "api_server", http_decode_url,
	  offsetof(struct kube_config, api_server), NULL },
	{ "kubeconfig_file", yaml_text,
	  offsetof(struct kube_config, kubeconfig), NULL },
	{ "namespaces", kube_decode_namespaces, 0, NULL },
	{ "selectors", kube_decode_selectors, 0, NULL },
	{ "attach_metadata", kube_decode_attach, 0, NULL },
	HTTP_OPTION_FIELDS(struct discovery_config, http),
	{ 0 },
};
