// SPDX-License-Identifier: BSD-3-Clause
//
// Texts and files that user space found after the programs had ended. They get local ids above
// those of the programs, so that their records are translated like all others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "abi.h"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture::kernel {

struct OpenFile {
  store::FileKey key;
  iot_u32 mode = 0; // the type alone
  std::string path;
  bool is_deleted = false; // that was its last path
};

class LateNames {
public:
  struct Text {
    iot_u32 local;
    std::string text;
  };
  struct File {
    iot_u32 local;
    OpenFile file;
  };

  // The last local ids that the programs gave.
  LateNames(iot_u32 last_string, iot_u32 last_stack, iot_u32 last_file)
      : last_string_(last_string), last_stack_(last_stack), last_file_(last_file) {}
  LateNames() = default;

  // Local ids; 0 for an empty text.
  iot_u32 string(const std::string& text) { return add(strings, last_string_, text); }
  iot_u32 stack(const std::string& text) { return add(stacks, last_stack_, text); }
  iot_u32 file(const OpenFile& file) { return files.emplace_back(++last_file_, file).local; }

  std::vector<Text> strings;
  std::vector<Text> stacks;
  std::vector<File> files;

private:
  static iot_u32 add(std::vector<Text>& texts, iot_u32& last, const std::string& text) {
    return text.empty() ? 0 : texts.emplace_back(++last, text).local;
  }

  iot_u32 last_string_ = 0;
  iot_u32 last_stack_ = 0;
  iot_u32 last_file_ = 0;
};

} // namespace iotrail::capture::kernel
