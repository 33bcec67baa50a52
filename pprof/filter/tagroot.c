/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/filter/tagroot.h"

#include "base/pairs.h"
#include "pprof/profile/measure.h"

/*
 * The identity of a new stack: the index of the old stack, and the number of a
 * suffix (the frames that are added at the outer end of the stack).
 */
struct rooted {
	uint32_t stack;
	uint32_t suffix;
};

/*
 * The state of one call of pprof_tagroot(): the frames and stacks made so far.
 * Each distinct pair of label value and key becomes a frame, that is a new
 * location.
 */
struct roots {
	struct pprof *p;
	struct pairs index; /* maps root_key to index of location + 1 */
	/*
	 * The distinct suffixes. Each is stored as if it were a text: the bytes
	 * of an array with the indexes of its locations.
	 */
	struct strtab suffixes;
	/* Maps struct rooted to the new stack's number, counted from 1. */
	struct pairs made;
	uint32_t made_count;
	uint32_t first_stack; /* index of the first new stack */
	struct str unit;      /* unit to show numeric labels in */
	bool any;             /* whether a label with one of the keys exists */
};

/*
 * The identity of a frame to be added. As in pprof, the function name is the
 * value of a label, and the file name is the key of the label.
 */
struct root_key {
	uint32_t name;
	uint32_t file;
};

/*
 * Return the index of the location for a frame; the location is added if it is
 * new. Equal frames share a location.
 */
static uint32_t root_location(struct roots *x, struct root_key key)
{
	struct pprof *p = x->p;
	uint32_t *number = pairs_at(&x->index, key.name, key.file);

	if (*number)
		return *number - 1;
	*vec_add(&p->locations) = (struct pprof_location){
		.mapping = PPROF_NONE,
		.lines = { (uint32_t)p->lines.count, 1 },
	};
	*vec_add(&p->lines) = (struct pprof_line){
		.function = (uint32_t)p->functions.count,
	};
	*vec_add(&p->functions) = (struct pprof_function){
		.name = key.name,
		.file = key.file,
	};
	*number = (uint32_t)p->locations.count;
	return *number - 1;
}

/*
 * Return all values of a key in a label set, joined by commas, as a string of
 * the profile; the empty string if there are no values.
 */
static uint32_t values_of(struct roots *x, struct pprof_run set, struct str key)
{
	struct pprof *p = x->p;
	struct buf text = { 0 };
	bool found = false;
	uint32_t name;

	for (uint32_t i = 0; i < set.count; i++) {
		struct pprof_label l = p->labels.v[set.first + i];
		struct str s = pprof_str(p, l.str);

		if (!str_eq(pprof_str(p, l.key), key))
			continue;
		if (found)
			buf_byte(&text, ',');
		if (l.is_number)
			measure_label(&text, l.num, pprof_str(p, l.unit),
				      l.unit ? x->unit : str_of(""));
		else
			buf_add(&text, s.ptr, s.len);
		found = true;
	}
	x->any = x->any || found;
	name = strtab_intern(&p->strings, str_from(buf_bytes(&text)));
	buf_fini(&text);
	return name;
}

/*
 * Return the number of the suffix for a label set. The suffix has one frame
 * for each key. The first key is outermost, so it is last in the suffix.
 */
static uint32_t add_roots(struct roots *x, struct pprof_run set,
			  struct str keys)
{
	uint32_t places[TAGROOT_KEYS_MAX];
	uint32_t reversed[TAGROOT_KEYS_MAX];
	struct str rest = keys;
	size_t n = 0;

	while (rest.len && n < TAGROOT_KEYS_MAX) {
		struct str key = str_cut(rest, ',', &rest);
		struct root_key k;

		if (!key.len)
			continue;
		k.name = values_of(x, set, key);
		k.file = strtab_intern(&x->p->strings, key);
		places[n++] = root_location(x, k);
	}
	for (size_t i = 0; i < n; i++)
		reversed[i] = places[n - 1 - i];
	return strtab_intern(
		&x->suffixes,
		(struct str){ (const char *)reversed, n * sizeof(*reversed) });
}

