/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ec2_sd_configs: instances of Amazon EC2.
 *
 * Source: Amazon EC2 API Reference, "DescribeInstances" and
 * "DescribeAvailabilityZones".
 */
#include <stdio.h>

#include "base/mem.h"
#include "base/url.h"
#include "discovery/aws/aws_account.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/filter_list.h"
#include "discovery/rest/rest_source.h"

#define META(name)  "__meta_ec2_" name
#define EC2_VERSION "2016-11-15"

/*
 * Limit on the device index of a network interface. The IPv6 addresses of an
 * interface whose index is this number or a higher one never count as primary.
 */
#define DEVICES_MAX 64

/* An entry of ec2_sd_configs. */
struct ec2_config {
	struct aws_config aws;
	const struct yaml_node *filters; /* NULL: none */
};

/* The steps of a refresh, as indexes of `ec2_steps`. */
enum {
	EC2_ZONES,
	EC2_INSTANCES
};

static const struct field_row ec2_labels[] = {
	{ META("instance_id"), "instanceId", FIELD_TEXT },
	{ META("private_ip"), "privateIpAddress", FIELD_TEXT },
	{ META("private_dns_name"), "privateDnsName", FIELD_TEXT },
	{ META("public_ip"), "ipAddress", FIELD_TEXT },
	{ META("platform"), "platform", FIELD_TEXT },
	{ META("ami"), "imageId", FIELD_TEXT },
	{ META("availability_zone"), "placement.availabilityZone", FIELD_TEXT },
	{ META("instance_state"), "instanceState.name", FIELD_TEXT },
	{ META("instance_type"), "instanceType", FIELD_TEXT },
	{ META("instance_lifecycle"), "instanceLifecycle", FIELD_TEXT },
	{ META("architecture"), "architecture", FIELD_TEXT },
	{ META("vpc_id"), "vpcId", FIELD_TEXT },
	{ 0 },
};

/* An availability zone. */
struct ec2_zone {
	char *name;
	char *id;
};

/* The zones of the region, which are kept once they are known. */
struct ec2_zones {
	VEC(struct ec2_zone) v;
};

/* Return the ID of a zone; empty: it is not known. */
static struct str zone_id(const struct ec2_zones *zones, struct str name)
{
	for (size_t i = 0; zones && i < zones->v.count; i++) {
		if (str_is(name, zones->v.v[i].name))
			return str_of(zones->v.v[i].id);
	}
	return str_of("");
}

/* Take a zone of the answer. */
static void zone_take(struct rest_run *r, const struct yaml_node *item)
{
	struct ec2_zones *zones = *r->kept;

	if (!zones) {
		zones = mem_new(struct ec2_zones);
		*r->kept = zones;
	}
	*vec_add(&zones->v) =
		(struct ec2_zone){ mem_strndup(doc_text(item, "zoneName")),
				   mem_strndup(doc_text(item, "zoneId")) };
}

static void zones_drop(void *kept)
{
	struct ec2_zones *zones = kept;

	for (size_t i = 0; i < zones->v.count; i++) {
		mem_free(zones->v.v[i].name);
		mem_free(zones->v.v[i].id);
	}
	vec_fini(&zones->v);
	mem_free(zones);
}

/* The IPv6 addresses and the subnets of an instance. */
struct ec2_network {
	struct buf subnets; /* each subnet once, followed by a comma */
	struct buf v6;      /* each address is followed by a comma */
	struct str first_v6;
	/* primary IPv6 addresses by the number of the device */
	struct str primary[DEVICES_MAX];
	/* highest device number with a primary address, plus one */
	size_t devices;
};

/*
 * Return whether `list`, in which each text ends with a comma, contains `text`.
 */
static bool comma_list_has(struct str list, struct str text)
{
	while (list.len) {
		if (str_eq(str_cut(list, ',', &list), text))
			return true;
	}
	return false;
}

/* Append a text and a comma. */
static void list_add(struct buf *list, struct str text)
{
	buf_add(list, text.ptr, text.len);
	buf_byte(list, ',');
}

/* Take the IPv6 addresses of a network interface. */
static void take_v6(struct ec2_network *n, const struct yaml_node *interface)
{
	const struct yaml_node *list =
		doc_find(interface, "ipv6AddressesSet.item");
	int64_t device = doc_int(interface, "attachment.deviceIndex", -1);

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *item = doc_item(list, i);
		struct str address = doc_text(item, "ipv6Address");

		if (!address.len)
			continue;
		if (!n->first_v6.len)
			n->first_v6 = address;
		list_add(&n->v6, address);
		if (!doc_bool(item, "isPrimaryIpv6") || device < 0 ||
		    device >= DEVICES_MAX)
			continue;
		n->primary[device] = address;
		if (n->devices <= (size_t)device)
			n->devices = (size_t)device + 1;
	}
}

/*
 * Take the subnets and IPv6 addresses of the network interfaces of an instance,
 * which is in a virtual private cloud (VPC).
 */
