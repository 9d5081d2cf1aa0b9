# An installed DuckDB, or the one that tools/setup puts below .deps/ (pinned by checksum). Defines DuckDB::DuckDB.
set(IOTRAIL_DEPS ${CMAKE_SOURCE_DIR}/.deps CACHE PATH "Where tools/setup puts what Debian does not have")
find_path(DUCKDB_INCLUDE_DIR duckdb.h HINTS ${IOTRAIL_DEPS}/duckdb)
find_library(DUCKDB_LIBRARY duckdb HINTS ${IOTRAIL_DEPS}/duckdb)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DuckDB REQUIRED_VARS DUCKDB_LIBRARY DUCKDB_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run tools/setup, which installs what the build needs")

# Only headers: the program loads the library when it needs it. A program in the build tree finds it
# in place.
if(DuckDB_FOUND AND NOT TARGET DuckDB::DuckDB)
  add_library(DuckDB::DuckDB INTERFACE IMPORTED)
  set_target_properties(DuckDB::DuckDB PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${DUCKDB_INCLUDE_DIR})
  cmake_path(GET DUCKDB_LIBRARY PARENT_PATH duckdb_directory)
  list(APPEND CMAKE_BUILD_RPATH ${duckdb_directory})
  # DT_RPATH also applies if a library calls dlopen for the program, as a sanitizer's runtime does.
  add_link_options(-Wl,--disable-new-dtags)
endif()
