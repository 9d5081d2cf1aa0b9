# Writes the SQL files in FILES into the C++ source OUTPUT, in the order of their names. HEADER declares FUNCTION, which
# returns them as a vector of TYPE.
list(SORT FILES)
set(rows "")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} sql)
  string(APPEND rows "      {\"${name}\", R\"sql_file(${sql})sql_file\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made from *.sql.\n#include \"${HEADER}\"\n\nnamespace iotrail::analysis {\n
std::vector<${TYPE}> ${FUNCTION}() {\n  return {\n${rows}  };\n}\n\n} // namespace iotrail::analysis\n")
