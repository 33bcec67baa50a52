/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java's heapz and contentionz: attributes, then samples, then a section that
 * gives the function of each address.
 */

#include "pprof/legacy/legacy_parser.h"

#include "base/hash.h"

/*
 * Mean number of bytes between two heap samples, the constant that pprof uses:
 * the format does not state the number.
 */
#define JAVA_RATE 524288

/* The format being parsed: heapz or contentionz. */
struct java {
	bool heap; /* true: heapz; false: contentionz */
};

/*
 * Store the current line in *line, trimmed, without consuming the line.
 * Returns false if no complete line is left: pprof ignores a last line without
 * line end.
 */
static bool ended_line(struct legacy *l, struct str *line)
{
	const char *end = l->rest.len ? memchr(l->rest.ptr, '\n', l->rest.len) :
					NULL;

	if (!end)
		return false;
	*line = legacy_trim(
		(struct str){ l->rest.ptr, (size_t)(end - l->rest.ptr) });
	return true;
}

/* Consume the current line. */
static void skip_line(struct legacy *l)
{
	(void)str_cut(l->rest, '\n', &l->rest);
}

/*
 * Set the two sample types; the second one has the unit `resolution`, the
 * value of an attribute. The text is copied because the input is not
 * NUL-terminated.
 */
static void java_types(struct legacy *l, const struct java *j,
		       struct str resolution)
{
	char *unit = mem_strndup(resolution);

	l->p.types.count = 0;
	legacy_type(l, j->heap ? "inuse_objects" : "contentions", "count");
	legacy_type(l, j->heap ? "inuse_space" : "delay", unit);
	mem_free(unit);
}

/*
 * Handle one "name=value" of the header. ERR_UNSUPPORTED: an attribute that
 * this format does not have.
 */
static int java_attribute(struct legacy *l, const struct java *j,
			  struct str name, struct str value)
{
	int64_t v;

	if (str_is(name, "format"))
		return str_is(value, "java") ? 0 : legacy_unknown();
	if (str_is(name, "resolution")) {
		java_types(l, j, value);
		return 0;
	}
	if (j->heap || (!str_is(name, "sampling period") &&
			!str_is(name, "ms since reset")))
		return legacy_unknown();
	if (!legacy_int(value, 0, &v))
		return legacy_bad(l, "an attribute is not a number");
	if (str_is(name, "sampling period"))
		legacy_period(l, "contentions", "count", v);
	else
		l->p.duration_ns = (int64_t)((uint64_t)v * 1000 * 1000);
	return 0;
}

/* Read attributes up to the first line that is not an attribute. */
static int java_header(struct legacy *l, const struct java *j)
{
	struct str line;
	int rc = 0;

	while (!rc && ended_line(l, &line)) {
		struct str g[3];

		if (line.len && !legacy_match(l, RX_JAVA_ATTRIBUTE, line, g, 3))
			return 0; /* the samples begin here */
		if (line.len)
			rc = java_attribute(l, j, legacy_trim(g[1]),
					    legacy_trim(g[2]));
		skip_line(l);
	}
	return rc;
}

/*
 * Add one sample, given as the groups of RX_JAVA_SAMPLE: value, count,
 * addresses. Heap values are corrected for sampling, contention values
 * multiplied by the sampling period.
 */
static int java_sample(struct legacy *l, const struct java *j,
		       const struct str g[4])
{
	uint64_t period = (uint64_t)l->p.period;
	int64_t values[2];
	int64_t bytes = 0;
	int rc = legacy_hex(l, g[3]);

	if (rc)
		return rc;
	if (!legacy_int(g[2], 0, &values[0]) ||
	    !legacy_int(g[1], 0, &values[1]))
		return legacy_bad(l, "a value of a sample is too large");
	if (l->p.types.count != 2)
		return legacy_bad(l, "the attribute resolution is missing");
	if (j->heap && !values[0])
		return legacy_bad(l, "a sample has an object count of 0");
	if (j->heap) {
		bytes = values[1] / values[0];
		legacy_unsample(&values[0], &values[1], JAVA_RATE);
	} else if (period) {
		values[0] = (int64_t)((uint64_t)values[0] * period);
		values[1] = (int64_t)((uint64_t)values[1] * period);
	}
	return legacy_sample(l, values, SIZE_MAX, bytes);
}

/* Read samples up to the first line that is not a sample. */
static int java_samples(struct legacy *l, const struct java *j)
{
	struct str line;
	int rc = 0;

	while (!rc && ended_line(l, &line)) {
		struct str g[4];

		if (line.len && !legacy_match(l, RX_JAVA_SAMPLE, line, g, 4))
			return 0; /* the section of locations begins here */
		if (line.len)
			rc = java_sample(l, j, g);
		skip_line(l);
	}
	return rc;
}
/*
 * The function and source line at an address, as read from the section of
 * locations.
 */
