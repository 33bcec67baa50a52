/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files: segments, sections and the build ID of a program or library for
 * x86-64 or arm64 (System V ABI, chapters 4 and 5). The file may be hostile,
 * and may change while it is read: it is read with pread(), never mapped, and
 * sizes are checked before memory is taken.
 *
 * Ownership: an ELF file owns its descriptor and the sections that it returned,
 * until elf_file_close().
 * Threads: one thread per file.
 * Errors: ERR_UNSUPPORTED: the file is not a program or library of a known
 * machine; ERR_CORRUPT: it is one, but damaged; ERR_NOTFOUND, ERR_TOOBIG: as at
 * the function.
 */
#ifndef SYMBOLS_FILE_ELF_FILE_H
#define SYMBOLS_FILE_ELF_FILE_H

#include "base/buf.h"
#include "base/err.h"

enum {
	/* Largest size of a build ID in bytes; linkers write 20 or 16. */
	ELF_BUILD_ID_MAX = 64,
	/* Largest number of program headers. */
	ELF_SEGMENTS_MAX = 1024,
};

/* The machine that a file is for. */
enum elf_machine {
	ELF_X86_64,
	ELF_ARM64,
};

/* A segment that is loaded into memory. */
struct elf_segment {
	uint64_t vaddr;  /* address in memory, before relocation */
	uint64_t memory; /* number of bytes in memory */
	uint64_t offset; /* in the file */
	uint64_t bytes;  /* number of bytes in the file */
	bool executable;
};

/* A section of the file. */
struct elf_section {
	/* address in memory, before relocation; 0: not loaded */
	uint64_t vaddr;
	struct bytes data;
};

/* A build ID: bytes, not text. */
struct elf_build_id {
	uint8_t bytes[ELF_BUILD_ID_MAX];
	size_t len; /* 0: the file has none */
};

struct elf_file;

/*
 * Take over a descriptor, in case of an error too, and read the headers of its
 * file.
 */
NODISCARD int elf_file_open(int fd, struct elf_file **out, struct err *err);

/*
 * As elf_file_open(), of a file in memory. Its bytes are taken over, in case of
 * an error too.
 */
NODISCARD int elf_file_open_image(struct buf *image, struct elf_file **out,
				  struct err *err);

/* Close the file and free its sections; NULL is a no-op. */
void elf_file_close(struct elf_file *f);

/*
 * Let go of the descriptor, so that the file is not held open: what has been read
 * stays, but nothing more can be read until elf_file_resume(). False: this is
 * not possible, and the file is as before.
 */
NODISCARD bool elf_file_pause(struct elf_file *f);

/*
 * Take over another descriptor of the same file, and go on reading with it.
 * False: this is not possible, and the caller still owns the descriptor.
 */
NODISCARD bool elf_file_resume(struct elf_file *f, int fd);

/* Return the machine that the file is for. */
enum elf_machine elf_file_machine(const struct elf_file *f);

/* Return the loaded segments and store their number. */
const struct elf_segment *elf_file_segments(const struct elf_file *f,
					    size_t *count);

/*
 * Find the bias of a mapping of a file with these segments: *bias becomes an
 * address in memory minus the address in the ELF file. The mapping begins at
 * `offset` in the file, and at `start` in memory. False: no segment is loaded
 * from `offset`.
 */
NODISCARD bool elf_segments_bias(const struct elf_segment *segments,
				 size_t count, uint64_t offset, uint64_t start,
				 uint64_t *bias);

/*
 * As elf_segments_bias(), but the file may be a debug file, which does not say
 * where its segments are in the program's file. Then the bias is known only if
 * the mapping has the size of the one executable segment. `limit` is where the
 * mapping ends in memory.
 */
NODISCARD bool elf_file_bias(const struct elf_file *f, uint64_t offset,
			     uint64_t start, uint64_t limit, uint64_t *bias);

/*
 * Read a section by its name, decompressed. ERR_NOTFOUND: there is none, or its
 * bytes are not in this file; ERR_TOOBIG: it has more than `limit` bytes.
 */
NODISCARD int elf_file_section(struct elf_file *f, const char *name,
			       size_t limit, struct elf_section *out,
			       struct err *err);

/*
 * Return the size of a section, decompressed; 0: there is none, or its bytes
 * are not in this file.
 */
uint64_t elf_file_section_size(struct elf_file *f, const char *name);

/*
 * Copy into `out` the `len` bytes of the file that are loaded at `address`.
 * False: the file does not have bytes for all of these addresses.
 */
NODISCARD bool elf_file_load_bytes(struct elf_file *f, uint64_t address,
				   void *out, size_t len);

/* Return libelf's handle of the file, borrowed, for libdw. */
struct Elf *elf_file_handle(struct elf_file *f);

/* Read the build ID from the notes of the file; len is 0 if there is none. */
void elf_file_build_id(struct elf_file *f, struct elf_build_id *out);

#endif
