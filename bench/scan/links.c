/* Makes PAIRS pairs of names, almost all of them hard links to a few small files.
 *   cc -O2 -pthread links.c -o links
 *   links JPEG JSON OUT PAIRS PER_FOLDER       OUT/f0000/n03325584_00000000.jpg and .json, ...
 * Every PER_INODE-th name is a file of its own, because ext4 allows 65,000 links to one. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 2, PER_INODE = 60000, MAX_FILE = 65536 };

static struct source { const char *ext; char data[MAX_FILE]; size_t size; } sources[2] = {{.ext = "jpg"}, {.ext = "json"}};
static const char *out;
static unsigned long pairs, per_folder, next_folder;

static void die(const char *what) {
    perror(what);
    exit(1);
}

struct head { char path[4096]; unsigned links; }; /* the file that new names link to */

static void name_one(const struct source *s, struct head *h, unsigned long folder, unsigned long i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/f%04lu/n%08lu_%08lu.%s", out, folder, 3325584 + folder, i, s->ext);
    if (h->links && h->links < PER_INODE) {
        if (link(h->path, path)) die(path);
        h->links++;
        return;
    }
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
    if (fd < 0 || write(fd, s->data, s->size) != (ssize_t)s->size || close(fd)) die(path);
    strcpy(h->path, path);
    h->links = 1;
}

static void *worker(void *arg) {
    struct head heads[2] = {0};
    for (;;) {
        unsigned long folder = __atomic_fetch_add(&next_folder, 1, __ATOMIC_RELAXED), first = folder * per_folder;
        if (first >= pairs) return arg;
        char path[4096];
        snprintf(path, sizeof path, "%s/f%04lu", out, folder);
        if (mkdir(path, 0755)) die(path);
        for (unsigned long i = first; i < pairs && i < first + per_folder; i++)
            for (int k = 0; k < 2; k++) name_one(&sources[k], &heads[k], folder, i);
    }
}

int main(int argc, char **argv) {
    if (argc != 6) return fprintf(stderr, "links JPEG JSON OUT PAIRS PER_FOLDER\n"), 2;
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(argv[1 + k], "rb");
        if (!f || !(sources[k].size = fread(sources[k].data, 1, MAX_FILE, f))) die(argv[1 + k]);
        fclose(f);
    }
    out = argv[3], pairs = strtoul(argv[4], 0, 10), per_folder = strtoul(argv[5], 0, 10);
    if (!pairs || !per_folder) return 2;
    if (mkdir(out, 0755)) die(out);
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        if ((errno = pthread_create(&t[i], 0, worker, 0))) die("thread");
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
    return 0;
}
