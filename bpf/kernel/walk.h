/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 OR BSD-2-Clause */
/*
 * The walk up a stack of user space, one frame at a time. This code runs in the
 * kernel (sampler.bpf.c) and in tests. The file that includes this header
 * defines walk_read(), walk_mapping() and walk_entry(), which read the memory
 * of the process and the maps.
 *
 * Threads: one walk at a time on each CPU.
 */
#ifndef BPF_KERNEL_WALK_H
#define BPF_KERNEL_WALK_H

#include "bpf/kernel/abi.h"

#define WALK_INLINE static inline __attribute__((always_inline))

/*
 * In the kernel, walk_find_mapping() and walk_find_row() are global functions,
 * so that the kernel's verifier looks at each of them once, and not again for
 * each path to a call.
 */
#ifndef WALK_FUNCTION
#define WALK_FUNCTION static inline
#endif

enum {
	WALK_REGISTERS = 16,
	/*
	 * Largest number of times that a binary search halves its range: 16
	 * times is enough for 65 535 mappings of a process, and 24 times for 16
	 * million runs of a page of an unwind table.
	 */
	WALK_MAPPING_TURNS = 16,
	WALK_RUN_TURNS = 24,
};

/*
 * A runtime such as Go's may work on a stack of its own; the frame pointer then
 * leads back to the stack of the program, which may be at lower addresses. If
 * frame pointers lead to lower addresses more often than this in one walk, the
 * stack counts as damaged, and the walk ends.
 */
#define WALK_SWITCHES_MAX 2

/* An rbp that is not known; no memory can be read there. */
#define WALK_FP_LOST (~0ULL)

/*
 * The state of a walk. `ip`, `sp` and `fp` are rip, rsp and rbp in the frame
 * that the walk has reached.
 */
struct walk {
	__u64 ip;
	__u64 sp;
	__u64 fp;
	__u32 first; /* mappings of the process */
	__u32 count;
	/*
	 * Whether `ip` is where the thread is, or where a signal interrupted
	 * the thread, and not a return address. `registers` has the registers
	 * of the innermost frame only, in the order of their DWARF numbers.
	 * Once the walk has left a signal handler, all `registers` are 0.
	 */
	__u32 exact;
	__u32 end; /* enum sample_end, once the walk has ended */
	/* number of the mapping of the last frame, plus 1; 0: none yet */
	__u32 mapping;
	/* how often frame pointers led to lower addresses */
	__u32 switches;
	/*
	 * Set by walk_step(): whether the `ip` with which the step began is a
	 * return address that is the beginning of a function. This address was
	 * not stored by a call, but by the kernel or makecontext(), so that the
	 * function runs next.
	 */
	__u32 entry;
	/*
	 * Whether the caller of some code was found by frame pointers, although
	 * no unwind table says that the code keeps them.
	 */
	__u32 guessed;
	__u64 registers[WALK_REGISTERS];
};

/* Read memory of the process; returns 0 if it was read. */
WALK_INLINE long walk_read(void *to, __u32 size, __u64 from);

/* Return a mapping, or an entry of a table, by its number, or NULL. */
WALK_INLINE struct sampler_mapping *walk_mapping(__u32 number);
WALK_INLINE struct unwind_row *walk_entry(__u32 number);

/* Result of walk_step(). */
enum walk_turn {
	WALK_MORE,
	WALK_ENDED, /* `end` says why */
};

/*
 * Find the mapping that contains `pc` among `count` mappings from number
 * `first` on. Returns the number of the mapping, or -1.
 */
WALK_FUNCTION long walk_find_mapping(__u32 first, __u32 count, __u64 pc)
{
	__u32 low = first;
	__u32 high = first + count;

	for (int i = 0; i < WALK_MAPPING_TURNS && low < high; i++) {
		__u32 mid = low + (high - low) / 2;
		struct sampler_mapping *m = walk_mapping(mid);

		if (!m)
			return -1;
		if (pc < m->start)
			high = mid;
		else if (pc >= m->end)
			low = mid + 1;
		else
			return mid;
	}
	return -1;
}

/*
 * Find the last run (see unwind_pack.h) that begins at or before `pc`, an
 * address as in the ELF file. The table begins at the entry `table` and has
 * `pages` pages. Returns the number of the run's entry, or -1.
 */
