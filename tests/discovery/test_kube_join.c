/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit of Kubernetes objects and of what they get from others. */
#include "base/yaml_json.h"
#include "discovery/core/entry.h"
#include "discovery/core/kinds.h"
#include "discovery/kubernetes/kube_join.h"
#include "tests/check.h"

TestSuite(kube_join, .timeout = 60);

#define POD                                                          \
	"{\"metadata\": {\"name\": \"p%d\", \"namespace\": \"n\"}, " \
	"\"spec\": {\"nodeName\": \"alder\", \"containers\": "       \
	"[{\"name\": \"c\"}]}, \"status\": {\"podIP\": \"10.0.0.1\"}}"
/* The pod number 3, with another address. */
#define POD_CHANGED                                                 \
	"{\"metadata\": {\"name\": \"p3\", \"namespace\": \"n\"}, " \
	"\"spec\": {\"nodeName\": \"alder\", \"containers\": "      \
	"[{\"name\": \"c\"}]}, \"status\": {\"podIP\": \"10.0.0.2\"}}"
#define NODE "{\"metadata\": {\"name\": \"alder\"}}"

static int put(struct kube_stores *s, enum kube_resource_id id,
	       const char *json)
{
	struct yaml y;
	int rc;

	yaml_parse_json(&y, "test", bytes_of(str_of(json)));
	rc = kube_store_put(s, id, y.root, 1, NULL);
	yaml_fini(&y);
	return rc;
}

static int put_pod(struct kube_stores *s, int number)
{
	char json[300];

	snprintf(json, sizeof(json), POD, number);
	return put(s, KUBE_POD, json);
}

/* Joins all pods; returns how many lack labels. */
static size_t join(struct kube_stores *s, const struct kube_config *c,
		   size_t want)
{
	struct target_groups_list all = { 0 };
	size_t lacking = kube_join_all(s, c, &all);

	cr_expect(all.count == want, "%zu", all.count);
	target_groups_list_fini(&all);
	return lacking;
}

Test(kube_join, memory_is_limited)
{
	const struct kube_config *c;
	struct kube_stores s;
	struct yaml y;
	size_t own;

	yaml_parse(
		&y, "test",
		bytes_of(str_of("{role: pod, attach_metadata: {node: true}}")));
	c = (const struct kube_config *)discovery_entry_decode(
		&y, y.root, &provider_kubernetes);
	cr_assert(!y.error_count);
	kube_stores_init(&s);
	cr_expect(!put(&s, KUBE_NODE, NODE));
	for (int i = 0; i < 10; i++)
		cr_expect(!put_pod(&s, i));
	own = s.bytes;
	cr_expect(join(&s, c, 10) == 0);
	cr_expect(s.bytes > own);
	/* Nothing is made again while nothing changes. */
	cr_expect(s.of[KUBE_POD].objects.v[3].joined->part_count > 1);
	s.bytes_max = s.bytes;
	cr_expect(join(&s, c, 10) == 0);
	cr_expect(put_pod(&s, 10) == ERR_TOOBIG);
	cr_expect(s.of[KUBE_POD].objects.count == 10);
	/* An object that is replaced by one of its size needs no more. */
	cr_expect(!put(&s, KUBE_POD, POD_CHANGED));
	cr_expect(s.of[KUBE_POD].objects.count == 10);
	/* A changed node would need more memory while the old groups live. */
	s.bytes_max = own + 1;
	cr_expect(!s.of[KUBE_NODE].objects.v[0].joined);
	kube_store_sweep(&s, KUBE_NODE, str_of(""), 2);
	cr_expect(join(&s, c, 10) == 0);
	s.bytes_max = SIZE_MAX;
	cr_expect(!put(&s, KUBE_NODE, NODE));
	s.bytes_max = s.bytes + 1;
	cr_expect(join(&s, c, 10) == 10);
	kube_stores_fini(&s);
	cr_expect(s.bytes == 0, "%zu", s.bytes);
	yaml_fini(&y);
}
