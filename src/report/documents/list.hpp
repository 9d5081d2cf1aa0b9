// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <span>

#include "report/document.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::output {

struct ListedTrace {
  store::RepositoryEntry entry;
  bool is_damaged = false;
};

// A table of traces, with what is wrong with those that cannot be read. `place`: the directory that
// has them; `pattern`: as the user named them, "": all.
Document make_list(std::span<const ListedTrace> traces, std::string_view place,
                   std::string_view pattern);

} // namespace iotrail::output
