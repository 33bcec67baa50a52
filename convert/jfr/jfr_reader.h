/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR reader: numbers and texts of a recording of Java Flight Recorder.
 * Source: github.com/openjdk/jdk, src/hotspot/share/jfr/writers/, and
 * jdk.jfr.internal.consumer.RecordingInput.
 *
 * Errors are sticky: after the first one, everything that is read is 0 or empty, and
 * callers check `bad` at the end.
 *
 * Ownership: a reader borrows its input.
 * Threads: plain values.
 */
#ifndef CONVERT_JFR_JFR_READER_H
#define CONVERT_JFR_JFR_READER_H

#include "base/arena.h"
#include "convert/conversion/convert_meter.h"

enum {
	/*
	 * Longest text, in bytes of the recording; longer ones are cut. One text can
	 * be named by each of a million events.
	 */
	JFR_TEXT_MAX = 64 * 1024
};

/* A reader: the bytes that are still to be read. */
struct jfr_reader {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad; /* there are not as many bytes as there should be */
};

/* The forms of a text. */
enum jfr_form {
	JFR_TEXT_NONE,   /* there is none, or it is empty */
	JFR_TEXT_POOLED, /* it is a constant */
	JFR_TEXT_UTF8,
	JFR_TEXT_CHARS, /* numbers, each of which is 16 bits of UTF-16 */
	JFR_TEXT_LATIN1
};

/* A text as it was read. The zero value is an empty one. */
struct jfr_text {
	enum jfr_form form;
	int64_t key;        /* of the constant */
	struct bytes bytes; /* of the three other forms */
};

/* Return a reader of `b`. */
static inline struct jfr_reader jfr_reader_init(struct bytes b)
{
	return (struct jfr_reader){ .pos = b.ptr,
				    .end = b.len ? b.ptr + b.len : b.ptr };
}

/* Read a number of 1 to 9 bytes, 7 bits in each of the first eight, lowest first. */
uint64_t jfr_reader_number(struct jfr_reader *r);

/* Read `size` bytes, 1 to 8, as a number, the most significant byte first. */
uint64_t jfr_reader_fixed(struct jfr_reader *r, size_t size);

/* Read `size` bytes. */
struct bytes jfr_reader_bytes(struct jfr_reader *r, uint64_t size);

/* Read a text. */
struct jfr_text jfr_reader_text(struct jfr_reader *r);

/*
 * Return a text as UTF-8, borrowed or of the arena; a constant is empty. A text that the
 * recording has as UTF-8 is returned as it is, valid or not. The caller asks
 * the meter afterwards.
 */
struct str jfr_text_decode(const struct jfr_text *t, struct arena *arena,
			   struct convert_meter *m);

#endif
