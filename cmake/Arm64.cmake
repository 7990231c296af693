# Arm64.cmake: a toolchain file that compiles for arm64 on x86-64, with g++-aarch64-linux-gnu and a root folder of
# Debian 12's arm64 packages. ./dev build arm64 makes the folder (tools/arm64.sh) and names it in DTRAIN_ARM64_ROOT.
# Programs that run during the build, such as protoc, are this machine's, of the same version.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
if(NOT DTRAIN_ARM64_ROOT)
  message(FATAL_ERROR "DTRAIN_ARM64_ROOT names no root folder of arm64; ./dev build arm64 makes one")
endif()
# CMake reads this file again for each program that it tries to compile.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DTRAIN_ARM64_ROOT)
set(CMAKE_SYSROOT ${DTRAIN_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${DTRAIN_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# Without these, pkg-config answers with the paths of this machine's libraries.
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${DTRAIN_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${DTRAIN_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${DTRAIN_ARM64_ROOT}/usr/share/pkgconfig)
