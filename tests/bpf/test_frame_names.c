/* SPDX-License-Identifier: Apache-2.0 */
/* Frame names: of code that a process has compiled, and the time for them. */
#include "bpf/profile/frame_names.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/check.h"

TestSuite(frame_names, .timeout = 60);

/* A helper that never answers. */
static char *const silent[] = { (char *)"/bin/sleep", (char *)"1000", NULL };

/* A window with a frame of code that this process, as a user, has compiled. */
static struct sample_window *window_of(uint32_t uid)
{
	struct sample_window *w = sample_window_new(0);
	const uint32_t self = (uint32_t)getpid();
	struct jit_process j = {
		.pid = self, .is_read = true, .own = self, .map = -1
	};

	j.user.uid = uid;
	*vec_add(&w->frames) =
		(struct window_frame){ .kind = FRAME_ANONYMOUS, .owner = self };
	cr_assert(sample_window_process(w, self));
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
	cr_assert(n.budget.user_count == 2 && n.budget.users[1].uid == 54321);
	cr_expect(n.budget.users[1].spent >=
		  PROCESS_READER_TIMEOUT_MS * 1000000LL);
	frame_names_fini(&n);
	arena_fini(&arena);
	sample_window_free(w);
}

/* The answer about a process may come when its window is with the writer. */
Test(frame_names, a_process_that_was_not_read_in_time_is_read_again)
{
	static char *const helper[] = { (char *)ELF_HELPER, NULL };
	static char *const proc[] = { (char *)ELF_HELPER, (char *)"proc",
				      NULL };
	const struct frame_names_options o = { .helper_argv = helper,
					       .process_argv = proc };
	struct sample_window *w = sample_window_new(0);
	const uint32_t self = (uint32_t)getpid();
	struct arena arena = { 0 };
	struct frame_names n;
	struct bytes name;
	struct err err;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", self);
	f = fopen(path, "w");
	cr_assert(f && fprintf(f, "5000 100 compiled\n") > 0 && !fclose(f));
	*vec_add(&w->frames) = (struct window_frame){ .kind = FRAME_ANONYMOUS,
						      .owner = self,
						      .address = 0x5010 };
	cr_assert(sample_window_process(w, self));
	frame_names_init(&n, &o, &err);
	frame_names_find(&n, w, &arena, &name);
	unlink(path);
	cr_expect(name.len && memmem(name.ptr, name.len, "compiled", 8));
	frame_names_fini(&n);
	arena_fini(&arena);
	sample_window_free(w);
}
