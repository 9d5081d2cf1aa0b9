# Read by ctest before it runs tests: a test for each suite of a GoogleTest program, which names its suites itself. A suite
# named long_... has the label long instead of its program's.
# `program`, `name`, `directory` and `properties` say which one (iotrail_suites() in IotrailTargets.cmake).
if(NOT EXISTS ${program})
  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)
  return()
endif()
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${program} does not list its tests: ${status}")
endif()
# Suites begin their line and end in a dot; cases are indented.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "${listed}")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  set(of_suite ${properties})
  if(suite MATCHES "^long_")
    list(TRANSFORM of_suite REPLACE "^unit/.*" long)
  endif()
  add_test(${name}.${suite} ${program} --gtest_filter=${suite}.*)
  set_tests_properties(${name}.${suite} PROPERTIES WORKING_DIRECTORY ${directory} ${of_suite})
endforeach()
