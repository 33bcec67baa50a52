/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What file.c and fs.c share. No file outside of them includes it.
 *
 * Ownership, threads: those of file.h.
 */
#ifndef BASE_FILE_PRIVATE_H
#define BASE_FILE_PRIVATE_H

#include "base/file.h"

#endif
