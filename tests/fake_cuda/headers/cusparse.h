// cusparse.h: what LibTorch's headers name of cuSPARSE, where NVIDIA's header is absent.
#pragma once

using cusparseHandle_t = struct cusparseContext*;

typedef enum { CUSPARSE_STATUS_SUCCESS = 0 } cusparseStatus_t;
