// The functions that candle calls when it creates a CUDA device, beside the driver's: handles of cuBLAS and cuRAND.

#define API extern "C" __attribute__((visibility("default")))

static int handle;

API int cublasCreate_v2(void **made)
{
    *made = &handle;
    return 0;
}

API int cublasDestroy_v2(void *) { return 0; }
API int cublasSetStream_v2(void *, void *) { return 0; }

API int curandCreateGenerator(void **made, int)
{
    *made = &handle;
    return 0;
}

API int curandDestroyGenerator(void *) { return 0; }
API int curandSetPseudoRandomGeneratorSeed(void *, unsigned long long) { return 0; }
API int curandSetStream(void *, void *) { return 0; }
