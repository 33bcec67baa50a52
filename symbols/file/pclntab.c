/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/file/pclntab.h"

#include "base/dec.h"

/*
 * The first four bytes of a table, as a little-endian number, by the Go version
 * that introduced the format.
 */
#define MAGIC_2  0xfffffffbU
#define MAGIC_16 0xfffffffaU
#define MAGIC_18 0xfffffff0U
#define MAGIC_20 0xfffffff1U

enum {
	PCLNTAB_HEADER = 8,
	/*
	 * Names of functions and files that have this many bytes or more are
	 * not used.
	 */
	PCLNTAB_TEXT_MAX = 64 << 10,
	/*
	 * Largest number of steps in a list of values (struct pclntab_steps);
	 * the list of a function has about as many steps as the function has
	 * lines.
	 */
	PCLNTAB_STEPS_MAX = 1 << 20,
};

/* A function's entry. */
struct pclntab_entry {
	uint64_t start;
	uint32_t name;
	uint32_t stack_steps;
	uint32_t file_steps;
	uint32_t line_steps;
	uint32_t unit;
	uint32_t start_line;
	unsigned flags; /* a set of enum go_code_flag */
};

static unsigned pclntab_version(uint32_t magic)
{
	switch (magic) {
	case MAGIC_2:
		return 2;
	case MAGIC_16:
		return 16;
	case MAGIC_18:
		return 18;
	case MAGIC_20:
		return 20;
	default:
		return 0;
	}
}

/* Read a number of the size of an address. */
static uint64_t pclntab_word(const struct pclntab *t, struct dec *d)
{
	return t->pointer == 8 ? dec_le64(d) : dec_le32(d);
}

/*
 * Return the bytes of the table from position `at` to the end; none if `at` is
 * behind the end.
 */
static struct bytes pclntab_from(const struct pclntab *t, uint64_t at)
{
	if (at > t->all.len)
		return (struct bytes){ 0 };
	return (struct bytes){ .ptr = t->all.ptr + at, .len = t->all.len - at };
}

/*
 * Read the header of a table of Go 1.16 or later, which contains the positions
 * of all parts.
 */
static void pclntab_read_parts(struct pclntab *t, struct dec *d)
{
	t->count = pclntab_word(t, d);
	pclntab_word(t, d); /* number of files */
	if (t->version >= 18) {
		uint64_t text = pclntab_word(t, d);

		/*
		 * This address may be 0 in the file, for example in
		 * position-independent programs, where the dynamic linker
		 * writes it. If it is 0, keep the address that the caller of
		 * pclntab_parse() gave.
		 */
		if (text)
			t->text = text;
	} else {
		t->text = 0;
	}
	t->names = pclntab_from(t, pclntab_word(t, d));
	t->units = pclntab_from(t, pclntab_word(t, d));
	t->files = pclntab_from(t, pclntab_word(t, d));
	t->steps = pclntab_from(t, pclntab_word(t, d));
	t->functions = pclntab_from(t, pclntab_word(t, d));
}

/*
 * Read the header of a table of Go 1.15 or earlier. All positions in such a
 * table count from its beginning.
 */
static void pclntab_read_old(struct pclntab *t, struct dec *d)
{
	struct dec after;
	uint64_t len;

	t->text = 0;
	t->count = pclntab_word(t, d);
	t->functions = pclntab_from(t, PCLNTAB_HEADER + t->pointer);
	t->names = t->all;
	t->steps = t->all;
	/* The position of the list of files follows the list of functions. */
	len = (t->count * 2 + 1) * t->pointer;
	if (t->count > t->all.len || len > t->functions.len)
		return;
	after = dec_init((struct bytes){ .ptr = t->functions.ptr + len,
					 .len = t->functions.len - len });
	t->units = pclntab_from(t, dec_le32(&after));
	t->files = t->all;
}

int pclntab_parse(struct bytes table, uint64_t text, struct pclntab *out,
		  struct err *err)
{
	struct dec d = dec_init(table);
	struct pclntab t = { .all = table, .text = text };
	uint32_t magic = dec_le32(&d);
	uint16_t padding = dec_le16(&d);

