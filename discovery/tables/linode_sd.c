/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linode_sd_configs: instances of a Linode account.
 *
 * Source: techdocs.akamai.com/linode-api, "List Linodes", "List IP addresses",
 * "List IPv6 ranges".
 */
#include "base/json.h"
#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/rest_source.h"

#define META(name) "__meta_linode_" name
#define MEBIBYTE   1048576LL

/* An entry of linode_sd_configs. */
struct linode_config {
	struct rest_config rest;
	struct str region;
};

/* The indices of linode_steps. */
enum {
	LINODE_IPS,
	LINODE_RANGES,
	LINODE_INSTANCES
};

static const struct field_row linode_labels[] = {
	{ META("instance_id"), "id", FIELD_TEXT },
	{ META("instance_label"), "label", FIELD_TEXT },
	{ META("image"), "image", FIELD_TEXT },
	{ META("region"), "region", FIELD_TEXT },
	{ META("type"), "type", FIELD_TEXT },
	{ META("status"), "status", FIELD_TEXT },
	{ META("group"), "group", FIELD_TEXT },
	{ META("gpus"), "specs.gpus", FIELD_INT },
	{ META("hypervisor"), "hypervisor", FIELD_TEXT },
	{ META("specs_vcpus"), "specs.vcpus", FIELD_INT },
	{ META("tags"), "tags", FIELD_LIST },
	{ 0 },
};

/*
 * The labels with sizes in bytes. As in Prometheus, the numbers of the API
 * count as MiB, although the API names no unit for `transfer`.
 */
static const struct field_row linode_sizes[] = {
	{ META("specs_disk_bytes"), "specs.disk", FIELD_INT },
	{ META("specs_memory_bytes"), "specs.memory", FIELD_INT },
	{ META("specs_transfer_bytes"), "specs.transfer", FIELD_INT },
	{ 0 },
};

/* The addresses of an instance. */
struct linode_addresses {
	const struct yaml_node *public_v4;
	const struct yaml_node *private_v4;
	const struct yaml_node *public_v6;
	struct buf extra;  /* other IPv4 addresses, each after a separator */
	struct buf ranges; /* IPv6 ranges, each after a separator */
};

/* Append a separator and a text. */
static void linode_append(const struct rest_run *r, struct buf *list,
			  struct str text)
{
	buf_add(list, r->config->separator.ptr, r->config->separator.len);
	buf_add(list, text.ptr, text.len);
}

/*
 * Set the IPv4 addresses of an instance: the first public one, the first
 * private one, and all others in a->extra. Leave out the addresses that the
 * step LINODE_IPS has not found.
 */
static void find_v4(struct rest_run *r, const struct yaml_node *instance,
		    struct linode_addresses *a)
{
	const struct yaml_node *list = doc_find(instance, "ipv4");

	for (size_t i = 0; i < doc_count(list); i++) {
		struct str text = doc_text(doc_item(list, i), "");
		const struct yaml_node *ip = rest_lookup(r, LINODE_IPS, text);
		bool is_public = doc_bool(ip, "public");

		if (!ip)
			continue;
		if (is_public && !a->public_v4)
			a->public_v4 = ip;
		else if (!is_public && !a->private_v4)
			a->private_v4 = ip;
		else
			linode_append(r, &a->extra, text);
	}
}

/* Find the IPv6 address of an instance, and the ranges routed to it. */
static void find_v6(struct rest_run *r, const struct yaml_node *instance,
		    struct linode_addresses *a)
{
	struct str own = doc_text(instance, "ipv6");
	const char *slash = memchr(own.ptr, '/', own.len);

	if (slash)
		own.len = (size_t)(slash - own.ptr);
	if (!own.len)
		return;
	a->public_v6 = rest_lookup(r, LINODE_IPS, own);
	for (size_t i = 0; i < rest_count(r, LINODE_RANGES); i++) {
		const struct yaml_node *range = rest_item(r, LINODE_RANGES, i);

		if (!str_eq(doc_text(range, "route_target"), own))
			continue;
		linode_append(r, &a->ranges, doc_text(range, "range"));
		buf_printf(&a->ranges, "/%.*s",
			   STR_ARG(doc_text(range, "prefix")));
	}
}

