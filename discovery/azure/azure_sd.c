/* SPDX-License-Identifier: Apache-2.0 */
/*
 * azure_sd_configs: virtual machines of Microsoft Azure, those of scale sets
 * included.
 *
 * Sources: learn.microsoft.com/rest/api/compute, "Virtual Machines - List All",
 * "Virtual Machine Scale Sets - List All", "Virtual Machine Scale Set VMs -
 * List"; learn.microsoft.com/rest/api/virtualnetwork, "Network Interfaces -
 * Get".
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/url.h"
#include "discovery/azure/azure_account.h"
#include "discovery/azure/azure_nics.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/bearer.h"

#define META(name) "__meta_azure_" name

/* Versions of the APIs. */
#define COMPUTE_VERSION "2023-09-01"
#define NETWORK_VERSION "2023-09-01"
#define SET_NIC_VERSION "2018-10-01"

/*
 * The answer for an interface is kept for NIC_REFRESHES refresh intervals, plus
 * up to NIC_MORE_REFRESHES more; see keep_until().
 */
#define NIC_REFRESHES      10
#define NIC_MORE_REFRESHES 3

/* The steps of a refresh, as indexes of `azure_steps`. */
enum {
	AZURE_MACHINES,
	AZURE_SETS,
	AZURE_SET_MACHINES,
	AZURE_INTERFACES
};

/* A request for an interface. */
struct nic_request {
	struct str id;
	char *path; /* path and query of its URL */
};

/*
 * The data of a provider. The interfaces that are known are kept from one
 * refresh to the next; `wanted` is filled anew by each refresh.
 */
struct azure_kept {
	struct azure_nics nics;
	VEC(struct nic_request) wanted; /* of the refresh in progress */
};

static const struct azure_config *azure_config_of(const struct rest_run *r)
{
	return (const struct azure_config *)r->config;
}

static void clear_wanted(struct azure_kept *k)
{
	for (size_t i = 0; i < k->wanted.count; i++)
		mem_free(k->wanted.v[i].path);
	k->wanted.count = 0;
}

static void azure_drop(void *kept)
{
	struct azure_kept *k = kept;

	azure_nics_fini(&k->nics);
	clear_wanted(k);
	vec_fini(&k->wanted);
	mem_free(k);
}

/*
 * Return the segment of a resource ID after the one with the name `before`;
 * empty: there is none.
 */
static struct str segment_after(struct str id, const char *before)
{
	while (id.len) {
		if (str_is_nocase(str_cut(id, '/', &id), before))
			return str_cut(id, '/', &id);
	}
	return str_of("");
}

/* Return the last segment of a resource ID. */
static struct str id_last_segment(struct str id)
{
	struct str last = id;

	while (id.len)
		last = str_cut(id, '/', &id);
	return last;
}

/* Append a literal to a URL, and then a segment of a path in URL encoding. */
static void add_segment(struct buf *url, const char *literal,
			struct str segment)
{
	buf_str(url, literal);
	url_escape(segment, url);
}

/*
 * Begin a path with the configured subscription and, unless `group` is empty,
 * the resource group `group`.
 */
static void begin_path(const struct rest_run *r, struct str group,
		       struct buf *url)
{
	add_segment(url, "/subscriptions/",
		    azure_config_of(r)->subscription_id);
	if (group.len)
		add_segment(url, "/resourceGroups/", group);
}

/*
 * Write path and query of the URL that lists the resources of a type, within
 * the configured resource group if there is one. There is only this URL, which
 * has the number 0: return false for any other `i`.
 */
static bool write_list(struct rest_run *r, size_t i, const char *type,
		       struct buf *out)
{
	begin_path(r, azure_config_of(r)->resource_group, out);
	buf_printf(out, "/providers/Microsoft.Compute/%s?api-version=%s", type,
		   COMPUTE_VERSION);
	return i == 0;
}

static bool write_machines(struct rest_run *r, size_t i, struct buf *out)
{
	return write_list(r, i, "virtualMachines", out);
}

