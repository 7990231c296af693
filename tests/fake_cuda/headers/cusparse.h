// cusparse.h: the parts of cuSPARSE that LibTorch's headers use, for machines without NVIDIA's
// header.
#pragma once

using cusparseHandle_t = struct cusparseContext*;

typedef enum { CUSPARSE_STATUS_SUCCESS = 0 } cusparseStatus_t;
