/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of the collector, and the samples that it takes into them, with a
 * kernel, a writer and a reader of processes that the test plays.
 */
#include "bpf/collect/collector_window.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/collect/collector_private.h"
#include "bpf/collect/collector_samples.h"
#include "tests/check.h"

TestSuite(collector_window, .timeout = 60);
TestSuite(collector_samples, .timeout = 60);

enum {
	MAPPINGS = 64,
	GIVEN_MAX = 16,
	HZ = 100,
};

/* The kernel's counters. */
static uint64_t counters[SAMPLER_COUNTERS];

/*
 * The writer: what it was given, whether it takes more, and how often it was
 * asked while it did not. Like the real one with a storage that refuses, it
 * takes more after it was told to hurry.
 */
static struct {
	struct sample_window *v[GIVEN_MAX];
	size_t count;
	bool full;
	int refusals;
} writer;

/* What the collector has asked to be read. */
static struct {
	enum scan_kind kind;
	uint32_t pid;
	size_t count;
} asked;

int sampler_counts(struct sampler *s UNUSED, uint64_t out[SAMPLER_COUNTERS],
		   struct err *err UNUSED)
{
	memcpy(out, counters, sizeof(counters));
	return 0;
}

bool profile_writer_has_room(struct profile_writer *w UNUSED)
{
	if (writer.full)
		cr_assert(writer.refusals++ < 100, "waits without an end");
	return !writer.full;
}

void profile_writer_hurry(struct profile_writer *w UNUSED)
{
	writer.full = false;
}

void profile_writer_give(struct profile_writer *w UNUSED,
			 struct sample_window *window)
{
	cr_assert(writer.count < GIVEN_MAX);
	writer.v[writer.count++] = window;
}

void scan_queue_add(struct scan_queue *q UNUSED, enum scan_kind kind,
		    uint32_t pid)
{
	asked.kind = kind;
	asked.pid = pid;
	asked.count++;
}

/* A collector without threads, whose windows are as short as can be. */
struct fixture {
	struct collector c;
	struct labels *labels;
	struct sampler_mapping mappings[MAPPINGS];
	struct unwind_row entries[100];
};

static bool publish(void *ctx UNUSED, uint32_t pid UNUSED,
		    const struct sampler_process *p UNUSED)
{
	return true;
}

static void unpublish(void *ctx UNUSED, uint32_t pid UNUSED)
{
}

static struct labels *labels_of(const char *name)
{
	struct labels_builder b = { 0 };
	struct labels *out;

	labels_set(&b, str_of(LABEL_NAME), str_of("process_cpu"));
	labels_set(&b, str_of("exe"), str_of(name));
	cr_assert(!labels_build(&b, &out, NULL));
	labels_builder_fini(&b);
	return out;
}

static void begin(struct fixture *f, bool one_series)
{
	const struct process_publisher publisher = { .set = publish,
						     .remove = unpublish };
	struct collector *c = &f->c;

	memset(f, 0, sizeof(*f));
	memset(counters, 0, sizeof(counters));
	memset(&writer, 0, sizeof(writer));
	memset(&asked, 0, sizeof(asked));
	f->labels = labels_of("one");
	c->o = (struct collector_options){ .hz = HZ,
					   .off_cpu = 1,
					   .interval_ms = 0,
					   .memory = COLLECTOR_MEMORY,
					   .labels = one_series ? f->labels :
								  NULL };
	table_store_init(&c->store, f->entries, 100);
	file_table_init(&c->files, &c->store, NULL);
	process_table_init(&c->processes, &c->files, f->mappings, MAPPINGS,
			   &publisher);
	process_groups_init(&c->groups, "node", "/nonexistent", NULL);
	c->stats.sampling = true;
	collector_window_begin(c);
}

