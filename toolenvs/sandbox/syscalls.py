"""System call numbers of the two machines that the filter knows, from the kernel's own headers.

A call is a name, its number on x86-64, its number on aarch64. -1: the machine has no such call.
"""

import platform

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h: what a filter sees as `arch`

_TABLE = """
read 0 63 | write 1 64 | readv 19 65 | writev 20 66 | pread64 17 67 | pwrite64 18 68 | preadv 295 69 | pwritev 296 70
close 3 57 | close_range 436 436 | fstat 5 80 | stat 4 -1 | lstat 6 -1 | newfstatat 262 79 | statx 332 291
statfs 137 43 | fstatfs 138 44 | lseek 8 62 | mmap 9 222 | munmap 11 215 | mprotect 10 226 | mremap 25 216
madvise 28 233 | brk 12 214 | msync 26 227 | mincore 27 232 | rt_sigaction 13 134 | rt_sigprocmask 14 135
rt_sigreturn 15 139 | rt_sigpending 127 136 | rt_sigtimedwait 128 137 | rt_sigsuspend 130 133 | sigaltstack 131 132
pause 34 -1 | access 21 -1 | faccessat 269 48 | faccessat2 439 439 | pipe 22 -1 | pipe2 293 59 | select 23 -1
pselect6 270 72 | poll 7 -1 | ppoll 271 73 | epoll_create 213 -1 | epoll_create1 291 20 | epoll_ctl 233 21
epoll_wait 232 -1 | epoll_pwait 281 22 | epoll_pwait2 441 441 | eventfd 284 -1 | eventfd2 290 19
timerfd_create 283 85 | timerfd_settime 286 86 | timerfd_gettime 287 87 | dup 32 23 | dup2 33 -1 | dup3 292 24
nanosleep 35 101 | clock_nanosleep 230 115 | clock_gettime 228 113 | clock_getres 229 114 | gettimeofday 96 169
time 201 -1 | getpid 39 172 | gettid 186 178 | getppid 110 173 | getuid 102 174 | geteuid 107 175 | getgid 104 176
getegid 108 177 | getgroups 115 158 | getpgrp 111 -1 | getpgid 121 155 | getsid 124 156 | getresuid 118 148
getresgid 120 150 | getrusage 98 165 | times 100 153 | sysinfo 99 179 | uname 63 160 | umask 95 166 | getcpu 309 168
fsync 74 82 | fdatasync 75 83 | ftruncate 77 46 | getdents 78 -1 | getdents64 217 61 | getcwd 79 17 | chdir 80 49
fchdir 81 50 | readlink 89 -1 | readlinkat 267 78 | open 2 -1 | openat 257 56 | futex 202 98 | set_robust_list 273 99
get_robust_list 274 100 | rseq 334 293 | set_tid_address 218 96 | exit 60 93 | exit_group 231 94 | sched_yield 24 124
sched_getaffinity 204 123 | sched_getparam 143 121 | sched_getscheduler 145 120 | sched_get_priority_max 146 125
sched_get_priority_min 147 126 | getpriority 140 141 | getrlimit 97 163 | getrandom 318 278 | restart_syscall 219 128
membarrier 324 283 | alarm 37 -1 | setitimer 38 103 | getitimer 36 102 | timer_create 222 107 | timer_settime 223 110
timer_gettime 224 108 | timer_delete 226 111 | timer_getoverrun 225 109 | wait4 61 260 | waitid 247 95 | flock 73 32
fadvise64 221 223 | readahead 187 213 | sendfile 40 71 | copy_file_range 326 285 | fallocate 285 47 | recvfrom 45 207
recvmsg 47 212 | shutdown 48 210 | getsockopt 55 209 | getsockname 51 204 | getpeername 52 205
rename 82 -1 | renameat 264 38 | renameat2 316 276 | mkdir 83 -1 | mkdirat 258 34 | rmdir 84 -1 | unlink 87 -1
unlinkat 263 35 | link 86 -1 | linkat 265 37 | symlink 88 -1 | symlinkat 266 36 | chmod 90 -1 | fchmod 91 52
fchmodat 268 53 | utime 132 -1 | utimes 235 -1 | utimensat 280 88 | futimesat 261 -1 | truncate 76 45 | creat 85 -1
clone 56 220 | clone3 435 435 | fork 57 -1 | vfork 58 -1 | kill 62 129 | tkill 200 130 | tgkill 234 131 | ioctl 16 29
fcntl 72 25 | prctl 157 167 | prlimit64 302 261 | seccomp 317 277 | socketpair 53 199 | sendto 44 206
capset 126 91 | pivot_root 155 41
execve 59 221 | setsid 112 157 | setpgid 109 154 | arch_prctl 158 -1
landlock_create_ruleset 444 444 | landlock_add_rule 445 445 | landlock_restrict_self 446 446
"""


def numbers(machine: str | None = None) -> dict[str, int]:
    """Name -> number for `machine` (default: this one); empty when the machine is unknown."""
    column = {"x86_64": 1, "aarch64": 2}.get(machine or platform.machine())
    if column is None:
        return {}
    rows = [entry.split() for line in _TABLE.strip().splitlines() for entry in line.split("|")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-1"}
