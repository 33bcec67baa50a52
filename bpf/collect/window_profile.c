/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Window profile: the samples of one series and one kind in a window, as a
 * profile (github.com/google/pprof/proto/profile.proto). The sample types are
 * samples/count and cpu/nanoseconds or, for threads that wait, samples/count
 * and wallclock/nanoseconds. Each sample has the labels that the configuration
 * chooses (sample_labels.h).
 */
#include "bpf/collect/profile_writer.h"

#include "base/hash.h"
#include "bpf/collect/frame_names.h"
#include "bpf/collect/sample_labels.h"
#include "bpf/process/maps_line.h"
#include "pprof/proto/encode.h"
#include "symbols/names/name_answer.h"

/*
 * The start of the kernel's mapping, which is the upper half of all addresses.
 */
#define KERNEL_START (1ULL << 63)

enum {
	/*
	 * Number of leading frames of a stack that are searched for
	 * __schedule(), the kernel's function that switches threads.
	 */
	SWITCH_FRAMES_MAX = 8,
};

/* A profile that is being made. */
struct profile_maker {
	const struct sample_window *w;
	enum window_kind kind;
	const struct bytes *names;
	struct pprof p;
	uint32_t *locations; /* by frame; PPROF_NONE: not added yet */
	uint32_t *stacks;    /* by stack */
	uint32_t *mappings;  /* by file of the window */
	uint32_t kernel;     /* the kernel's mapping, or PPROF_NONE */
	struct table functions;
	struct table label_sets;
};

static uint32_t maker_text(struct profile_maker *m, const char *text)
{
	return strtab_intern(&m->p.strings, str_of(text));
}

static void maker_type(struct profile_maker *m, const char *type,
		       const char *unit)
{
	*vec_add(&m->p.types) =
		(struct pprof_type){ .type = maker_text(m, type),
				     .unit = maker_text(m, unit) };
}

/* For table_find(). */
static bool maker_function_same(const void *ctx, uint32_t number,
				const void *key)
{
	const struct profile_maker *m = ctx;
	const struct pprof_function *a = &m->p.functions.v[number];
	const struct pprof_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->file == b->file && a->start_line == b->start_line;
}

static uint32_t maker_function(struct profile_maker *m,
			       const struct name_frame *f)
{
	struct pprof_function x;
	uint64_t hash;
	uint32_t n;

	memset(&x, 0, sizeof(x));
	x.name = strtab_intern(&m->p.strings, f->name);
	x.system_name = strtab_intern(&m->p.strings, f->system_name);
	x.file = strtab_intern(&m->p.strings, f->file);
	x.start_line = (int64_t)f->start_line;
	hash = hash_key(
		(struct bytes){ .ptr = (const uint8_t *)&x, .len = sizeof(x) });
	n = table_find(&m->functions, hash, maker_function_same, m, &x);
	if (n != TABLE_NONE)
		return n;
	n = (uint32_t)m->p.functions.count;
	*vec_add(&m->p.functions) = x;
	table_add(&m->functions, hash, n);
	return n;
}

/* Return the only mapping of the kernel, which the first call adds. */
static uint32_t maker_kernel(struct profile_maker *m)
{
	if (m->kernel == PPROF_NONE) {
		m->kernel = (uint32_t)m->p.mappings.count;
		*vec_add(&m->p.mappings) = (struct pprof_mapping){
			.start = KERNEL_START,
			.limit = UINT64_MAX,
			.file = maker_text(m, "[kernel.kallsyms]"),
			.has_functions = true,
		};
	}
	return m->kernel;
}

/*
 * Add the hexadecimal digits of a build ID, as a string, to the string table.
 * Return the number of the string.
 */
static uint32_t maker_build_id(struct profile_maker *m, struct bytes id)
{
	struct buf text = { 0 };
	uint32_t n;

	for (size_t i = 0; i < id.len; i++)
		buf_printf(&text, "%02x", id.ptr[i]);
	n = maker_text(m, buf_cstr(&text));
	buf_fini(&text);
	return n;
}

/*
 * Return the mapping of the file with the index `file` in `files` of the
 * window. The first call for a file adds the mapping. Processes map the file at
 * different addresses, so the mapping in the profile has addresses as in the
 * ELF file: from the start of the first executable segment to the end of the
 * last one.
 */
static uint32_t maker_mapping(struct profile_maker *m, uint32_t file)
{
	const struct window_file *f = &m->w->files.v[file];
	struct pprof_mapping x = { .start = UINT64_MAX };

	if (m->mappings[file] != PPROF_NONE)
		return m->mappings[file];
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (!s->executable)
			continue;
		if (s->vaddr < x.start) {
			x.start = s->vaddr;
			x.offset = s->offset;
		}
		if (s->vaddr + s->memory > x.limit)
			x.limit = s->vaddr + s->memory;
	}
	if (x.start >= x.limit) {
		/*
		 * No executable segment is known, because the file is no ELF
		 * file or was not read: addresses are positions in the file.
		 */
		x.start = 0;
		x.limit = INT64_MAX;
	}
	x.file = strtab_intern(&m->p.strings,
			       maps_line_undeleted(str_of(f->path)));
	x.build_id = maker_build_id(m, f->build_id);
	m->mappings[file] = (uint32_t)m->p.mappings.count;
	*vec_add(&m->p.mappings) = x;
	return m->mappings[file];
}

