// SPDX-License-Identifier: BSD-3-Clause
//
// The dictionaries of a trace that is being written. It gives ids to texts and files, and collects
// the rows that map the ids back. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "dictionary_rows.hpp"
#include "store/format/block.hpp"
#include "store/writer/interner.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::store {

class Dictionary {
public:
  iot_u32 string_id(std::string_view text);
  // An empty `path` means unknown. A later call sets it while the file's row is still pending.
  iot_u32 file_id(const FileKey& key, iot_u32 mode, std::string_view path,
                  const FileState& state = {});

  template <class Row> void add(const Row& row);

  // has_pending(): any rows are pending. is_full(): they fill one block.
  bool has_pending() const { return pending_rows_ > 0; }
  bool is_full() const;

  std::size_t expected_bytes() const; // estimated size on disk of the pending rows

  // Returns the pending rows, one block for each table, and forgets them.
  std::vector<BlockRows> take_pending();

private:
  struct TextHash {
    std::uint64_t low;
    std::uint64_t high;
    bool operator==(const TextHash&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const TextHash& hash) const { return hash.low; }
    std::size_t operator()(const FileKey& key) const;
  };
  struct WrittenFile {
    iot_u32 id = 0;
    iot_u32 generation = 0;
    std::size_t row = 0;     // number of the row in its block, valid
    std::uint64_t batch = 0; // while this batch is pending
  };

  iot_u32 new_file(const FileKey& key, iot_u32 mode, std::string_view path, const FileState& state);
  void complete(WrittenFile& file, iot_u32 generation);
  void complete_path(const WrittenFile& file, std::string_view path);

  // Remembers 65,536 to 131,072 entries of each kind, about 8 MiB a map.
  static constexpr std::size_t kRemembered = 65536;

  RecentMap<TextHash, iot_u32, KeyHash> strings_{kRemembered};
  RecentMap<FileKey, WrittenFile, KeyHash> files_{kRemembered};        // by the full key
  RecentMap<FileKey, WrittenFile, KeyHash> newest_files_{kRemembered}; // by device and inode
  iot_u32 last_string_ = 0;
  iot_u32 last_file_ = 0;

  std::map<iot_u16, BlockRows> pending_;
  std::size_t pending_rows_ = 0;
  std::size_t pending_text_bytes_ = 0;
  std::uint64_t batch_ = 1;
};

extern template void Dictionary::add(const rows::processes&);
extern template void Dictionary::add(const rows::devices&);
extern template void Dictionary::add(const rows::losses&);
extern template void Dictionary::add(const rows::event_sums&);

} // namespace iotrail::store
