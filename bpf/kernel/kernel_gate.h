/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check of the kernel: decides by its version whether the sampler may run on
 * it. utsname.release is not enough: for the kernels of Debian and Ubuntu, it
 * does not tell the patch level (6.1.0-35-amd64 may be Linux 6.1.137), so other
 * texts of the system are read first.
 *
 * Threads: any.
 */
#ifndef BPF_KERNEL_KERNEL_GATE_H
#define BPF_KERNEL_KERNEL_GATE_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * The texts in which a system names its kernel. A text that the system does not
 * have is empty.
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
 * Find the version of the kernel: in the signature, else after "Debian" in
 * `version`, else in `release`. Returns false if none of these has a version.
 */
NODISCARD bool kernel_version_find(const struct kernel_texts *texts,
				   struct kernel_version *out);

/*
 * Return 0, or ERR_UNSUPPORTED if the sampler cannot, or must not, run on Linux
 * `v`. The sampler needs Linux 5.10 or later. Linux 5.19 to 6.1.35, and 6.2 to
 * 6.3.9, may freeze when a BPF program reads memory of user space (fixed by
 * commit d319f344561d, "mm: Fix copy_from_user_nofault()").
 */
NODISCARD int kernel_gate_check(struct kernel_version v, struct err *err);

#endif
