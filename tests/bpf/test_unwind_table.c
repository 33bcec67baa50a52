/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables: the call frame information of this program, of which the
 * assembler has made all forms below, becomes the rows that are expected.
 */
#include <fcntl.h>
#include <link.h>

#include "bpf/unwind/unwind_file.h"
#include "tests/check.h"

TestSuite(unwind_table, .timeout = 60);

#ifdef __x86_64__

/*
 * Functions that are never called. "nop" takes one byte, so the offset of a
 * row is the number of instructions before it.
 */
__asm__(".text\n"
	".macro function name\n"
	".globl \\name\n"
	"\\name: .cfi_startproc\n"
	".endm\n"
	".macro end\n"
	"nop; .cfi_endproc\n"
	".endm\n"
	/* The forms of ordinary functions. */
	"function cfi_ordinary\n"
	"nop; .cfi_def_cfa_offset 16; .cfi_offset 6, -16\n"
	"nop; .cfi_def_cfa_register 6\n"
	"nop; .cfi_remember_state; .cfi_def_cfa 7, 8; .cfi_restore 6\n"
	"nop; .cfi_restore_state\n"
	"nop; .cfi_def_cfa 7, 262136\n"
	"nop; .cfi_def_cfa_offset 262144\n"
	"nop; .cfi_def_cfa_offset 12\n"
	"nop; .cfi_adjust_cfa_offset 12\n"
	"end\n"
	/* Advances of all sizes. */
	"function cfi_far\n"
	".skip 63, 0x90; .cfi_def_cfa_offset 16\n"
	".skip 200, 0x90; .cfi_def_cfa_offset 24\n"
	".skip 60000, 0x90; .cfi_def_cfa_offset 32\n"
	".skip 70000, 0x90; .cfi_def_cfa_offset 40\n"
	"end\n"
	"function cfi_outermost\n"
	".cfi_undefined 16\n"
	"end\n"
	/* The return address is in a register (vfork), or elsewhere. */
	"function cfi_return\n"
	".cfi_register 16, 5\n"
	"nop; .cfi_offset 16, -16\n"
	"nop; .cfi_restore 16\n"
	"end\n"
	/* The ucontext_t of a signal is at rsp. */
	"function cfi_signal\n"
	".cfi_signal_frame\n"
	".cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06\n"
	"nop; .cfi_def_cfa 7, 8\n"
	"end\n"
	/* The expression of lazy and of IBT tables. */
	"function cfi_plt\n"
	".cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n"
	"nop; .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22\n"
	"nop; .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x50, 0x2a, 0x33, 0x24, 0x22\n"
	"nop; .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n"
	"end\n"
	/* A stack that was realigned: *(rbp - 8), *(rsp + 16) + 8. */
	"function cfi_realigned\n"
	".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n"
	".cfi_escape 0x10, 6, 2, 0x76, 0\n"
	"nop; .cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 8\n"
	"nop; .cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 64\n"
	"nop; .cfi_escape 0x0f, 3, 0x77, 12, 0x06\n"
	"nop; .cfi_escape 0x0f, 3, 0x73, 16, 0x06\n"
	"nop; .cfi_escape 0x0f, 2, 0x77, 16\n"
	"nop; .cfi_escape 0x0f, 4, 0x77, 16, 0x06, 0x96\n"
	"end\n"
	/* The CFA is in another register. */
	"function cfi_register\n"
	".cfi_def_cfa 10, 0\n"
	"nop; .cfi_def_cfa 0, 16\n"
	"nop; .cfi_def_cfa 11, -16\n"
	"nop; .cfi_def_cfa 11, 16384\n"
	"nop; .cfi_def_cfa 17, 0\n"
	"end\n"
	/* Functions that save rbx at two places, or do not save it. */
	"function cfi_saves_high\n"
	"nop; .cfi_def_cfa_offset 16; .cfi_offset 3, -16\n"
	"nop; .cfi_def_cfa_offset 8; .cfi_restore 3\n"
	"end\n"
	"function cfi_saves_low\n"
	"nop; .cfi_def_cfa_offset 24; .cfi_offset 3, -24\n"
	"end\n"
	"function cfi_saves_nothing\n"
	"end\n"
	/*
	 * Calls from where the CFA is in rbx; the last two rows are of a register
	 * that functions change, and of one that the function does not save.
	 */
	"function cfi_calls\n"
	".cfi_def_cfa 3, 32; call cfi_saves_high; call cfi_saves_high\n"
	"nop; .cfi_def_cfa 3, 40; call cfi_saves_high; call cfi_saves_low\n"
	"nop; .cfi_def_cfa 3, 48; call cfi_saves_high; call cfi_saves_nothing\n"
	"nop; .cfi_def_cfa 3, 56; call cfi_nothing\n"
	"nop; .cfi_def_cfa 10, 32; call cfi_saves_high\n"
	"nop; .cfi_def_cfa 12, 32; call cfi_saves_high\n"
	"end\n"
	/* rbp is saved in unusual ways. */
	"function cfi_fp\n"
	".cfi_escape 0x14, 6, 2\n"
	"nop; .cfi_register 6, 3\n"
	"nop; .cfi_undefined 6\n"
	"nop; .cfi_same_value 6\n"
	"nop; .cfi_offset 6, -1024\n"
	"nop; .cfi_offset 6, -1032\n"
	"nop; .cfi_escape 0x10, 6, 2, 0x76, 4\n"
	"nop; .cfi_escape 0x10, 6, 2, 0x77, 0\n"
	"nop; .cfi_escape 0x10, 6, 2, 0x76, 0x70\n"
	"nop; .cfi_escape 0x16, 6, 2, 0x76, 0x70\n"
	"nop; .cfi_escape 0x11, 6, 2\n"
	"nop; .cfi_escape 0x2f, 6, 3\n"
	"end\n"
	/* Other registers, and what only other compilers write. */
	"function cfi_others\n"
	".cfi_offset 3, -16; .cfi_escape 0x10, 3, 1, 0x30\n"
	".cfi_escape 0x2e, 16; .cfi_restore 3; .cfi_escape 0x15, 3, 1\n"
	".cfi_escape 0x12, 7, 0x7e; .cfi_escape 0x13, 0x7d\n"
	"end\n"
	/* Code without any information. */
	".globl cfi_nothing\n"
	"cfi_nothing: .skip 32, 0x90\n");

