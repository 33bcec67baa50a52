/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares unwind tables with elfutils, which reads call frame information
 * without tables: for random addresses of programs and libraries of this
 * system, both must have the same rules.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/unwind/unwind_file.h"
#include "tests/check.h"

/* Searched in /usr/bin, /usr/lib/x86_64-linux-gnu and below /usr/lib. */
static const char *const candidates[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/bin/bash",
	"/usr/bin/python3.11",
	"/usr/bin/node",
	"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
	"/usr/lib/x86_64-linux-gnu/libclang-cpp.so.14",
	"/usr/lib/x86_64-linux-gnu/libgnutls.so.30",
	"/usr/lib/x86_64-linux-gnu/libcurl.so.4",
};

/* Numbers of the addresses that have been compared, by result. */
struct oracle_counts {
	size_t addresses;
	size_t without_code;
	size_t unknown; /* rules that rows cannot express */
	size_t mismatches;
};

/* A number that looks random, and is the same in each run. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Whether an operation is a register plus an offset. */
static bool op_register(const Dwarf_Op *op, uint64_t *reg, int64_t *offset)
{
	if (op->atom == DW_OP_bregx) {
		*reg = op->number;
		*offset = (int64_t)op->number2;
		return true;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)
		return false;
	*reg = (uint64_t)op->atom - DW_OP_breg0;
	*offset = (int64_t)op->number;
	return true;
}

/* Whether the operations are those of the procedure linkage table. */
static bool ops_plt(const Dwarf_Op *ops, size_t count)
{
	static const uint8_t atoms[] = {
		DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
		DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus
	};

	if (count != sizeof(atoms))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (atoms[i] && ops[i].atom != atoms[i])
			return false;
	}
	return true;
}

/* Whether a row says of the CFA what elfutils says. */
static bool cfa_agrees(struct unwind_row row, const Dwarf_Op *ops, size_t count)
{
	enum unwind_cfa kind = row.kind & UNWIND_CFA_MASK;
	uint64_t reg = 0;
	int64_t offset = 0;

	if (ops_plt(ops, count))
		return kind == UNWIND_PLT &&
		       row.cfa == ops[4].atom - DW_OP_lit0;
	if (!count || !op_register(&ops[0], &reg, &offset))
		return false;
	if (count == 1 && kind == UNWIND_REGISTER)
		return (row.cfa & 15) == (int64_t)reg &&
		       (row.cfa >> 4) * 8 == offset;
	if (count == 1)
		return kind == (reg == 7 ? UNWIND_RSP : UNWIND_RBP) &&
		       (reg == 7 || reg == 6) && row.cfa * 8 == offset;
	return kind == (reg == 7 ? UNWIND_RSP_DEREF : UNWIND_RBP_DEREF) &&
	       (reg == 7 || reg == 6) && ops[1].atom == DW_OP_deref &&
	       (row.cfa & ~7) == offset &&
	       (row.cfa & 7) * 8 ==
		       (int64_t)(count == 3 && ops[2].atom ==
							 DW_OP_plus_uconst ?
					 ops[2].number :
					 0) &&
	       count <= 3;
}

/* Whether a row says of rbp what elfutils says. */
static bool fp_agrees(struct unwind_row row, const Dwarf_Op *memory,
		      const Dwarf_Op *ops, size_t count)
{
	enum unwind_fp kind = row.kind >> UNWIND_FP_SHIFT;
	int64_t offset = 0;
	uint64_t reg = 0;

	if (!count)
		return kind ==
		       (ops == memory ? UNWIND_FP_UNKNOWN : UNWIND_FP_SAME);
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		if (count == 2 && ops[1].atom == DW_OP_plus_uconst)
			return kind == UNWIND_FP_AT_CFA &&
			       row.fp * 8 == (int64_t)ops[1].number;
		if (count == 1)
			return kind == UNWIND_FP_AT_CFA && !row.fp;
		if (count == 2 && op_register(&ops[1], &reg, &offset))
			return kind == UNWIND_FP_AT_FP && reg == 6 &&
			       row.fp * 8 == offset;
	}
	if (count == 1 && op_register(&ops[0], &reg, &offset))
		return kind == UNWIND_FP_AT_FP && reg == 6 &&
		       row.fp * 8 == offset;
	return kind == UNWIND_FP_UNKNOWN;
}

