/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of columns: the label sets of stored profiles, and sums of their values by
 * class. A key is a stack with a set of labels; its class is a number that the
 * caller chooses.
 *
 * Ownership: borrows tables and rows.
 * Threads: pure functions.
 */
#ifndef PPROF_COLUMNS_COLUMNS_KEYS_H
#define PPROF_COLUMNS_COLUMNS_KEYS_H

#include "base/vec.h"
#include "pprof/columns/columns.h"
#include "pprof/profile/label_view.h"

/* The class of keys that are in no sum. */
#define COLUMNS_NO_CLASS UINT32_MAX

/* What the profiles of a stripe have in common. */
struct dictionary;

/* Return the dictionary of an open table. */
const struct dictionary *columns_keys_of_table(const struct codec_table *t);

/* Return the dictionary of rows. */
const struct dictionary *columns_keys_of_rows(const struct codec_rows *rows);

/* Return the number of label sets, and one of them. */
size_t columns_keys_set_count(const struct dictionary *d);
struct label_view columns_keys_labels(const struct dictionary *d, uint32_t set);

/* Return the number of keys, and the label set of one of them. */
size_t columns_keys_count(const struct dictionary *d);
uint32_t columns_keys_set(const struct dictionary *d, uint32_t key);

/*
 * Return how much memory columns_sum_all_keys() and the result of its merge take, in
 * bytes.
 */
size_t columns_keys_memory(const struct dictionary *d);

/*
 * Whether the values of a row are those of the profile; otherwise it has to be
 * decoded.
 */
bool columns_keys_can_sum(const struct codec_rows *rows, size_t row);

/* Sums of values, one for each class. */
struct class_sums {
	int64_t *sums;         /* of all classes */
	VEC(uint32_t) touched; /* the classes of values that were added */
};

/* Return the keys of the samples of a row, and their number. */
const uint32_t *columns_keys_of_row(const struct codec_rows *rows, size_t row,
				    size_t *count);

/*
 * Add the values of one sample type of a row, which columns_keys_can_sum(), to the
 * sums of the classes of their keys. A class may be noted as touched several times.
 * False: the row has no such sample type.
 */
NODISCARD bool columns_keys_add(const struct codec_rows *rows, size_t row,
				size_t type, const uint32_t *classes,
				struct class_sums *to);

#endif
