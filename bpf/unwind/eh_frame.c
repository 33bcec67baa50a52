/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/unwind/eh_frame.h"

/* Encodings of addresses (Linux Standard Base Core 5.0, section 10.5). */
enum {
	EH_ABSOLUTE = 0x00,
	EH_UDATA2 = 0x02,
	EH_UDATA4 = 0x03,
	EH_UDATA8 = 0x04,
	EH_SDATA2 = 0x0a,
	EH_SDATA4 = 0x0b,
	EH_SDATA8 = 0x0c,
	EH_FORMAT = 0x0f,
	EH_RELATIVE_TO_ITSELF = 0x10,
	EH_RELATIVE = 0x70,
	EH_INDIRECT = 0x80,
	EH_OMITTED = 0xff,
};

/* One entry of the section: a CIE, or a function. */
struct eh_entry {
	bool is_cie;
	uint64_t cie_at; /* position of a function's CIE */
	struct dec d;    /* the rest of the entry */
};

static size_t eh_position(const struct eh_reader *r, const struct dec *d)
{
	return (size_t)(d->pos - r->section.data.ptr);
}

/*
 * Read the field after the length of an entry. The field says whether the entry
 * is a CIE or, if it is a function, where the CIE of the function is. In
 * .eh_frame, the field of a CIE is 0, and the field of a function is the
 * distance from the field back to the CIE. In .debug_frame, all bits of the
 * field of a CIE are 1, and the field of a function is the position of the CIE.
 * A field in .debug_frame has 64 bits if `wide`, otherwise 32.
 */
static void eh_entry_identify(const struct eh_reader *r, struct eh_entry *e,
			      bool wide)
{
	size_t at = eh_position(r, &e->d);
	uint64_t id;

	if (r->section.debug) {
		id = wide ? dec_le64(&e->d) : dec_le32(&e->d);
		e->is_cie = id == (wide ? UINT64_MAX : UINT32_MAX);
		e->cie_at = id;
	} else {
		id = dec_le32(&e->d);
		e->is_cie = !id;
		e->cie_at = id <= at ? at - id : SIZE_MAX;
	}
}

/*
 * Read the entry at *d into *e, and move *d past the entry. Returns false at
 * the end of the section, at an entry with the length 0, which also ends the
 * section, and at an entry whose length is damaged.
 */
static bool eh_entry_read(const struct eh_reader *r, struct dec *d,
			  struct eh_entry *e)
{
	uint64_t length;
	struct bytes body;
	bool wide;

	length = dec_le32(d);
	wide = length == UINT32_MAX;
	if (wide)
		length = dec_le64(d);
	if (!length || length > dec_left(d))
		return false;
	body = dec_bytes(d, (size_t)length);
	e->d = dec_init(body);
	eh_entry_identify(r, e, wide);
	return !e->d.bad;
}

/*
 * Read a number in the format of `encoding`. If the number is relative to an
 * address, this address is not added.
 */
static uint64_t eh_number(struct dec *d, uint8_t encoding)
{
	switch (encoding & EH_FORMAT) {
	case EH_ABSOLUTE:
	case EH_UDATA8:
	case EH_SDATA8:
		return dec_le64(d);
	case EH_UDATA4:
		return dec_le32(d);
	case EH_SDATA4:
		return (uint64_t)(int64_t)(int32_t)dec_le32(d);
	case EH_UDATA2:
		return dec_le16(d);
	case EH_SDATA2:
		return (uint64_t)(int64_t)(int16_t)dec_le16(d);
	default:
		d->bad = true;
		return 0;
	}
}

/*
 * Read the address of a function. Only absolute addresses, and addresses that
 * are relative to their own position, are supported, because no other encodings
 * are used for functions. Other encodings set d->bad.
 */
static uint64_t eh_address(const struct eh_reader *r, struct dec *d,
			   uint8_t encoding)
{
	uint64_t base = 0;

	if ((encoding & EH_RELATIVE) == EH_RELATIVE_TO_ITSELF)
		base = r->section.vaddr + eh_position(r, d);
	else if (encoding & EH_RELATIVE)
		d->bad = true;
	if (encoding & EH_INDIRECT)
		d->bad = true;
	return base + eh_number(d, encoding);
}

/*
 * Read the augmentation data of a CIE. The `letters` after the first say which
 * items the data has.
 */
static void eh_augmentation(struct eh_reader *r, struct dec *d,
			    struct str letters)
{
	struct bytes data = bytes_of(dec_str(d));
	struct dec a = dec_init(data);
	uint8_t encoding;