static void end(struct fixture *f)
{
	struct collector *c = &f->c;

	for (size_t i = 0; i < writer.count; i++)
		sample_window_free(writer.v[i]);
	sample_window_free(c->window);
	sample_window_free(c->closing);
	held_samples_fini(&c->held);
	waiting_threads_fini(&c->waiting);
	process_groups_fini(&c->groups);
	process_table_fini(&c->processes);
	file_table_fini(&c->files);
	table_store_fini(&c->store);
	vec_fini(&c->frames);
	labels_unref(f->labels);
}

/* A record of a thread in the kernel. */
static struct sample_record record_at(uint64_t time, enum sample_kind kind)
{
	return (struct sample_record){
		.header = { .time = time,
			    .pid = (uint32_t)getpid(),
			    .tid = (uint32_t)syscall(SYS_gettid),
			    .kernel = 1,
			    .end = SAMPLE_KERNEL,
			    .kind = (uint8_t)kind,
			    .comm = "worker" },
		.words = { 0xffff0000 },
	};
}

static void take(struct fixture *f, uint64_t time)
{
	const struct sample_record r = record_at(time, SAMPLE_ON_CPU);

	collector_take(&f->c, &r);
}

/* Samples of CPU time in a window. */
static uint64_t samples_of(const struct sample_window *w)
{
	return sample_window_total(w, WINDOW_CPU, WINDOW_ALL_SERIES).count;
}

static uint64_t now_ns(void)
{
	return (uint64_t)clock_mono_ns();
}

/* Let some time pass, which a window can have. */
static void let_pass(void)
{
	usleep(3000);
}

Test(collector_window, a_sample_belongs_to_the_window_of_its_time)
{
	struct fixture f;
	uint64_t before;

	begin(&f, true);
	take(&f, now_ns());
	let_pass();
	before = now_ns();
	let_pass();
	collector_window_turn(&f.c);
	cr_assert(f.c.closing, "samples may be missing");
	cr_expect(!writer.count, "samples may be missing");
	/* A sample from before the end comes later. */
	cr_expect(collector_window_of(&f.c, before) == f.c.closing);
	take(&f, before);
	collector_window_turn(&f.c);
	cr_expect(!writer.count);
	/* One from after the end: those from before are all there. */
	take(&f, (uint64_t)f.c.window_at);
	collector_window_turn(&f.c);
	cr_assert(writer.count == 1);
	cr_expect(samples_of(writer.v[0]) == 2);
	cr_expect(writer.v[0]->end_ns > writer.v[0]->start_ns);
	cr_expect(!(writer.v[0]->end_ns % 1000000) ==
		  !(writer.v[0]->start_ns % 1000000));
	cr_expect(samples_of(f.c.window ? f.c.window : f.c.closing) <= 1);
	end(&f);
}

Test(collector_window, a_window_waits_for_samples_that_are_held)
{
	struct held_sample held;
	struct sample_record r;
	struct fixture f;
	size_t at = 0;

	begin(&f, true);
	r = record_at(now_ns(), SAMPLE_ON_CPU);
	cr_assert(held_samples_add(
		&f.c.held, &r, 0,
		&(struct window_input){ .time = r.header.time, .samples = 1 },
		0));
	let_pass();
	collector_window_turn(&f.c);
	take(&f, now_ns());
	collector_window_turn(&f.c);
	cr_assert(f.c.closing);
	cr_expect(!writer.count);
	/* They have waited long enough. */
	f.c.now = HELD_SAMPLES_MS + 1;
	collector_take_held(&f.c, f.c.now);
	cr_expect(!held_samples_take(&f.c.held, &at, NULL, NULL, UINT64_MAX,
				     &held));
	collector_window_turn(&f.c);
	cr_assert(writer.count == 1);
	cr_expect(samples_of(writer.v[0]) == 1);
	end(&f);
}

Test(collector_window, a_busy_writer_is_waited_for)
{
	struct fixture f;

	begin(&f, true);
	writer.full = true;
	let_pass();
	collector_window_turn(&f.c);
	take(&f, now_ns());
	collector_window_turn(&f.c);
	cr_assert(!writer.count);
	cr_expect(f.c.closing);
	cr_expect(!collector_window_make_room(&f.c));
	writer.full = false;
	collector_window_turn(&f.c);
	cr_expect(writer.count == 1);
	end(&f);
}

