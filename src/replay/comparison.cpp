// SPDX-License-Identifier: BSD-3-Clause
#include "replay/comparison.hpp"

#include <map>
#include <set>
#include <utility>

#include "text/printable.hpp"
#include "text/units.hpp"

namespace iotrail::replay {
namespace {

struct Sums {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t positions = 0; // modulo 2^64

  bool operator==(const Sums&) const = default;
};
using SumsByPath = std::map<std::pair<std::string, Kind>, Sums>;

bool is_compared(Kind kind) {
  return kind != Kind::open && kind != Kind::close && kind != Kind::look_up;
}

// Of the paths below `root`, without it. "": of all.
SumsByPath sums_of(const Plan& plan, const std::string& root) {
  SumsByPath sums;
  const std::string above = root.empty() ? root : root + "/";
  for (const Action& action : plan.actions) {
    const std::string& path = plan.paths[action.path];
    if (action.error != 0 || !is_compared(action.kind) || !path.starts_with(above))
      continue;
    Sums& sum = sums[{path.substr(above.size()), action.kind}];
    ++sum.calls;
    sum.bytes += action.bytes;
    sum.positions += action.position;
  }
  return sums;
}

std::string sums_text(const Sums& sums) {
  return sums.calls == 0 ? "none"
                         : fmt::format("{} with {}", output::human_count_of(sums.calls, "call"),
                                       output::human_bytes(sums.bytes));
}

} // namespace

Comparison compare(const Plan& original, const Plan& replayed, const std::filesystem::path& place) {
  Comparison comparison;
  const SumsByPath wanted = sums_of(original, "");
  SumsByPath found = sums_of(replayed, path_below_root(place.native()));
  std::set<std::string> files;
  const auto note = [&](const auto& key, const Sums& recorded, const Sums& again) {
    ++comparison.difference_count;
    if (comparison.differences.size() < Comparison::kNamedMost)
      comparison.differences.push_back(fmt::format(
          "{} of /{}: recorded {}, replayed {}{}", kind_name(key.second),
          output::printable(key.first), sums_text(recorded), sums_text(again),
          recorded.calls == again.calls && recorded.bytes == again.bytes ? ", at other positions"
                                                                         : ""));
  };
  for (const auto& [key, sums] : wanted) {
    comparison.calls += sums.calls;
    comparison.bytes += key.second == Kind::read || key.second == Kind::write ? sums.bytes : 0;
    files.insert(key.first);
    const Sums again = found[key];
    if (again != sums)
      note(key, sums, again);
    found.erase(key);
  }
  for (const auto& [key, sums] : found)
    note(key, Sums(), sums);
  comparison.files = files.size();
  return comparison;
}

} // namespace iotrail::replay
