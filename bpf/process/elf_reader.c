/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/elf_reader.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/enc.h"
#include "symbols/elf_names.h"
#include "symbols/perf_map.h"

enum {
	/* Largest size of the kernel's own library; it has two pages. */
	VDSO_MAX = 64 << 10,
};

file_operation *const elf_operations[ELF_OPERATIONS] = {
	[NAME_ELF_OPERATION] = elf_names_read,
	[NAME_PERF_OPERATION] = perf_map_read,
	[NAME_CRC_OPERATION] = file_crc_read,
	[ELF_READER_OPERATION] = elf_facts_read,
};

void file_inode_encode(struct buf *out, uint32_t major, uint32_t minor,
		       uint64_t inode)
{
	enc_be32(out, major);
	enc_be32(out, minor);
	enc_be64(out, inode);
}

/* Whether an open file has an identity. That of a build ID is seen later. */
static bool elf_reader_is(int fd, struct bytes identity)
{
	struct buf own = { 0 };
	struct stat st;
	bool same;

	if (identity.len != FILE_INODE_LEN)
		return true;
	if (fstat(fd, &st))
		return false;
	file_inode_encode(&own, major(st.st_dev), minor(st.st_dev), st.st_ino);
	same = bytes_eq(buf_bytes(&own), identity);
	buf_fini(&own);
	return same;
}

/* Close a file that has another identity. */
static int elf_reader_check(int fd, struct bytes identity)
{
	if (fd < 0 || elf_reader_is(fd, identity))
		return fd;
	close(fd);
	return -1;
}

/* Links lead nowhere else, and a FIFO does not block. */
int elf_reader_open_path(uint32_t pid, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT,
	};
	char root[64];
	int dir;
	long fd;

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	close(dir);
	return (int)fd;
}

/* The program of a process can be opened even if its file was removed. */
static int elf_reader_open_program(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Copy the kernel's own library, which all processes have, into a file. */
static int elf_reader_open_vdso(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel says so */
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	long page = sysconf(_SC_PAGESIZE);
	int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd < 0)
		return -1;
	/* The length of the image is not known; writing fails at its end. */
	for (long at = 0; at < VDSO_MAX; at += page) {
		if (write(fd, image + at, (size_t)page) != page)
			break;
	}
	return fd;
}

int elf_reader_open(uint32_t pid, const char *path, struct bytes identity)
{
	int fd;

	if (!strcmp(path, "[vdso]"))
		return elf_reader_open_vdso();
	fd = elf_reader_check(elf_reader_open_path(pid, path), identity);
	if (fd < 0)
		fd = elf_reader_check(elf_reader_open_program(pid), identity);
	if (fd < 0)
		fd = elf_reader_check(
			elf_reader_open_path((uint32_t)getpid(), path),
			identity);
	return fd;
}

/* Check that an answer is well-formed, and about the file that was mapped. */
static int elf_reader_accept(const struct wanted_file *f, struct bytes answer,
			     struct elf_facts *out, struct err *err)
{
	if (!elf_facts_decode(answer, out))
		return err_set(
			err, ERR_CORRUPT,
			"the file helper sent an invalid answer about the file %s",
			f->path);
	if (f->identity.len != FILE_INODE_LEN && f->identity.len &&
	    !bytes_eq(f->identity, out->build_id))
		return err_set(
			err, ERR_NOTFOUND,
			"%s, which process %u had mapped, has been replaced by another file",
			f->path, f->pid);
	return 0;
}

int elf_reader_read(struct file_helper *helper, const struct wanted_file *f,
		    struct buf *answer, struct elf_facts *out, struct err *err)
{
	int fd = elf_reader_open(f->pid, f->path, f->identity);
	int rc;

	if (fd < 0)
		return err_set(
			err, ERR_NOTFOUND,
			"%s, which process %u had mapped, does not exist any more or has been replaced",
			f->path, f->pid);
	rc = file_helper_call(helper, ELF_READER_OPERATION, fd,
			      (struct bytes){ 0 }, ELF_READER_TIMEOUT_MS,
			      answer, err);
	return rc ? rc : elf_reader_accept(f, buf_bytes(answer), out, err);
}
