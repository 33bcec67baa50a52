/* SPDX-License-Identifier: Apache-2.0 */
/* The scan queue: this process, all processes, and helpers that do not answer. */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/collect/scan_queue.h"
#include "tests/check.h"

TestSuite(scan_queue, .timeout = 60);

static char *const program[] = { (char *)ELF_HELPER, (char *)"proc", NULL };

/* Wait for a result. */
static struct scan_result take(struct scan_queue *q)
{
	struct pollfd p = { .fd = scan_queue_fd(q), .events = POLLIN };
	struct scan_result r;

	while (!scan_queue_take(q, &r))
		(void)poll(&p, 1, -1);
	return r;
}

Test(scan_queue, reads_what_is_asked_for)
{
	struct scan_queue *q = scan_queue_open(program, NULL);
	const uint32_t self = (uint32_t)getpid();
	bool seen[3] = { false };

	cr_expect(scan_queue_is_idle(q));
	scan_queue_add(q, SCAN_FACTS, self);
	scan_queue_add(q, SCAN_MAPS, self);
	scan_queue_add(q, SCAN_JIT, self);
	for (int i = 0; i < 3; i++) {
		struct scan_result r = take(q);

		cr_assert(r.good);
		cr_assert(r.pid == self);
		cr_assert(r.read_ns);
		cr_expect(!seen[r.kind]);
		seen[r.kind] = true;
		if (r.kind == SCAN_JIT) {
			cr_assert(r.jit.is_read);
			cr_assert(r.jit.own == self);
			cr_expect(r.jit.user.uid == getuid());
		} else {
			cr_assert(r.text.name.len);
			cr_assert(r.text.exe.len);
			cr_expect(!r.text.maps.len == (r.kind == SCAN_FACTS));
		}
		scan_result_fini(&r);
	}
	while (!scan_queue_is_idle(q))
		usleep(1000);
	scan_queue_close(q);
}

/* More processes than results that may wait, and a process that is not there. */
Test(scan_queue, reads_all_processes)
{
	struct scan_queue *q = scan_queue_open(program, NULL);
	bool found = false;

	scan_queue_add(q, SCAN_MAPS, 0x3fffffff);
	scan_queue_add_all(q);
	while (!scan_queue_is_idle(q)) {
		struct scan_result r;

		if (!scan_queue_take(q, &r)) {
			usleep(1000);
			continue;
		}
		cr_expect(r.kind == SCAN_MAPS);
		cr_expect(r.pid != 0x3fffffff || !r.good);
		found |= r.pid == (uint32_t)getpid() && r.text.maps.len;
		scan_result_fini(&r);
	}
	cr_expect(found);
	scan_queue_close(q);
}

/* More rounds are asked for than can be read: they do not add up. */
Test(scan_queue, a_round_begins_when_the_last_one_has_ended)
{
	struct scan_queue *q = scan_queue_open(program, NULL);
	pid_t others[40];
	int found = 0;

	/* More processes than results that may wait. */
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = fork();
		if (!others[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	for (int taken = 0; taken < 10 || !scan_queue_is_idle(q);) {
		struct scan_result r;

		if (taken < 10)
			scan_queue_add_all(q);
		if (!scan_queue_take(q, &r)) {
			usleep(100);
			continue;
		}
		taken++;
		found += r.pid == (uint32_t)getpid();
		scan_result_fini(&r);
	}
	cr_expect(found == 2, "%d", found);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	scan_queue_close(q);
}

/* A user whose processes are read slowly may be asked about all the time. */
Test(scan_queue, the_wishes_of_a_user_are_limited)
{
	const uint32_t ended = 0x3fffffff;
	struct scan_queue *q = scan_queue_open(program, NULL);
	int results = 0;

	/* So many results may wait that the thread stops to read. */
	for (int i = 0; i < 100; i++)
		scan_queue_add(q, SCAN_FACTS, ended);
	usleep(200000);
	for (int i = 0; i < SCAN_WISHES_MAX + 1000; i++)
		scan_queue_add(q, SCAN_FACTS, ended);
	while (!scan_queue_is_idle(q)) {
		struct scan_result r;

		if (!scan_queue_take(q, &r))
			continue;
		results++;
		scan_result_fini(&r);
	}
	cr_expect(results >= SCAN_WISHES_MAX);
	cr_expect(results < SCAN_WISHES_MAX + 200, "%d", results);
	scan_queue_close(q);
}

/* A queue is closed while its helper waits, with wishes and results left. */
Test(scan_queue, closes_while_a_helper_does_not_answer)
{
	static char *const silent[] = { (char *)"/bin/sleep", (char *)"1000",
					NULL };
	struct scan_queue *q = scan_queue_open(silent, NULL);
	struct scan_result r;

	for (int i = 0; i < 50; i++)
		scan_queue_add(q, SCAN_MAPS, (uint32_t)getpid());
	r = take(q);
	cr_expect(!r.good);
	scan_result_fini(&r);
	cr_expect(!scan_queue_is_idle(q));
	scan_queue_close(q);
}
