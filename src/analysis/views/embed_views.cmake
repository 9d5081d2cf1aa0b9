# Writes the SQL files in VIEWS into the C++ source OUTPUT, in the order of their names.
list(SORT VIEWS)
set(rows "")
foreach(view ${VIEWS})
  get_filename_component(name ${view} NAME_WE)
  file(READ ${view} sql)
  string(APPEND rows "      {\"${name}\", R\"view_sql(${sql})view_sql\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made from views/*.sql.\n#include \"analysis/engine/engine.hpp\"\n\nnamespace iotrail::analysis {\n
std::vector<ViewFile> view_files() {\n  return {\n${rows}  };\n}\n\n} // namespace iotrail::analysis\n")