WALK_INLINE long walk_find_run(__u32 table, __u32 pages, __u32 pc)
{
	struct unwind_row *head = walk_entry(table);
	struct unwind_row *page;
	__u32 number;
	__u32 low;
	__u32 high;

	if (!head || pc < head->pc)
		return -1;
	number = (pc - head->pc) >> (head->steps & 31);
	page = walk_entry(table + 1 + (number < pages ? number : pages - 1));
	if (!page)
		return -1;
	low = table + page->pc;
	high = table + page->steps;
	for (int i = 0; i < WALK_RUN_TURNS && low < high; i++) {
		__u32 mid = low + (high - low) / 2;
		struct unwind_row *run = walk_entry(mid);

		if (!run)
			return -1;
		if (run->pc <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	/*
	 * The first run begins where the first page begins, so it is not after
	 * `pc`: there is a run before `low`.
	 */
	return (long)low - 1;
}

/*
 * Find the row for `pc`. `table` and `pages` are as for walk_find_run(). A run
 * refers to a pattern, and each step of the pattern is a row (unwind_pack.h).
 * Returns the number of the step's entry, or -1.
 */
WALK_FUNCTION long walk_find_row(__u32 table, __u32 pages, __u32 pc)
{
	long number = walk_find_run(table, pages, pc);
	struct unwind_row *run = number < 0 ? 0 : walk_entry((__u32)number);
	__u32 at;

	if (!run)
		return -1;
	at = table + run->steps;
	/*
	 * The last step of the pattern is stored first, because most calls are
	 * made in code to which the last step applies.
	 */
	for (int i = 0; i < UNWIND_STEPS_MAX; i++, at++) {
		struct unwind_row *step = walk_entry(at);

		if (!step)
			break;
		if (step->pc <= pc - run->pc)
			return at;
	}
	return -1;
}

WALK_INLINE enum walk_turn walk_stop(struct walk *w, enum sample_end end)
{
	w->end = end;
	return WALK_ENDED;
}

/* End the walk, because the last frame has no caller. */
WALK_INLINE enum walk_turn walk_finish(struct walk *w)
{
	return walk_stop(w, w->guessed ? SAMPLE_BY_POINTER : SAMPLE_COMPLETE);
}

/*
 * Go to the caller, whose registers are known. Stacks grow downwards, so the
 * `sp` of the caller must be greater. If `ip` is 0, there is no caller.
 */
WALK_INLINE enum walk_turn walk_caller(struct walk *w, __u64 ip, __u64 sp,
				       __u64 fp)
{
	if (!ip)
		return walk_finish(w);
	if (sp <= w->sp)
		return walk_stop(w, SAMPLE_UNREADABLE);
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	w->exact = 0;
	return WALK_MORE;
}

/*
 * Go to the caller by frame pointers. The outermost function of a thread finds
 * 0 in rbp.
 */
WALK_INLINE enum walk_turn walk_by_pointer(struct walk *w)
{
	__u64 saved[2];

	if (!w->fp)
		return walk_finish(w);
	if (w->fp % 8 || walk_read(saved, sizeof(saved), w->fp))
		return walk_stop(w, SAMPLE_UNREADABLE);
	if (w->fp + 16 <= w->sp && w->switches < WALK_SWITCHES_MAX) {
		w->switches++;
		w->sp = 0;
	}
	return walk_caller(w, saved[1], w->fp + 16, saved[0]);
}

/*
 * Go to the caller by rbp, because no unwind table says how to find the caller
 * of this code. The code may not keep frame pointers, so the stack is marked as
 * guessed.
 */
WALK_INLINE enum walk_turn walk_by_guess(struct walk *w)
{
	w->guessed = 1;
	return walk_by_pointer(w);
}

/*
 * Go from a signal handler to the interrupted code, whose registers are in the
 * ucontext_t at rsp. The handler may have a stack of its own, so the new rsp
 * may be less.
 */
WALK_INLINE enum walk_turn walk_signal(struct walk *w)
{
	__u64 ip;
	__u64 sp;
	__u64 fp;

	if (walk_read(&ip, 8, w->sp + UNWIND_SIGNAL_RIP) ||
	    walk_read(&sp, 8, w->sp + UNWIND_SIGNAL_RSP) ||
	    walk_read(&fp, 8, w->sp + UNWIND_SIGNAL_RBP))
		return walk_stop(w, SAMPLE_UNREADABLE);
	if (!ip)
		return walk_finish(w);
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	w->exact = 1;
	/*
	 * The other registers are in the ucontext_t, too, but few rules need
	 * them, so they are not read.
	 */
	for (int i = 0; i < WALK_REGISTERS; i++)
		w->registers[i] = 0;
	return WALK_MORE;
}

/*
 * For a rule UNWIND_REGISTER, read the value of the register from the memory in
 * which the called function saved the register. Returns 0 if the value was
 * read.
 */
WALK_INLINE long walk_saved(const struct walk *w, const struct unwind_row *row,
			    __u64 *value)
{
	if (!row->fp || row->kind >> UNWIND_FP_SHIFT != UNWIND_FP_SAME)
		return -1;
	return walk_read(value, 8, w->sp + (__u64)((__s64)row->fp * 8));
}

/* Compute the CFA; returns 0 if it was computed. */
WALK_INLINE long walk_cfa(const struct walk *w, const struct unwind_row *row,
			  __u64 *cfa)
{
	__s64 operand = row->cfa;
	__u64 at;

	switch (row->kind & UNWIND_CFA_MASK) {
	case UNWIND_RSP:
		*cfa = w->sp + (__u64)(operand * 8);
		return 0;
	case UNWIND_MOVED:
		*cfa = w->sp + 8;
		return 0;
	case UNWIND_RBP:
		*cfa = w->fp + (__u64)(operand * 8);
		return 0;
	case UNWIND_PLT:
		*cfa = w->sp + 8 + ((w->ip & 15) >= (__u64)operand ? 8 : 0);
		return 0;
	case UNWIND_REGISTER:
		at = w->registers[operand & (WALK_REGISTERS - 1)];
		if (!w->exact && walk_saved(w, row, &at))
			return -1;
		*cfa = at + (__u64)((operand >> 4) * 8);
		return 0;
	case UNWIND_RSP_DEREF:
	case UNWIND_RBP_DEREF:
		at = (row->kind & UNWIND_CFA_MASK) == UNWIND_RSP_DEREF ? w->sp :
									 w->fp;
		if (walk_read(&at, 8, at + (__u64)(operand & ~7)))
			return -1;
		*cfa = at + (__u64)((operand & 7) * 8);
		return 0;
	default:
		return -1;
	}
}

/* Go to the caller by the rules of `row`. */
WALK_INLINE enum walk_turn walk_by_row(struct walk *w,
				       const struct unwind_row *row)
{
	__u8 fp_kind = row->kind >> UNWIND_FP_SHIFT;
	__s64 fp_at = (__s64)row->fp * 8;
	__u64 saved[2] = { w->fp, 0 }; /* rbp and the return address */
	__u64 cfa;

	switch (row->kind & UNWIND_CFA_MASK) {
	case UNWIND_POINTER:
		return walk_by_pointer(w);
	case UNWIND_MOVED:
		if (!w->exact)
			return walk_by_guess(w);
		break;
	case UNWIND_SIGNAL:
		/*
		 * The kernel stored the beginning of this function as the
		 * return address of the signal handler.
		 */
		w->entry = !w->exact;
		return walk_signal(w);
	case UNWIND_OUTERMOST:
		return walk_finish(w);
	case UNWIND_UNKNOWN:
		return walk_stop(w, SAMPLE_NO_RULE);
	default:
		break;
	}
	if (walk_cfa(w, row, &cfa))
		return walk_stop(w, SAMPLE_NO_RULE);
	/*
	 * Mostly, rbp is saved just below the return address: one read gets
	 * both.
	 */
	if (fp_kind == UNWIND_FP_AT_CFA && fp_at == -16) {
		if (walk_read(saved, 16, cfa - 16))
			return walk_stop(w, SAMPLE_UNREADABLE);
		return walk_caller(w, saved[1], cfa, saved[0]);
	}
	if (walk_read(&saved[1], 8, cfa - 8))
		return walk_stop(w, SAMPLE_UNREADABLE);
	if (fp_kind == UNWIND_FP_AT_CFA || fp_kind == UNWIND_FP_AT_FP) {
		__u64 base = fp_kind == UNWIND_FP_AT_CFA ? cfa : w->fp;

		if (walk_read(&saved[0], 8, base + (__u64)fp_at))
			return walk_stop(w, SAMPLE_UNREADABLE);
	} else if (fp_kind == UNWIND_FP_UNKNOWN) {
		saved[0] = WALK_FP_LOST;
	}
	return walk_caller(w, saved[1], cfa, saved[0]);
}

/* Return the row of an address in memory, or NULL: no function is there. */
WALK_INLINE struct unwind_row *walk_row_of(const struct sampler_mapping *m,
					   __u64 pc)
{
	long number = walk_find_row(m->table, m->pages, (__u32)(pc - m->bias));
	struct unwind_row *row = number < 0 ? 0 : walk_entry((__u32)number);

	return row && (row->kind & UNWIND_CFA_MASK) != UNWIND_NO_CODE ? row : 0;
}

/*
 * Continue the walk if the table has no code at the address that walk_step()
 * looked up: `ip`, or ip - 1 if `ip` is a return address. If the table has code
 * at a return address `ip`, a function begins there: makecontext() or similar
 * code put `ip` on the stack of a new context, as the return address of the
 * first function of the context. The function at `ip` has no caller.
 */
WALK_INLINE enum walk_turn walk_without_row(struct walk *w,
					    const struct sampler_mapping *m)
{
	if (w->exact || !walk_row_of(m, w->ip))
		return walk_by_guess(w);
	w->entry = 1;
	return walk_finish(w);
}

/*
 * Go to the caller. For a return address, look up the call before it: if the
 * called function never returns, the address may already be in the next
 * function.
 */
WALK_INLINE enum walk_turn walk_step(struct walk *w)
{
	__u64 pc = w->exact ? w->ip : w->ip - 1;
	struct sampler_mapping *m = w->mapping ? walk_mapping(w->mapping - 1) :
						 0;
	struct unwind_row *row;
	long number;

	w->entry = 0;
	/*
	 * A function and its caller are often in one file: try the mapping of
	 * the last frame first.
	 */
	if (!m || pc < m->start || pc >= m->end) {
		number = walk_find_mapping(w->first, w->count, pc);
		m = number < 0 ? 0 : walk_mapping((__u32)number);
		if (!m)
			return walk_stop(w, SAMPLE_NO_MAPPING);
		w->mapping = (__u32)number + 1;
	}
	if (!m->pages)
		return walk_by_guess(w);
	row = walk_row_of(m, pc);
	return row ? walk_by_row(w, row) : walk_without_row(w, m);
}

#endif
