/* libjpeg-turbo as a server for tests: requests on stdin, replies on stdout, until stdin ends.
 *   cc -O2 turbo.c -ljpeg -o turbo
 * Numbers are 32 bits, little-endian. A request is a kind and its fields; a reply is 0 and the requested
 * data, or 1 and a text (length, bytes). Whatever a JPEG holds, the server answers and continues; it exits
 * with a message only when a request itself is cut or malformed. turbo.rs is the other side.
 *   1 decode: scale denominator, components (1 gray, 3 RGB, 4 CMYK as stored), length, JPEG
 *       -> width, height, components, warnings, text of the first warning, whether an error follows the
 *       last pixel, pixels
 *   2 encode: struct recipe below, extra markers (length, bytes), custom scans (length, SCAN bytes each:
 *       components, their four numbers, Ss, Se, Ah, Al), pixels -> length, JPEG
 *   3 coefficients: length, JPEG -> components, and of each: blocks across, blocks down (of the image),
 *       the same rounded up to whole MCUs, horizontal and vertical sampling factor, 64 quantizers,
 *       then 64 coefficients (16 bits) of each block of the rounded size; quantizers and coefficients
 *       in natural order, the latter not dequantized */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>

enum { DECODE = 1, ENCODE = 2, COEFFICIENTS = 3 };
enum { PROGRESSIVE = 1, OPTIMIZED = 2, ARITHMETIC = 4, RGB = 8, NO_JFIF = 16, ADOBE = 32, THREE_TABLES = 64,
       WIDE_TABLES = 128, YCCK = 256, BLACK_AS_LUMA = 512 };
enum { INTERLEAVED = 0, ONE_EACH = 1, LUMA_THEN_CHROMA = 2 };
enum { MOST_PIXELS = 1 << 26, SCAN = 9, MOST_SCANS = 1000 };

/* How to encode; each field is sent unchanged. `components` 4 is CMYK. */
struct recipe {
    uint32_t width, height, components, quality, luma_h, luma_v, chroma_h, chroma_v, restart, scans, flags;
};

struct errors {
    struct jpeg_error_mgr base;
    jmp_buf out;
    char text[JMSG_LENGTH_MAX];
};

static void give_up(j_common_ptr c) {
    struct errors *e = (struct errors *)c->err;
    e->base.format_message(c, e->text);
    longjmp(e->out, 1);
}

static void note(j_common_ptr c, int level) {
    struct errors *e = (struct errors *)c->err;
    if (level < 0 && e->base.num_warnings++ == 0) e->base.format_message(c, e->text);
}

static struct jpeg_error_mgr *errors(struct errors *e) {
    jpeg_std_error(&e->base);
    e->base.error_exit = give_up;
    e->base.emit_message = note;
    e->text[0] = 0;
    return &e->base;
}

/* ---- the pipes -------------------------------------------------------------------------------- */
static void die(const char *why) {
    fprintf(stderr, "turbo: %s\n", why);
    exit(1);
}

static void *need(void *p) {
    if (!p) die("no memory");
    return p;
}

static void take(void *to, size_t n) {
    if (n && fread(to, 1, n, stdin) != n) die("a request was cut");
}

