// SPDX-License-Identifier: BSD-3-Clause
#include "capture/vm/qcow2.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <utility>

#include "base/bytes.hpp"

namespace iotrail::capture::vm {
namespace {

// Names and limits of the format: docs/interop/qcow2.rst of QEMU.
constexpr std::uint32_t kMagic = 0x514649fb; // "QFI\xfb"
constexpr std::uint32_t kClusterBitsLeast = 9;
constexpr std::uint32_t kClusterBitsMost = 21;
constexpr std::uint64_t kL1BytesMost = 32U << 20U;
constexpr std::uint64_t kRefcountBytesMost = 8U << 20U;
constexpr std::uint32_t kBackingBytesMost = 1023;
constexpr std::uint32_t kFormatBytesMost = 64;
constexpr std::uint32_t kExtensionsMost = 64;
constexpr std::uint32_t kHeaderBytesV2 = 72;
constexpr std::uint32_t kHeaderBytesV3 = 104;
constexpr std::uint32_t kExtensionBackingFormat = 0xe2792aca;
constexpr std::uint32_t kExtensionKeys = 0x0537be77;
constexpr std::uint64_t kHasDataFile = 1U << 2U; // incompatible features
constexpr std::uint64_t kHasLongEntries = 1U << 4U;
constexpr std::uint64_t kPositionMask = 0x00fffffffffffe00; // of L1 entries, and of L2 entries
constexpr std::uint64_t kIsCompressed = std::uint64_t{1} << 62U;
constexpr std::uint64_t kPieceBytes = 64U << 10U; // of a table that is read in pieces

template <std::unsigned_integral T> T big_endian(ByteReader& bytes) {
  return std::byteswap(bytes.read<T>());
}

// The header's extensions are behind it, up to one of type 0.
void read_extensions(const ReadAt& read, std::uint64_t position, Qcow2Header& header) {
  for (std::uint32_t count = 0; count < kExtensionsMost; ++count) {
    std::byte head[8];
    if (!read(position, head))
      return;
    ByteReader fields(head);
    const auto type = big_endian<std::uint32_t>(fields);
    const std::uint64_t bytes = big_endian<std::uint32_t>(fields);
    position += sizeof(head);
    if (type == 0 || position + bytes > header.cluster_bytes())
      return;
    if (type == kExtensionBackingFormat && bytes <= kFormatBytesMost) {
      std::string name(bytes, '\0');
      if (read(position, std::as_writable_bytes(std::span(name))))
        header.backing_format = name;
    }
    std::byte keys[16];
    if (type == kExtensionKeys && bytes == sizeof(keys) && read(position, keys)) {
      ByteReader place(keys);
      header.keys_position = big_endian<std::uint64_t>(place);
      header.keys_bytes = big_endian<std::uint64_t>(place);
    }
    position += (bytes + 7) / 8 * 8;
  }
}

bool is_valid(const Qcow2Header& header, std::uint32_t version, std::uint64_t l1_stored) {
  const std::uint64_t cluster_mask = header.cluster_bytes() - 1;
  return (version == 2 || version == 3) && header.guest_bytes <= INT64_MAX &&
         header.l1_entries <= l1_stored && header.l1_entries * 8 <= kL1BytesMost &&
         (header.l1_position & cluster_mask) == 0 &&
         (header.refcount_position & cluster_mask) == 0 &&
         header.refcount_bytes <= kRefcountBytesMost;
}

// Collects the ranges of an image. Ranges that continue the one before become one, with data and
// tables apart: tables are usually between data.
class MapReader {
public:
  MapReader(const ReadAt& read, std::uint64_t file_bytes, const Qcow2Header& header,
            MapBudget& budget)
      : read_(read), file_bytes_(file_bytes), header_(header), budget_(budget) {}

  ImageMap run();

private:
  using Entry = std::function<void(std::uint64_t index, std::uint64_t value)>;
  void for_each_entry(std::uint64_t position, std::uint64_t entries, std::uint64_t entry_bytes,
                      const Entry& visit);
  void add_data_table(std::uint64_t l1_index, std::uint64_t position);
  void add_data(std::uint64_t guest_position, std::uint64_t entry);
  void add_compressed(std::uint64_t guest_position, std::uint64_t entry);
  void add_table(iot_u32 content, std::uint64_t position, std::uint64_t bytes);
  void add(std::vector<ImageRange>& ranges, ImageRange range);
  bool is_cluster(std::uint64_t position) const {
    return position != 0 && (position & (header_.cluster_bytes() - 1)) == 0 &&
           position < file_bytes_;
  }

