/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/helper/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number of the user "nobody" and of the group "nogroup" in Debian. */
#define SANDBOX_NOBODY 65534

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_SANITIZED
#endif
#endif

#ifdef SANDBOX_SANITIZED
/* Sanitizers need terabytes of addresses, and system calls of their own. */
static const bool sandbox_limited = false;
#else
static const bool sandbox_limited = true;
#endif

/* Switch to the user nobody, if the process runs as root. */
static int sandbox_user(struct err *err)
{
	if (geteuid())
		return 0;
	if (setgroups(0, NULL) ||
	    setresgid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) ||
	    setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY)) {
		/*
		 * In a container, the process may lack the capability to change
		 * its user (EPERM), or the user namespace may not map the
		 * number of the user "nobody" (EINVAL). Then the process stays
		 * root, but loses its capabilities all the same.
		 */
		if (errno != EPERM && errno != EINVAL)
			return err_sys(err,
				       "cannot switch to the user \"nobody\"");
	}
	return 0;
}

/*
 * Drop all capabilities. SANDBOX_PROC keeps those that reading /proc needs, if
 * the process has them.
 */
static int sandbox_capabilities(enum sandbox_kind kind, struct err *err)
{
	const uint32_t wanted = kind == SANDBOX_PROC ?
					1U << CAP_SYS_PTRACE |
						1U << CAP_DAC_READ_SEARCH :
					0;
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct now[2] = { { 0 } };
	struct __user_cap_data_struct kept[2] = { { 0 } };

	if (wanted && syscall(SYS_capget, &header, now))
		return err_sys(err, "cannot read capabilities");
	kept[0].permitted = now[0].permitted & wanted;
	kept[0].effective = kept[0].permitted;
	if (syscall(SYS_capset, &header, kept))
		return err_sys(err, "cannot drop capabilities");
	return 0;
}

static int sandbox_limit(int resource, rlim_t value, struct err *err)
{
	const struct rlimit limit = { .rlim_cur = value, .rlim_max = value };

	return setrlimit(resource, &limit) ? err_sys(err, "setrlimit") : 0;
}

/*
 * For SANDBOX_PROC, permit the system calls that find, check and open files.
 * For SANDBOX_FILES, let the calls by which libdw looks for further files fail
 * with ENOENT, instead of killing the process. open() fails with ENOENT in both
 * cases; with SANDBOX_PROC, openat() is permitted instead, only for reading.
 */
static int sandbox_calls_open(scmp_filter_ctx filter, enum sandbox_kind kind)
{
	static const int finding[] = {
		SCMP_SYS(access), SCMP_SYS(faccessat),  SCMP_SYS(faccessat2),
		SCMP_SYS(getcwd), SCMP_SYS(lstat),      SCMP_SYS(readlink),
		SCMP_SYS(stat),   SCMP_SYS(readlinkat), SCMP_SYS(statx),
	};
	/*
	 * openat2() is used only for descriptors of O_PATH. The filter cannot
	 * check this, because the flags of openat2() are in memory and not in a
	 * register.
	 */
	static const int looking[] = {
		SCMP_SYS(fstatfs),      SCMP_SYS(getegid),  SCMP_SYS(geteuid),
		SCMP_SYS(getpid),       SCMP_SYS(getxattr), SCMP_SYS(ioctl),
		SCMP_SYS(memfd_create), SCMP_SYS(openat2),
	};
	const bool opens = kind == SANDBOX_PROC;
	const uint32_t found = opens ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOENT);
	int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT),
				  SCMP_SYS(open), 0);

	for (size_t i = 0; i < ARRAY_SIZE(finding) && !rc; i++)
		rc = seccomp_rule_add(filter, found, finding[i], 0);
	for (size_t i = 0; opens && i < ARRAY_SIZE(looking) && !rc; i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, looking[i], 0);
	if (!rc && opens)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat),
				      1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ,
					      O_ACCMODE | O_CREAT, O_RDONLY));
	else if (!rc)
		rc = seccomp_rule_add(filter, found, SCMP_SYS(openat), 0);
	return rc;
}

/*
 * Permit the system calls that reading files needs. Any other one kills the
 * process, except those that sandbox_calls_open() permits or lets fail.
 */
static int sandbox_calls(enum sandbox_kind kind, struct err *err)
{
	static const int permitted[] = {
		SCMP_SYS(brk),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(close),
		SCMP_SYS(dup3),
		SCMP_SYS(exit),
		SCMP_SYS(exit_group),
		SCMP_SYS(fcntl),
		SCMP_SYS(fstat),
		SCMP_SYS(futex),
		SCMP_SYS(getrandom),
		SCMP_SYS(lseek),
		SCMP_SYS(madvise),
		SCMP_SYS(mremap),
		SCMP_SYS(munmap),
		SCMP_SYS(newfstatat),
		SCMP_SYS(pread64),
		SCMP_SYS(read),
		SCMP_SYS(recvfrom),
		SCMP_SYS(recvmsg),
		SCMP_SYS(restart_syscall),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(sendmsg),
		SCMP_SYS(sendto),
		/* qsort() of glibc asks how much memory there is. */
		SCMP_SYS(sysinfo),
		SCMP_SYS(write),
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int rc = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < sizeof(permitted) / sizeof(*permitted) && !rc;
	     i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, permitted[i], 0);
	if (!rc)
		rc = sandbox_calls_open(filter, kind);
	/* Permit mmap() unless it asks for executable memory. */
	if (!rc)
		rc = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!rc)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	errno = -rc;
	return rc ? err_sys(err, "seccomp") : 0;
}

int sandbox_enter(enum sandbox_kind kind, unsigned memory_mb, struct err *err)
{
	int rc = sandbox_limit(RLIMIT_CORE, 0, err);

	if (!rc && sandbox_limited)
		rc = sandbox_limit(RLIMIT_AS, (rlim_t)memory_mb << 20, err);
	if (!rc && kind == SANDBOX_FILES)
		rc = sandbox_user(err);
	if (!rc)
		rc = sandbox_capabilities(kind, err);
	if (rc)
		return rc;
	/*
	 * PR_SET_PDEATHSIG comes after the change of the user, because the
	 * change resets this signal.
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0))
		return err_sys(err, "prctl");
	return sandbox_limited ? sandbox_calls(kind, err) : 0;
}
