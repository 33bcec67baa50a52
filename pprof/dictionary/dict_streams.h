/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a stored dictionary. Each stream is one section, stored in the
 * order of this enumeration: docs/format/columns.md.
 *
 * Ownership: encoder and decoder each own the bytes of their streams.
 * Threads: plain values.
 */
#ifndef PPROF_DICTIONARY_DICT_STREAMS_H
#define PPROF_DICTIONARY_DICT_STREAMS_H

#include "base/defs.h"

/*
 * The streams. The numbers of one stream resemble each other, so that they
 * compress well.
 */
enum dict_stream {
	/* Number of elements of each kind. */
	STREAM_COUNTS,
	STREAM_LENGTHS, /* length of each text */
	STREAM_TEXTS,
	STREAM_RUNS,  /* mappings, label sets, layouts and shapes */
	STREAM_NAMES, /* name and system name of each function */
	/* File of each function. */
	STREAM_FILES,
	STREAM_STARTS,    /* start line of each function */
	STREAM_LOCATIONS, /* mapping and number of lines of each location */
	STREAM_ADDRESSES,
	STREAM_FUNCTIONS, /* function of each line */
	STREAM_LINES,
	STREAM_COLUMNS,
	STREAM_SETS,  /* label set of each key */
	STREAM_NEW,   /* number of new nodes (stacks) of each key */
	STREAM_BASES, /* node that the new nodes of each key extend */
	/* Location of each new node. */
	STREAM_FRAMES,
	DICT_STREAMS
};

/* Return the name of a stream, as it is printed in statistics of storage. */
const char *dict_stream_name(enum dict_stream s);

/*
 * Limit on the decompressed size of all sections together; larger than any
 * dictionary that an encoder writes.
 */
#define DICT_SECTIONS_MAX ((size_t)24 * MIB)

/*
 * State of writing or reading references to elements of one kind. Most elements
 * are first referred to in the order of their numbers, and again soon after. So
 * a reference is stored as `top` minus the element's number, which is mostly
 * small: `top` is one more than the highest number referred to so far. 0 refers
 * to the element with the number `top`.
 */
struct dict_ref {
	uint64_t top;
};

/*
 * State that predicts addresses, lines and frames from earlier ones. Encoder
 * and decoder must update this state identically.
 */
struct dict_guess {
	/*
	 * For each function: address of the last location whose outermost
	 * function it is.
	 */
	uint64_t *address;
	int64_t *line;    /* for each function: its last line number */
	bool *met;        /* for each function: whether `line` is set */
	uint32_t *parent; /* for each location: its last caller + 1, or 0 */
};

#endif