Test(collector_window, what_the_kernel_counted_is_of_the_window)
{
	const struct window_account *a;
	struct fixture f;

	counters[SAMPLER_IGNORED] = 100;
	begin(&f, true);
	counters[SAMPLER_IGNORED] = 7;
	counters[SAMPLER_RING_FULL] = 5;
	counters[SAMPLER_TICKS_LOST] = 2;
	let_pass();
	collector_window_turn(&f.c);
	/* A counter that is read a moment later does not lose less than none. */
	counters[SAMPLER_RING_FULL] = 6;
	counters[SAMPLER_TICKS_LOST] = 4;
	take(&f, now_ns());
	collector_window_turn(&f.c);
	take(&f, now_ns());
	let_pass();
	collector_window_turn(&f.c);
	cr_assert(writer.count >= 1);
	a = &writer.v[0]->account;
	cr_assert(a->dropped == 7);
	cr_expect(a->lost[WINDOW_CPU] == 2);
	cr_assert(a->lost[WINDOW_OFF_CPU] == 3);
	cr_expect(a->is_sampled);
	collector_window_make_room(&f.c);
	cr_assert(writer.count >= 2);
	a = &writer.v[1]->account;
	cr_expect(a->lost[WINDOW_CPU] == 2, "%lld",
		  (long long)a->lost[WINDOW_CPU]);
	cr_expect(a->lost[WINDOW_OFF_CPU] == 0);
	end(&f);
}

Test(collector_window, samples_without_room_hand_the_window_over)
{
	struct fixture f;

	begin(&f, true);
	take(&f, now_ns());
	f.c.o.memory = 1;
	take(&f, now_ns());
	cr_expect(writer.count > 0, "windows were handed over early");
	cr_assert(!f.c.stats.memory_full);
	cr_expect(samples_of(f.c.window) == 1);
	/* If the writer takes none, the sample is counted as lost. */
	writer.full = true;
	take(&f, now_ns());
	cr_expect(f.c.stats.memory_full == 1);
	cr_expect(f.c.window->account.lost[WINDOW_CPU] == 1);
	writer.full = false;
	end(&f);
}

Test(collector_window, at_the_end_everything_is_handed_over)
{
	struct fixture f;

	begin(&f, true);
	take(&f, now_ns());
	let_pass();
	collector_window_turn(&f.c);
	take(&f, now_ns());
	collector_window_end(&f.c);
	cr_expect(!collector_window_make_room(&f.c) || writer.count);
	collector_window_give_all(&f.c);
	cr_assert(!f.c.window);
	cr_expect(!f.c.closing);
	cr_assert(writer.count == 2);
	cr_expect(samples_of(writer.v[0]) + samples_of(writer.v[1]) == 2);
	end(&f);
}

Test(collector_window, a_storage_that_refuses_does_not_delay_the_end)
{
	struct fixture f;

	begin(&f, true);
	take(&f, now_ns());
	collector_window_end(&f.c);
	writer.full = true;
	collector_window_give_all(&f.c);
	cr_expect(writer.count == 1);
	end(&f);
}

Test(collector_samples, a_wait_is_split_at_the_end_of_a_window)
{
	struct window_total all = { 0 };
	struct sample_record r;
	struct fixture f;
	size_t parts = 0;
	uint64_t since;

	begin(&f, true);
	r = record_at(now_ns(), SAMPLE_WAITS);
	since = r.header.time;
	collector_take(&f.c, &r);
	let_pass();
	collector_window_turn(&f.c);
	let_pass();
	r = record_at(now_ns(), SAMPLE_RESUMES);
	r.header.since = since;
	collector_take(&f.c, &r);
	collector_window_turn(&f.c);
	collector_window_end(&f.c);
	collector_window_give_all(&f.c);
	for (size_t i = 0; i < writer.count; i++) {
		struct window_total t = sample_window_total(
			writer.v[i], WINDOW_OFF_CPU, WINDOW_ALL_SERIES);

		parts += t.value > 0;
		all.value += t.value;
		all.count += t.count;
	}
	cr_expect(parts >= 2, "%zu", parts);
	cr_expect(all.value == r.header.time - since);
	cr_expect(all.count == 1, "it is one wait");
	end(&f);
}

