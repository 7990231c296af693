# Rooms.cmake: turns folders into targets, with the flags that hold everywhere.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(Threads REQUIRED)

# ccache where present; CCACHE_BASEDIR makes worktrees share entries. With CCACHE_DEPEND it learns a unit's headers from
# the list that the compiler writes. Without, it would preprocess each unit for them first, which takes 0.3 s.
find_program(DTRAIN_CCACHE ccache)
if(DTRAIN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CMAKE_SOURCE_DIR}/tools/compile.sh ${DTRAIN_CCACHE})
endif()

# The units of test programs are half of what is compiled, and spend their time in the code under test: they have flags
# of their own, after all others, and may have clang where g++ compiles the rest, which takes half the time for them.
# What is installed, and what sees LibTorch, is compiled by the build's compiler.
set(DTRAIN_TEST_FLAGS "" CACHE STRING "Compiler flags of test programs, after all others")
set(DTRAIN_TEST_CLANG "" CACHE STRING "A clang for the units of test programs, if it is here, in place of g++")
if(DTRAIN_TEST_CLANG AND DTRAIN_CCACHE)
  find_program(DTRAIN_TEST_CLANG_PATH ${DTRAIN_TEST_CLANG})
endif()

# dt_test_units(NAME): compiles the units of NAME as those of test programs.
function(dt_test_units name)
  target_compile_options(${name} PRIVATE ${DTRAIN_TEST_FLAGS})
  if(DTRAIN_TEST_CLANG_PATH)
    set(clang ${CMAKE_COMMAND} -E env DTRAIN_CLANG=${DTRAIN_TEST_CLANG_PATH})
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${clang};${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# Several sources of a target are compiled as one unit, so that their headers are read and their templates made only
# once, in a third of the time. A source still includes what it uses: release builds and clang-tidy compile each by
# itself.
option(DTRAIN_UNITY "Compile several sources of a target as one unit" OFF)
set(unity_sources_max 12)

# dt_units(RESULT TARGET SOURCES…): the units from which TARGET is compiled. This replaces CMake's own unity build,
# whose units name their sources by absolute paths, so that another checkout would not find them in ccache. A source
# with flags of its own, which must be set before, one with DTRAIN_ALONE, and a generated one stay units of their own.
function(dt_units result target)
  set(units "")
  set(batch "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${path}" generated)
    get_source_file_property(flags "${source}" COMPILE_OPTIONS)
    get_source_file_property(alone "${source}" DTRAIN_ALONE)
    if(NOT DTRAIN_UNITY OR generated OR flags OR alone OR NOT source MATCHES "^[^$].*\\.cc$")
      list(APPEND units "${source}")
    else()
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      list(APPEND batch "#include \"${path}\"")
    endif()
  endforeach()
  list(LENGTH batch left)
  set(number 0)
  while(left GREATER 0)
    list(SUBLIST batch 0 ${unity_sources_max} sources)
    list(JOIN sources "\n" text)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/units/${target}_${number}.cc)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}\n" @ONLY)
    list(APPEND units ${unit})
    math(EXPR number "${number} + 1")
    math(EXPR left "${left} - ${unity_sources_max}")
    if(left GREATER 0)
      list(SUBLIST batch ${unity_sources_max} -1 batch)
    endif()
  endwhile()
  set(${result} "${units}" PARENT_SCOPE)
endfunction()

