/* SPDX-License-Identifier: Apache-2.0 */
/* Frame names: of code that a process has compiled, and the time for them. */
#include "bpf/collect/frame_names.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/check.h"

TestSuite(frame_names, .timeout = 60);

/* A helper that never answers. */
static char *const silent[] = { (char *)"/bin/sleep", (char *)"1000", NULL };

/* Note this process as one that is sampled now. Returns whether it is new. */
static bool note_self(struct sample_window *w, uint64_t sampled_ns)
{
	bool is_new;

	cr_assert(!sample_window_process(
		w,
		&(struct window_process){ (uint32_t)getpid(), 0, sampled_ns },
		&is_new));
	return is_new;
}

/* A window with a frame of code that this process, as a user, has compiled. */
static struct sample_window *window_of(uint32_t uid)
{
	struct sample_window *w = sample_window_new(0);
	const uint32_t self = (uint32_t)getpid();
	struct file_helper *processes = file_helper_new(silent);
	struct jit_process j;

	jit_process_read(&j, self, processes);
	file_helper_close(processes);
	j.user.uid = uid;
	*vec_add(&w->frames) = (struct window_frame){ .kind = FRAME_ANONYMOUS };
	cr_assert(note_self(w, (uint64_t)clock_mono_ns()));
	sample_window_take_process(w, &j);
	return w;
}

/* A map that cannot be opened takes as long as one that can be read. */
Test(frame_names, the_time_to_open_a_map_is_charged)
{
	const struct frame_names_options o = { .helper_argv = silent,
					       .process_argv = silent,
					       .window_ms = 10000 };
	struct sample_window *w = window_of(54321);
	struct arena arena = { 0 };
	struct frame_names n;
	struct bytes name;
	struct err err;

	frame_names_init(&n, &o, &err);
	frame_names_find(&n, w, &arena, &name);
	cr_expect(!name.len);
	cr_assert(n.budget.user_count == 2);
	cr_assert(n.budget.users[1].uid == 54321);
	cr_expect(n.budget.users[1].spent >=
		  PROCESS_READER_TIMEOUT_MS * 1000000LL);
	frame_names_fini(&n);
	arena_fini(&arena);
	sample_window_free(w);
}

/*
 * Whether the map of this process, which no answer told of in time, names its
 * code, if a process with this PID was sampled at a time.
 */
static bool is_named(uint64_t sampled_ns)
{
	static char *const helper[] = { (char *)ELF_HELPER, NULL };
	static char *const proc[] = { (char *)ELF_HELPER, (char *)"proc",
				      NULL };
	const struct frame_names_options o = { .helper_argv = helper,
					       .process_argv = proc };
	struct sample_window *w = sample_window_new(0);
	struct arena arena = { 0 };
	struct frame_names n;
	struct bytes name;
	struct err err;
	char path[64];
	bool named;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	cr_assert(f);
	cr_assert(fprintf(f, "5000 100 compiled\n") > 0);
	cr_assert(!fclose(f));
	*vec_add(&w->frames) = (struct window_frame){ .kind = FRAME_ANONYMOUS,
						      .address = 0x5010 };
	cr_assert(note_self(w, sampled_ns));
	frame_names_init(&n, &o, &err);
	frame_names_find(&n, w, &arena, &name);
	unlink(path);
	named = name.len && memmem(name.ptr, name.len, "compiled", 8);
	frame_names_fini(&n);
	arena_fini(&arena);
	sample_window_free(w);
	return named;
}

/* The answer about a process may come when its window is with the writer. */
Test(frame_names, a_process_that_was_not_read_in_time_is_read_again)
{
	cr_expect(is_named((uint64_t)clock_mono_ns()));
}

/* A minute ago, before this process began, its PID was that of another one. */
Test(frame_names, a_process_that_began_later_does_not_name_code)
{
	cr_expect(!is_named((uint64_t)clock_mono_ns() - 60000000000));
}
