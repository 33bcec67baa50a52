/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/ebpf_config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "bpf/collector.h"
#include "bpf/sample_labels.h"

/* Bounds of the interval in ms. */
#define INTERVAL_MIN 1000
#define INTERVAL_MAX (10LL * 60 * 1000)

bool sample_label_add(struct str name, unsigned *set)
{
	static const char *const names[] = SAMPLE_LABEL_NAMES;

	for (unsigned i = 0; i < SAMPLE_LABELS_COUNT; i++) {
		if (str_is(name, names[i])) {
			*set |= 1u << i;
			return true;
		}
	}
	return false;
}

/* Decode the list sample_labels. */
static void decode_sample_labels(struct yaml *y, const struct yaml_node *n,
				 void *set)
{
	if (!yaml_expect(y, n, YAML_LIST, "sample_labels"))
		return;
	*(unsigned *)set = 0;
	for (size_t i = 0; i < n->count; i++) {
		struct str name = str_of("");

		yaml_text(y, n->items[i], &name);
		if (!sample_label_add(name, set))
			yaml_error(
				y, n->items[i],
				"sample_labels: expected comm, cpu, pid, thread or tid, not \"%.*s\"",
				STR_ARG(name));
	}
}

static struct yaml_node *make_node(struct yaml *y, enum yaml_kind kind,
				   size_t count)
{
	struct yaml_node *n = arena_new(&y->arena, struct yaml_node);

	n->kind = kind;
	n->weight = 1;
	n->items = arena_array(&y->arena, struct yaml_node *, count);
	return n;
}

/* Add a key with a value to a map that was made with room for it. */
static void add_pair(struct yaml *y, struct yaml_node *map, const char *key,
		     struct yaml_node *value)
{
	struct yaml_node *k = make_node(y, YAML_SCALAR, 0);

	k->text = str_of(key);
	map->items[map->count++] = k;
	map->items[map->count++] = value;
}

static struct yaml_node *make_text(struct yaml *y, const char *text)
{
	struct yaml_node *n = make_node(y, YAML_SCALAR, 0);

	n->text = str_of(text);
	n->quoted = true;
	return n;
}

/* Make the value of `selectors` that selects the pods of a node. */
static struct yaml_node *make_selectors(struct yaml *y, const char *node)
{
	struct yaml_node *list = make_node(y, YAML_LIST, 1);
	struct yaml_node *one = make_node(y, YAML_MAP, 4);
	const char *field = arena_printf(&y->arena, "spec.nodeName=%s", node);

	add_pair(y, one, "role", make_text(y, "pod"));
	add_pair(y, one, "field", make_text(y, field));
	list->items[list->count++] = one;
	return list;
}

/*
 * Return an entry with one more key. It shares its keys and values with the
 * original, where decoding marks those that are secret.
 */
static struct yaml_node *entry_with(struct yaml *y,
				    const struct yaml_node *entry,
				    const char *key, struct yaml_node *value)
{
	struct yaml_node *out = make_node(y, YAML_MAP, entry->count + 2);
	struct yaml_node **items = out->items;

	*out = *entry;
	out->items = items;
	memcpy(items, entry->items, entry->count * sizeof(*items));
	add_pair(y, out, key, value);
	return out;
}

/*
 * Return the entries of kubernetes_sd_configs such that only pods of this node
 * are asked for: no other pod can be of use.
 */
static const struct yaml_node *
select_node(struct yaml *y, const struct yaml_node *list, const char *node)
{
	struct yaml_node *out = make_node(y, YAML_LIST, list->count);

	for (size_t i = 0; i < list->count; i++) {
		struct yaml_node *entry = list->items[i];
		const struct yaml_node *role = yaml_child(entry, "role");

		if (role && str_is(role->text, "pod") &&
		    !yaml_child(entry, "selectors"))
			entry = entry_with(y, entry, "selectors",
					   make_selectors(y, node));
		out->items[out->count++] = entry;
	}
	return out;
}

/* Decode the discoveries that name containers; a yaml_other_fn. */
static bool decode_other(struct yaml *y, const struct yaml_node *key,
			 const struct yaml_node *value, void *config)
{
	struct ebpf_config *c = config;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes it */
	const char *node = getenv("NODE_NAME");

	if (node && *node && value->kind == YAML_LIST &&
	    str_is(key->text, "kubernetes_sd_configs"))
		value = select_node(y, value, node);
	return discovery_containers_decode(y, key, value, &c->containers);
}

void ebpf_config_decode(struct yaml *y, const struct yaml_node *n, void *config)
{
	static const struct yaml_field fields[] = {
		{ "enabled", yaml_bool, offsetof(struct ebpf_config, enabled),
		  NULL },
		{ "sampling_frequency", yaml_int,
		  offsetof(struct ebpf_config, sampling_frequency), NULL },
		{ "off_cpu", yaml_int, offsetof(struct ebpf_config, off_cpu),
		  NULL },
		{ "interval", yaml_duration,
		  offsetof(struct ebpf_config, interval_ms), NULL },
		{ "node", yaml_text, offsetof(struct ebpf_config, node), NULL },
		{ "relabel_configs", relabel_decode,
		  offsetof(struct ebpf_config, relabel), NULL },
		{ "sample_labels", decode_sample_labels,
		  offsetof(struct ebpf_config, sample_labels), NULL },
		{ 0 },
	};
	struct ebpf_config *c = config;

	c->section = n;
	c->sampling_frequency = COLLECTOR_HZ;
	c->interval_ms = COLLECTOR_INTERVAL_MS;
	c->sample_labels = SAMPLE_LABELS_DEFAULT;
	yaml_decode_open(y, n, "ebpf", fields, decode_other, c);
	if (c->sampling_frequency < 1 ||
	    c->sampling_frequency > COLLECTOR_HZ_MAX)
		yaml_error(y, yaml_child(n, "sampling_frequency"),
			   "sampling_frequency: expected 1 to %d, not %" PRId64,
			   COLLECTOR_HZ_MAX, c->sampling_frequency);
	if (c->off_cpu < 0 || c->off_cpu > COLLECTOR_OFF_CPU_MAX)
		yaml_error(y, yaml_child(n, "off_cpu"),
			   "off_cpu: expected 0 to %d, not %" PRId64,
			   COLLECTOR_OFF_CPU_MAX, c->off_cpu);
	if (c->interval_ms < INTERVAL_MIN || c->interval_ms > INTERVAL_MAX)
		yaml_error(y, yaml_child(n, "interval"),
			   "interval: expected 1s to 10m");
}

void ebpf_config_fini(struct ebpf_config *c)
{
	relabel_rules_fini(&c->relabel);
}