/*
 * Add the mapping of the program before all others, even if no sample has a
 * frame in it. Readers of profiles take the first mapping for the program, and
 * its build ID shows whether the program was replaced. If the file of the
 * program is not known, the mapping has only a name, the label `exe` of the
 * series.
 */
static void maker_program(struct profile_maker *m, uint32_t series)
{
	struct str exe = labels_get(m->w->series.v[series], str_of("exe"));
	uint32_t file = m->w->programs.v[series];

	if (file != FILE_NONE)
		(void)maker_mapping(m, sample_window_find_file(m->w, file));
	else
		*vec_add(&m->p.mappings) = (struct pprof_mapping){
			.file = strtab_intern(&m->p.strings, exe)
		};
}

/* Fill in the address and the mapping of a frame. */
static void maker_place(struct profile_maker *m, const struct window_frame *f,
			struct pprof_location *l)
{
	uint32_t file;

	l->mapping = PPROF_NONE;
	if (f->kind == FRAME_END)
		return;
	l->address = f->address;
	if (f->kind == FRAME_KERNEL)
		l->mapping = maker_kernel(m);
	if (f->kind != FRAME_FILE)
		return;
	file = sample_window_find_file(m->w, f->owner);
	(void)!window_file_address(&m->w->files.v[file], f->address,
				   &l->address);
	l->mapping = maker_mapping(m, file);
}

/*
 * Add the lines of the location `l`, one for each function in `answer`
 * (name_answer.h). Note in the mapping of `l` which details the lines have:
 * functions, file names, line numbers or inlined functions.
 */
static void maker_lines(struct profile_maker *m, struct bytes answer,
			struct pprof_location *l)
{
	struct dec d = dec_init(answer);
	size_t count = answer.len ? name_answer_next(&d) : 0;

	l->lines.first = (uint32_t)m->p.lines.count;
	for (size_t i = 0; i < count; i++) {
		struct name_frame f = name_answer_frame(&d);

		*vec_add(&m->p.lines) =
			(struct pprof_line){ .function = maker_function(m, &f),
					     .line = (int64_t)f.line };
		if (l->mapping == PPROF_NONE)
			continue;
		m->p.mappings.v[l->mapping].has_functions = true;
		m->p.mappings.v[l->mapping].has_filenames |= f.file.len != 0;
		m->p.mappings.v[l->mapping].has_lines |= f.line != 0;
		m->p.mappings.v[l->mapping].has_inlines |= count > 1;
	}
	l->lines.count = (uint32_t)count;
}

static uint32_t maker_location(struct profile_maker *m, uint32_t frame)
{
	struct pprof_location l = { 0 };

	if (m->locations[frame] != PPROF_NONE)
		return m->locations[frame];
	maker_place(m, &m->w->frames.v[frame], &l);
	maker_lines(m, m->names[frame], &l);
	m->locations[frame] = (uint32_t)m->p.locations.count;
	*vec_add(&m->p.locations) = l;
	return m->locations[frame];
}

/*
 * Whether frame number `frame` is in __schedule(), the kernel's function that
 * switches threads.
 */
static bool maker_is_switch(const struct profile_maker *m, uint32_t frame)
{
	struct dec d = dec_init(m->names[frame]);

	return m->names[frame].len && name_answer_next(&d) &&
	       str_is(name_answer_frame(&d).name, "__schedule");
}

/*
 * Return the number of leading frames that the profile leaves out. In the stack
 * of a wait, these are the frames before __schedule(): __schedule() has called
 * the BPF program that took the sample, and these frames belong to this
 * program. If __schedule() is not found, no frame is left out.
 */
static uint32_t maker_skipped(const struct profile_maker *m,
			      const struct window_stack *s)
{
	if (m->kind != WINDOW_OFF_CPU)
		return 0;
	for (uint32_t i = 0; i < s->count && i < SWITCH_FRAMES_MAX; i++) {
		if (maker_is_switch(m, m->w->stack_frames.v[s->first + i]))
			return i;
	}
	return 0;
}

static uint32_t maker_stack(struct profile_maker *m, uint32_t stack)
{
	const struct window_stack *s = &m->w->stacks.v[stack];
	uint32_t first = (uint32_t)m->p.frames.count;
	uint32_t skipped = maker_skipped(m, s);

	if (m->stacks[stack] != PPROF_NONE)
		return m->stacks[stack];
	for (uint32_t i = skipped; i < s->count; i++) {
		uint32_t l =
			maker_location(m, m->w->stack_frames.v[s->first + i]);

		*vec_add(&m->p.frames) = l;
	}
	m->stacks[stack] = (uint32_t)m->p.stacks.count;
	*vec_add(&m->p.stacks) =
		(struct pprof_run){ .first = first,
				    .count = s->count - skipped };
	return m->stacks[stack];
}

