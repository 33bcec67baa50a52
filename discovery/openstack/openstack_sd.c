/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openstack_sd_configs: instances, hypervisors and load balancers of OpenStack.
 *
 * Source: docs.openstack.org/api-ref: compute, "List Servers Detailed" and "List
 * Hypervisors Details"; network/v2, "List ports" and "List floating IPs";
 * load-balancer/v2, "List Load Balancers" and "List Listeners".
 */
#include "discovery/core/kinds.h"
#include "discovery/openstack/openstack_instances.h"

#define META(name) "__meta_openstack_" name

static bool write_hypervisors(struct rest_run *r, size_t i, struct buf *out)
{
	return i == 0 && keystone_write_url(r, "compute", "",
					    "/os-hypervisors/detail", out);
}

static bool write_balancers(struct rest_run *r, size_t i, struct buf *out)
{
	return i == 0 && keystone_write_url(r, "load-balancer", "/v2.0",
					    "/lbaas/loadbalancers", out);
}

static bool write_listeners(struct rest_run *r, size_t i, struct buf *out)
{
	return i == 0 && keystone_write_url(r, "load-balancer", "/v2.0",
					    "/lbaas/listeners", out);
}

static int begin_hypervisors(struct rest_run *r, struct err *err)
{
	return keystone_need(r, "compute", err);
}

static int begin_balancers(struct rest_run *r, struct err *err)
{
	int rc = keystone_need(r, "load-balancer", err);

	return rc ? rc : keystone_need(r, "network", err);
}

/* Role hypervisor. */

static const struct field_row hypervisor_labels[] = {
	{ META("hypervisor_id"), "id", FIELD_TEXT },
	{ META("hypervisor_hostname"), "hypervisor_hostname", FIELD_TEXT },
	{ META("hypervisor_host_ip"), "host_ip", FIELD_TEXT },
	{ META("hypervisor_status"), "status", FIELD_TEXT },
	{ META("hypervisor_state"), "state", FIELD_TEXT },
	{ META("hypervisor_type"), "hypervisor_type", FIELD_TEXT },
	{ 0 },
};

static const struct rest_step hypervisor_steps[] = {
	{ .url = write_hypervisors, OPENSTACK_PAGES("hypervisors") },
	{ 0 },
};

static const struct rest_table hypervisor_table = {
	.role = "hypervisor",
	.steps = hypervisor_steps,
	.fields = hypervisor_labels,
	.host = "host_ip",
	.account = &keystone_kind,
	.begin = begin_hypervisors,
	.prepare = keystone_prepare,
};

/* Role loadbalancer. */

enum {
	STACK_BALANCER_FLOATING,
	STACK_LISTENERS,
	STACK_BALANCERS
};

static const struct field_row balancer_labels[] = {
	{ META("loadbalancer_id"), "id", FIELD_TEXT },
	{ META("loadbalancer_name"), "name", FIELD_TEXT },
	{ META("loadbalancer_operating_status"), "operating_status",
	  FIELD_TEXT },
	{ META("loadbalancer_provisioning_status"), "provisioning_status",
	  FIELD_TEXT },
	{ META("loadbalancer_availability_zone"), "availability_zone",
	  FIELD_TEXT },
	{ META("loadbalancer_vip"), "vip_address", FIELD_TEXT },
	{ META("loadbalancer_provider"), "provider", FIELD_TEXT },
	{ META("project_id"), "project_id", FIELD_TEXT },
	{ 0 },
};

/*
 * Return whether `listener` belongs to the load balancer with the ID
 * `balancer`.
 */
static bool listens_for(const struct yaml_node *listener, struct str balancer)
{
	const struct yaml_node *list = doc_find(listener, "loadbalancers");

	for (size_t i = 0; i < doc_count(list); i++) {
		if (str_eq(doc_text(doc_item(list, i), "id"), balancer))
			return true;
	}
	return false;
}

/* Return a load balancer's first listener that serves metrics; NULL: none. */
static const struct yaml_node *find_listener(const struct rest_run *r,
					     struct str balancer)
{
	for (size_t i = 0; i < rest_count(r, STACK_LISTENERS); i++) {
		const struct yaml_node *l = rest_item(r, STACK_LISTENERS, i);

		if (str_is(doc_text(l, "protocol"), "PROMETHEUS") &&
		    listens_for(l, balancer))
			return l;
	}
	return NULL;
}

/*
 * Add the label with the tags. Commas stand only between the tags, not before
 * the first or after the last.
 */
