/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the answers of container runtimes: the input is the list of pods, a
 * byte 0xff, and the list of containers.
 */
#include "discovery/container_targets.h"
#include "discovery/cri/cri_answer.h"
#include "tests/fuzz/sd_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Visitor of the containers: each has an ID. */
static bool check_container(void *ctx UNUSED, struct str id,
			    const struct label *labels, size_t count)
{
	if (!id.len || !labels || !count)
		__builtin_trap();
	return true;
}

/* Checks what was found, and frees it. */
static void check_groups(struct group_builder *b)
{
	struct provider p = { 0 };
	struct target_groups *g;

	if (group_builder_take(b, &g, NULL))
		return;
	*vec_add(&p.found) = g;
	check_found(&p);
	container_targets_visit(&p.found, check_container, NULL);
	target_groups_list_fini(&p.found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes containers = { data, size };
	struct bytes pods = take_answer(&containers);
	struct group_builder b;

	group_builder_init(&b);
	if (!cri_answer_map(pods, containers, &b, NULL))
		check_groups(&b);
	group_builder_fini(&b);
	return 0;
}
