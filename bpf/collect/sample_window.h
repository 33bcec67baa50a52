/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample window: the samples of a span of time, added up by stack. It has all
 * that is needed to make profiles of it later, in another thread, when the
 * processes may be gone.
 *
 * Ownership: a window owns what it has; labels are counted references.
 * Threads: one thread at a time.
 * Units: nanoseconds of the time of day.
 */
#ifndef BPF_COLLECT_SAMPLE_WINDOW_H
#define BPF_COLLECT_SAMPLE_WINDOW_H

#include "base/table.h"
#include "base/vec.h"
#include "bpf/collect/jit_process.h"
#include "bpf/kernel/abi.h"
#include "bpf/kernel/cpu_times.h"
#include "bpf/process/file_table.h"
#include "model/labels.h"

/* The kinds of frames, by where their code is. */
enum frame_kind {
	FRAME_KERNEL, /* an address of the kernel */
	FRAME_FILE,   /* an address of a file; `owner` is its number */
	/* code without a file; `owner` is the number of its process */
	FRAME_ANONYMOUS,
	FRAME_END, /* why the stack ends, an enum sample_end */
};

/* A frame of a stack. Compared as bytes: no padding. */
struct window_frame {
	uint32_t kind;
	uint32_t owner;
	uint64_t address; /* in memory; FRAME_FILE: position in the file */
};

/* A file that has frames, copied from the file table. */
struct window_file {
	uint32_t number; /* in the file table */
	uint32_t pid;    /* a process that has it */
	uint32_t uid;    /* its user */
	uint32_t owner;  /* the user to whom the file belongs */
	int fd;          /* the open file, owned, or -1 */
	char *path;
	struct file_identity identity; /* owned */
	struct bytes build_id;
	struct elf_segment *segments;
	uint32_t segment_count; /* 0: it was not read */
};

/* The labels of a sample; those that it does not have are zero. No padding. */
struct window_labels {
	uint32_t set; /* of enum sample_labels */
	uint32_t cpu;
	uint32_t pid;
	uint32_t tid;
	char comm[SAMPLE_COMM_MAX];
	char thread[SAMPLE_COMM_MAX];
};

/* The kinds of profiles that a window has samples of. */
enum window_kind {
	WINDOW_CPU,
	WINDOW_OFF_CPU, /* of threads that wait */
	WINDOW_KINDS,
};

/* A stack with labels, and how often it was seen. */
struct window_sample {
	uint32_t series; /* number in the window */
	uint32_t stack;
	uint32_t kind; /* enum window_kind */
	uint32_t unused;
	struct window_labels labels;
	uint64_t count;
	uint64_t value; /* nanoseconds */
};

/* Consecutive elements of `stack_frames`. */
struct window_stack {
	uint32_t first;
	uint32_t count;
};

enum {
	/* Largest number of maps of compiled code that stay open. */
	WINDOW_MAPS_MAX = 256,
};

#define WINDOW_ALL_SERIES UINT32_MAX

/* Several samples together. */
struct window_total {
	uint64_t count;
	uint64_t value; /* nanoseconds */
};

/* What is known of the CPU time of a window besides its samples. */
struct window_account {
	int64_t dropped; /* CPU samples of processes that rules dropped */
	int64_t lost[WINDOW_KINDS]; /* samples for which there was no room */
	/* samples of profiles that were not stored */
	struct window_total refused[WINDOW_KINDS];
	struct cpu_times times; /* by the kernel; zero: not known */
	bool is_sampled;        /* samples were taken */
};

struct sample_window {
	int64_t start_ns;
	int64_t end_ns; /* 0: it goes on */
	struct window_account account;
	VEC(struct labels *) series;
	/*
	 * For each series: the number of its program in the file table, or
	 * FILE_NONE.
	 */
	VEC(uint32_t) programs;
	VEC(struct window_file) files;
	VEC(struct jit_process) processes;
	unsigned open_maps; /* of these processes */
	VEC(struct window_frame) frames;
	VEC(uint32_t) stack_frames; /* numbers of frames, leaf first */
	VEC(struct window_stack) stacks;
	VEC(struct window_sample) samples;
	struct table by_series;
	struct table by_file;
	struct table by_frame;
	struct table by_stack;
	struct table by_sample;
};

/* Begin an empty window. */
struct sample_window *sample_window_new(int64_t start_ns);

/* Free a window; NULL is a no-op. */
void sample_window_free(struct sample_window *w);

/* Return its size in memory, in bytes. */
size_t sample_window_memory(const struct sample_window *w);

/*
 * Return the total of a kind of samples, of one series or of all
 * (WINDOW_ALL_SERIES).
 */
struct window_total sample_window_total(const struct sample_window *w,
					enum window_kind kind, uint32_t series);

/* A sample that is added. */
struct window_input {
	/*
	 * When it was taken, or when the wait ended, in ns of the monotonic
	 * clock: it says to which window the sample belongs.
	 */
	uint64_t time;
	struct labels *series;
	/* those that are not in `set` are ignored */
	struct window_labels labels;
	enum window_kind kind;
	uint64_t samples; /* number of samples that it stands for */
	uint64_t value;   /* nanoseconds that it stands for */
	/* The program of its process, in the file table; NULL: not known. */
	const uint32_t *program;
	const struct window_frame *frames;
	size_t count;
};

/*
 * Add a sample. The program of a series is that of its first sample whose
 * program is known; sample_window_file() has to be called for it, too.
 */
void sample_window_add(struct sample_window *w, const struct window_input *in);

/* Copy a file of the file table into the window, unless it is there. */
void sample_window_file(struct sample_window *w, const struct file_table *files,
			uint32_t number);

/* A process that has compiled code, as a sample shows it. */
struct window_process {
	uint32_t pid;
	/* when it, or the program that it runs, began; 0: not known */
	uint64_t began_ns;
	uint64_t sampled_ns; /* monotonic, as the former */
};

/*
 * Return the number in the window of a process with code that it has compiled.
 * *is_new: the caller has to get the facts about the process read and give them
 * to sample_window_take_process(). A process that began after the last one with
 * its PID was sampled is another one.
 */
uint32_t sample_window_process(struct sample_window *w,
			       const struct window_process *p, bool *is_new);

/*
 * Take over what was read of a process (*j is empty afterwards), if the window
 * has noted it and does not know it yet. An answer is lost if the window was
 * already handed over, or if another process has the PID. Whoever needs the
 * facts then reads the process again.
 */
void sample_window_take_process(struct sample_window *w, struct jit_process *j);

/*
 * Copy the facts of files that were read only after the files were copied into
 * the window.
 */
void sample_window_refresh(struct sample_window *w,
			   const struct file_table *files);

/*
 * Return the index of a file of the window by its number in the file table, or
 * TABLE_NONE.
 */
uint32_t sample_window_find_file(const struct sample_window *w,
				 uint32_t number);

#endif
