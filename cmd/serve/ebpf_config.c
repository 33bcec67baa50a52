/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/ebpf_config.h"

#include <inttypes.h>

#include "bpf/collect/collector.h"
#include "bpf/collect/sample_labels.h"
#include "model/collected.h"

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

/*
 * Refuse rules that change what tells a series of the collector and its
 * machine: without it, nobody knows when the series was sampled.
 */
static void ebpf_config_check_rules(struct yaml *y,
				    const struct relabel_rules *rules)
{
	static const char *const kept[] = { LABEL_NAME, "job", COLLECTED_NODE };

	for (size_t i = 0; i < rules->count; i++) {
		const struct relabel_rule *r = &rules->v[i];

		/* The rule has an error of its own. */
		if (!r->regex)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(kept); k++) {
			if (relabel_changes(r, str_of(kept[k])))
				yaml_error(
					y, r->node,
					"relabel_configs: rules of the section ebpf cannot change the label %s or remove it; to set the label node, use the key \"node\"",
					kept[k]);
		}
	}
}

/* Decode the discoveries that name containers; a yaml_other_fn. */
static bool decode_other(struct yaml *y, const struct yaml_node *key,
			 const struct yaml_node *value, void *config)
{
	struct ebpf_config *c = config;

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
		{ "node", yaml_env_text, offsetof(struct ebpf_config, node),
		  NULL },
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
	ebpf_config_check_rules(y, &c->relabel);
	if (n->kind == YAML_MAP && n->count &&
	    yaml_is_null(yaml_child(n, "enabled")))
		yaml_warn(
			y, n,
			"the section \"ebpf\" does nothing without \"enabled: true\"");
	if (c->sampling_frequency < 1 ||
	    c->sampling_frequency > COLLECTOR_HZ_MAX)
		yaml_error(
			y, yaml_child(n, "sampling_frequency"),
			"sampling_frequency: expected 1 to %d samples a second, not %" PRId64,
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
