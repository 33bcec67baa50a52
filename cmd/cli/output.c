/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the result of a command. */
#include "cmd/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"

/*
 * Only the content of a regular file is removed: devices and pipes have none,
 * and refuse to be truncated.
 */
int output_open(struct output *o, const char *path, struct err *err)
{
	struct stat st;
	int rc = 0;

	*o = (struct output){ .path = path };
	o->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return err_sys(err, "open %s", path);
	if (fstat(o->fd, &st) < 0)
		rc = err_sys(err, "stat %s", path);
	else if (S_ISREG(st.st_mode) && ftruncate(o->fd, 0) < 0)
		rc = err_sys(err, "truncate %s", path);
	if (rc) {
		close(o->fd);
		o->fd = -1;
	}
	return rc;
}

int output_write(struct output *o, struct bytes b, struct err *err)
{
	while (b.len) {
		ssize_t n = write(o->fd, b.ptr, b.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "write %s", o->path);
		b.ptr += n;
		b.len -= (size_t)n;
	}
	return 0;
}

/* Network file systems report some failed writes only when closing. */
int output_close(struct output *o, struct err *err)
{
	int fd = o->fd;

	o->fd = -1;
	if (fd < 0 || !close(fd) || errno == EINTR)
		return 0;
	return err_sys(err, "close %s", o->path);
}

/* A file that does not exist is created in its folder. */
int output_check(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(mem_freep) char *folder = NULL;
	struct stat st;

	if (!strcmp(path, "-"))
		return 0;
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return err_set(
				err, ERR_INVALID,
				"--output=%s is a folder; give the name of a file",
				path);
		return access(path, W_OK) < 0 ? err_sys(err, "open %s", path) :
						0;
	}
	folder = slash ? mem_printf("%.*s", (int)(slash - path + 1), path) :
			 mem_strdup(".");
	return access(folder, W_OK | X_OK) < 0 ? err_sys(err, "open %s", path) :
						 0;
}

/* Formats of pictures and documents, by the ends of file names. */
static const struct output_format {
	const char *end;
	const char *name;
} output_formats[] = {
	{ ".svg", "SVG" },   { ".png", "PNG" },   { ".jpg", "JPEG" },
	{ ".jpeg", "JPEG" }, { ".gif", "GIF" },   { ".webp", "WebP" },
	{ ".pdf", "PDF" },   { ".html", "HTML" }, { ".htm", "HTML" },
};

int output_check_name(const char *path, bool is_svg, const char *what,
		      struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(output_formats); i++) {
		const struct output_format *f = &output_formats[i];

		if (str_ends(str_of(path), f->end) &&
		    strcmp(f->name, is_svg ? "SVG" : "") != 0)
			return err_set(err, ERR_INVALID,
				       "--output=%s: the output is %s, not %s",
				       path, what, f->name);
	}
	return 0;
}

int output_save(const char *path, bool for_people, struct bytes b,
		struct err *err)
{
	bool is_stdout = !strcmp(path, "-");
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct output o;
	int rc;

	if (for_people || (is_stdout && isatty(STDOUT_FILENO))) {
		printable_add_lines(&text, str_from(b));
		b = buf_bytes(&text);
	}
	/*
	 * Write errors are ignored here: main() reports them when it flushes
	 * stdout.
	 */
	if (is_stdout) {
		if (b.len)
			fwrite(b.ptr, 1, b.len, stdout);
		return 0;
	}
	rc = output_open(&o, path, err);
	if (rc)
		return rc;
	rc = output_write(&o, b, err);
	if (!rc)
		return output_close(&o, err);
	(void)!output_close(&o, NULL);
	return rc;
}
