// cusolverDn.h: what LibTorch's headers name of cuSOLVER, where NVIDIA's header is absent.
#pragma once

#include <cusolver_common.h>

using cusolverDnHandle_t = struct cusolverDnContext*;