	t.quantum = dec_u8(&d);
	t.pointer = dec_u8(&d);
	t.version = pclntab_version(magic);
	if (d.bad || !t.version || padding ||
	    (t.quantum != 1 && t.quantum != 2 && t.quantum != 4) ||
	    (t.pointer != 8 && t.pointer != 4))
		return err_set(err, ERR_UNSUPPORTED,
			       "unknown version of Go's table of functions: %x",
			       magic);
	t.cell = t.version >= 18 ? 4 : t.pointer;
	if (t.version == 2)
		pclntab_read_old(&t, &d);
	else
		pclntab_read_parts(&t, &d);
	if (d.bad || t.count > t.all.len ||
	    (t.count * 2 + 1) * t.cell > t.functions.len)
		return err_set(err, ERR_CORRUPT,
			       "Go's table of functions is damaged");
	*out = t;
	return 0;
}

/*
 * Return the value at index `at` of the list of functions. At index 2 * i, the
 * list has the address of function i or, since Go 1.18, the distance of this
 * address from t->text. At index 2 * i + 1, the list has the position of the
 * entry of function i.
 */
static uint64_t pclntab_cell(const struct pclntab *t, uint64_t at)
{
	struct dec d = dec_init((struct bytes){
		.ptr = t->functions.ptr + at * t->cell, .len = t->cell });

	return t->cell == 8 ? dec_le64(&d) : dec_le32(&d);
}

/*
 * Find the function that contains `offset`, which is an address or, since Go
 * 1.18, the distance of an address from t->text. Returns the number of the
 * function in the list; t->count: there is none.
 */
