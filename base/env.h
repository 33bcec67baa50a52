/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the environment, which must not change while the program runs.
 *
 * Ownership: values are borrowed from the environment.
 * Threads: any.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include "base/bytes.h"

/* Return a variable; NULL: it is absent or empty. */
const char *env_find(const char *name);

/* Return a variable as a text, which is empty if the variable is absent. */
struct str env_text(const char *name);

#endif
