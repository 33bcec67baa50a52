/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF queue: its descriptor is readable only while there is a result. */
#include "bpf/collect/elf_queue.h"

#include <poll.h>

#include "tests/check.h"

TestSuite(elf_queue, .timeout = 60);

static char *const no_helper[] = { (char *)"/nowhere", NULL };

static bool is_readable(struct elf_queue *q, int timeout_ms)
{
	struct pollfd p = { .fd = elf_queue_fd(q), .events = POLLIN };

	return poll(&p, 1, timeout_ms) > 0;
}

Test(elf_queue, a_result_that_was_taken_leaves_nothing_to_read)
{
	struct elf_queue *q = elf_queue_open(no_helper, no_helper);
	const struct mapped_file f = { .path = (char *)"/nowhere",
				       .pid = 0x3fffffff };
	struct elf_result r;

	for (uint32_t i = 0; i < 3000; i++) {
		elf_queue_submit(q, i, &f, 0);
		/* Take it at once, not when the descriptor says so. */
		while (!elf_queue_take(q, &r)) {
		}
		cr_assert(r.number == i);
		cr_assert(!r.good);
		elf_result_fini(&r);
		cr_assert(!is_readable(q, 0), "%u", i);
	}
	cr_expect(!is_readable(q, 20));
	elf_queue_submit(q, 0, &f, 0);
	cr_expect(is_readable(q, 10000));
	cr_expect(elf_queue_take(q, &r));
	elf_result_fini(&r);
	elf_queue_close(q);
}