static void add_tags(struct rest_run *r, const struct yaml_node *tags)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < doc_count(tags); i++) {
		struct str tag = doc_text(doc_item(tags, i), "");

		buf_str(&text, i ? "," : "");
		buf_add(&text, tag.ptr, tag.len);
	}
	group_label(&r->b, META("loadbalancer_tags"),
		    str_from(buf_bytes(&text)));
	buf_fini(&text);
}

static void map_balancer(struct rest_run *r, const struct yaml_node *balancer)
{
	const struct yaml_node *listener =
		find_listener(r, doc_text(balancer, "id"));
	const struct yaml_node *floating = rest_lookup(
		r, STACK_BALANCER_FLOATING, doc_text(balancer, "vip_port_id"));

	if (!listener)
		return;
	group_target(&r->b);
	group_address(&r->b, doc_text(balancer, "vip_address"),
		      doc_int(listener, "protocol_port", 0));
	field_rows_add(&r->b, balancer_labels, balancer, str_of(","));
	add_tags(r, doc_find(balancer, "tags"));
	group_label(&r->b, META("loadbalancer_floating_ip"),
		    doc_text(floating, "floating_ip_address"));
}

static const struct rest_step balancer_steps[] = {
	[STACK_BALANCER_FLOATING] = { .url = openstack_write_floating,
				      .index = "port_id",
				      OPENSTACK_PAGES("floatingips") },
	[STACK_LISTENERS] = { .url = write_listeners,
			      OPENSTACK_PAGES("listeners") },
	[STACK_BALANCERS] = { .url = write_balancers,
			      OPENSTACK_PAGES("loadbalancers") },
	{ 0 },
};

static const struct rest_table balancer_table = {
	.role = "loadbalancer",
	.steps = balancer_steps,
	.map = map_balancer,
	.account = &keystone_kind,
	.begin = begin_balancers,
	.prepare = keystone_prepare,
};

static void openstack_init(struct discovery_config *base)
{
	struct keystone_config *c = (struct keystone_config *)base;
	struct keystone_login *l = &c->login;

	rest_init(base);
	c->region = str_of("");
	c->availability = str_of("public");
	l->identity_endpoint = str_of("");
	l->username = str_of("");
	l->userid = str_of("");
	l->password = str_of("");
	l->domain_name = str_of("");
	l->domain_id = str_of("");
	l->project_name = str_of("");
	l->project_id = str_of("");
	l->application_credential_name = str_of("");
	l->application_credential_id = str_of("");
	l->application_credential_secret = str_of("");
}

static void decode_availability(struct yaml *y, const struct yaml_node *n,
				void *field)
{
	struct str *availability = field;

	yaml_text(y, n, availability);
	if (!str_is(*availability, "public") &&
	    !str_is(*availability, "internal") &&
	    !str_is(*availability, "admin"))
		yaml_error(
			y, n,
			"availability must be public, internal or admin, not \"%.*s\"",
			STR_ARG(*availability));
}

static void openstack_check(struct yaml *y, const struct yaml_node *entry,
			    struct discovery_config *base)
{
	const struct keystone_config *c = (const struct keystone_config *)base;

	rest_check(y, entry, base);
	rest_refuse_auth(y, entry, base);
	if (!c->region.len)
		yaml_error(y, entry, "openstack_sd_config requires region");
}

#define LOGIN(key, decode)                                                 \
	{                                                                  \
#key, decode, offsetof(struct keystone_config, login.key), \
			NULL                                               \
	}

static const struct yaml_field openstack_fields[] = {
	REST_FIELDS,
	{ "role", rest_decode_role, 0, NULL },
	{ "region", yaml_text, offsetof(struct keystone_config, region), NULL },
	{ "availability", decode_availability,
	  offsetof(struct keystone_config, availability), NULL },
	{ "all_tenants", yaml_bool,
	  offsetof(struct openstack_config, all_tenants), NULL },
	LOGIN(identity_endpoint, http_decode_url),
	LOGIN(username, yaml_text),
	LOGIN(userid, yaml_text),
	LOGIN(password, yaml_secret),
	LOGIN(domain_name, yaml_text),
	LOGIN(domain_id, yaml_text),
	LOGIN(project_name, yaml_text),
	LOGIN(project_id, yaml_text),
	LOGIN(application_credential_name, yaml_text),
	LOGIN(application_credential_id, yaml_text),
	LOGIN(application_credential_secret, yaml_secret),
	{ 0 },
};

const struct provider_kind provider_openstack = {
	.name = "openstack",
	.refresh_ms = 60000,
	.config_size = sizeof(struct openstack_config),
	.fields = openstack_fields,
	.init = openstack_init,
	.check = openstack_check,
	.rest = (const struct rest_table *const[]){ &hypervisor_table,
						    &openstack_instance_table,
						    &balancer_table, NULL },
	REST_FUNCTIONS,
};
