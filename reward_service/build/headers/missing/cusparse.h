// For machines that build without the whole CUDA toolkit: opaque handles, so that torch's headers can be read.
#pragma once
typedef struct cusparseContext* cusparseHandle_t;
typedef enum { CUSPARSE_STATUS_SUCCESS = 0 } cusparseStatus_t;
