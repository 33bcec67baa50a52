/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the columns codec. The first byte chooses one of two kinds of input:
 *
 *	'P'  Profiles. They must come back byte for byte or be refused.
 *	     u16 length and bytes of each; the last one goes to the end
 *	'S'  The stored bytes of a stripe's table and of a group. They must be
 *	     read without harm. A second reading must give the same, and so
 *	     must a reading from another stripe that the group is moved to.
 *	     u16 length of the table, the table, u8 number of rows, u16 the
 *	     length of each row, the group
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/dec.h"
#include "base/mem.h"
#include "pprof/columns/encoder.h"

#define LEVEL 1
#define ROWS  4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct codec *const codec = &codec_columns;

static void decode_again(const struct codec_group *g,
			 const struct bytes *values)
{
	struct codec_decoder *d = codec->decoder_new();
	struct buf out = { 0 };

	for (size_t i = 0; i < g->count; i++) {
		buf_reset(&out);
		if (codec->decode(d, g, i, 1, &out, NULL) ||
		    !bytes_eq(buf_bytes(&out), values[i]))
			abort();
	}
	buf_fini(&out);
	codec->decoder_free(d);
}

static void stripe(struct codec_encoder *e, struct codec_group *g,
		   const struct bytes *values)
{
	struct buf stored = { 0 };
	struct codec_table *t = NULL;

	g->table = codec->encoder_table(e);
	decode_again(g, values);
	if (codec->encoder_finish(e, &stored, NULL) ||
	    codec->table_open(buf_bytes(&stored), &t, NULL))
		abort();
	g->table = t;
	decode_again(g, values);
	codec->table_free(t);
	buf_fini(&stored);
}

static void profiles(struct dec *in)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct bytes values[ROWS];
	uint32_t lens[ROWS];
	struct codec_group g = { .lens = lens };
	struct buf out = { 0 };

	while (g.count < ROWS && dec_left(in)) {
		size_t len = dec_be16(in);

		if (g.count == ROWS - 1 || len > dec_left(in))
			len = dec_left(in);
		values[g.count] = dec_bytes(in, len);
		lens[g.count++] = (uint32_t)len;
	}
	columns_encoder_take_all(e);
	/* The second of two equal groups finds all its keys in the table. */
	for (int i = 0; i < 2; i++) {
		buf_reset(&out);
		if (codec->encode(e, values, g.count, &out, NULL))
			continue;
		g.stored = buf_bytes(&out);
		stripe(e, &g, values);
	}
	buf_fini(&out);
	codec->encoder_free(e);
}

/* Moves a group to another stripe, where decoding it must give the same. */
static void adopt(const struct codec_group *g, const struct buf *want)
{
	struct codec_encoder *e = codec->encoder_new(LEVEL);
	struct codec_decoder *d = codec->decoder_new();
	struct buf out = { 0 };
	struct buf again = { 0 };
	struct codec_group moved = *g;

	/* The second time, the group finds all its keys in the table. */
	for (int i = 0; i < 2; i++) {
		buf_reset(&out);
		buf_reset(&again);
		if (codec->adopt(e, g, &out, NULL))
			break;
		moved.stored = buf_bytes(&out);
		moved.table = codec->encoder_table(e);
		if (codec->decode(d, &moved, 0, g->count, &again, NULL) ||
		    !bytes_eq(buf_bytes(&again), buf_bytes(want)))
			abort();
	}
	buf_fini(&out);
	buf_fini(&again);
	codec->encoder_free(e);
	codec->decoder_free(d);
}

static void stored(struct dec *in)
{
	struct codec_decoder *d = codec->decoder_new();
	struct codec_table *t = NULL;
	struct bytes table = dec_bytes(in, dec_be16(in));
	uint32_t lens[ROWS];
	struct codec_group g = { .lens = lens };
	struct buf a = buf_init(MIB);
	struct buf b = buf_init(MIB);
	int first;

	g.count = dec_u8(in) % (ROWS + 1);
	for (size_t i = 0; i < g.count; i++)
		lens[i] = dec_be16(in);
	g.stored = dec_bytes(in, dec_left(in));
	if (!codec->table_open(table, &t, NULL)) {
		g.table = t;
		first = codec->decode(d, &g, 0, g.count, &a, NULL);
		if (codec->decode(d, &g, 0, g.count, &b, NULL) != first ||
		    !bytes_eq(buf_bytes(&a), buf_bytes(&b)))
			abort();
		if (!first && g.count)
			adopt(&g, &a);
		if (g.count && codec->decode(d, &g, g.count - 1, 1, &b, NULL) &&
		    !first)
			abort();
		codec->table_free(t);
	}
	buf_fini(&a);
	buf_fini(&b);
	codec->decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dec in = dec_init((struct bytes){ data, size });
	uint8_t mode = dec_u8(&in);

	if (mode == 'S')
		stored(&in);
	else if (mode == 'P')
		profiles(&in);
	return 0;
}
