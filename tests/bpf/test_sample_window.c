/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on their way to a profile: sorted by time, added up, named, and
 * encoded.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "bpf/collect/frame_names.h"
#include "bpf/collect/profile_writer.h"
#include "bpf/collect/sample_labels.h"
#include "bpf/collect/sample_queue.h"
#include "pprof/proto/decode.h"
#include "symbols/names/name_answer.h"
#include "tests/check.h"

TestSuite(sample_window, .timeout = 60);

static struct labels *labels_of(const char *exe)
{
	struct labels_builder b = { 0 };
	struct labels *out;

	labels_set(&b, str_of(LABEL_NAME), str_of("process_cpu"));
	labels_set(&b, str_of("exe"), str_of(exe));
	cr_assert(!labels_build(&b, &out, NULL));
	labels_builder_fini(&b);
	return out;
}

/* Add a sample with frames of the kernel at these addresses. */
static void add_sample(struct sample_window *w, struct labels *labels,
		       uint32_t pid, const uint64_t *addresses, size_t count)
{
	struct window_frame frames[8];

	for (size_t i = 0; i < count; i++)
		frames[i] = (struct window_frame){ .kind = FRAME_KERNEL,
						   .address = addresses[i] };
	sample_window_add(w, &(struct window_input){
				     .series = labels,
				     .samples = 1,
				     .value = 10000000,
				     .labels = { .set = SAMPLE_LABELS_DEFAULT,
						 .pid = pid,
						 .comm = "worker" },
				     .frames = frames,
				     .count = count });
}

Test(sample_window, equal_samples_are_added_up)
{
	struct sample_window *w = sample_window_new(0);
	struct labels *a = labels_of("a");
	struct labels *a2 = labels_of("a");
	struct labels *b = labels_of("b");
	const uint64_t stack[] = { 1, 2, 3 };

	add_sample(w, a, 7, stack, 3);
	add_sample(w, a2, 7, stack, 3);
	add_sample(w, a, 8, stack, 3);
	add_sample(w, b, 7, stack, 3);
	add_sample(w, a, 7, stack + 1, 2);
	cr_assert(w->series.count == 2);
	cr_expect(w->frames.count == 3);
	cr_assert(w->stacks.count == 2);
	cr_expect(w->stack_frames.count == 5);
	cr_assert(w->samples.count == 4);
	cr_assert(w->samples.v[0].count == 2);
	cr_expect(w->samples.v[3].count == 1);
	sample_window_free(w);
	labels_unref(a);
	labels_unref(a2);
	labels_unref(b);
}

/* Note a process with PID 7; returns its number, and whether it is new. */
static uint32_t note_process(struct sample_window *w, uint64_t began_ns,
			     uint64_t sampled_ns, bool *is_new)
{
	return sample_window_process(
		w, &(struct window_process){ 7, began_ns, sampled_ns }, is_new);
}

Test(sample_window, processes_with_one_pid_are_told_apart)
{
	struct sample_window *w = sample_window_new(0);
	bool is_new;

	cr_assert(note_process(w, 0, 1000, &is_new) == 0);
	cr_expect(is_new);
	cr_assert(note_process(w, 900, 1100, &is_new) == 0);
	cr_expect(!is_new);
	cr_assert(note_process(w, 2000, 2100, &is_new) == 1);
	cr_expect(is_new);
	cr_assert(note_process(w, 2000, 2200, &is_new) == 1);
	cr_expect(!is_new);
	/* Samples that come late add no process each. */
	cr_assert(note_process(w, 3000, 2300, &is_new) == 1);
	cr_expect(!is_new);
	cr_expect(w->processes.count == 2);
	sample_window_free(w);
}

/* What is read of the last process with a PID is not of a former one. */
Test(sample_window, the_map_of_a_process_stays_that_of_its_samples)
{
	struct sample_window *w = sample_window_new(0);
	struct jit_process j = {
		.pid = 7, .is_read = true, .start = 1, .own = 7, .map = -1
	};
	bool is_new;

	note_process(w, 0, (uint64_t)clock_mono_ns(), &is_new);
	j.start = UINT64_MAX;
	sample_window_take_process(w, &j);
	cr_expect(!w->processes.v[0].is_read, "it began after the sample");
	j.start = 1;
	sample_window_take_process(w, &j);
	cr_assert(w->processes.v[0].is_read);
	cr_expect(w->processes.v[0].own == 7);
	cr_assert(w->processes.v[0].sampled_ns);
	cr_expect(!j.pid);
	sample_window_free(w);
}

