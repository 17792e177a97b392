/* libjpeg-turbo as the bench uses it: one decompressor a thread, kept from image to image, its defaults
 * (accurate integer IDCT, fancy upsampling), RGB out. Calls return 0, or 1 and keep a text for turbo_error.
 * src/shim.rs is the other side. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jpeglib.h>

enum { ROWS = 16 };

struct turbo {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    jmp_buf out;
    char text[JMSG_LENGTH_MAX];
};

static void give_up(j_common_ptr c) {
    struct turbo *t = (struct turbo *)c->client_data;
    t->errors.format_message(c, t->text);
    longjmp(t->out, 1);
}

static void stay_silent(j_common_ptr c, int level) {
    if (level < 0) c->err->num_warnings++;
}

static int fail(struct turbo *t, const char *text) {
    if (text) snprintf(t->text, sizeof t->text, "%s", text);
    jpeg_abort_decompress(&t->d);
    return 1;
}

struct turbo *turbo_new(void) {
    struct turbo *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->d.err = jpeg_std_error(&t->errors);
    jpeg_create_decompress(&t->d); /* exits where there is no memory */
    t->d.client_data = t;
    t->errors.error_exit = give_up;
    t->errors.emit_message = stay_silent;
    return t;
}

void turbo_free(struct turbo *t) {
    jpeg_destroy_decompress(&t->d);
    free(t);
}

const char *turbo_error(const struct turbo *t) { return t->text; }

static void begin(struct turbo *t, const uint8_t *jpeg, size_t length, uint32_t eighths) {
    t->errors.num_warnings = 0;
    jpeg_mem_src(&t->d, jpeg, length);
    jpeg_read_header(&t->d, TRUE);
    t->d.out_color_space = JCS_RGB;
    t->d.scale_num = eighths;
    t->d.scale_denom = 8;
}

/* Reads rows without gaps from where the decompressor stands. */
static void read_rows(struct turbo *t, uint8_t *to, uint32_t rows) {
    size_t stride = (size_t)t->d.output_width * 3;
    while (rows) {
        JSAMPROW some[ROWS];
        uint32_t n = rows < ROWS ? rows : ROWS;
        for (uint32_t i = 0; i < n; i++) some[i] = to + i * stride;
        n = jpeg_read_scanlines(&t->d, some, n);
        to += n * stride;
        rows -= n;
    }
}

/* width, height, and whether it is progressive */
int turbo_header(struct turbo *t, const uint8_t *jpeg, size_t length, uint32_t got[3]) {
    if (setjmp(t->out)) return fail(t, NULL);
    begin(t, jpeg, length, 8);
    got[0] = t->d.image_width;
    got[1] = t->d.image_height;
    got[2] = t->d.progressive_mode;
    jpeg_abort_decompress(&t->d);
    return 0;
}

int turbo_full(struct turbo *t, const uint8_t *jpeg, size_t length, uint8_t *to, size_t room) {
    if (setjmp(t->out)) return fail(t, NULL);
    begin(t, jpeg, length, 8);
    jpeg_start_decompress(&t->d);
    if ((size_t)t->d.output_width * t->d.output_height * 3 > room) return fail(t, "no room for the pixels");
    read_rows(t, to, t->d.output_height);
    jpeg_finish_decompress(&t->d);
    return t->errors.num_warnings ? fail(t, "damaged") : 0;
}

/* The window (left, top, width, height), in pixels of the image at `eighths` of its size; got: left edge and
 * width of what was decoded, which reaches to whole MCUs. */
int turbo_region(struct turbo *t, const uint8_t *jpeg, size_t length, uint32_t eighths, const uint32_t window[4],
                 uint8_t *to, size_t room, uint32_t got[2]) {
    if (setjmp(t->out)) return fail(t, NULL);
    begin(t, jpeg, length, eighths);
    jpeg_start_decompress(&t->d);
    JDIMENSION left = window[0], width = window[2];
    jpeg_crop_scanline(&t->d, &left, &width);
    if ((size_t)t->d.output_width * window[3] * 3 > room) return fail(t, "no room for the pixels");
    if (window[1]) jpeg_skip_scanlines(&t->d, window[1]);
    read_rows(t, to, window[3]);
    got[0] = left;
    got[1] = t->d.output_width;
    jpeg_abort_decompress(&t->d);
    return 0;
}

/* Entropy decoding alone, as near as libjpeg-turbo's interface comes: it also allocates all coefficients. */
int turbo_coefficients(struct turbo *t, const uint8_t *jpeg, size_t length) {
    if (setjmp(t->out)) return fail(t, NULL);
    begin(t, jpeg, length, 8);
    jpeg_read_coefficients(&t->d);
    jpeg_finish_decompress(&t->d);
    return t->errors.num_warnings ? fail(t, "damaged") : 0;
}

/* RGB as a baseline 4:2:0 JPEG; NULL when that fails. The caller hands it to turbo_drop. */
uint8_t *turbo_encode_420(const uint8_t *pixels, uint32_t width, uint32_t height, int quality, size_t *length) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *jpeg = NULL;
    unsigned long n = 0;
    c.err = jpeg_std_error(&errors); /* exits on error: these pixels are the bench's own */
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &jpeg, &n);
    c.image_width = width;
    c.image_height = height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c); /* 4:2:0 */
    jpeg_set_quality(&c, quality, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)width * 3 * c.next_scanline);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *length = n;
    return jpeg;
}

void turbo_drop(uint8_t *jpeg) { free(jpeg); }

/* Processor seconds of this process so far. */
double turbo_cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* What `jpegtran -progressive` makes of a JPEG, without its notes; NULL when that fails. The caller hands it to
 * turbo_drop. */
uint8_t *turbo_progressive(struct turbo *t, const uint8_t *jpeg, size_t length, size_t *got) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *made = NULL;
    unsigned long n = 0;
    if (setjmp(t->out)) {
        fail(t, NULL);
        return NULL;
    }
    begin(t, jpeg, length, 8);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&t->d);
    c.err = jpeg_std_error(&errors); /* exits on error: these coefficients were read without one */
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &made, &n);
    jpeg_copy_critical_parameters(&t->d, &c);
    jpeg_simple_progression(&c);
    jpeg_write_coefficients(&c, coefficients);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    jpeg_abort_decompress(&t->d);
    *got = n;
    return made;
}
