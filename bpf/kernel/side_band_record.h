/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side-band records: what the kernel tells about processes in addition to
 * samples (Linux, include/uapi/linux/perf_event.h, enum perf_event_type). Each
 * side-band record ends with its time (sample_id_all with PERF_SAMPLE_TIME).
 *
 * Ownership: a record borrows its text and its build ID from the bytes that
 * were parsed.
 * Threads: any.
 */
#ifndef BPF_KERNEL_SIDE_BAND_RECORD_H
#define BPF_KERNEL_SIDE_BAND_RECORD_H

#include "base/bytes.h"

enum side_band_kind {
	SIDE_BAND_OTHER, /* a record that is of no interest */
	SIDE_BAND_MAP,   /* something was mapped, and may be executed */
	SIDE_BAND_EXEC,  /* the process runs another program now */
	SIDE_BAND_NAME,  /* a thread has another name */
	SIDE_BAND_FORK,  /* a process or a thread was made */
	/* a thread has ended; if pid == tid, the first thread of its process */
	SIDE_BAND_EXIT,
	SIDE_BAND_LOST, /* records did not fit into the buffer */
};

enum {
	SIDE_BAND_BUILD_ID_MAX = 20,
};

/*
 * A record. A member whose comment names kinds is 0 or empty in records of
 * other kinds. In a record of the kind SIDE_BAND_OTHER, only `time` is of use.
 */
struct side_band_record {
	enum side_band_kind kind;
	uint64_t time; /* of the monotonic clock, in nanoseconds */
	uint32_t pid;
	uint32_t tid;
	/*
	 * FORK: the process that made the new process or thread; EXIT: the
	 * parent process
	 */
	uint32_t parent;
	/* MAP: addresses `start` to `end`; `offset` of `start` in the file */
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t major; /* MAP: device and inode, if there is no build ID */
	uint32_t minor;
	uint64_t inode;
	struct bytes build_id;
	/*
	 * MAP: path of the file, or the kernel's name for memory without a
	 * file, such as "//anon"; EXEC, NAME: new name of the thread
	 */
	struct str text;
	uint64_t lost; /* LOST: number of records */
};

/*
 * Parse the record at the beginning of `bytes`, with its header. False: the
 * record is malformed, or longer than `bytes`.
 */
NODISCARD bool side_band_parse(struct bytes bytes,
			       struct side_band_record *out);

#endif
