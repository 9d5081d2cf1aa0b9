# The common parts of all targets, so that a folder's CMakeLists.txt names only libraries.
#
# Only targets that link a folder's target find its headers: each target's include directory, below
# build/PRESET/include, has links to the headers of its own folder only. An include against the
# direction of the pipeline does not compile; test/includes checks this.

add_library(iotrail_options INTERFACE)
target_compile_options(iotrail_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
# What g++ adds to these: fields that designated initializers do not name. Clang looks only at initializers without names.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(iotrail_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
endif()
# What clang adds to these: signs, fields that keep their default, and a function that the algorithms
# of g++ 12's library use although it is deprecated.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_options(iotrail_options INTERFACE
    -Wno-sign-conversion -Wno-missing-designated-field-initializers -Wno-deprecated-declarations)
endif()
# The presets of ./check compile a folder's sources together, which takes a third to a fifth of the
# time. Names in their anonymous namespaces must therefore differ. g++ takes such a source for a
# header.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(iotrail_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

# Parsing the standard library and the schema takes half of a build. Off, each source must include what it uses.
option(IOTRAIL_PRECOMPILE "Compile the common headers once for all targets" OFF)
if(IOTRAIL_PRECOMPILE)
  # ccache stores such objects only where the preprocessor names the precompiled header, and where it has no time in it.
  target_compile_options(iotrail_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# Optimisation takes half of a unit's compilation. On, tests and what the next two macros mark do without: it serves ./check.
option(IOTRAIL_SELDOM_UNOPTIMIZED "Do not optimise tests and code that runs seldom" OFF)

# Clang spends half of its optimisation on library functions that it inlines. A smaller limit does for code that runs seldom,
# and for tests.
set(inline_less "SHELL:-mllvm -inline-threshold=25")
if(IOTRAIL_SELDOM_UNOPTIMIZED)
  target_compile_options(iotrail_options INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:${inline_less}>")
endif()

# iotrail_seldom_run(): this folder's code and that below handles hundreds of things, not millions. The release optimises it
# less and inlines less, which saves a third of its compilation.
macro(iotrail_seldom_run)
  add_compile_options("$<$<CONFIG:Release>:-O1>"
    "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,Clang>>:${inline_less}>")
  iotrail_handles_little_in_tests()
endmacro()

# iotrail_handles_little_in_tests(): the same of code that the release optimises fully.
macro(iotrail_handles_little_in_tests)
  if(IOTRAIL_SELDOM_UNOPTIMIZED AND NOT iotrail_unoptimized)
    set(iotrail_unoptimized ON)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-O0>")
  endif()
endmacro()

# iotrail_precompiled_headers(NAME HEADER h LIBRARIES x ... [OPTIONS o ...]): a target that only holds the precompiled header h.
# Who uses it must be compiled with the same options.
function(iotrail_precompiled_headers name)
  cmake_parse_arguments(ARG "" "HEADER" "LIBRARIES;OPTIONS" ${ARGN})
  if(IOTRAIL_PRECOMPILE)
    add_library(${name} STATIC ${CMAKE_SOURCE_DIR}/cmake/precompiled/headers.cpp)
    target_link_libraries(${name} PRIVATE iotrail_options ${ARG_LIBRARIES})
    target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
    target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled/${ARG_HEADER})
  endif()
endfunction()

set(seldom_options "")
set(iotrail_precompiled_seldom iotrail_precompiled)
set(precompiled_libraries iotrail_base iotrail_schema_headers fmt::fmt nlohmann_json::nlohmann_json)
iotrail_precompiled_headers(iotrail_precompiled HEADER headers.hpp LIBRARIES ${precompiled_libraries})
if(IOTRAIL_SELDOM_UNOPTIMIZED)
  set(seldom_options OPTIONS -O0)
  set(iotrail_precompiled_seldom iotrail_precompiled_unoptimized)
  iotrail_precompiled_headers(iotrail_precompiled_unoptimized HEADER headers.hpp LIBRARIES ${precompiled_libraries} ${seldom_options})
endif()
# CLI11 defines objects in its header, which each source that sees it compiles anew: only for those that need it.
iotrail_precompiled_headers(iotrail_precompiled_commands HEADER command_headers.hpp
  LIBRARIES ${precompiled_libraries} CLI11::CLI11 ${seldom_options})

function(iotrail_precompile target)
  if(NOT IOTRAIL_PRECOMPILE)
    return()
  endif()
  set(headers iotrail_precompiled)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/src/(cli|compat)(/|$)")
    set(headers iotrail_precompiled_commands)
  elseif(iotrail_unoptimized)
    set(headers ${iotrail_precompiled_seldom})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# iotrail_headers(NAME LIBRARIES x ...): the headers of this folder, included as "FOLDER/x.hpp" (for
# a folder outside src/ as "x.hpp"), with the libraries that they need. There is nothing to link;
# other targets use it if they need only declarations of the folder.
function(iotrail_headers name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src OUTPUT_VARIABLE folder)
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  if(folder MATCHES "^\\.\\.")
    set(folder .)
  endif()
  file(GLOB headers CONFIGURE_DEPENDS LIST_DIRECTORIES false *.h *.hpp *.def)
  file(REMOVE_RECURSE ${root})
  file(MAKE_DIRECTORY ${root}/${folder})
  foreach(header IN LISTS headers)
    cmake_path(GET header FILENAME file)
    file(CREATE_LINK ${header} ${root}/${folder}/${file} SYMBOLIC)
  endforeach()
  add_library(${name} INTERFACE)
  target_include_directories(${name} INTERFACE ${root})
  target_link_libraries(${name} INTERFACE iotrail_options ${ARG_LIBRARIES})
endfunction()

# iotrail_made_early(NAME FILES...): files that custom commands make, as a target without dependencies. Otherwise CMake lets a
# command wait for the libraries of the target that compiles its file, and all later folders wait for the command.
function(iotrail_made_early name)
  add_custom_target(${name} DEPENDS ${ARGN})
endfunction()

# iotrail_sources(VARIABLE): the sources of this folder except tests, benchmarks, fuzz targets and
# programs (main.cpp, ..._main.cpp). Finds new files by itself.
function(iotrail_sources variable)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|main)\\.cpp$")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# iotrail_library(NAME [SOURCES a.cpp ...] LIBRARIES x ...): a folder's sources and headers. SOURCES
# names only generated sources.
function(iotrail_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  iotrail_headers(${name}_headers)
  iotrail_sources(sources)
  add_library(${name} STATIC ${sources} ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${name}_headers ${ARG_LIBRARIES})
  iotrail_precompile(${name})
endfunction()

# iotrail_list(VARIABLE HEADER h NAMESPACE n TYPE T FUNCTION f): makes a source, which VARIABLE then
# names. It defines f() of the HEADER: the span of the constants that this folder's sources define.
# name.cpp has `extern const T kTName`. Finds new files by itself.
function(iotrail_list variable)
  cmake_parse_arguments(ARG "" "HEADER;NAMESPACE;TYPE;FUNCTION" "" ${ARGN})
  iotrail_sources(sources)
  set(declarations "")
  set(addresses "")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    string(SUBSTRING ${name} 0 1 initial)
    string(SUBSTRING ${name} 1 -1 rest)
    string(TOUPPER ${initial} initial)
    string(APPEND declarations "extern const ${ARG_TYPE} k${ARG_TYPE}${initial}${rest};\n")
    string(APPEND addresses "&k${ARG_TYPE}${initial}${rest}, ")
  endforeach()
  set(list ${CMAKE_CURRENT_BINARY_DIR}/all_${ARG_FUNCTION}.cpp)
  file(CONFIGURE OUTPUT ${list} @ONLY CONTENT [[
#include "@ARG_HEADER@"
namespace @ARG_NAMESPACE@ {
@declarations@
std::span<const @ARG_TYPE@* const> @ARG_FUNCTION@() {
  static constexpr const @ARG_TYPE@* kAll[] = {@addresses@};
  return kAll;
}
} // namespace @ARG_NAMESPACE@
]])
  set(${variable} ${list} PARENT_SCOPE)
endfunction()

# iotrail_suites(TARGET PROPERTY VALUE ...): each suite of the GoogleTest program TARGET is a test. The cases of a suite share
# what takes long to make.
function(iotrail_suites target)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  file(GENERATE OUTPUT ${script} CONTENT
    "set(program $<TARGET_FILE:${target}>)\nset(name ${target})\nset(directory ${CMAKE_CURRENT_BINARY_DIR})\n\
set(properties ${ARGN})\ninclude(${CMAKE_SOURCE_DIR}/cmake/suites.cmake)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

# iotrail_unit_test(NAME [SUITES] [OPTIMIZED] [SOURCES a_test.cpp ...] LIBRARIES x ...): GoogleTest, all cases in one process;
# with SUITES, which is for long ones, each suite in one. OPTIMIZED: its own code takes longer to run than to optimise. Without SOURCES: all *_test.cpp of this folder and of those below. Label: unit/NAME.
# Target `unit_tests` builds all of them.
function(iotrail_unit_test name)
  cmake_parse_arguments(ARG "SUITES;OPTIMIZED" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT IOTRAIL_TESTS)
    return()
  endif()
  if(NOT ARG_SOURCES)
    file(GLOB_RECURSE ARG_SOURCES CONFIGURE_DEPENDS *_test.cpp)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE iotrail_options ${ARG_LIBRARIES} GTest::gtest GTest::gtest_main fmt::fmt)
  if(IOTRAIL_SELDOM_UNOPTIMIZED AND NOT ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O0)
    set(iotrail_unoptimized ON)
  endif()
  iotrail_precompile(${name})
  if(ARG_SUITES)
    iotrail_suites(${name} LABELS unit/${name})
  else()
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS unit/${name})
  endif()
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)
  endif()
  add_dependencies(unit_tests ${name})
