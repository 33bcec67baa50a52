/* SPDX-License-Identifier: Apache-2.0 */
/* The memory map at the end of a legacy profile. */

#include <stdlib.h>

#include "pprof/legacy/legacy_parser.h"

/* Default load address of a program on x86-64 Linux. */
#define MAIN_START 0x400000
/*
 * Limits: length of a line in bytes, after each $name in it has been replaced
 * (see struct attribute), and number of attributes.
 */
#define TEXT_MAX       (64 * KIB)
#define ATTRIBUTES_MAX 100
/* Largest number of comparisons of addresses with mappings for one profile. */
#define STEPS_MAX ((size_t)100 * 1000 * 1000)

bool legacy_is_map_start(struct str line)
{
	static const char *const starts[] = { "--- Memory map: ---",
					      "MAPPED_LIBRARIES:" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (line.len &&
		    memmem(line.ptr, line.len, starts[i], strlen(starts[i])))
			return true;
	}
	return false;
}

int legacy_sections(struct legacy *l)
{
	while (!legacy_is_map_start(l->line) && legacy_next_line(l))
		;
	return legacy_maps(l);
}

/*
 * An attribute: a line "name=value" of the map, which defines $name for the
 * lines after it.
 */
struct attribute {
	struct str name;
	struct str value;
};

struct attributes {
	VEC(struct attribute) v;
};

/*
 * Append s to `out`, with every $name replaced by the attribute's value. If
 * several names match, the attribute that was defined first is used.
 */
static void legacy_maps_substitute(const struct attributes *a, struct str s,
				   struct buf *out)
{
	for (size_t i = 0; i < s.len && !out->over;) {
		struct str rest = { s.ptr + i, s.len - i };
		size_t k = a->v.count;

		if (*rest.ptr == '$') {
			rest.ptr++;
			rest.len--;
			for (k = 0; k < a->v.count; k++) {
				if (str_starts(rest, a->v.v[k].name))
					break;
			}
		}
		if (k < a->v.count) {
			buf_add(out, a->v.v[k].value.ptr, a->v.v[k].value.len);
			i += 1 + a->v.v[k].name.len;
		} else {
			buf_byte(out, (uint8_t)s.ptr[i++]);
		}
	}
}

/* Parse s, at most 16 digits, as a hexadecimal number. */
static bool legacy_maps_read_hex(struct str s, uint64_t *out)
{
	char text[20];
	char *end;

	if (!s.len || !str_to_array(s, text, sizeof(text)))
		return false;
	*out = strtoull(text, &end, 16);
	return !*end && s.len <= 16;
}

/*
 * Parse a line in the format of /proc/self/maps, or in the shorter form that
 * pprof also reads: addresses, permissions, file, offset, build id. Returns 1
 * if the line is an executable mapping, 0 if it is another mapping, which is to
 * be skipped, and -1 if it is no mapping.
 */
static int parse_mapping(struct legacy *l, struct str line,
			 struct pprof_mapping *out)
{
	struct str g[7];
	struct str perm;
	struct str file;
	struct str offset;
	struct str build_id = str_of("");

	if (legacy_match(l, RX_PROC_MAPS, line, g, 6)) {
		perm = g[3];
		offset = g[4];
		file = g[5];
	} else if (legacy_match(l, RX_BRIEF_MAPS, line, g, 7)) {
		perm = g[3];
		file = g[4];
		offset = g[5];
		build_id = g[6];
	} else {
		return -1;
	}
	if (perm.len && !memchr(perm.ptr, 'x', perm.len))
		return 0;
	*out = (struct pprof_mapping){ 0 };
	if (!legacy_maps_read_hex(g[1], &out->start) ||
	    !legacy_maps_read_hex(g[2], &out->limit) ||
	    (offset.len && !legacy_maps_read_hex(offset, &out->offset)))
		return -1;
	out->file = strtab_intern(&l->p.strings, file);
	out->build_id = strtab_intern(&l->p.strings, build_id);
	return 1;
}

/*
 * Handle the current line of the map: a mapping, an attribute, or neither. A
 * prefix that a logging library wrote in front of the line is removed.
 */
static void read_line(struct legacy *l, struct attributes *a,
		      struct arena *text)
{
	struct str line = l->line;
	struct buf replaced = buf_init((size_t)TEXT_MAX);
	struct pprof_mapping m;
	struct str g[1];
	int kind;

	if (legacy_match(l, RX_LOG_INFO, line, g, 1)) {
		line.ptr += g[0].len;
		line.len -= g[0].len;
	}
	legacy_maps_substitute(a, line, &replaced);
	line = str_from(buf_bytes(&replaced));
	kind = parse_mapping(l, line, &m);
	if (kind == 1)
		*vec_add(&l->p.mappings) = m;
	if (replaced.over || a->v.count > ATTRIBUTES_MAX) {
		l->over = true;
		l->why = "the memory map is too large";
	} else if (kind < 0 && line.len && memchr(line.ptr, '=', line.len)) {
		struct str value;
		struct str name = str_cut(line, '=', &value);

		*vec_add(&a->v) = (struct attribute){
			.name = arena_str(text, legacy_trim(name)),
			.value = arena_str(text, legacy_trim(value)),
		};
	}
	buf_fini(&replaced);
}

/*
 * Return whether mapping b begins where mapping a ends, so that both are parts
 * of one mapping. A file, build id or offset that is known for both mappings
 * must agree, too.
 */
static bool is_adjacent(const struct pprof_mapping *a,
			const struct pprof_mapping *b)
{
	if (a->file && b->file && a->file != b->file)
		return false;
	if (a->build_id && b->build_id && a->build_id != b->build_id)
		return false;
	if (a->limit != b->start)
		return false;
	return !a->offset || !b->offset ||
	       a->offset + (a->limit - a->start) == b->offset;
}

