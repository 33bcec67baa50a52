/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/symbolize.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbols/names/name_answer.h"

enum {
	/* Number of addresses that are asked for at once. */
	SYMBOLIZE_PART = 1024,
	/* Largest size of the names of one part, in bytes. */
	SYMBOLIZE_ANSWER_MAX = 4 << 20,
	/* Longest name of a file or build ID in a warning, in bytes. */
	NAME_SHOWN = 200,
};

/* The state of symbolizing one profile. */
struct naming {
	struct symbolize *s;
	struct pprof *p;
	struct table functions;  /* numbers of p->functions that were added */
	VEC(uint32_t) locations; /* that are wanted, sorted by mapping */
	size_t memory;           /* of the profile, as granted */
};

/* For table_find(). */
static bool naming_same(const void *profile, uint32_t number, const void *key)
{
	const struct pprof *p = profile;
	const struct pprof_function *a = &p->functions.v[number];
	const struct pprof_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->file == b->file && a->start_line == b->start_line;
}

/* Return the number of a function, which is added if it is new. */
static uint32_t naming_function(struct naming *n, const struct name_frame *f)
{
	struct pprof *p = n->p;
	const struct pprof_function key = {
		.name = strtab_intern(&p->strings, f->name),
		.system_name = strtab_intern(&p->strings, f->system_name),
		.file = strtab_intern(&p->strings, f->file),
		.start_line = (int64_t)f->start_line,
	};
	const uint64_t parts[] = { key.name, key.system_name, key.file,
				   f->start_line };
	uint64_t hash = hash_key((struct bytes){ .ptr = (const uint8_t *)parts,
						 .len = sizeof(parts) });
	uint32_t number = table_find(&n->functions, hash, naming_same, p, &key);

	if (number != TABLE_NONE)
		return number;
	number = (uint32_t)p->functions.count;
	*vec_add(&p->functions) = key;
	table_add(&n->functions, hash, number);
	return number;
}

/* Give a location the functions of an answer. */
static void naming_set(struct naming *n, uint32_t location, struct bytes answer)
{
	struct pprof *p = n->p;
	struct dec d = dec_init(answer);
	size_t count = answer.len ? name_answer_next(&d) : 0;
	struct pprof_run run = { .first = (uint32_t)p->lines.count };
	struct pprof_mapping *m =
		&p->mappings.v[p->locations.v[location].mapping];

	for (size_t i = 0; i < count; i++) {
		struct name_frame f = name_answer_frame(&d);

		*vec_add(&p->lines) =
			(struct pprof_line){ .function = naming_function(n, &f),
					     .line = (int64_t)f.line };
		m->has_filenames |= f.file.len > 0;
		m->has_lines |= f.line > 0;
		run.count++;
	}
	if (!run.count)
		return;
	p->locations.v[location].lines = run;
	m->has_functions = true;
	m->has_inlines |= run.count > 1;
	n->s->without_names--;
}

/* Account for what the names have added to the profile. */
static int naming_spend(struct naming *n, struct err *err)
{
	size_t now = pprof_memory(n->p) + table_memory(&n->functions);
	size_t more = now > n->memory ? now - n->memory : 0;

	n->memory += more;
	return limits_spend(&n->s->limits, more, err);
}

/* Name some locations of one mapping. */
static int naming_part(struct naming *n, const uint32_t *locations,
		       size_t count, struct err *err)
{
	const struct pprof *p = n->p;
	const struct pprof_mapping *m =
		&p->mappings.v[p->locations.v[*locations].mapping];
	struct arena arena = { 0 };
	uint64_t addresses[SYMBOLIZE_PART];
	struct bytes names[SYMBOLIZE_PART] = { { .len = 0 } };
	const struct symbol_query q = {
		.build_id = pprof_str(p, m->build_id),
		.path = pprof_str(p, m->file),
		.mapping = { .start = m->start,
			     .limit = m->limit,
			     .offset = m->offset },
		.addresses = addresses,
		.count = count,
		.deadline_ns = n->s->deadline_ns,
		.answer_max = SYMBOLIZE_ANSWER_MAX,
	};

	for (size_t i = 0; i < count; i++)
		addresses[i] = p->locations.v[locations[i]].address;
	if (symbolizer_find(n->s->symbolizer, &q, &arena, names, err))
		n->s->late = *err;
	for (size_t i = 0; i < count; i++)
		naming_set(n, locations[i], names[i]);
	arena_fini(&arena);
	return naming_spend(n, err);
}

/* Name the locations of one mapping, which are `count` of n->locations. */
static int naming_mapping(struct naming *n, size_t first, size_t count,
			  struct err *err)
{
	const uint32_t *v = &n->locations.v[first];
	uint32_t mapping = n->p->locations.v[*v].mapping;
	size_t before = n->s->without_names;
	int rc = 0;

