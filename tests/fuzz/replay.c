/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over the files of some folders, as a test. The test fails
 * if there are no files, because a corpus that is not found must not look like
 * one that passes.
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
	/*
	 * The copy has no room behind the input, so that ASan sees overreads.
	 */
	exact = malloc(n ? n : 1);
	memcpy(exact, buf, n);
	free(buf);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 0;
}

/*
 * Replays the inputs of a folder. Returns their number, or -1 if the folder
 * cannot be read. *rc becomes nonzero if an input fails.
 */
static int replay_folder(const char *folder, int *rc)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int count = 0;

	if (!d)
		return -1;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		*rc |= replay(folder, e->d_name);
		count++;
	}
	closedir(d);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;
	int rc = 0;

	for (int i = 1; i < argc; i++) {
		int n = replay_folder(argv[i], &rc);

		if (n < 0)
			fprintf(stderr, "%s: not a folder\n", argv[i]);
		else
			count += n;
	}
	printf("%d inputs replayed\n", count);
	return count ? rc : 1;
}