Test(sample_window, samples_are_taken_in_the_order_of_their_times)
{
	struct sample_queue q = { .next = 0 };
	struct sample_record r = { .header = { .kernel = 1, .user = 1 } };
	const struct sample_record *got;
	static const uint64_t times[] = { 30, 10, 20, 20 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		r.header.time = times[i];
		r.words[0] = i;
		r.words[1] = i + 100;
		sample_queue_add(&q, &r);
	}
	sample_queue_sort(&q);
	cr_expect(!sample_queue_take(&q, 10));
	got = sample_queue_take(&q, 20);
	cr_assert(got);
	cr_assert(got->words[0] == 1);
	cr_assert(got->words[1] == 101);
	cr_expect(!sample_queue_take(&q, 20));
	got = sample_queue_take(&q, UINT64_MAX);
	cr_assert(got);
	cr_assert(got->words[0] == 2);
	got = sample_queue_take(&q, UINT64_MAX);
	cr_assert(got);
	cr_assert(got->words[0] == 3);
	got = sample_queue_take(&q, UINT64_MAX);
	cr_assert(got);
	cr_assert(got->words[0] == 0);
	cr_expect(!sample_queue_take(&q, UINT64_MAX));
	sample_queue_reset(&q);
	cr_expect(!sample_queue_take(&q, UINT64_MAX));
	sample_queue_fini(&q);
}

/* An answer that names a frame by a function, with a line if it is not 0. */
static struct bytes answer_of(struct arena *arena, const char *name,
			      uint64_t line)
{
	struct buf b = { 0 };
	struct bytes out;

	name_answer_begin(&b, 1);
	name_answer_add(&b,
			&(struct name_frame){ .system_name = str_of(name),
					      .name = str_of(name),
					      .file = str_of(line ? "f.c" : ""),
					      .line = line });
	out = bytes_of(arena_str(arena, str_from(buf_bytes(&b))));
	buf_fini(&b);
	return out;
}

/* A file in a table, which was read. */
static void add_file(struct file_table *files)
{
	static const struct elf_segment segment = { .vaddr = 0x401000,
						    .memory = 0x1000,
						    .offset = 0x1000,
						    .bytes = 0x1000,
						    .executable = true };
	static const uint8_t id[] = { 0xab, 0x01 };
	struct elf_read read = { .fd = -1,
				 .facts = { .build_id = { .ptr = id, .len = 2 },
					    .segments = &segment,
					    .segment_count = 1 } };
	const struct file_identity identity = { .is_build_id = true,
						.bytes = { id, 2 } };
	struct process_uid asker = { .is_known = true };
	uint32_t n =
		file_table_get(files, str_of("/bin/a"), &identity, &asker, 7);

	cr_assert(n == 0);
	cr_assert(file_table_next(files, 0) == 0);
	file_table_learn(files, 0, &read, 0);
}

Test(sample_window, profiles_have_files_lines_and_labels)
{
	struct table_store store;
	struct file_table files;
	struct sample_window *w = sample_window_new(1000000000);
	struct labels *a = labels_of("a");
	struct arena arena = { 0 };
	struct decoder *decoder = decoder_new(1 << 20);
	struct buf encoded = { 0 };
	struct bytes names[4];
	struct pprof *p;
	struct err err;
	const uint32_t program = 0;
	const struct window_frame frames[] = {
		{ .kind = FRAME_KERNEL, .address = UINT64_MAX - 5 },
		{ .kind = FRAME_FILE, .owner = 0, .address = 0x1234 },
		{ .kind = FRAME_ANONYMOUS, .owner = 7, .address = 0x7000 },
		{ .kind = FRAME_END, .address = SAMPLE_TRUNCATED },
	};

	table_store_init(&store, NULL, 0);
	file_table_init(&files, &store, NULL);
	add_file(&files);
	sample_window_file(w, &files, 0);
	sample_window_add(w, &(struct window_input){
				     .series = a,
				     .samples = 1,
				     .value = 10000000,
				     .labels = { .set = SAMPLE_LABELS_DEFAULT,
						 .pid = 7,
						 .comm = "worker" },
				     .program = &program,
				     .frames = frames,
				     .count = 4 });
	w->end_ns = 11000000000;
	names[0] = answer_of(&arena, "in_kernel", 0);
	names[1] = answer_of(&arena, "in_file", 12);
	names[2] = (struct bytes){ 0 };
	names[3] = answer_of(&arena, "[truncated]", 0);
	cr_assert(window_profile_encode(w, 0, WINDOW_CPU, names, 10000000,
					&encoded));
	cr_assert(!decoder_run(decoder, buf_bytes(&encoded), &p, &err), "%s",
		  err.msg);
	cr_assert(p->samples.count == 1);
	cr_assert(p->locations.count == 4);
	cr_assert(p->values.v[0] == 1);
	cr_expect(p->values.v[1] == 10000000);
	cr_assert(p->period == 10000000);
	cr_assert(p->duration_ns == 10000000000);
	cr_expect(p->time_ns == 1000000000);
	cr_expect(check_str(pprof_str(p, p->types.v[1].type), "cpu"));
	/* Positions in the file become addresses in the file. */
	cr_expect(p->locations.v[1].address == 0x401234);
	/* The program is the first one, although the kernel was called. */
	cr_assert(p->mappings.count == 2);
	cr_expect(check_str(pprof_str(p, p->mappings.v[0].file), "/bin/a"));
	cr_expect(check_str(pprof_str(p, p->mappings.v[0].build_id), "ab01"));
	cr_assert(p->mappings.v[0].start == 0x401000);
	cr_expect(p->mappings.v[0].has_lines);
	cr_assert(p->locations.v[2].mapping == PPROF_NONE);
	cr_expect(p->locations.v[2].lines.count == 0);
	cr_assert(p->locations.v[3].address == 0);
	cr_expect(p->locations.v[3].lines.count == 1);
	cr_assert(p->labels.count == 2);
	cr_expect(check_str(pprof_str(p, p->labels.v[0].str), "worker"));
	cr_expect(p->labels.v[1].num == 7);
	decoder_free(decoder);
	buf_fini(&encoded);
	arena_fini(&arena);
	sample_window_free(w);
	file_table_fini(&files);
	table_store_fini(&store);
	labels_unref(a);
}

