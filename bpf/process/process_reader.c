/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/dec.h"
#include "base/enc.h"
#include "bpf/process/maps_filter.h"

enum {
	/* Longer texts are cut off. */
	TEXT_MAX = 64 << 10,
	CMDLINE_MAX = 4096,
	/* Room in an answer for the texts other than the mappings. */
	TEXTS_MAX = 256 << 10,
};

enum process_operation {
	PROCESS_READ,
	PROCESS_OPEN,
	PROCESS_OPERATIONS,
};

/*
 * Append at most `max` bytes of a file of a process as a text. If the file
 * cannot be opened, the text is empty.
 */
static void process_read_text(int dir, const char *file, size_t max,
			      struct buf *out)
{
	static char text[TEXT_MAX];
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = fd < 0 ? 0 : 1;

	while (n > 0 && len < max) {
		n = read(fd, text + len, max - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	enc_str(out, (struct str){ .ptr = text, .len = len });
}

/*
 * Append the path of the program of a process as a text, which is empty if the
 * path cannot be read.
 */
static void process_read_exe(int dir, struct buf *out)
{
	char target[4096];
	ssize_t n = readlinkat(dir, "exe", target, sizeof(target));

	enc_str(out,
		(struct str){ .ptr = target, .len = n > 0 ? (size_t)n : 0 });
}

/*
 * Append the lines of the executable mappings of a process. If opening the file
 * `maps` fails with ESRCH, the process has no mappings, for example because it
 * is a thread of the kernel.
 */
static int process_read_maps(int dir, struct buf *out, struct err *err)
{
	int fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC);
	int rc = 0;

	if (fd >= 0)
		rc = maps_filter_read(fd, PROCESS_ANSWER_MAX - TEXTS_MAX, out,
				      err);
	else if (errno != ESRCH)
		rc = err_sys(err, "the mappings of a process");
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Perform the operation PROCESS_READ. The descriptor is the directory of a
 * process. The argument is a byte; 1: read the mappings, too.
 */
static int process_reader_text(int dir, struct bytes argument, struct buf *out,
			       struct err *err)
{
	int rc = 0;

	process_read_text(dir, "comm", TEXT_MAX, out);
	/*
	 * When a process ends, the kernel first shows "/" as its cgroup
	 * (hierarchies of version 1), and a moment later takes its program
	 * away. So the program is read after the cgroup: if the process still
	 * has a program then, the cgroup is right, unless both were read within
	 * that moment.
	 */
	process_read_text(dir, "cgroup", TEXT_MAX, out);
	process_read_exe(dir, out);
	process_read_text(dir, "cmdline", CMDLINE_MAX, out);
	if (argument.len && argument.ptr[0])
		rc = process_read_maps(dir, out, err);
	close(dir);
	return rc;
}

int process_reader_read(struct file_helper *reader, uint32_t pid,
			bool with_maps, struct buf *answer,
			struct process_text *out, struct err *err)
{
	const uint8_t argument = with_maps;
	char path[32];
	struct dec d;
	int dir;
	int rc;

	/*
	 * The directory stays that of this process, even if its PID is used
	 * again.
	 */
	snprintf(path, sizeof(path), "/proc/%u", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys(err, "open %s", path);
	rc = file_helper_call(reader, PROCESS_READ, dir,
			      (struct bytes){ &argument, sizeof(argument) },
			      PROCESS_READER_TIMEOUT_MS, answer, err);
	if (rc)
		return rc;
	d = dec_init(buf_bytes(answer));
	out->name = str_trim(dec_str(&d));
	out->cgroup = dec_str(&d);
	out->exe = dec_str(&d);
	out->cmdline = dec_str(&d);
	if (d.bad || !out->name.len)
		return err_set(err, ERR_NOTFOUND, "process %u has ended", pid);
	out->maps = str_from(dec_bytes(&d, dec_left(&d)));
	return 0;
}

/* The argument of PROCESS_OPEN. */
struct process_open {
	uint32_t pid;
	struct str path; /* empty: the program */
	struct process_user user;
	struct process_file_wish wish;
};

static void process_open_encode(const struct process_open *o, struct buf *out)
{
	enc_be32(out, o->pid);
	enc_str(out, o->path);
	enc_be32(out, o->user.uid);
	buf_byte(out, o->user.reads_all);
	buf_byte(out, o->user.is_whole);
	enc_uvarint(out, o->user.groups.count);
	for (size_t i = 0; i < o->user.groups.count; i++)
		enc_be32(out, o->user.groups.v[i]);
	buf_byte(out, o->wish.owned);
	enc_str(out, str_from(o->wish.inode));
}

/*
 * Decode the argument of PROCESS_OPEN. The caller must free the groups, even
 * after an error.
 */
static bool process_open_decode(struct bytes b, struct process_open *out)
{
	struct dec d = dec_init(b);
	uint64_t groups;

	*out = (struct process_open){ .pid = dec_be32(&d) };
	out->path = dec_str(&d);
	out->user.uid = dec_be32(&d);
	out->user.reads_all = dec_u8(&d);
	out->user.is_whole = dec_u8(&d);
	groups = dec_count(&d, FILE_HELPER_ARGUMENT_MAX);
	for (uint64_t i = 0; i < groups; i++)
		*vec_add(&out->user.groups) = dec_be32(&d);
	out->wish.owned = dec_u8(&d);
	out->wish.inode = bytes_of(dec_str(&d));
	return !d.bad;
}

/*
 * Perform the operation PROCESS_OPEN: open a file, and send its descriptor with
 * the answer. The descriptor `unused` is only closed.
 */
static int process_reader_file(int unused, struct bytes argument,
			       struct buf *out UNUSED, struct err *err)
{
	struct process_open o;
	bool good = process_open_decode(argument, &o);
	uint32_t pid = o.pid ? o.pid : (uint32_t)getpid();
	int fd = -1;

	close(unused);
	if (good && o.path.len) {
		char *path = mem_strndup(o.path);

		fd = process_file_open(pid, path, &o.user, &o.wish);
		mem_free(path);
	} else if (good) {
		fd = process_file_open_program(pid, &o.user, &o.wish);
	}
	process_user_fini(&o.user);
	if (fd < 0)
		return err_set(err, ERR_NOTFOUND,
			       "there is no such file that may be read");
	file_helper_give(fd);
	return 0;
}

int process_reader_open(struct file_helper *reader, uint32_t pid,
			const char *path, const struct process_user *u,
			const struct process_file_wish *wish)
{
	const struct process_open o = { .pid = pid,
					.path = str_of(path ? path : ""),
					.user = *u,
					.wish = *wish };
	struct buf argument = { 0 };
	int fd = -1;

	process_open_encode(&o, &argument);
	if (file_helper_call_open(reader, PROCESS_OPEN, buf_bytes(&argument),
				  PROCESS_READER_TIMEOUT_MS, &fd, NULL))
		fd = -1;
	buf_fini(&argument);
	return fd;
}

int process_reader_serve(void)
{
	static file_operation *const operations[PROCESS_OPERATIONS] = {
		[PROCESS_READ] = process_reader_text,
		[PROCESS_OPEN] = process_reader_file,
	};

	return file_helper_serve_proc(0, operations, PROCESS_OPERATIONS);
}