  const ReadAt& read_;
  std::uint64_t file_bytes_;
  const Qcow2Header& header_;
  MapBudget& budget_;
  std::vector<ImageRange> data_;
  std::vector<ImageRange> tables_;
  bool is_complete_ = true;
};

// Visits the entries of a table that are not 0.
void MapReader::for_each_entry(std::uint64_t position, std::uint64_t entries,
                               std::uint64_t entry_bytes, const Entry& visit) {
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < entries;) {
    const std::uint64_t count = std::min(entries - done, kPieceBytes / entry_bytes);
    piece.resize(count * entry_bytes);
    if (budget_.table_bytes < piece.size() || budget_.ranges == 0 ||
        !read_(position + done * entry_bytes, piece)) {
      is_complete_ = false;
      return;
    }
    budget_.table_bytes -= piece.size();
    for (std::uint64_t i = 0; i < count; ++i) {
      ByteReader entry(ByteSpan(piece).subspan(i * entry_bytes));
      if (const auto value = big_endian<std::uint64_t>(entry); value != 0)
        visit(done + i, value);
    }
    done += count;
  }
}

void MapReader::add(std::vector<ImageRange>& ranges, ImageRange range) {
  if (!ranges.empty()) {
    ImageRange& last = ranges.back();
    const bool continues =
        last.content == range.content && last.position + last.bytes == range.position;
    const bool in_guest = last.guest_position + last.bytes == range.guest_position;
    if (continues &&
        (range.content == IOT_vm_content_data ? in_guest
                                              : range.content != IOT_vm_content_compressed)) {
      last.bytes += range.bytes;
      return;
    }
  }
  if (budget_.ranges == 0) {
    is_complete_ = false;
    return;
  }
  --budget_.ranges;
  ranges.push_back(range);
}

void MapReader::add_table(iot_u32 content, std::uint64_t position, std::uint64_t bytes) {
  if (bytes != 0 && position < file_bytes_)
    add(tables_, {.position = position,
                  .bytes = std::min(bytes, file_bytes_ - position),
                  .content = content});
}

// The entry has a position and a number of sectors. The first sector may belong to the cluster
// before, too.
void MapReader::add_compressed(std::uint64_t guest_position, std::uint64_t entry) {
  const std::uint32_t position_bits = 62 - (header_.cluster_bits - 8);
  const std::uint64_t position = entry & ((std::uint64_t{1} << position_bits) - 1);
  const std::uint64_t more_sectors = (entry & (kIsCompressed - 1)) >> position_bits;
  if (position == 0 || position >= file_bytes_)
    return;
  const std::uint64_t bytes = (more_sectors + 1) * kSectorBytes - position % kSectorBytes;
  add(data_, {.position = position,
              .bytes = std::min(bytes, file_bytes_ - position),
              .guest_position = guest_position,
              .content = IOT_vm_content_compressed});
}

void MapReader::add_data(std::uint64_t guest_position, std::uint64_t entry) {
  if (guest_position >= header_.guest_bytes || header_.has_data_file)
    return;
  if ((entry & kIsCompressed) != 0)
    return add_compressed(guest_position, entry);
  const std::uint64_t position = entry & kPositionMask;
  if (is_cluster(position))
    add(data_, {.position = position,
                .bytes = header_.cluster_bytes(),
                .guest_position = guest_position,
                .content = IOT_vm_content_data});
}

void MapReader::add_data_table(std::uint64_t l1_index, std::uint64_t position) {
  if (!is_cluster(position))
    return;
  add_table(IOT_vm_content_l2_table, position, header_.cluster_bytes());
  const std::uint64_t first = l1_index * header_.table_entries();
  for_each_entry(position, header_.table_entries(), header_.entry_bytes(),
                 [&](std::uint64_t index, std::uint64_t entry) {
                   add_data((first + index) * header_.cluster_bytes(), entry);
                 });
}

// Sorts, and cuts what is also in the range before: two compressed clusters may share a sector, and
// a forged image anything.
std::vector<ImageRange> without_overlaps(std::vector<ImageRange> ranges) {
  std::ranges::stable_sort(ranges, {}, &ImageRange::position);
  std::vector<ImageRange> kept;
  std::uint64_t end = 0;
  for (ImageRange& range : ranges) {
    const std::uint64_t range_end = range.position + range.bytes;
    if (range_end <= end)
      continue;
    const std::uint64_t cut = range.position < end ? end - range.position : 0;
    range.position += cut;
    range.bytes -= cut;
    if (range.content == IOT_vm_content_data)
      range.guest_position += cut;
    end = range_end;
    kept.push_back(range);
  }
  return kept;
}

ImageMap MapReader::run() {
  add_table(IOT_vm_content_header, 0, header_.cluster_bytes());
  add_table(IOT_vm_content_header, header_.keys_position, header_.keys_bytes);
  add_table(IOT_vm_content_l1_table, header_.l1_position, header_.l1_entries * 8);
  add_table(IOT_vm_content_refcounts, header_.refcount_position, header_.refcount_bytes);
  for_each_entry(header_.refcount_position, header_.refcount_bytes / 8, 8,
                 [&](std::uint64_t, std::uint64_t entry) {
                   if (is_cluster(entry & kPositionMask))
                     add_table(IOT_vm_content_refcounts, entry & kPositionMask,
                               header_.cluster_bytes());
                 });
  for_each_entry(header_.l1_position, header_.l1_entries, 8,
                 [&](std::uint64_t index, std::uint64_t entry) {
                   add_data_table(index, entry & kPositionMask);
                 });
  data_.insert(data_.end(), tables_.begin(), tables_.end());
  return {.ranges = without_overlaps(std::move(data_)), .is_complete = is_complete_};
}

} // namespace

