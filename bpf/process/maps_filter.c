/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/maps_filter.h"

#include <string.h>
#include <unistd.h>

#include "bpf/process/address_space.h"
#include "bpf/process/maps_line.h"

enum {
	MAPS_PIECE = 64 << 10,
	/*
	 * Room for a line with its numbers and a path of PATH_MAX bytes, each
	 * of which may be escaped as four bytes. A path may be longer, in
	 * directories that are nested deeply. If its line does not fit, this
	 * line and all later ones are left out.
	 */
	MAPS_LINE_MAX = 20 << 10,
};

/* The state of a filter between two pieces of the file. */
struct maps_filter {
	struct buf rest; /* the beginning of a line */
	struct buf *out;
	size_t max;   /* bytes that may still be appended */
	size_t lines; /* number of lines that were appended */
};

/*
 * Take the next piece of the file, and append those lines that are complete now
 * and of executable memory.
 */
static void maps_filter_add(struct maps_filter *f, const char *piece, size_t n)
{
	struct str text;

	buf_add(&f->rest, piece, n);
	text = str_from(buf_bytes(&f->rest));
	while (text.len && memchr(text.ptr, '\n', text.len)) {
		struct str line = str_cut(text, '\n', &text);
		struct maps_line l;

		if (!maps_line_parse(line, &l) || !l.executable ||
		    line.len >= f->max || f->lines == ADDRESS_RANGES_MAX)
			continue;
		buf_add(f->out, line.ptr, line.len);
		buf_byte(f->out, '\n');
		f->max -= line.len + 1;
		f->lines++;
	}
	if (text.len)
		memmove(f->rest.ptr, text.ptr, text.len);
	f->rest.len = text.len;
}

int maps_filter_read(int fd, size_t max, struct buf *out, struct err *err)
{
	struct maps_filter f = { .rest = buf_init(MAPS_PIECE + MAPS_LINE_MAX),
				 .out = out,
				 .max = max };
	char piece[MAPS_PIECE];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		maps_filter_add(&f, piece, (size_t)n);
	buf_fini(&f.rest);
	return n < 0 ? err_sys(err, "the mappings of a process") : 0;
}
