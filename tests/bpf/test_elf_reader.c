/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF reader: the files of this process and of a child, also when they were
 * removed or replaced.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "bpf/process/elf_reader.h"
#include "symbols/names/name_answer.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(elf_reader, .timeout = 120);

static char *const program[] = { (char *)ELF_HELPER, NULL };
static char *const process_program[] = { (char *)ELF_HELPER, (char *)"proc",
					 NULL };

static struct elf_helpers *helpers_new(void)
{
	struct elf_helpers *h = mem_new(struct elf_helpers);

	h->files = file_helper_new(program);
	h->processes = file_helper_new(process_program);
	return h;
}

static void helpers_close(struct elf_helpers *h)
{
	file_helper_close(h->files);
	file_helper_close(h->processes);
	mem_free(h);
}

/* The identity of a file by its inode. */
static struct buf inode_of(const char *path)
{
	struct buf b = { 0 };
	struct stat st;

	cr_assert(!stat(path, &st));
	file_inode_encode(&b, major(st.st_dev), minor(st.st_dev), st.st_ino);
	return b;
}

/* Read a file, and return the number of entries of its table, or an error. */
static int read_wanted(struct elf_helpers *h, const struct wanted_file *f)
{
	struct buf answer = { .max = ELF_FACTS_MAX };
	struct elf_read read;
	struct err err;
	int rc = elf_reader_read(h, f, &answer, &read, &err);

	if (!rc) {
		rc = (int)read.facts.table.count;
		close(read.fd);
	}
	buf_fini(&answer);
	return rc;
}

/* Read a file of a process of this user. */
static int read_file(struct elf_helpers *h, pid_t pid, const char *path,
		     struct file_identity identity)
{
	return read_wanted(h, &(struct wanted_file){ .pid = (uint32_t)pid,
						     .uid = geteuid(),
						     .path = path,
						     .identity = identity });
}

/* The file with a device and an inode, or, if that is empty, any file. */
static int read_entries(struct elf_helpers *h, pid_t pid, const char *path,
			struct bytes inode)
{
	return read_file(h, pid, path,
			 (struct file_identity){ .bytes = inode });
}

static int read_build_id(struct elf_helpers *h, pid_t pid, const char *path,
			 struct bytes build_id)
{
	return read_file(h, pid, path,
			 (struct file_identity){ .is_build_id = true,
						 .bytes = build_id });
}

Test(elf_reader, files_of_this_process)
{
	struct elf_helpers *h = helpers_new();
	char self[4096] = "";
	struct buf inode;
	struct buf answer = { .max = ELF_FACTS_MAX };
	struct elf_read read;
	struct elf_facts facts;
	struct err err;

	cr_assert(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	inode = inode_of(self);
	cr_assert(
		!elf_reader_read(h,
				 &(struct wanted_file){
					 .pid = (uint32_t)getpid(),
					 .uid = geteuid(),
					 .path = self,
					 .identity.bytes = buf_bytes(&inode) },
				 &answer, &read, &err),
		"%s", err.msg);
	facts = read.facts;
	close(read.fd);
	cr_assert(facts.table.count > 10);
	cr_expect(facts.build_id.len == 20);
	/* By its build ID, and by that of another file. */
	cr_expect(read_build_id(h, getpid(), self, facts.build_id) ==
		  (int)facts.table.count);
	cr_expect(read_build_id(h, getpid(), self,
				bytes_of(str_of("twenty bytes of text"))) ==
		  ERR_NOTFOUND);
	cr_expect(read_entries(h, getpid(), "[vdso]", buf_bytes(&inode)) > 0);
	cr_expect(read_entries(h, getpid(), "/etc/passwd",
			       (struct bytes){ 0 }) == ERR_UNSUPPORTED);
	buf_fini(&answer);
	buf_fini(&inode);
	helpers_close(h);
}

/* Copy a program to a path. */
static void copy_program(const char *from, const char *to)
{
	char command[9000];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	cr_assert(!system(command));
}

/* Linkers also write build IDs as long as a device and an inode. */
Test(elf_reader, a_build_id_of_16_bytes_is_none_of_an_inode)
{
	static const uint8_t build_id[] = "sixteen bytes id";
	static const uint8_t other[] = "another build id";
	struct elf_helpers *h = helpers_new();
	struct tempdir d = tempdir_make();
	char path[4200];
	char command[9000];

	snprintf(path, sizeof(path), "%s/program", d.path);
	snprintf(command, sizeof(command),
		 "echo 'int main(void) { return 0; }' | "
		 "gcc -x c - -o %s -Wl,--build-id=0x"
		 "7369787465656e206279746573206964",
		 path);
	cr_assert(!system(command));
	cr_expect(read_build_id(h, getpid(), path,
				(struct bytes){ build_id, 16 }) > 0);
	cr_expect(read_build_id(h, getpid(), path,
				(struct bytes){ other, 16 }) == ERR_NOTFOUND);
	tempdir_fini(&d);
	helpers_close(h);
}

Test(elf_reader, a_file_that_has_not_changed_is_only_opened)
{
	struct elf_helpers *h = helpers_new();
	struct tempdir d = tempdir_make();
	struct elf_read first;
	struct elf_read again;
	struct buf answer = { .max = ELF_FACTS_MAX };
	char path[4200];
	struct wanted_file f = { .pid = (uint32_t)getpid(),
				 .uid = geteuid(),
				 .path = path };

	snprintf(path, sizeof(path), "%s/program", d.path);
	copy_program("/bin/sleep", path);
	cr_assert(!elf_reader_read(h, &f, &answer, &first, NULL));
	cr_assert(!first.unchanged);
	cr_expect(first.facts.table.count > 10);
	f.known = first.state;
	buf_reset(&answer);
	cr_assert(!elf_reader_read(h, &f, &answer, &again, NULL));
	cr_assert(again.unchanged);
	cr_assert(again.fd >= 0);
	cr_expect(!answer.len);
	close(again.fd);
	/* The time of the last change of the inode cannot be set. */
	cr_assert(!chmod(path, 0700));
	cr_assert(!elf_reader_read(h, &f, &answer, &again, NULL));
	cr_assert(!again.unchanged);
	cr_expect(again.facts.table.count > 10);
	close(again.fd);
	close(first.fd);
	buf_fini(&answer);
	tempdir_fini(&d);
	helpers_close(h);
}

/* Nobody knows whose it was, so it is read as anybody could. */
Test(elf_reader, the_program_of_a_process_that_has_ended_is_read)
{
	struct elf_helpers *h = helpers_new();
	struct tempdir d = tempdir_make();
	char path[4200];
	struct buf inode;

	snprintf(path, sizeof(path), "%s/program", d.path);
	copy_program("/bin/sleep", path);
	inode = inode_of(path);
	cr_assert(!chmod(d.path, 0755));
	cr_expect(read_entries(h, 0x3fffffff, path, buf_bytes(&inode)) > 10);
	cr_expect(read_entries(h, 0x3fffffff, "/nowhere", buf_bytes(&inode)) ==
		  ERR_NOTFOUND);
	cr_assert(!chmod(d.path, 0700));
	cr_expect(read_entries(h, 0x3fffffff, path, buf_bytes(&inode)) ==
		  ERR_NOTFOUND);
	buf_fini(&inode);
	tempdir_fini(&d);
	helpers_close(h);
}

/* Its number was given to a process of another user, or it has become one. */
Test(elf_reader, a_process_of_another_user_opens_nothing)
{
	struct elf_helpers *h = helpers_new();
	struct tempdir d = tempdir_make();
	char path[4200];
	struct wanted_file f = { .pid = (uint32_t)getpid(),
				 .uid = geteuid(),
				 .path = path };

	snprintf(path, sizeof(path), "%s/program", d.path);
	copy_program("/bin/sleep", path);
	cr_assert(!chmod(d.path, 0700));
	cr_expect(read_wanted(h, &f) > 10);
	f.uid++;
	cr_expect(read_wanted(h, &f) == ERR_NOTFOUND);
	cr_assert(!chmod(d.path, 0755));
	cr_expect(read_wanted(h, &f) > 10, "everyone may read it");
	tempdir_fini(&d);
	helpers_close(h);
}

/* Start a program that sleeps, and wait until it runs. */
static pid_t start_program(const char *path)
{
	char link[64];
	char now[4200];
	ssize_t n;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, "600", NULL);
		_exit(1);
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	do {
		usleep(1000);
		n = readlink(link, now, sizeof(now) - 1);
		now[n > 0 ? n : 0] = 0;
	} while (strcmp(now, path));
	return pid;
}