static bool write_sets(struct rest_run *r, size_t i, struct buf *out)
{
	return write_list(r, i, "virtualMachineScaleSets", out);
}

/* Return the list of the network interfaces of a machine. */
static const struct yaml_node *interfaces_of(const struct yaml_node *machine)
{
	return doc_find(machine, "properties.networkProfile.networkInterfaces");
}

static bool write_set_machines(struct rest_run *r, size_t i, struct buf *out)
{
	const struct yaml_node *set = rest_item(r, AZURE_SETS, i);

	if (!set)
		return false;
	begin_path(r, segment_after(doc_text(set, "id"), "resourceGroups"),
		   out);
	add_segment(out,
		    "/providers/Microsoft.Compute/virtualMachineScaleSets/",
		    doc_text(set, "name"));
	buf_str(out, "/virtualMachines?api-version=" COMPUTE_VERSION);
	return true;
}

/*
 * Return the scale set of machine number `machine` of the step
 * AZURE_SET_MACHINES. URL number `i` of this step lists the machines of scale
 * set number `i`.
 */
static const struct yaml_node *set_of(const struct rest_run *r, size_t machine)
{
	return rest_item(r, AZURE_SETS,
			 rest_item_url(r, AZURE_SET_MACHINES, machine));
}

/*
 * Return path and query of the URL of the interface `id`; the caller owns the
 * text. `set` is the scale set of the machine, or NULL.
 */
static char *write_nic_path(const struct rest_run *r, struct str id,
			    const struct yaml_node *machine,
			    const struct yaml_node *set)
{
	struct buf url = { 0 };
	char *path;

	begin_path(r, segment_after(id, "resourceGroups"), &url);
	if (set) {
		add_segment(
			&url,
			"/providers/Microsoft.Compute/virtualMachineScaleSets/",
			doc_text(set, "name"));
		add_segment(&url, "/virtualMachines/",
			    doc_text(machine, "instanceId"));
		add_segment(&url, "/networkInterfaces/", id_last_segment(id));
	} else {
		add_segment(&url,
			    "/providers/Microsoft.Network/networkInterfaces/",
			    id_last_segment(id));
	}
	buf_printf(&url, "?api-version=%s",
		   set ? SET_NIC_VERSION : NETWORK_VERSION);
	url_add_param(&url, "$expand",
		      str_of("IPConfigurations/PublicIPAddress"));
	path = mem_strdup(buf_cstr(&url));
	buf_fini(&url);
	return path;
}

/* Add to k->wanted the interfaces of a machine that are not known. */
static void want_nics(struct rest_run *r, struct azure_kept *k,
		      const struct yaml_node *machine,
		      const struct yaml_node *set)
{
	const struct yaml_node *list = interfaces_of(machine);

	for (size_t i = 0; i < doc_count(list); i++) {
		struct str id = doc_text(doc_item(list, i), "id");

		if (!id.len || azure_nics_find(&k->nics, id))
			continue;
		*vec_add(&k->wanted) = (struct nic_request){
			id, write_nic_path(r, id, machine, set)
		};
	}
}

/*
 * Forget the interfaces whose time has passed. Then fill azure_kept.wanted with
 * the requests for the interfaces that are not known. Returns the provider's
 * struct azure_kept, which the first call allocates.
 */
static struct azure_kept *want_all(struct rest_run *r)
{
	struct azure_kept *k = *r->kept;

	if (!k) {
		k = mem_new(struct azure_kept);
		*r->kept = k;
	}
	azure_nics_expire(&k->nics, clock_ms(NULL));
	clear_wanted(k);
	for (size_t i = 0; i < rest_count(r, AZURE_MACHINES); i++)
		want_nics(r, k, rest_item(r, AZURE_MACHINES, i), NULL);
	for (size_t i = 0; i < rest_count(r, AZURE_SET_MACHINES); i++)
		want_nics(r, k, rest_item(r, AZURE_SET_MACHINES, i),
			  set_of(r, i));
	return k;
}

