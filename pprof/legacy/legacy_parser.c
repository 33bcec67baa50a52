/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/legacy/legacy_parser.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "pprof/profile/measure.h"

/* A line of this many bytes is too long, as for pprof (Go's bufio.Scanner). */
#define LINE_MAX ((size_t)64 * KIB)

/*
 * The expressions are copied from pprof's legacy_profile.go and
 * legacy_java_profile.go, so that the same lines are accepted. The expressions
 * for jemalloc are everprof's own.
 */
static const char *const patterns[] = {
	[RX_HEAP_HEADER] =
		"heap profile: *(\\d+): *(\\d+) *\\[ *(\\d+): *(\\d+) *\\] *@ *(heap[_a-z0-9]*)/?(\\d*)",
	[RX_GROWTH_HEADER] =
		"heap profile: *(\\d+): *(\\d+) *\\[ *(\\d+): *(\\d+) *\\] @ growthz?",
	[RX_FRAGMENTATION_HEADER] =
		"heap profile: *(\\d+): *(\\d+) *\\[ *(\\d+): *(\\d+) *\\] @ fragmentationz?",
	[RX_HEAP_SAMPLE] =
		"(-?\\d+): *(-?\\d+) *\\[ *(\\d+): *(\\d+) *] @([ x0-9a-f]*)",
	[RX_JEMALLOC_HEADER] = "^heap_v2/(\\d+)$",
	[RX_JEMALLOC_TOTAL] =
		"^ *t\\*: *(\\d+): *(\\d+) *\\[(\\d+): *(\\d+)\\]$",
	[RX_COUNT_START] = "\\A(\\S+) profile: total \\d+\\z",
	/*
	 * pprof's "(( 0x[0-9a-f]+)+)" would need memory for each address. Here,
	 * legacy_is_hex_list() checks the form of the addresses.
	 */
	[RX_COUNT] = "\\A(\\d+) @([ x0-9a-f]+)\\z",
	[RX_CONTENTION_SAMPLE] = "(\\d+) *(\\d+) @([ x0-9a-f]*)",
	[RX_THREADZ_START] = "--- threadz \\d+ ---",
	[RX_THREAD_START] =
		"--- Thread ([[:xdigit:]]+) \\(name: (.*)/(\\d+)\\) stack: ---",
	[RX_PROC_MAPS] =
		"^\\s*(?:0x)?([[:xdigit:]]+)[\\s-]?\\s*(?:0x)?([[:xdigit:]]+):?(?:\\s+([-rwxp]+))?(?:\\s+([[:xdigit:]]+))?\\s+[[:xdigit:]]+:[[:xdigit:]]+\\s+[[:digit:]]+(?:\\s+(\\S+))?",
	[RX_BRIEF_MAPS] =
		"^\\s*(?:0x)?([[:xdigit:]]+)[\\s-]?\\s*(?:0x)?([[:xdigit:]]+):?(?:\\s+([-rwxp]+))?(?:\\s+(\\S+))?(?:\\s+\\(@([[:xdigit:]]+)\\))?(?:\\s+([[:xdigit:]]+))?",
	[RX_LOG_INFO] = "^[^\\[\\]]+:[0-9]+]\\s",
	[RX_LIBRARY] = "([.]so$|[.]so[._][0-9]+)",
	[RX_JAVA_ATTRIBUTE] = "([\\w ]+)=([\\w ]+)",
	[RX_JAVA_SAMPLE] = " *(\\d+) +(\\d+) +@ +([ x0-9a-f]*)",
	[RX_JAVA_LOCATION] = "^\\s*0x([[:xdigit:]]+)\\s+(.*)\\s*$",
	[RX_JAVA_FILE_LINE] = "^(.*)\\s+\\((.+):(-?[[:digit:]]+)\\)$",
	[RX_JAVA_PATH] = "^(.*)\\s+\\((.*)\\)$",
};

