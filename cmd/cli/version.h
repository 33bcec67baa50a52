/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version and the revision of this build, which CMakeLists.txt defines.
 *
 * Threads: any.
 */
#ifndef CMD_CLI_VERSION_H
#define CMD_CLI_VERSION_H

#ifndef EVERPROF_VERSION
#define EVERPROF_VERSION "unknown"
#endif

/*
 * The commit of this build; "" if unknown. CMake defines it only for the files
 * that cmake/Revision.cmake names, so that only these are compiled again after
 * each commit.
 */
#ifndef EVERPROF_REVISION
#define EVERPROF_REVISION ""
#endif

/* The User-Agent header of all requests. */
#define EVERPROF_USER_AGENT "everprof/" EVERPROF_VERSION

#endif
