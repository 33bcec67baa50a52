/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors from strangers, matched against a label set. */
#include <stdlib.h>

#include "model/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct labels *some_labels(void)
{
	struct labels_builder b = { 0 };
	struct labels *ls;

	labels_set(&b, str_of("__name__"), str_of("heap"));
	labels_set(&b, str_of("job"), str_of("aaaaaaaaaaaaaaaaaaaaaaaa"));
	if (labels_build(&b, &ls, NULL))
		abort();
	labels_builder_fini(&b);
	return ls;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { .ptr = (const char *)data, .len = size };
	struct selector s;
	struct err err;

	if (selector_parse(text, &s, &err))
		return 0;
	struct labels *ls = some_labels();

	(void)matchers_match(s.matchers, s.count, ls);
	labels_unref(ls);
	selector_fini(&s);
	return 0;
}
