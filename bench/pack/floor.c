/* The least work that turns files into tar shards: no checks, no checksums, no fsync.
 *   cc -O2 -pthread floor.c -o floor
 *   floor LIST OUTDIR FILES_PER_SHARD THREADS      LIST: relative paths, one a line, already sorted
 * Threads take whole shards. Files are read straight into the buffer that is written. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, CAP = 256 * 1024, LEAST_READ = 16 * 1024 };

struct out {
    int fd;
    size_t fill;
    char buf[CAP];
};

static char **names;
static size_t count, per_shard, next_shard;
static const char *outdir;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void flush(struct out *o) {
    for (size_t done = 0; done < o->fill;) {
        ssize_t w = write(o->fd, o->buf + done, o->fill - done);
        if (w <= 0) die("write");
        done += w;
    }
    o->fill = 0;
}

static char *zeroed(struct out *o, size_t n) { /* n zero bytes in the stream, to be filled in */
    if (CAP - o->fill < n) flush(o);
    char *at = memset(o->buf + o->fill, 0, n);
    o->fill += n;
    return at;
}

static void header(struct out *o, const char *name, unsigned long long size) {
    if (strlen(name) > 100 || size >> 33) { fprintf(stderr, "does not fit in ustar: %s\n", name); exit(1); }
    char *h = zeroed(o, BLOCK);
    memcpy(h, name, strlen(name));
    strcpy(h + 100, "0000644"), strcpy(h + 108, "0000000"), strcpy(h + 116, "0000000");
    snprintf(h + 124, 12, "%011llo", size);
    strcpy(h + 136, "00000000000");
    memset(h + 148, ' ', 8), h[156] = '0';
    memcpy(h + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; i++) sum += (unsigned char)h[i];
    snprintf(h + 148, 7, "%06o", sum);
}

static void add(struct out *o, const char *name) {
    int in = open(name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (in < 0 || fstat(in, &st)) die(name);
    header(o, name, st.st_size);
    for (size_t left = st.st_size; left;) {
        if (CAP - o->fill < left && CAP - o->fill < LEAST_READ) flush(o);
        size_t room = CAP - o->fill;
        ssize_t r = read(in, o->buf + o->fill, left < room ? left : room);
        if (r <= 0) die(name);
        o->fill += r;
        left -= r;
    }
    close(in);
    zeroed(o, -(size_t)st.st_size % BLOCK);
}

static void *worker(void *arg) {
    struct out *o = malloc(sizeof *o);
    for (;;) {
        size_t s = __atomic_fetch_add(&next_shard, 1, __ATOMIC_RELAXED);
        if (s * per_shard >= count) break;
        char path[4096];
        snprintf(path, sizeof path, "%s/%06zu.tar", outdir, s);
        o->fill = 0;
        if ((o->fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644)) < 0) die(path);
        for (size_t i = s * per_shard; i < count && i < (s + 1) * per_shard; i++) add(o, names[i]);
        zeroed(o, 2 * BLOCK);
        flush(o);
        if (close(o->fd)) die(path);
    }
    free(o);
    return arg;
}

int main(int argc, char **argv) {
    if (argc != 5) return fprintf(stderr, "floor LIST OUTDIR FILES_PER_SHARD THREADS\n"), 2;
    FILE *f = fopen(argv[1], "r");
    if (!f) die(argv[1]);
    char *line = 0;
    size_t size = 0, room = 0;
    for (ssize_t n; (n = getline(&line, &size, f)) > 0;) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        if (count == room) names = realloc(names, (room = room ? 2 * room : 4096) * sizeof *names);
        if (!names || !(names[count++] = strdup(line))) die("memory");
    }
    outdir = argv[2], per_shard = strtoull(argv[3], 0, 10);
    int threads = atoi(argv[4]);
    if (!per_shard || threads < 1 || threads > 64) return 2;
    pthread_t t[64];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&t[i], 0, worker, 0)) die("thread");
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    return 0;
}