bool legacy_next_line(struct legacy *l)
{
	if (!l->rest.len || l->over) {
		l->line = str_of("");
		return false;
	}
	l->line = str_cut(l->rest, '\n', &l->rest);
	if (l->line.len >= LINE_MAX) {
		l->over = true;
		l->why = "a line has 64 KiB or more";
		l->line = str_of("");
		return false;
	}
	if (l->line.len && l->line.ptr[l->line.len - 1] == '\r')
		l->line.len--;
	return true;
}

/* ASCII white space, independent of the locale. */
static bool legacy_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str legacy_trim(struct str s)
{
	while (s.len && legacy_is_space(*s.ptr)) {
		s.ptr++;
		s.len--;
	}
	while (s.len && legacy_is_space(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool legacy_is_blank(struct str line)
{
	line = legacy_trim(line);
	return !line.len || *line.ptr == '#';
}

bool legacy_match(struct legacy *l, enum legacy_regex rx, struct str s,
		  struct str *groups, size_t max)
{
	if (!l->regexes[rx] &&
	    regex_new_bytes(str_of(patterns[rx]), &l->regexes[rx], NULL))
		abort(); /* the pattern is a constant: it must compile */
	return regex_groups(l->regexes[rx], s, groups, max) > 0;
}

bool legacy_uint(struct str s, int base, uint64_t *out)
{
	uint64_t v = 0;

	if (!s.len)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		int d = digit_hex_value(s.ptr[i]);

		if (d < 0 || d >= base ||
		    __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return false;
	}
	*out = v;
	return true;
}

bool legacy_int(struct str s, int base, int64_t *out)
{
	bool negative = s.len && *s.ptr == '-';
	uint64_t v;

	if (s.len && (*s.ptr == '-' || *s.ptr == '+')) {
		s.ptr++;
		s.len--;
	}
	if (!base && s.len > 2 && *s.ptr == '0' && (s.ptr[1] | 32) == 'x') {
		base = 16;
		s.ptr += 2;
		s.len -= 2;
	} else if (!base) {
		base = s.len > 1 && *s.ptr == '0' ? 8 : 10;
	}
	if (!legacy_uint(s, base, &v) || v > (uint64_t)INT64_MAX + negative)
		return false;
	*out = (int64_t)(negative ? -v : v);
	return true;
}

bool legacy_is_hex_list(struct str s)
{
	bool any = false;

	while (s.len) {
		struct str number;

		if (*s.ptr != ' ')
			return false;
		s.ptr++;
		s.len--;
		number = s;
		number.len = 0;
		while (number.len < s.len && s.ptr[number.len] != ' ')
			number.len++;
		if (number.len < 3 || !str_starts(number, str_of("0x")) ||
		    memchr(number.ptr + 2, 'x', number.len - 2))
			return false;
		s.ptr += number.len;
		s.len -= number.len;
		any = true;
	}
	return any;
}

/*
 * Like pprof, finds the matches of "0x[0-9a-f]+", so a capital letter ends a
 * number.
 */
int legacy_hex(struct legacy *l, struct str s)
{
	l->addresses.count = 0;
	while (s.len > 2) {
		struct str number = { s.ptr + 2, 0 };
		uint64_t v;

		if (s.ptr[0] != '0' || s.ptr[1] != 'x' ||
		    digit_hex_value(s.ptr[2]) < 0 ||
		    (s.ptr[2] >= 'A' && s.ptr[2] <= 'F')) {
			s.ptr++;
			s.len--;
			continue;
		}
		while (number.len < s.len - 2 &&
		       digit_hex_value(number.ptr[number.len]) >= 0 &&
		       !(number.ptr[number.len] >= 'A' &&
			 number.ptr[number.len] <= 'F'))
			number.len++;
		if (!legacy_uint(number, 16, &v))
			return legacy_bad(l, "an address is too large");
		*vec_add(&l->addresses) = v;
		s.ptr += 2 + number.len;
		s.len -= 2 + number.len;
	}
	return 0;
}

int legacy_bad(struct legacy *l, const char *why)
{
	if (!l->why)
		l->why = why;
	return ERR_INVALID;
}

int legacy_unknown(void)
{
	return ERR_UNSUPPORTED;
}

void legacy_type(struct legacy *l, const char *type, const char *unit)
{
	*vec_add(&l->p.types) = (struct pprof_type){
		.type = strtab_intern(&l->p.strings, str_of(type)),
		.unit = strtab_intern(&l->p.strings, str_of(unit)),
	};
}

void legacy_period(struct legacy *l, const char *type, const char *unit,
		   int64_t period)
{
	l->p.period_type = (struct pprof_type){
		.type = strtab_intern(&l->p.strings, str_of(type)),
		.unit = strtab_intern(&l->p.strings, str_of(unit)),
	};
	l->p.period = period;
}

/* Equality callback of the location index. */
static bool legacy_same_address(const void *ctx, uint32_t i, const void *key)
{
	const struct legacy *l = ctx;

	return l->p.locations.v[i].address == *(const uint64_t *)key;
}

/*
 * Return the index of the location for an address. The location is added if no
 * sample so far had this address.
 */
static uint32_t place_of(struct legacy *l, uint64_t address)
{
	uint64_t hash = hash_number(address);
	uint32_t i =
		table_find(&l->places, hash, legacy_same_address, l, &address);

	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)l->p.locations.count;
	*vec_add(&l->p.locations) = (struct pprof_location){
		.address = address,
		.mapping = PPROF_NONE,
	};
	table_add(&l->places, hash, i);
	return i;
}

/* Add l->addresses as a stack; see legacy_sample() for `adjust`. */
static void add_stack(struct legacy *l, size_t adjust)
{
	struct pprof *p = &l->p;

	*vec_add(&p->stacks) = (struct pprof_run){
		.first = (uint32_t)p->frames.count,
		.count = (uint32_t)l->addresses.count,
	};
	for (size_t i = 0; i < l->addresses.count; i++) {
		uint32_t place = place_of(l, l->addresses.v[i] - (i >= adjust));

		*vec_add(&p->frames) = place;
	}
}

/*
 * Add the label set of a sample. It has the label "bytes" unless `bytes` is 0.
 */
static void add_label(struct legacy *l, int64_t bytes)
{
	struct pprof *p = &l->p;

	*vec_add(&p->label_sets) = (struct pprof_run){
		.first = (uint32_t)p->labels.count,
		.count = bytes != 0,
	};
	if (bytes)
		*vec_add(&p->labels) = (struct pprof_label){
			.key = strtab_intern(&p->strings, str_of("bytes")),
			.is_number = true,
			.num = bytes,
		};
}

int legacy_sample(struct legacy *l, const int64_t *values, size_t adjust,
		  int64_t bytes)
{
	struct pprof *p = &l->p;

	if (legacy_memory(l) > l->max) {
		l->over = true;
		return legacy_bad(l, "the profile takes too much memory");
	}
	add_stack(l, adjust);
	add_label(l, bytes);
	*vec_add(&p->samples) = (struct pprof_sample){
		.stack = (uint32_t)p->stacks.count - 1,
		.labels = (uint32_t)p->label_sets.count - 1,
	};
	for (size_t i = 0; i < p->types.count; i++)
		*vec_add(&p->values) = values[i];
	return 0;
}

void legacy_drop_twin_leaves(struct legacy *l)
{
	struct pprof *p = &l->p;

	for (size_t i = 0; i < p->stacks.count; i++) {
		struct pprof_run *s = &p->stacks.v[i];
		uint32_t *f = p->frames.v + s->first;

		if (s->count < 2 || p->locations.v[f[0]].address !=
					    p->locations.v[f[1]].address + 1)
			continue;
		memmove(f + 1, f + 2, (s->count - 2) * sizeof(*f));
		s->count--;
	}
}

/*
 * The formula is that of pprof's scaleHeapSample: an allocation of s bytes is
 * sampled with probability 1 - exp(-s / rate).
 */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate)
{
	double average;
	double scale;

	if (!*count || !*size) {
		*count = *size = 0;
		return;
	}
	if (rate <= 1)
		return;
	average = (double)*size / (double)*count;
	scale = 1 / (1 - exp(-average / (double)rate));
	*count = measure_integer((double)*count * scale);
	*size = measure_integer((double)*size * scale);
}
