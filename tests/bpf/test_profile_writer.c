/* SPDX-License-Identifier: Apache-2.0 */
/* The profile writer: what becomes of profiles that storage refuses. */
#include "bpf/collect/profile_writer.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bpf/collect/sample_labels.h"
#include "tests/check.h"

TestSuite(profile_writer, .timeout = 50);

static char *const no_helper[] = { (char *)"/nowhere", NULL };

/* A sink that refuses everything for now. */
static int refuse_all(void *ctx, struct labels *labels UNUSED,
		      int64_t ms UNUSED, struct bytes profile UNUSED,
		      struct err *err)
{
	atomic_fetch_add((_Atomic int *)ctx, 1);
	return err_set(err, ERR_AGAIN, "the disk is full");
}

/* A window with one sample in each of some series. */
static struct sample_window *window_of(int series)
{
	struct sample_window *w = sample_window_new(0);
	const struct window_frame frame = { .kind = FRAME_KERNEL,
					    .address = 1 };

	for (int i = 0; i < series; i++) {
		struct labels_builder b = { 0 };
		struct labels *ls;
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		labels_set(&b, str_of("__name__"), str_of("process_cpu"));
		labels_set(&b, str_of("exe"), str_of(name));
		cr_assert(!labels_build(&b, &ls, NULL));
		labels_builder_fini(&b);
		sample_window_add(w, &(struct window_input){ .series = ls,
							     .samples = 1,
							     .value = 1,
							     .frames = &frame,
							     .count = 1 });
		labels_unref(ls);
	}
	return w;
}

/* Each attempt would be followed by a pause of a second, for a minute. */
Test(profile_writer, a_sink_that_refuses_does_not_delay_the_end)
{
	_Atomic int calls = 0;
	struct profile_writer *w = profile_writer_open(
		&(struct profile_writer_options){ .hz = 19,
						  .helper_argv = no_helper,
						  .sink = refuse_all,
						  .ctx = &calls });
	uint64_t written;
	uint64_t failed;
	size_t given = 1;
	int before;

	profile_writer_give(w, window_of(100));
	while (!atomic_load(&calls))
		usleep(1000);
	/* The writer is busy with the first window while others fill it. */
	while (profile_writer_has_room(w)) {
		profile_writer_give(w, window_of(100));
		given++;
	}
	before = atomic_load(&calls);
	profile_writer_hurry(w);
	while (!profile_writer_has_room(w))
		usleep(1000);
	profile_writer_give(w, window_of(1));
	profile_writer_stop(w);
	profile_writer_counts(w, &written, &failed);
	cr_assert(!written, "%d", (int)failed);
	cr_expect(failed == 100 * given + 1, "%d", (int)failed);
	cr_expect(atomic_load(&calls) - before <= 2);
	profile_writer_close(w);
}
