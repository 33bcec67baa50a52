/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes relabelling. An input has rules in YAML, then a line "---", then
 * labels as lines of name=value.
 */
#include "model/relabel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_labels(struct labels_builder *b, struct str text)
{
	while (text.len) {
		struct str value;
		struct str name =
			str_cut(str_cut(text, '\n', &text), '=', &value);

		if (name.len)
			labels_set(b, name, value);
	}
}

/* Traps if a label has no name or no value, or if two labels have one name. */
static void check(const struct labels_builder *b)
{
	for (size_t i = 0; i < b->count; i++) {
		if (!b->v[i].name.len || !b->v[i].value.len)
			__builtin_trap();
		for (size_t k = 0; k < i; k++) {
			if (str_eq(b->v[i].name, b->v[k].name))
				__builtin_trap();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char line[] = "\n---\n";
	const uint8_t *cut = memmem(data, size, line, sizeof(line) - 1);
	size_t n = cut ? (size_t)(cut - data) : size;
	struct relabel_rules rules = { 0 };
	struct labels_builder b = { 0 };
	struct yaml y;

	yaml_parse(&y, "fuzz", (struct bytes){ data, n });
	if (y.root)
		relabel_decode(&y, y.root, &rules);
	if (cut)
		set_labels(&b,
			   (struct str){ (const char *)cut + 5, size - n - 5 });
	if (!y.error_count && relabel_run(&rules, NULL, &b, NULL, NULL) >= 0)
		check(&b);
	relabel_rules_fini(&rules);
	labels_builder_fini(&b);
	yaml_fini(&y);
	return 0;
}
