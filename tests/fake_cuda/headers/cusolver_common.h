// cusolver_common.h: the parts of cuSOLVER that LibTorch's headers use, for machines without
// NVIDIA's header.
#pragma once

typedef enum { CUSOLVER_STATUS_SUCCESS = 0 } cusolverStatus_t;
