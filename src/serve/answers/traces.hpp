// SPDX-License-Identifier: BSD-3-Clause
//
// The traces that may be asked for, each by an id. An id is only ever compared with those of the
// list, and never becomes a path: a client reaches no other file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "report/document.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::serve {

struct ServedTrace {
  std::string id; // its name; "NAME~2" if another trace before it has the name
  store::RepositoryEntry entry;

  bool is_running() const;
};

class Traces {
public:
  // Traces by name or path, and directories with traces. None: the repository.
  static Result<Traces> of(const std::vector<std::string>& names);

  // Reads the directories again, so new traces appear. The newest first.
  std::vector<ServedTrace> list() const;
  // `id` may also be "latest".
  Result<ServedTrace> find(std::string_view id) const;
  // Where the traces are, in words.
  const std::string& place() const { return place_; }

private:
  struct Source {
    std::filesystem::path path;
    bool is_directory = false; // of traces
  };
  std::vector<Source> sources_;
  std::string place_;
};

// The table of `iotrail list`. Damage is not looked for.
output::Document list_document(const Traces& traces, const std::vector<ServedTrace>& list);

} // namespace iotrail::serve