# The default linker takes six times as long.
option(DTRAIN_QUICK_LINK "Link with lld if it is installed" OFF)
if(DTRAIN_QUICK_LINK)
  find_program(DTRAIN_LLD ld.lld)
  if(DTRAIN_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

set(DTRAIN_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

# Flags for our own code only; warnings in generated and third-party code are not ours to fix.
add_library(dt_flags INTERFACE)
target_compile_options(dt_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
option(DTRAIN_WERROR "Let no warning pass; off where a compiler is not one of ours" ON)
if(DTRAIN_WERROR)
  target_compile_options(dt_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 warns of string concatenation in its own headers (GCC bug 105651).
  target_compile_options(dt_flags INTERFACE -Wno-restrict)
  # GCC collects its garbage from a heap of 128 MiB on, again and again. Without that a unit takes a quarter less time
  # and a fifth more memory, 1.6 GB at most.
  add_compile_options("SHELL:--param ggc-min-heapsize=600000" "SHELL:--param ggc-min-expand=200")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND DTRAIN_UNITY)
  # GCC treats the sources in a unit as headers, whose hidden types would differ between units.
  target_compile_options(dt_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(dt_flags INTERFACE -Wthread-safety -Wno-unknown-warning-option)
endif()
# Flags for rooms only: coverage, so that the fuzzer sees its progress. Tests would only become slower.
add_library(dt_room_flags INTERFACE)
target_link_libraries(dt_room_flags INTERFACE dt_flags)
if(DTRAIN_FUZZ)
  target_compile_options(dt_room_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(DTRAIN_SANITIZE)
  add_compile_options(-fsanitize=${DTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DTRAIN_SANITIZE})
  # For tests of things that a sanitizer prevents: clang 14 defines no macro of its own.
  add_compile_definitions(DTRAIN_SANITIZE)
endif()

# The commit of this build, for provenance. Only version.cc depends on it.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE DTRAIN_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT DTRAIN_REVISION)
  set(DTRAIN_REVISION "unknown")
endif()

# Options for a target with a precompiled header. With -fpch-preprocess ccache can look into g++'s headers. GCC 12
# forgets which headers in it belong to the system, and warns of moves of strings in them (bug 105651). At -O3 it also
# believes that maps in variants, and durations in optionals, are read before they are set. The asan build's clang
# warns of variables that are.
function(dt_prefix_options name)
  target_compile_options(${name} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overread;-Wno-stringop-overflow>"
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>"
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# dt_use_prefix(NAME PREFIX LINKS…): makes NAME share PREFIX's precompiled header (proto/) if it sees the messages,
# by itself or through one of LINKS: their headers, Abseil's and GoogleTest's are most of such a unit's cost.
function(dt_use_prefix name prefix)
  foreach(link IN LISTS ARGN)
    if(TARGET ${link} AND TARGET ${prefix})
      get_target_property(sees ${link} DTRAIN_SEES_MESSAGES)
      if(sees)
        set_target_properties(${name} PROPERTIES DTRAIN_SEES_MESSAGES ON)
        target_precompile_headers(${name} REUSE_FROM ${prefix})
        if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
          dt_prefix_options(${name})
        endif()
        return()
      endif()
    endif()
  endforeach()
endfunction()

# dt_room(NAME [OBJECT] [UNIT_SOURCES n] SOURCES… LINKS…): a static library that sees the repository root. With OBJECT:
# objects that are always linked, needed or not. UNIT_SOURCES: how many sources a unit has, where headers cost more than
# they do.
function(dt_room name)
  cmake_parse_arguments(ROOM "OBJECT" "UNIT_SOURCES" "SOURCES;LINKS" ${ARGN})
  if(ROOM_UNIT_SOURCES)
    set(unity_sources_max ${ROOM_UNIT_SOURCES})
  endif()
  dt_units(units ${name} ${ROOM_SOURCES})
  if(ROOM_OBJECT)
    add_library(${name} OBJECT ${units})
  else()
    add_library(${name} STATIC ${units})
  endif()
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PUBLIC ${ROOM_LINKS} PRIVATE dt_room_flags)
  dt_use_prefix(${name} dt_room_prefix ${ROOM_LINKS})
endfunction()

# dt_program(NAME PACKAGE SOURCES… LINKS…): an executable, installed with that package (deploy/). The global property
# DTRAIN_PROGRAMS_<PACKAGE> lists the programs of a package.
function(dt_program name)
  cmake_parse_arguments(PROGRAM "" "PACKAGE" "SOURCES;LINKS" ${ARGN})
  # One unit: CLI11's templates are most of each.
  set(unity_sources_max 20)
  dt_units(units ${name} ${PROGRAM_SOURCES})
  add_executable(${name} ${units})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE ${PROGRAM_LINKS} dt_room_flags)
  # -fPIC, as in the rooms, so that their precompiled header fits.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
                                           POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  dt_use_prefix(${name} dt_room_prefix ${PROGRAM_LINKS})
  dt_link_statically(${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${PROGRAM_PACKAGE})
  set_property(GLOBAL APPEND PROPERTY DTRAIN_PROGRAMS_${PROGRAM_PACKAGE} ${name})
endfunction()

# Tests that also run under TSan: label tsan. A test that calls gRPC must not have it.
# Tests in the full sanitizer build: labels unit and sim.
add_custom_target(fast_tests)
# Tests in the sanitizer build of a change, a third of them in turns (tools/turns.py), label sanitized: those that read
# input from others, share memory between threads or processes, or keep files. Left out, and run with sanitizers by
# ./dev lint --all:
# - tests/cli and tests/report, a third of the units: their input comes from a coordinator that was checked, and
#   words_fuzz and contexts_fuzz read what users write;
# - tests with UNSANITIZED, which names the sanitized test that runs the same code on more input.

# ctest counts quarter cores: ./dev test and ./dev lint let it use four for each core. A test takes four; a test with
# WAITS takes one, since it waits for most of its time: of those measured, the busiest used 0.27 of a core. So a core
# runs one test that computes, or four that wait. Tests of complete programs that train take two, and take turns, with
# the lock `gangs`: together they would only slow each other down. A test that measures times is `long` and has
# RUN_SERIAL.
set(quarters_of_a_test 4)

# dt_test(NAME [WAITS] SOURCES… LINKS… LABELS… TIMEOUT s SECONDS s UNSANITIZED reason): one GoogleTest binary, one
# ctest entry. Labels: unit, sim, mutant, e2e, torch, gpu, gpu_fake; also tsan; and long for tests that only
# ./dev test --long runs. SECONDS: the approximate duration: ctest starts the longest first, so that no long test is
# left to the end beside an idle core. UNSANITIZED: why the sanitizer build of a change leaves it out.
function(dt_test name)
  cmake_parse_arguments(TEST "WAITS" "TIMEOUT;SECONDS;UNSANITIZED" "SOURCES;LINKS;LABELS" ${ARGN})
  dt_units(units ${name} ${TEST_SOURCES})
  add_executable(${name} ${units})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} dt_flags GTest::gmock GTest::gtest_main)
  dt_test_units(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  dt_use_prefix(${name} dt_test_prefix ${TEST_LINKS})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  # A timeout ends what hangs. Sanitizers at -O0 make a test five to ten times as long.
  if(DTRAIN_SANITIZE)
    math(EXPR TEST_TIMEOUT "4 * ${TEST_TIMEOUT}")
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if("unit" IN_LIST TEST_LABELS OR "sim" IN_LIST TEST_LABELS)
    add_dependencies(fast_tests ${name})
    if(NOT TEST_UNSANITIZED AND NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/(cli|report)(/|$)")
      list(APPEND TEST_LABELS sanitized)
    endif()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT})
  if(TEST_SECONDS)
    set_tests_properties(${name} PROPERTIES COST ${TEST_SECONDS})
  endif()
  if("e2e" IN_LIST TEST_LABELS AND "torch" IN_LIST TEST_LABELS)
    # Their turns together take longest, so the first begins at once. A quarter of their time is spent training.
    math(EXPR cost "100 + ${TEST_SECONDS}")
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gangs PROCESSORS 2 COST ${cost})
  elseif(NOT TEST_WAITS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${quarters_of_a_test})
  endif()
endfunction()
