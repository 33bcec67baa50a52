/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information, written byte by byte: which functions a section has,
 * which rules its instructions give, and which row a rule becomes. The tests of
 * unwind_oracle compare whole files with libdw.
 */
#include "bpf/unwind/eh_frame.h"

#include "tests/check.h"

TestSuite(cfa_program, .timeout = 60);
TestSuite(cfa_rules, .timeout = 60);
TestSuite(eh_frame, .timeout = 60);

#define BYTES(...)                                         \
	((struct bytes){ (const uint8_t[]){ __VA_ARGS__ }, \
			 sizeof((const uint8_t[]){ __VA_ARGS__ }) })

/* The rules of all compilers: CFA = rsp + 8, the return address is at CFA - 8. */
#define USUAL 0x0c, 7, 8, 0x80 | 16, 1

/* The rows of a function, as "from-to kind/cfa/fp". */
struct rows {
	char text[400];
};

static void add_row(void *ctx, uint64_t from, uint64_t to,
		    const struct cfa_rules *rules)
{
	struct unwind_row row = cfa_rules_row(rules);
	struct rows *r = ctx;
	size_t len = strlen(r->text);

	snprintf(r->text + len, sizeof(r->text) - len, "%s%llu-%llu %u/%d/%d",
		 len ? " " : "", (unsigned long long)from,
		 (unsigned long long)to, row.kind, row.cfa, row.fp);
}

/* Run instructions after the usual ones, from 100 to 200. */
static const char *run(struct bytes instructions)
{
	static struct rows r;
	struct cfa_program p = { .code_align = 1, .data_align = -8 };

	memset(&r, 0, sizeof(r));
	cr_assert(cfa_program_init(&p, BYTES(USUAL)));
	if (!cfa_program_run(&p, instructions, 100, 200, add_row, &r))
		strcat(r.text, " bad");
	return r.text;
}

#define RSP      1 /* UNWIND_RSP */
#define RBP      2 /* UNWIND_RBP */
#define FP_SAVED (UNWIND_FP_AT_CFA << UNWIND_FP_SHIFT)

Test(cfa_program, a_function_with_a_frame_pointer_has_these_rules)
{
	/* push rbp; mov rbp, rsp; …; pop rbp; ret */
	cr_expect(!strcmp(run(BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6,
				    0x02, 50, 0x0c, 7, 8)),
			  "100-101 1/1/0 101-104 17/2/-2 104-154 18/2/-2 "
			  "154-200 17/1/-2"),
		  "%s",
		  run(BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 50,
			    0x0c, 7, 8)));
}