/* The labels of a sample, as the key of a lookup in `label_sets`. */
struct label_list {
	struct pprof_label v[SAMPLE_LABELS_COUNT];
	uint32_t count;
};

/* For table_find(). */
static bool maker_labels_same(const void *ctx, uint32_t number, const void *key)
{
	const struct profile_maker *m = ctx;
	const struct label_list *l = key;

	return !memcmp(&m->p.labels.v[m->p.label_sets.v[number].first], l->v,
		       l->count * sizeof(*l->v));
}

/*
 * Append the label of bit number `bit` in enum sample_labels, if the sample has
 * this label. The value is `text`, or `number` if `text` is NULL.
 */
static void maker_label(struct profile_maker *m, struct label_list *l,
			const struct window_labels *from, unsigned bit,
			const char *text, uint32_t number)
{
	static const char *const names[] = SAMPLE_LABEL_NAMES;
	struct pprof_label *x = &l->v[l->count];

	if (!(from->set & 1u << bit))
		return;
	x->key = maker_text(m, names[bit]);
	if (text)
		x->str = maker_text(m, text);
	else
		x->num = number;
	x->is_number = !text;
	l->count++;
}

/*
 * Return the number of the set of labels that a sample has. The set is added if
 * it is new. All samples of a window have labels with the same names, so all
 * sets have the same number of labels, and maker_labels_same() need not compare
 * this number.
 */
static uint32_t maker_labels(struct profile_maker *m,
			     const struct window_labels *from)
{
	struct label_list l;
	uint64_t hash;
	uint32_t n;

	memset(&l, 0, sizeof(l));
	maker_label(m, &l, from, 0, from->comm, 0);
	maker_label(m, &l, from, 1, NULL, from->cpu);
	maker_label(m, &l, from, 2, NULL, from->pid);
	maker_label(m, &l, from, 3, from->thread, 0);
	maker_label(m, &l, from, 4, NULL, from->tid);
	hash = hash_key(
		(struct bytes){ .ptr = (const uint8_t *)&l, .len = sizeof(l) });
	n = table_find(&m->label_sets, hash, maker_labels_same, m, &l);
	if (n != TABLE_NONE)
		return n;
	n = (uint32_t)m->p.label_sets.count;
	*vec_add(&m->p.label_sets) =
		(struct pprof_run){ .first = (uint32_t)m->p.labels.count,
				    .count = l.count };
	vec_add_all(&m->p.labels, l.v, l.count);
	table_add(&m->label_sets, hash, n);
	return n;
}

/*
 * Fill in the sample types, the period, the time and the duration of a profile.
 */
static void maker_begin(struct profile_maker *m, int64_t period)
{
	static const char *const types[] = {
		[WINDOW_CPU] = "cpu", [WINDOW_OFF_CPU] = "wallclock"
	};

	pprof_reset(&m->p);
	maker_type(m, "samples", "count");
	maker_type(m, types[m->kind], "nanoseconds");
	/*
	 * The period of CPU samples is a time. The period of waits is a number
	 * of waits.
	 */
	m->p.period_type = m->p.types.v[m->kind == WINDOW_CPU];
	m->p.period = period;
	m->p.time_ns = m->w->start_ns;
	m->p.duration_ns = m->w->end_ns - m->w->start_ns;
}

static uint32_t *indexes_new(size_t count)
{
	uint32_t *v = mem_alloc((count ? count : 1) * sizeof(*v));

	for (size_t i = 0; i < count; i++)
		v[i] = PPROF_NONE;
	return v;
}

bool window_profile_encode(const struct sample_window *w, uint32_t series,
			   enum window_kind kind, const struct bytes *names,
			   int64_t period, struct buf *out)
{
	struct profile_maker m = {
		.w = w,
		.kind = kind,
		.names = names,
		.locations = indexes_new(w->frames.count),
		.stacks = indexes_new(w->stacks.count),
		.mappings = indexes_new(w->files.count),
		.kernel = PPROF_NONE,
	};
	bool any;

	maker_begin(&m, period);
	maker_program(&m, series);
	for (size_t i = 0; i < w->samples.count; i++) {
		const struct window_sample *s = &w->samples.v[i];

		if (s->series != series || s->kind != kind)
			continue;
		*vec_add(&m.p.samples) = (struct pprof_sample){
			.stack = maker_stack(&m, s->stack),
			.labels = maker_labels(&m, &s->labels)
		};
		*vec_add(&m.p.values) = (int64_t)s->count;
		*vec_add(&m.p.values) = (int64_t)s->value;
	}
	any = m.p.samples.count > 0;
	if (any)
		pprof_encode(&m.p, out);
	pprof_fini(&m.p);
	mem_free(m.locations);
	mem_free(m.stacks);
	mem_free(m.mappings);
	table_fini(&m.functions);
	table_fini(&m.label_sets);
	return any;
}
