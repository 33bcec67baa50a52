/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version and the revision, from CMakeLists.txt.
 *
 * Ownership: constants.
 * Threads: any.
 */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

#ifndef EVERPROF_VERSION
#define EVERPROF_VERSION "unknown"
#endif

/* The commit, "" when it is not known. Of the files that cmake/Revision.cmake
 * names alone: they are compiled anew with each commit. */
#ifndef EVERPROF_REVISION
#define EVERPROF_REVISION ""
#endif

#define EVERPROF_USER_AGENT "everprof/" EVERPROF_VERSION

#endif
