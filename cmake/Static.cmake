# Static.cmake: how programs are linked for packages that serve several distributions: with static libraries besides
# libc, libm and libgcc_s, and with no symbol above the floor of glibc 2.34 (tools/floor.py).
#
# The rooms link the system's libraries as always. A launcher in front of the link command (tools/link_statically.py)
# replaces the shared ones, so that this is the only file in which the two forms differ.
option(DTRAIN_STATIC "Link programs with static libraries (./dev package --static, --wheel)" OFF)
option(DTRAIN_STATIC_OBJECTS "Compile for smaller static programs, at the optimisation of a release; OFF: with \
the objects of another build, from ccache (./dev package --quick)" ${DTRAIN_STATIC})
set(DTRAIN_STATIC_LIBRARIES "" CACHE PATH "Folder with the libraries that Debian has only in a shared form")

# The few functions that newer systems have in another version. The test of a dev build links them too.
add_library(dt_floor OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/floor/arc4random.c)
add_library(dt_floor_libstdcxx OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/floor/condition_wait.cc)
set(DTRAIN_WRAPPED -Wl,--wrap=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)

if(DTRAIN_STATIC)
  if(NOT EXISTS ${DTRAIN_STATIC_LIBRARIES}/libcurl.a)
    message(FATAL_ERROR "DTRAIN_STATIC=ON, but DTRAIN_STATIC_LIBRARIES names no folder with libcurl.a; "
                        "./dev package --static makes it")
  endif()
endif()
if(DTRAIN_STATIC_OBJECTS)
  # No path of this machine in the programs, and only the functions that are used.
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
                      -ffunction-sections -fdata-sections)
endif()

# dt_link_statically(PROGRAM): nothing unless DTRAIN_STATIC. A program with LibTorch shares its libstdc++.
function(dt_link_statically program)
  if(NOT DTRAIN_STATIC)
    return()
  endif()
  set(floor dt_floor)
  set(keep "")
  if(program MATCHES "^dttrain")
    set(floor dt_floor_libstdcxx)
    set(keep "--keep-libstdcxx")
    target_link_options(${program} PRIVATE ${DTRAIN_WRAPPED})
  endif()
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:${floor}>)
  set_property(TARGET ${program} PROPERTY RULE_LAUNCH_LINK
    "python3 -B ${CMAKE_SOURCE_DIR}/tools/link_statically.py --libraries ${DTRAIN_STATIC_LIBRARIES} \
--linked ${CMAKE_BINARY_DIR}/bin/${program}.linked ${keep} --")
endfunction()
