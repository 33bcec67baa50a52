/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/elf_reader.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/names/elf_names.h"
#include "symbols/names/perf_map.h"

enum {
	/*
	 * Largest size in bytes of the vDSO, the library that the kernel maps
	 * into each process. The vDSO has two pages.
	 */
	VDSO_MAX = 64 << 10,
};

file_operation *const elf_operations[ELF_OPERATIONS] = {
	[NAME_ELF_OPERATION] = elf_names_read,
	[NAME_PERF_OPERATION] = perf_map_read,
	[NAME_CRC_OPERATION] = file_crc_read,
	[ELF_READER_OPERATION] = elf_facts_read,
};

/*
 * Copy the vDSO of everprof, which is also that of all other 64-bit processes,
 * into a file in memory. Returns its descriptor, or -1.
 */
static int elf_reader_open_vdso(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): auxv has numbers */
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	long page = sysconf(_SC_PAGESIZE);
	int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd < 0)
		return -1;
	/*
	 * The length of the image is not known, so up to VDSO_MAX bytes are
	 * copied. write() fails at the first page that is not mapped. If
	 * another mapping follows the image directly, its bytes are copied,
	 * too, but no header of the image refers to them.
	 */
	for (long at = 0; at < VDSO_MAX; at += page) {
		if (write(fd, image + at, (size_t)page) != page)
			break;
	}
	return fd;
}

/*
 * Open the file at f->path as the process sees it or, if that fails and the
 * identity is not empty, the program that the process runs. A file that is not
 * as `wish` demands is not opened. Returns -1 if no file was opened.
 */
static int elf_reader_open_of(struct file_helper *processes,
			      const struct wanted_file *f,
			      const struct process_user *user,
			      const struct process_file_wish *wish)
{
	int fd = process_reader_open(processes, f->pid, f->path, user, wish);

	/*
	 * Without an identity, nothing shows that the program is the wanted
	 * file.
	 */
	if (fd < 0 && f->identity.bytes.len)
		fd = process_reader_open(processes, f->pid, NULL, user, wish);
	return fd;
}

int elf_reader_open(struct file_helper *processes, const struct wanted_file *f)
{
	/* A build ID is compared when the file has been read. */
	const struct process_file_wish wish = {
		.inode = f->identity.is_build_id ? (struct bytes){ 0 } :
						   f->identity.bytes
	};
	struct process_user user;
	int fd = -1;

	if (!strcmp(f->path, "[vdso]"))
		return elf_reader_open_vdso();
	process_user_read(&user, f->pid);
	if (user.uid == f->uid) {
		fd = elf_reader_open_of(processes, f, &user, &wish);
	} else {
		process_user_fini(&user);
		process_user_init(&user);
	}
	if (fd < 0)
		fd = process_reader_open(processes, 0, f->path, &user, &wish);
	process_user_fini(&user);
	return fd;
}

/*
 * Decode `answer`. Check that it is well-formed and, if the build ID of the
 * mapped file is known, that it has this build ID.
 */
static int elf_reader_accept(const struct wanted_file *f, struct bytes answer,
			     struct elf_facts *out, struct err *err)
{
	if (!elf_facts_decode(answer, out))
		return err_set(
			err, ERR_CORRUPT,
			"the file helper sent an invalid answer about the file %s",
			f->path);
	if (f->identity.is_build_id &&
	    !bytes_eq(f->identity.bytes, out->build_id))
		return err_set(
			err, ERR_NOTFOUND,
			"%s, which process %u had mapped, has been replaced by another file",
			f->path, f->pid);
	return 0;
}

/*
 * Let the helper find out the facts of the open file `fd`, which is taken over.
 * out->fd becomes a duplicate of `fd`, or -1 after an error, or if `fd` cannot
 * be duplicated.
 */
static int elf_reader_ask(const struct elf_helpers *helpers,
			  const struct wanted_file *f, int fd,
			  struct buf *answer, struct elf_read *out,
			  struct err *err)
{
	int rc;

	out->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	rc = file_helper_call(helpers->files, ELF_READER_OPERATION, fd,
			      (struct bytes){ 0 }, ELF_READER_TIMEOUT_MS,
			      answer, err);
	if (!rc)
		rc = elf_reader_accept(f, buf_bytes(answer), &out->facts, err);
	if (rc && out->fd >= 0) {
		close(out->fd);
		out->fd = -1;
	}
	return rc;
}

int elf_reader_read(const struct elf_helpers *helpers,
		    const struct wanted_file *f, struct buf *answer,
		    struct elf_read *out, struct err *err)
{
	int fd = elf_reader_open(helpers->processes, f);
	struct stat st;

	*out = (struct elf_read){ .fd = -1, .owner = f->uid };
	if (fd < 0)
		return err_set(
			err, ERR_NOTFOUND,
			"%s, which process %u had mapped, does not exist any more, has been replaced, or is not readable by the user of the process",
			f->path, f->pid);
	if (!fstat(fd, &st)) {
		out->owner = st.st_uid;
		out->state = file_state_of(&st);
		out->unchanged = file_state_same(&f->known, &out->state);
	}
	if (!out->unchanged)
		return elf_reader_ask(helpers, f, fd, answer, out, err);
	out->fd = fd;
	return 0;
}
