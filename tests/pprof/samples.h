/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real profiles of testdata/profiles.tar, decompressed, in the order of the
 * archive. Their names there are <job>/<type>/<ms>.pb.gz.
 *
 * Ownership: samples_free() frees.
 */
#ifndef TESTS_PPROF_SAMPLES_H
#define TESTS_PPROF_SAMPLES_H

#include <stdio.h>
#include <stdlib.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/vec.h"
#include "tests/check.h"

struct sample_file {
	char job[40];
	char type[40];
	struct buf raw;
};

struct samples {
	VEC(struct sample_file) v;
};

#define TAR_BLOCK ((size_t)512)

static inline void samples_add(struct samples *s, struct gzip *g,
			       const char *name, struct bytes data)
{
	struct sample_file *f = vec_add(&s->v);

	*f = (struct sample_file){ 0 };
	cr_assert(sscanf(name, "%39[^/]/%39[^/]", f->job, f->type) == 2);
	cr_assert(!gzip_decompress(g, data, &f->raw, NULL));
}

static inline void samples_load(struct samples *s)
{
	FILE *in = fopen(TESTDATA "/profiles.tar", "rb");
	struct gzip *g = gzip_new();
	char head[TAR_BLOCK];

	cr_assert(in);
	*s = (struct samples){ 0 };
	while (fread(head, 1, sizeof(head), in) == sizeof(head) && head[0]) {
		size_t len = strtoul(head + 124, NULL, 8);
		size_t padded = (len + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
		uint8_t *data = mem_alloc(padded + 1);

		cr_assert(fread(data, 1, padded, in) == padded);
		if (head[156] == '0')
			samples_add(s, g, head, (struct bytes){ data, len });
		mem_free(data);
	}
	cr_assert(s->v.count);
	fclose(in);
	gzip_free(g);
}

static inline void samples_free(struct samples *s)
{
	for (size_t i = 0; i < s->v.count; i++)
		buf_fini(&s->v.v[i].raw);
	vec_fini(&s->v);
}

#endif
