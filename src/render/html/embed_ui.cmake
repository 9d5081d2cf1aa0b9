# Writes the files of ui/ in FILES into the C++ source OUTPUT, which defines page_files() of ui.hpp.
# All scripts are one, in the order of their names, which is also written to SCRIPT.
list(SORT FILES)
set(html "")
set(style "")
set(scripts "")
foreach(file ${FILES})
  file(READ ${file} text)
  # Comments are for people who read the source.
  if(file MATCHES "\\.html$")
    string(REGEX REPLACE "<!--[^>]*-->\n" "" text "${text}")
    string(APPEND html "${text}")
  elseif(file MATCHES "\\.css$")
    string(APPEND style "${text}")
  else()
    string(APPEND scripts "${text}")
  endif()
endforeach()
set(script "(() => {\n'use strict';\n${scripts}})();\n")
string(SHA256 style_sha256 "${style}")
string(SHA256 script_sha256 "${script}")
file(WRITE ${SCRIPT} "${script}")
file(WRITE ${OUTPUT} "// Made from ui/*.\n#include \"render/html/ui.hpp\"\n\nnamespace iotrail::output {\n
const PageFiles& page_files() {\n  static constexpr PageFiles kFiles{\n      R\"ui_file(${html})ui_file\",
      R\"ui_file(${style})ui_file\",\n      R\"ui_file(${script})ui_file\",
      \"${style_sha256}\",\n      \"${script_sha256}\"};\n  return kFiles;\n}\n\n} // namespace iotrail::output\n")
