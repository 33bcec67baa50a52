/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes samples of the profiles that are read from a source. The labels come
 * from the path, from what the source has stored, and from --labels; the time
 * from the file name, or else from the profile itself.
 *
 * Ownership: sample_maker_fini() frees what a maker holds. A sample borrows from
 * the item and from the maker until its next use, but for its labels.
 * Threads: one thread at a time.
 */
#ifndef CMD_TOOLS_SOURCE_SAMPLE_H
#define CMD_TOOLS_SOURCE_SAMPLE_H

#include "cmd/tools/source.h"
#include "model/selector.h"
#include "pprof/proto/unpack.h"

/* A maker of samples. */
struct sample_maker {
	struct selector given; /* --labels; empty if the flag is not given */
	bool named;            /* whether it has __name__, the profile type */
	struct unpacker *unpacker;
	struct unpacked *unpacked;
};

/*
 * Initialize a maker. `labels` is the text of --labels: a selector with nothing
 * but name="value"; "" is none. Profiles of more than `max_profile` bytes,
 * decompressed, are refused. ERR_INVALID: `labels` is something else. Call
 * sample_maker_fini() in any case.
 */
NODISCARD int sample_maker_init(struct sample_maker *m, const char *labels,
				int64_t max_profile, struct err *err);

/* Free what a maker holds. */
void sample_maker_fini(struct sample_maker *m);

/* Set the labels given by --labels; they override the others. */
void sample_maker_set_labels(const struct sample_maker *m,
			     struct labels_builder *b);

/*
 * Check a profile and make a sample of it. The caller releases out->labels by
 * labels_unref(). ERR_INVALID: the type or the time of the profile is unknown,
 * or it is no profile. ERR_TOOBIG: it is too large.
 */
NODISCARD int sample_make(struct sample_maker *m, const struct source_item *it,
			  struct sample *out, struct err *err);

#endif
