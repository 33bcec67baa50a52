/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version, from CMakeLists.txt.
 */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

#ifndef EVERPROF_VERSION
#define EVERPROF_VERSION "unknown"
#endif

#define EVERPROF_USER_AGENT "everprof/" EVERPROF_VERSION

#endif
