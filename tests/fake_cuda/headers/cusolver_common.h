// cusolver_common.h: what LibTorch's headers name of cuSOLVER, where NVIDIA's header is absent.
#pragma once

typedef enum { CUSOLVER_STATUS_SUCCESS = 0 } cusolverStatus_t;
