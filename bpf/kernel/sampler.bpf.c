// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The sampler: a program that runs at each tick of a clock on each CPU, and
 * sends both stacks of the thread that the CPU runs: that in the kernel and
 * that in user space. A second program runs at each switch of threads. For some
 * of the threads that leave their CPU, the second program sends where they
 * wait, and later that they run again.
 *
 * The verifier checks a global function (neither static nor inline), such as
 * sampler_step(), only once, however often it is called. This is why a walk of
 * 127 frames fits into one program.
 */
#include <asm/ptrace.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel/abi.h"
#include "bpf/kernel/kern_types.h"

#define WALK_FUNCTION __attribute__((noinline))
#include "bpf/kernel/walk.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Selectors of code segments (arch/x86/include/asm/segment.h). */
#define USER_CS_32 0x23
#define USER_CS    0x33

/* Size of a thread's stack in the kernel, without KASAN. */
#define KERNEL_STACK_SIZE 16384

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_row);
} entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampler_mapping);
} mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampler_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SAMPLER_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/*
 * One in this many switches is sampled; 0: none. Set before the program is
 * loaded.
 */
const volatile __u32 switch_share = 0;

/* A wait that was sampled. */
struct wait {
	__u64 since;
	/*
	 * When the thread ran again, if its SAMPLE_RESUMES record could not be
	 * sent yet; else 0.
	 */
	__u64 until;
};

/* The sampled waits; the key is the ID of the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait);
} waiting SEC(".maps");

/*
 * Memory for taking one sample, which is too large for the stack of a BPF
 * program. Each CPU has one struct scratch for both programs. The programs
 * never interrupt each other, because the clocks tick in interrupts, which are
 * off while threads are switched.
 */
struct scratch {
	struct walk walk;
	struct sample_record record;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

WALK_INLINE struct scratch *scratch_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

WALK_INLINE void counter_add(__u32 counter)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &counter);

	if (n)
		++*n;
}

WALK_INLINE long walk_read(void *to, __u32 size, __u64 from)
{
	return bpf_probe_read_user(to, size, (const void *)from);
}

WALK_INLINE struct sampler_mapping *walk_mapping(__u32 number)
{
	return bpf_map_lookup_elem(&mappings, &number);
}

WALK_INLINE struct unwind_row *walk_entry(__u32 number)
{
	return bpf_map_lookup_elem(&entries, &number);
}

/*
 * Store the frame that the walk has reached in the record, where it becomes
 * frame number `turn` of user space. Then go to the caller. Returns enum
 * walk_turn.
 */
__attribute__((noinline)) int sampler_step(__u32 turn)
{
	struct scratch *s = scratch_get();
	int next;
	__u32 at;

	if (!s)
		return WALK_ENDED;
	at = s->record.header.kernel + turn;
	/*
	 * Keep the index in one register, so that the verifier sees its limit.
	 */
	asm volatile("" : "+r"(at));
	at &= SAMPLE_WORDS_MAX - 1;
	s->record.words[at] = s->walk.ip | (s->walk.exact ? SAMPLE_EXACT : 0);
	s->record.header.user = (__u16)(turn + 1);
	next = walk_step(&s->walk);
	if (s->walk.entry)
		s->record.words[at] |= SAMPLE_EXACT;
	return next;
}

/* Start a walk at registers of user space. */
WALK_INLINE void walk_start(struct walk *w, const struct pt_regs *regs)
{
	w->ip = regs->rip;
	w->sp = regs->rsp;
	w->fp = regs->rbp;
	w->exact = 1;
	w->end = SAMPLE_TRUNCATED;
	w->switches = 0;
	w->mapping = 0;
	w->guessed = 0;
	w->registers[0] = regs->rax;
	w->registers[1] = regs->rdx;
	w->registers[2] = regs->rcx;
	w->registers[3] = regs->rbx;
	w->registers[4] = regs->rsi;
	w->registers[5] = regs->rdi;
	w->registers[6] = regs->rbp;
	w->registers[7] = regs->rsp;
	w->registers[8] = regs->r8;
	w->registers[9] = regs->r9;
	w->registers[10] = regs->r10;
	w->registers[11] = regs->r11;
	w->registers[12] = regs->r12;
	w->registers[13] = regs->r13;
	w->registers[14] = regs->r14;
	w->registers[15] = regs->r15;
}

/*
 * Read the registers that the current thread had when it entered the kernel;
 * returns 0 if they were read. They are at the upper end of the thread's kernel
 * stack. Since Linux 5.15, bpf_task_pt_regs() returns their address.
 */