extern const char cfi_ordinary[], cfi_far[], cfi_outermost[], cfi_return[],
	cfi_signal[], cfi_plt[], cfi_realigned[], cfi_register[], cfi_fp[],
	cfi_others[], cfi_nothing[], cfi_calls[];

#define AT_CFA  (UNWIND_FP_AT_CFA << UNWIND_FP_SHIFT)
#define AT_FP   (UNWIND_FP_AT_FP << UNWIND_FP_SHIFT)
#define FP_LOST (UNWIND_FP_UNKNOWN << UNWIND_FP_SHIFT)

/* The row that is expected at an offset in a function. */
struct expected_row {
	const char *function;
	size_t offset;
	int kind;
	int cfa;
	int fp;
};

static const struct expected_row rows[] = {
	{ cfi_ordinary, 0, UNWIND_RSP, 1, 0 },
	{ cfi_ordinary, 1, UNWIND_RSP | AT_CFA, 2, -2 },
	{ cfi_ordinary, 2, UNWIND_RBP | AT_CFA, 2, -2 },
	{ cfi_ordinary, 3, UNWIND_RSP, 1, 0 },
	{ cfi_ordinary, 4, UNWIND_RBP | AT_CFA, 2, -2 },
	{ cfi_ordinary, 5, UNWIND_RSP | AT_CFA, 32767, -2 },
	{ cfi_ordinary, 6, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_ordinary, 7, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_ordinary, 8, UNWIND_RSP | AT_CFA, 3, -2 },
	{ cfi_far, 62, UNWIND_RSP, 1, 0 },
	{ cfi_far, 63, UNWIND_RSP, 2, 0 },
	{ cfi_far, 262, UNWIND_RSP, 2, 0 },
	{ cfi_far, 263, UNWIND_RSP, 3, 0 },
	{ cfi_far, 60262, UNWIND_RSP, 3, 0 },
	{ cfi_far, 60263, UNWIND_RSP, 4, 0 },
	{ cfi_far, 130262, UNWIND_RSP, 4, 0 },
	{ cfi_far, 130263, UNWIND_RSP, 5, 0 },
	{ cfi_outermost, 0, UNWIND_OUTERMOST, 0, 0 },
	{ cfi_return, 0, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_return, 1, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_return, 2, UNWIND_RSP, 1, 0 },
	{ cfi_signal, 0, UNWIND_SIGNAL, 0, 0 },
	{ cfi_signal, 1, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_plt, 0, UNWIND_PLT, 11, 0 },
	{ cfi_plt, 1, UNWIND_PLT, 10, 0 },
	{ cfi_plt, 2, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_plt, 3, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_realigned, 0, UNWIND_RBP_DEREF | AT_FP, -8, 0 },
	{ cfi_realigned, 1, UNWIND_RSP_DEREF | AT_FP, 17, 0 },
	{ cfi_realigned, 2, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_realigned, 3, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_realigned, 4, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_realigned, 5, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_realigned, 6, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_calls, 0, UNWIND_REGISTER, 4 * 16 + 3, -2 },
	{ cfi_calls, 10, UNWIND_REGISTER, 4 * 16 + 3, -2 },
	{ cfi_calls, 11, UNWIND_REGISTER, 5 * 16 + 3, 0 },
	{ cfi_calls, 22, UNWIND_REGISTER, 6 * 16 + 3, 0 },
	{ cfi_calls, 33, UNWIND_REGISTER, 7 * 16 + 3, 0 },
	{ cfi_calls, 39, UNWIND_REGISTER, 4 * 16 + 10, 0 },
	{ cfi_calls, 45, UNWIND_REGISTER, 4 * 16 + 12, 0 },
	{ cfi_register, 0, UNWIND_REGISTER, 10, 0 },
	{ cfi_register, 1, UNWIND_REGISTER, 2 * 16, 0 },
	{ cfi_register, 2, UNWIND_REGISTER, -2 * 16 + 11, 0 },
	{ cfi_register, 3, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_register, 4, UNWIND_UNKNOWN, 0, 0 },
	{ cfi_fp, 0, UNWIND_RSP | FP_LOST, 1, 0 },
	{ cfi_fp, 1, UNWIND_RSP | FP_LOST, 1, 0 },
	{ cfi_fp, 2, UNWIND_RSP | FP_LOST, 1, 0 },
	{ cfi_fp, 3, UNWIND_RSP, 1, 0 },
	{ cfi_fp, 4, UNWIND_RSP | AT_CFA, 1, -128 },
	{ cfi_fp, 5, UNWIND_RSP | FP_LOST, 1, 0 },
	{ cfi_fp, 6, UNWIND_RSP | FP_LOST, 1, 0 },
	{ cfi_fp, 7, UNWIND_RSP | FP_LOST, 1, 0 },
	{ cfi_fp, 8, UNWIND_RSP | AT_FP, 1, -2 },
	{ cfi_fp, 9, UNWIND_RSP | FP_LOST, 1, 0 },
	{ cfi_fp, 10, UNWIND_RSP | AT_CFA, 1, -2 },
	{ cfi_fp, 11, UNWIND_RSP | AT_CFA, 1, 3 },
	{ cfi_others, 0, UNWIND_RSP, 3, 0 },
	{ cfi_nothing, 8, UNWIND_NO_CODE, 0, 0 },
};

