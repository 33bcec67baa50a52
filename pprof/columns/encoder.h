/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoder of the columns codec: profiles become rows of a group, their things
 * entries of the stripe's dictionary.
 *
 * Ownership and threads: model/codec.h.
 */
#ifndef PPROF_COLUMNS_ENCODER_H
#define PPROF_COLUMNS_ENCODER_H

#include "pprof/columns.h"
#include "pprof/dictionary/dictionary.h"

/* What model/codec.h calls a table. */
struct codec_table {
	struct dictionary d;
};

struct codec_encoder *columns_encoder_new(int level);
void columns_encoder_free(struct codec_encoder *e);
int columns_encode(struct codec_encoder *e, const struct bytes *values,
		   size_t count, struct buf *out, struct err *err);
const struct codec_table *columns_encoder_table(const struct codec_encoder *e);
bool columns_encoder_is_full(const struct codec_encoder *e);
int columns_encoder_finish(struct codec_encoder *e, struct buf *out,
			   struct err *err);

/* Take groups that zstd would make smaller, too: for tests. */
void columns_encoder_take_all(struct codec_encoder *e);

size_t encoder_dict_size(const struct codec_encoder *e);

NODISCARD int encoder_refuse(struct err *err, const char *why);

void encoder_trim(struct codec_encoder *e);

#endif
