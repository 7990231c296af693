# GoogleTest of a bundle (./dev setup --bundle): built from its sources along with the tests.
if(NOT TARGET GTest::gtest)
  set(INSTALL_GTEST OFF CACHE INTERNAL "")
  add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/../../../src/googletest
                   ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()
