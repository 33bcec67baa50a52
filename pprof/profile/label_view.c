/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/profile/label_view.h"

struct str label_view_text(const struct label_view *v, struct str key)
{
	for (uint32_t i = 0; i < v->count; i++) {
		const struct pprof_label *l = &v->labels[i];

		if (!l->is_number &&
		    str_eq(strtab_get(v->strings, l->key), key))
			return strtab_get(v->strings, l->str);
	}
	return str_of("");
}

bool label_view_matches(const struct label_view *v, const struct matcher *m,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!matcher_matches(&m[i], label_view_text(v, m[i].name)))
			return false;
	}
	return true;
}