	for (size_t i = 1; i < letters.len && !a.bad; i++) {
		switch (letters.ptr[i]) {
		case 'L':
			dec_u8(&a);
			break;
		case 'P':
			encoding = dec_u8(&a);
			if (encoding != EH_OMITTED)
				eh_number(&a, encoding);
			break;
		case 'R':
			r->encoding = dec_u8(&a);
			break;
		case 'S':
			r->program.initial.signal = true;
			break;
		default:
			/* Unknown letters do not change the instructions, */
			/* which begin after the data in any case. */
			return;
		}
	}
	if (a.bad)
		d->bad = true;
}

/* Read the augmentation string of a CIE, with its NUL. */
static struct str eh_letters(struct dec *d)
{
	const uint8_t *start = d->pos;
	size_t max = dec_left(d) < EH_LETTERS_MAX ? dec_left(d) :
						    EH_LETTERS_MAX;
	const uint8_t *end = memchr(start, 0, max);

	if (!end) {
		d->bad = true;
		return str_of("");
	}
	return str_from(dec_bytes(d, (size_t)(end - start) + 1));
}

/*
 * Read the CIE `e` into the reader. Returns false if `e` is no CIE or is
 * malformed, or if its format is not supported.
 */
static bool eh_cie_read(struct eh_reader *r, struct eh_entry *e)
{
	struct dec *d = &e->d;
	uint8_t version = dec_u8(d);
	struct str letters = eh_letters(d);

	if (d->bad || !e->is_cie ||
	    (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4) {
		uint8_t address_size = dec_u8(d);
		uint8_t segment_selector_size = dec_u8(d);

		if (address_size != 8 || segment_selector_size != 0)
			return false;
	}
	letters.len--; /* the NUL */
	r->program = (struct cfa_program){ .watched = r->watched };
	r->encoding = EH_ABSOLUTE;
	r->augmented = letters.len != 0;
	if (letters.len && letters.ptr[0] != 'z')
		return false;
	r->program.code_align = dec_uvarint(d);
	r->program.data_align = dec_sleb128(d);
	if ((version == 1 ? dec_u8(d) : dec_uvarint(d)) != DWARF_RETURN)
		return false;
	if (r->augmented)
		eh_augmentation(r, d, letters);
	return !d->bad && dec_left(d) <= EH_CIE_INSTRUCTIONS_MAX &&
	       cfa_program_init(&r->program, dec_bytes(d, dec_left(d)));
}

/*
 * Let the reader have the CIE of `function`: read the CIE, unless it is the one
 * that was read last. Returns whether the CIE could be read.
 */
static bool eh_cie_find(struct eh_reader *r, const struct eh_entry *function)
{
	struct dec d = dec_init(r->section.data);
	struct eh_entry e;
	size_t at = (size_t)function->cie_at;

	if (at == r->cie_at)
		return r->cie_good;
	r->cie_at = at;
	dec_bytes(&d, at);
	r->cie_good = eh_entry_read(r, &d, &e) && eh_cie_read(r, &e);
	return r->cie_good;
}

/*
 * Read a function whose CIE the reader has. Returns false if the description of
 * the function is damaged, or if a linker removed the function.
 */
static bool eh_function_read(const struct eh_reader *r, struct dec *d,
			     struct eh_function *out)
{
	uint64_t size;

	out->start = eh_address(r, d, r->encoding);
	/* A size has the format of an address, but is never relative. */
	size = eh_number(d, r->encoding);
	if (r->augmented)
		dec_str(d);
	out->program = &r->program;
	out->instructions = dec_bytes(d, dec_left(d));
	/*
	 * In .debug_frame, linkers leave the descriptions of functions that
	 * they removed, with the address 0.
	 */
	return !d->bad && (out->start || !r->section.debug) &&
	       !__builtin_add_overflow(out->start, size, &out->end);
}

void eh_reader_init(struct eh_reader *r, struct eh_section section)
{
	*r = (struct eh_reader){
		.section = section,
		.d = dec_init(section.data),
		.cie_at = SIZE_MAX,
	};
}

bool eh_reader_next(struct eh_reader *r, struct eh_function *out)
{
	struct eh_entry e;

	while (eh_entry_read(r, &r->d, &e)) {
		if (e.is_cie)
			continue;
		if (!eh_cie_find(r, &e) || !eh_function_read(r, &e.d, out)) {
			r->skipped++;
			continue;
		}
		if (out->end > out->start)
			return true;
	}
	return false;
}
