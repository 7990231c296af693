// host_defines.h: the keywords of CUDA in its runtime's headers, for machines without the package
// that defines them: for g++ and clang++ compiling host code, most are empty.
#pragma once

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __specialization_static
#define __host__
#define __device__
#define __global__
#define __constant__
#define __shared__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