/* Whether a row says what the frame of elfutils says. */
static bool frame_agrees(struct unwind_row row, Dwarf_Frame *frame)
{
	enum unwind_cfa kind = row.kind & UNWIND_CFA_MASK;
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t count;
	bool signal = false;

	dwarf_frame_info(frame, NULL, NULL, &signal);
	if (kind == UNWIND_SIGNAL || signal)
		return kind == UNWIND_SIGNAL && signal;
	if (dwarf_frame_register(frame, 16, memory, &ops, &count))
		return false;
	if (kind == UNWIND_OUTERMOST || (!count && ops == memory))
		return kind == UNWIND_OUTERMOST && !count && ops == memory;
	if (dwarf_frame_cfa(frame, &ops, &count) ||
	    !cfa_agrees(row, ops, count))
		return false;
	return !dwarf_frame_register(frame, 6, memory, &ops, &count) &&
	       fp_agrees(row, memory, ops, count);
}

/* Compare one address. */
static void address_compare(const struct unwind_table *t, Dwarf_CFI *cfi,
			    uint64_t pc, struct oracle_counts *counts)
{
	struct unwind_row row = unwind_table_find(t, pc);
	Dwarf_Frame *frame = NULL;
	bool found = !dwarf_cfi_addrframe(cfi, pc, &frame);
	bool good;

	counts->addresses++;
	if (row.kind == UNWIND_NO_CODE) {
		counts->without_code++;
		good = !found;
	} else if (row.kind == UNWIND_UNKNOWN) {
		counts->unknown++;
		good = found;
	} else {
		good = found && frame_agrees(row, frame);
	}
	if (!good && counts->mismatches++ < 10)
		fprintf(stderr, "%#zx: row %#zx kind %#x cfa %d fp %d%s\n",
			(size_t)pc, (size_t)row.pc, row.kind, row.cfa, row.fp,
			found ? "" : "; elfutils has no rules");
	free(frame);
}

/* Compare random addresses of all executable segments of a file. */
static void file_compare(struct elf_file *f, const struct unwind_table *t,
			 const char *path, size_t addresses,
			 struct oracle_counts *counts)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	uint64_t state = 88172645463325252;
	size_t count;
	const struct elf_segment *s = elf_file_segments(f, &count);

	cr_assert(cfi, "%s: %s", path, dwarf_errmsg(-1));
	for (size_t i = 0; i < count; i++) {
		if (!s[i].executable)
			continue;
		for (size_t n = 0; n < addresses; n++)
			address_compare(t, cfi,
					s[i].vaddr + random_next(&state) %
							     s[i].memory,
					counts);
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
}

/* Compare a file; false: this system does not have it. */
static bool path_compare(const char *path, size_t addresses)
{
	struct oracle_counts counts = { 0 };
	struct unwind_table t;
	struct elf_file *f;
	struct err err;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	cr_assert(!elf_file_open(fd, &f, &err), "%s: %s", path, err.msg);
	cr_assert(!unwind_file_read(f, &t, &err), "%s: %s", path, err.msg);
	file_compare(f, &t, path, addresses, &counts);
	printf("%s: %zu functions, %zu rows, %zu skipped; %zu addresses, %zu without code, %zu of unknown rules (%.4f%%), %zu mismatches\n",
	       path, t.functions, t.rows.count, t.skipped, counts.addresses,
	       counts.without_code, counts.unknown,
	       100.0 * (double)counts.unknown / (double)counts.addresses,
	       counts.mismatches);
	cr_expect(!counts.mismatches, "%s", path);
	unwind_table_fini(&t);
	elf_file_close(f);
	return true;
}

Test(unwind_oracle, rows_agree_with_elfutils, .timeout = 900)
{
	const size_t addresses = 200000;
	size_t files = 0;

	elf_version(EV_CURRENT);
	for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++)
		files += path_compare(candidates[i], addresses);
	cr_expect(files >= 5, "only %zu files are here", files);
}