WALK_INLINE long entry_registers(struct pt_regs *to)
{
	struct task_struct *task;
	const void *at;

	if (bpf_core_enum_value_exists(enum bpf_func_id___probe,
				       BPF_FUNC_task_pt_regs___probe)) {
		at = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	} else {
		task = (struct task_struct *)bpf_get_current_task();
		at = BPF_CORE_READ(task, stack) + KERNEL_STACK_SIZE -
		     sizeof(*to);
	}
	return bpf_probe_read_kernel(to, sizeof(*to), at);
}

/*
 * Find the mappings of the current process, `pid`. If they are not published,
 * the process may have been forked a moment ago, and still run the program of
 * its parent: then return the mappings of the parent. Equal addresses of the
 * code and of the arguments show that the program is the same, because the
 * kernel chooses random addresses for each program that starts.
 */
WALK_INLINE struct sampler_process *process_find(__u32 pid)
{
	struct sampler_process *p = bpf_map_lookup_elem(&processes, &pid);
	struct task_struct *task;

	if (p)
		return p;
	task = (struct task_struct *)bpf_get_current_task();
	pid = (__u32)BPF_CORE_READ(task, real_parent, tgid);
	if (BPF_CORE_READ(task, mm, arg_start) !=
		    BPF_CORE_READ(task, real_parent, mm, arg_start) ||
	    BPF_CORE_READ(task, mm, start_code) !=
		    BPF_CORE_READ(task, real_parent, mm, start_code))
		return 0;
	return bpf_map_lookup_elem(&processes, &pid);
}

/* Whether the collector has published that the process `pid` is not sampled. */
WALK_INLINE int process_is_ignored(__u32 pid)
{
	const struct sampler_process *p = bpf_map_lookup_elem(&processes, &pid);

	return p && (p->flags & SAMPLER_PROCESS_IGNORED);
}

/*
 * Walk the stack of user space, beginning at the frame with the registers
 * `regs`. Returns why the walk ended.
 */
WALK_INLINE enum sample_end sample_user(struct scratch *s,
					const struct pt_regs *regs)
{
	struct sampler_process *p;

	if (regs->cs == USER_CS_32)
		return SAMPLE_COMPAT;
	if (regs->cs != USER_CS)
		return SAMPLE_KERNEL;
	walk_start(&s->walk, regs);
	p = process_find(s->record.header.pid);
	if (!p) {
		/* Record at least the address where the thread is. */
		s->walk.first = 0;
		s->walk.count = 0;
		sampler_step(0);
		return SAMPLE_NO_PROCESS;
	}
	s->walk.first = p->first;
	s->walk.count = p->count;
	for (__u32 i = 0; i < SAMPLE_FRAMES_MAX; i++) {
		if (sampler_step(i) != WALK_MORE)
			break;
	}
	return s->walk.end;
}

/* Fill in the header: the time, the CPU, and whose sample it is. */
WALK_INLINE void sample_header_fill(struct sample_header *h, __u64 pid_tgid)
{
	h->time = bpf_ktime_get_ns();
	h->cgroup = bpf_get_current_cgroup_id();
	h->pid = pid_tgid >> 32;
	h->tid = (__u32)pid_tgid;
	h->cpu = (__u16)bpf_get_smp_processor_id();
	h->kernel = 0;
	h->user = 0;
	h->kind = SAMPLE_ON_CPU;
	h->since = 0;
	bpf_get_current_comm(h->comm, sizeof(h->comm));
}

/*
 * Send the header of the record, and the addresses that it counts. Returns 0,
 * or an error if the ring buffer is full.
 */
WALK_INLINE long sample_output(struct scratch *s)
{
	__u32 words = s->record.header.kernel + s->record.header.user;

	asm volatile("" : "+r"(words));
	words &= SAMPLE_WORDS_MAX - 1;
	/*
	 * The collector reads on a timer; waking it costs more than a sample.
	 */
	return bpf_ringbuf_output(&samples, &s->record,
				  sizeof(struct sample_header) + words * 8,
				  BPF_RB_NO_WAKEUP);
}

/* Send the record of a sample, and count it. Errors as for sample_output(). */
WALK_INLINE long sample_send(struct scratch *s)
{
	long rc = sample_output(s);

	counter_add(SAMPLER_TAKEN);
	if (rc)
		counter_add(SAMPLER_RING_FULL);
	return rc;
}

/*
 * Walk the stack of user space of the current thread, while the thread runs in
 * the kernel. A thread of the kernel has no such stack: the `end` of its record
 * is SAMPLE_KERNEL.
 */
WALK_INLINE void sample_from_kernel(struct scratch *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pt_regs regs;

	s->record.header.end = SAMPLE_KERNEL;
	/*
	 * A thread that ends gives up the memory of its process, with the user
	 * stacks, while it still runs in the kernel. From then on, its `mm` is
	 * NULL.
	 */
	/*
	 * A worker thread of the kernel that belongs to a process (io_uring,
	 * vhost) has the memory of the process, but never was in user space:
	 * its rip of user space is 0.
	 */
	if (!(BPF_CORE_READ(task, flags) & PF_KTHREAD) &&
	    BPF_CORE_READ(task, mm) && !entry_registers(&regs) && regs.rip)
		s->record.header.end = sample_user(s, &regs);
}

