/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a series in an export or a dump: its name is the escaped
 * selector of the series. A name that is too long is cut, and the digest of the
 * labels keeps it unique. Then each file in the folder has the labels as its
 * note (base/gzip.h), so that it can be imported.
 *
 * Ownership: labels are borrowed.
 * Threads: any.
 */
#ifndef MODEL_SERIES_FOLDER_H
#define MODEL_SERIES_FOLDER_H

#include "base/buf.h"
#include "model/labels.h"

/* The longest name of a folder, in bytes. File systems allow 255. */
#define SERIES_FOLDER_MAX 200

/*
 * Append the name of the folder of a series. Returns the note that files in the
 * folder need: the encoded labels, or nothing if the name is whole.
 */
struct bytes series_folder_print(const struct labels *ls, struct buf *out);

#endif
