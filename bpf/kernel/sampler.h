/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampler: loads the BPF programs that take samples (sampler.bpf.c) into the
 * kernel, runs them on all CPUs, and reads the samples.
 *
 * Ownership: a sampler owns its maps, its ring buffer and its clocks, until
 * sampler_close().
 * Threads: one thread at a time. The programs in the kernel read entries and
 * mappings at any time. So the caller writes the entries of an unwind table
 * before the mappings that refer to it, and the mappings before
 * sampler_process_set() publishes their process.
 * Units: frequencies are in Hz. A size whose name is a plural is a number of
 * items; other sizes are in bytes.
 */
#ifndef BPF_KERNEL_SAMPLER_H
#define BPF_KERNEL_SAMPLER_H

#include "base/defs.h"
#include "base/err.h"
#include "bpf/kernel/abi.h"

/* Sizes of the maps, and how often samples are taken. */
struct sampler_options {
	unsigned hz; /* 0: no ticks */
	/* one in this many switches of threads is sampled; 0: none */
	unsigned switches;
	uint32_t entries;   /* of unwind tables, 8 bytes each */
	uint32_t mappings;  /* of all processes, 32 bytes each */
	uint32_t processes; /* about 80 bytes each */
	uint32_t ring;      /* bytes for samples; a power of two */
};

/*
 * The default options: each CPU is sampled 19 times a second, and switches of
 * threads are not sampled.
 */
extern const struct sampler_options sampler_defaults;

struct sampler;

/*
 * Load the programs. ERR_UNSUPPORTED: the version of the kernel is not known,
 * is too old, or must not be sampled (see kernel_gate.h); the kernel has no
 * type information; this process is not in the initial PID namespace, as in
 * most containers; or /proc is not mounted. ERR_DENIED: a capability is
 * missing, and the message lists all that are needed; or the kernel refuses the
 * programs although no capability is missing. Otherwise the errors of
 * err_sys().
 */
NODISCARD int sampler_open(const struct sampler_options *o,
			   struct sampler **out, struct err *err);

/* Stop sampling and free everything; NULL is a no-op. */
void sampler_close(struct sampler *s);

/*
 * Begin to sample the CPUs that are online now, and switches of threads, as the
 * options say. After an error, no samples are taken, and the call can be
 * repeated.
 */
NODISCARD int sampler_start(struct sampler *s, struct err *err);

/* Take no samples any more; those that were taken can still be read. */
void sampler_stop(struct sampler *s);

/*
 * Return the array of unwind table entries, and that of mappings, which the
 * programs in the kernel read.
 */
struct unwind_row *sampler_entries(struct sampler *s);
struct sampler_mapping *sampler_mappings(struct sampler *s);

/* Publish the mappings of a process, or replace those that it had. */
NODISCARD int sampler_process_set(struct sampler *s, uint32_t pid,
				  const struct sampler_process *p,
				  struct err *err);

/* Remove what was published about a process, if anything was. */
void sampler_process_remove(struct sampler *s, uint32_t pid);

/* Callback of sampler_drain(): receive a record, which is borrowed. */
typedef void sampler_visit(void *ctx, const struct sample_record *record);

/*
 * Call `visit` for each record that was sent since the last call. Records of
 * one CPU are in the order in which they were sent.
 */
NODISCARD int sampler_drain(struct sampler *s, sampler_visit *visit, void *ctx,
			    struct err *err);

/* Read the counters of all CPUs, added up. */
NODISCARD int sampler_counts(struct sampler *s, uint64_t out[SAMPLER_COUNTERS],
			     struct err *err);

/* The measured cost of the program for CPU samples, and of all maps. */
struct sampler_cost {
	uint64_t runs; /* how often the program ran while it was measured */
	uint64_t run_ns;
	uint64_t memory; /* of all maps, in bytes */
};

/*
 * Let the kernel measure the run time of all BPF programs of the machine, until
 * sampler_close(). Measuring costs some time itself.
 */
NODISCARD int sampler_measure(struct sampler *s, struct err *err);

/* Read what the program has cost. */
NODISCARD int sampler_cost_of(struct sampler *s, struct sampler_cost *out,
			      struct err *err);

/*
 * Return how many instructions the verifier looked at when it checked the
 * loaded programs of the sampler, or 0 if the kernel does not say (before Linux
 * 5.16).
 */
uint32_t sampler_verified(struct sampler *s);

/* Return the size in bytes of the record with the header `h`. */
static inline size_t sampler_record_size(const struct sample_header *h)
{
	return sizeof(*h) + ((size_t)h->kernel + h->user) * sizeof(uint64_t);
}

#endif
