# Rooms.cmake: how a folder becomes a target, with the flags that hold everywhere.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(Threads REQUIRED)

# ccache where present; base_dir makes worktrees share entries.
find_program(DTRAIN_CCACHE ccache)
if(DTRAIN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CMAKE_SOURCE_DIR}/tools/compile.sh ${DTRAIN_CCACHE})
endif()

# Several sources of a target are compiled as one unit, so that their headers are read and their templates made once, in
# a third of the time. A source still includes what it uses: release builds, and clang-tidy, take each alone.
option(DTRAIN_UNITY "Compile several sources of a target as one unit" OFF)
set(unity_sources_max 6)

# dt_units(RESULT TARGET SOURCES…): what TARGET is compiled from. Not CMake's own unity build, whose units name their
# sources by absolute paths, so that another checkout would find none of them in ccache. A source with flags of its own,
# which must have been set before, one with DTRAIN_ALONE, and one that was generated, stay units.
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

set(DTRAIN_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

# Flags of our own code alone; generated and third-party code is not ours to warn about.
add_library(dt_flags INTERFACE)
target_compile_options(dt_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
option(DTRAIN_WERROR "Let no warning pass; off where a compiler is not one of ours" ON)
if(DTRAIN_WERROR)
  target_compile_options(dt_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 warns of string concatenation in its own headers (GCC bug 105651).
  target_compile_options(dt_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND DTRAIN_UNITY)
  # To GCC what one unit includes is a header, whose hidden types would be another in each unit.
  target_compile_options(dt_flags INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(dt_flags INTERFACE -Wthread-safety -Wno-unknown-warning-option)
endif()
# Flags of rooms alone: coverage, so that the fuzzer sees where it gets. Tests would only be slower with it.
add_library(dt_room_flags INTERFACE)
target_link_libraries(dt_room_flags INTERFACE dt_flags)
if(DTRAIN_FUZZ)
  target_compile_options(dt_room_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(DTRAIN_SANITIZE)
  add_compile_options(-fsanitize=${DTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DTRAIN_SANITIZE})
  # For tests of what a sanitizer does not let happen: clang 14 defines no macro of its own.
  add_compile_definitions(DTRAIN_SANITIZE)
endif()

# Which commit this is, for provenance. Only version.cc depends on it.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE DTRAIN_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT DTRAIN_REVISION)
  set(DTRAIN_REVISION "unknown")
endif()

# What a target with a precompiled header is compiled with: ccache sees into g++'s by -fpch-preprocess, and GCC 12
# forgets which headers of it are the system's, and warns of moves of strings in them (bug 105651); optimised as what
# is installed and measured, also of maps in variants, which it takes for read before they are set.
function(dt_prefix_options name)
  target_compile_options(${name} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overread;-Wno-stringop-overflow>"
    "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<BOOL:${DTRAIN_UNITY}>>>:-Wno-maybe-uninitialized>"
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# dt_use_prefix(NAME PREFIX LINKS…): has NAME share PREFIX's precompiled header (proto/) if it sees the messages, by
# itself or through one of LINKS: their headers, Abseil's and GoogleTest's are most of what such a unit costs.
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

# dt_room(NAME [OBJECT] [PREFIX HEADER…] SOURCES… LINKS…): a static library that sees the repository root; with OBJECT,
# objects that are linked whether or not something asks for them before; with PREFIX, it has a precompiled header of its
# own, of these and what all units share.
function(dt_room name)
  cmake_parse_arguments(ROOM "OBJECT" "" "PREFIX;SOURCES;LINKS" ${ARGN})
  dt_units(units ${name} ${ROOM_SOURCES})
  if(ROOM_OBJECT)
    add_library(${name} OBJECT ${units})
  else()
    add_library(${name} STATIC ${units})
  endif()
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PUBLIC ${ROOM_LINKS} PRIVATE dt_room_flags)
  if(ROOM_PREFIX)
    target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/proto/prefix.h ${ROOM_PREFIX})
    dt_prefix_options(${name})
    set_target_properties(${name} PROPERTIES DTRAIN_SEES_MESSAGES ON)
  else()
    dt_use_prefix(${name} dt_room_prefix ${ROOM_LINKS})
  endif()
endfunction()

# dt_program(NAME PACKAGE SOURCES… LINKS…): an executable, installed with that package (deploy/).
function(dt_program name)
  cmake_parse_arguments(PROGRAM "" "PACKAGE" "SOURCES;LINKS" ${ARGN})
  dt_units(units ${name} ${PROGRAM_SOURCES})
  add_executable(${name} ${units})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE ${PROGRAM_LINKS} dt_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${PROGRAM_PACKAGE})
endfunction()

# The tests that run under TSan too: label tsan. Nothing that calls gRPC may take it.
add_custom_target(tsan_tests)
# What the sanitizer build of everything runs: labels unit and sim.
add_custom_target(fast_tests)
# What it runs of a change, label sanitized: those of them that decide, keep, or read what a stranger may have
# sent. What dtctl shows (tests/cli) is a third of the units, and comes from a coordinator that was checked.
add_custom_target(sanitized_tests)

# For the units of test programs alone: they are half of what is compiled, and spend their time in what they test.
set(DTRAIN_TEST_FLAGS "" CACHE STRING "Compiler flags of test programs, after all others")

# dt_test(NAME SOURCES… LINKS… LABELS… TIMEOUT s): one GoogleTest binary, one ctest entry.
# Labels: unit, sim, mutant, e2e, torch, gpu, gpu_fake; tsan besides; and long for what only ./dev test --long runs.
# SECONDS: about what it takes where that is more than ten: ctest starts the longest first.
# Tests of whole programs, label e2e, take turns. One of them is to be under way from the beginning: those that are left
# to the end follow each other beside an idle core. So they come before all others, whatever times ctest has measured.
set(e2e_cost 10000)
function(dt_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT;SECONDS" "SOURCES;LINKS;LABELS" ${ARGN})
  dt_units(units ${name} ${TEST_SOURCES})
  add_executable(${name} ${units})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} dt_flags GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${DTRAIN_TEST_FLAGS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  dt_use_prefix(${name} dt_test_prefix ${TEST_LINKS})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if("unit" IN_LIST TEST_LABELS OR "sim" IN_LIST TEST_LABELS)
    add_dependencies(fast_tests ${name})
    if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/cli(/|$)")
      list(APPEND TEST_LABELS sanitized)
      add_dependencies(sanitized_tests ${name})
    endif()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT})
  if("tsan" IN_LIST TEST_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
  if(NOT TEST_SECONDS)
    set(TEST_SECONDS 0)
  endif()
  # Whole programs that train would only slow each other down; beside one such test others find a core, since it waits
  # for most of its time.
  if("e2e" IN_LIST TEST_LABELS)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK programs)
    math(EXPR TEST_SECONDS "${e2e_cost} + ${TEST_SECONDS}")
  endif()
  if(TEST_SECONDS GREATER 0)
    set_tests_properties(${name} PROPERTIES COST ${TEST_SECONDS})
  endif()
endfunction()