	for (size_t at = 0; at < count && !rc && !n->s->late.code;
	     at += SYMBOLIZE_PART)
		rc = naming_part(n, v + at,
				 count - at < SYMBOLIZE_PART ? count - at :
							       SYMBOLIZE_PART,
				 err);
	if (before != n->s->without_names)
		return rc;
	if (!n->s->binaries_not_found++)
		n->s->first_not_found = mapping;
	n->s->addresses_not_found += count;
	return rc;
}

/* Whether a location has no name, and is in a binary with a build ID. */
static bool naming_wants(const struct pprof *p, const struct pprof_location *l)
{
	return !l->lines.count && l->address &&
	       l->mapping < p->mappings.count &&
	       pprof_str(p, p->mappings.v[l->mapping].build_id).len;
}

/* Count addresses, and those that are wanted of each mapping. */
static void naming_count(struct naming *n, uint32_t *of_mapping)
{
	const struct pprof *p = n->p;

	for (size_t i = 0; i < p->locations.count; i++) {
		const struct pprof_location *l = &p->locations.v[i];

		n->s->addresses += l->address || l->lines.count;
		n->s->without_names += l->address && !l->lines.count;
		if (naming_wants(p, l))
			of_mapping[l->mapping]++;
	}
}

/* Collect the locations that are wanted, sorted by mapping. */
static void naming_collect(struct naming *n)
{
	const struct pprof *p = n->p;
	uint32_t *next = mem_zalloc(p->mappings.count + 1, sizeof(*next));
	uint32_t total = 0;

	naming_count(n, next);
	/* Counts become the places where each mapping begins. */
	for (size_t i = 0; i < p->mappings.count; i++) {
		uint32_t count = next[i];

		next[i] = total;
		total += count;
	}
	vec_reserve(&n->locations, total);
	n->locations.count = total;
	for (uint32_t i = 0; i < p->locations.count; i++) {
		const struct pprof_location *l = &p->locations.v[i];

		if (naming_wants(p, l))
			n->locations.v[next[l->mapping]++] = i;
	}
	mem_free(next);
}

/* Name all locations, mapping by mapping. */
static int naming_run(struct naming *n, struct err *err)
{
	const struct pprof *p = n->p;
	size_t end;
	int rc = 0;

	for (size_t at = 0; at < n->locations.count && !rc; at = end) {
		uint32_t mapping = p->locations.v[n->locations.v[at]].mapping;

		end = at + 1;
		while (end < n->locations.count &&
		       p->locations.v[n->locations.v[end]].mapping == mapping)
			end++;
		rc = naming_mapping(n, at, end - at, err);
	}
	return rc;
}

int profile_symbolize(struct symbolize *s, struct pprof *p, struct err *err)
{
	struct naming n = { .s = s, .p = p };
	int rc;

	s->late.code = 0;
	if (!s->symbolizer)
		return 0;
	rc = limits_spend(&s->limits, p->locations.count * sizeof(uint32_t),
			  err);
	if (rc)
		return rc;
	n.memory = pprof_memory(p);
	naming_collect(&n);
	/* The names of one part, twice; without them there is a report, too. */
	if (n.locations.count &&
	    !limits_spend(&s->limits, 2 * (size_t)SYMBOLIZE_ANSWER_MAX,
			  &s->late))
		rc = naming_run(&n, err);
	table_fini(&n.functions);
	vec_fini(&n.locations);
	return rc;
}

int query_merge_symbolize(struct query_merge *g, struct symbolize *s,
			  struct pprof *p, struct err *err)
{
	int64_t now = clock_mono_ns();

	s->limits = query_merge_limits(g);
	s->deadline_ns = now + (g->work->deadline_ns - now) / 2;
	return profile_symbolize(s, p, err);
}

size_t symbolize_warnings(const struct symbolize *s, const struct pprof *p,
			  struct arena *arena, const char **out, size_t max)
{
	const struct pprof_mapping *m;
	size_t n = 0;

	if (s->late.code && n < max)
		out[n++] = arena_printf(
			arena, "%zu of %zu addresses have no function name: %s",
			s->without_names, s->addresses, s->late.msg);
	if (s->late.code || !s->binaries_not_found || n >= max)
		return n;
	m = &p->mappings.v[s->first_not_found];
	out[n++] = arena_printf(
		arena,
		"%zu of %zu addresses have no function name, because everprof found no symbols of %zu binaries (the first is %.*s with build ID %.*s); put their debug files into the folder of --symbols.path",
		s->addresses_not_found, s->addresses, s->binaries_not_found,
		STR_ARG(str_clip(pprof_base_name(pprof_str(p, m->file)),
				 NAME_SHOWN)),
		STR_ARG(str_clip(pprof_str(p, m->build_id), NAME_SHOWN)));
	return n;
}
