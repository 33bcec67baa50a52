/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/names/perf_map.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "symbols/names/name_reader.h"

enum {
	/*
	 * How many bytes of the file are read at once; a line that has more
	 * bytes is left out.
	 */
	PERF_MAP_PIECE = 256 << 10,
	/*
	 * How many names all lines together may give to wanted addresses. When
	 * this limit is reached, the rest of the file is not read. A real map
	 * gives an address a few names, one after the other, when code is
	 * compiled again; a hostile map could have millions of lines, each of
	 * which names all addresses.
	 */
	PERF_MAP_NAMES_MAX = 1 << 20,
};

/* An address that was asked for. */
struct wanted_address {
	uint64_t address;
	size_t number; /* index in the question */
	char *name;    /* owned; NULL: none was found */
};

/* The addresses, sorted. */
struct wanted_addresses {
	VEC(struct wanted_address) list;
	uint32_t given; /* number of names that were given so far */
};

static int wanted_order(const void *a, const void *b)
{
	const struct wanted_address *x = a;
	const struct wanted_address *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int wanted_order_number(const void *a, const void *b)
{
	const struct wanted_address *x = a;
	const struct wanted_address *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Return the index of the first wanted address that is not before `address`. */
static size_t wanted_find(const struct wanted_addresses *w, uint64_t address)
{
	return vec_partition_point(&w->list, e, e->address < address);
}

/*
 * Parse the hexadecimal number at the beginning of `line`, and cut it off with
 * the space behind it. False: there is no such number.
 */
static bool perf_map_number(struct str *line, uint64_t *out)
{
	size_t n = 0;

	*out = 0;
	if (str_starts(*line, str_of("0x"))) {
		line->ptr += 2;
		line->len -= 2;
	}
	for (; n < line->len && digit_hex_value(line->ptr[n]) >= 0; n++)
		*out = *out << 4 | (uint64_t)digit_hex_value(line->ptr[n]);
	if (!n || n > 16 || n == line->len || line->ptr[n] != ' ')
		return false;
	line->ptr += n + 1;
	line->len -= n + 1;
	return true;
}

/* Give the name in a line to the wanted addresses that the line covers. */
static void perf_map_line(struct wanted_addresses *w, struct str line)
{
	uint64_t start;
	uint64_t size;

	if (!perf_map_number(&line, &start) || !perf_map_number(&line, &size))
		return;
	line = str_trim(line);
	if (!line.len)
		return;
	if (line.len > NAME_TEXT_MAX)
		line.len = NAME_TEXT_MAX;
	for (size_t i = wanted_find(w, start);
	     i < w->list.count && w->list.v[i].address - start < size &&
	     w->given < PERF_MAP_NAMES_MAX;
	     i++) {
		w->given++;
		mem_free(w->list.v[i].name);
		w->list.v[i].name = mem_strndup(line);
	}
}

/*
 * Process all whole lines of `piece`, and move the rest to its beginning.
 * Returns the length of the rest. *is_cut: the beginning of the first line was
 * dropped, so the line is not used.
 */
static size_t perf_map_lines(struct wanted_addresses *w, char *piece,
			     size_t len, bool *is_cut)
{
	struct str rest = { .ptr = piece, .len = len };

	while (rest.len && memchr(rest.ptr, '\n', rest.len)) {
		struct str line = str_cut(rest, '\n', &rest);

		if (!*is_cut)
			perf_map_line(w, line);
		*is_cut = false;
	}
	memmove(piece, rest.ptr, rest.len);
	return rest.len;
}

/*
 * Read the file. A last line without a newline is left out, because it may not
 * be finished yet.
 */
static int perf_map_scan(struct wanted_addresses *w, int fd, struct err *err)
{
	char *piece = mem_alloc(PERF_MAP_PIECE);
	size_t have = 0;
	size_t total = 0;
	bool is_cut = false;
	ssize_t n = 1;

	while (total < PERF_MAP_MAX && n > 0 && w->given < PERF_MAP_NAMES_MAX) {
		if (have == PERF_MAP_PIECE) {
			/* The line is too long. */
			is_cut = true;
			have = 0;
		}
		n = read(fd, piece + have, PERF_MAP_PIECE - have);
		if (n <= 0)
			break;
		total += (size_t)n;
		have = perf_map_lines(w, piece, have + (size_t)n, &is_cut);
	}
	mem_free(piece);
	return n < 0 ? err_sys(err, "cannot read a perf map") : 0;
}

int perf_map_read(int fd, struct bytes argument, struct buf *out,
		  struct err *err)
{
	struct wanted_addresses w = { 0 };
	int rc = name_question_check(argument, err);

	for (size_t i = 0; i < name_question_count(argument) && !rc; i++)
		*vec_add(&w.list) = (struct wanted_address){
			.address = name_question_address(argument, i),
			.number = i
		};
	if (w.list.count)
		qsort(w.list.v, w.list.count, sizeof(*w.list.v), wanted_order);
	if (!rc)
		rc = perf_map_scan(&w, fd, err);
	close(fd);
	if (w.list.count)
		qsort(w.list.v, w.list.count, sizeof(*w.list.v),
		      wanted_order_number);
	for (size_t i = 0; i < w.list.count; i++) {
		const struct name_frame f = {
			.system_name = str_of(w.list.v[i].name),
			.name = str_of(w.list.v[i].name),
		};

		name_answer_begin(out, f.name.len ? 1 : 0);
		if (f.name.len)
			name_answer_add(out, &f);
		mem_free(w.list.v[i].name);
	}
	vec_fini(&w.list);
	return rc;
}
