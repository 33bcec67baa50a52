/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary: finds the program that a profile was taken from, without decoding
 * profiles that are stored as columns. The program is the profile's first
 * mapping, as in pprof ("The first mapping is the main binary").
 * Source: github.com/google/pprof/proto/profile.proto, field mapping.
 *
 * Ownership: texts are borrowed from the table of the row, or the profile.
 * Threads: as for the row, or the profile.
 */
#ifndef PPROF_COLUMNS_COLUMNS_BINARY_H
#define PPROF_COLUMNS_COLUMNS_BINARY_H

#include "pprof/columns/columns.h"

/* A binary; both texts may be empty. */
struct pprof_binary {
	struct str file;
	struct str build_id;
};

/* Return the binary of the profile in a row; empty if it has no mappings. */
struct pprof_binary columns_binary(const struct codec_rows *rows, size_t row);

/* Return the binary of a decoded profile; empty if it has no mappings. */
struct pprof_binary pprof_binary(const struct pprof *p);

#endif
