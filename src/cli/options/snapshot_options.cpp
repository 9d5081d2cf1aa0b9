// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/snapshot_options.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/options/parse_units.hpp"
#include "schema.hpp"

namespace iotrail::cli {
namespace {

constexpr std::size_t kSnapshotsMost = 64;
constexpr std::string_view kKinds = "snapshot_kind"; // the value table

// Snapshots of virtual machines belong to --vm.
bool is_chosen_by_name(const schema::Value& value) {
  return value.table == kKinds && value.number != IOT_snapshot_kind_vm;
}

// "fs=/a:b" has no period, "fs=/a:1s" has.
std::size_t period_position(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || text.find('/', colon) != text.npos)
    return text.npos;
  return colon;
}

// A recording continues without a missing part, but not without a directory that the user named.
Result<void> check_root(std::string_view option, std::string_view word, const std::string& root) {
  std::error_code error;
  const auto status = std::filesystem::status(root, error);
  if (error)
    return fail_errno(fmt::format("{} {}", option, word), error.value());
  if (!std::filesystem::is_directory(status))
    return fail_errno(fmt::format("{} {}", option, word), ENOTDIR);
  return {};
}

Result<capture::SnapshotWanted> parse_one(std::string_view option, std::string_view word,
                                          std::uint64_t period_ns, const std::string& root) {
  const std::size_t equals = word.find('=');
  auto kind = parse_snapshot_kind(option, word.substr(0, equals));
  if (!kind)
    return std::unexpected(kind.error());
  capture::SnapshotWanted wanted{.kind = *kind, .root = {}, .period_ns = period_ns};
  if (*kind == IOT_snapshot_kind_fs)
    wanted.root = equals == word.npos ? root : std::string(word.substr(equals + 1));
  if (equals != word.npos && (wanted.root.empty() || *kind != IOT_snapshot_kind_fs))
    return fail_usage(fmt::format("{} {}", option, word), "only a file system has a path",
                      "Write fs=PATH.");
  if (equals != word.npos)
    if (auto checked = check_root(option, word, wanted.root); !checked)
      return std::unexpected(checked.error());
  return wanted;
}

// A period that is shorter than taking a snapshot would only count what was missed.
Result<std::uint64_t> parse_period(std::string_view option, const std::string& text) {
  constexpr std::uint64_t kLeastNs = 10'000'000;
  auto period_ns = parse_duration(option, text);
  if (period_ns && *period_ns < kLeastNs)
    return fail_usage(fmt::format("{}: the period is '{}'", option, text), "it is at least 10ms");
  return period_ns;
}

} // namespace

std::string snapshot_kinds() {
  std::string names;
  for (const schema::Value& value : schema::kValues)
    if (is_chosen_by_name(value))
      names += fmt::format("{}{}", names.empty() ? "" : ", ", value.name);
  return names;
}

Result<iot_u32> parse_snapshot_kind(std::string_view option, std::string_view name) {
  for (const schema::Value& value : schema::kValues)
    if (is_chosen_by_name(value) && value.name == name)
      return value.number;
  return fail_usage(fmt::format("{}: there is no snapshot of '{}'", option, name),
                    fmt::format("there are those of {}", snapshot_kinds()));
}

Result<capture::SnapshotOptions> parse_snapshots(std::string_view option,
                                                 const std::vector<std::string>& texts,
                                                 const std::string& root) {
  capture::SnapshotOptions options;
  for (const std::string& text : texts) {
    const std::size_t colon = period_position(text);
    std::uint64_t period_ns = 0;
    if (colon != text.npos) {
      const auto period = parse_period(option, text.substr(colon + 1));
      if (!period)
        return std::unexpected(period.error());
      period_ns = *period;
    }
    std::string_view list = std::string_view(text).substr(0, colon);
    while (true) {
      const std::string_view word = list.substr(0, list.find(','));
      auto wanted = parse_one(option, word, period_ns, root);
      if (!wanted)
        return std::unexpected(wanted.error());
      options.wanted.push_back(std::move(*wanted));
      if (word.size() == list.size())
        break;
      list.remove_prefix(word.size() + 1);
    }
  }
  if (options.wanted.size() > kSnapshotsMost)
    return fail_usage(
        fmt::format("{}: {} snapshots", option, options.wanted.size()),
        fmt::format("each has a thread; a recording takes at most {}", kSnapshotsMost));
  return options;
}

} // namespace iotrail::cli
