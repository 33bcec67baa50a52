/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats: what they say of a window, and when there is none. */
#include "bpf/collect/profile_writer.h"
#include "bpf/kernel/cpu_times.h"
#include "pprof/proto/decode.h"
#include "tests/check.h"

TestSuite(heartbeat, .timeout = 50);

#define PERIOD 50000000

static struct labels *labels_of(const char *exe)
{
	struct labels_builder b = { 0 };
	struct labels *out;

	labels_set(&b, str_of(LABEL_NAME), str_of("process_cpu"));
	labels_set(&b, str_of("job"), str_of("ebpf"));
	labels_set(&b, str_of("node"), str_of("n1"));
	labels_set(&b, str_of("exe"), str_of(exe));
	cr_assert(!labels_build(&b, &out, NULL));
	labels_builder_fini(&b);
	return out;
}

/* Add samples of a program to a window. */
static void add_samples(struct sample_window *w, const char *exe,
			enum window_kind kind, uint64_t samples)
{
	const struct window_frame frame = { .kind = FRAME_KERNEL,
					    .address = 1 };
	struct labels *ls = labels_of(exe);

	sample_window_add(w, &(struct window_input){ .series = ls,
						     .kind = kind,
						     .samples = samples,
						     .value = samples * PERIOD,
						     .frames = &frame,
						     .count = 1 });
	labels_unref(ls);
}

/* A window from 5 s to 15 s with 7 samples of CPU time, and 200 waits. */
static struct sample_window *make_window(void)
{
	struct sample_window *w = sample_window_new(5000000000);

	w->end_ns = 15000000000;
	w->account.is_sampled = true;
	add_samples(w, "a", WINDOW_CPU, 3);
	add_samples(w, "b", WINDOW_CPU, 4);
	add_samples(w, "b", WINDOW_OFF_CPU, 200);
	return w;
}

/* Check the values of the sample with a state. */
static void check_state(const struct pprof *p, size_t i, const char *state,
			const int64_t *want)
{
	const struct pprof_label *l =
		&p->labels.v[p->label_sets.v[p->samples.v[i].labels].first];

	cr_expect(check_str(pprof_str(p, l->key), "state"));
	cr_expect(check_str(pprof_str(p, l->str), state));
	cr_expect(!p->stacks.v[p->samples.v[i].stack].count);
	for (size_t k = 0; k < p->types.count; k++)
		cr_expect(p->values.v[i * p->types.count + k] == want[k],
			  "%s, value %zu", state, k);
}

Test(heartbeat, it_has_all_samples_and_the_account_of_the_kernel)
{
	struct sample_window *w = make_window();
	struct decoder *decoder = decoder_new(1 << 20);
	struct buf encoded = { 0 };
	struct pprof *p;
	struct err err;

	w->account = (struct window_account){ .dropped = 93,
					      .lost = { 1, 2 },
					      .times = { 5040000000, 70000000 },
					      .is_sampled = true };
	cr_assert(heartbeat_encode(w, WINDOW_CPU, PERIOD, &encoded));
	cr_assert(!decoder_run(decoder, buf_bytes(&encoded), &p, &err), "%s",
		  err.msg);
	cr_assert(p->time_ns == 5000000000);
	cr_assert(p->duration_ns == 10000000000);
	cr_expect(p->period == PERIOD);
	cr_assert(p->types.count == 3);
	cr_assert(p->samples.count == 5);
	cr_expect(check_str(pprof_str(p, p->types.v[1].type), "cpu"));
	cr_expect(check_str(pprof_str(p, p->types.v[2].type), "kernel"));
	check_state(p, 0, "kept", (int64_t[]){ 7, 7 * PERIOD, 0 });
	check_state(p, 1, "dropped", (int64_t[]){ 93, 93LL * PERIOD, 0 });
	check_state(p, 2, "lost", (int64_t[]){ 1, PERIOD, 0 });
	check_state(p, 3, "busy", (int64_t[]){ 0, 0, 5040000000 });
	check_state(p, 4, "stolen", (int64_t[]){ 0, 0, 70000000 });
	buf_reset(&encoded);
	cr_assert(heartbeat_encode(w, WINDOW_OFF_CPU, 5, &encoded));
	cr_assert(!decoder_run(decoder, buf_bytes(&encoded), &p, &err));
	cr_assert(p->types.count == 2);
	cr_assert(p->samples.count == 2);
	check_state(p, 0, "kept", (int64_t[]){ 200, 200LL * PERIOD });
	/* Of 5 waits, one is sampled. */
	check_state(p, 1, "lost", (int64_t[]){ 10, 0 });
	buf_fini(&encoded);
	decoder_free(decoder);
	sample_window_free(w);
}

