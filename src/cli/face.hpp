// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of another tracer, which iotrail understands: `iotrail as NAME ...`, or a link NAME to the program. It is
// translated into recordings and queries of iotrail. Each face is one file, src/compat/faces/<face>.cpp, that defines
// `extern const Face kFace<Face>`. The build finds it, and makes the link at installation; no list names it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::cli {

struct Face {
  std::string_view name; // of the program: "iotrace"
  std::string_view summary;
  // Does what the arguments say, those behind the program's name. Returns the exit status. Prints its own errors, with its
  // name; an error that it returns is printed as iotrail's.
  Result<int> (*run)(const Console& console, const std::vector<std::string>& arguments);
};

// All faces, in the order of their files. The build generates this function.
std::span<const Face* const> faces();

// nullptr: no such face
inline const Face* find_face(std::string_view name) {
  for (const Face* face : faces())
    if (face->name == name)
      return face;
  return nullptr;
}

} // namespace iotrail::cli
