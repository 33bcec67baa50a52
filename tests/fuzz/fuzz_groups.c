/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the decoder of target groups, as files and servers have them. After a
 * first byte 'J' the text is read as JSON, otherwise as YAML.
 */
#include "discovery/core/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct group_meta meta = { "__meta_url", str_of("x") };
	bool json = size && data[0] == 'J';
	struct bytes text = { data + json, size - json };
	struct target_groups *g = NULL;
	size_t targets = 0;
	struct err err;

	if (provider_parse("fuzz", text, json, &meta, &g, &err))
		return 0;
	for (size_t i = 0; i < g->count; i++)
		targets += g->v[i].target_count;
	if (targets != g->targets)
		__builtin_trap();
	target_groups_unref(g);
	return 0;
}
