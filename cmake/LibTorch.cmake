# LibTorch.cmake: LibTorch from a torch wheel as imported targets, defined by hand, since the wheel's own
# CMake package requires a CUDA toolkit, Python and a protobuf of its own.
#
#   dt_torch       libtorch_cpu, libc10: everything on the CPU, and Gloo
#   dt_torch_cuda  besides: libtorch_cuda and what to compile against (only where DTRAIN_CUDA_FOUND)
#   dt_cuda        NCCL and the CUDA runtime: for each program, which may take tests/fake_cuda in their place;
#                  only where both are here
#
# Where LibTorch is looked for, in this order: -DDTRAIN_LIBTORCH=DIR, $DTRAIN_LIBTORCH,
# ${XDG_CACHE_HOME:-~/.cache}/dtrain/libtorch-2.11.0 (where `./dev setup` unpacks it), the torch that python3
# imports. DIR is the folder that holds torch/ and, for CUDA's libraries as wheels, nvidia/.
set(DTRAIN_LIBTORCH_VERSION 2.11.0 CACHE STRING "Version of the LibTorch to build the trainer with")
set(DTRAIN_LIBTORCH "" CACHE PATH "Folder holding torch/ of the unpacked torch wheel")
set(DTRAIN_CUDA AUTO CACHE STRING "Build the trainer's CUDA part: AUTO, ON or OFF")
set_property(CACHE DTRAIN_CUDA PROPERTY STRINGS AUTO ON OFF)

