/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP convert: a request of OpenTelemetry's protocol for profiles, releases 1.8 to
 * 1.11 (the message ExportProfilesServiceRequest), as profiles of pprof with labels.
 *
 * Profiles of a scope that have the same samples, one for each sample type, become one
 * profile of pprof. Profiles of the request with the same labels, time and sample types
 * become one, too: an agent that samples a machine sends one for each process, which
 * its samples then tell apart. docs/integrations.md says what becomes of attributes.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any; no shared state.
 */
#ifndef CONVERT_OTLP_OTLP_CONVERT_H
#define CONVERT_OTLP_OTLP_CONVERT_H

#include "convert/conversion/convert_caller.h"
#include "model/types.h"

enum {
	OTLP_PROFILES_MAX = 10000, /* of a request */
	/* Resource attributes that become labels of series: names and prefixes. */
	OTLP_RESOURCE_LABELS_MAX = 64
};

/* What the conversion needs of its caller. */
struct otlp_options {
	struct convert_caller caller;
	/*
	 * Names of resource attributes that become labels of the series; a name may
	 * end with "*".
	 */
	const struct str *resource_labels;
	size_t resource_label_count;
	/* Return the profile type (the label __name__) of sample types. */
	struct str (*name)(const struct typeset *types);
	/* Takes the context of the caller, and the reason why profiles of the request are refused. */
	void (*refuse)(void *ctx, const struct err *why);
};

/* What a request had: profiles as the sender counts them. */
struct otlp_result {
	size_t profiles;
	size_t refused; /* of which anything was refused */
};

/*
 * Convert a request. ERR_INVALID: it is malformed, or of a release before 1.8;
 * ERR_TOOBIG: it has too many profiles or entries, or takes too much memory; and the
 * errors of the callbacks. Single profiles that are malformed are refused.
 */
NODISCARD int otlp_convert(struct bytes message, const struct otlp_options *o,
			   struct otlp_result *out, struct err *err);

#endif