Test(elf_reader, a_removed_program_is_read_and_its_successor_is_not)
{
	struct elf_helpers *h = helpers_new();
	struct tempdir d = tempdir_make();
	char path[4200];
	struct buf inode;
	pid_t pid;
	int entries;

	snprintf(path, sizeof(path), "%s/program", d.path);
	copy_program("/bin/sleep", path);
	inode = inode_of(path);
	pid = start_program(path);
	entries = read_entries(h, pid, path, buf_bytes(&inode));
	cr_expect(entries > 10);
	unlink(path);
	cr_expect(read_entries(h, pid, path, buf_bytes(&inode)) == entries);
	copy_program("/bin/ls", path);
	cr_expect(read_entries(h, pid, path, buf_bytes(&inode)) == entries);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect(read_entries(h, pid, path, buf_bytes(&inode)) ==
		  ERR_NOTFOUND);
	buf_fini(&inode);
	tempdir_fini(&d);
	helpers_close(h);
}

/* A path may lead to a FIFO, which blocks, or to a symbolic link. */
Test(elf_reader, links_and_fifos)
{
	struct elf_helpers *h = helpers_new();
	struct tempdir d = tempdir_make();
	char path[4200];

	snprintf(path, sizeof(path), "%s/fifo", d.path);
	cr_assert(!mkfifo(path, 0600));
	cr_expect(read_entries(h, getpid(), path, (struct bytes){ 0 }) ==
		  ERR_NOTFOUND);
	snprintf(path, sizeof(path), "%s/link", d.path);
	cr_assert(!symlink("/proc/self/mem", path));
	cr_expect(read_entries(h, getpid(), path, (struct bytes){ 0 }) ==
		  ERR_NOTFOUND);
	cr_expect(read_entries(h, getpid(), d.path, (struct bytes){ 0 }) ==
		  ERR_NOTFOUND);
	tempdir_fini(&d);
	helpers_close(h);
}

/* All that parsers need of the system is permitted, also for debug files. */
Test(elf_reader, names_of_this_program_in_the_sandbox)
{
	struct file_helper *h = file_helper_new(program);
	struct buf question = { 0 };
	struct buf answer = { 0 };
	struct err err;
	uint64_t addresses[64];

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		addresses[i] = 0x1000 + i * 0x100;
	elf_names_question(NULL, addresses, ARRAY_SIZE(addresses), &question);
	cr_assert(
		!file_helper_call(h, NAME_ELF_OPERATION,
				  open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				  buf_bytes(&question), 60000, &answer, &err),
		"%s", err.msg);
	buf_fini(&question);
	cr_expect(answer.len > ARRAY_SIZE(addresses) + 20);
	buf_fini(&answer);
	file_helper_close(h);
}
