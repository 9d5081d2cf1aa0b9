// SPDX-License-Identifier: BSD-3-Clause
//
// The files of ui/, as the build embeds them.
#pragma once

#include <string_view>

namespace iotrail::output {

struct PageFiles {
  std::string_view html; // with @MARKS@ that render_html() replaces
  std::string_view style;
  std::string_view script; // all scripts, in the order of their names
  std::string_view style_sha256;
  std::string_view script_sha256; // in hexadecimal digits
};
const PageFiles& page_files();

} // namespace iotrail::output
