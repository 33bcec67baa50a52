/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper whose operations do what a parser does that was taken over by a file.
 * The first byte of the file says which.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "symbols/helper/file_helper.h"

/* Answer with the file and the argument. */
static int operation_copy(int fd, struct bytes argument, struct buf *out,
			  struct err *err UNUSED)
{
	char bytes[4096];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		buf_add(out, bytes, (size_t)n);
	close(fd);
	buf_add(out, argument.ptr, argument.len);
	return 0;
}

static int operation_fail(int fd, struct bytes argument, struct buf *out,
			  struct err *err)
{
	buf_add(out, "half of an answer", 17);
	close(fd);
	return err_set(err, ERR_UNSUPPORTED, "not like this: %.*s",
		       STR_ARG(str_from(argument)));
}

static int operation_crash(int fd, struct bytes argument UNUSED,
			   struct buf *out UNUSED, struct err *err UNUSED)
{
	close(fd);
	_exit(7);
}

static int operation_spin(int fd UNUSED, struct bytes argument UNUSED,
			  struct buf *out UNUSED, struct err *err UNUSED)
{
	for (volatile int i = 0;; i++)
		;
	return 0;
}

/* Open a file: the kernel ends the process, unless a sanitizer is there. */
static int operation_open(int fd, struct bytes argument UNUSED,
			  struct buf *out UNUSED, struct err *err)
{
	int other = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	close(fd);
	return err_set(err, other < 0 ? ERR_DENIED : ERR_INVALID,
		       "a file was opened");
}

/* Make a socket, by which a program that was taken over would speak. */
static int operation_connect(int fd, struct bytes argument UNUSED,
			     struct buf *out UNUSED, struct err *err)
{
	int other = socket(AF_INET, SOCK_STREAM, 0);

	close(fd);
	return err_set(err, other < 0 ? ERR_DENIED : ERR_INVALID,
		       "a socket was made");
}

/* Make memory that could hold other code. */
static int operation_compile(int fd, struct bytes argument UNUSED,
			     struct buf *out UNUSED, struct err *err)
{
	void *memory = mmap(NULL, 4096, PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	close(fd);
	return err_set(err, memory == MAP_FAILED ? ERR_DENIED : ERR_INVALID,
		       "executable memory was made");
}

static int operation_flood(int fd, struct bytes argument UNUSED,
			   struct buf *out, struct err *err UNUSED)
{
	close(fd);
	for (int i = 0; i < 1 << 20; i++)
		buf_add(out, "0123456789abcdef", 16);
	return 0;
}

int main(void)
{
	static file_operation *const operations[] = {
		operation_copy,    operation_fail,  operation_crash,
		operation_spin,    operation_open,  operation_connect,
		operation_compile, operation_flood,
	};

	return file_helper_serve(0, operations,
				 sizeof(operations) / sizeof(*operations));
}
