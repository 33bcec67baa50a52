/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a stored dictionary. Each stream is one section, stored in the
 * order of this enumeration: docs/format/columns.md.
 *
 * Ownership: buffers belong to the encoder; streams of a decoder borrow them.
 * Threads: plain values.
 */
#ifndef PPROF_DICTIONARY_DICT_STREAMS_H
#define PPROF_DICTIONARY_DICT_STREAMS_H

#include "base/defs.h"

/* The streams; similar numbers are stored together, which compresses well. */
enum dict_stream {
	/* Number of elements of each kind. */
	STREAM_COUNTS,
	STREAM_LENGTHS, /* length of each text */
	STREAM_TEXTS,
	STREAM_RUNS,  /* mappings, label sets, layouts, shapes */
	STREAM_NAMES, /* name and system name of functions */
	/* Files of functions. */
	STREAM_FILES,
	STREAM_STARTS,    /* start lines of functions */
	STREAM_LOCATIONS, /* mapping and number of lines */
	STREAM_ADDRESSES,
	STREAM_FUNCTIONS, /* functions of lines */
	STREAM_LINES,
	STREAM_COLUMNS,
	STREAM_SETS,  /* label sets of keys */
	STREAM_NEW,   /* number of nodes created for each key */
	STREAM_BASES, /* the node that these extend */
	/* Locations of these nodes. */
	STREAM_FRAMES,
	DICT_STREAMS
};

/* A stream's name for people, as statistics of storage show it. */
const char *dict_stream_name(enum dict_stream s);

/*
 * Limit on the decompressed size of all sections together; larger than any
 * dictionary that an encoder writes.
 */
#define DICT_SECTIONS_MAX ((size_t)24 * MIB)

/*
 * State of one kind of reference. Most referenced elements are new or were new
 * recently, so a reference is stored as top minus number, where top is one more
 * than the highest number so far; 0 is a new element.
 */
struct dict_ref {
	uint64_t top;
};

/*
 * State that predicts addresses, lines and frames. Encoder and decoder must
 * update it identically.
 */
struct dict_guess {
	uint64_t *address; /* by outermost function: its last address */
	int64_t *line;     /* by function: its last line number */
	bool *met;         /* by function: whether line is set */
	uint32_t *parent;  /* by location: the last caller + 1; 0: none */
};

#endif