Test(collector_samples, only_the_wanted_process_is_taken)
{
	struct fixture f;

	begin(&f, true);
	f.c.o.pid = 1;
	take(&f, now_ns());
	cr_expect(!samples_of(f.c.window));
	process_table_mark(&f.c.processes, (uint32_t)getpid(), 0);
	take(&f, now_ns());
	cr_expect(samples_of(f.c.window) == 1);
	end(&f);
}

/* The program of the only series of the window. */
static struct str only_exe(const struct fixture *f)
{
	cr_assert(f->c.window->series.count == 1);
	return labels_get(f->c.window->series.v[0], str_of("exe"));
}

Test(collector_samples, a_process_is_read_before_its_first_sample_is_taken)
{
	struct scan_result read = { .kind = SCAN_FACTS,
				    .pid = (uint32_t)getpid(),
				    .good = true,
				    .text = { .name = str_of("worker"),
					      .exe = str_of("/usr/bin/app"),
					      .cgroup = str_of("0::/x\n"),
					      .cmdline = str_of("app"),
					      .maps = str_of("") } };
	struct fixture f;

	begin(&f, false);
	process_table_mark(&f.c.processes, (uint32_t)getpid(), 0);
	take(&f, now_ns());
	cr_assert(asked.count == 1);
	cr_expect(asked.kind == SCAN_FACTS);
	cr_expect(asked.pid == (uint32_t)getpid());
	cr_expect(!samples_of(f.c.window), "it waits");
	take(&f, now_ns());
	cr_expect(asked.count == 1, "it is asked once");
	read.read_ns = now_ns();
	collector_learn(&f.c, &read);
	collector_take_held(&f.c, 0);
	cr_expect(samples_of(f.c.window) == 2);
	cr_expect(check_str(only_exe(&f), "app"));
	end(&f);
}

Test(collector_samples, a_process_that_cannot_be_read_is_known_by_its_thread)
{
	struct scan_result read = { .kind = SCAN_FACTS,
				    .pid = (uint32_t)getpid() };
	struct fixture f;

	begin(&f, false);
	process_table_mark(&f.c.processes, (uint32_t)getpid(), 0);
	take(&f, now_ns());
	read.read_ns = now_ns();
	collector_learn(&f.c, &read);
	collector_take_held(&f.c, 0);
	cr_expect(samples_of(f.c.window) == 1);
	cr_expect(check_str(only_exe(&f), "worker"));
	end(&f);
}

Test(collector_samples, a_series_without_room_is_lost_and_not_forgotten)
{
	struct fixture f;
	char name[16];

	begin(&f, false);
	for (int i = 0; i < PROCESS_GROUPS_MAX; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		cr_assert(process_groups_find(&f.c.groups,
					      &(struct process_facts){
						      .pid = 1,
						      .exe = str_of(name),
						      .name = str_of(name),
						      .cgroup = str_of("/"),
						      .cmdline = str_of("") },
					      PROCESS_NO_GROUP) !=
			  PROCESS_NO_GROUP);
	}
	take(&f, now_ns());
	collector_take_held(&f.c, HELD_SAMPLES_MS + 1);
	cr_expect(f.c.stats.groups_full == 1);
	cr_expect(f.c.window->account.lost[WINDOW_CPU] == 1);
	cr_expect(!f.c.window->account.dropped, "no rule drops it");
	/* The next sample counts, too: the process is not ignored. */
	take(&f, now_ns());
	collector_take_held(&f.c, 2 * (HELD_SAMPLES_MS + 1));
	cr_expect(f.c.stats.groups_full == 2);
	end(&f);
}