/* The others would be taken for all samples. */
Test(heartbeat, there_is_none_if_too_many_samples_are_lost)
{
	struct sample_window *w = make_window();
	struct buf out = { 0 };

	w->account.dropped = 88;
	w->account.lost[WINDOW_CPU] = 5;
	cr_expect(heartbeat_encode(w, WINDOW_CPU, PERIOD, &out), "5 of 100");
	buf_reset(&out);
	w->account.lost[WINDOW_CPU] = 6;
	cr_assert(!heartbeat_encode(w, WINDOW_CPU, PERIOD, &out));
	cr_expect(!out.len);
	/* Each kind is judged by its own samples. */
	cr_expect(heartbeat_encode(w, WINDOW_OFF_CPU, 5, &out));
	buf_reset(&out);
	w->account.lost[WINDOW_OFF_CPU] = 3;
	cr_assert(!heartbeat_encode(w, WINDOW_OFF_CPU, 5, &out));
	cr_expect(!out.len);
	buf_fini(&out);
	sample_window_free(w);
}

/* An idle machine was looked at, too; before sampling begins, nobody looks. */
Test(heartbeat, a_window_without_samples_has_one)
{
	struct sample_window *w = sample_window_new(0);
	struct buf out = { 0 };

	cr_assert(!heartbeat_encode(w, WINDOW_CPU, PERIOD, &out));
	cr_expect(!out.len);
	w->account.is_sampled = true;
	cr_assert(heartbeat_encode(w, WINDOW_CPU, PERIOD, &out));
	cr_expect(out.len);
	buf_fini(&out);
	sample_window_free(w);
}

/* What a sink has got, and what it refuses. */
struct taken {
	char names[8][96]; /* the series, in the order of the profiles */
	int64_t ms;        /* of the last one */
	int count;
	int refused; /* the profile with this number is refused */
};

static int take(void *ctx, struct labels *labels, int64_t ms,
		struct bytes profile, struct err *err)
{
	struct taken *t = ctx;
	struct buf text = { 0 };
	int n = t->count++;

	cr_assert(n < 8);
	cr_assert(profile.len);
	labels_text(labels, &text);
	snprintf(t->names[n], sizeof(*t->names), "%s", buf_cstr(&text));
	buf_fini(&text);
	t->ms = ms;
	return n == t->refused ? err_set(err, ERR_INVALID, "no") : 0;
}

/* Write the window of make_window(), and one without a sample. */
static void write_windows(struct taken *t, struct labels *node)
{
	static char *const no_helper[] = { (char *)"/nowhere", NULL };
	struct sample_window *idle = sample_window_new(15000000000);
	struct profile_writer *w = profile_writer_open(
		&(struct profile_writer_options){ .hz = 20,
						  .off_cpu = 100,
						  .helper_argv = no_helper,
						  .node = node,
						  .sink = take,
						  .ctx = t });

	idle->end_ns = 25000000000;
	idle->account.is_sampled = true;
	profile_writer_give(w, make_window());
	profile_writer_give(w, idle);
	profile_writer_close(w);
}

