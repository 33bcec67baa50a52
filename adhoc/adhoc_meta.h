/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ad-hoc meta: what is known of a file that somebody has uploaded to look at. It is kept
 * as JSON beside the profiles of the file (docs/format/adhoc.md), and the API answers
 * with it.
 *
 * Ownership: all texts and arrays borrow from an arena, or from who has filled the struct.
 * Threads: plain values.
 */
#ifndef ADHOC_ADHOC_META_H
#define ADHOC_ADHOC_META_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "model/types.h"

enum {
	ADHOC_ID_LEN = 22,    /* 128 random bits in base64 for URLs */
	ADHOC_PARTS_MAX = 64, /* profiles of a file */
	ADHOC_NAME_MAX = 200, /* bytes of the name of a file */
	/* Bytes of the names of all its profiles and their sample types. */
	ADHOC_TEXTS_MAX = 64 * 1024
};

/* A profile of a file: a recording of Java has several. */
struct adhoc_part {
	struct str name;
	const struct value_type *types;
	size_t type_count;
	size_t default_type; /* index in `types` */
	uint64_t size;       /* in bytes, decompressed */
};

/* A file. Times are in ms since the epoch. */
struct adhoc_meta {
	char id[ADHOC_ID_LEN + 1];
	struct str name;
	struct str user; /* who has uploaded it; empty without authentication */
	struct str format; /* pprof, jfr, perf or folded */
	struct str note;   /* what could not be read; empty: all could */
	int64_t uploaded_ms;
	int64_t expires_ms;
	bool is_kept; /* somebody wants it to be kept until then */
	const struct adhoc_part *parts;
	size_t part_count;
};

/* Whether a text has the form of an id; nothing else becomes a part of a path. */
bool adhoc_meta_is_id(struct str text);

/* Write the file as an object. */
void adhoc_meta_write(const struct adhoc_meta *m, struct json *j);

/* Read the object. ERR_CORRUPT: it is damaged, or too large. */
NODISCARD int adhoc_meta_read(struct bytes json, struct arena *arena,
			      struct adhoc_meta *out, struct err *err);

#endif
