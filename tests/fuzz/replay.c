/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over the files of a folder, as a test. An empty folder
 * fails: a corpus that is not found must not look like one that passes.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *dir, const char *name)
{
	char path[1024];
	uint8_t *buf;
	uint8_t *exact;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return 1;
	}
	buf = malloc(INPUT_MAX);
	n = fread(buf, 1, INPUT_MAX, f);
	fclose(f);
	/* No byte of room behind the input, so that ASan sees overreads. */
	exact = malloc(n ? n : 1);
	memcpy(exact, buf, n);
	free(buf);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent *e;
	int count = 0;
	int rc = 0;
	DIR *d = argc > 1 ? opendir(argv[1]) : NULL;

	if (!d) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		rc |= replay(argv[1], e->d_name);
		count++;
	}
	closedir(d);
	printf("%d inputs replayed\n", count);
	return count ? rc : 1;
}