/* Visitor of loaded objects: the first one is this program. */
static int own_object(struct dl_phdr_info *info, size_t size UNUSED, void *out)
{
	*(uintptr_t *)out = info->dlpi_addr;
	return 1;
}

/* The address of a function in the ELF file. */
static uint64_t file_address(const char *function)
{
	uintptr_t moved = 0;

	dl_iterate_phdr(own_object, &moved);
	return (uintptr_t)function - moved;
}

static struct elf_file *own_file(void)
{
	struct elf_file *f = NULL;
	struct err err;

	cr_assert(!elf_file_open(open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				 &f, &err),
		  "%s", err.msg);
	return f;
}

Test(unwind_table, each_form_of_call_frame_information_has_its_row)
{
	struct elf_file *f = own_file();
	struct unwind_table t;
	struct err err;

	cr_assert(!unwind_file_read(f, &t, &err), "%s", err.msg);
	cr_expect(!t.skipped);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct expected_row *w = &rows[i];
		struct unwind_row got = unwind_table_find(
			&t, file_address(w->function) + w->offset);

		cr_assert(got.kind == w->kind,
			  "row %zu, offset %zu: kind %#x cfa %d fp %d", i,
			  w->offset, got.kind, got.cfa, got.fp);
		cr_assert(got.cfa == w->cfa,
			  "row %zu, offset %zu: kind %#x cfa %d fp %d", i,
			  w->offset, got.kind, got.cfa, got.fp);
		cr_expect(got.fp == w->fp,
			  "row %zu, offset %zu: kind %#x cfa %d fp %d", i,
			  w->offset, got.kind, got.cfa, got.fp);
	}
	unwind_table_fini(&t);
	elf_file_close(f);
}

#endif

/* A section with one CIE, as gcc writes it, and functions. */
static struct unwind_table table_of(const char *bytes, size_t len)
{
	struct unwind_table t;
	struct err err;

	cr_assert(!unwind_table_build(
		&t,
		(struct eh_section){
			.data = { .ptr = (const uint8_t *)bytes, .len = len } },
		(struct eh_section){ .debug = true }, &err));
	return t;
}

