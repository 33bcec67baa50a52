/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the labels and the targets of an ingress from its JSON: one target for
 * each path.
 */
#include "base/hash.h"
#include "base/table.h"
#include "discovery/kubeobject/kube_meta.h"
#include "discovery/rest/document.h"

/* Return the rest of a domain after its first part, beginning with the dot. */
static struct str after_first_part(struct str domain)
{
	const char *dot = memchr(domain.ptr, '.', domain.len);
	size_t len = dot ? (size_t)(dot - domain.ptr) : domain.len;

	return (struct str){ domain.ptr + len, domain.len - len };
}

/* The hosts that an ingress serves by TLS. */
struct tls_hosts {
	VEC(struct str) names;
	struct table by_name;
};

/* Comparison function of the table. */
static bool is_host(const void *ctx, uint32_t number, const void *key)
{
	const struct tls_hosts *t = ctx;

	return str_eq(t->names.v[number], *(const struct str *)key);
}

static bool tls_has(const struct tls_hosts *t, struct str host)
{
	return table_find(&t->by_name, hash_key(bytes_of(host)), is_host, t,
			  &host) != TABLE_NONE;
}

/*
 * Collect the hosts of all certificates of an ingress; each host is kept once.
 */
static void tls_read(struct tls_hosts *t, const struct yaml_node *object)
{
	const struct yaml_node *list = doc_find(object, "spec.tls");

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *hosts =
			doc_find(doc_item(list, i), "hosts");

		for (size_t k = 0; k < doc_count(hosts); k++) {
			struct str host = doc_text(doc_item(hosts, k), "");

			if (tls_has(t, host))
				continue;
			table_add(&t->by_name, hash_key(bytes_of(host)),
				  (uint32_t)t->names.count);
			*vec_add(&t->names) = host;
		}
	}
}

/*
 * Return whether a certificate of the ingress covers `host`, the host of a
 * rule. A certificate for a name such as "*.example.org" covers each host that
 * has one part in place of the "*".
 */
static bool tls_covers(const struct tls_hosts *t, struct str host)
{
	struct str rest = after_first_part(host);
	struct buf pattern = { 0 };
	bool covers = tls_has(t, host);

	if (!covers && rest.len && t->names.count) {
		buf_str(&pattern, "*");
		buf_add(&pattern, rest.ptr, rest.len);
		covers = tls_has(t, str_from(buf_bytes(&pattern)));
	}
	buf_fini(&pattern);
	return covers;
}

/* Add the target of a path of a rule. */
static void ingress_add_path(struct group_builder *b, struct str host,
			     struct str path, bool has_tls)
{
	group_target(b);
	group_address(b, host, -1);
	group_label(b, KUBE_META("ingress_host"), host);
	group_label(b, KUBE_META("ingress_path"),
		    path.len ? path : str_of("/"));
	group_label(b, KUBE_META("ingress_scheme"),
		    str_of(has_tls ? "https" : "http"));
}

/*
 * Add the targets of a rule; a rule without the member http is for the path /.
 */
static void ingress_add_rule(struct group_builder *b, const struct tls_hosts *t,
			     const struct yaml_node *rule)
{
	const struct yaml_node *paths = doc_find(rule, "http.paths");
	struct str host = doc_text(rule, "host");
	bool has_tls = tls_covers(t, host);

	if (!doc_find(rule, "http"))
		ingress_add_path(b, host, str_of("/"), has_tls);
	for (size_t i = 0; i < doc_count(paths); i++)
		ingress_add_path(b, host, doc_text(doc_item(paths, i), "path"),
				 has_tls);
}

void kube_map_ingress(struct group_builder *b, const struct yaml_node *object)
{
	const struct yaml_node *rules = doc_find(object, "spec.rules");
	struct tls_hosts tls = { 0 };

	kube_add_namespace(b, object);
	group_label(b, KUBE_META("ingress_class_name"),
		    doc_text(object, "spec.ingressClassName"));
	kube_add_meta(b, KUBE_META("ingress"), object);
	tls_read(&tls, object);
	for (size_t i = 0; i < doc_count(rules); i++)
		ingress_add_rule(b, &tls, doc_item(rules, i));
	vec_fini(&tls.names);
	table_fini(&tls.by_name);
}
