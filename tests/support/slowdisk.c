/* A file system made slow or odd on purpose, below one folder, for one process and its children.
 *
 * Preloaded (LD_PRELOAD). SLOWDISK_ROOT: the folder; SLOWDISK_MS: how long each call waits;
 * SLOWDISK_LOCKS=none: flock and fcntl locks fail as on a network file system without a lock server.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int below(const char *path) {
    const char *root = getenv("SLOWDISK_ROOT");
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

static int of_descriptor(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return below(path);
}

static void wait_a_little(int concerned) {
    const char *said = getenv("SLOWDISK_MS");
    if (!concerned || !said) return;
    int kept = errno;
    long ms = atol(said);
    struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&time, NULL);
    errno = kept;
}

static int at(int fd, const char *path) {
    if (path && path[0] == '/') return below(path);
    return fd == AT_FDCWD ? 0 : of_descriptor(fd);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list l; va_start(l, flags); mode = va_arg(l, mode_t); va_end(l); }

int open(const char *p, int flags, ...) { MODE(flags) wait_a_little(below(p)); return REAL(open)(p, flags, mode); }
int open64(const char *p, int flags, ...) { MODE(flags) wait_a_little(below(p)); return REAL(open64)(p, flags, mode); }
int openat(int d, const char *p, int flags, ...) { MODE(flags) wait_a_little(at(d, p)); return REAL(openat)(d, p, flags, mode); }
int openat64(int d, const char *p, int flags, ...) { MODE(flags) wait_a_little(at(d, p)); return REAL(openat64)(d, p, flags, mode); }
int stat(const char *p, struct stat *s) { wait_a_little(below(p)); return REAL(stat)(p, s); }
int stat64(const char *p, struct stat64 *s) { wait_a_little(below(p)); return REAL(stat64)(p, s); }
int lstat(const char *p, struct stat *s) { wait_a_little(below(p)); return REAL(lstat)(p, s); }
int lstat64(const char *p, struct stat64 *s) { wait_a_little(below(p)); return REAL(lstat64)(p, s); }
int fstatat(int d, const char *p, struct stat *s, int f) { wait_a_little(at(d, p)); return REAL(fstatat)(d, p, s, f); }
int fstatat64(int d, const char *p, struct stat64 *s, int f) { wait_a_little(at(d, p)); return REAL(fstatat64)(d, p, s, f); }
int access(const char *p, int m) { wait_a_little(below(p)); return REAL(access)(p, m); }
int mkdirat(int d, const char *p, mode_t m) { wait_a_little(at(d, p)); return REAL(mkdirat)(d, p, m); }
int unlinkat(int d, const char *p, int f) { wait_a_little(at(d, p)); return REAL(unlinkat)(d, p, f); }
int unlink(const char *p) { wait_a_little(below(p)); return REAL(unlink)(p); }
int renameat(int a, const char *p, int b, const char *q) { wait_a_little(at(a, p)); return REAL(renameat)(a, p, b, q); }
DIR *opendir(const char *p) { wait_a_little(below(p)); return REAL(opendir)(p); }
DIR *fdopendir(int d) { wait_a_little(of_descriptor(d)); return REAL(fdopendir)(d); }
ssize_t write(int d, const void *b, size_t n) { if (d > 2) wait_a_little(of_descriptor(d)); return REAL(write)(d, b, n); }
ssize_t pwrite64(int d, const void *b, size_t n, off64_t o) { wait_a_little(of_descriptor(d)); return REAL(pwrite64)(d, b, n, o); }
ssize_t pread64(int d, void *b, size_t n, off64_t o) { wait_a_little(of_descriptor(d)); return REAL(pread64)(d, b, n, o); }
int fsync(int d) { wait_a_little(of_descriptor(d)); return REAL(fsync)(d); }
int fdatasync(int d) { wait_a_little(of_descriptor(d)); return REAL(fdatasync)(d); }

static int no_locks(int fd) {
    const char *locks = getenv("SLOWDISK_LOCKS");
    if (!locks || strcmp(locks, "none") || !of_descriptor(fd)) return 0;
    errno = ENOLCK;
    return 1;
}

int flock(int fd, int how) { return no_locks(fd) ? -1 : REAL(flock)(fd, how); }

static int controlled(int (*real)(int, int, ...), int fd, int what, void *argument) {
    if ((what == F_SETLK || what == F_SETLKW || what == F_GETLK || what == F_OFD_SETLK) && no_locks(fd)) return -1;
    return real(fd, what, argument);
}

int fcntl(int fd, int what, ...) {
    va_list l; va_start(l, what); void *argument = va_arg(l, void *); va_end(l);
    return controlled(REAL(fcntl), fd, what, argument);
}

int fcntl64(int fd, int what, ...) {
    va_list l; va_start(l, what); void *argument = va_arg(l, void *); va_end(l);
    return controlled(REAL(fcntl64), fd, what, argument);
}
