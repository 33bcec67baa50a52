/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_names.h"

#include "base/mem.h"
#include "model/regex.h"

enum {
	RULES = 5,
	/* Names are shorter; longer ones are not searched. */
	NAME_MAX_BYTES = 4096
};

/* The rules: what matches a whole name, and what is kept of it. */
static const struct jfr_rule {
	const char *pattern;
	const char *kept; /* NULL: group 1, and "_" */
} jfr_rules[RULES] = {
	{ "(jdk/internal/reflect/GeneratedMethodAccessor)[0-9]+", NULL },
	{ "(.+\\$\\$Lambda)(?:\\$?[0-9]*[./+](?:0x)?[0-9a-f]+(?:/[0-9]+)?|[0-9]+)",
	  NULL },
	{ "(\\.?/tmp/)?libzstd-jni-[0-9]+\\.[0-9]+\\.[0-9]+-[0-9]+\\.so( \\(deleted\\))?",
	  "libzstd-jni-_.so" },
	{ "(\\.?/tmp/)?(lib)?amazonCorrettoCryptoProvider(NativeLibraries\\.)?[0-9a-f]{16}(/libcrypto|/libamazonCorrettoCryptoProvider)?\\.so( \\(deleted\\))?",
	  "libamazonCorrettoCryptoProvider_.so" },
	{ "(\\.?/tmp/)?libasyncProfiler-(linux-arm64|linux-musl-x64|linux-x64|macos)-[0-9a-f]{30,40}\\.so( \\(deleted\\))?",
	  "libasyncProfiler-_.so" },
};

struct jfr_names {
	struct regex *rules[RULES];
};

struct jfr_names *jfr_names_new(void)
{
	struct jfr_names *n = mem_new(struct jfr_names);
	struct err err;

	for (size_t i = 0; i < RULES; i++) {
		/* Constant expressions compile; without a rule, names are kept. */
		if (regex_new(str_of(jfr_rules[i].pattern), &n->rules[i], &err))
			n->rules[i] = NULL;
	}
	return n;
}

void jfr_names_free(struct jfr_names *n)
{
	for (size_t i = 0; n && i < RULES; i++)
		regex_free(n->rules[i]);
	mem_free(n);
}

struct str jfr_names_fold(const struct jfr_names *n, struct str name,
			  struct arena *arena)
{
	struct str groups[2];

	for (size_t i = 0; i < RULES && name.len <= NAME_MAX_BYTES; i++) {
		if (!n->rules[i] ||
		    regex_groups(n->rules[i], name, groups, 2) != 1)
			continue;
		if (jfr_rules[i].kept)
			return str_of(jfr_rules[i].kept);
		return str_of(arena_printf(arena, "%.*s_", STR_ARG(groups[1])));
	}
	return name;
}
