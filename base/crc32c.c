/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include <pthread.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define POLY 0x82f63b78u /* the Castagnoli polynomial, bits reversed */

/* Table with the CRC of each byte value; filled at the first use. */
static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_fill(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int bit = 0; bit < 8; bit++)
			v = v & 1 ? v >> 1 ^ POLY : v >> 1;
		table[i] = v;
	}
}

/*
 * One table lookup per byte. The CRC register is kept inverted, as RFC 3720
 * requires.
 */
uint32_t crc32c_portable(uint32_t seed, struct bytes b)
{
	uint32_t crc = ~seed;

	pthread_once(&table_once, table_fill);
	for (size_t i = 0; i < b.len; i++)
		crc = table[(crc ^ b.ptr[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

#if defined(__x86_64__)

/*
 * Processes eight bytes per instruction, then the remaining bytes one by one.
 * Only this function is compiled for SSE 4.2, so it is called only if
 * have_hardware() returns true.
 */
__attribute__((target("sse4.2"))) static uint32_t
crc32c_hardware(uint32_t seed, struct bytes b)
{
	const uint8_t *p = b.ptr;
	size_t left = b.len;
	uint64_t crc = ~seed;

	for (; left >= 8; left -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		crc = __builtin_ia32_crc32di(crc, word);
	}
	for (; left; left--, p++)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *p);
	return ~(uint32_t)crc;
}

/* Whether this processor has the CRC instruction. */
static bool have_hardware(void)
{
	return __builtin_cpu_supports("sse4.2");
}

#elif defined(__aarch64__)

/*
 * Processes eight bytes per instruction, then the remaining bytes one by one.
 * Only this function is compiled with the CRC extension, so it is called only
 * if have_hardware() returns true.
 */
__attribute__((target("+crc"))) static uint32_t crc32c_hardware(uint32_t seed,
								struct bytes b)
{
	const uint8_t *p = b.ptr;
	size_t left = b.len;
	uint32_t crc = ~seed;

	for (; left >= 8; left -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		crc = __builtin_aarch64_crc32cx(crc, word);
	}
	for (; left; left--, p++)
		crc = __builtin_aarch64_crc32cb(crc, *p);
	return ~crc;
}

/* Whether this processor has the CRC extension. */
static bool have_hardware(void)
{
	return getauxval(AT_HWCAP) & 1 << 7; /* bit HWCAP_CRC32 */
}

#else
#define crc32c_hardware crc32c_portable
static bool have_hardware(void)
{
	return false;
}
#endif

uint32_t crc32c_extend(uint32_t seed, struct bytes b)
{
	return have_hardware() ? crc32c_hardware(seed, b) :
				 crc32c_portable(seed, b);
}
