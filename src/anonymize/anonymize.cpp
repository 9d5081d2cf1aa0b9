// SPDX-License-Identifier: BSD-3-Clause
#include "anonymize/anonymize.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "anonymize/manifest_names.hpp"
#include "anonymize/text_uses.hpp"
#include "base/fd.hpp"
#include "store/format/block.hpp"
#include "store/format/segment_file.hpp"
#include "store/format/trace_directory.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::anonymize {
namespace {

constexpr int kCompressionLevel = 1; // as recordings have
constexpr std::size_t kBlockBytesMost = store::kBlockBytesMax / 2;

// How the texts of a column of a dictionary become pseudonyms.
enum class Rule : std::uint8_t { keep, word, path, command, rank, disk };

struct ColumnRule {
  std::string_view table;
  std::string_view column;
  Rule rule;
};

// A column that is not here becomes a word.
constexpr auto kRules = std::to_array<ColumnRule>({{"processes", "comm", Rule::path},
                                                   {"processes", "exe", Rule::path},
                                                   {"processes", "command", Rule::command},
                                                   {"processes", "cgroup", Rule::path},
                                                   {"processes", "rank", Rule::rank},
                                                   {"files", "path", Rule::path},
                                                   {"files", "file_system", Rule::keep},
                                                   {"strings", "text", Rule::path},
                                                   {"devices", "name", Rule::disk},
                                                   {"event_sums", "operation", Rule::keep},
                                                   {"event_sums", "call", Rule::keep}});

Rule rule_of(const store::TableInfo& table, const store::ColumnInfo& column) {
  const auto* found = std::ranges::find_if(kRules, [&](const ColumnRule& rule) {
    return rule.table == table.name && rule.column == column.name;
  });
  return found == kRules.end() ? Rule::word : found->rule;
}

// "sda1", "nvme0n1p2", "dm-0", "8:16". Imported traces have other names of devices, such as a host's.
bool is_kernel_disk(std::string_view name) {
  constexpr std::string_view kLettered[] = {"sd", "hd", "vd", "xvd"}; // letters follow
  constexpr std::string_view kNumbered[] = {
      "nvme", "mmcblk", "nbd", "loop", "dm-",    "md",   "sr",       "ram", "zram", "nullb",
      "pmem", "ublkb",  "rbd", "drbd", "bcache", "dasd", "mtdblock", "fd",  ""};
  constexpr std::string_view kDigits = "0123456789";
  const auto is_rest = [&](std::string_view rest, std::string_view letters, std::size_t most) {
    const std::size_t digits = std::min(rest.find_first_of(kDigits), rest.size());
    const std::string_view word = rest.substr(0, digits);
    return digits <= most && word.find_first_not_of(letters) == rest.npos &&
           rest.substr(digits).find_first_not_of("0123456789:cnp") == rest.npos;
  };
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  return name.size() <= 16 &&
         (std::ranges::any_of(kLettered,
                              [&](std::string_view begin) {
                                return name.starts_with(begin) &&
                                       is_rest(name.substr(begin.size()), kLetters, 3);
                              }) ||
          std::ranges::any_of(kNumbered, [&](std::string_view begin) {
            return name.starts_with(begin) && is_rest(name.substr(begin.size()), "", 0);
          }));
}

std::string pseudonym(const Pseudonyms& names, Rule rule, const std::string& text) {
  switch (rule) {
  case Rule::keep:
    return text;
  case Rule::path:
    return names.path(text);
  case Rule::command:
    return names.command(text);
  case Rule::rank:
    if (text.size() <= 7 && text.find_first_not_of("0123456789") == std::string::npos)
      return text;
    break;
  case Rule::disk:
    if (is_kernel_disk(text))
      return text;
    break;
  case Rule::word:
    break;
  }
  return names.word(text);
}

// Copies blocks into segments of the same numbers.
class TraceCopy {
public:
  TraceCopy(const store::TraceReader& trace, const Pseudonyms& names,
            const std::filesystem::path& path, const store::TraceId& id)
      : trace_(trace), names_(names), path_(path), id_(id), terms_(terms_of(trace)),
        encoder_(id, kCompressionLevel) {}

  Result<void> write(const Fd& directory, store::Manifest manifest, std::string_view stored) {
    if (auto begun = make_segments(directory); !begun)
      return begun;
    for (const store::BlockInfo& block : trace_.blocks())
      if (auto copied = copy(block); !copied)
        return copied;
    manifest.events_bytes = 0;
    for (auto& [number, segment] : segments_) {
      manifest.events_bytes += segment.bytes();
      if (auto synced = segment.sync(); !synced)
        return synced;
    }
    auto written = store::replace_manifest(directory, manifest_text(manifest, stored),
                                           path_ / store::kManifestName);
    store::drop_manifest_reserve(directory);
    return written;
  }

private:
  Result<void> make_segments(const Fd& directory) {
    std::set<std::uint32_t> numbers{0, 1};
    for (const store::BlockInfo& block : trace_.blocks())
      numbers.insert(block.segment);
    for (const std::uint32_t number : numbers) {
      auto made =
          store::SegmentFile::create(directory, path_, store::segment_kind(number), number, id_);
      if (!made)
        return std::unexpected(made.error());
      segments_.emplace(number, std::move(*made));
    }
    return {};
  }

