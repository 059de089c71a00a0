// For machines that build without the whole CUDA toolkit: opaque handles, so that torch's headers can be read.
#pragma once
typedef struct cublasLtContext* cublasLtHandle_t;
