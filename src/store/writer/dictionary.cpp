// SPDX-License-Identifier: BSD-3-Clause
#include "store/writer/dictionary.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include <xxhash.h>

#include "schema.hpp"
#include "store/format/layout.hpp"

namespace iotrail::store {
namespace {

constexpr std::size_t kPendingTextBytesMax = 1U << 20U;

// All pending rows fit a block that readers accept: texts up to the limit plus those of one more
// row, and the maximum of rows.
constexpr bool fits_a_block(const schema::Event& event) {
  std::size_t bytes = kPendingTextBytesMax;
  for (const schema::Field& field : event.fields) {
    const bool is_text = field.type == schema::Type::text;
    // When encoded, a number takes up to 8 bytes more than its value, and a text 3 for its length.
    bytes += kBlockRowsMax * (is_text ? kTextBytesBeside + 3 : 2 * kNumberBytes + 1);
    bytes += is_text ? kTextBytesMax : 0;
  }
  return bytes <= kBlockBytesMax;
}
static_assert(std::ranges::all_of(schema::kEvents, fits_a_block),
              "readers would refuse its blocks");

constexpr std::size_t kRowBytesExpected = 8; // of a row without its texts
constexpr std::size_t kTextPartExpected = 4; // most texts are paths, which have much in common

constexpr std::size_t column_of(std::uint16_t kind, std::string_view name) {
  const auto fields = schema::find_event(kind)->fields;
  std::size_t i = 0;
  while (fields[i].name != name)
    ++i;
  return i;
}
constexpr std::size_t kGenerationColumn = column_of(rows::kind_of<rows::files>, "generation");
constexpr std::size_t kPathColumn = column_of(rows::kind_of<rows::files>, "path");

// Sets the times of the block from its time columns.
void set_times(BlockRows& block) {
  const auto fields = schema::find_event(block.kind)->fields;
  bool has_time = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].meaning != schema::Meaning::time_ns)
      continue;
    const auto [low, high] = std::ranges::minmax(std::get<Numbers>(block.columns[i]));
    block.first_ns = has_time ? std::min(block.first_ns, low) : low;
    block.last_ns = has_time ? std::max(block.last_ns, high) : high;
    has_time = true;
  }
}

// Traced programs choose texts and inodes: they may not know which have the same hash.
using Secret = std::array<std::uint8_t, 192>; // as long as the one of XXH3
static_assert(sizeof(Secret) >= XXH3_SECRET_SIZE_MIN);

const Secret& secret() {
  static const Secret chosen = [] {
    Secret random;
    for (std::size_t at = 0; at < random.size();) {
      const TraceId part = new_trace_id();
      std::ranges::copy(part, random.begin() + static_cast<std::ptrdiff_t>(at));
      at += part.size();
    }
    return random;
  }();
  return chosen;
}

} // namespace

std::size_t Dictionary::KeyHash::operator()(const FileKey& key) const {
  const std::uint64_t words[] = {key.inode,
                                 static_cast<std::uint64_t>(key.device) << 32U | key.generation};
  return XXH3_64bits_withSecret(words, sizeof words, secret().data(), secret().size());
}

template <class Row> void Dictionary::add(const Row& row) {
  BlockRows& block = pending_[rows::kind_of<Row>];
  block.kind = rows::kind_of<Row>;
  std::size_t column = 0;
  rows::visit(row, [&]<class Value>(const Value& value) {
    if (block.columns.size() == column) {
      if constexpr (std::is_integral_v<Value>)
        block.columns.emplace_back(Numbers());
      else
        block.columns.emplace_back(Texts());
    }
    Column& to = block.columns[column++];
    if constexpr (std::is_integral_v<Value>) {
      std::get<Numbers>(to).push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    } else {
      std::get<Texts>(to).push_back(value.substr(0, kTextBytesMax));
      pending_text_bytes_ += std::get<Texts>(to).back().size();
    }
  });
  ++pending_rows_;
}

template void Dictionary::add(const rows::processes&);
template void Dictionary::add(const rows::devices&);
template void Dictionary::add(const rows::losses&);
template void Dictionary::add(const rows::event_sums&);

iot_u32 Dictionary::string_id(std::string_view text) {
  if (text.empty())
    return 0;
  // 128 bits stand for the text: no two texts of a trace will ever share them, and with an unknown secret none is found
  // that does.
  const XXH128_hash_t hash =
      XXH3_128bits_withSecret(text.data(), text.size(), secret().data(), secret().size());
  const TextHash key{hash.low64, hash.high64};
  if (const iot_u32* id = strings_.find(key))
    return *id;
  add(rows::strings{++last_string_, std::string(text)});
  strings_.insert(key, last_string_);
  return last_string_;
}

iot_u32 Dictionary::file_id(const FileKey& key, iot_u32 mode, std::string_view path,
                            const FileState& state) {
  if (key.generation != 0)
    if (const WrittenFile* known = files_.find(key)) {
      complete_path(*known, path);
      return known->id;
    }
  const FileKey inode{key.device, key.inode, 0};
  WrittenFile* newest = newest_files_.find(inode);
  if (!newest || (key.generation != 0 && newest->generation != 0))
    return new_file(key, mode, path, state);
  if (key.generation != 0) {
    complete(*newest, key.generation);
    files_.insert(key, *newest);
  }
  complete_path(*newest, path);
  return newest->id;
}

iot_u32 Dictionary::new_file(const FileKey& key, iot_u32 mode, std::string_view path,
                             const FileState& state) {
  const std::size_t row = [&] {
    const auto block = pending_.find(rows::kind_of<rows::files>);
    return block == pending_.end() ? std::size_t{0} : block->second.rows();
  }();
  add(rows::files{++last_file_, key.device, key.inode, key.generation, mode, std::string(path),
                  state.is_deleted ? 1U : 0U, std::string(state.file_system)});
  const WrittenFile file{last_file_, key.generation, row, batch_};
  newest_files_.insert({key.device, key.inode, 0}, file);
  if (key.generation != 0)
    files_.insert(key, file);
  return file.id;
}

// A row that has left already keeps generation 0. A second row with the same key would double the
// file in every join.
void Dictionary::complete(WrittenFile& file, iot_u32 generation) {
  file.generation = generation;
  if (file.batch == batch_)
    std::get<Numbers>(pending_[rows::kind_of<rows::files>].columns[kGenerationColumn])[file.row] =
        generation;
}

// A program in a chroot without /proc cannot find the path of a file that it opened; the kernel
// reports it a moment later.
void Dictionary::complete_path(const WrittenFile& file, std::string_view path) {
  if (file.batch != batch_ || path.empty())
    return;
  std::string& known =
      std::get<Texts>(pending_[rows::kind_of<rows::files>].columns[kPathColumn])[file.row];
  if (!known.empty())
    return;
  known = path.substr(0, kTextBytesMax);
  pending_text_bytes_ += known.size();
}

bool Dictionary::is_full() const {
  return pending_rows_ >= kBlockRowsMax || pending_text_bytes_ >= kPendingTextBytesMax;
}

std::size_t Dictionary::expected_bytes() const {
  return pending_rows_ * kRowBytesExpected + pending_text_bytes_ / kTextPartExpected;
}

std::vector<BlockRows> Dictionary::take_pending() {
  std::vector<BlockRows> blocks;
  for (auto& [kind, block] : pending_) {
    set_times(block);
    blocks.push_back(std::move(block));
  }
  pending_.clear();
  pending_rows_ = 0;
  pending_text_bytes_ = 0;
  ++batch_;
  return blocks;
}

} // namespace iotrail::store