/*
 * Readers of profiles take the first mapping for the program. A profile has it
 * even if no frame is in it.
 */
Test(sample_window, the_first_mapping_is_the_program_of_the_series)
{
	static const struct {
		int program; /* 0: that of add_file(); -1: not known */
		const char *file, *build_id;
	} cases[] = { { 0, "/bin/a", "ab01" }, { -1, "a", "" } };
	const uint64_t stack[] = { UINT64_MAX - 5 };
	const struct bytes name = { 0 };
	struct decoder *decoder = decoder_new(1 << 20);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table_store store;
		struct file_table files;
		struct sample_window *w = sample_window_new(0);
		struct labels *a = labels_of("a");
		struct buf encoded = { 0 };
		const uint32_t program = 0;
		const struct window_frame frame = { .kind = FRAME_KERNEL,
						    .address = stack[0] };
		struct pprof *p;

		table_store_init(&store, NULL, 0);
		file_table_init(&files, &store, NULL);
		add_file(&files);
		sample_window_file(w, &files, 0);
		/* Of the first sample, it is not known. */
		add_sample(w, a, 7, stack, 1);
		sample_window_add(
			w, &(struct window_input){ .series = a,
						   .samples = 1,
						   .program = cases[i].program ?
								      NULL :
								      &program,
						   .frames = &frame,
						   .count = 1 });
		cr_assert(window_profile_encode(w, 0, WINDOW_CPU, &name, 1,
						&encoded));
		cr_assert(!decoder_run(decoder, buf_bytes(&encoded), &p, NULL));
		cr_assert(p->mappings.count == 2);
		cr_expect(check_str(pprof_str(p, p->mappings.v[0].file),
				    cases[i].file));
		cr_expect(check_str(pprof_str(p, p->mappings.v[0].build_id),
				    cases[i].build_id));
		cr_expect(p->locations.v[0].mapping == 1);
		buf_fini(&encoded);
		sample_window_free(w);
		file_table_fini(&files);
		table_store_fini(&store);
		labels_unref(a);
	}
	decoder_free(decoder);
}

/* The labels of the only sample of a profile, as a text. */
static void describe_labels(const struct pprof *p, struct buf *out)
{
	cr_assert(p->label_sets.count == 1);
	for (size_t i = 0; i < p->labels.count; i++) {
		const struct pprof_label *l = &p->labels.v[i];

		if (l->is_number)
			buf_printf(out, "%.*s=%d ",
				   STR_ARG(pprof_str(p, l->key)), (int)l->num);
		else
			buf_printf(out, "%.*s=%.*s ",
				   STR_ARG(pprof_str(p, l->key)),
				   STR_ARG(pprof_str(p, l->str)));
	}
}