static bool write_interface(struct rest_run *r, size_t i, struct buf *out)
{
	struct azure_kept *k = i ? *r->kept : want_all(r);

	if (i == k->wanted.count)
		return false;
	buf_str(out, k->wanted.v[i].path);
	return true;
}

static const struct field_row azure_labels[] = {
	{ META("machine_id"), "id", FIELD_TEXT },
	{ META("machine_name"), "name", FIELD_TEXT },
	{ META("machine_location"), "location", FIELD_TEXT },
	{ META("machine_computer_name"), "properties.osProfile.computerName",
	  FIELD_TEXT },
	{ META("machine_os_type"), "properties.storageProfile.osDisk.osType",
	  FIELD_TEXT },
	{ META("machine_size"), "properties.hardwareProfile.vmSize",
	  FIELD_TEXT },
	{ META("machine_tag_"), "tags", FIELD_MAP },
	{ 0 },
};

/*
 * Return the interface with the addresses of a machine. That is the first
 * interface whose state is not AZURE_NIC_OTHER, if its state is
 * AZURE_NIC_PRIMARY and it has a private address. NULL: there is none, for
 * example because the machine is not allocated or the interface is missing.
 */
static const struct azure_nic *find_nic(const struct azure_kept *k,
					const struct yaml_node *machine)
{
	const struct yaml_node *list = interfaces_of(machine);

	for (size_t i = 0; i < doc_count(list); i++) {
		const struct azure_nic *n = azure_nics_find(
			&k->nics, doc_text(doc_item(list, i), "id"));

		if (n && n->state == AZURE_NIC_OTHER)
			continue;
		return n && n->state == AZURE_NIC_PRIMARY && *n->private_ip ?
			       n :
			       NULL;
	}
	return NULL;
}

/*
 * Make the target of a machine, if its address is known; `set` is the scale set
 * of the machine, or NULL.
 */
static void map_machine(struct rest_run *r, const struct yaml_node *machine,
			const struct yaml_node *set)
{
	const struct azure_config *c = azure_config_of(r);
	const struct azure_nic *n = find_nic(*r->kept, machine);

	if (!n)
		return;
	group_target(&r->b);
	group_address(&r->b, str_of(n->private_ip), r->config->port);
	group_label(&r->b, META("subscription_id"), c->subscription_id);
	group_label(&r->b, META("tenant_id"), c->tenant_id);
	field_rows_add(&r->b, azure_labels, machine, str_of(","));
	group_label(&r->b, META("machine_resource_group"),
		    segment_after(doc_text(machine, "id"), "resourceGroups"));
	group_label(&r->b, META("machine_scale_set"), doc_text(set, "name"));
	group_label(&r->b, META("machine_private_ip"), str_of(n->private_ip));
	group_label(&r->b, META("machine_public_ip"), str_of(n->public_ip));
}

/*
 * Return until when an interface is kept. The times are spread, so that not
 * all interfaces are asked for in one refresh.
 */
static int64_t keep_until(const struct rest_run *r, struct str id)
{
	int64_t refresh_ms = r->config->base.refresh_ms;
	int64_t more_ms = refresh_ms * NIC_MORE_REFRESHES;

	return clock_ms(NULL) + refresh_ms * NIC_REFRESHES +
	       (int64_t)(hash_bytes(bytes_of(id)) % (uint64_t)more_ms);
}

/* Take the answer to the request for an interface. */
static void take_nic(struct rest_run *r, const struct yaml_node *item)
{
	struct azure_kept *k = *r->kept;
	struct str id = k->wanted.v[r->url_number].id;

	azure_nics_add(&k->nics, id, item, keep_until(r, id));
}

/*
 * Note as missing, until the next refresh, each interface of `wanted` that
 * take_nic() has not added, because the answer to its request was 404.
 */
