/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File table: the files that processes have mapped, and what is known of them.
 * A file is identified by its path, by its build ID or inode, and by the user
 * of the processes. The build ID or inode distinguishes a file from another one
 * that has replaced it. The user is needed for two reasons. First, another user
 * may see another file at the same path, and even with the same build ID, which
 * somebody may have copied into it. Second, another user may not be allowed to
 * read the file.
 *
 * What is known of a file stays for a while when its last process has ended, so
 * that a program that runs again and again is read once. The file itself is
 * closed, so that its file system can be unmounted, and a removed program takes
 * no room on the disk.
 *
 * Ownership: the table owns its files; the store of unwind tables and the user
 * ranges are borrowed.
 * Threads: one thread at a time.
 * Units: milliseconds of a clock that never goes back.
 */
#ifndef BPF_PROCESS_FILE_TABLE_H
#define BPF_PROCESS_FILE_TABLE_H

#include "bpf/kernel/abi.h"
#include "bpf/process/elf_reader.h"
#include "bpf/process/process_uid.h"
#include "bpf/process/table_store.h"
#include "bpf/process/user_ranges.h"

/*
 * No file. FILE_NONE is not in the enum below, because it would make all
 * constants of that enum unsigned.
 */
enum {
	FILE_NONE = UINT32_MAX
};

enum {
	/*
	 * Largest number of files. Each takes some 230 bytes, plus the memory
	 * for its path, identity and segments.
	 */
	FILE_TABLE_MAX = 64 << 10,
	/*
	 * Largest number of files of the processes of one user other than root.
	 * Processes that ended before their user was known, and for which there
	 * is not even a guess (process_uid.h), together count as one user.
	 */
	FILE_USER_MAX = FILE_TABLE_MAX / 4,
	/*
	 * Number of files that are reserved for root: other users cannot use
	 * this part of the table.
	 */
	FILE_ROOT_RESERVE = FILE_TABLE_MAX / 8,
	/*
	 * Number of entries for users. If all are taken, a new user gets the
	 * entry of a user other than root who has no files; if there is no such
	 * user, the new user shares the last entry.
	 */
	FILE_USERS = 64,
	FILE_FADE_MS = 10000,
	/*
	 * A sampled file whose unwind table is crowded out (table_store.h) is
	 * read again after this time.
	 */
	FILE_RETRY_MS = 3000,
	/*
	 * A sampled file that could not be read is read again after this time,
	 * which doubles with each failure, up to two minutes.
	 */
	FILE_FAILED_MS = 500,
	FILE_FAILURES_MAX = 9,
	/*
	 * Largest number of files that stay open. A user other than root may
	 * have a quarter of them.
	 */
	FILES_OPEN_MAX = 4096,
	FILES_OPEN_USER_PART = 4,
	/*
	 * Files that stay open may use only this part (an eighth) of the
	 * descriptors that this process may have. The rest is needed, for
	 * example, by windows of samples (bpf/collect/sample_window.h), which
	 * duplicate the descriptors of open files.
	 */
	FILES_OPEN_PART = 8,
	/* For how long files that no process has are remembered. */
	FILE_UNUSED_MS = 600000,
	/*
	 * Largest number of files that are remembered although no process has
	 * them. A user other than root may have a quarter of these files.
	 */
	FILES_UNUSED_MAX = 1024,
	FILES_UNUSED_USER_PART = 4,
};

enum mapped_state {
	MAPPED_UNREAD,  /* the file waits in the list of files to be read */
	MAPPED_PENDING, /* the file is being read */
	MAPPED_READ,    /* the facts are known */
	/*
	 * The file could not be read, for example because it is not an ELF
	 * file, or because the process `pid` has ended. Other processes of the
	 * user may have the file, so reading is tried again when the file is
	 * sampled.
	 */
	MAPPED_FAILED,
};

/*
 * A file that a process has mapped, or had mapped some time ago (`unused_at`).
 */
struct mapped_file {
	char *path;
	struct file_identity identity; /* owned */
	uint32_t uid; /* the user of the processes that have it */
	/* one of these processes, through which the file is opened */
	uint32_t pid;
	unsigned user; /* index in `users` of the table */
	enum mapped_state state;
	bool live; /* not a gap in the array of files */
	/*
	 * file_table_count() was called for it since file_table_count_begin(),
	 * or it was added since then
	 */
	bool in_use;
	/*
	 * when file_table_count_end() closed it, because it was not in use; 0:
	 * it was not closed, or is in use again
	 */
	uint64_t unused_at;
	/* number of its unwind table in the store, or TABLE_STORE_NONE */
	uint32_t table;
	uint64_t tried_at; /* when the last attempt to read it ended */
	/* number of attempts that failed in a row, up to FILE_FAILURES_MAX */
	uint32_t failures;
	/*
	 * The open file, or -1. It stays open, so that names can be found after
	 * the process has ended, and the file is not opened twice.
	 */
	int fd;
	uint32_t owner; /* user to whom the file belongs */
	struct elf_segment *segments;
	uint32_t segment_count;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_len;
	/* its state when it was read last, or opened again; { 0 }: never */
	struct file_state opened_as;
	/*
	 * Set by file_table_next(): whether the facts and the table of the file
	 * are known. They are still right if the file has the state
	 * `opened_as`.
	 */
	bool is_known;
};

