/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/profile/label_view.h"

/* Whether a text may be the name or the value of a label. */
static bool label_view_is_text(struct str text)
{
	return text.len && text.len <= LABEL_VIEW_BYTES_MAX &&
	       str_is_utf8(text);
}

bool label_view_get(const struct label_view *v, uint32_t i, struct str *name,
		    struct str *value)
{
	const struct pprof_label *l;

	if (i >= label_view_count(v))
		return false;
	l = &v->labels[i];
	*name = strtab_get(v->strings, l->key);
	*value = strtab_get(v->strings, l->str);
	return !l->is_number && label_view_is_text(*name) &&
	       label_view_is_text(*value);
}

struct str label_view_text(const struct label_view *v, struct str key)
{
	uint32_t count = label_view_count(v);

	for (uint32_t i = 0; i < count; i++) {
		const struct pprof_label *l = &v->labels[i];
		struct str name;
		struct str value;

		if (!l->is_number &&
		    str_eq(strtab_get(v->strings, l->key), key))
			return label_view_get(v, i, &name, &value) ? value :
								     str_of("");
	}
	return str_of("");
}

bool label_view_match(const struct label_view *v, const struct matcher *m,
		      size_t count, size_t *work)
{
	bool matches = true;

	*work += 1;
	for (size_t i = 0; i < count && matches; i++) {
		matches = matcher_matches(&m[i], label_view_text(v, m[i].name));
		*work += matcher_work(&m[i]) + label_view_count(v);
	}
	return matches;
}