Test(sample_window, samples_have_the_chosen_labels_alone)
{
	static const struct {
		unsigned set;
		const char *want;
		size_t samples; /* of three, which differ in thread, tid and cpu */
	} cases[] = {
		{ 0, "", 1 },
		{ SAMPLE_LABELS_DEFAULT, "comm=app pid=7 ", 1 },
		{ SAMPLE_LABEL_CPU, "cpu=1 ", 2 },
		{ SAMPLE_LABEL_TID, "tid=70 ", 3 },
		{ 31, "comm=app cpu=1 pid=7 thread=gc tid=70 ", 3 },
	};
	static const struct window_labels all[] = {
		{ .cpu = 1,
		  .pid = 7,
		  .tid = 70,
		  .comm = "app",
		  .thread = "gc" },
		{ .cpu = 1,
		  .pid = 7,
		  .tid = 71,
		  .comm = "app",
		  .thread = "io" },
		{ .cpu = 2,
		  .pid = 7,
		  .tid = 72,
		  .comm = "app",
		  .thread = "gc" },
	};
	const struct window_frame frame = { .kind = FRAME_KERNEL,
					    .address = UINT64_MAX - 5 };
	const struct bytes name = { 0 };
	struct labels *series = labels_of("a");
	struct decoder *decoder = decoder_new(1 << 20);

	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		struct sample_window *w = sample_window_new(0);
		struct buf encoded = { 0 };
		struct buf text = { 0 };
		struct pprof *p;

		for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
			struct window_input in = { .series = series,
						   .samples = 1,
						   .value = 10000000,
						   .labels = all[i],
						   .frames = &frame,
						   .count = 1 };

			in.labels.set = cases[c].set;
			sample_window_add(w, &in);
			if (i)
				continue;
			cr_assert(window_profile_encode(w, 0, WINDOW_CPU, &name,
							1, &encoded));
			cr_assert(!decoder_run(decoder, buf_bytes(&encoded), &p,
					       NULL));
			describe_labels(p, &text);
			cr_expect(check_str(str_from(buf_bytes(&text)),
					    cases[c].want));
		}
		cr_expect(w->samples.count == cases[c].samples, "%zu", c);
		buf_fini(&text);
		buf_fini(&encoded);
		sample_window_free(w);
	}
	decoder_free(decoder);
	labels_unref(series);
}

/* Waits are a profile of their own, without the frames of the sampler. */
Test(sample_window, waits_have_a_profile_of_their_own)
{
	static const char *const functions[] = { "bpf_prog_1_sampler_switch",
						 "bpf_trace_run4", "__schedule",
						 "schedule", "do_nanosleep" };
	struct window_frame frames[5];
	struct bytes names[5];
	struct arena arena = { 0 };
	struct labels *series = labels_of("a");
	struct sample_window *w = sample_window_new(0);
	struct decoder *decoder = decoder_new(1 << 20);
	struct buf encoded = { 0 };
	struct window_input in = { .series = series,
				   .labels = { .set = SAMPLE_LABEL_PID },
				   .kind = WINDOW_OFF_CPU,
				   .frames = frames,
				   .count = 5 };
	struct pprof *p;

	for (size_t i = 0; i < 5; i++) {
		frames[i] = (struct window_frame){ .kind = FRAME_KERNEL,
						   .address = UINT64_MAX - i };
		names[i] = answer_of(&arena, functions[i], 0);
	}
	/* A wait that goes on, and its end. */
	in.value = 500;
	sample_window_add(w, &in);
	in.samples = 10;
	in.value = 2000;
	sample_window_add(w, &in);
	cr_expect(!window_profile_encode(w, 0, WINDOW_CPU, names, 5, &encoded));
	cr_expect(!encoded.len);
	cr_assert(window_profile_encode(w, 0, WINDOW_OFF_CPU, names, 10,
					&encoded));
	cr_assert(!decoder_run(decoder, buf_bytes(&encoded), &p, NULL));
	cr_assert(p->samples.count == 1);
	cr_assert(p->locations.count == 3);
	cr_assert(p->values.v[0] == 10);
	cr_expect(p->values.v[1] == 2500);
	cr_expect(check_str(pprof_str(p, p->types.v[1].type), "wallclock"));
	cr_expect(check_str(pprof_str(p, p->period_type.type), "samples"));
	cr_expect(p->period == 10);
	cr_expect(
		check_str(pprof_str(p, p->functions.v[0].name), "__schedule"));
	decoder_free(decoder);
	buf_fini(&encoded);
	arena_fini(&arena);
	sample_window_free(w);
	labels_unref(series);
}

/* Files that are read after the sample was taken are known at the end. */
Test(sample_window, facts_of_files_may_come_later)
{
	struct table_store store;
	struct file_table files;
	struct sample_window *w = sample_window_new(0);
	uint64_t address;

	table_store_init(&store, NULL, 0);
	file_table_init(&files, &store, NULL);
	(void)file_table_get(
		&files, str_of("/bin/a"),
		&(struct file_identity){
			.is_build_id = true,
			.bytes = { (const uint8_t *)"\xab\x01", 2 } },
		&(struct process_uid){ .is_known = true }, 0x3fffffff);
	sample_window_file(w, &files, 0);
	cr_expect(!window_file_address(&w->files.v[0], 0x1234, &address));
	add_file(&files);
	sample_window_refresh(w, &files);
	cr_assert(window_file_address(&w->files.v[0], 0x1234, &address));
	cr_expect(address == 0x401234);
	cr_expect(!window_file_address(&w->files.v[0], 0x2000, &address));
	sample_window_free(w);
	file_table_fini(&files);
	table_store_fini(&store);
}