/* Numbers of files. */
struct file_numbers {
	VEC(uint32_t) list;
};

/*
 * The share of one user: how many files of the table the processes of the user
 * have, and how long reading them has taken.
 */
struct file_user {
	uint32_t uid; /* the result of user_ranges_share() for the user */
	uint32_t files;
	uint32_t open;   /* files that stay open */
	uint32_t unused; /* files that no process has */
	/*
	 * how long reading the user's files took, in ms; file_table_next()
	 * halves it, at most once in FILE_FADE_MS
	 */
	uint64_t spent;
	/* files to be read; the one that was asked for last is the last one */
	struct file_numbers unread;
};

/* All files. */
struct file_table {
	struct table_store *store;
	const struct user_ranges *ranges; /* may be NULL */
	VEC(struct mapped_file) files;
	VEC(uint32_t) gaps;
	struct table by_name;
	size_t open_count;   /* files that stay open */
	size_t open_max;     /* limit of open_count */
	size_t unused_count; /* files that no process has */
	/* number of new files that found no room */
	uint64_t refused;
	struct file_user users[FILE_USERS]; /* root in front */
	unsigned user_count;
	uint64_t faded_at; /* when the times of all users were halved last */
	uint64_t asked_at; /* when file_table_next() last returned a file */
};

/*
 * Begin with no files. `store` must outlive the table. `ranges` must, too,
 * unless it is NULL. How many files may stay open follows from the limit on
 * open files (RLIMIT_NOFILE) that this process has at this moment.
 */
void file_table_init(struct file_table *t, struct table_store *store,
		     const struct user_ranges *ranges);

/* Free everything. */
void file_table_fini(struct file_table *t);

/*
 * Return the number of the file with this path and identity, which the process
 * `pid` has mapped. The file is added if it is new. `asker` is the user of the
 * process, who is a part of the file's key. If the file is new or waits to be
 * read, `asker` is read from /proc again, because the file will be opened as
 * this user. FILE_NONE: there are too many files, or too many of this user.
 */
uint32_t file_table_get(struct file_table *t, struct str path,
			const struct file_identity *identity,
			struct process_uid *asker, uint32_t pid);

/*
 * Choose the next file to be read, or to be opened again, and return its
 * number; FILE_NONE: there is none. The file is then pending. Files of the user
 * whose files have taken the least time come first, so that slow files of one
 * user do not delay those of other users. Of the files of this user, the one
 * that was asked for last comes first: mostly, it belongs to a process that has
 * just started and is already being sampled.
 */
uint32_t file_table_next(struct file_table *t, uint64_t now);

/*
 * Store what reading the file `number` has found. `read` is NULL if the file
 * could not be read. A file that is not pending is left as it is. Unless too
 * many files are open, read->fd is taken over and becomes -1. Returns whether
 * the facts are new: then the processes that have the file must be published
 * again.
 */
bool file_table_learn(struct file_table *t, uint32_t number,
		      struct elf_read *read, uint64_t now);

/*
 * Note that the file `number`, which process `pid` has mapped, was in a sample.
 * If the unwind table of the file is crowded out (table_store.h), let the file
 * be read again, but at the earliest FILE_RETRY_MS after the last attempt. If
 * the file could not be read, let it be read again, too, but at the earliest
 * FILE_FAILED_MS after the last attempt; this time doubles with each failure.
 */
void file_table_sampled(struct file_table *t, uint32_t number, uint32_t pid,
			uint64_t now);

/* Return a file by its number, borrowed until the next call. */
const struct mapped_file *file_table_at(const struct file_table *t,
					uint32_t number);

/*
 * Set m->table, m->pages and m->bias of a mapping that begins at `offset` of
 * the file `number`, and at m->start in memory. All three become 0 if `number`
 * is FILE_NONE, or if the file has no table in the store or no segment that is
 * loaded from `offset`. If the table has no entries, for example because it is
 * crowded out, m->table and m->pages become 0.
 */
void file_table_resolve(const struct file_table *t, uint32_t number,
			uint64_t offset, struct sampler_mapping *m);

/*
 * Append to `out` the numbers of the files whose unwind tables were evicted
 * since the last call, although processes have the files. These processes must
 * be published again.
 */
void file_table_take_withdrawn(struct file_table *t, struct file_numbers *out);

/*
 * Begin to forget the files that no process has: mark all files as not in use …
 */
void file_table_count_begin(struct file_table *t);

/* … then mark as in use each file that a process has … */
void file_table_count(struct file_table *t, uint32_t number);

/*
 * … then close the files that are not in use, except those that are being read.
 * What is known of a closed file is kept for FILE_UNUSED_MS, and then
 * forgotten. It is forgotten at once if there is no room for it
 * (FILES_UNUSED_MAX), or if the file was never read, or could not be read.
 */
void file_table_count_end(struct file_table *t, uint64_t now);

#endif
