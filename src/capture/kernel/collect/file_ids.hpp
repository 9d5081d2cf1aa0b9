// SPDX-License-Identifier: BSD-3-Clause
//
// The ids of files in the trace, by the local ids of the BPF programs. These number all files that
// were ever seen, so the ones used longest ago are forgotten.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "abi.h"
#include "capture/kernel/abi/file_abi.h"

namespace iotrail::capture::kernel {

class FileIds {
  static constexpr unsigned kPageShift = 12;
  static constexpr std::size_t kPageFiles = 1U << kPageShift;

  struct Page {
    std::array<iot_u32, kPageFiles> ids{};
    std::uint64_t last_use = 0;
  };

public:
  static constexpr std::size_t kPages = 4096; // 16,777,216 files, 64 MiB

  explicit FileIds(std::size_t pages_most = kPages) : pages_most_(pages_most) {}

  // 0: the file's message was lost, or it is forgotten. A value of its own, valid until set().
  class Lookup {
  public:
    iot_u32 find(iot_u32 local) const {
      const iot_u32 number = local & ~IOT_FILE_MARKS;
      const std::size_t place = number >> kPageShift;
      if (place >= pages_.size() || !pages_[place]) [[unlikely]] {
        *unknown_ += place < pages_.size() && number != 0 ? 1 : 0;
        return 0;
      }
      pages_[place]->last_use = now_;
      return pages_[place]->ids[number % kPageFiles];
    }

  private:
    friend class FileIds;
    Lookup(std::span<const std::unique_ptr<Page>> pages, std::uint64_t now, std::uint64_t* unknown)
        : pages_(pages), now_(now), unknown_(unknown) {}

    std::span<const std::unique_ptr<Page>> pages_;
    std::uint64_t now_;
    std::uint64_t* unknown_;
  };
  Lookup lookup() { return {pages_, now_, &forgotten_}; }

  void set(iot_u32 local, iot_u32 id) {
    const iot_u32 number = local & ~IOT_FILE_MARKS;
    Page& page = page_at(number >> kPageShift);
    page.last_use = now_;
    page.ids[number % kPageFiles] = id;
  }

  std::uint64_t forgotten() const { return forgotten_; } // uses of such files

private:
  Page& page_at(std::size_t place) {
    if (place >= pages_.size())
      pages_.resize(place + 1);
    if (!pages_[place]) {
      if (pages_used_ == pages_most_)
        forget_oldest();
      pages_[place] = std::make_unique<Page>();
      ++pages_used_;
      ++now_;
    }
    return *pages_[place];
  }

  void forget_oldest() {
    const auto age = [](const std::unique_ptr<Page>& page) {
      return page ? page->last_use : UINT64_MAX;
    };
    std::ranges::min_element(pages_, {}, age)->reset();
    --pages_used_;
  }

  std::size_t pages_most_;
  std::size_t pages_used_ = 0;
  std::vector<std::unique_ptr<Page>> pages_; // by local id
  std::uint64_t now_ = 1;                    // in pages made
  std::uint64_t forgotten_ = 0;
};

} // namespace iotrail::capture::kernel