std::optional<Qcow2Header> read_qcow2_header(const ReadAt& read) {
  std::byte bytes[kHeaderBytesV3] = {};
  if (!read(0, std::span(bytes).first(kHeaderBytesV2)))
    return std::nullopt;
  ByteReader fields(bytes);
  if (big_endian<std::uint32_t>(fields) != kMagic)
    return std::nullopt;
  const auto version = big_endian<std::uint32_t>(fields);
  if (version == 3 && !read(0, bytes))
    return std::nullopt;
  Qcow2Header header;
  const auto backing_position = big_endian<std::uint64_t>(fields);
  const auto backing_bytes = big_endian<std::uint32_t>(fields);
  header.cluster_bits = big_endian<std::uint32_t>(fields);
  if (header.cluster_bits < kClusterBitsLeast || header.cluster_bits > kClusterBitsMost)
    return std::nullopt;
  header.guest_bytes = big_endian<std::uint64_t>(fields);
  (void)fields.take(4); // encryption
  const std::uint64_t l1_stored = big_endian<std::uint32_t>(fields);
  header.l1_position = big_endian<std::uint64_t>(fields);
  header.refcount_position = big_endian<std::uint64_t>(fields);
  header.refcount_bytes = std::uint64_t{big_endian<std::uint32_t>(fields)} << header.cluster_bits;
  (void)fields.take(12); // snapshots
  std::uint64_t header_bytes = kHeaderBytesV2;
  if (version == 3) {
    const auto features = big_endian<std::uint64_t>(fields);
    header.has_data_file = (features & kHasDataFile) != 0;
    header.has_long_entries = (features & kHasLongEntries) != 0;
    (void)fields.take(20); // features that readers may ignore, size of a refcount
    header_bytes = big_endian<std::uint32_t>(fields);
  }
  const std::uint64_t table_reach = header.table_entries() << header.cluster_bits;
  header.l1_entries =
      header.guest_bytes / table_reach + (header.guest_bytes % table_reach != 0 ? 1 : 0);
  if (!is_valid(header, version, l1_stored))
    return std::nullopt;
  if (backing_position != 0 && backing_bytes <= kBackingBytesMost) {
    std::string name(backing_bytes, '\0');
    if (read(backing_position, std::as_writable_bytes(std::span(name))))
      header.backing = name;
  }
  if (header_bytes >= kHeaderBytesV2 && header_bytes < header.cluster_bytes())
    read_extensions(read, header_bytes, header);
  return header;
}

ImageMap read_qcow2_map(const ReadAt& read, std::uint64_t file_bytes, const Qcow2Header& header,
                        MapBudget& budget) {
  return MapReader(read, file_bytes, header, budget).run();
}

} // namespace iotrail::capture::vm