Test(heartbeat, it_comes_after_all_profiles_of_its_window)
{
	struct labels *node = labels_of("");
	struct taken t = { .refused = -1 };
	static const char *const want[] = {
		"process_cpu{exe=\"a\",job=\"ebpf\",node=\"n1\"}",
		"process_cpu{exe=\"b\",job=\"ebpf\",node=\"n1\"}",
		"process_off_cpu{exe=\"b\",job=\"ebpf\",node=\"n1\"}",
		"node_cpu{job=\"ebpf\",node=\"n1\"}",
		"node_off_cpu{job=\"ebpf\",node=\"n1\"}",
		"node_cpu{job=\"ebpf\",node=\"n1\"}",
		"node_off_cpu{job=\"ebpf\",node=\"n1\"}",
	};

	write_windows(&t, node);
	cr_assert(t.count == ARRAY_SIZE(want));
	cr_assert(t.ms == 15000);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		cr_expect(!strcmp(t.names[i], want[i]), "%s", t.names[i]);
	labels_unref(node);
}

/*
 * Otherwise, programs would seem to have used no CPU time: here 4 of 7 samples
 * were not stored.
 */
Test(heartbeat, samples_of_profiles_that_were_not_stored_are_lost)
{
	struct labels *node = labels_of("");
	struct taken t = { .refused = 1 };

	write_windows(&t, node);
	cr_assert(t.count == 6);
	cr_expect(!strncmp(t.names[2], "process_off_cpu{", 16));
	cr_expect(!strncmp(t.names[3], "node_off_cpu{", 13));
	cr_assert(!strncmp(t.names[4], "node_cpu{", 9),
		  "only the second window has a heartbeat of CPU time");
	cr_expect(t.ms == 15000,
		  "only the second window has a heartbeat of CPU time");
	labels_unref(node);
}

Test(heartbeat, few_samples_that_were_not_stored_leave_the_heartbeat)
{
	struct sample_window *w = make_window();
	struct decoder *decoder = decoder_new(1 << 20);
	struct buf encoded = { 0 };
	struct pprof *p;
	struct err err;

	w->account.dropped = 193;
	w->account.refused[WINDOW_CPU] =
		(struct window_total){ 4, 4LL * PERIOD };
	cr_assert(heartbeat_encode(w, WINDOW_CPU, PERIOD, &encoded));
	cr_assert(!decoder_run(decoder, buf_bytes(&encoded), &p, &err));
	check_state(p, 0, "kept", (int64_t[]){ 3, 3LL * PERIOD, 0 });
	check_state(p, 2, "lost", (int64_t[]){ 4, 4LL * PERIOD, 0 });
	buf_fini(&encoded);
	decoder_free(decoder);
	sample_window_free(w);
}

Test(heartbeat, recordings_have_none)
{
	struct taken t = { .refused = -1 };

	write_windows(&t, NULL);
	cr_expect(t.count == 3);
}

Test(heartbeat, the_kernel_tells_how_long_cpus_were_busy)
{
	static const char *const bad[] = {
		/* Kernels before 2.6.11 have fewer columns. */
		"cpu  1 2 3 4 5 6 7\n",
		"cpu0 1 2 3 4 5 6 7 8\n",
		"",
		"cpu  -1 2 3 4 5 6 7 8\n",
		"cpu  1 2 9223372036854775807 4 5 6 7 8\n",
	};
	struct cpu_times t;

	cr_assert(cpu_times_parse(
		str_of("cpu  100 20 3 9999 50 4 5 60 70 0\ncpu0 1 2\n"), 100,
		&t));
	cr_assert(t.busy_ns == 132 * 10000000LL);
	cr_expect(t.stolen_ns == 60 * 10000000LL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect(!cpu_times_parse(str_of(bad[i]), 100, &t), "%s",
			  bad[i]);
	cr_assert(cpu_times_read(&t));
	cr_expect(t.busy_ns > 0);
}