Test(cfa_program, each_instruction_does_what_the_standard_says)
{
	static const struct {
		struct bytes in;
		const char *want;
	} cases[] = {
		{ { (const uint8_t *)"", 0 }, "100-200 1/1/0" },
		/* advance_loc2 and advance_loc4 */
		{ { (const uint8_t *)"\x03\x0a\x00\x0e\x10", 5 },
		  "100-110 1/1/0 110-200 1/2/0" },
		{ { (const uint8_t *)"\x04\x0a\x00\x00\x00\x0e\x10", 7 },
		  "100-110 1/1/0 110-200 1/2/0" },
		/* An address behind the end is the end. */
		{ { (const uint8_t *)"\x03\x00\x10\x0e\x10", 5 },
		  "100-200 1/1/0" },
		/* remember_state and restore_state */
		{ { (const uint8_t *)"\x0a\x0e\x20\x41\x0b", 5 },
		  "100-101 1/4/0 101-200 1/1/0" },
		/* restore: rbp as in the CIE */
		{ { (const uint8_t *)"\x86\x02\x41\xc6", 4 },
		  "100-101 17/1/-2 101-200 1/1/0" },
		{ { (const uint8_t *)"\x86\x02\x41\x06\x06", 5 },
		  "100-101 17/1/-2 101-200 1/1/0" },
		/* offset_extended, offset_extended_sf, negative_offset */
		{ { (const uint8_t *)"\x05\x06\x02", 3 }, "100-200 17/1/-2" },
		{ { (const uint8_t *)"\x11\x06\x7e", 3 }, "100-200 17/1/2" },
		{ { (const uint8_t *)"\x2f\x06\x02", 3 }, "100-200 17/1/2" },
		/* same_value, undefined */
		{ { (const uint8_t *)"\x86\x02\x08\x06", 4 }, "100-200 1/1/0" },
		{ { (const uint8_t *)"\x07\x06", 2 }, "100-200 33/1/0" },
		/* The return address is undefined: the outermost function. */
		{ { (const uint8_t *)"\x07\x10", 2 }, "100-200 8/0/0" },
		/* def_cfa_sf, def_cfa_offset_sf: factored by -8 */
		{ { (const uint8_t *)"\x12\x07\x7d", 3 }, "100-200 1/3/0" },
		{ { (const uint8_t *)"\x13\x7d", 2 }, "100-200 1/3/0" },
		/* register, val_offset, val_expression of rbp: not in a row */
		{ { (const uint8_t *)"\x09\x06\x03", 3 }, "100-200 33/1/0" },
		{ { (const uint8_t *)"\x14\x06\x03", 3 }, "100-200 33/1/0" },
		{ { (const uint8_t *)"\x16\x06\x01\x30", 4 },
		  "100-200 33/1/0" },
		/* GNU_args_size and nop change nothing. */
		{ { (const uint8_t *)"\x2e\x08\x00", 3 }, "100-200 1/1/0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(!strcmp(run(cases[i].in), cases[i].want),
			  "%zu: got %s, want %s", i, run(cases[i].in),
			  cases[i].want);
}

Test(cfa_program, malformed_instructions_end_it_after_what_was_good)
{
	cr_expect(!strcmp(run(BYTES(0x41, 0x3f)), "100-101 1/1/0 bad"), "%s",
		  run(BYTES(0x41, 0x3f)));
	cr_expect(!strcmp(run(BYTES(0x41, 0x0c, 7)), "100-101 1/1/0 bad"));
	/* A state that was not remembered, and too many that are. */
	cr_expect(!strcmp(run(BYTES(0x0b)), " bad"));
	cr_expect(!strcmp(run(BYTES(10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
				    10, 10, 10, 10, 10, 10)),
			  " bad"));
	/* An offset that overflows. */
	cr_expect(!strcmp(run(BYTES(0x11, 6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				    0x80, 0x80, 0x80, 0x7f)),
			  " bad"));
}

Test(cfa_program, a_register_can_be_watched)
{
	struct cfa_program p = { .code_align = 1,
				 .data_align = -8,
				 .watched = DWARF_RBX };

	cr_assert(cfa_program_init(&p, BYTES(USUAL, 0x83, 3)));
	cr_expect(p.initial.watched.kind == RULE_OFFSET);
	cr_expect(p.initial.watched.offset == -24);
	cr_expect(p.initial.rbp.kind == RULE_UNSPECIFIED);
}

/* The row of rules with a CFA and the usual return address. */
static struct unwind_row row_of(uint64_t reg, int64_t offset)
{
	return cfa_rules_row(&(struct cfa_rules){
		.cfa_register = reg,
		.cfa_offset = offset,
		.ret = { .kind = RULE_OFFSET, .offset = -8 },
	});
}

static struct unwind_row row_of_expression(struct bytes expression, bool signal)
{
	return cfa_rules_row(&(struct cfa_rules){
		.by_expression = true,
		.signal = signal,
		.expression = expression,
		.ret = { .kind = RULE_OFFSET, .offset = -8 },
	});
}

Test(cfa_rules, a_cfa_is_a_register_and_an_offset_or_unknown)
{
	cr_expect(row_of(DWARF_RSP, 16).kind == UNWIND_RSP);
	cr_expect(row_of(DWARF_RBP, 16).kind == UNWIND_RBP);
	cr_expect(row_of(DWARF_RSP, 12).kind == UNWIND_UNKNOWN);
	cr_expect(row_of(DWARF_RSP, 8LL << 20).kind == UNWIND_UNKNOWN);
	cr_expect(row_of(DWARF_RBX, 16).kind == UNWIND_REGISTER);
	cr_expect(row_of(DWARF_RBX, 16).cfa == 2 * 16 + DWARF_RBX);
	cr_expect(row_of(DWARF_RETURN, 16).kind == UNWIND_UNKNOWN);
	cr_expect(row_of(DWARF_RBX, 8 * 4000).kind == UNWIND_UNKNOWN);
}

Test(cfa_rules, a_return_address_elsewhere_is_unknown)
{
	struct cfa_rules rules = { .cfa_register = DWARF_RSP,
				   .cfa_offset = 8,
				   .ret = { .kind = RULE_OFFSET,
					    .offset = -16 } };

	cr_expect(cfa_rules_row(&rules).kind == UNWIND_UNKNOWN);
	rules.ret.kind = RULE_UNDEFINED;
	cr_expect(cfa_rules_row(&rules).kind == UNWIND_OUTERMOST);
	rules.ret.kind = RULE_UNSPECIFIED;
	cr_expect(cfa_rules_row(&rules).kind == UNWIND_UNKNOWN);
}

Test(cfa_rules, known_expressions_have_rows)
{
	/* rsp + 8 + ((rip & 15) >= 11) << 3, of a PLT */
	struct unwind_row plt =
		row_of_expression(BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b,
					0x2a, 0x33, 0x24, 0x22),
				  false);
	/* *(rbp - 40) + 8 */
	struct unwind_row deref =
		row_of_expression(BYTES(0x76, 0x58, 0x06, 0x23, 8), false);
	/* *(rsp + 160): the frame of a signal */
	struct bytes signal = BYTES(0x77, 0xa0, 0x01, 0x06);

	cr_assert(plt.kind == UNWIND_PLT);
	cr_expect(plt.cfa == 11);
	cr_assert(deref.kind == UNWIND_RBP_DEREF);
	cr_expect(deref.cfa == -40 + 1);
	cr_expect(row_of_expression(signal, true).kind == UNWIND_SIGNAL);
	cr_expect(row_of_expression(signal, false).kind == UNWIND_RSP_DEREF);
	cr_expect(row_of_expression(BYTES(0x30), false).kind == UNWIND_UNKNOWN);
	cr_expect(row_of_expression(BYTES(0x77), false).kind == UNWIND_UNKNOWN);
	cr_expect(row_of_expression(BYTES(0x76, 0x58, 0x06, 0x23, 9), false)
			  .kind == UNWIND_UNKNOWN);
}

