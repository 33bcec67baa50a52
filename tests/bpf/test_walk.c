/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk up a stack, as it runs in the kernel, over the stack of this process.
 * libgcc must find the same frames.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "bpf/kernel/walk.h"
#include "tests/bpf/own_stack.h"
#include "tests/bpf/process_tables.h"

TestSuite(walk, .timeout = 60);

static struct process_tables tables;

WALK_INLINE long walk_read(void *to, __u32 size, __u64 from)
{
	struct iovec local = { .iov_base = to, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)from,
				.iov_len = size };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) !=
	       (ssize_t)size;
}

WALK_INLINE struct sampler_mapping *walk_mapping(__u32 number)
{
	return number < tables.mappings.count ? &tables.mappings.v[number] :
						NULL;
}

WALK_INLINE struct unwind_row *walk_entry(__u32 number)
{
	return number < tables.entries.count ? &tables.entries.v[number] : NULL;
}

/* Forget tables whose mappings are not in memory of their own. */
static void tables_forget(void)
{
	vec_fini(&tables.entries);
	tables = (struct process_tables){ 0 };
}

/* The frames of a stack, twice. */
struct stacks {
	uint64_t walked[SAMPLE_FRAMES_MAX];
	size_t count;
	enum sample_end end;
	struct own_stack traced;
};

static struct stacks stacks;

/* Walk from registers on. */
static void walk_from(const ucontext_t *c, struct stacks *out)
{
	const greg_t *r = c->uc_mcontext.gregs;
	struct walk w = {
		.ip = (uint64_t)r[REG_RIP],
		.sp = (uint64_t)r[REG_RSP],
		.fp = (uint64_t)r[REG_RBP],
		.count = (uint32_t)tables.mappings.count,
		.exact = 1,
		.end = SAMPLE_TRUNCATED,
	};

	for (out->count = 0; out->count < SAMPLE_FRAMES_MAX;) {
		out->walked[out->count++] = w.ip;
		if (walk_step(&w) != WALK_MORE)
			break;
	}
	out->end = w.end;
}

/* Take both stacks here. */
__attribute__((noinline)) static void stacks_take(void)
{
	ucontext_t c;

	getcontext(&c);
	own_stack_take(&stacks.traced);
	walk_from(&c, &stacks);
}

/* Whether both have the same callers; the innermost frame is at two places. */
static void stacks_compare(void)
{
	cr_expect(stacks.end == SAMPLE_COMPLETE, "end %d after %zu frames",
		  stacks.end, stacks.count);
	cr_expect(stacks.count == (size_t)stacks.traced.count,
		  "%zu frames, libgcc has %d", stacks.count,
		  stacks.traced.count);
	for (size_t i = 1; i < stacks.count && i < (size_t)stacks.traced.count;
	     i++)
		cr_expect(stacks.walked[i] == stacks.traced.frames[i],
			  "frame %zu: %#zx, not %#zx", i,
			  (size_t)stacks.walked[i], stacks.traced.frames[i]);
}

static int depth;

/* qsort() and this function call each other; qsort() has no frame pointer. */
static int compare_deep(const void *a, const void *b)
{
	int pair[2] = { 1, 2 };

	/* A sanitizer's qsort() compares more than once. */
	if (depth-- > 0)
		qsort(pair, 2, sizeof(*pair), compare_deep);
	else if (!stacks.count)
		stacks_take();
	return *(const int *)a - *(const int *)b;
}

Test(walk, callers_are_those_that_libgcc_finds)
{
	int pair[2] = { 1, 2 };

	tables = tables_of(getpid());
	stacks_take();
	stacks_compare();
	stacks.count = 0;
	depth = 10;
	qsort(pair, 2, sizeof(*pair), compare_deep);
	cr_expect(stacks.count > 20);
	stacks_compare();
	tables_fini(&tables);
}

Test(walk, deep_stacks_are_truncated)
{
	int pair[2] = { 1, 2 };

	tables = tables_of(getpid());
	depth = 100;
	qsort(pair, 2, sizeof(*pair), compare_deep);
	cr_expect(stacks.end == SAMPLE_TRUNCATED);
	cr_expect(stacks.count == SAMPLE_FRAMES_MAX);
	tables_fini(&tables);
}

static void on_signal(int number UNUSED)
{
	stacks_take();
}

Test(walk, signal_handlers_are_passed)
{
	static uint8_t memory[64 << 10];
	const stack_t other = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = on_signal };

	tables = tables_of(getpid());
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	stacks_compare();
	/* The handler has a stack of its own, at lower or higher addresses. */
	cr_assert(!sigaltstack(&other, NULL));
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	stacks_compare();
	tables_fini(&tables);
}

