/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Valid profiles for storage tests. Two numbers determine their bytes. They
 * are encoded as by a protobuf library, so that the columns codec can take them
 * apart.
 */
#ifndef TESTS_TSDB_PROFILE_H
#define TESTS_TSDB_PROFILE_H

#include <stdio.h>

#include "base/buf.h"
#include "base/enc.h"

#define PROFILE_FUNCTIONS 24
#define PROFILE_SAMPLES   6
#define PROFILE_DEPTH     5

static inline void profile_number(struct buf *b, unsigned field, uint64_t v)
{
	buf_byte(b, (uint8_t)(field << 3));
	enc_uvarint(b, v);
}

static inline void profile_bytes(struct buf *b, unsigned field, struct buf *v)
{
	buf_byte(b, (uint8_t)(field << 3 | 2));
	enc_str(b, str_from(buf_bytes(v)));
	buf_reset(v);
}

static inline void profile_text(struct buf *b, const char *s)
{
	buf_byte(b, 6 << 3 | 2);
	enc_str(b, str_of(s));
}

/* The ids of functions, given in the order in which they are first needed. */
struct profile_ids {
	unsigned id[PROFILE_FUNCTIONS];
	unsigned function[PROFILE_FUNCTIONS]; /* by id - 1 */
	unsigned count;
};

static inline unsigned profile_id(struct profile_ids *ids, unsigned function)
{
	if (!ids->id[function]) {
		ids->function[ids->count] = function;
		ids->id[function] = ++ids->count;
	}
	return ids->id[function];
}

/*
 * Writes the samples of a profile. Consecutive seeds give nearly the same
 * stacks.
 */
static inline void profile_samples(struct buf *out, unsigned seed,
				   struct profile_ids *ids)
{
	struct buf m = { 0 };
	struct buf v = { 0 };

	for (unsigned s = 0; s < PROFILE_SAMPLES; s++) {
		unsigned which = (s + seed / 64) % PROFILE_FUNCTIONS;

		for (unsigned i = 0; i < PROFILE_DEPTH; i++)
			enc_uvarint(&v,
				    profile_id(ids, (which * 7 + i * i) %
							    PROFILE_FUNCTIONS));
		profile_bytes(&m, 1, &v);
		enc_uvarint(&v, seed * (s + 1));
		enc_uvarint(&v, seed % 17 * 1000);
		profile_bytes(&m, 2, &v);
		profile_bytes(out, 2, &m);
	}
	buf_fini(&m);
	buf_fini(&v);
}

static inline void profile_tables(struct buf *out,
				  const struct profile_ids *ids)
{
	struct buf m = { 0 };
	struct buf v = { 0 };

	for (unsigned i = 0; i < ids->count; i++) {
		profile_number(&m, 1, i + 1);
		profile_number(&m, 3, 4096 + ids->function[i] * 64);
		profile_number(&v, 1, i + 1);
		profile_number(&v, 2, 10 + ids->function[i]);
		profile_bytes(&m, 4, &v);
		profile_bytes(out, 4, &m);
	}
	for (unsigned i = 0; i < ids->count; i++) {
		profile_number(&m, 1, i + 1);
		profile_number(&m, 2, 4 + i);
		profile_number(&m, 3, 4 + i);
		profile_bytes(out, 5, &m);
	}
	buf_fini(&m);
	buf_fini(&v);
}

static inline void profile_make(int series, int k, struct buf *out)
{
	struct profile_ids ids = { .count = 0 };
	char name[64];
	struct buf m = { 0 };

	buf_reset(out);
	profile_number(&m, 1, 1);
	profile_number(&m, 2, 2);
	profile_bytes(out, 1, &m);
	profile_number(&m, 1, 3);
	profile_number(&m, 2, 2);
	profile_bytes(out, 1, &m);
	profile_samples(out, (unsigned)(series * 100000 + k), &ids);
	profile_tables(out, &ids);
	profile_text(out, "");
	profile_text(out, "a");
	profile_text(out, "count");
	profile_text(out, "b");
	for (unsigned i = 0; i < ids.count; i++) {
		snprintf(name, sizeof(name), "example.com/app/pkg.function%u",
			 ids.function[i]);
		profile_text(out, name);
	}
	profile_number(out, 9, 1700000000000000000u + (uint64_t)k);
	buf_fini(&m);
}

#endif