static uint64_t pclntab_search(const struct pclntab *t, uint64_t offset)
{
	uint64_t low = 0;
	uint64_t high = t->count;

	/* The last number of the list is the end of the last function. */
	if (!t->count || offset >= pclntab_cell(t, t->count * 2))
		return t->count;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (pclntab_cell(t, mid * 2) <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : t->count;
}

/*
 * Read the entry of function number `number` of the list, counted from 0.
 * False: the entry is not inside the table.
 */
static bool pclntab_entry_read(const struct pclntab *t, uint64_t number,
			       struct pclntab_entry *e)
{
	uint64_t at = pclntab_cell(t, number * 2 + 1);
	struct dec d;

	if (t->version == 2 ? at > t->all.len : at > t->functions.len)
		return false;
	d = dec_init(t->version == 2 ?
			     pclntab_from(t, at) :
			     (struct bytes){ .ptr = t->functions.ptr + at,
					     .len = t->functions.len - at });
	e->start = t->version >= 18 ? t->text + dec_le32(&d) :
				      pclntab_word(t, &d);
	e->name = dec_le32(&d);
	dec_le32(&d); /* size of the arguments */
	dec_le32(&d); /* where deferred calls return to, or size of frame */
	e->stack_steps = dec_le32(&d);
	e->file_steps = dec_le32(&d);
	e->line_steps = dec_le32(&d);
	dec_le32(&d); /* number of further lists of values (pcdata) */
	e->unit = t->version == 2 ? 0 : dec_le32(&d);
	e->start_line = t->version >= 20 ? dec_le32(&d) : 0;
	dec_u8(&d); /* funcID: functions that the runtime treats specially */
	e->flags = t->version >= 18 ? dec_u8(&d) : 0;
	return !d.bad;
}

/*
 * Reader of a list of values, which says for each address of a function the
 * depth of the stack, the number of the source file, or the line. The value
 * begins at -1. Each step adds a number to the value, and says for how many
 * bytes of code the new value holds.
 */
struct pclntab_steps {
	struct dec d;
	uint64_t from; /* addresses for which `value` holds */
	uint64_t to;
	int64_t value;
	unsigned left; /* largest number of steps that may still be read */
};

static struct pclntab_steps pclntab_steps_of(const struct pclntab *t,
					     const struct pclntab_entry *e,
					     uint32_t steps)
{
	struct pclntab_steps s = { .to = e->start,
				   .value = -1,
				   .left = PCLNTAB_STEPS_MAX };

	if (!steps || steps >= t->steps.len)
		s.left = 0;
	else
		s.d = dec_init((struct bytes){ .ptr = t->steps.ptr + steps,
					       .len = t->steps.len - steps });
	return s;
}

/*
 * Go to the next value. False: there is none, the list is damaged, or it has
 * too many steps.
 */
static bool pclntab_steps_next(const struct pclntab *t, struct pclntab_steps *s)
{
	uint64_t change;

	if (!s->left)
		return false;
	change = dec_uvarint(&s->d);
	/*
	 * A change of 0 ends the list, unless it is the first change: then the
	 * first value of the list is -1.
	 */
	if (!change && s->left != PCLNTAB_STEPS_MAX)
		return false;
	s->left--;
	s->value = wrap_add(s->value,
			    (int64_t)(change >> 1) ^ -(int64_t)(change & 1));
	s->from = s->to;
	s->to += dec_uvarint(&s->d) * t->quantum;
	return !s->d.bad;
}

/* Whether the value that was read last is the last one of its list. */
static bool pclntab_steps_end(const struct pclntab *t,
			      const struct pclntab_steps *s)
{
	struct pclntab_steps after = *s;

	return !pclntab_steps_next(t, &after);
}

/*
 * Read from the list at position `steps` the value that holds at `address`.
 * False: the list has no value for `address`.
 */
static bool pclntab_value(const struct pclntab *t,
			  const struct pclntab_entry *e, uint32_t steps,
			  uint64_t address, int64_t *out)
{
	struct pclntab_steps s = pclntab_steps_of(t, e, steps);

	while (pclntab_steps_next(t, &s)) {
		if (address < s.to) {
			*out = s.value;
			return true;
		}
	}
	return false;
}

/*
 * Return the text that begins at position `at` of `part` and ends with NUL.
 * Empty: there is none, or it is too long.
 */
static struct str pclntab_text(struct bytes part, uint64_t at)
{
	const uint8_t *end;
	size_t max;

	if (at >= part.len)
		return (struct str){ 0 };
	max = part.len - at;
	if (max > PCLNTAB_TEXT_MAX)
		max = PCLNTAB_TEXT_MAX;
	end = memchr(part.ptr + at, 0, max);
	if (!end)
		return (struct str){ 0 };
	return (struct str){ .ptr = (const char *)part.ptr + at,
			     .len = (size_t)(end - part.ptr) - at };
}

void pclntab_stack_depths(const struct pclntab *t, pclntab_visit *visit,
			  void *ctx, uint64_t *end)
{
	uint64_t base = t->version >= 18 ? t->text : 0;
	uint64_t last = 0;
	struct go_code c;

	for (uint64_t i = 0; i < t->count; i++) {
		uint64_t limit = base + pclntab_cell(t, i * 2 + 2);
		struct pclntab_entry e;
		struct pclntab_steps s;

		/*
		 * In a hostile table, a function could begin before the
		 * previous one ends, or end before it begins.
		 */
		if (!pclntab_entry_read(t, i, &e) || e.start < last ||
		    limit <= e.start)
			continue;
		last = limit;
		c = (struct go_code){ .function = e.start, .flags = e.flags };
		/*
		 * To read the names of all functions takes time, so read only
		 * those of assembler code.
		 */
		if (e.flags & GO_ASSEMBLER)
			c.name = pclntab_text(t->names, e.name);
		s = pclntab_steps_of(t, &e, e.stack_steps);
		while (pclntab_steps_next(t, &s) && s.from < limit &&
		       s.from < s.to) {
			c.from = s.from;
			c.depth = s.value;
			c.rest = pclntab_steps_end(t, &s);
			visit(ctx, &c);
		}
	}
	*end = last;
}

/*
 * Return the name of the source file that has the number `number` in the
 * compilation unit of `e`. Empty: there is none.
 */
static struct str pclntab_file(const struct pclntab *t,
			       const struct pclntab_entry *e, int64_t number)
{
	uint64_t at = (uint64_t)e->unit + (uint64_t)number;
	struct dec d;

	if (number < 0 || at >= t->units.len / 4)
		return (struct str){ 0 };
	d = dec_init((struct bytes){ .ptr = t->units.ptr + at * 4, .len = 4 });
	return pclntab_text(t->files, dec_le32(&d));
}

bool pclntab_find(const struct pclntab *t, uint64_t address,
		  struct go_function *out)
{
	uint64_t offset = t->version >= 18 ? address - t->text : address;
	uint64_t number = pclntab_search(t, offset);
	struct pclntab_entry e;
	int64_t value;

	if (number == t->count || !pclntab_entry_read(t, number, &e))
		return false;
	*out = (struct go_function){ .name = pclntab_text(t->names, e.name),
				     .start_line = e.start_line };
	if (!out->name.len)
		return false;
	if (pclntab_value(t, &e, e.file_steps, address, &value))
		out->file = pclntab_file(t, &e, value);
	if (pclntab_value(t, &e, e.line_steps, address, &value) && value > 0)
		out->line = (uint64_t)value;
	return true;
}
