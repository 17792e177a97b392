// The weights of the triangle filter along one axis of a box: bit by bit those of the host's resizer.
//
// Compiled after resample.cu and before separable.cu, in one program with them. The host's half is
// jpeg/src/resize/weights.rs. Weights have 16 bits. They are computed in double precision by the host's operations in
// the host's order, each rounded separately and never fused, as IEEE 754 defines them: so they are the host's.

// One axis of a box.
struct Axis {
    Bits32 begin, inputs; // the whole pixels that the box touches
    Bits32 outputs;
    Bits32 most;  // upper bound of the inputs of an output
    int bits;     // sums are divided by 2^bits
    double from;  // where the box begins, from `begin`
    double scale; // pixels of the picture for one of the output
    double radius, narrow; // half the filter's width, and its inverse
};

// The inputs of one output, from `begin`.
struct Tap {
    Bits32 first, count;
    double middle;        // of the output, as the number of an input
    double sum, greatest; // of the weights before their division by the sum
};

// The greatest number below a half: adding it and truncating rounds halves away from zero.
#define NEARLY_HALF 0.49999999999999994

// Most bits of a weight: sums of bytes have 8 more, and two for their range.
enum { MOST_BITS = 32 - 8 - 2 };

// False if the box is not within the picture: as the host refuses it (CropBox::check), and resizers do.
__device__ __forceinline__ bool axis_of(float start, float length, Bits32 outputs, Bits32 picture, Axis &axis)
{
    double left = start, all = picture, end = __dadd_rn(left, (double)length);
    if (!(left >= 0.0 && length > 0.0f && end <= __dmul_rn(all, 1.0 + 1e-6))) return false;
    double begin = fmin(floor(left), all - 1.0);
    double past = fmin(fmax(ceil(end), begin + 1.0), all);
    axis.begin = (Bits32)begin;
    axis.inputs = (Bits32)(past - begin);
    axis.outputs = outputs;
    axis.from = __dsub_rn(left, begin);
    // Rounding may put the end outside the pixels.
    double reach = fmin((double)length, __dsub_rn((double)axis.inputs, axis.from));
    if (!(reach > 0.0)) return false;
    double to = __dadd_rn(axis.from, reach);
    axis.scale = __ddiv_rn(__dsub_rn(to, axis.from), (double)outputs);
    axis.radius = fmax(axis.scale, 1.0);
    axis.narrow = __ddiv_rn(1.0, axis.radius);
    axis.most = (Bits32)fmin(__dadd_rn(__dadd_rn(axis.radius, axis.radius), 3.0), (double)axis.inputs);
    axis.bits = 0;
    return true;
}

// The height above an input of a triangle whose top is 1: not positive outside it.
__device__ __forceinline__ double height_at(const Axis &axis, double middle, Bits32 input)
{
    return __dsub_rn(1.0, fabs(__dmul_rn(__dsub_rn((double)input, middle), axis.narrow)));
}

// The triangle is as wide as two outputs, but at least two inputs. No input is outside the whole pixels that the box
// touches: the box is cropped first and then resized.
__device__ __forceinline__ Tap tap_of(const Axis &axis, Bits32 output)
{
    double center = __dadd_rn(axis.from, __dmul_rn(__dadd_rn((double)output, 0.5), axis.scale));
    double low = __dsub_rn(center, axis.radius);
    double high = fmin(__dadd_rn(center, axis.radius), (double)axis.inputs);
    Tap tap;
    tap.middle = __dsub_rn(center, 0.5);
    tap.first = (Bits32)fmin(fmax(low, 0.0), (double)(axis.inputs - 1u));
    Bits32 end = (Bits32)high;
    end += (double)end < high ? 1u : 0u;
    while (tap.first + 1u < end && height_at(axis, tap.middle, tap.first) <= 0.0) tap.first++;
    tap.sum = tap.greatest = 0.0;
    Bits32 x = tap.first;
    for (; x < end; x++) {
        double height = height_at(axis, tap.middle, x);
        if (height <= 0.0) break;
        tap.sum = __dadd_rn(tap.sum, height);
        tap.greatest = fmax(tap.greatest, height);
    }
    tap.count = x - tap.first;
    return tap;
}

__device__ __forceinline__ int weight_of(const Axis &axis, const Tap &tap, Bits32 number)
{
    double exact = __ddiv_rn(height_at(axis, tap.middle, tap.first + number), tap.sum);
    return (int)__dadd_rn(__dmul_rn(exact, (double)(1u << axis.bits)), NEARLY_HALF);
}

// The greatest weight of all outputs. Quotients by the same number have the order of their dividends, so one division
// for each output is enough. Threads of a block share the outputs; `room` has a number for each.
__device__ __forceinline__ double greatest_weight(const Axis &axis, double *room)
{
    double mine = 0.0;
    for (Bits32 output = threadIdx.x; output < axis.outputs; output += blockDim.x) {
        Tap tap = tap_of(axis, output);
        if (tap.count) mine = fmax(mine, __ddiv_rn(tap.greatest, tap.sum));
    }
    room[threadIdx.x] = mine;
    __syncthreads();
    for (Bits32 left = blockDim.x; left > 1u;) {
        Bits32 half = (left + 1u) / 2u;
        if (threadIdx.x + half < left) room[threadIdx.x] = fmax(room[threadIdx.x], room[threadIdx.x + half]);
        __syncthreads();
        left = half;
    }
    double greatest = room[0];
    __syncthreads();
    return greatest;
}

// The first number of bits with one more of which the weight would not fit 15.
__device__ __forceinline__ int bits_for(double greatest)
{
    int bits = 0;
    while (bits < MOST_BITS - 1 && __dadd_rn(__dmul_rn(greatest, (double)(2u << bits)), NEARLY_HALF) < 32768.0) bits++;
    return bits;
}

