/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of profile types (the label __name__) that people mistake for others:
 * Go calls its CPU profile "profile".
 *
 * Ownership: borrows its arguments.
 * Threads: pure functions.
 */
#ifndef MODEL_PROFILE_TYPE_H
#define MODEL_PROFILE_TYPE_H

#include "base/bytes.h"

/*
 * Whether the profile type `name` is what somebody probably means who types
 * `typed`, another name.
 */
bool profile_type_is_meant(struct str typed, struct str name);

#endif
