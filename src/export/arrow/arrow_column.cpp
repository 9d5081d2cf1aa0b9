// SPDX-License-Identifier: BSD-3-Clause
#include "export/arrow/arrow_column.hpp"

#include <limits>

namespace iotrail::output {
namespace {

// Adds `count` bits behind the first `used` ones, from the lowest of each byte on. nullptr: ones.
void append_bits(std::string& bits, std::size_t used, const void* source, std::size_t count) {
  bits.resize((used + count + 7) / 8);
  const std::size_t shift = used % 8;
  for (std::size_t done = 0; done < count; done += 8) {
    unsigned byte = 0xff;
    if (source != nullptr)
      byte = static_cast<const unsigned char*>(source)[done / 8];
    if (count - done < 8)
      byte &= (1U << (count - done)) - 1;
    const std::size_t at = (used + done) / 8;
    bits[at] = static_cast<char>(static_cast<unsigned char>(bits[at]) | byte << shift);
    if (at + 1 < bits.size())
      bits[at + 1] = static_cast<char>(byte >> (8 - shift));
  }
}

void append_bytes(std::string& data, const void* source, std::size_t count) {
  if (count > 0)
    data.append(static_cast<const char*>(source), count);
}

std::span<const std::int32_t> ends_of(const ArrowArray& values) {
  return {static_cast<const std::int32_t*>(values.buffers[1]) + 1,
          static_cast<std::size_t>(values.length)};
}

} // namespace

Result<ArrowColumn> ArrowColumn::make(const ArrowSchema& field) {
  const auto type = arrow_type(field);
  if (!type)
    return std::unexpected(type.error());
  ArrowColumn column(*type);
  for (const ArrowSchema* child : std::span(field.children, field.n_children)) {
    auto made = make(*child);
    if (!made)
      return made;
    column.children_.push_back(std::move(*made));
  }
  return column;
}

bool ArrowColumn::has_room_for(const ArrowArray& values) const {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (values.length == 0)
    return true;
  if (layout_ == ArrowLayout::text &&
      data_.size() + static_cast<std::size_t>(ends_of(values).back()) > kMost)
    return false;
  if (rows_ + static_cast<std::size_t>(values.length) > kMost)
    return false;
  for (std::size_t i = 0; i < children_.size(); ++i)
    if (!children_[i].has_room_for(*values.children[i]))
      return false;
  return true;
}

void ArrowColumn::append(const ArrowArray& values) {
  IOTRAIL_CHECK(values.offset == 0); // the engine makes no parts of arrays
  const auto count = static_cast<std::size_t>(values.length);
  if (count == 0)
    return;
  append_bits(validity_, rows_, values.buffers[0], count);
  nulls_ += values.null_count;
  switch (layout_) {
  case ArrowLayout::fixed:
    append_bytes(data_, values.buffers[1], count * width_);
    break;
  case ArrowLayout::bits:
    append_bits(data_, rows_, values.buffers[1], count);
    break;
  case ArrowLayout::text:
    append_ends(ends_of(values));
    append_bytes(data_, values.buffers[2], static_cast<std::size_t>(ends_of(values).back()));
    break;
  case ArrowLayout::list:
    append_ends(ends_of(values));
    break;
  case ArrowLayout::structure:
    break;
  }
  for (std::size_t i = 0; i < children_.size(); ++i)
    children_[i].append(*values.children[i]);
  rows_ += count;
}

// Before the values themselves: these ends count from the end of the values so far.
void ArrowColumn::append_ends(std::span<const std::int32_t> ends) {
  const std::size_t before = layout_ == ArrowLayout::list ? children_.front().rows_ : data_.size();
  for (const std::int32_t end : ends)
    ends_.push_back(static_cast<std::int32_t>(before) + end);
}

void ArrowColumn::clear() {
  rows_ = 0;
  nulls_ = 0;
  validity_.clear();
  ends_.assign(1, 0);
  data_.clear();
  for (ArrowColumn& child : children_)
    child.clear();
}

std::size_t ArrowColumn::bytes() const {
  std::size_t sum = validity_.size() + ends_.size() * sizeof(ends_[0]) + data_.size();
  for (const ArrowColumn& child : children_)
    sum += child.bytes();
  return sum;
}

void ArrowColumn::list(std::vector<ArrowNode>& nodes,
                       std::vector<std::string_view>& buffers) const {
  nodes.push_back({static_cast<std::int64_t>(rows_), nulls_});
  buffers.push_back(nulls_ > 0 ? std::string_view(validity_) : std::string_view());
  if (layout_ == ArrowLayout::text || layout_ == ArrowLayout::list)
    buffers.emplace_back(reinterpret_cast<const char*>(ends_.data()),
                         ends_.size() * sizeof(ends_[0]));
  if (layout_ != ArrowLayout::list && layout_ != ArrowLayout::structure)
    buffers.emplace_back(data_);
  for (const ArrowColumn& child : children_)
    child.list(nodes, buffers);
}

} // namespace iotrail::output
