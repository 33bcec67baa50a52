/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check of the kernel: decides whether the sampler may run on it. Distributions
 * keep the version in several places: the release of Debian's kernels has no
 * patch level.
 *
 * Threads: any.
 */
#ifndef BPF_KERNEL_KERNEL_GATE_H
#define BPF_KERNEL_KERNEL_GATE_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * The texts in which a system names its kernel; empty if it has no such text.
 */
struct kernel_texts {
	struct str release; /* utsname.release: "6.1.0-35-amd64" */
	struct str version; /* utsname.version: "#1 SMP … Debian 6.1.137-1" */
	struct str signature; /* /proc/version_signature of Ubuntu */
};

/* Version of a kernel: 6.1.137. */
struct kernel_version {
	unsigned major, minor, patch;
};

/*
 * Find the version of a kernel. Returns false if no text has one.
 */
NODISCARD bool kernel_version_find(const struct kernel_texts *texts,
				   struct kernel_version *out);

/*
 * Return 0, or ERR_UNSUPPORTED if the sampler cannot, or must not, run on the
 * kernel. The sampler needs Linux 5.10. Linux 5.19 to 6.1.35, 6.2, and 6.3 to
 * 6.3.9 may freeze when a program reads memory of user space (fixed by commit
 * d319f344561d, "mm: Fix copy_from_user_nofault()").
 */
NODISCARD int kernel_gate_check(struct kernel_version v, struct err *err);

#endif
