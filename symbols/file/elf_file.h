/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files: segments, sections and the build ID of a program or library for
 * x86-64 or arm64 (System V ABI, chapters 4 and 5). The file may be hostile,
 * and may change while it is read. So it is read with pread(), never mapped:
 * access to a mapped file that has become shorter would end the process. Sizes
 * are checked before memory is allocated.
 *
 * Ownership: an ELF file owns its descriptor, or its bytes in memory, and the
 * data of the sections that it returned, until elf_file_close().
 * Threads: one thread per file.
 * Errors: ERR_UNSUPPORTED: the file is not a program or library of a known
 * machine, or its header cannot be read; ERR_CORRUPT: the file is damaged, has
 * too many segments or sections, or a later read failed; ERR_IO: fstat()
 * failed; ERR_NOTFOUND, ERR_TOOBIG: see elf_file_section().
 */
#ifndef SYMBOLS_FILE_ELF_FILE_H
#define SYMBOLS_FILE_ELF_FILE_H

#include "base/buf.h"
#include "base/err.h"

enum {
	/*
	 * Largest size of a build ID in bytes; linkers usually write 20 or 16.
	 */
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
 * Take over the descriptor `fd`, in case of an error too, and read the headers
 * of its file.
 */
NODISCARD int elf_file_open(int fd, struct elf_file **out, struct err *err);

/*
 * As elf_file_open(), but for a file in memory. The bytes of `image` are taken
 * over, in case of an error too, and `image` becomes empty.
 */
NODISCARD int elf_file_open_image(struct buf *image, struct elf_file **out,
				  struct err *err);

/* Close the file and free its sections; NULL is a no-op. */
void elf_file_close(struct elf_file *f);

/*
 * Stop holding the file open, until elf_file_resume(). What has been read can
 * still be used, but nothing more can be read in the meantime. False: the file
 * is in memory, or its descriptor cannot be replaced by a copy of standard
 * input (see elf_file.c). Then the file stays as it was.
 */
NODISCARD bool elf_file_pause(struct elf_file *f);

/*
 * End a pause: take over `fd`, a new descriptor of the same file, so that more
 * can be read. False: the old descriptor cannot be replaced, and the caller
 * still owns `fd`.
 */
NODISCARD bool elf_file_resume(struct elf_file *f, int fd);

/* Return the machine that the file is for. */
enum elf_machine elf_file_machine(const struct elf_file *f);

/* Return the loaded segments and store their number. */
const struct elf_segment *elf_file_segments(const struct elf_file *f,
					    size_t *count);

/*
 * Find the bias of a mapping of a file that has the `count` segments
 * `segments`: *bias becomes the address in memory of each mapped byte minus the
 * address that the ELF file gives to this byte. The mapping begins at `offset`
 * in the file, and at `start` in memory. False: the page at `offset` contains
 * no bytes of a segment.
 */
NODISCARD bool elf_segments_bias(const struct elf_segment *segments,
				 size_t count, uint64_t offset, uint64_t start,
				 uint64_t *bias);

/*
 * As elf_segments_bias(), but `f` may be a debug file, whose segments need not
 * say where they are in the program's file. If the only executable segment of
 * `f` has no bytes in the file, a mapping that has as many pages as this
 * segment is taken for a mapping of the segment; for any other mapping, the
 * function returns false. `limit` is where the mapping ends in memory.
 */
NODISCARD bool elf_file_bias(const struct elf_file *f, uint64_t offset,
			     uint64_t start, uint64_t limit, uint64_t *bias);

/*
 * Read the section `name`, decompressed. ERR_NOTFOUND: the file has no such
 * section, or the section has no bytes in this file, like .text in a debug
 * file; ERR_TOOBIG: the section has more than `limit` bytes, compressed or
 * decompressed.
 */
NODISCARD int elf_file_section(struct elf_file *f, const char *name,
			       size_t limit, struct elf_section *out,
			       struct err *err);

/*
 * Return the decompressed size of the section `name`. 0: the file has no such
 * section, or the section has no bytes in this file. UINT64_MAX: the size
 * cannot be read.
 */
uint64_t elf_file_section_size(struct elf_file *f, const char *name);

/*
 * Copy into `out` the `len` bytes of the file that are loaded at `address`.
 * False: no segment has bytes for all of these addresses, or the read failed.
 */
NODISCARD bool elf_file_load_bytes(struct elf_file *f, uint64_t address,
				   void *out, size_t len);

/* Return libelf's handle of the file, borrowed, for libdw. */
struct Elf *elf_file_handle(struct elf_file *f);

/*
 * Read the build ID from the notes of the file; out->len becomes 0 if there is
 * none.
 */
void elf_file_build_id(struct elf_file *f, struct elf_build_id *out);

#endif