Test(cfa_rules, rbp_is_saved_at_the_cfa_or_at_itself)
{
	struct cfa_rules rules = { .cfa_register = DWARF_RSP,
				   .cfa_offset = 16,
				   .ret = { .kind = RULE_OFFSET, .offset = -8 },
				   .rbp = { .kind = RULE_EXPRESSION,
					    .expression = BYTES(0x76, 8) } };
	struct unwind_row row = cfa_rules_row(&rules);

	cr_expect(row.kind >> UNWIND_FP_SHIFT == UNWIND_FP_AT_FP);
	cr_expect(row.fp == 1);
	rules.rbp = (struct register_rule){ .kind = RULE_OFFSET,
					    .offset = -8 * 200 };
	row = cfa_rules_row(&rules);
	cr_expect(row.kind >> UNWIND_FP_SHIFT == UNWIND_FP_UNKNOWN);
}

/* A section that is written entry by entry. */
struct section {
	uint8_t v[512];
	size_t len;
};

static void put(struct section *s, const void *bytes, size_t len)
{
	memcpy(s->v + s->len, bytes, len);
	s->len += len;
}

static void put_32(struct section *s, uint32_t n)
{
	put(s, &n, 4);
}

/* Write a CIE of this version, augmentation and encoding; returns its place. */
static uint32_t put_cie(struct section *s, uint8_t version, const char *letters,
			uint8_t encoding)
{
	const uint8_t usual[] = { USUAL };
	uint32_t at = (uint32_t)s->len;
	uint32_t len;

	put_32(s, 0); /* the length, for now */
	put_32(s, 0);
	put(s, &version, 1);
	put(s, letters, strlen(letters) + 1);
	put(s, "\x01\x78\x10", 3); /* factors 1 and -8, return address 16 */
	if (*letters) {
		put(s, "\x01", 1);
		put(s, &encoding, 1);
	}
	put(s, usual, sizeof(usual));
	len = (uint32_t)s->len - at - 4;
	memcpy(s->v + at, &len, 4);
	return at;
}

