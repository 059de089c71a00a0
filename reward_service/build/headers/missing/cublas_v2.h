// For machines that build without the whole CUDA toolkit: opaque handles, so that torch's headers can be read.
#pragma once
typedef struct cublasContext* cublasHandle_t;
typedef enum { CUBLAS_STATUS_SUCCESS = 0 } cublasStatus_t;
