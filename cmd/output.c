/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the result of a command. */
#include "cmd/output.h"

#include <stdio.h>

#include "base/file.h"

int save_output(const char *output, struct bytes b, struct err *err)
{
	CLEANUP(file_closep) struct file *f = NULL;
	int rc;

	/*
	 * Write errors are ignored here: main() reports them when it flushes
	 * stdout.
	 */
	if (!strcmp(output, "-")) {
		if (b.len)
			fwrite(b.ptr, 1, b.len, stdout);
		return 0;
	}
	rc = file_open(NULL, output, FILE_OUTPUT, &f, err);
	if (!rc)
		rc = file_truncate(f, 0, err);
	if (!rc)
		rc = file_write(f, 0, b, err);
	return rc;
}
