/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubeobject/kube_ingress.h"

#include "discovery/kubeobject/kube_meta.h"
#include "discovery/rest/document.h"

/* Returns the text after the first part of a domain, with its dot. */
static struct str after_first_part(struct str domain)
{
	const char *dot = memchr(domain.ptr, '.', domain.len);
	size_t len = dot ? (size_t)(dot - domain.ptr) : domain.len;

	return (struct str){ domain.ptr + len, domain.len - len };
}

/*
 * Returns whether a host of a certificate covers the host of a rule. The first
 * part of the former can be *, which covers any first part.
 */
static bool tls_covers(struct str pattern, struct str host)
{
	return str_eq(pattern, host) ||
	       (str_starts(pattern, str_of("*.")) &&
		str_eq(after_first_part(pattern), after_first_part(host)));
}

/* Returns whether an ingress serves a host by TLS. */
static bool ingress_has_tls(const struct yaml_node *object, struct str host)
{
	const struct yaml_node *list = doc_find(object, "spec.tls");

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *hosts =
			doc_find(doc_item(list, i), "hosts");

		for (size_t k = 0; k < doc_count(hosts); k++) {
			if (tls_covers(doc_text(doc_item(hosts, k), ""), host))
				return true;
		}
	}
	return false;
}

/* Adds the target of a path of a rule. */
static void ingress_add_path(struct group_builder *b,
			     const struct yaml_node *object, struct str host,
			     struct str path)
{
	group_target(b);
	group_address(b, host, -1);
	group_label(b, KUBE_META("ingress_host"), host);
	group_label(b, KUBE_META("ingress_path"),
		    path.len ? path : str_of("/"));
	group_label(b, KUBE_META("ingress_scheme"),
		    str_of(ingress_has_tls(object, host) ? "https" : "http"));
}

/* Adds the targets of a rule; a rule without paths is for the path /. */
static void ingress_add_rule(struct group_builder *b,
			     const struct yaml_node *object,
			     const struct yaml_node *rule)
{
	const struct yaml_node *paths = doc_find(rule, "http.paths");
	struct str host = doc_text(rule, "host");

	if (!doc_find(rule, "http"))
		ingress_add_path(b, object, host, str_of("/"));
	for (size_t i = 0; i < doc_count(paths); i++)
		ingress_add_path(b, object, host,
				 doc_text(doc_item(paths, i), "path"));
}

void kube_map_ingress(struct group_builder *b, const struct yaml_node *object)
{
	const struct yaml_node *rules = doc_find(object, "spec.rules");

	kube_add_namespace(b, object);
	group_label(b, KUBE_META("ingress_class_name"),
		    doc_text(object, "spec.ingressClassName"));
	kube_add_meta(b, KUBE_META("ingress"), object);
	for (size_t i = 0; i < doc_count(rules); i++)
		ingress_add_rule(b, object, doc_item(rules, i));
}
