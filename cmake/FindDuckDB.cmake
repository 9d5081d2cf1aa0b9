# An installed DuckDB, or the one that tools/setup puts below .deps/ (pinned by checksum). Defines DuckDB::DuckDB.
set(IOTRAIL_DEPS ${CMAKE_SOURCE_DIR}/.deps CACHE PATH "Where tools/setup puts what Debian does not have")
find_path(DUCKDB_INCLUDE_DIR duckdb.h HINTS ${IOTRAIL_DEPS}/duckdb)
find_library(DUCKDB_LIBRARY duckdb HINTS ${IOTRAIL_DEPS}/duckdb)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DuckDB REQUIRED_VARS DUCKDB_LIBRARY DUCKDB_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run tools/setup, which installs what the build needs")

if(DuckDB_FOUND AND NOT TARGET DuckDB::DuckDB)
  add_library(DuckDB::DuckDB SHARED IMPORTED)
  set_target_properties(DuckDB::DuckDB PROPERTIES IMPORTED_LOCATION ${DUCKDB_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${DUCKDB_INCLUDE_DIR})
endif()