static void take_interfaces(struct ec2_network *n,
			    const struct yaml_node *instance)
{
	const struct yaml_node *list =
		doc_find(instance, "networkInterfaceSet.item");

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct yaml_node *interface = doc_item(list, i);
		struct str subnet = doc_text(interface, "subnetId");

		if (!subnet.len)
			continue;
		if (!comma_list_has(str_from(buf_bytes(&n->subnets)), subnet))
			list_add(&n->subnets, subnet);
		take_v6(n, interface);
	}
}

/*
 * Return the IPv6 address by which an instance is reached if it has no private
 * IPv4 address: the primary address of the device with the lowest number, or
 * else the first address; empty: none.
 */
static struct str default_v6(const struct ec2_network *n)
{
	for (size_t i = 0; i < n->devices; i++) {
		if (n->primary[i].len)
			return n->primary[i];
	}
	return n->first_v6;
}

/*
 * Add a label whose value is a comma, followed by `list`, in which each text
 * ends with a comma.
 */
static void add_comma_list(struct rest_run *r, const char *label,
			   const struct buf *list)
{
	struct buf text = { 0 };

	buf_byte(&text, ',');
	buf_add(&text, list->ptr, list->len);
	group_label(&r->b, label, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/* Add the labels of the network of an instance. */
static void add_network(struct rest_run *r, const struct ec2_network *n)
{
	struct buf primary = { 0 };

	/* Prometheus writes two commas if no interface has a subnet. */
	if (n->subnets.len)
		add_comma_list(r, META("subnet_id"), &n->subnets);
	else
		group_label(&r->b, META("subnet_id"), str_of(",,"));
	if (n->v6.len)
		add_comma_list(r, META("ipv6_addresses"), &n->v6);
	for (size_t i = 0; i < n->devices; i++)
		list_add(&primary, n->primary[i]);
	if (n->devices)
		add_comma_list(r, META("primary_ipv6_addresses"), &primary);
	group_label(&r->b, META("default_ipv6_address"), default_v6(n));
	buf_fini(&primary);
}

/*
 * Add the labels for the region, the ID of the availability zone, the public
 * DNS name (only with a public IP address), the primary subnet (only in a VPC),
 * and the tags.
 */
static void add_places(struct rest_run *r, const struct yaml_node *instance)
{
	const struct yaml_node *tags = doc_find(instance, "tagSet.item");

	group_label(&r->b, META("region"),
		    str_of(aws_account_region(r->account)));
	group_label(&r->b, META("availability_zone_id"),
		    zone_id(*r->kept,
			    doc_text(instance, "placement.availabilityZone")));
	if (doc_text(instance, "ipAddress").len)
		group_label(&r->b, META("public_dns_name"),
			    doc_text(instance, "dnsName"));
	if (doc_text(instance, "vpcId").len)
		group_label(&r->b, META("primary_subnet_id"),
			    doc_text(instance, "subnetId"));
	/*
	 * Go backwards: of labels with the same name, the first one counts in a
	 * struct label_list, but Prometheus takes the last one.
	 */
	for (size_t i = doc_count(tags); i-- > 0;) {
		const struct yaml_node *tag = doc_item(tags, i);

		group_label_of(&r->b, META("tag_"), doc_text(tag, "key"),
			       doc_text(tag, "value"));
	}
}

static void map_ec2_instance(struct rest_run *r,
			     const struct yaml_node *instance, struct str owner)
{
	struct str host = doc_text(instance, "privateIpAddress");
	bool in_vpc = doc_text(instance, "vpcId").len > 0;
	struct ec2_network n = { 0 };

	if (in_vpc)
		take_interfaces(&n, instance);
	if (!host.len)
		host = default_v6(&n);
	if (host.len) {
		group_target(&r->b);
		group_address(&r->b, host, r->config->port);
		group_label(&r->b, META("owner_id"), owner);
		field_rows_add(&r->b, ec2_labels, instance, str_of(","));
		add_places(r, instance);
		if (in_vpc)
			add_network(r, &n);
	}
	buf_fini(&n.subnets);
	buf_fini(&n.v6);
}

static void map_reservation(struct rest_run *r, const struct yaml_node *item)
{
	const struct yaml_node *list = doc_find(item, "instancesSet.item");

	for (size_t i = 0; i < doc_count(list); i++)
		map_ec2_instance(r, doc_item(list, i),
				 doc_text(item, "ownerId"));
}

/*
 * Write the form fields that all requests have: the name of the API's
 * operation, which is `action`, and the version of the API.
 */
static void write_action(struct buf *out, const char *action)
{
	url_add_field(out, "Action", str_of(action));
	url_add_field(out, "Version", str_of(EC2_VERSION));
}

/*
 * Write the URL for the zones. As in Prometheus, the zones are not asked for
 * again once they are known: this function then returns false.
 */
static bool zones_url(struct rest_run *r, size_t i, struct buf *out)
{
	buf_byte(out, '/');
	return i == 0 && !*r->kept;
}

static void write_zones(struct rest_run *r UNUSED, struct buf *out)
{
	write_action(out, "DescribeAvailabilityZones");
}

/* Write one filter, which has the number `n`, counted from 1. */
static void write_filter_fields(struct buf *out, const struct yaml_node *filter,
				size_t n)
{
	const struct yaml_node *values = doc_find(filter, "values");
	char name[64];

	snprintf(name, sizeof(name), "Filter.%zu.Name", n);
	url_add_field(out, name, doc_text(filter, "name"));
	for (size_t i = 0; i < doc_count(values); i++) {
		snprintf(name, sizeof(name), "Filter.%zu.Value.%zu", n, i + 1);
		url_add_field(out, name, doc_text(doc_item(values, i), ""));
	}
}

static void write_instances(struct rest_run *r, struct buf *out)
{
	const struct ec2_config *c = (const struct ec2_config *)r->config;

	write_action(out, "DescribeInstances");
	for (size_t i = 0; i < doc_count(c->filters); i++)
		write_filter_fields(out, doc_item(c->filters, i), i + 1);
}

/*
 * Set the base URL, unless one is configured. It is the URL that the
 * environment names, or else the URL of EC2 in the region.
 */
static int ec2_begin(struct rest_run *r, struct err *err UNUSED)
{
	const char *url = aws_env_endpoint("AWS_ENDPOINT_URL_EC2");
	const char *region = aws_account_region(r->account);

	if (r->server.len)
		return 0;
	if (url)
		r->own_server = mem_strdup(url);
	else
		r->own_server = mem_printf("https://ec2.%s.%s", region,
					   aws_domain(str_of(region)));
	r->server = str_of(r->own_server);
	while (str_ends(r->server, "/"))
		r->own_server[--r->server.len] = 0;
	return 0;
}

static void ec2_prepare(struct rest_run *r, struct rest_request *q)
{
	aws_account_sign(r->account, "ec2", q);
}

static const struct rest_step ec2_steps[] = {
	/*
	 * This step may fail: the account may lack the right, and services that
	 * imitate EC2 may lack the action. Then only the label for the ID of
	 * the zone is missing.
	 */
	[EC2_ZONES] = { .path = "/",
			.url = zones_url,
			.body = write_zones,
			.items = "availabilityZoneInfo.item",
			.take = zone_take,
			.is_optional = true },
	[EC2_INSTANCES] = { .path = "/",
			    .body = write_instances,
			    .items = "reservationSet.item",
			    .paging = REST_NEXT_TOKEN,
			    .next = "nextToken",
			    .page_param = "NextToken" },
	{ 0 },
};

static const struct rest_table ec2_table = {
	.steps = ec2_steps,
	.map = map_reservation,
	.account = &aws_account_kind,
	.begin = ec2_begin,
	.prepare = ec2_prepare,
	.is_xml = true,
	.drop = zones_drop,
};

static void ec2_init(struct discovery_config *base)
{
	struct aws_config *c = (struct aws_config *)base;

	rest_init(base);
	c->region = str_of("");
	c->access_key = str_of("");
	c->secret_key = str_of("");
	c->profile = str_of("");
	c->role_arn = str_of("");
	c->external_id = str_of("");
}

/* Decode the key `filters`; each filter must have values. */
static void decode_filters(struct yaml *y, const struct yaml_node *n,
			   void *field)
{
	const struct yaml_node **filters = field;

	if (!filter_list_check(y, n))
		return;
	for (size_t i = 0; i < n->count; i++) {
		if (!doc_count(doc_find(n->items[i], "values")))
			yaml_error(y, n->items[i], "a filter requires values");
	}
	*filters = n;
}

static void ec2_check(struct yaml *y, const struct yaml_node *entry,
		      struct discovery_config *base)
{
	struct aws_config *c = (struct aws_config *)base;

	rest_check(y, entry, base);
	rest_refuse_auth(y, entry, base);
	if (!c->access_key.len != !c->secret_key.len)
		yaml_warn(
			y, entry,
			"access_key and secret_key are ignored: one of them is missing");
	if (c->external_id.len && !c->role_arn.len)
		yaml_warn(y, entry,
			  "external_id is ignored: there is no role_arn");
}

#define AWS_TEXT(key)                                                   \
	{                                                               \
#key, yaml_text, offsetof(struct aws_config, key), NULL \
	}

static const struct yaml_field ec2_fields[] = {
	REST_FIELDS,
	{ "endpoint", http_decode_url, offsetof(struct rest_config, server),
	  NULL },
	AWS_TEXT(region),
	AWS_TEXT(access_key),
	{ "secret_key", yaml_secret, offsetof(struct aws_config, secret_key),
	  NULL },
	AWS_TEXT(profile),
	AWS_TEXT(role_arn),
	AWS_TEXT(external_id),
	{ "filters", decode_filters, offsetof(struct ec2_config, filters),
	  NULL },
	{ 0 },
};

const struct provider_kind provider_ec2 = {
	.name = "ec2",
	.refresh_ms = 60000,
	.config_size = sizeof(struct ec2_config),
	.fields = ec2_fields,
	.init = ec2_init,
	.check = ec2_check,
	.rest = (const struct rest_table *const[]){ &ec2_table, NULL },
	REST_FUNCTIONS,
};
