# Abseil of a bundle (./dev setup --bundle): Debian's package, which finds its libraries relative to itself.
include(${CMAKE_CURRENT_LIST_DIR}/../../x86_64-linux-gnu/cmake/absl/abslConfig.cmake)