function(dt_find_libtorch result)
  if(DTRAIN_LIBTORCH)
    set(candidates ${DTRAIN_LIBTORCH})
  elseif(DEFINED ENV{DTRAIN_LIBTORCH})
    set(candidates $ENV{DTRAIN_LIBTORCH})
  else()
    if(DEFINED ENV{XDG_CACHE_HOME})
      set(cache $ENV{XDG_CACHE_HOME})
    else()
      set(cache $ENV{HOME}/.cache)
    endif()
    set(candidates ${cache}/dtrain/libtorch-${DTRAIN_LIBTORCH_VERSION})
    if(NOT EXISTS ${candidates}/torch/lib/libtorch_cpu.so)
      execute_process(
        COMMAND python3 -c
          "import importlib.util as u, pathlib as p; print(p.Path(u.find_spec('torch').origin).parents[1])"
        OUTPUT_VARIABLE from_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      list(APPEND candidates ${from_python})
    endif()
  endif()
  foreach(candidate IN LISTS candidates)
    if(EXISTS ${candidate}/torch/lib/libtorch_cpu.so)
      set(${result} ${candidate} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR
    "LibTorch not found in: ${candidates}\nRun ./dev setup, or name the folder that holds torch/ with "
    "-DDTRAIN_LIBTORCH=DIR, or leave the trainer out with -DDTRAIN_COMPONENTS=\"coordinator;worker;cli\".")
endfunction()

dt_find_libtorch(DTRAIN_LIBTORCH_DIR)
set(torch_lib ${DTRAIN_LIBTORCH_DIR}/torch/lib)
set(torch_include ${DTRAIN_LIBTORCH_DIR}/torch/include)
file(GLOB nvidia_libs LIST_DIRECTORIES true ${DTRAIN_LIBTORCH_DIR}/nvidia/*/lib)
file(GLOB nvidia_includes LIST_DIRECTORIES true ${DTRAIN_LIBTORCH_DIR}/nvidia/*/include)
message(STATUS "LibTorch: ${DTRAIN_LIBTORCH_DIR}")
set(DTRAIN_LIBTORCH_FOLDER ${DTRAIN_LIBTORCH_DIR} CACHE INTERNAL "For the benchmark of the whole wheel")

# ProcessGroupGloo.hpp includes Gloo's headers, which the wheel omits; only declarations are used.
find_path(DTRAIN_GLOO_INCLUDE gloo/context.h
          DOC "Folder holding gloo/ (libgloo-dev, or the bundle of ./dev setup --bundle)" REQUIRED)

add_library(dt_torch INTERFACE)
target_include_directories(dt_torch SYSTEM INTERFACE
  ${torch_include} ${torch_include}/torch/csrc/api/include ${DTRAIN_GLOO_INCLUDE})
target_compile_definitions(dt_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
# Private and transitive libraries (CUDA's own) are resolved when the program starts, not at link time.
target_link_options(dt_torch INTERFACE -Wl,--allow-shlib-undefined)
target_link_libraries(dt_torch INTERFACE
  ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so Threads::Threads ${CMAKE_DL_LIBS})

# ---- CUDA: headers to compile against, and libraries to link and to start with ----
set(DTRAIN_CUDA_FOUND OFF)      # the CUDA part compiles, and links with dt_cuda or with tests/fake_cuda
set(DTRAIN_CUDA_RUNS OFF)       # and every library that it needs at start is present
if(NOT DTRAIN_CUDA STREQUAL "OFF")
  file(GLOB toolkits LIST_DIRECTORIES true /usr/local/cuda /usr/local/cuda-13*)
  # Use the headers of the nvcc on the PATH, wherever it is.
  find_program(DTRAIN_NVCC nvcc)
  mark_as_advanced(DTRAIN_NVCC)
  if(DTRAIN_NVCC)
    file(REAL_PATH ${DTRAIN_NVCC} nvcc)
    cmake_path(GET nvcc PARENT_PATH nvcc)
    cmake_path(GET nvcc PARENT_PATH toolkit)
    list(APPEND toolkits ${toolkit} ${toolkit}/targets/x86_64-linux)
  endif()
  set(toolkit_includes "")
  set(toolkit_libs "")
  foreach(toolkit IN LISTS toolkits)
    list(APPEND toolkit_includes ${toolkit}/include)
    list(APPEND toolkit_libs ${toolkit}/lib64 ${toolkit}/lib)
  endforeach()
  # The wheels come first, since LibTorch was built with them.
  find_path(DTRAIN_CUBLAS_INCLUDE cublas_v2.h HINTS ${nvidia_includes} ${toolkit_includes})
  find_path(DTRAIN_CUSPARSE_INCLUDE cusparse.h HINTS ${nvidia_includes} ${toolkit_includes})
  find_path(DTRAIN_CUSOLVER_INCLUDE cusolverDn.h HINTS ${nvidia_includes} ${toolkit_includes})
  find_path(DTRAIN_CUDART_INCLUDE cuda_runtime_api.h
            HINTS ${DTRAIN_CUBLAS_INCLUDE} ${nvidia_includes} ${toolkit_includes})
  find_path(DTRAIN_CRT_INCLUDE crt/host_defines.h
            HINTS ${DTRAIN_CUBLAS_INCLUDE} ${nvidia_includes} ${toolkit_includes})
  find_path(DTRAIN_NCCL_INCLUDE nccl.h HINTS ${nvidia_includes} ${toolkit_includes})
  find_library(DTRAIN_CUDART_LIBRARY NAMES libcudart.so.13 cudart
               HINTS ${nvidia_libs} ${toolkit_libs})
  find_library(DTRAIN_NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS ${nvidia_libs} ${toolkit_libs})
  set(cuda_missing "")
  foreach(part DTRAIN_CUBLAS_INCLUDE DTRAIN_CUSPARSE_INCLUDE DTRAIN_CUSOLVER_INCLUDE
               DTRAIN_CUDART_INCLUDE DTRAIN_CRT_INCLUDE DTRAIN_NCCL_INCLUDE DTRAIN_CUDART_LIBRARY
               DTRAIN_NCCL_LIBRARY)
    mark_as_advanced(${part})
    if(NOT ${part})
      list(APPEND cuda_missing ${part})
    endif()
  endforeach()
  # c10d keeps an ncclConfig_t by value, so another nccl.h would change the layout of its classes.
  set(nccl_wanted 2.28.9)
  if(DTRAIN_LIBTORCH_VERSION MATCHES "^2[.]12[.]")
    set(nccl_wanted 2.29.7)
  endif()
  if(DTRAIN_NCCL_INCLUDE)
    set(nccl_found "")
    foreach(part MAJOR MINOR PATCH)
      file(STRINGS ${DTRAIN_NCCL_INCLUDE}/nccl.h line REGEX "^#define NCCL_${part} ")
      string(REGEX REPLACE "[^0-9]" "" number "${line}")
      list(APPEND nccl_found ${number})
    endforeach()
    list(JOIN nccl_found "." nccl_found)
    if(NOT nccl_found STREQUAL nccl_wanted)
      list(APPEND cuda_missing "nccl.h of ${nccl_wanted} (${DTRAIN_NCCL_INCLUDE} has ${nccl_found})")
    endif()
  endif()
  if(NOT EXISTS ${torch_lib}/libtorch_cuda.so)
    list(APPEND cuda_missing ${torch_lib}/libtorch_cuda.so)
  endif()
  set(cuda_includes ${DTRAIN_CUBLAS_INCLUDE} ${DTRAIN_CUSPARSE_INCLUDE} ${DTRAIN_CUSOLVER_INCLUDE}
      ${DTRAIN_CUDART_INCLUDE} ${DTRAIN_CRT_INCLUDE} ${DTRAIN_NCCL_INCLUDE})
  if(NOT cuda_missing)
    set(DTRAIN_CUDA_FOUND ON)
    add_library(dt_cuda INTERFACE)
    target_link_libraries(dt_cuda INTERFACE ${DTRAIN_NCCL_LIBRARY} ${DTRAIN_CUDART_LIBRARY})
    # The first allocation loads libcaffe2_nvrtc, and a library that this lacks ends the process. libcuda
    # comes with a GPU's driver: without it no GPU is found.
    execute_process(COMMAND ldd ${torch_lib}/libtorch_cuda.so ${torch_lib}/libcaffe2_nvrtc.so
                    OUTPUT_VARIABLE needed ERROR_QUIET)
    string(REGEX MATCHALL "[^\n\t ]+ => not found" absent "${needed}")
    list(REMOVE_DUPLICATES absent)
    list(REMOVE_ITEM absent "libcuda.so.1 => not found")
    if(NOT absent)
      set(DTRAIN_CUDA_RUNS ON)
    endif()
  elseif(DTRAIN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "DTRAIN_CUDA=ON, but not found: ${cuda_missing}. Install a CUDA 13 toolkit with "
                        "NCCL, or fetch the wheels with ./dev setup --cuda.")
  elseif(DTRAIN_CUDART_INCLUDE AND EXISTS ${torch_lib}/libtorch_cuda.so)
    # LibTorch and the runtime's headers, which every set-up fetches, are enough for the tests on fake libraries:
    # these have the needed parts of the other headers, whose wheels have 1 GB.
    set(DTRAIN_CUDA_FOUND ON)
    set(cuda_includes ${CMAKE_SOURCE_DIR}/tests/fake_cuda/headers ${DTRAIN_CUDART_INCLUDE})
  endif()
endif()

if(DTRAIN_CUDA_FOUND)
  add_library(dt_torch_cuda INTERFACE)
  target_include_directories(dt_torch_cuda SYSTEM INTERFACE ${cuda_includes})
  target_compile_definitions(dt_torch_cuda INTERFACE USE_C10D_NCCL)
  # Do not link libtorch.so. It has only part of std::filesystem, which would come before libstdc++'s: a
  # program that removes a folder would then call a null pointer.
  target_link_libraries(dt_torch_cuda INTERFACE dt_torch
    -Wl,--push-state,--no-as-needed ${torch_lib}/libtorch_cuda.so ${torch_lib}/libc10_cuda.so -Wl,--pop-state)
endif()
if(DTRAIN_CUDA_RUNS)
  message(STATUS "CUDA: yes; dttrain trains on GPUs")
elseif(TARGET dt_cuda)
  list(JOIN absent ", " absent_text)
  message(STATUS "CUDA: compiles and links here; dttrain is built for CPUs, because at start it would "
                 "miss: ${absent_text}")
elseif(DTRAIN_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: left out")
else()
  list(JOIN cuda_missing ", " missing_text)
  set(tested "")
  if(DTRAIN_CUDA_FOUND)
    set(tested "; its part is compiled for tests/fake_cuda alone, with the headers there")
  endif()
  message(STATUS "CUDA: no; not found: ${missing_text}${tested}")
endif()

# ---- Installing ----
# The trainer's LibTorch is installed with it, since an account that runs a service cannot read a builder's
# cache. The libraries find each other by the layout of the wheels, which is kept.
option(DTRAIN_INSTALL_LIBTORCH "Install LibTorch's libraries with the trainer" ON)
function(dt_install_libtorch)  # dt_install_libtorch(PROGRAM…)
  if(NOT DTRAIN_INSTALL_LIBTORCH)
    set_target_properties(${ARGV} PROPERTIES INSTALL_RPATH ${torch_lib})
    return()
  endif()
  set(places "$ORIGIN/../lib/dtrain/torch/lib")
  if(DTRAIN_STATIC)
    # Installed by pip, dttrain is in bin/ of an environment, and PyTorch in its packages, or with --target beside bin/.
    list(APPEND places "$ORIGIN/../torch/lib")
    foreach(minor RANGE 10 15)
      foreach(packages site-packages dist-packages)
        list(APPEND places "$ORIGIN/../lib/python3.${minor}/${packages}/torch/lib"
                           "$ORIGIN/../lib/python3.${minor}/${packages}/dtrain_libtorch/torch/lib")
      endforeach()
    endforeach()
  endif()
  set_target_properties(${ARGV} PROPERTIES INSTALL_RPATH "${places}")
  if(DTRAIN_CUDA_RUNS)
    file(GLOB_RECURSE libraries RELATIVE ${DTRAIN_LIBTORCH_DIR}
         ${DTRAIN_LIBTORCH_DIR}/torch/lib/*.so* ${DTRAIN_LIBTORCH_DIR}/nvidia/*.so*)
    list(FILTER libraries EXCLUDE REGEX "libtorch_python")
  else()
    file(GLOB libraries RELATIVE ${DTRAIN_LIBTORCH_DIR}
         ${torch_lib}/libtorch_cpu.so ${torch_lib}/libc10.so ${torch_lib}/libgomp*.so*
         ${DTRAIN_LIBTORCH_DIR}/nvidia/*/lib/libcudart.so* ${DTRAIN_LIBTORCH_DIR}/nvidia/*/lib/libcupti.so*)
  endif()
  foreach(library IN LISTS libraries)
    get_filename_component(folder ${library} DIRECTORY)
    install(FILES ${DTRAIN_LIBTORCH_DIR}/${library} DESTINATION lib/dtrain/${folder} COMPONENT trainer)
  endforeach()
  # The starter reads it (worker/starter).
  if(DTRAIN_STATIC)
    install(FILES ${DTRAIN_LIBTORCH_DIR}/torch/version.py DESTINATION lib/dtrain/torch COMPONENT trainer)
  endif()
endfunction()
