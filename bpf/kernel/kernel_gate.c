/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/kernel/kernel_gate.h"

#include <stdio.h>

/* Parse a version such as "6.1.137" or "6.1" at the beginning of `text`. */
static bool kernel_version_parse(struct str text, struct kernel_version *out)
{
	char copy[32];
	size_t len = text.len < sizeof(copy) - 1 ? text.len : sizeof(copy) - 1;

	*out = (struct kernel_version){ 0 };
	if (!len)
		return false;
	memcpy(copy, text.ptr, len);
	copy[len] = 0;
	/* NOLINTNEXTLINE(cert-err34-c): four digits do not overflow */
	return sscanf(copy, "%4u.%4u.%4u", &out->major, &out->minor,
		      &out->patch) >= 2;
}

bool kernel_version_find(const struct kernel_texts *texts,
			 struct kernel_version *out)
{
	static const char debian[] = "Debian ";
	struct str last = texts->signature;
	struct str rest;
	const char *at;

	/*
	 * The last word of the signature is the version: "Ubuntu
	 * 5.15.0-91.101-generic 5.15.131".
	 */
	while (last.len) {
		struct str word = str_cut(last, ' ', &rest);

		if (!str_trim(rest).len && kernel_version_parse(word, out))
			return true;
		last = rest;
	}
	at = texts->version.len ? memmem(texts->version.ptr, texts->version.len,
					 debian, strlen(debian)) :
				  NULL;
	if (at) {
		size_t skip =
			(size_t)(at - texts->version.ptr) + strlen(debian);
		struct str after = { .ptr = texts->version.ptr + skip,
				     .len = texts->version.len - skip };

		if (kernel_version_parse(after, out))
			return true;
	}
	return kernel_version_parse(texts->release, out);
}

/* Whether the version `v` is at least `from` and less than `to`. */
static bool kernel_version_between(struct kernel_version v,
				   struct kernel_version from,
				   struct kernel_version to)
{
	uint64_t n = (uint64_t)v.major << 40 | (uint64_t)v.minor << 20 |
		     v.patch;
	uint64_t low = (uint64_t)from.major << 40 | (uint64_t)from.minor << 20 |
		       from.patch;
	uint64_t high = (uint64_t)to.major << 40 | (uint64_t)to.minor << 20 |
			to.patch;

	return n >= low && n < high;
}

int kernel_gate_check(struct kernel_version v, struct err *err)
{
	static const struct {
		struct kernel_version from, to;
	} freezes[] = {
		{ { 5, 19, 0 }, { 6, 1, 36 } },
		{ { 6, 2, 0 }, { 6, 3, 10 } },
	};

	if (kernel_version_between(v, (struct kernel_version){ 0, 0, 0 },
				   (struct kernel_version){ 5, 10, 0 }))
		return err_set(
			err, ERR_UNSUPPORTED,
			"the kernel is Linux %u.%u.%u; sampling needs Linux 5.10 or later",
			v.major, v.minor, v.patch);
	for (size_t i = 0; i < sizeof(freezes) / sizeof(*freezes); i++) {
		if (kernel_version_between(v, freezes[i].from, freezes[i].to))
			return err_set(
				err, ERR_UNSUPPORTED,
				"the kernel is Linux %u.%u.%u, which can freeze when stacks are read; use 6.1.36 or a later 6.1, 6.3.10 or a later 6.3, or 6.4 or later",
				v.major, v.minor, v.patch);
	}
	return 0;
}
