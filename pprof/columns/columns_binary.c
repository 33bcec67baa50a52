/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/columns_binary.h"

#include "pprof/columns/rows.h"

struct pprof_binary columns_binary(const struct codec_rows *rows, size_t row)
{
	const struct dictionary *d = rows->d;
	uint32_t number = rows->group->rows[row].layout;
	struct pprof_run layout = d->layouts.v[number];
	const struct dict_mapping *m;

	if (!layout.count)
		return (struct pprof_binary){ 0 };
	m = &d->mappings.v[d->bindings.v[layout.first].mapping];
	return (struct pprof_binary){ .file = dict_str(d, m->file),
				      .build_id = dict_str(d, m->build_id) };
}

struct pprof_binary pprof_binary(const struct pprof *p)
{
	const struct pprof_mapping *m = p->mappings.v;

	if (!p->mappings.count)
		return (struct pprof_binary){ 0 };
	return (struct pprof_binary){ .file = pprof_str(p, m->file),
				      .build_id = pprof_str(p, m->build_id) };
}
