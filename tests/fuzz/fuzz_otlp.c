/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes requests of OpenTelemetry's protocol. The first byte of an input says whether
 * the rest is JSON. What is converted must be a profile of pprof that the scan accepts.
 */
#include <stdlib.h>
#include <string.h>

#include "convert/otlp/otlp_convert.h"
#include "convert/otlp/otlp_json.h"
#include "pprof/proto/scan.h"

#define PROFILE_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What became of the profiles of a request. */
struct fuzz_result {
	size_t stored;
	size_t refused;
};

static struct str fuzz_name(const struct typeset *types)
{
	return types->count ? types->types[0].type : str_of("none");
}

static int fuzz_take(void *ctx UNUSED, size_t bytes, struct err *err)
{
	return bytes > 64 << 20 ? err_set(err, ERR_LIMIT, "too much") : 0;
}

static int fuzz_check(void *ctx UNUSED, struct err *err UNUSED)
{
	return 0;
}

/* Take a profile; one of pprof that was inside may be anything. */
static int fuzz_store(void *ctx, const struct labels_builder *labels,
		      struct bytes profile, bool *refused, struct err *err)
{
	static struct scanner *s;
	static struct scan scan;
	struct fuzz_result *r = ctx;
	bool is_converted = labels_builder_get(labels, str_of(LABEL_NAME)).len >
			    0;
	int rc;

	if (!s)
		s = scanner_new();
	rc = scanner_run(s, profile, &scan, err);
	if (rc && is_converted)
		abort();
	r->stored++;
	*refused = rc != 0;
	return 0;
}

static void fuzz_refuse(void *ctx, const struct err *why)
{
	struct fuzz_result *r = ctx;

	if (!why->code || !*why->msg)
		abort();
	r->refused++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str names[] = { str_of("service.*"), str_of("host.name") };
	struct fuzz_result r = { 0 };
	const struct otlp_options o = {
		.caller = { .ctx = &r,
			    .max_profile = PROFILE_MAX,
			    .max_memory = 4 * PROFILE_MAX,
			    .take = fuzz_take,
			    .check = fuzz_check,
			    .store = fuzz_store },
		.resource_labels = names,
		.resource_label_count = 2,
		.name = fuzz_name,
		.refuse = fuzz_refuse,
	};
	struct buf wire = { 0 };
	struct err err = { .msg = "" };
	struct bytes message;
	struct otlp_result result = { 0 };
	int rc = 0;

	if (!size)
		return 0;
	message = (struct bytes){ data + 1, size - 1 };
	if (data[0] & 1) {
		rc = otlp_json_request(message, &wire, &err);
		message = buf_bytes(&wire);
	}
	if (!rc)
		rc = otlp_convert(message, &o, &result, &err);
	if ((rc && !*err.msg) || result.refused > result.profiles)
		abort();
	buf_fini(&wire);
	return 0;
}
