/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions that file.c and fs.c share. No other file includes this header.
 *
 * Ownership: as in file.h.
 * Threads: as in file.h.
 */
#ifndef BASE_FILE_PRIVATE_H
#define BASE_FILE_PRIVATE_H

#include "base/file.h"

#endif