/*
 * Append a new stack: the frames of the old stack, then the suffix, because
 * stacks are stored from the leaf outwards.
 */
static void append_stack(struct roots *x, struct rooted key)
{
	struct pprof *p = x->p;
	struct pprof_run old = p->stacks.v[key.stack];
	struct str suffix = strtab_get(&x->suffixes, key.suffix);
	uint32_t n = (uint32_t)(suffix.len / sizeof(uint32_t));
	struct pprof_run new = { (uint32_t)p->frames.count, old.count + n };

	vec_reserve(&p->frames, new.count);
	memcpy(p->frames.v + new.first, p->frames.v + old.first,
	       old.count * sizeof(uint32_t));
	if (n)
		memcpy(p->frames.v + new.first + old.count, suffix.ptr,
		       suffix.len);
	p->frames.count += new.count;
	*vec_add(&p->stacks) = new;
}

/*
 * Return the index of the new stack, which is added if it does not exist yet.
 * Samples with equal stacks and suffixes share a new stack.
 */
static uint32_t rooted_stack(struct roots *x, struct rooted key)
{
	uint32_t *number = pairs_at(&x->made, key.stack, key.suffix);

	if (!*number) {
		append_stack(x, key);
		*number = ++x->made_count;
	}
	return x->first_stack + *number - 1;
}

/*
 * Give every sample its new stack. The new stacks can have many times as many
 * frames as the old stacks, and indexes of frames have only 32 bits, so the
 * number of frames and their memory are checked.
 */
static int root_samples(struct roots *x, const uint32_t *suffixes,
			const struct limits *limits, struct err *err)
{
	struct pprof *p = x->p;
	struct growth_meter meter = { .spent = vec_memory(&p->frames) };
	int rc = 0;

	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		struct pprof_sample *s = &p->samples.v[i];
		struct pprof_run old = p->stacks.v[s->stack];

		if (p->frames.count + old.count + TAGROOT_KEYS_MAX >=
		    UINT32_MAX)
			return err_set(
				err, ERR_LIMIT,
				"tagroot or group_by: the profile would have more than 2^32 frames; use fewer labels");
		s->stack = rooted_stack(
			x, (struct rooted){ s->stack, suffixes[s->labels] });
		rc = limits_meter(limits, &meter, 1 + old.count,
				  vec_memory(&p->frames), err);
	}
	return rc;
}

int pprof_tagroot_check(struct str keys, const char *what, struct err *err)
{
	size_t count = keys.len > 0;

	for (size_t i = 0; i < keys.len; i++)
		count += keys.ptr[i] == ',';
	return count > TAGROOT_KEYS_MAX ?
		       err_set(err, ERR_INVALID, "%s: more than %d labels",
			       what, TAGROOT_KEYS_MAX) :
		       0;
}

int pprof_tagroot(struct pprof *p, struct str keys, struct str unit,
		  const struct limits *limits, bool *found, struct err *err)
{
	struct roots x = { .p = p,
			   .unit = unit,
			   .first_stack = (uint32_t)p->stacks.count };
	uint32_t *suffixes =
		mem_zalloc(p->label_sets.count + 1, sizeof(*suffixes));
	int rc;

	/* Number 0 in `suffixes` must be the empty suffix. */
	(void)strtab_intern(&x.suffixes, str_of(""));
	/*
	 * Each label set is converted only once, however many samples share it.
	 */
	for (size_t i = 0; i < p->label_sets.count; i++)
		suffixes[i] = add_roots(&x, p->label_sets.v[i], keys);
	rc = root_samples(&x, suffixes, limits, err);
	*found = x.any;
	mem_free(suffixes);
	strtab_fini(&x.suffixes);
	pairs_fini(&x.made);
	pairs_fini(&x.index);
	return rc;
}
