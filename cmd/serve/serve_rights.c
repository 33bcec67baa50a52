/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/serve_rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A limit on open files that is not exceeded here. It is not higher, because
 * programs that everprof starts inherit it, and some close each descriptor.
 */
#define FILES_ENOUGH 65536

void rights_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	if (files.rlim_cur >= FILES_ENOUGH)
		return;
	files.rlim_cur = files.rlim_max < FILES_ENOUGH ? files.rlim_max :
							 FILES_ENOUGH;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

void rights_set_limits(void)
{
	const struct rlimit none = { 0 };

	/* If any of these fails, the system's own settings stay in force. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
	rights_raise_files();
}

/*
 * The capabilities that a server started by root keeps: for eBPF, for reading
 * the programs of other users, for the names of the kernel's functions, for
 * locked memory (before Linux 5.11), for the priority of the thread that reads
 * reports about processes, for the file helper, which runs as the user nobody,
 * and for files of other users and ports below 1024.
 */
static const int rights_kept[] = {
	CAP_BPF,          CAP_PERFMON,
	CAP_SYS_PTRACE,   CAP_DAC_READ_SEARCH,
	CAP_SYSLOG,       CAP_SYS_RESOURCE,
	CAP_SYS_NICE,     CAP_SETUID,
	CAP_SETGID,       CAP_KILL,
	CAP_DAC_OVERRIDE, CAP_FOWNER,
	CAP_CHOWN,        CAP_NET_BIND_SERVICE,
};

int rights_drop(struct err *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct has[2];
	uint64_t keep = 0;

	if (geteuid())
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(rights_kept); i++)
		keep |= 1ULL << rights_kept[i];
	if (syscall(SYS_capget, &header, has))
		return err_sys(err, "cannot read the capabilities of everprof");
	/* No program that it starts gets more. Gaps are future capabilities. */
	for (int i = 0; i < 64; i++) {
		if (!(keep >> i & 1) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) &&
		    errno != EINVAL && errno != EPERM)
			return err_sys(err,
				       "cannot drop a capability of everprof");
	}
	for (int i = 0; i < 2; i++) {
		has[i].effective &= (uint32_t)(keep >> (32 * i));
		has[i].permitted &= (uint32_t)(keep >> (32 * i));
		has[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, has))
		return err_sys(
			err,
			"everprof runs as root, but cannot give up the capabilities that it does not need (system call capset)");
	return 0;
}

void rights_warn(const struct log *log, const char *web_config)
{
	struct stat st;

	if (!geteuid())
		log_event(
			log, LOG_WARN,
			"everprof runs as root; unless it needs files or sockets that only root may use, run it as another user, who owns the data directory; the eBPF collector needs only some capabilities (docs/ebpf.md)",
			NULL);
	if (web_config && !stat(web_config, &st) &&
	    st.st_mode & (S_IROTH | S_IWOTH))
		log_event(
			log, LOG_WARN,
			"every user of this machine can read or change the file of --web.config.file: give it to the user that everprof runs as, and then remove the rights of others (chmod o=); docs/operating.md says how under systemd and in Kubernetes",
			LOG_FIELDS(log_text("file", web_config)));
}