/*
 * The CFA of a function is in rbx, which the function that it called has saved:
 * as in ld.so while a function is resolved.
 */
Test(walk, registers_that_the_called_function_saved_are_found)
{
	uint64_t words[6] = { 0 };
	struct unwind_row rows[] = {
		{ .pc = 0, .kind = UNWIND_RSP, .cfa = 2 },
		{ .pc = 0x100,
		  .kind = UNWIND_REGISTER,
		  .cfa = 16 + 3,
		  .fp = -2 },
	};
	struct sampler_mapping mapping = { .start = 0x10000,
					   .end = 0x20000,
					   .bias = 0x10000 };
	struct walk w = {
		.ip = 0x10010, .sp = (uint64_t)words, .count = 1, .exact = 1
	};

	words[0] = (uint64_t)&words[4]; /* rbx */
	words[1] = 0x10110;
	words[4] = 0x30000;
	tables.mappings.v = &mapping;
	tables.mappings.count = 1;
	tables_pack(&tables, &mapping, rows, 2);
	cr_expect(walk_step(&w) == WALK_MORE);
	cr_expect(walk_step(&w) == WALK_MORE);
	cr_assert(w.ip == 0x30000);
	cr_expect(w.sp == (uint64_t)&words[5]);
	tables_forget();
}

