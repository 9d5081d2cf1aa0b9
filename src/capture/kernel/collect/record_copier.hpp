// SPDX-License-Identifier: BSD-3-Clause
//
// Copies the slots of a ring into rows of the trace. Records are sorted by kind a batch at a time,
// and then copied kind by kind. Each kind has code made for its size and ids. A record costs little
// more than its copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/kernel/collect/kernel_ids.hpp"
#include "capture/kernel/collect/rings.hpp"
#include "capture/selection/deferred_filter.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture::kernel {

// Keeps its memory; not for several threads at once.
class RecordCopier {
public:
  // The limit of an index of one byte. A slot is free for its CPU after its batch, not sooner.
  static constexpr std::size_t kBatchSlots = 256;

  // Appends the records in the first slots, at most kBatchSlots, with the ids of the trace in place
  // of the kernel's. Stops at a slot that is still being filled. `position` is the position of the
  // first slot in its ring. Returns the number of copied slots, which may be used again. Records of
  // a kind keep their order if none is held back.
  std::size_t copy(std::span<const RecordSlot> slots, std::uint64_t position, KernelIds& ids,
                   DeferredFilter& deferred_filter, store::TraceWriter& writer);

private:
  static constexpr std::size_t kKinds = std::size(schema::kEvents) + 1; // and one for unknown kinds

  std::size_t sort_by_kind(std::span<const RecordSlot> slots, std::uint64_t position);

  std::array<std::array<std::uint8_t, kBatchSlots>, kKinds>
      slots_of_{};                             // by kind: indices, in order
  std::array<std::uint16_t, kKinds> counts_{}; // of them; all 0 between batches
  std::array<std::uint8_t, kKinds> present_{}; // kinds of this batch
  std::size_t present_count_ = 0;
};

} // namespace iotrail::capture::kernel
