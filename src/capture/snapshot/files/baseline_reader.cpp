// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/files/baseline_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "store/reader/trace_reader.hpp"

namespace iotrail::capture::snapshot {
namespace {

namespace fs = std::filesystem;
using Texts = std::unordered_map<iot_u64, std::string>;

// The columns of a block by their names in this version; a missing column reads as 0.
class Block {
public:
  Block(const store::TableInfo& table, std::vector<store::Column> columns, std::size_t rows)
      : table_(table), columns_(std::move(columns)), rows_(rows) {}

  std::size_t rows() const { return rows_; }
  template <class Values> const Values* column(std::string_view name) const {
    const int at = table_.column(name);
    return at < 0 ? nullptr : std::get_if<Values>(&columns_[static_cast<std::size_t>(at)]);
  }
  iot_u64 number(std::string_view name, std::size_t row) const {
    const auto* numbers = column<store::Numbers>(name);
    return numbers ? (*numbers)[row] : 0;
  }

private:
  const store::TableInfo& table_;
  std::vector<store::Column> columns_;
  std::size_t rows_;
};

// Skips unreadable blocks: their files are unknown, and so look new.
template <class Visit>
void for_each_block(const store::TraceReader& trace, iot_u16 kind, Visit visit) {
  const store::TableInfo* table = trace.table(schema::find_event(kind)->name);
  if (!table)
    return;
  for (const store::BlockInfo& info : trace.blocks())
    if (info.kind == table->kind)
      if (auto columns = trace.read(info))
        visit(Block(*table, std::move(*columns), info.rows));
}

Texts read_texts(const store::TraceReader& trace) {
  Texts texts;
  for_each_block(trace, IOT_KIND_strings, [&](const Block& block) {
    const auto* keys = block.column<store::Numbers>("string");
    const auto* values = block.column<store::Texts>("text");
    for (std::size_t row = 0; keys && values && row < block.rows(); ++row)
      texts[(*keys)[row]] = (*values)[row];
  });
  return texts;
}

std::string_view text_of(const Texts& texts, iot_u64 key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view{} : std::string_view(found->second);
}

// The fields of snapshot_file in a block, each with its column.
using FileColumns = std::vector<std::pair<const schema::Field*, const store::Numbers*>>;

FileColumns file_columns(const Block& block) {
  FileColumns columns;
  for (const schema::Field& field : schema::find_event(IOT_KIND_snapshot_file)->fields)
    if (const auto* numbers = block.column<store::Numbers>(field.name))
      columns.emplace_back(&field, numbers);
  return columns;
}

iot_snapshot_file file_at(const FileColumns& columns, std::size_t row) {
  iot_snapshot_file file{};
  auto* bytes = reinterpret_cast<std::byte*>(&file);
  for (const auto& [field, numbers] : columns)
    std::memcpy(bytes + field->offset, &(*numbers)[row], schema::info(field->type).size_bytes);
  return file;
}

// Loads one trace after another into the files.
class Loader {
public:
  Result<void> load(const fs::path& path);
  StoredFiles finish();

private:
  struct BegunSnapshot {
    std::string root;
    FileBaseline* files;
  };

  Result<void> take_begins(const store::TraceReader& trace, const Texts& texts);
  void take_file(const iot_snapshot_file& file, std::string_view path);

  StoredFiles stored_;
  std::map<iot_u32, BegunSnapshot> begun_; // of the trace's snapshots, by number
};

Result<void> Loader::load(const fs::path& path) {
  auto opened = store::TraceReader::open(path);
  if (!opened)
    return std::unexpected(opened.error());
  const store::TraceReader& trace = **opened;
  const Texts texts = read_texts(trace);
  if (Result<void> taken = take_begins(trace, texts); !taken)
    return taken;
  for_each_block(trace, IOT_KIND_snapshot_file, [&](const Block& block) {
    const FileColumns columns = file_columns(block);
    for (std::size_t row = 0; row < block.rows(); ++row) {
      const iot_snapshot_file file = file_at(columns, row);
      take_file(file, text_of(texts, file.path));
    }
  });
  stored_.trace_id = trace.manifest().trace_id;
  return {};
}

// A delta continues only the trace before it.
Result<void> Loader::take_begins(const store::TraceReader& trace, const Texts& texts) {
  Result<void> result;
  begun_.clear();
  for_each_block(trace, IOT_KIND_snapshot_begin, [&](const Block& block) {
    for (std::size_t row = 0; row < block.rows(); ++row) {
      if (block.number("of", row) != IOT_snapshot_kind_fs)
        continue;
      const std::string_view base = text_of(texts, block.number("base", row));
      if (!base.empty() && base != stored_.trace_id)
        result = fail(fmt::format("--since {}", trace.path().native()),
                      fmt::format("it is a delta of the trace with the id {}", base),
                      "Name that trace before it: --since BASE,DELTA. `iotrail info` prints ids.");
      const std::string root(text_of(texts, block.number("path", row)));
      begun_[static_cast<iot_u32>(block.number("snapshot", row))] = {root, &stored_.by_root[root]};
    }
  });
  if (begun_.empty())
    return fail(fmt::format("--since {}", trace.path().native()),
                "it has no snapshot of a file system");
  return result;
}

// Ignores rows that only a damaged trace can have.
void Loader::take_file(const iot_snapshot_file& file, std::string_view path) {
  const auto begun = begun_.find(file.snapshot);
  if (begun == begun_.end())
    return;
  const bool is_root = path == begun->second.root;
  const std::size_t slash = path.rfind('/');
  if (!is_root && (slash == path.npos || slash + 1 == path.size()))
    return;
  const std::string_view directory = is_root ? "" : path.substr(0, std::max<std::size_t>(slash, 1));
  begun->second.files->note(
      std::string(directory),
      BaselineFile{.name = std::string(is_root ? path : path.substr(slash + 1)),
                   .fingerprint = fingerprint(file),
                   .is_directory = S_ISDIR(file.mode),
                   .is_removed = file.difference == IOT_snapshot_difference_removed});
}

StoredFiles Loader::finish() {
  for (auto& [root, files] : stored_.by_root)
    files.sort();
  return std::move(stored_);
}

} // namespace

Result<StoredFiles> read_stored_files(std::span<const fs::path> traces) {
  Loader loader;
  for (const fs::path& trace : traces)
    if (Result<void> loaded = loader.load(trace); !loaded)
      return std::unexpected(loaded.error());
  return loader.finish();
}

} // namespace iotrail::capture::snapshot