/* A stack of numbers that are not addresses, or lead in a circle. */
Test(walk, damaged_stacks_end_the_walk)
{
	uint64_t words[16] = { 0 };
	struct unwind_row rows[] = {
		{ .pc = 0, .kind = UNWIND_RSP, .cfa = 1 },
		{ .pc = 0x100, .kind = UNWIND_UNKNOWN },
		{ .pc = 0x200, .kind = UNWIND_RBP, .cfa = 2 },
		{ .pc = 0x300, .kind = UNWIND_REGISTER, .cfa = 10 },
		{ .pc = 0x400,
		  .kind = UNWIND_RSP | UNWIND_FP_UNKNOWN << UNWIND_FP_SHIFT,
		  .cfa = 1 },
		{ .pc = 0x500, .kind = UNWIND_RSP_DEREF, .cfa = 8 },
	};
	struct sampler_mapping mapping = { .start = 0x10000,
					   .end = 0x20000,
					   .bias = 0x10000 };
	const struct {
		uint64_t ip;
		uint64_t sp;
		uint64_t fp;
		uint64_t caller; /* what is at the stack pointer */
		enum sample_end end;
		size_t steps;
	} table[] = {
		/* The caller is nowhere, unknown, nothing, or has no stack. */
		{ 0x10010, (uint64_t)words, 0, 0x30000, SAMPLE_NO_MAPPING, 2 },
		{ 0x10010, (uint64_t)words, 0, 0x10110, SAMPLE_NO_RULE, 2 },
		{ 0x10010, (uint64_t)words, 0, 0, SAMPLE_COMPLETE, 1 },
		{ 0x10010, 8, 0, 0, SAMPLE_UNREADABLE, 1 },
		{ 0x10010, UINT64_MAX - 7, 0, 0, SAMPLE_UNREADABLE, 1 },
		/* The CFA is below the stack pointer. */
		{ 0x10210, (uint64_t)&words[8], (uint64_t)words - 8, 0x10010,
		  SAMPLE_UNREADABLE, 1 },
		/* The register of the rule is known in the innermost frame. */
		{ 0x10010, (uint64_t)words, 0, 0x10310, SAMPLE_NO_RULE, 2 },
		/* rbp is lost, and needed. */
		{ 0x10410, (uint64_t)words, (uint64_t)words, 0x10210,
		  SAMPLE_UNREADABLE, 2 },
		{ 0x10510, (uint64_t)words, 0, 0, SAMPLE_UNREADABLE, 1 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct walk w = { .ip = table[i].ip,
				  .sp = table[i].sp,
				  .fp = table[i].fp,
				  .count = 1,
				  .exact = 1 };
		size_t steps = 1;

		tables.mappings.v = &mapping;
		tables.mappings.count = 1;
		tables_pack(&tables, &mapping, rows, 6);
		words[0] = table[i].caller;
		while (walk_step(&w) == WALK_MORE && steps < 100)
			steps++;
		cr_assert(w.end == table[i].end, "%zu: end %u after %zu steps",
			  i, w.end, steps);
		cr_expect(steps == table[i].steps,
			  "%zu: end %u after %zu steps", i, w.end, steps);
	}
	tables_forget();
}

/* Walk from an address, with frame pointers at `words`; returns how it ends. */
static enum sample_end end_of(uint64_t ip, const uint64_t *words,
			      struct sampler_mapping *mapping)
{
	struct walk w = { .ip = ip,
			  .sp = (uint64_t)words - 8,
			  .fp = (uint64_t)words,
			  .count = 1,
			  .exact = 1 };

	tables.mappings.v = mapping;
	tables.mappings.count = 1;
	for (int i = 0; i < 10 && walk_step(&w) == WALK_MORE;)
		i++;
	return w.end;
}

/*
 * Code without a table may keep frame pointers or not, so that callers may be
 * missing even if the outermost function is reached.
 */
Test(walk, stacks_by_frame_pointers_alone_are_not_whole)
{
	uint64_t in_caller[] = { 0, 0x10110, 0, 0 };
	uint64_t without_table[] = { 0, 0x10010 };
	struct unwind_row rows[] = {
		{ .pc = 0, .kind = UNWIND_NO_CODE },
		{ .pc = 0x100, .kind = UNWIND_OUTERMOST },
		{ .pc = 0x200, .kind = UNWIND_POINTER },
		{ .pc = 0x300, .kind = UNWIND_MOVED },
	};
	struct sampler_mapping mapping = { .start = 0x10000,
					   .end = 0x20000,
					   .bias = 0x10000 };
	uint64_t moved[] = { 0, 0x10310, 0, 0 };

	tables_pack(&tables, &mapping, rows, 4);
	cr_expect(end_of(0x10110, in_caller, &mapping) == SAMPLE_COMPLETE);
	/* Go's table says that its code keeps frame pointers. */
	cr_expect(end_of(0x10210, in_caller, &mapping) == SAMPLE_COMPLETE);
	cr_expect(end_of(0x10010, in_caller, &mapping) == SAMPLE_BY_POINTER);
	/* rbp is 0, and nobody says that there is no caller. */
	cr_expect(end_of(0x10010, without_table, &mapping) ==
		  SAMPLE_BY_POINTER);
	/* A function of Go that has gone to another stack and called there. */
	cr_expect(end_of(0x10210, moved, &mapping) == SAMPLE_BY_POINTER);
	mapping.pages = 0;
	cr_expect(end_of(0x10110, without_table, &mapping) ==
		  SAMPLE_BY_POINTER);
	tables_forget();
}

/*
 * What the first function of a context returns to begins a function, as the code
 * does that ends signal handlers: the address before it is not a call.
 */
Test(walk, functions_that_are_returned_to_were_not_called)
{
	uint64_t words[32] = { 0x10100 };
	struct unwind_row rows[] = {
		{ .pc = 0, .kind = UNWIND_RSP, .cfa = 1 },
		{ .pc = 0x80, .kind = UNWIND_NO_CODE },
		{ .pc = 0x100, .kind = UNWIND_RSP, .cfa = 1 },
		{ .pc = 0x1ff, .kind = UNWIND_SIGNAL },
	};
	struct sampler_mapping mapping = { .start = 0x10000,
					   .end = 0x20000,
					   .bias = 0x10000 };
	struct walk w = {
		.ip = 0x10010, .sp = (uint64_t)words, .count = 1, .exact = 1
	};

	tables_pack(&tables, &mapping, rows, 4);
	tables.mappings.v = &mapping;
	tables.mappings.count = 1;
	cr_assert(walk_step(&w) == WALK_MORE);
	cr_expect(!w.entry);
	cr_assert(walk_step(&w) == WALK_ENDED);
	cr_expect(w.entry);
	cr_assert(w.end == SAMPLE_COMPLETE);
	cr_expect(w.ip == 0x10100);
	/* A call before the address, in code without a row, is none of these. */
	w = (struct walk){ .ip = 0x10101, .sp = (uint64_t)words, .count = 1 };
	words[0] = 0x10091;
	cr_assert(walk_step(&w) == WALK_MORE);
	cr_expect(!w.entry);
	cr_assert(walk_step(&w) == WALK_ENDED);
	cr_expect(!w.entry);
	cr_expect(w.end == SAMPLE_BY_POINTER);
	words[0] = 0x10200;
	words[1 + UNWIND_SIGNAL_RIP / 8] = 0x10010;
	words[1 + UNWIND_SIGNAL_RSP / 8] = (uint64_t)words;
	w = (struct walk){
		.ip = 0x10010, .sp = (uint64_t)words, .count = 1, .exact = 1
	};
	cr_assert(walk_step(&w) == WALK_MORE);
	cr_expect(!w.entry);
	cr_assert(walk_step(&w) == WALK_MORE);
	cr_expect(w.entry);
	cr_assert(w.ip == 0x10010);
	cr_expect(w.exact);
	tables_forget();
}
