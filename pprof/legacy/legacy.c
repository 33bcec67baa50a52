/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/legacy/legacy.h"

#include <math.h>
#include <stdlib.h>

#include "pprof/legacy/legacy_parser.h"
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

struct legacy *legacy_new(size_t max)
{
	struct legacy *l = mem_new(struct legacy);

	l->max = max;
	return l;
}

void legacy_free(struct legacy *l)
{
	if (!l)
		return;
	pprof_fini(&l->p);
	table_fini(&l->places);
	for (size_t i = 0; i < RX_COUNT_OF; i++)
		regex_free(l->regexes[i]);
	vec_fini(&l->addresses);
	mem_free(l);
}

size_t legacy_memory(const struct legacy *l)
{
	return sizeof(*l) + pprof_memory(&l->p) + table_memory(&l->places) +
	       vec_memory(&l->addresses);
}

void legacy_set_max(struct legacy *l, size_t max)
{
	l->max = max;
}

/* Reading lines and numbers. */

bool legacy_next_line(struct legacy *l)
{
	if (!l->rest.len || l->over) {
		l->line = str_of("");
		return false;
	}
	l->line = str_cut(l->rest, '\n', &l->rest);
	if (l->line.len >= LINE_MAX) {
		l->over = true;
		l->why = "a line is longer than 64 KiB";
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
	    regex_new_bytes(str_of(patterns[rx]), &l->regexes[rx], NULL, NULL))
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

/* Building the profile. */

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
 * Returns the index of the location for an address. The location is added if no
 * sample so far had this address.
 */
static uint32_t place_of(struct legacy *l, uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15u;
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

/* Adds l->addresses as a stack; see legacy_sample() for `adjust`. */
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
 * Adds the label set of a sample. It has the label "bytes" unless `bytes` is 0.
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

/*
 * Regular expressions for drop_frames and keep_frames. They match functions
 * that are not of interest in a profile: the functions of the allocator, of
 * locks, and of the profiler itself. The lists are pprof's.
 */

static const char allocators[] =
	"calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|"
	"pvalloc|valloc|realloc|tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|"
	"tc_free|tc_memalign|tc_posix_memalign|tc_pvalloc|tc_valloc|"
	"tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray|"
	"tc_new_nothrow|tc_newarray_nothrow|malloc_zone_malloc|"
	"malloc_zone_calloc|malloc_zone_valloc|malloc_zone_realloc|"
	"malloc_zone_memalign|malloc_zone_free|runtime\\..*|BaseArena::.*|"
	"(::)?do_malloc_no_errno|(::)?do_malloc_pages|(::)?do_malloc|"
	"DoSampledAllocation|MallocedMemBlock::MallocedMemBlock|_M_allocate|"
	"__builtin_(vec_)?delete|__builtin_(vec_)?new|"
	"__gnu_cxx::new_allocator::allocate|__libc_malloc|"
	"__malloc_alloc_template::allocate|allocate|cpp_alloc|"
	"operator new(\\[\\])?|simple_alloc::allocate";
static const char not_allocators[] =
	"runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";
static const char profilers[] =
	"ProfileData::Add|ProfileData::prof_handler|"
	"CpuProfiler::prof_handler|__pthread_sighandler|__restore";
static const char locks[] =
	"RecordLockProfileData|(base::)?RecordLockProfileData.*|"
	"(base::)?SubmitMutexProfileData.*|"
	"(base::)?SubmitSpinLockProfileData.*|(base::Mutex::)?AwaitCommon.*|"
	"(base::Mutex::)?Unlock.*|(base::Mutex::)?UnlockSlow.*|"
	"(base::Mutex::)?ReaderUnlock.*|(base::MutexLock::)?~MutexLock.*|"
	"(Mutex::)?AwaitCommon.*|(Mutex::)?Unlock.*|(Mutex::)?UnlockSlow.*|"
	"(Mutex::)?ReaderUnlock.*|(MutexLock::)?~MutexLock.*|"
	"(SpinLock::)?Unlock.*|(SpinLock::)?SlowUnlock.*|"
	"(SpinLockHolder::)?~SpinLockHolder.*";

/* Returns whether the profile's last sample type has this name. */
static bool last_type_is(const struct pprof *p, const char *type)
{
	return p->types.count &&
	       str_is(pprof_str(p, p->types.v[p->types.count - 1].type), type);
}

/*
 * Legacy formats do not have drop_frames and keep_frames, so pprof sets both
 * when it reads a legacy profile, depending on the last sample type.
 */
static void add_frame_info(struct pprof *p)
{
	const char *drop = profilers;
	const char *keep = "";

	if (last_type_is(p, "space") || last_type_is(p, "inuse_space")) {
		drop = allocators;
		keep = not_allocators;
	} else if (last_type_is(p, "delay")) {
		drop = locks;
	}
	p->drop_frames = strtab_intern(&p->strings, str_of(drop));
	p->keep_frames = strtab_intern(&p->strings, str_of(keep));
}

/*
 * Prepares the parser for the input `raw`. The previous profile is freed and
 * not only reset, because pprof_reset() would leave its interned strings in
 * memory.
 */
static void legacy_reset(struct legacy *l, struct bytes raw)
{
	pprof_fini(&l->p);
	pprof_reset(&l->p);
	table_fini(&l->places);
	l->addresses.count = 0;
	(void)strtab_intern(&l->p.strings, str_of(""));
	l->raw = raw;
	l->rest = str_from(raw);
	l->line = str_of("");
	l->over = false;
	l->why = NULL;
}

int legacy_parse(struct legacy *l, struct bytes raw, struct pprof **out,
		 struct err *err)
{
	static int (*const parsers[])(struct legacy *) = {
		legacy_cpu,    legacy_heap,       legacy_jemalloc, legacy_count,
		legacy_thread, legacy_contention, legacy_java,
	};
	int rc = ERR_UNSUPPORTED;

	for (size_t i = 0; i < ARRAY_SIZE(parsers) && rc == ERR_UNSUPPORTED;
	     i++) {
		legacy_reset(l, raw);
		rc = parsers[i](l);
		/* After a limit was hit, no further parser must be tried. */
		if (l->over && rc == ERR_UNSUPPORTED)
			rc = ERR_INVALID;
	}
	/* At a limit, legacy_maps() sets l->over but returns 0. */
	if (!rc && l->over)
		rc = ERR_INVALID;
	if (rc && l->over && legacy_memory(l) > l->max)
		rc = ERR_LIMIT;
	if (!rc) {
		add_frame_info(&l->p);
		*out = &l->p;
		return 0;
	}
	return err_set(err, rc, "not a profile: %s",
		       l->why ? l->why : "malformed data in a legacy format");
}