/*
 * Add the labels of the address `ip` and of its DNS name; `ip` NULL: there is
 * no address.
 */
static void add_linode_address(struct rest_run *r, const char *label,
			       const char *name_label,
			       const struct yaml_node *ip)
{
	struct str name = doc_text(ip, "rdns");

	group_label(&r->b, label, doc_text(ip, "address"));
	if (!str_is(name, "null"))
		group_label(&r->b, name_label, name);
}

/*
 * If `list` is not empty, append a last separator to it. Then add `list` as the
 * value of a label, and free `list`.
 */
static void add_appended(struct rest_run *r, const char *label,
			 struct buf *list)
{
	if (list->len)
		linode_append(r, list, str_of(""));
	group_label(&r->b, label, str_from(buf_bytes(list)));
	buf_fini(list);
}

static void map_instance(struct rest_run *r, const struct yaml_node *instance)
{
	struct linode_addresses a = { 0 };

	if (!doc_count(doc_find(instance, "ipv4")))
		return;
	find_v4(r, instance, &a);
	find_v6(r, instance, &a);
	group_target(&r->b);
	group_address(&r->b, doc_text(a.public_v4, "address"), r->config->port);
	add_linode_address(r, META("public_ipv4"), META("public_ipv4_rdns"),
			   a.public_v4);
	add_linode_address(r, META("private_ipv4"), META("private_ipv4_rdns"),
			   a.private_v4);
	add_linode_address(r, META("public_ipv6"), META("public_ipv6_rdns"),
			   a.public_v6);
	field_rows_add(&r->b, linode_labels, instance, r->config->separator);
	for (const struct field_row *f = linode_sizes; f->label; f++)
		group_label_int(&r->b, f->label,
				doc_int(instance, f->path, 0) * MEBIBYTE);
	group_label(&r->b, META("backups"),
		    str_of(doc_bool(instance, "backups.enabled") ? "enabled" :
								   "disabled"));
	add_appended(r, META("extra_ips"), &a.extra);
	add_appended(r, META("ipv6_ranges"), &a.ranges);
}

/* If a region is configured, add a header with a filter for this region. */
static int linode_begin(struct rest_run *r, struct err *err UNUSED)
{
	const struct linode_config *c = (const struct linode_config *)r->config;
	struct buf header = { 0 };

	if (!c->region.len)
		return 0;
	buf_str(&header, "X-Filter: {\"region\": ");
	json_quote(&header, c->region);
	buf_byte(&header, '}');
	*vec_add(&r->headers) = mem_strdup(buf_cstr(&header));
	buf_fini(&header);
	return 0;
}

#define PAGES                                                        \
	.items = "data", .paging = REST_PAGE_COUNT, .next = "pages", \
	.page_param = "page"

static const struct rest_step linode_steps[] = {
	[LINODE_IPS] = { .path = "/networking/ips?page_size=500",
			 .index = "address",
			 PAGES },
	[LINODE_RANGES] = { .path = "/networking/ipv6/ranges?page_size=500",
			    PAGES },
	[LINODE_INSTANCES] = { .path = "/linode/instances?page_size=500",
			       PAGES },
	{ 0 },
};

static const struct rest_table linode_table = {
	.steps = linode_steps,
	.map = map_instance,
	.begin = linode_begin,
};

static void linode_init(struct discovery_config *base)
{
	struct linode_config *c = (struct linode_config *)base;

	rest_init(base);
	c->rest.server = str_of("https://api.linode.com/v4");
	c->region = str_of("");
}

static const struct yaml_field linode_fields[] = {
	REST_FIELDS,
	{ "tag_separator", yaml_text, offsetof(struct rest_config, separator),
	  NULL },
	{ "region", yaml_text, offsetof(struct linode_config, region), NULL },
	{ "endpoint", http_decode_url, offsetof(struct rest_config, server),
	  NULL },
	{ 0 },
};

const struct provider_kind provider_linode = {
	.name = "linode",
	.refresh_ms = 60000,
	.config_size = sizeof(struct linode_config),
	.fields = linode_fields,
	.init = linode_init,
	.rest = (const struct rest_table *const[]){ &linode_table, NULL },
	REST_KIND,
};