/* Record the stack of the kernel. */
WALK_INLINE void sample_kernel(void *ctx, struct scratch *s)
{
	long bytes =
		bpf_get_stack(ctx, s->record.words, SAMPLE_FRAMES_MAX * 8, 0);

	if (bytes > 0)
		s->record.header.kernel = (__u16)((__u64)bytes / 8);
}

SEC("perf_event")
int sampler_tick(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct scratch *s = scratch_get();
	__u64 ip = ctx->regs.rip;
	struct pt_regs regs;

	/* The idle task, whose PID is 0, is not sampled. */
	if (!(pid_tgid >> 32) || !s)
		return 0;
	/*
	 * Make clang load `ip` here. Otherwise, it may read ctx through a
	 * pointer that it computed, which the verifier refuses.
	 */
	asm volatile("" : "+r"(ip));
	if (process_is_ignored((__u32)(pid_tgid >> 32))) {
		counter_add(SAMPLER_IGNORED);
		return 0;
	}
	sample_header_fill(&s->record.header, pid_tgid);
	if (!(ip >> 63)) {
		__builtin_memcpy(&regs, &ctx->regs, sizeof(regs));
		s->record.header.end = sample_user(s, &regs);
	} else {
		sample_kernel(ctx, s);
		sample_from_kernel(s);
	}
	if (sample_send(s))
		counter_add(SAMPLER_TICKS_LOST);
	return 0;
}

/*
 * If a wait of `thread` was sampled, send that the thread runs again. If the
 * ring buffer is full, keep the entry in `waiting`, for a retry at the next
 * switch of the thread. Without a retry, the thread would seem to wait for
 * ever.
 */
WALK_INLINE void switch_resume(struct scratch *s,
			       const struct task_struct *thread)
{
	__u32 tid = (__u32)BPF_CORE_READ(thread, pid);
	struct wait *w = bpf_map_lookup_elem(&waiting, &tid);

	if (!w)
		return;
	if (!w->until)
		w->until = bpf_ktime_get_ns();
	__builtin_memset(&s->record.header, 0, sizeof(s->record.header));
	s->record.header.time = w->until;
	s->record.header.pid = (__u32)BPF_CORE_READ(thread, tgid);
	s->record.header.tid = tid;
	s->record.header.kind = SAMPLE_RESUMES;
	s->record.header.since = w->since;
	/*
	 * A record that cannot be sent now does not count as lost: a later
	 * switch sends it, and counts it then.
	 */
	if (!sample_output(s)) {
		counter_add(SAMPLER_TAKEN);
		bpf_map_delete_elem(&waiting, &tid);
	}
}

/* Whether to sample the wait of the thread `prev`, which leaves its CPU now. */
WALK_INLINE int switch_is_sampled(__u64 pid_tgid,
				  const struct task_struct *prev)
{
	/*
	 * The idle task, and threads that are ending, are not sampled. The last
	 * wait of an ending thread would never end.
	 */
	if (!(pid_tgid >> 32) || BPF_CORE_READ(prev, flags) & PF_EXITING)
		return 0;
	return switch_share && bpf_get_prandom_u32() % switch_share == 0 &&
	       !process_is_ignored((__u32)(pid_tgid >> 32));
}

/*
 * The arguments are: whether the old thread was preempted, the old thread, and
 * the new thread.
 */
SEC("tp_btf/sched_switch")
int sampler_switch(__u64 *ctx)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	const struct task_struct *prev = (const void *)ctx[1];
	const struct task_struct *next = (const void *)ctx[2];
	struct scratch *s = scratch_get();
	__u32 tid = (__u32)pid_tgid;
	struct wait wait = { .until = 0 };

	if (!s)
		return 0;
	switch_resume(s, next);
	/*
	 * Some kernels do not report every switch to a thread. The old thread
	 * has run, so send now that it runs again, if that was not sent before.
	 */
	switch_resume(s, prev);
	if (!switch_is_sampled(pid_tgid, prev))
		return 0;
	sample_header_fill(&s->record.header, pid_tgid);
	s->record.header.kind = SAMPLE_WAITS;
	wait.since = s->record.header.time;
	if (bpf_map_update_elem(&waiting, &tid, &wait, BPF_ANY)) {
		counter_add(SAMPLER_TAKEN);
		counter_add(SAMPLER_RING_FULL);
		return 0;
	}
	sample_kernel(ctx, s);
	sample_from_kernel(s);
	sample_send(s);
	return 0;
}