/* Write a function with absolute addresses and no instructions. */
static void put_function(struct section *s, uint32_t cie, uint64_t start,
			 uint64_t size)
{
	put_32(s, 4 + 8 + 8 + 1);
	put_32(s, (uint32_t)s->len - cie);
	put(s, &start, 8);
	put(s, &size, 8);
	put(s, "\0", 1);
}

/* The functions of a section: "start-end …", and how many were skipped. */
static const char *functions_of(const struct section *s)
{
	static char text[300];
	const struct eh_section section = { .data = { s->v, s->len },
					    .vaddr = 0x1000 };
	struct eh_function f;
	struct eh_reader r;
	size_t len = 0;

	text[0] = 0;
	eh_reader_init(&r, section);
	while (eh_reader_next(&r, &f))
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s%llx-%llx", len ? " " : "",
					(unsigned long long)f.start,
					(unsigned long long)f.end);
	if (r.skipped)
		snprintf(text + len, sizeof(text) - len, " %zu skipped",
			 r.skipped);
	return text;
}

Test(eh_frame, functions_are_read_in_order)
{
	struct section s = { .len = 0 };
	uint32_t cie = put_cie(&s, 1, "zR", 0);

	put_function(&s, cie, 0x2000, 0x10);
	put_function(&s, cie, 0x2010, 0x20);
	put_function(&s, cie, 0x3000, 0);
	put_32(&s, 0);
	cr_expect(!strcmp(functions_of(&s), "2000-2010 2010-2030"), "%s",
		  functions_of(&s));
}

Test(eh_frame, addresses_can_be_relative_to_their_place)
{
	struct section s = { .len = 0 };
	uint32_t cie = put_cie(&s, 1, "zR", 0x1b);
	uint32_t at;

	put_32(&s, 4 + 4 + 4 + 1);
	put_32(&s, (uint32_t)s.len - cie);
	at = (uint32_t)s.len;
	put_32(&s, 0x4000 - (0x1000 + at));
	put_32(&s, 0x30);
	put(&s, "\0", 1);
	cr_expect(!strcmp(functions_of(&s), "4000-4030"), "%s",
		  functions_of(&s));
}

Test(eh_frame, what_cannot_be_read_is_skipped_and_counted)
{
	struct section s = { .len = 0 };
	uint32_t good = put_cie(&s, 1, "zR", 0);
	uint32_t version = put_cie(&s, 9, "zR", 0);
	uint32_t encoding = put_cie(&s, 1, "zR", 0x25);
	uint32_t letters = put_cie(&s, 1, "eh", 0);
	uint32_t many = put_cie(&s, 1, "zRSSSSSSSSSSSSSS", 0);

	put_function(&s, version, 0x2000, 0x10);
	put_function(&s, encoding, 0x2010, 0x10);
	put_function(&s, letters, 0x2020, 0x10);
	put_function(&s, many, 0x2040, 0x10);
	put_function(&s, good, 0x2030, 0x10);
	/* An end before the start. */
	put_function(&s, good, UINT64_MAX - 1, 0x10);
	cr_expect(!strcmp(functions_of(&s), "2030-2040 5 skipped"), "%s",
		  functions_of(&s));
}

Test(eh_frame, a_damaged_length_ends_the_section)
{
	struct section s = { .len = 0 };
	uint32_t cie = put_cie(&s, 1, "zR", 0);

	put_function(&s, cie, 0x2000, 0x10);
	put_32(&s, 0x7fffffff);
	put_function(&s, cie, 0x3000, 0x10);
	cr_expect(!strcmp(functions_of(&s), "2000-2010"), "%s",
		  functions_of(&s));
	/* Every section that is cut short ends, too. */
	for (size_t len = s.len; len--;) {
		struct section cut = s;

		cut.len = len;
		(void)functions_of(&cut);
	}
}
