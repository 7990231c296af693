// cusolverDn.h: the parts of cuSOLVER that LibTorch's headers use, for machines without NVIDIA's
// header.
#pragma once

#include <cusolver_common.h>

using cusolverDnHandle_t = struct cusolverDnContext*;