static void note_missing(struct azure_kept *k)
{
	for (size_t i = 0; i < k->wanted.count; i++)
		azure_nics_add(&k->nics, k->wanted.v[i].id, NULL, 0);
}

static int azure_finish(struct rest_run *r, struct err *err UNUSED)
{
	note_missing(*r->kept);
	/* The IDs in `wanted` point into this refresh's answers. */
	clear_wanted(*r->kept);
	for (size_t i = 0; i < rest_count(r, AZURE_MACHINES); i++)
		map_machine(r, rest_item(r, AZURE_MACHINES, i), NULL);
	for (size_t i = 0; i < rest_count(r, AZURE_SET_MACHINES); i++)
		map_machine(r, rest_item(r, AZURE_SET_MACHINES, i),
			    set_of(r, i));
	return 0;
}

#define PAGES .items = "value", .paging = REST_NEXT_URL, .next = "nextLink"

static const struct rest_step azure_steps[] = {
	[AZURE_MACHINES] = { .url = write_machines, PAGES },
	[AZURE_SETS] = { .url = write_sets, PAGES },
	[AZURE_SET_MACHINES] = { .url = write_set_machines, PAGES },
	[AZURE_INTERFACES] = { .url = write_interface,
			       .items = "",
			       .take = take_nic,
			       .tolerated = 404 },
	{ 0 },
};

/* Set the base URL, which depends on the cloud. */
static int azure_begin(struct rest_run *r, struct err *err UNUSED)
{
	r->server = str_of(azure_config_of(r)->cloud->manager);
	return 0;
}

static const struct rest_table azure_table = {
	.steps = azure_steps,
	.account = &azure_account_kind,
	.begin = azure_begin,
	.prepare = bearer_prepare,
	.finish = azure_finish,
	.drop = azure_drop,
	.headers = (const char *const[]){ "Accept: application/json", NULL },
};

static void azure_init(struct discovery_config *base)
{
	struct azure_config *c = (struct azure_config *)base;

	rest_init(base);
	c->cloud = azure_public_cloud();
	c->method = AZURE_OAUTH;
	c->subscription_id = str_of("");
	c->tenant_id = str_of("");
	c->client_id = str_of("");
	c->client_secret = str_of("");
	c->resource_group = str_of("");
}

static void azure_check(struct yaml *y, const struct yaml_node *entry,
			struct discovery_config *base)
{
	const struct azure_config *c = (const struct azure_config *)base;

	rest_check(y, entry, base);
	rest_refuse_auth(y, entry, base);
	if (!c->subscription_id.len)
		yaml_error(y, entry,
			   "azure_sd_config requires subscription_id");
	if (c->method == AZURE_OAUTH &&
	    (!c->tenant_id.len || !c->client_id.len || !c->client_secret.len))
		yaml_error(
			y, entry,
			"authentication_method OAuth (the default) requires tenant_id, client_id and client_secret; the other methods are ManagedIdentity, WorkloadIdentity and SDK");
}

#define AZURE_TEXT(key)                                                   \
	{                                                                 \
#key, yaml_text, offsetof(struct azure_config, key), NULL \
	}

static const struct yaml_field azure_fields[] = {
	REST_FIELDS,
	{ "environment", azure_decode_cloud, 0, NULL },
	{ "authentication_method", azure_decode_method, 0, NULL },
	AZURE_TEXT(subscription_id),
	AZURE_TEXT(tenant_id),
	AZURE_TEXT(client_id),
	{ "client_secret", yaml_secret,
	  offsetof(struct azure_config, client_secret), NULL },
	AZURE_TEXT(resource_group),
	{ 0 },
};

const struct provider_kind provider_azure = {
	.name = "azure",
	.refresh_ms = 300000,
	.config_size = sizeof(struct azure_config),
	.fields = azure_fields,
	.init = azure_init,
	.check = azure_check,
	.rest = (const struct rest_table *const[]){ &azure_table, NULL },
	REST_FUNCTIONS,
};