  Result<void> copy(const store::BlockInfo& block) {
    const store::TableInfo* table = trace_.table(block.kind);
    if (table == nullptr)
      return {}; // no query sees its rows
    auto columns = trace_.read(block);
    if (!columns)
      return {}; // damaged, as the reader has counted
    if (table->is_dictionary())
      rename(*table, *columns);
    return append(segments_.at(block.segment), {.kind = block.kind,
                                                .columns = std::move(*columns),
                                                .first_ns = block.first_ns,
                                                .last_ns = block.last_ns,
                                                .count = block.rows});
  }

  void rename(const store::TableInfo& table, std::vector<store::Column>& columns) const {
    const bool are_strings = table.name == "strings";
    const auto* keys = are_strings ? std::get_if<store::Numbers>(&columns.front()) : nullptr;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      auto* texts = std::get_if<store::Texts>(&columns[i]);
      if (texts == nullptr)
        continue;
      const Rule rule = rule_of(table, table.columns[i]);
      for (std::size_t row = 0; row < texts->size(); ++row)
        if (keys == nullptr || !terms_.contains((*keys)[row]))
          (*texts)[row] = pseudonym(names_, rule, (*texts)[row]);
    }
    if (table.name == "files")
      rename_inodes(table, columns);
  }

  // The inode numbers of imported files follow from their paths (import/trace_builder.hpp).
  void rename_inodes(const store::TableInfo& table, std::vector<store::Column>& columns) const {
    const int device = table.column("device");
    const int inode = table.column("inode");
    if (device < 0 || inode < 0)
      return;
    auto* devices = std::get_if<store::Numbers>(&columns[static_cast<std::size_t>(device)]);
    auto* inodes = std::get_if<store::Numbers>(&columns[static_cast<std::size_t>(inode)]);
    for (std::size_t row = 0; devices && inodes && row < inodes->size(); ++row)
      if ((*devices)[row] == 0 && (*inodes)[row] != 0)
        (*inodes)[row] = names_.number(fmt::format("inode {}", (*inodes)[row])) >> 1U;
  }

  static std::size_t bytes_of(const store::BlockRows& rows) {
    std::size_t bytes = 0;
    for (const store::Column& column : rows.columns)
      if (const auto* texts = std::get_if<store::Texts>(&column))
        for (const std::string& text : *texts)
          bytes += text.size() + store::kTextBytesBeside;
      else
        bytes += rows.count * store::kNumberBytes;
    return bytes;
  }

  // Pseudonyms may be longer than names. A block that grew too large becomes two.
  Result<void> append(store::SegmentFile& segment, store::BlockRows rows) {
    if (rows.count > 1 && bytes_of(rows) > kBlockBytesMost) {
      store::BlockRows second = cut(rows, rows.count / 2);
      if (auto first = append(segment, std::move(rows)); !first)
        return first;
      return append(segment, std::move(second));
    }
    const ByteSpan block = encoder_.encode(rows, segment.blocks(), segment.rows());
    return segment.append(block, static_cast<std::uint32_t>(rows.count));
  }

  // Leaves the first `count` rows, and returns the others.
  static store::BlockRows cut(store::BlockRows& rows, std::size_t count) {
    store::BlockRows second{.kind = rows.kind,
                            .columns = {},
                            .first_ns = rows.first_ns,
                            .last_ns = rows.last_ns,
                            .count = rows.count - count};
    const auto split = [&](auto& values) {
      const auto middle =
          values.begin() + static_cast<std::ptrdiff_t>(std::min(count, values.size()));
      std::remove_reference_t<decltype(values)> others(std::make_move_iterator(middle),
                                                       std::make_move_iterator(values.end()));
      values.erase(middle, values.end());
      second.columns.emplace_back(std::move(others));
    };
    for (store::Column& column : rows.columns)
      if (auto* texts = std::get_if<store::Texts>(&column))
        split(*texts);
      else if (auto* numbers = std::get_if<store::Numbers>(&column))
        split(*numbers);
    rows.count = count;
    return second;
  }

  const store::TraceReader& trace_;
  const Pseudonyms& names_;
  const std::filesystem::path& path_;
  const store::TraceId id_;
  const std::unordered_set<std::uint64_t> terms_;
  store::BlockEncoder encoder_;
  std::map<std::uint32_t, store::SegmentFile> segments_;
};

std::string stored_manifest(const store::TraceReader& trace) {
  const auto directory = store::open_trace_directory(trace.path());
  if (!directory)
    return {};
  return store::read_file(*directory, store::kManifestName, trace.path() / store::kManifestName)
      .value_or("");
}

} // namespace

Result<void> anonymize_trace(const store::TraceReader& trace, const Pseudonyms& names,
                             const std::filesystem::path& copy) {
  const store::TemporaryFiles made;
  Result<Fd> directory = fail(fmt::format("cannot write {}", copy.native()), "a signal came");
  (void)made.make_tree([&]() -> std::filesystem::path {
    directory = store::create_trace_directory(copy);
    return directory ? copy : std::filesystem::path();
  });
  if (!directory)
    return std::unexpected(directory.error());
  const store::Manifest manifest = anonymous_manifest(trace.manifest(), names);
  TraceCopy writer(trace, names, copy, anonymous_id(trace.manifest().trace_id, names));
  if (auto written = writer.write(*directory, manifest, stored_manifest(trace)); !written)
    return written;
  made.keep();
  return {};
}

} // namespace iotrail::anonymize