#define TABLE_OF(s) table_of(s, sizeof(s) - 1)

/* "z", "R" with absolute addresses of 4 bytes; CFA = rsp + 8, return at -8. */
#define CIE                      \
	"\x10\0\0\0\0\0\0\0\x01" \
	"zR\0\x01\x78\x10\x01\x03\x0c\x07\x08"
#define CIE_WITH_RETURN          \
	"\x14\0\0\0\0\0\0\0\x01" \
	"zR\0\x01\x78\x10\x01\x03\x0c\x07\x08\x90\x01\0\0"
/* A function whose CIE is `back` bytes before the field that says so. */
#define FUNCTION(back, start, size) \
	"\x10\0\0\0" back "\0\0\0" start "\0\0" size "\0\0\0\0\0\0"

Test(unwind_table, overlapping_functions_share_no_address)
{
	/* 0x100..0x110, 0x108..0x120 and, inside, 0x109..0x10a. */
	struct unwind_table t = TABLE_OF(
		CIE_WITH_RETURN FUNCTION("\x1c", "\0\x01", "\x10\0")
			FUNCTION("\x30", "\x08\x01", "\x18\0")
				FUNCTION("\x44", "\x09\x01", "\x01\0"));

	cr_assert(t.functions == 3);
	cr_expect(!t.skipped);
	cr_assert(t.rows.count == 3);
	cr_assert(t.rows.v[0].pc == 0);
	cr_expect(t.rows.v[0].kind == UNWIND_NO_CODE);
	cr_assert(t.rows.v[1].pc == 0x100);
	cr_expect(t.rows.v[1].kind == UNWIND_RSP);
	cr_assert(t.rows.v[2].pc == 0x120);
	cr_expect(t.rows.v[2].kind == UNWIND_NO_CODE);
	cr_expect(unwind_table_find(&t, 0x11f).kind == UNWIND_RSP);
	cr_expect(unwind_table_find(&t, UINT64_MAX).kind == UNWIND_NO_CODE);
	unwind_table_fini(&t);
}

Test(unwind_table, damaged_sections_are_read_as_far_as_they_are_good)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
		size_t functions;
		size_t skipped;
	} table[] = {
#define CASE(name, bytes, functions, skipped) \
	{ name, bytes, sizeof(bytes) - 1, functions, skipped }
#define GOOD CIE_WITH_RETURN FUNCTION("\x1c", "\0\x01", "\x10\0")
		CASE("nothing", "", 0, 0),
		CASE("a length alone", "\x10\0\0", 0, 0),
		CASE("a CIE alone", CIE_WITH_RETURN, 0, 0),
		CASE("good", GOOD, 1, 0),
		CASE("the end mark ends it", GOOD "\0\0\0\0" GOOD, 1, 0),
		CASE("a length beyond the end", GOOD "\x99\0\0\0\x1c\0\0\0", 1,
		     0),
		CASE("a length of 64 bits beyond the end",
		     GOOD "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1,
		     0),
		CASE("a CIE before the section",
		     CIE_WITH_RETURN FUNCTION("\x40", "\0\x01", "\x10\0"), 0,
		     1),
		CASE("a CIE in the middle of something",
		     CIE_WITH_RETURN FUNCTION("\x14", "\0\x01", "\x10\0"), 0,
		     1),
		CASE("an empty function",
		     CIE_WITH_RETURN FUNCTION("\x1c", "\0\x01", "\0\0"), 0, 0),
		CASE("a function of 4 bytes",
		     CIE_WITH_RETURN "\x04\0\0\0\x1c\0\0\0", 0, 1),
		CASE("an unknown version",
		     "\x10\0\0\0\0\0\0\0\x09"
		     "zR\0\x01\x78\x10\x01\x03\x0c\x07\x08" FUNCTION(
			     "\x18", "\0\x01", "\x10\0"),
		     0, 1),
		CASE("letters without an end",
		     "\x08\0\0\0\0\0\0\0\x01zRR" FUNCTION("\x10", "\0\x01",
							  "\x10\0"),
		     0, 1),
		CASE("the return address in a strange register",
		     "\x10\0\0\0\0\0\0\0\x01"
		     "zR\0\x01\x78\x11\x01\x03\x0c\x07\x08" FUNCTION(
			     "\x18", "\0\x01", "\x10\0"),
		     0, 1),
		CASE("addresses in an unknown encoding",
		     "\x10\0\0\0\0\0\0\0\x01"
		     "zR\0\x01\x78\x10\x01\x2b\x0c\x07\x08" FUNCTION(
			     "\x18", "\0\x01", "\x10\0"),
		     0, 1),
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct unwind_table t = table_of(table[i].bytes, table[i].len);

		cr_assert(t.functions == table[i].functions,
			  "%s: %zu functions, %zu skipped", table[i].name,
			  t.functions, t.skipped);
		cr_expect(t.skipped == table[i].skipped,
			  "%s: %zu functions, %zu skipped", table[i].name,
			  t.functions, t.skipped);
		unwind_table_fini(&t);
	}
}

