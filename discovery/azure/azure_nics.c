/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/azure/azure_nics.h"

#include "base/hash.h"
#include "base/mem.h"

static void nic_fini(struct azure_nic *n)
{
	mem_free(n->id);
	mem_free(n->private_ip);
	mem_free(n->public_ip);
}

void azure_nics_fini(struct azure_nics *c)
{
	for (size_t i = 0; i < c->list.count; i++)
		nic_fini(&c->list.v[i]);
	vec_fini(&c->list);
	table_fini(&c->by_id);
	*c = (struct azure_nics){ 0 };
}

/* Comparison function of the table. */
static bool is_nic(const void *ctx, uint32_t number, const void *key)
{
	const struct azure_nics *c = ctx;

	return str_is(str_of(c->list.v[number].id), key);
}

/* Return the hash of an ID in lower case. */
static uint64_t nic_hash(const char *id)
{
	return hash_key(bytes_of(str_of(id)));
}

const struct azure_nic *azure_nics_find(const struct azure_nics *c,
					struct str id)
{
	char *key = buf_lower_copy(id);
	uint32_t n = table_find(&c->by_id, nic_hash(key), is_nic, c, key);

	mem_free(key);
	return n == TABLE_NONE ? NULL : &c->list.v[n];
}

/*
 * Set the state and the addresses of an interface from an answer. If `answer`
 * is NULL, the interface is missing.
 */
static void nic_take_answer(struct azure_nic *n, const struct yaml_node *answer)
{
	const struct yaml_node *all = doc_find(answer, "properties");
	const struct yaml_node *first =
		doc_find(all, "ipConfigurations[0].properties");
	struct str address = doc_text(first, "privateIPAddress");

	if (!answer)
		n->state = AZURE_NIC_MISSING;
	else if (doc_bool(all, "primary") && first)
		n->state = AZURE_NIC_PRIMARY;
	else if (all && !doc_find(all, "primary"))
		n->state = AZURE_NIC_IDLE;
	else
		n->state = AZURE_NIC_OTHER;
	n->private_ip = mem_strndup(address);
	n->public_ip = mem_strndup(
		doc_text(first, "publicIPAddress.properties.ipAddress"));
}

void azure_nics_add(struct azure_nics *c, struct str id,
		    const struct yaml_node *answer, int64_t drop_ms)
{
	struct azure_nic *n;

	if (azure_nics_find(c, id))
		return;
	n = vec_add(&c->list);
	*n = (struct azure_nic){ .id = buf_lower_copy(id), .drop_ms = drop_ms };
	nic_take_answer(n, answer);
	table_add(&c->by_id, nic_hash(n->id), (uint32_t)c->list.count - 1);
}

void azure_nics_expire(struct azure_nics *c, int64_t now_ms)
{
	struct azure_nics kept = { 0 };

	for (size_t i = 0; i < c->list.count; i++) {
		struct azure_nic *n = &c->list.v[i];

		if (n->drop_ms <= now_ms) {
			nic_fini(n);
			continue;
		}
		*vec_add(&kept.list) = *n;
		table_add(&kept.by_id, nic_hash(n->id),
			  (uint32_t)kept.list.count - 1);
	}
	vec_fini(&c->list);
	table_fini(&c->by_id);
	*c = kept;
}
