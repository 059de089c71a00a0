// For machines that build without the whole CUDA toolkit: opaque handles, so that torch's headers can be read.
#pragma once
typedef enum { CUSOLVER_STATUS_SUCCESS = 0 } cusolverStatus_t;