/* A function with four bytes of instructions. */
#define FUNCTION_WITH(instructions) \
	"\x10\0\0\0\x1c\0\0\0\0\x01\0\0\x10\0\0\0\0" instructions

Test(unwind_table, functions_that_cannot_be_run_have_unknown_rules)
{
	static const struct {
		const char *name;
		const char *bytes;
		size_t len;
	} table[] = {
#define UNKNOWN(name, bytes) { name, bytes, sizeof(bytes) - 1 }
		UNKNOWN("no return address",
			CIE FUNCTION("\x18", "\0\x01", "\x10\0")),
		UNKNOWN("an unknown instruction",
			CIE_WITH_RETURN FUNCTION_WITH("\x41\x3f\0")),
		UNKNOWN("more is restored than was remembered",
			CIE_WITH_RETURN FUNCTION_WITH("\x41\x0b\0")),
		UNKNOWN("an operand is missing",
			CIE_WITH_RETURN FUNCTION_WITH("\x41\0\x0c")),
		UNKNOWN("an expression is longer than the function",
			CIE_WITH_RETURN FUNCTION_WITH("\x0f\x02\x77")),
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct unwind_table t = table_of(table[i].bytes, table[i].len);

		cr_expect(t.functions == 1, "%s", table[i].name);
		cr_expect(unwind_table_find(&t, 0x100).kind == UNWIND_UNKNOWN,
			  "%s", table[i].name);
		cr_expect(unwind_table_find(&t, 0x10f).kind == UNWIND_UNKNOWN,
			  "%s", table[i].name);
		unwind_table_fini(&t);
	}
}

/* Versions 1 and 4 in .debug_frame; CFA = rsp + 8, return at -8. */
#define DEBUG_CIE_1                      \
	"\x10\0\0\0\xff\xff\xff\xff\x01" \
	"\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0"
#define DEBUG_CIE_4                      \
	"\x14\0\0\0\xff\xff\xff\xff\x04" \
	"\0\x08\0\x01\x78\x10\x0c\x07\x08\x90\x01\0\0\0\0"
/* A function of the CIE at a position: CFA = rsp + 16 from its beginning on. */
#define DEBUG_FUNCTION(cie, start, size)                    \
	"\x18\0\0\0" cie "\0\0\0" start "\0\0\0\0\0\0" size \
	"\0\0\0\0\0\0\x0e\x10\0\0"

Test(unwind_table, debug_information_fills_gaps)
{
	static const char frames[] =
		CIE_WITH_RETURN FUNCTION("\x1c", "\0\x01", "\x10\0");
	static const char debug[] = DEBUG_CIE_1 DEBUG_FUNCTION("\0", "\0\x01",
							       "\x10\0")
		DEBUG_FUNCTION("\0", "\0\x02",
			       "\x10\0") DEBUG_FUNCTION("\0", "\0\0", "\x10\0")
			DEBUG_CIE_4 DEBUG_FUNCTION("\x68", "\0\x03", "\x10\0");
	struct unwind_table t;
	struct err err;

	cr_assert(!unwind_table_build(
		&t,
		(struct eh_section){ .data = { .ptr = (const uint8_t *)frames,
					       .len = sizeof(frames) - 1 } },
		(struct eh_section){ .data = { .ptr = (const uint8_t *)debug,
					       .len = sizeof(debug) - 1 },
				     .debug = true },
		&err));
	/* What is in both sections is as in the first one. */
	cr_expect(unwind_table_find(&t, 0x108).kind == UNWIND_RSP);
	cr_expect(unwind_table_find(&t, 0x108).cfa == 1);
	cr_expect(unwind_table_find(&t, 0x208).kind == UNWIND_RSP);
	cr_expect(unwind_table_find(&t, 0x208).cfa == 2);
	cr_expect(unwind_table_find(&t, 0x308).cfa == 2);
	cr_expect(unwind_table_find(&t, 0x110).kind == UNWIND_NO_CODE);
	/* The linker has removed the function at 0. */
	cr_expect(unwind_table_find(&t, 8).kind == UNWIND_NO_CODE);
	cr_expect(t.skipped == 1, "%zu", t.skipped);
	unwind_table_fini(&t);
}
