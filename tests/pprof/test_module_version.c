/* SPDX-License-Identifier: Apache-2.0 */
/* The option `ignore_versions`: names without the major versions of Go modules. */
#include "pprof/filter/module_version.h"

#include "pprof/graph/nodes.h"
#include "tests/pprof/sketch.h"

TestSuite(module_version, .timeout = 30);

/* The name of a function after versions were removed. */
static char *without_version(const char *name)
{
	CLEANUP(mem_freep) char *text = mem_printf("%s 1\n", name);
	struct sketch s = sketch_init("samples/count", text);
	char *out;

	module_version_remove(s.p);
	out = mem_printf("%.*s",
			 STR_ARG(pprof_str(s.p, s.p->functions.v[0].name)));
	sketch_fini(&s);
	return out;
}

Test(module_version, versions_are_elements_of_paths)
{
	static const struct {
		const char *name;
		const char *want;
	} cases[] = {
		{ "github.com/nats-io/nats-server/v2/server.(*client).readLoop",
		  "github.com/nats-io/nats-server/server.(*client).readLoop" },
		{ "example.com/a/v12.Run", "example.com/a.Run" },
		{ "example.com/a/v2.(*T).Run.func1",
		  "example.com/a.(*T).Run.func1" },
		{ "main.f[example.com/a/v2.T,example.com/b/v3/c.U]",
		  "main.f[example.com/a.T,example.com/b/c.U]" },
		{ "gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.Unmarshal" },
		{ "gopkg.in/yaml.v1.(*T).F", "gopkg.in/yaml.(*T).F" },
		{ "a[gopkg.in/yaml%2ev3.T,b.v2.c]",
		  "a[gopkg.in/yaml.T,b.v2.c]" },
		{ "f[{gopkg.in/yaml%2ev3.T}b.v2.c]",
		  "f[{gopkg.in/yaml.T}b.v2.c]" },
		{ "main.(*p[example.com/a/v2.T]).F[go.shape.*uint8]",
		  "main.(*p[example.com/a.T]).F[go.shape.*uint8]" },
		/* These are none. */
		{ "k8s.io/api/core/v1.(*Pod).Size",
		  "k8s.io/api/core/v1.(*Pod).Size" },
		{ "example.com/v2ray/core.Run", "example.com/v2ray/core.Run" },
		{ "example.com/a/v2beta.Run", "example.com/a/v2beta.Run" },
		{ "example.com/a/v.Run", "example.com/a/v.Run" },
		{ "example.com/a/v2", "example.com/a/v2" },
		{ "example.com/a.v2.Run", "example.com/a.v2.Run" },
		{ "/v2/x", "/v2/x" },
		{ "com/example/v2/Foo.bar", "com/example/v2/Foo.bar" },
		{ "runtime.mallocgc", "runtime.mallocgc" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(mem_freep) char *got = without_version(cases[i].name);

		cr_expect(!strcmp(got, cases[i].want), "%s: %s", cases[i].name,
			  got);
	}
}

Test(module_version, functions_of_two_versions_are_one_node)
{
	struct sketch s = sketch_init("samples/count",
				      "main;x.io/a/v2.F 1\nmain;x.io/a.F 2\n");
	struct nodes before;
	struct nodes after;

	nodes_init(&before, s.p, GRANULARITY_FUNCTIONS, false);
	module_version_remove(s.p);
	nodes_init(&after, s.p, GRANULARITY_FUNCTIONS, false);
	cr_assert(before.v.count == 3, "%zu, %zu", before.v.count,
		  after.v.count);
	cr_expect(after.v.count == 2, "%zu, %zu", before.v.count,
		  after.v.count);
	nodes_fini(&before);
	nodes_fini(&after);
	sketch_fini(&s);
}
