/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of AWS, from ~/.aws/credentials and ~/.aws/config, or from the files
 * that the environment variables AWS_SHARED_CREDENTIALS_FILE and
 * AWS_CONFIG_FILE name instead. The command line and the libraries of AWS share
 * these files.
 *
 * Source: docs.aws.amazon.com/sdkref/latest/guide/file-format.html.
 *
 * Ownership: a profile owns its texts.
 * Threads: any; the environment must not change.
 */
#ifndef DISCOVERY_AWS_AWS_PROFILE_H
#define DISCOVERY_AWS_AWS_PROFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

/* A setting of a profile. */
struct aws_setting {
	char *key; /* in lower case */
	char *value;
};

/* The settings of one profile. */
struct aws_profile {
	bool exists; /* one of the files has the profile */
	VEC(struct aws_setting) settings;
};

/*
 * Read the profile `name` from both files; for a setting that both have, the
 * file with the credentials takes precedence. A file that does not exist is
 * like an empty one. The caller calls aws_profile_fini() in every case. Errors:
 * a file exists and cannot be read.
 */
NODISCARD int aws_profile_read(struct aws_profile *p, const char *name,
			       struct err *err);

/*
 * Add to `p` the settings of the profile `name` in `text`, the text of one
 * file. A value that `p` has from an earlier call is not replaced. `prefix` is
 * the text that stands in the file before the name of a profile other than
 * "default": "profile " in ~/.aws/config, and nothing in ~/.aws/credentials.
 */
void aws_profile_parse(struct aws_profile *p, struct str text,
		       const char *prefix, const char *name);

/* Return the value of a setting; NULL: it is absent or empty. */
const char *aws_profile_get(const struct aws_profile *p, const char *key);

/* Free the settings, and wipe them. */
void aws_profile_fini(struct aws_profile *p);

#endif