static uint32_t take32(void) {
    unsigned char b[4];
    take(b, 4);
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static unsigned char *take_bytes(size_t n) {
    unsigned char *b = need(malloc(n ? n : 1));
    take(b, n);
    return b;
}

static void put(const void *from, size_t n) {
    if (n && fwrite(from, 1, n, stdout) != n) die("a reply could not be written");
}

static void put32(uint32_t v) {
    unsigned char b[4] = { v, v >> 8, v >> 16, v >> 24 };
    put(b, 4);
}

static void put_text(const char *text) {
    put32(strlen(text));
    put(text, strlen(text));
}

static void refuse(const char *text) {
    put32(1);
    put_text(text);
}

/* ---- decoding --------------------------------------------------------------------------------- */
static unsigned char *volatile pixels; /* outlives a longjmp */
static volatile int is_complete;        /* whether all pixels were read */

static void decode_into_pixels(struct jpeg_decompress_struct *d, uint32_t scale, uint32_t components) {
    jpeg_read_header(d, TRUE);
    if ((uint64_t)d->image_width * d->image_height > MOST_PIXELS) {
        strcpy(((struct errors *)d->err)->text, "too many pixels for a test");
        longjmp(((struct errors *)d->err)->out, 1);
    }
    d->out_color_space = components == 1 ? JCS_GRAYSCALE : components == 4 ? JCS_CMYK : JCS_RGB;
    d->scale_num = 1;
    d->scale_denom = scale;
    jpeg_start_decompress(d);
    size_t stride = (size_t)d->output_width * d->output_components;
    pixels = need(malloc(stride * d->output_height + 1));
    while (d->output_scanline < d->output_height) {
        JSAMPROW row = pixels + stride * d->output_scanline;
        jpeg_read_scanlines(d, &row, 1);
    }
    is_complete = 1;
    jpeg_finish_decompress(d);
}

static void decode(void) {
    uint32_t scale = take32(), components = take32(), length = take32();
    unsigned char *jpeg = take_bytes(length);
    struct jpeg_decompress_struct d;
    struct errors e;
    memset(&d, 0, sizeof d);
    pixels = NULL;
    d.err = errors(&e);
    is_complete = 0;
    int failed = setjmp(e.out);
    if (!failed) {
        jpeg_create_decompress(&d);
        jpeg_mem_src(&d, jpeg, length);
        decode_into_pixels(&d, scale, components);
    }
    if (!is_complete) {
        refuse(e.text);
    } else {
        put32(0);
        put32(d.output_width);
        put32(d.output_height);
        put32(d.output_components);
        put32(e.base.num_warnings);
        put_text(e.text);
        put32(failed);
        put(pixels, (size_t)d.output_width * d.output_height * d.output_components);
    }
    jpeg_destroy_decompress(&d);
    free(pixels);
    free(jpeg);
}

/* ---- encoding --------------------------------------------------------------------------------- */
/* A third table for the last component, unlike the second: a decoder that mixes them up is found out. */
static void third_table(struct jpeg_compress_struct *c) {
    unsigned int steps[DCTSIZE2];
    for (int i = 0; i < DCTSIZE2; i++) steps[i] = c->quant_tbl_ptrs[1]->quantval[i] / 2 + 1 + i % 3;
    jpeg_add_quant_table(c, 2, steps, 100, TRUE);
    c->comp_info[2].quant_tbl_no = 2;
}

/* Sequential scans that are not interleaved, or only in part. */
static int script(jpeg_scan_info *scan, uint32_t components, uint32_t scans) {
    memset(scan, 0, 4 * sizeof *scan);
    int n = 0;
    for (uint32_t at = 0; at < components; n++) {
        int last = scans == LUMA_THEN_CHROMA && n == 1 ? (int)components - 1 : (int)at;
        for (; (int)at <= last; at++) scan[n].component_index[scan[n].comps_in_scan++] = at;
        scan[n].Se = DCTSIZE2 - 1;
    }
    return n;
}

/* The requested scans. */
static int own_script(jpeg_scan_info *scan, const unsigned char *from, uint32_t length) {
    int n = 0;
    for (; length >= SCAN; n++, from += SCAN, length -= SCAN) {
        if (n == MOST_SCANS) die("too many scans");
        scan[n].comps_in_scan = from[0];
        for (int i = 0; i < 4; i++) scan[n].component_index[i] = from[1 + i];
        scan[n].Ss = from[5];
        scan[n].Se = from[6];
        scan[n].Ah = from[7];
        scan[n].Al = from[8];
    }
    return n;
}

static void set_up(struct jpeg_compress_struct *c, const struct recipe *r, jpeg_scan_info *scan, int scans) {
    c->image_width = r->width;
    c->image_height = r->height;
    c->input_components = r->components;
    c->in_color_space = r->components == 1 ? JCS_GRAYSCALE : r->components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_set_defaults(c);
    if (r->flags & RGB) jpeg_set_colorspace(c, JCS_RGB);
    if (r->flags & YCCK && r->components == 4) jpeg_set_colorspace(c, JCS_YCCK);
    jpeg_set_quality(c, r->quality, !(r->flags & WIDE_TABLES));
    c->comp_info[0].h_samp_factor = r->luma_h;
    c->comp_info[0].v_samp_factor = r->luma_v;
    for (uint32_t i = 1; i < r->components; i++) {
        c->comp_info[i].h_samp_factor = r->chroma_h;
        c->comp_info[i].v_samp_factor = r->chroma_v;
    }
    if (r->flags & BLACK_AS_LUMA && r->components == 4) {
        c->comp_info[3].h_samp_factor = r->luma_h;
        c->comp_info[3].v_samp_factor = r->luma_v;
    }
    if (r->flags & THREE_TABLES && r->components == 3) third_table(c);
    if (r->flags & NO_JFIF) c->write_JFIF_header = c->write_Adobe_marker = FALSE;
    if (r->flags & ADOBE) c->write_Adobe_marker = TRUE;
    c->restart_interval = r->restart;
    c->optimize_coding = !!(r->flags & OPTIMIZED);
    c->arith_code = !!(r->flags & ARITHMETIC);
    if (scans > 0) {
        c->num_scans = scans;
        c->scan_info = scan;
    } else if (r->flags & PROGRESSIVE) {
        jpeg_simple_progression(c);
    } else if (r->scans != INTERLEAVED) {
        c->num_scans = script(scan, r->components, r->scans);
        c->scan_info = scan;
    }
}

/* Marker segments as in a file, FF, kind, length and so on; written after the JFIF one. */
static void write_extra(struct jpeg_compress_struct *c, const unsigned char *extra, uint32_t length) {
    for (uint32_t at = 0; at < length;) {
        if (length - at < 4 || extra[at] != 0xFF) die("malformed extra markers");
        uint32_t size = (uint32_t)extra[at + 2] << 8 | extra[at + 3];
        if (size < 2 || size + 2 > length - at) die("malformed extra markers");
        jpeg_write_marker(c, extra[at + 1], extra + at + 4, size - 2);
        at += size + 2;
    }
}

static void encode(void) {
    uint32_t field[sizeof(struct recipe) / 4];
    for (size_t i = 0; i < sizeof field / 4; i++) field[i] = take32();
    struct recipe r;
    memcpy(&r, field, sizeof r);
    uint32_t extra_length = take32(), script_length = take32();
    unsigned char *extra = take_bytes(extra_length);
    unsigned char *own = take_bytes(script_length);
    size_t stride = (size_t)r.width * r.components;
    if ((uint64_t)r.width * r.height > MOST_PIXELS || r.components > 4) die("a recipe beyond limits");
    unsigned char *from = take_bytes(stride * r.height), *jpeg = NULL;
    unsigned long length = 0;
    static jpeg_scan_info scan[MOST_SCANS];
    int scans = own_script(scan, own, script_length);
    struct jpeg_compress_struct c;
    struct errors e;
    memset(&c, 0, sizeof c);
    c.err = errors(&e);
    if (setjmp(e.out)) {
        refuse(e.text);
        jpeg = NULL; /* the library moves it and reports that only at the end: the leak is acceptable */
    } else {
        jpeg_create_compress(&c);
        jpeg_mem_dest(&c, &jpeg, &length);
        set_up(&c, &r, scan, scans);
        jpeg_start_compress(&c, TRUE);
        write_extra(&c, extra, extra_length);
        while (c.next_scanline < c.image_height) {
            JSAMPROW row = from + stride * c.next_scanline;
            jpeg_write_scanlines(&c, &row, 1);
        }
        jpeg_finish_compress(&c);
        put32(0);
        put32(length);
        put(jpeg, length);
    }
    jpeg_destroy_compress(&c);
    free(jpeg);
    free(from);
    free(extra);
    free(own);
}

/* ---- coefficients ----------------------------------------------------------------------------- */
static uint32_t round_up(uint32_t a, uint32_t b) { return (a + b - 1) / b * b; }

static void put_component(struct jpeg_decompress_struct *d, int i, jvirt_barray_ptr array) {
    jpeg_component_info *p = &d->comp_info[i];
    uint32_t wide = round_up(p->width_in_blocks, p->h_samp_factor);
    uint32_t high = round_up(p->height_in_blocks, p->v_samp_factor);
    put32(p->width_in_blocks);
    put32(p->height_in_blocks);
    put32(wide);
    put32(high);
    put32(p->h_samp_factor);
    put32(p->v_samp_factor);
    for (int k = 0; k < DCTSIZE2; k++) put32(p->quant_table ? p->quant_table->quantval[k] : 0);
    for (uint32_t y = 0; y < high; y++) {
        JBLOCKARRAY row = d->mem->access_virt_barray((j_common_ptr)d, array, y, 1, FALSE);
        put(row[0], (size_t)wide * sizeof(JBLOCK));
    }
}

static void coefficients(void) {
    uint32_t length = take32();
    unsigned char *jpeg = take_bytes(length);
    struct jpeg_decompress_struct d;
    struct errors e;
    memset(&d, 0, sizeof d);
    d.err = errors(&e);
    if (setjmp(e.out)) {
        refuse(e.text);
    } else {
        jpeg_create_decompress(&d);
        jpeg_mem_src(&d, jpeg, length);
        jpeg_read_header(&d, TRUE);
        jvirt_barray_ptr *arrays = jpeg_read_coefficients(&d);
        put32(0);
        put32(d.num_components);
        for (int i = 0; i < d.num_components; i++) put_component(&d, i, arrays[i]);
    }
    jpeg_destroy_decompress(&d);
    free(jpeg);
}

int main(void) {
    for (unsigned char first; fread(&first, 1, 1, stdin) == 1;) {
        unsigned char rest[3];
        take(rest, 3);
        switch (first | rest[0] << 8 | rest[1] << 16 | rest[2] << 24) {
        case DECODE: decode(); break;
        case ENCODE: encode(); break;
        case COEFFICIENTS: coefficients(); break;
        default: die("an unknown request");
        }
        if (fflush(stdout)) die("a reply could not be written");
    }
    return 0;
}