endfunction()

# iotrail_for_benchmarks(TARGET ...): these are built only by the target `benchmarks`.
function(iotrail_for_benchmarks)
  if(NOT TARGET benchmarks)
    add_custom_target(benchmarks)
  endif()
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(benchmarks ${ARGN})
endfunction()

# iotrail_benchmark(NAME SOURCES a_bench.cpp ... LIBRARIES x ...): Google Benchmark; run by hand, see bench/.
function(iotrail_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT IOTRAIL_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE iotrail_options ${ARG_LIBRARIES} benchmark::benchmark benchmark::benchmark_main)
  iotrail_for_benchmarks(${name})
endfunction()

# iotrail_fuzz_target(NAME SOURCES a_fuzz.cpp ... LIBRARIES x ...): libFuzzer; only with
# IOTRAIL_FUZZ. Target `fuzz_targets` builds all of them. The test runs it for a few seconds, with
# the seeds in test/fuzz/NAME if there are any.
function(iotrail_fuzz_target name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT IOTRAIL_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE iotrail_options ${ARG_LIBRARIES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzz_targets)
    add_custom_target(fuzz_targets)
  endif()
  add_dependencies(fuzz_targets ${name})
  set(corpus ${CMAKE_CURRENT_BINARY_DIR}/${name}.corpus)
  file(MAKE_DIRECTORY ${corpus} ${CMAKE_SOURCE_DIR}/test/fuzz/${name})
  add_test(NAME ${name} COMMAND ${name} -max_total_time=20 -max_len=65536 -print_final_stats=1 ${corpus}
                                ${CMAKE_SOURCE_DIR}/test/fuzz/${name})
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
endfunction()

# iotrail_cases(NAME FILE VARIABLE=VALUE ...): the cases of a file of Python tests, with this environment. Those marked
# @harness.long are the test long.NAME, with the label long; the others are NAME, with the label acceptance. Those marked
# @harness.in_both are in both.
function(iotrail_cases name file)
  file(STRINGS ${file} cases REGEX "^ *def test_")
  file(STRINGS ${file} long_cases REGEX "^ *@harness.long$")
  file(STRINGS ${file} both_cases REGEX "^ *@harness.in_both$")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  list(LENGTH cases short)
  list(LENGTH long_cases long)
  list(LENGTH both_cases both)
  math(EXPR short "${short} - ${long}")
  math(EXPR long "${long} + ${both}")
  set(short_name ${name})
  set(short_label acceptance)
  set(long_name long.${name})
  set(long_label long)
  set(limit_s 900)
  foreach(kind short long)
    if(${kind} GREATER 0)
      add_test(NAME ${${kind}_name} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      set_tests_properties(${${kind}_name} PROPERTIES LABELS ${${kind}_label} SKIP_RETURN_CODE 77 TIMEOUT ${limit_s}
        ENVIRONMENT "${ARGN};IOTRAIL_CASES=${kind};IOTRAIL_SUITE_LIMIT_S=${limit_s}")
    endif()
  endforeach()
endfunction()
