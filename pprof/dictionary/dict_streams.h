/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams that a stored dictionary is made of, each a section, in this
 * order: docs/format/columns.md.
 *
 * Ownership: buffers are the encoder's; streams borrow the stored bytes.
 * Threads: plain values.
 */
#ifndef PPROF_DICTIONARY_DICT_STREAMS_H
#define PPROF_DICTIONARY_DICT_STREAMS_H

#include "base/defs.h"

enum dict_stream {
	STREAM_COUNTS,
	STREAM_LENGTHS, /* of texts */
	STREAM_TEXTS,
	STREAM_RUNS,  /* mappings, label sets, layouts, shapes */
	STREAM_NAMES, /* of functions */
	STREAM_FILES,
	STREAM_STARTS,    /* lines */
	STREAM_LOCATIONS, /* mapping, number of lines */
	STREAM_ADDRESSES,
	STREAM_FUNCTIONS, /* of lines */
	STREAM_LINES,
	STREAM_COLUMNS,
	STREAM_SETS,  /* of keys */
	STREAM_NEW,   /* nodes of a key */
	STREAM_BASES, /* what they stand on */
	STREAM_FRAMES,
	DICT_STREAMS
};

/* What a person calls it. */
const char *dict_stream_name(enum dict_stream s);

/* Of all sections, decompressed: more than an encoder lets one grow to. */
#define DICT_SECTIONS_MAX ((size_t)24 * MIB)

/*
 * Numbers of things that are mostly new, one after another, or were new not
 * long ago: top less the number, top being one more than the highest so far.
 */
struct dict_ref {
	uint64_t top;
};

/* What helps to guess the numbers of a location or a line. */
struct dict_guess {
	uint64_t *address; /* of the last location, by its outermost function */
	int64_t *line;     /* the last line, by function */
	bool *met;         /* whether there was one */
	uint32_t *parent;  /* the last caller + 1, by location */
};

#endif