/*
 * Join consecutive mappings that are parts of one mapping, as pprof's
 * massageMappings() does.
 */
static void join_adjacent(struct pprof *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->mappings.count; i++) {
		struct pprof_mapping *m = &p->mappings.v[i];
		struct pprof_mapping *last =
			&p->mappings.v[kept ? kept - 1 : 0];

		if (!kept || !is_adjacent(last, m)) {
			p->mappings.v[kept++] = *m;
			continue;
		}
		last->limit = m->limit;
		last->file = m->file ? m->file : last->file;
		last->build_id = m->build_id ? m->build_id : last->build_id;
	}
	p->mappings.count = kept;
}

/*
 * Return whether the mapping can be the program itself: its file name is not
 * empty, and names neither a shared library nor a special region such as
 * [vdso].
 */
static bool is_main(struct legacy *l, const struct pprof_mapping *m)
{
	struct str file = pprof_str(&l->p, m->file);
	const char *deleted =
		file.len ? memmem(file.ptr, file.len, "(deleted)", 9) : NULL;

	if (deleted)
		file.len = (size_t)(deleted - file.ptr);
	file = legacy_trim(file);
	return file.len && *file.ptr != '[' &&
	       !legacy_match(l, RX_LIBRARY, file, NULL, 0);
}

/*
 * Move the program's mapping to the front: readers of pprof profiles assume
 * that the first mapping is the program.
 */
static void put_main_first(struct legacy *l)
{
	struct pprof *p = &l->p;

	for (size_t i = 0; i < p->mappings.count; i++) {
		struct pprof_mapping m = p->mappings.v[i];

		if (!is_main(l, &m))
			continue;
		p->mappings.v[i] = p->mappings.v[0];
		p->mappings.v[0] = m;
		return;
	}
}

/*
 * Correct the first mapping as pprof does: a leading part that was remapped to
 * huge pages is removed, and if the program's first pages are missing from the
 * map, the program's mapping is extended down to the default load address.
 */
static void mend_first(struct legacy *l)
{
	struct pprof *p = &l->p;
	struct pprof_mapping *m = p->mappings.v;

	if (p->mappings.count > 1 &&
	    str_starts(pprof_str(p, m->file), str_of("/anon_hugepage")) &&
	    m[0].limit == m[1].start) {
		p->mappings.count--;
		memmove(m, m + 1, p->mappings.count * sizeof(*m));
	}
	if (p->mappings.count && m->start - m->offset == MAIN_START) {
		m->start = MAIN_START;
		m->offset = 0;
	}
}

/*
 * Return the index of the mapping that covers the address, or PPROF_NONE. May
 * extend a mapping to lower addresses so that it covers the address.
 */
static uint32_t legacy_maps_find_mapping(struct legacy *l, uint64_t address)
{
	struct pprof *p = &l->p;

	for (uint32_t i = 0; i < p->mappings.count; i++) {
		const struct pprof_mapping *m = &p->mappings.v[i];

		if (m->start <= address && address < m->limit)
			return i;
	}
	/*
	 * If the first part of a split mapping is missing, the file offset of
	 * the next part tells where the mapping began.
	 */
	for (uint32_t i = 0; i < p->mappings.count; i++) {
		struct pprof_mapping *m = &p->mappings.v[i];

		if (m->offset && m->start - m->offset <= address &&
		    address < m->start) {
			m->start -= m->offset;
			m->offset = 0;
			return i;
		}
	}
	return PPROF_NONE;
}

/*
 * Return the index of the mapping of an address. Addresses that no mapping of
 * the input covers share one additional mapping; *fake is its index, or
 * PPROF_NONE until it is added.
 */
static uint32_t mapping_of(struct legacy *l, uint64_t address, uint32_t *fake)
{
	uint32_t found = legacy_maps_find_mapping(l, address);

	if (found != PPROF_NONE)
		return found;
	if (*fake == PPROF_NONE) {
		*fake = (uint32_t)l->p.mappings.count;
		*vec_add(&l->p.mappings) =
			(struct pprof_mapping){ .limit = UINT64_MAX };
	}
	return *fake;
}

/*
 * Assign mappings to the locations of one stack, and add to *steps the number
 * of mappings that addresses were compared with.
 */
static void assign_stack(struct legacy *l, struct pprof_run s, uint32_t *fake,
			 size_t *steps)
{
	struct pprof *p = &l->p;

	for (uint32_t k = 0; k < s.count; k++) {
		struct pprof_location *at =
			&p->locations.v[p->frames.v[s.first + k]];

		if (at->mapping != PPROF_NONE || !at->address)
			continue;
		at->mapping = mapping_of(l, at->address, fake);
		*steps += p->mappings.count;
	}
}

/*
 * Go through the stacks, not through the table of locations: looking up the
 * mapping of a location may extend that mapping, and a location that no stack
 * contains any more must not have this effect. The bound on steps limits the
 * time that a hostile profile can take.
 */
void legacy_assign_mappings(struct legacy *l)
{
	uint32_t fake = PPROF_NONE;
	size_t steps = 0;

	mend_first(l);
	for (size_t i = 0; i < l->p.stacks.count && steps < STEPS_MAX; i++)
		assign_stack(l, l->p.stacks.v[i], &fake, &steps);
	if (steps >= STEPS_MAX) {
		l->over = true;
		l->why = "the memory map is too large";
	}
}

int legacy_maps(struct legacy *l)
{
	struct attributes a = { 0 };
	struct arena text = { 0 };

	while (legacy_next_line(l))
		read_line(l, &a, &text);
	vec_fini(&a.v);
	arena_fini(&text);
	join_adjacent(&l->p);
	put_main_first(l);
	legacy_assign_mappings(l);
	return 0;
}