struct java_name {
	struct str function;
	struct str file;
	int64_t line;
};

/*
 * Parse "function (file:line)", "function (path of a library)", or a bare
 * name. A bare name that contains "generated stub/JIT" becomes STUB.
 */
static struct java_name java_name(struct legacy *l, struct str text)
{
	struct java_name n = { .function = text, .file = str_of("") };
	struct str g[4];

	if (legacy_match(l, RX_JAVA_FILE_LINE, text, g, 4)) {
		n.function = g[1];
		n.file = g[2];
		if (!legacy_int(g[3], 10, &n.line) || n.line < 0)
			n.line = 0;
	} else if (legacy_match(l, RX_JAVA_PATH, text, g, 3)) {
		n.function = g[1];
		n.file = g[2].len ? pprof_base_name(g[2]) : str_of(".");
	} else if (text.len &&
		   memmem(text.ptr, text.len, "generated stub/JIT", 18)) {
		n.function = str_of("STUB");
	}
	return n;
}

/* Equality callback of the function index. */
static bool legacy_java_same_name(const void *ctx, uint32_t i, const void *key)
{
	const struct legacy *l = ctx;

	return l->p.functions.v[i].name == *(const uint32_t *)key;
}

/*
 * Return the index of the function with this name; a new function is added. As
 * in pprof, equal names are one function, which has the file that came with the
 * name first.
 */
static uint32_t function_of(struct legacy *l, struct table *index,
			    const struct java_name *n)
{
	struct pprof *p = &l->p;
	uint32_t name = strtab_intern(&p->strings, n->function);
	uint64_t hash = hash_number((uint64_t)name + 1);
	uint32_t i = table_find(index, hash, legacy_java_same_name, l, &name);

	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)p->functions.count;
	*vec_add(&p->functions) = (struct pprof_function){
		.name = name,
		.system_name = name,
		.file = strtab_intern(&p->strings, n->file),
	};
	table_add(index, hash, i);
	return i;
}

/* Equality callback of the location index. */
static bool legacy_java_same_address(const void *ctx, uint32_t i,
				     const void *key)
{
	const struct legacy *l = ctx;

	return l->p.locations.v[i].address == *(const uint64_t *)key;
}

/*
 * Parse one line of the section of locations: an address and the function at
 * it, which becomes a line of the address's location. Addresses that no sample
 * uses are ignored.
 */
static int name_location(struct legacy *l, struct table *functions,
			 struct str line)
{
	struct pprof *p = &l->p;
	struct java_name n;
	struct str g[3];
	uint64_t address;
	uint32_t place;

	if (!legacy_match(l, RX_JAVA_LOCATION, line, g, 3))
		return 0;
	if (!legacy_uint(g[1], 16, &address))
		return legacy_bad(l, "an address is too large");
	place = table_find(&l->places, hash_number(address),
			   legacy_java_same_address, l, &address);
	if (place == TABLE_NONE)
		return 0; /* no sample uses the address */
	n = java_name(l, g[2]);
	p->locations.v[place].lines =
		(struct pprof_run){ (uint32_t)p->lines.count, 1 };
	*vec_add(&p->lines) = (struct pprof_line){
		.function = function_of(l, functions, &n),
		.line = n.line,
	};
	return 0;
}

/*
 * As in pprof, no address of a Java profile is kept. Locations with a function
 * name lose their addresses before mappings are assigned by address, so that
 * only the other locations get mappings.
 */
int legacy_java_locations(struct legacy *l, struct str text)
{
	struct pprof *p = &l->p;
	struct table functions = { 0 };
	int rc = 0;

	while (text.len && !rc)
		rc = name_location(l, &functions,
				   legacy_trim(str_cut(text, '\n', &text)));
	table_fini(&functions);
	if (rc)
		return rc;
	for (size_t i = 0; i < p->locations.count; i++) {
		if (p->locations.v[i].lines.count)
			p->locations.v[i].address = 0;
	}
	legacy_assign_mappings(l);
	for (size_t i = 0; i < p->locations.count; i++)
		p->locations.v[i].address = 0;
	return 0;
}

int legacy_java(struct legacy *l)
{
	struct java j;
	struct str line;
	int rc;

	if (!ended_line(l, &line))
		return legacy_unknown();
	j.heap = str_is(line, "--- heapz 1 ---");
	if (!j.heap && !str_is(line, "--- contentionz 1 ---"))
		return legacy_unknown();
	skip_line(l);
	rc = java_header(l, &j);
	if (!rc)
		rc = java_samples(l, &j);
	return rc ? rc : legacy_java_locations(l, l->rest);
}
