// SPDX-License-Identifier: BSD-3-Clause
//
// The objects of a JSON array, one by one and in bounded memory: of an array that is the whole
// file, of the member "traceEvents", or lines with an object each. The file may end anywhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "import/input.hpp"

namespace iotrail::import {

class JsonObjects {
public:
  static constexpr std::size_t kObjectBytesMost = 256U << 10U;

  explicit JsonObjects(Input& input);

  // The text of the next object, valid until the next call. Empty optional: the end. An object that
  // is longer than kObjectBytesMost is cut, and so does not parse.
  std::optional<std::string_view> next();

private:
  std::optional<char> take();
  void skip_to_events();

  Input& input_;
  std::string object_;
  std::string bytes_; // taken from the input
  std::size_t at_ = 0;
};

} // namespace iotrail::import
